//! `explain` of a queue, a site, a cluster or a share: from a log and the state that was rebuilt of
//! it.

use super::{epoch_configs_of, kinds_of};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::{newest, outputs, without_strays};
use crate::dirlog::Mode;
use crate::place::{NamedPlace, PlaceKind, PlaceWords};
use crate::suppose::near;
use crate::view::View;
use yardmaster_core::cut::Topic;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::explain::{Context, FilledBy, offers_at, waiting_of};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;

/// Decisions that name a place and are looked at, the newest ones.
const STORY_READ: usize = 500;

/// A place of a name, which may state its kind, as text; `None`: there is none.
///
/// # Errors
/// There is no such place of the kind that is stated; those of near names are listed.
pub(super) fn place_text(
    log_args: &LogArgs,
    read: &Read,
    engine: &Engine,
    name: &str,
) -> anyhow::Result<Option<String>> {
    let (kind, name) = match name.split_once('/') {
        Some(("queue", name)) => (Some(PlaceKind::Queue), name),
        Some(("site", name)) => (Some(PlaceKind::Site), name),
        Some(("share", name)) => (Some(PlaceKind::Share), name),
        _ => (None, name),
    };
    let view = View::of(engine);
    let Some(place) = NamedPlace::find(&view.queues, &view.shares, name, kind) else {
        let words = PlaceWords::of(engine.policies().iter());
        let Some(kind) = kind else { return Ok(None) };
        let known: Vec<String> = match kind {
            PlaceKind::Queue => view.queues.into_iter().map(|it| it.queue).collect(),
            PlaceKind::Site => view.queues.into_iter().map(|it| it.site).collect(),
            PlaceKind::Share => view.shares.into_iter().map(|it| it.gshare).collect(),
        };
        let (noun, near) = (words.noun(kind), near(name, known.iter()));
        anyhow::bail!("there is no {noun} {name:?}{near}");
    };
    let state = &engine.state;
    let mut story = place.story(offers_at(state, name));
    if place.kind != PlaceKind::Share {
        let mut log = log_args.log(&read.topology, Mode::Read)?;
        let found = outputs(&mut log, Topic::Decision, |event| {
            let Event::Output(Output::Decision(mut it)) = event else { return None };
            if it.cycle > state.number || !story.is_in(&it) {
                return None;
            }
            // The rest of a decision is not looked at, and would be large.
            it.fates.retain(|fate| story.names(&fate.queue));
            Some(*it)
        })?;
        let key = |it: &Decision| (it.subject.clone(), it.attempt, it.ordinal);
        let (mut found, _) = without_strays(&mut log, found, key, |it| it.cycle)?;
        found.sort_by_key(|it| std::cmp::Reverse((it.cycle, it.number)));
        found.truncate(STORY_READ);
        let newest = newest(&mut log)?;
        let epochs = found.iter().map(|decision| decision.epoch).collect();
        let in_force = epoch_configs_of(&mut log, read, newest, epochs)?;
        for decision in &found {
            let kinds = kinds_of(&decision.policy, &read.topology.policies);
            let config = in_force.get(&decision.epoch);
            let policies = config.into_iter().flat_map(|it| &it.policies);
            let context = Context {
                kinds: &kinds,
                limits: config.map(|it| &it.setting.limits),
                policy: { policies }.find(|it| it.hash() == decision.policy_hash),
            };
            story.add(decision, &context, state.now);
        }
    }
    let filled = FilledBy::of(state, &place.filled_of());
    let waiting = waiting_of(engine, name);
    let words = PlaceWords::of(engine.policies().iter());
    Ok(Some(place.text(words, state.now, &filled, (&story, Some(waiting)))))
}
