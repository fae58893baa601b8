//! Joins and lanes commute: within a cycle the order in which lanes were merged is nothing.

use super::counters::{assert_audit_clean, counters};
use super::random::{Story, feed_story};
use crate::wire::dice::{Dice, Vocabulary};
use crate::wire::kinds;
use crate::world::*;
use yardmaster::core::cut::Topic::{self, *};
use yardmaster::core::event::{
    Configuration, Event, JobState, OutcomeKind, Pilot, Status, TaskPhase, Transfer, TransferStatus,
};
use yardmaster::core::state::State;
use yardmaster::core::state::counters::counters as listed;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{DAY, HOUR};

/// Every way to merge lanes of these lengths: the lane that is next, each time.
fn merges(lengths: &mut [usize]) -> Vec<Vec<usize>> {
    if lengths.iter().all(|left| *left == 0) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for at in 0..lengths.len() {
        if lengths[at] == 0 {
            continue;
        }
        lengths[at] -= 1;
        for mut rest in merges(lengths) {
            rest.insert(0, at);
            all.push(rest);
        }
        lengths[at] += 1;
    }
    all
}

fn fold_merged(state: &mut State, lanes: &[Vec<Entry>], merge: &[usize]) {
    let mut next = vec![0; lanes.len()];
    for at in merge {
        fold(state, &lanes[*at][next[*at]]);
        next[*at] += 1;
    }
}

