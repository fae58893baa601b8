//! The configuration that is updated record by record equals one that is made of all of it.

use super::World;
use crate::cut::{Lane, Topic};
use crate::domain::atlas::policy::Make;
use crate::event::{Endpoints, Event, Queue, Release, Site};
use crate::judge::draws::Draws;
use crate::limits::Limits;
use crate::state::{Setting, State};

const T0: i64 = 1_760_000_000_000;

const SITES: [&str; 4] = ["ash", "birch", "cedar", "Q3"];
const ENDPOINTS: [&str; 3] = ["ash_DISK", "birch_DISK", "TAPE"];

fn read(state: &mut State, topic: Topic, event: Event<'_>) {
    let lane = Lane::new(topic, 0);
    let offset = state.next(lane);
    state.fold(lane, offset, T0, &event);
}

fn queue(draws: &mut Draws, changed_at: i64) -> Queue {
    let number = draws.below(12);
    let list = |draws: &mut Draws| {
        let count = draws.below(3);
        (0..count).map(|_| draws.of(&ENDPOINTS).to_owned()).collect()
    };
    let site = draws.of(&SITES).to_owned();
    Queue {
        name: format!("Q{number}"),
        unified: format!("Q{}", number - number % 1.max(draws.below(3))),
        changed_at,
        production: draws.below(3) > 0,
        cores: draws.of(&[1, 8]),
        storage_site: draws.of(&SITES).to_owned(),
        site,
        endpoints: Endpoints { read: list(draws), write: list(draws) },
        analysis_endpoints: Endpoints { read: list(draws), write: list(draws) },
        ..Queue::default()
    }
}

/// A queue or a release comes, changes or goes, or only a figure of a queue changes.
fn change(state: &mut State, draws: &mut Draws, at: i64) {
    match draws.below(6) {
        0 => {
            let name = format!("Q{}", draws.below(12));
            let event = Event::Removed { topic: Topic::Queue, name: &name };
            read(state, Topic::Queue, event);
        }
        1 => {
            let release = Release {
                queue: format!("Q{}", draws.below(12)),
                changed_at: at,
                cmtconfigs: vec![draws.below(3).to_string()],
                ..Release::default()
            };
            read(state, Topic::Release, Event::from(release));
        }
        2 => {
            let name = draws.of(&SITES).to_owned();
            let (nucleus, active) = (draws.below(2) == 0, true);
            let site = Site { name, changed_at: at, nucleus, active, ..Site::default() };
            read(state, Topic::Site, Event::from(site));
        }
        3 => {
            let all = state.facts.queues.iter().map(|(name, _)| name.to_owned());
            let all: Vec<String> = all.collect();
            let Some(name) = all.get(draws.below(12)) else { return };
            let held = state.facts.queues.of(name).and_then(|it| it.current(super::is_newer));
            let Some(held) = held.cloned() else { return };
            let max_rss_mb = draws.below(4) as u32 * 1_000;
            let queue = Queue { changed_at: at, max_rss_mb, ..held };
            read(state, Topic::Queue, Event::from(queue));
        }
        _ => {
            let queue = queue(draws, at);
            read(state, Topic::Queue, Event::from(queue));
        }
    }
}

/// All that can be asked of queues and nuclei, without the numbers of endpoints, which depend on
/// what was seen first.
fn shown(world: &World) -> Vec<String> {
    let endpoint = |at: &u32| world.storage_at.iter().find(|(_, it)| *it == at).map(|it| it.0);
    let list = |all: &[u32]| all.iter().map(endpoint).collect::<Vec<_>>();
    let mut shown: Vec<String> = Vec::new();
    for (view, make) in world.queues.iter().zip(&world.makes.of_queue) {
        let (inputs, outputs) = (list(&view.inputs), list(&view.outputs));
        let analysis = [list(&view.analysis_inputs), list(&view.analysis_outputs)];
        let defaults = [view.input.as_ref().map(endpoint), view.output.as_ref().map(endpoint)];
        let names = (view.unified, view.storage_site, view.site, make);
        let software = world.software_of(view.software);
        shown.push(format!("{:?} {names:?} {software:?}", view.queue));
        shown.push(format!("{inputs:?} {outputs:?} {analysis:?} {defaults:?}"));
    }
    for view in world.nuclei.iter().chain(&world.satellites) {
        let (inputs, outputs) = (list(&view.inputs), list(&view.outputs));
        shown.push(format!("{} {:?} {inputs:?} {outputs:?}", view.name, view.queues));
    }
    shown.push(format!("{:?} {:?}", world.readers, world.analysis_readers));
    shown.push(format!("{} {}", world.sites, world.makes.count));
    let names = (0..13).map(|number| format!("Q{number}"));
    for name in names.chain(SITES.map(str::to_owned)) {
        let (several, production) = (world.stands_for_several(&name), world.has_production(&name));
        let is_named = world.names_queue(&name);
        shown.push(format!("{name} {:?} {several} {production} {is_named}", world.find(&name)));
    }
    shown
}

/// Asserts that look-ups of a name agree with a walk over all queues.
fn assert_found(world: &World, name: &str) {
    let queues = || world.queues.iter().map(|view| &view.queue);
    let is_its = |queue: &&Queue| queue.name == name || queue.unified == name;
    assert_eq!(world.stands_for_several(name), queues().filter(is_its).count() > 1, "{name}");
    let is_named = queues().any(|queue| is_its(&queue) || queue.site == name);
    assert_eq!(world.names_queue(name), is_named, "{name}");
    let has_production = queues().any(|queue| queue.site == name && queue.production);
    assert_eq!(world.has_production(name), has_production, "{name}");
}

#[test]
fn what_is_kept_is_what_is_made_again() {
    for seed in 0..40 {
        let setting = Setting { limits: Limits::default(), ..Setting::default() };
        let (mut state, mut draws) = (State::new(setting), Draws(seed));
        let mut kept = World::default();
        for step in 0..80 {
            for _ in 0..=draws.below(2) {
                change(&mut state, &mut draws, T0 + step);
            }
            kept.update(&mut state, step == 0);
            state.touched = Default::default();
            let mut again = World::default();
            again.update(&mut state, true);
            state.touched = Default::default();
            assert_eq!(shown(&kept), shown(&again), "seed {seed}, step {step}");
            for name in (0..13).map(|number| format!("Q{number}")) {
                assert_found(&kept, &name);
            }
            SITES.iter().for_each(|name| assert_found(&kept, name));
            let pairs = kept.queues.iter().zip(&kept.makes.of_queue);
            for (view, make) in pairs.clone() {
                let same =
                    pairs.clone().filter(|(it, _)| Make::of(&it.queue) == Make::of(&view.queue));
                assert!(same.clone().all(|(_, other)| other == make), "seed {seed}, step {step}");
            }
        }
    }
}
