//! The records of a store are all that a state needs.

use super::random::{Story, feed_story};
use crate::world::*;
use yardmaster::core::id::{Key, Name};
use yardmaster::core::state::State;
use yardmaster::core::state::digest::digest;
use yardmaster::core::state::job::Job;
use yardmaster::wire::stored::{self, Head, Restore};

fn restored(like: &State, head: &[u8], chunks: &[Vec<u8>]) -> State {
    let empty = State::new(like.setting.clone());
    let mut restore = Restore::begin(empty, head).expect("our head");
    chunks.iter().for_each(|chunk| restore.chunk(chunk).expect("our records"));
    restore.end().0
}

/// A state as a store gives it back.
pub fn stored(state: &State) -> State {
    let pages = stored::pages(state).into_iter();
    let pages: Vec<Vec<u8>> = pages.map(|(kind, page)| stored::page(state, kind, page)).collect();
    restored(state, &stored::write_head(state, &Head::default()), &pages)
}

/// All jobs as text, without what numbers of names and rows are: a field that store and digest forget
/// alike shows here.
fn jobs(state: &State) -> Vec<String> {
    let mut all: Vec<(Key, String)> = Vec::new();
    for (_, job) in state.jobs.slab.iter() {
        let mut job = *job;
        let texts = job.names.into_iter().chain(job.texts().map(|name| *name));
        let texts: Vec<&str> = texts.map(|name| state.names.text(name)).collect();
        job.texts().into_iter().for_each(|name| *name = Name::NONE);
        let numbered =
            Job { names: [Name::NONE; 6], load: 0, user: 0, group: 0, nucleus: 0, ..job };
        // When it is looked at next is found again.
        let fixed = Job { seen: 0, look: 0, awaits_heartbeat: false, ..numbered };
        let times = state.at_clusters.get(&job.key);
        all.push((job.key, format!("{fixed:?} {texts:?} {times:?}")));
    }
    all.sort();
    all.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_state_restored_from_its_records_has_the_same_digest() {
    let mut facts = [0; 4];
    for seed in 0..12 {
        let mut state = feed_story(&Story::drawn(seed), seed, |_, _, _| {});
        let head = stored::write_head(&state, &Head::default());
        assert_eq!(digest(&stored(&state)), digest(&state), "seed {seed}: pages");
        assert_eq!(jobs(&stored(&state)), jobs(&state), "seed {seed}: jobs");
        let deltas = stored::deltas(&mut state);
        assert_eq!(
            digest(&restored(&state, &head, &deltas)),
            digest(&state),
            "seed {seed}: deltas"
        );
        let held = &state.facts;
        let counts = [held.releases.len(), held.shares.len(), held.quotas.len(), held.users.len()];
        facts = std::array::from_fn(|at| facts[at] + counts[at]);
    }
    assert!(facts.iter().all(|count| *count > 0), "{facts:?}");
}

/// Executing and queued power of shares is the sum over jobs.
#[test]
fn the_power_of_shares_is_that_of_their_jobs() {
    use std::collections::BTreeMap;
    use yardmaster::core::cut::Topic;
    use yardmaster::core::event::{Event, Status};
    use yardmaster::core::judge::share::{Hs06, executing_and_queued};
    let mut seen = 0;
    for seed in 0..20 {
        feed_story(&Story::drawn(seed), seed, |state, cycle, _| {
            let mut state = state.clone();
            // Core powers: 10 and 23.25 HS06; a queue stated only as its parts; two that are unknown.
            for (name, unified, milli) in
                [("ash", "ash", 10_000), ("oak/MCORE", "oak", 23_250), ("oak/SCORE", "oak", 23_250)]
            {
                let mut queue = crate::drive::yard::queue(name, DAWN);
                queue.unified = unified.into();
                queue.core_power_mhs06 = milli;
                fold(&mut state, &published(lane(Topic::Queue, 0), Event::from(queue)));
            }
            let mut naive: BTreeMap<String, Hs06> = BTreeMap::new();
            for (_, job) in state.jobs.slab.iter() {
                let Some(status) = job.status else { continue };
                let key = state.ledger.load.key(job.load);
                let text = |at: usize| state.names.text(yardmaster::core::id::Name(key[at]));
                let power = match text(0) {
                    "ash" => 10.0,
                    "oak" => 23.25,
                    _ => 0.0,
                };
                let power = f64::from(job.cores) * power;
                match status {
                    Status::Running | Status::Sent => {
                        naive.entry(text(1).to_owned()).or_default().executing += power;
                    }
                    Status::Activated => {
                        naive.entry(text(1).to_owned()).or_default().queued += power;
                    }
                    _ => {}
                }
            }
            seen += naive.len();
            assert_eq!(executing_and_queued(&state), naive, "seed {seed}, cycle {cycle}");
        });
    }
    assert!(seen > 100, "{seen}");
}
