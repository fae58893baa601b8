//! Everything has a lifetime, and an end is an end.

use super::counters::{assert_audit_clean, counters};
use crate::world::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, JobState, Status, TransferStatus};
use yardmaster::core::id::Key;
use yardmaster::core::limits::Limits;
use yardmaster::core::state::State;
use yardmaster::core::state::digest::records_digest;
use yardmaster::core::unit::{DAY, HOUR};

const JOBS: yardmaster::core::cut::Lane = lane(Topic::JobState, 0);
const BEATS: yardmaster::core::cut::Lane = lane(Topic::Heartbeat, 0);

fn feed(state: &mut State, job: JobState<'static>) {
    fold(state, &published(JOBS, Event::JobState(job)));
}

fn ended(at: i64) -> JobState<'static> {
    JobState { status: Status::Finished, changed_at: at, ended_at: at, ..job("1") }
}

#[test]
fn nothing_follows_an_end_within_its_attempt() {
    for end in [Status::Finished, Status::Failed, Status::Cancelled, Status::Closed] {
        for status in Status::ALL.into_iter().filter(|status| !status.is_ended()) {
            let mut state = state();
            feed(&mut state, JobState { status: end, ..ended(DAWN) });
            let known = records_digest(&state);
            feed(&mut state, JobState { status, changed_at: DAWN + HOUR, revision: 9, ..job("1") });
            assert_eq!(records_digest(&state), known, "{end:?}, {status:?}");
            // The next attempt is another matter, however early it says it was.
            feed(&mut state, JobState { status, changed_at: DAWN - HOUR, attempt: 1, ..job("1") });
            assert_eq!(state.jobs.of(Key(1)).and_then(|job| job.status), Some(status));
            assert_audit_clean(&state, "after the next attempt");
        }
    }
}

#[test]
fn an_ended_job_is_forgotten_exactly_after_the_stated_time() {
    let mut state = state();
    let lifetime = state.setting.limits.ended_job_lifetime_ms;
    for offset in [0, 1, 499, 500, 999] {
        let name = text((10 + offset).to_string());
        feed(&mut state, JobState { job: name, ..ended(DAWN + offset) });
    }
    for now in lifetime - 1_000..lifetime + 1_500 {
        close(&mut state, DAWN + now);
        let known = [0, 1, 499, 500, 999].map(|at| state.jobs.of(Key(10 + at as u64)).is_some());
        assert_eq!(known, [0, 1, 499, 500, 999].map(|at| at + lifetime > now), "{now}");
    }
    assert_audit_clean(&state, "forgotten");
}

#[test]
fn a_late_report_of_a_forgotten_job_has_no_effect() {
    let mut state = state();
    let lifetime = state.setting.limits.ended_job_lifetime_ms;
    feed(&mut state, ended(DAWN));
    state.times.lanes.at(lane(Topic::Transfer, 0));
    close(&mut state, DAWN + lifetime);
    assert!(state.jobs.slab.is_empty());
    let (known, counted) = (records_digest(&state), counters(&state));
    feed(&mut state, ended(DAWN));
    feed(&mut state, JobState { status: Status::Failed, ..ended(DAWN - HOUR) });
    fold(&mut state, &published(BEATS, Event::Heartbeat(beat("1", DAWN - 5))));
    let moved = transfer("5", TransferStatus::Done, DAWN - DAY);
    fold(&mut state, &published(lane(Topic::Transfer, 0), Event::Transfer(moved)));
    close(&mut state, DAWN + lifetime + 1);
    close(&mut state, DAWN + lifetime + 2);
    assert_eq!(counters(&state), counted);
    assert_eq!(records_digest(&state), known);
    assert_audit_clean(&state, "late");
}

#[test]
fn what_a_forgotten_job_left_in_a_window_stays_until_the_window_ends() {
    let limits = Limits { ended_job_lifetime_ms: HOUR, ..Limits::default() };
    let reach = limits.done_jobs_window_ms;
    let work_reach = limits.request_lifetime_ms + 2 * HOUR;
    let mut state = state_with(limits);
    feed(&mut state, ended(DAWN));
    close(&mut state, DAWN + HOUR);
    assert!(state.jobs.slab.is_empty());
    // How it ended, for its queue; and that work of its task is done.
    let tallied = |state: &State| counters(state).into_values().sum::<i128>();
    assert_eq!(tallied(&state), 2);
    close(&mut state, DAWN + reach + HOUR / 6 - 1);
    assert_eq!(tallied(&state), 2);
    close(&mut state, DAWN + reach + HOUR / 6);
    assert_eq!(tallied(&state), 1);
    let hour_ends = (DAWN.div_euclid(HOUR) + 1) * HOUR;
    close(&mut state, hour_ends + work_reach - 1);
    assert_eq!(tallied(&state), 1);
    close(&mut state, hour_ends + work_reach);
    assert_eq!(tallied(&state), 0);
    assert_audit_clean(&state, "expired");
}

