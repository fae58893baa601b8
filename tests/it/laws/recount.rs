//! Every counter equals what a recount would give: the engine's own, and a dumb twin's.

use super::counters::{assert_audit_clean, counters};
use super::random::{Moment, Story, feed_story};
use super::twin::Twin;
use crate::world::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::State;
use yardmaster::core::state::admit::is_open;
use yardmaster::core::state::record::RequestState;

#[test]
fn the_counters_are_those_of_a_dumb_twin_after_every_cycle() {
    let seeds = if std::env::var_os("YARDMASTER_LONG").is_some() { 60 } else { 30 };
    for seed in 0..seeds {
        let story = Story::drawn(seed);
        let mut twin = Twin::default();
        let mut before = state_with(story.limits.clone());
        feed_story(&story, seed, |state, number, moment| {
            let when = format!("seed {seed}, cycle {number}");
            assert_audit_clean(state, &when);
            match moment {
                Moment::Closed => twin.closed(&story.cycles[number], &before, state),
                Moment::Published => twin.after_outputs(&story.cycles[number], state),
            }
            let (kept, naive) = (counters(state), twin.counters(state));
            for (name, amount) in &naive {
                assert_eq!(kept.get(name), Some(amount), "{when}: {name}");
            }
            for (name, amount) in &kept {
                assert!(naive.contains_key(name), "{when}: {name} is {amount}, the twin has none");
            }
            before = state.clone();
        });
    }
}

/// Gives every open request its final answer.
fn close_requests(state: &mut State) {
    loop {
        let next = |ask: &RequestState| {
            let attempt = ask.task.as_ref()?.attempt;
            Some(match &ask.answer {
                Some(it) if it.attempt == attempt || !it.is_final => (it.attempt, it.ordinal + 1),
                Some(_) | None => (attempt, 1),
            })
        };
        let open = state.requests.iter().find(|(_, ask)| is_open(ask));
        let Some((subject, (attempt, ordinal))) =
            open.and_then(|(subject, ask)| Some((subject.to_owned(), next(ask)?)))
        else {
            return;
        };
        let outcome = Outcome::Reject { reason: "over".into() };
        let decision = Decision { outcome, ..defer(&subject, attempt, ordinal, state.now) };
        fold_decision(state, &decision);
    }
}

/// After everything has ended, grown old and been swept, nothing is left of it.
#[test]
fn nothing_stays_for_ever() {
    use yardmaster::core::unit::DAY;
    for seed in 0..12 {
        let mut state = feed_story(&Story::drawn(seed), seed, |_, _, _| {});
        let now = state.now;
        Topic::ALL.iter().for_each(|topic| _ = state.times.lanes.at(lane(*topic, 0)));
        close_requests(&mut state);
        for day in 1..150 {
            close(&mut state, now + day * DAY);
        }
        assert_audit_clean(&state, "at last");
        assert!(counters(&state).is_empty(), "{:?}", counters(&state));
        let ledger = &state.ledger;
        let rows = [ledger.load.len(), ledger.queue.len(), ledger.share.len(), ledger.who.len()];
        assert_eq!((rows, ledger.owner.len()), ([0; 4], 0));
        let rows = [ledger.nucleus.len(), ledger.seen.len(), ledger.ended.len()];
        assert_eq!((rows, ledger.levels.len()), ([0; 3], 0));
        assert_eq!([ledger.starts.len(), ledger.waits.len(), ledger.bound.len()], [0; 3]);
        assert_eq!([ledger.flow.len(), ledger.into.len(), ledger.rate.len()], [0; 3]);
        let records = [state.jobs.slab.len(), state.transfers.slab.len(), state.nodes.slab.len()];
        assert_eq!(records, [0; 3]);
        assert_eq!([state.workers.slab.len(), state.requests.len(), state.chunks.len()], [0; 3]);
        assert!(state.answered.table.is_empty());
        assert!(state.job_names.is_empty() && state.stubs.is_empty() && state.opened.is_empty());
    }
}