/// Folds the lanes in every merge upon the same past; everything must agree, at the cut, after our
/// own decisions, and a month later.
#[track_caller]
fn check(before: &[Entry], lanes: &[(Topic, u32, Vec<Event<'static>>)], decisions: &[Word]) {
    let lanes: Vec<Vec<Entry>> = lanes
        .iter()
        .map(|(topic, partition, events)| {
            events.iter().map(|event| published(lane(*topic, *partition), event.clone())).collect()
        })
        .collect();
    let mut lengths: Vec<usize> = lanes.iter().map(Vec::len).collect();
    let all = merges(&mut lengths);
    assert!(all.len() > 1, "nothing to merge");
    let mut past = state();
    before.iter().for_each(|published| fold(&mut past, published));
    for lane in &lanes {
        past.times.lanes.at(lane[0].lane);
    }
    close(&mut past, DAWN + DAY);
    let mut first = None;
    for merge in &all {
        let mut state = past.clone();
        fold_merged(&mut state, &lanes, merge);
        let mut seen = Vec::new();
        close(&mut state, DAWN + DAY + 1_000);
        decisions.iter().for_each(|decision| fold_decision(&mut state, decision));
        for later in [0, 10, HOUR, DAY, 40 * DAY] {
            if later > 0 {
                close(&mut state, DAWN + DAY + 1_000 + later);
            }
            assert_audit_clean(&state, &format!("{merge:?}, {later} ms later"));
            seen.push((digest(&state), counters(&state), listed(&state)));
        }
        let first = first.get_or_insert_with(|| seen.clone());
        assert_eq!(*first, seen, "{merge:?} against {:?}", all[0]);
    }
}

type Word = yardmaster::core::output::decision::Decision;

fn state_of(status: Status, changed_at: i64) -> JobState<'static> {
    JobState { status, changed_at, ..job("1") }
}

#[test]
fn a_job_reported_in_four_lanes_is_the_same_job() {
    let at = DAWN + DAY;
    check(
        &[],
        &[
            (
                JobState,
                0,
                vec![
                    Event::JobState(state_of(Status::Activated, at - 9)),
                    Event::JobState(JobState {
                        started_at: at - 5,
                        ..state_of(Status::Running, at)
                    }),
                ],
            ),
            (
                JobState,
                1,
                vec![
                    Event::JobState(JobState {
                        ended_at: at - 1,
                        ..state_of(Status::Failed, at - 1)
                    }),
                    Event::JobState(JobState {
                        attempt: 1,
                        queue: "oak",
                        user: "bob",
                        ..state_of(Status::Sent, at - 3)
                    }),
                ],
            ),
            (
                Heartbeat,
                0,
                vec![
                    Event::Heartbeat(beat("1", at - 2)),
                    Event::Heartbeat(yardmaster::core::event::Heartbeat {
                        attempt: 1,
                        disk_io_kbps: 9,
                        ..beat("1", at - 4)
                    }),
                ],
            ),
            (
                JobState,
                2,
                vec![Event::JobState(JobState {
                    attempt: 1,
                    nucleus: "",
                    ..state_of(Status::Running, at)
                })],
            ),
        ],
        &[assign("70/1", 0, "ash", 3, at)],
    );
}

#[test]
fn ties_are_broken_by_content() {
    let at = DAWN + DAY;
    let tied =
        |queue, cores| Event::JobState(JobState { queue, cores, ..state_of(Status::Running, at) });
    check(
        &[],
        &[
            (JobState, 0, vec![tied("ash", 8), tied("oak", 1)]),
            (JobState, 1, vec![tied("oak", 8), tied("ash", 8)]),
            (
                JobState,
                2,
                vec![
                    Event::JobState(JobState {
                        revision: 1,
                        group: "",
                        ..state_of(Status::Running, at)
                    }),
                    Event::JobState(JobState { user: "", ..state_of(Status::Holding, at) }),
                ],
            ),
        ],
        &[],
    );
}

#[test]
fn signs_of_life_before_and_after_the_job_are_one() {
    let at = DAWN + DAY;
    // Older than a stub's lifetime, before 1970, and newer: in any order with the job itself.
    check(
        &[],
        &[
            (
                Heartbeat,
                0,
                vec![Event::Heartbeat(beat("1", at - 8 * HOUR)), Event::Heartbeat(beat("2", at))],
            ),
            (Heartbeat, 1, vec![Event::Heartbeat(beat("1", -5)), Event::Heartbeat(beat("1", at))]),
            (JobState, 0, vec![Event::JobState(state_of(Status::Running, at - HOUR))]),
            (
                JobState,
                1,
                vec![Event::JobState(JobState { job: "2", ..state_of(Status::Running, at) })],
            ),
        ],
        &[],
    );
}

/// Jobs that ended so long ago that they may have been forgotten, met together with others.
#[test]
fn the_long_ended_and_the_living_commute() {
    let at = DAWN + DAY;
    let old = DAWN - HOUR;
    let ended = JobState { ended_at: old, ..state_of(Status::Finished, old) };
    let living = JobState { changed_at: old - HOUR, ..state_of(Status::Running, old) };
    let moved = |name, state, at| Event::Transfer(transfer(name, state, at));
    check(
        &[published(
            lane(JobState, 0),
            Event::JobState(JobState { job: "9", ..state_of(Status::Running, DAWN) }),
        )],
        &[
            (
                JobState,
                0,
                vec![
                    Event::JobState(ended.clone()),
                    Event::JobState(JobState { job: "9", ..ended }),
                ],
            ),
            (JobState, 1, vec![Event::JobState(living)]),
            (Heartbeat, 0, vec![Event::Heartbeat(beat("1", at))]),
            (
                Transfer,
                0,
                vec![moved("5", TransferStatus::Done, old), moved("6", TransferStatus::Done, old)],
            ),
            (Transfer, 1, vec![moved("5", TransferStatus::Queued, old - HOUR)]),
        ],
        &[],
    );
}

/// Of the requests for a replica one waits, whichever was read first.
#[test]
fn requests_for_one_replica_commute() {
    let at = DAWN + DAY;
    let asks = |name, state, at| {
        Event::Transfer(Transfer { replica: "mc:f|CERN_DISK", ..transfer(name, state, at) })
    };
    use TransferStatus::{Done, Failed, Queued, Submitted};
    check(
        &[],
        &[
            (Transfer, 0, vec![asks("5", Queued, at - 9), asks("5", Submitted, at - 2)]),
            (Transfer, 1, vec![asks("6", Submitted, at - 5), asks("6", Queued, at - 7)]),
            (Transfer, 2, vec![asks("7", Failed, at - 6), asks("5", Done, at - 1)]),
        ],
        &[],
    );
}

#[test]
fn transfers_commute() {
    let at = DAWN + DAY;
    let moved = |state, at| transfer("5", state, at);
    check(
        &[],
        &[
            (
                Transfer,
                0,
                vec![
                    Event::Transfer(Transfer {
                        source: "",
                        ..moved(TransferStatus::Queued, at - 5)
                    }),
                    Event::Transfer(moved(TransferStatus::Submitted, at - 3)),
                ],
            ),
            (
                Transfer,
                1,
                vec![
                    Event::Transfer(moved(TransferStatus::Done, at - 4)),
                    Event::Transfer(Transfer { bytes: 7, ..moved(TransferStatus::Done, at - 4) }),
                ],
            ),
            (
                Transfer,
                2,
                vec![
                    Event::Transfer(Transfer {
                        destination: "DESY",
                        ..moved(TransferStatus::Done, at - 4)
                    }),
                    Event::Transfer(moved(TransferStatus::Failed, at - 4)),
                ],
            ),
        ],
        &[],
    );
}

#[test]
fn pilots_commute() {
    let at = DAWN + DAY;
    let asked = |node, at| Event::Pilot(Pilot::AskedJob { queue: "ash", node, at });
    let updated = |node, at| Event::Pilot(Pilot::UpdatedJob { queue: "ash", node, at });
    let workers = |submitted, at| {
        let (queue, harvester, resource_type) = ("ash", "h1", "SCORE");
        Event::Pilot(Pilot::Workers { queue, harvester, resource_type, submitted, running: 3, at })
    };
    let slots = |slots, at| {
        let (queue, gshare, resource_type) = ("ash", "", "");
        Event::Pilot(Pilot::Slots { queue, gshare, resource_type, slots, expires_at: 0, at })
    };
    check(
        &[published(lane(Pilot, 0), asked("n1", DAWN + DAY - 2 * HOUR))],
        &[
            (Pilot, 0, vec![asked("n1", at), updated("n2", at - 4 * HOUR), slots(3, at)]),
            (Pilot, 1, vec![updated("n1", at - HOUR), workers(7, at), slots(4, at - 1)]),
            (Pilot, 2, vec![asked("n2", at - 2 * HOUR), workers(5, at), slots(-1, at)]),
        ],
        &[],
    );
}

#[test]
fn slot_figures_of_a_queue_commute() {
    let slots = |gshare, resource_type, slots| {
        let (queue, at) = ("ash", DAWN + DAY);
        Event::Pilot(Pilot::Slots { queue, gshare, resource_type, slots, expires_at: 0, at })
    };
    let asked = Pilot::AskedJob { queue: "ash", node: "n1", at: DAWN + DAY };
    check(
        &[published(lane(Pilot, 0), Event::Pilot(asked))],
        &[
            (Pilot, 0, vec![slots("zinc", "SCORE", 3), slots("", "", 7)]),
            (Pilot, 1, vec![slots("iron", "MCORE", 4), slots("iron", "SCORE", 5)]),
        ],
        &[],
    );
}

#[test]
fn configuration_commutes_with_nulls_of_other_lanes() {
    let at = DAWN + DAY;
    let reported = |value, at| Event::from(parameter("K", value, at));
    let removed = Event::Removed { topic: Parameter, name: "jedi/jobbroker/K/atlas" };
    check(
        &[published(lane(Parameter, 1), reported("old", DAWN))],
        &[
            (Parameter, 0, vec![reported("a", at), removed.clone(), reported("b", at - 5)]),
            (Parameter, 1, vec![removed.clone(), reported("c", at - 5)]),
            (Parameter, 2, vec![reported("d", at - 5), reported("e", at - 9), removed]),
        ],
        &[],
    );
}

/// Records of one name, their values drawn from few, so that times and contents are often the same.
#[test]
fn records_of_every_kind_of_configuration_commute() {
    let at = DAWN + DAY;
    let vocabulary = Vocabulary {
        texts: &["a"],
        longs: &[at, at - 5, DAWN],
        counts: &[0, 1, 2],
        amounts: &[0, 1, 5],
        floats: &[1.0, 2.0, 2.5],
    };
    for (topic, seed) in Configuration::TOPICS.iter().flat_map(|it| (0..4).map(move |n| (*it, n))) {
        let mut chance = Chance(seed);
        let mut record = || {
            let bytes: Vec<u8> = (0..400).map(|_| chance.word() as u8).collect();
            kinds::event(topic, &mut Dice::of(&vocabulary, &bytes), &[]).expect("a generator")
        };
        let first = record();
        let Event::Configuration(configuration) = &first else { panic!("{first:?}") };
        let removed = Event::Removed { topic, name: text(configuration.name()) };
        let lanes = [vec![first, removed.clone(), record()], vec![record(), record(), removed]];
        let [one, other] = lanes;
        check(&[], &[(topic, 0, one), (topic, 1, other)], &[]);
    }
}

#[test]
fn requests_answers_and_outcomes_commute() {
    let at = DAWN + DAY;
    let decision = assign("70/1", 0, "ash", 30, DAWN + DAY);
    let reported = |task| Event::Task(Box::new(task));
    let asking = task("70/1", TaskPhase::Asking, at - 5);
    let renamed =
        yardmaster::core::event::Task { task: "71".into(), revision: 1, ..asking.clone() };
    let long_ended = task("70/2", TaskPhase::Ended, DAWN - 30 * DAY);
    let outcome = |kind, at| Event::Outcome(outcome(&decision, kind, at));
    check(
        &[],
        &[
            (
                Task,
                0,
                vec![
                    reported(asking),
                    reported(long_ended),
                    reported(task("70", TaskPhase::Ended, at)),
                ],
            ),
            (Task, 1, vec![reported(renamed), reported(task("70/2", TaskPhase::Asking, DAWN))]),
            (Outcome, 0, vec![outcome(OutcomeKind::Accepted, DAWN - 30 * DAY)]),
            (Outcome, 1, vec![outcome(OutcomeKind::Expired, at)]),
        ],
        &[decision.clone(), assign("70/1", 1, "ash", 20, at), defer("70/2", 0, 1, at)],
    );
}

/// Whole random stories, each cycle of each merged in five random ways.
#[test]
fn large_logs_merge_in_any_way() {
    for seed in 0..12 {
        let story = Story::drawn(seed);
        let tales: Vec<_> = (0..5)
            .map(|merge| {
                let mut seen = Vec::new();
                feed_story(&story, seed * 1000 + merge, |state, cycle, _| {
                    if cycle % 4 == 0 {
                        seen.push((digest(state), counters(state)));
                    }
                });
                seen
            })
            .collect();
        for tale in &tales[1..] {
            assert!(*tale == tales[0], "seed {seed}");
        }
    }
}