#[test]
fn stubs_are_bounded_and_expire() {
    let mut state = state_with(Limits { stubs_max: 10, ..Limits::default() });
    let lifetime = state.setting.limits.stub_lifetime_ms;
    feed(&mut state, JobState { changed_at: DAWN, ..job("999") });
    for number in 0..100 {
        let name = text(format!("unknown-{number}"));
        fold(&mut state, &published(BEATS, Event::Heartbeat(beat(name, DAWN + number))));
    }
    close(&mut state, DAWN + 1_000);
    // The oldest went first.
    let newest: Vec<i64> = state.stubs.keys().map(|(at, _)| *at - DAWN).collect();
    assert_eq!(newest, (90..100).collect::<Vec<_>>());
    assert_eq!((state.jobs.slab.len(), state.job_names.len()), (11, 10));
    close(&mut state, DAWN + lifetime + 95);
    assert_eq!(state.stubs.len(), 4);
    close(&mut state, DAWN + lifetime + 99);
    assert_eq!((state.jobs.slab.len(), state.job_names.len()), (1, 0));
    assert_audit_clean(&state, "stubs gone");
}

#[test]
fn a_silent_job_is_forgotten_and_one_with_a_heartbeat_is_not() {
    let mut state = state();
    let lifetime = state.setting.limits.silent_job_lifetime_ms;
    feed(&mut state, job("1"));
    feed(&mut state, job("2"));
    fold(&mut state, &published(BEATS, Event::Heartbeat(beat("2", DAWN + 2 * DAY))));
    close(&mut state, DAWN + lifetime - 1);
    assert_eq!(state.jobs.slab.len(), 2);
    // Looked for once a day.
    close(&mut state, DAWN + lifetime + DAY);
    assert!(state.jobs.of(Key(1)).is_none() && state.jobs.of(Key(2)).is_some());
    close(&mut state, DAWN + lifetime + 3 * DAY);
    assert!(state.jobs.slab.is_empty());
    assert_audit_clean(&state, "silent");
}

#[test]
fn a_reservation_ends_by_its_jobs_by_its_outcome_or_by_its_lifetime() {
    use yardmaster::core::event::OutcomeKind;
    let mut state = state();
    let reserved = |state: &State| counters(state).get("share ash/MC reserved").copied();
    feed(&mut state, job("1"));
    close(&mut state, DAWN);
    let words: Vec<_> =
        (1..4).map(|chunk| assign(&format!("70/{chunk}"), 0, "ash", 10, DAWN)).collect();
    words.iter().for_each(|word| fold_decision(&mut state, word));
    assert_eq!(reserved(&state), Some(30));
    for number in 100..112 {
        let name = text(number.to_string());
        feed(&mut state, JobState { job: name, request: "70/1:0", ..job("") });
    }
    assert_eq!(reserved(&state), Some(20));
    let accepted = outcome(&words[1], OutcomeKind::Accepted, DAWN);
    fold(&mut state, &published(lane(Topic::Outcome, 0), Event::Outcome(accepted)));
    assert_eq!(reserved(&state), Some(10));
    let lifetime = state.setting.limits.reservation_lifetime_ms;
    close(&mut state, DAWN + lifetime - 1);
    assert_eq!(reserved(&state), Some(10));
    close(&mut state, DAWN + lifetime);
    assert_eq!(reserved(&state), None);
    assert_audit_clean(&state, "reservations over");
}

/// A chunk that asked before its task ended goes with the task, in whatever order the two come up.
#[test]
fn chunks_go_with_their_task() {
    use yardmaster::core::event::TaskPhase;
    let mut state = state();
    let tasks = lane(Topic::Task, 0);
    for (subject, phase, at) in [
        ("70", TaskPhase::Ended, DAWN),
        ("70/1", TaskPhase::Asking, DAWN),
        ("7/1", TaskPhase::Asking, DAWN),
        ("7", TaskPhase::Ended, DAWN),
    ] {
        fold(&mut state, &published(tasks, Event::Task(Box::new(task(subject, phase, at)))));
    }
    let lifetime = state.setting.limits.answered_request_lifetime_ms;
    fold_decision(&mut state, &assign("70/1", 0, "ash", 10, DAWN + 12 * DAY));
    close(&mut state, DAWN + lifetime - 1);
    assert_eq!(state.requests.len(), 4);
    close(&mut state, DAWN + lifetime);
    // The other chunk stays until it has its final answer.
    assert!(state.requests.of("7/1").is_some());
    assert_eq!((state.requests.len(), state.chunks.len()), (1, 1));
    fold_decision(&mut state, &assign("7/1", 0, "ash", 10, DAWN + lifetime));
    let silent = state.setting.limits.request_lifetime_ms;
    close(&mut state, DAWN + 12 * DAY + silent);
    assert_eq!((state.requests.len(), state.chunks.len()), (0, 0));
    // That both were answered is remembered.
    assert_eq!(state.answered.table.len(), 2);
}
