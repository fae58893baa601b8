//! Single scenes of a pool, each with its figures.

use super::story::{self, MATCH_LIFETIME, empty, keep_up, match_of};
use crate::world::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::domain::cms::state::{PoolJob, PoolOffer, PoolSetting};
use yardmaster::core::event::{
    Event, FailureClass, JobState, Pilot, Requirements, SlotOffer, Status, Task, TaskPhase,
    WorkflowFacts,
};
use yardmaster::core::limits::Limits;
use yardmaster::core::math::decay::Decay;
use yardmaster::core::output::Output;
use yardmaster::core::output::command::{Command, CommandKind};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::State;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis};

const SETTING: PoolSetting = PoolSetting { half_life_s: 86_400, match_lifetime_ms: MATCH_LIFETIME };

fn pool() -> State {
    let mut state = empty(Limits::default(), SETTING);
    keep_up(&mut state, DAWN);
    state
}

fn read(state: &mut State, topic: Topic, event: Event<'static>) {
    fold(state, &published(lane(topic, 0), event));
}

fn wants(seq: i64) -> Requirements<&'static str> {
    Requirements { seq: Some(seq), cores_min: 1, ..Requirements::default() }
}

/// A state of a job that began at dawn.
fn at(status: Status, attempt: u32, changed_at: Millis) -> JobState<'static> {
    let requirements = Some(Box::new(wants(1)));
    JobState { status, attempt, changed_at, requirements, task: "w", user: "ann", ..job("j") }
}

fn report(state: &mut State, job: JobState<'static>) {
    read(state, Topic::JobState, Event::JobState(job));
}

fn offer(attempt: u32, cores_free: i64, at: Millis, expires_at: Millis) -> Pilot<'static> {
    let offer = SlotOffer {
        offer: "o",
        attempt,
        cores_free,
        cores_total: 16,
        mem_free_mb: 32_000,
        node: "n",
        expires_at,
        ..SlotOffer::default()
    };
    Pilot::SlotOffer { queue: "T2_B", offer: Box::new(offer), at }
}

fn announce(state: &mut State, pilot: Pilot<'static>) {
    read(state, Topic::Pilot, Event::Pilot(pilot));
}

fn known(state: &State) -> &PoolJob {
    state.pool.jobs.of("j").expect("there")
}

fn held(state: &State) -> &PoolOffer {
    state.pool.offers.of("o").expect("there")
}

fn usage_milli(state: &State, user: &str) -> i128 {
    let growth = Decay::at(SETTING.half_life_s, state.now / 1_000).growth(state.now / 1_000);
    state.pool.users.of(user).map_or(0, |user| user.x / growth)
}

/// Matches the job as of the last cut.
fn matched(state: &mut State, usage_milli: i64) {
    let ordinal = state.pool.offers.of("o").map_or(1, |it| it.answers + 1);
    let Output::Decision(mut made) = match_of(state, "j", "o", ordinal, state.now) else {
        panic!()
    };
    made.matched.as_mut().expect("one").usage_milli = usage_milli;
    state.fold_output(&Output::Decision(made));
}

/// The check of F-3 in the specification: 8 cores from 0 h to 12 h leave 2.34315 at 12 h.
#[test]
fn a_job_that_ran_counts_in_its_users_decayed_usage() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    keep_up(&mut state, DAWN + 1);
    matched(&mut state, 8_000);
    report(&mut state, JobState { started_at: DAWN, ..at(Status::Running, 0, DAWN + 1) });
    keep_up(&mut state, DAWN + HOUR);
    assert!(known(&state).matched.is_some(), "it runs: no match is released");
    assert!(known(&state).held() && !known(&state).waits());
    let end = DAWN + 12 * HOUR;
    let ended = JobState { started_at: DAWN, ended_at: end, ..at(Status::Finished, 0, end) };
    report(&mut state, ended.clone());
    keep_up(&mut state, end);
    assert_eq!(usage_milli(&state, "ann"), 2_343);
    assert!(!known(&state).held() && !known(&state).waits());
    assert_eq!(state.pool.workflows.of("w").expect("there").done, 1);
    // A report of the end that comes once more, and with more known, is counted already.
    keep_up(&mut state, end + 1);
    report(&mut state, JobState { revision: 1, ..ended.clone() });
    keep_up(&mut state, end + 2);
    assert_eq!(usage_milli(&state, "ann"), 2_343);
    assert_eq!(state.pool.workflows.of("w").expect("there").done, 1);
}

#[test]
fn another_half_life_leaves_usage_as_it_is_now() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    keep_up(&mut state, DAWN + 1);
    matched(&mut state, 800_000);
    let end = DAWN + 12 * HOUR;
    report(&mut state, JobState { started_at: DAWN, ended_at: end, ..at(Status::Failed, 0, end) });
    keep_up(&mut state, end);
    let before = usage_milli(&state, "ann");
    state.setting.pool = Some(PoolSetting { half_life_s: 7_200, ..SETTING });
    keep_up(&mut state, end + 1);
    let decay = Decay::at(7_200, end / 1_000);
    let user = state.pool.users.of("ann").expect("there");
    assert_eq!((user.half_life_s, user.landmark), (7_200, decay.landmark()));
    assert_eq!(user.x / decay.growth(end / 1_000), before);
    assert!(state.pool.touched.everything);
}

/// The landmark moves for all users alike, and nobody's usage is another for it.
#[test]
fn usage_goes_on_where_the_landmark_moves() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    keep_up(&mut state, DAWN + 1);
    matched(&mut state, 1 << 40);
    let end = DAWN + 12 * HOUR;
    report(&mut state, JobState { started_at: DAWN, ended_at: end, ..at(Status::Failed, 0, end) });
    keep_up(&mut state, end);
    let (mut now, mut moved) = (end, 0);
    for _ in 0..34 {
        let (landmark, before) =
            (state.pool.users.of("ann").expect("there").landmark, usage_milli(&state, "ann"));
        now += DAY;
        keep_up(&mut state, now);
        let after = usage_milli(&state, "ann");
        assert!((before / 2 - after).abs() <= 1 + before / 4_096, "{before} {after}");
        moved += i64::from(state.pool.users.of("ann").expect("there").landmark != landmark);
    }
    assert_eq!(moved, 1, "once in 32 half-lives");
}

/// An attempt that failed and the next one that waits are read in one cycle: both count.
#[test]
fn a_retry_in_the_cycle_of_the_failure_hides_nothing() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    keep_up(&mut state, DAWN + 1);
    matched(&mut state, 1_000);
    let end = DAWN + HOUR;
    let failed = Requirements {
        failure: Some(FailureClass::Site),
        used_rss_mb: 700,
        site_whitelist: Some("T2_B"),
        ..wants(3)
    };
    let ended = JobState {
        started_at: DAWN,
        ended_at: end,
        requirements: Some(Box::new(failed)),
        queue: "T2_B",
        ..at(Status::Failed, 0, end)
    };
    report(&mut state, ended);
    report(&mut state, at(Status::Pending, 1, end + 1));
    keep_up(&mut state, end + 2);
    assert!(known(&state).waits() && known(&state).matched.is_none());
    assert!(usage_milli(&state, "ann") > 20);
    let workflow = state.pool.workflows.of("w").expect("there");
    let ended = &workflow.ended[&(3, 0)];
    let figures = (ended.failure, ended.wall_s, ended.rss_mb, ended.site.as_str());
    assert_eq!(figures, (Some(FailureClass::Site), 3_600, 700, "T2_B"));
    assert_eq!((workflow.done, workflow.failed_final), (0, 0), "another attempt follows");
}

#[test]
fn an_end_that_states_no_wishes_has_those_that_are_known() {
    let mut state = pool();
    report(
        &mut state,
        JobState { requirements: Some(Box::new(wants(7))), ..at(Status::Running, 0, DAWN) },
    );
    report(&mut state, JobState { requirements: None, ..at(Status::Finished, 0, DAWN + 1) });
    keep_up(&mut state, DAWN + 2);
    let workflow = state.pool.workflows.of("w").expect("there");
    assert_eq!(workflow.ended.keys().collect::<Vec<_>>(), [&(7, 0)]);
}

#[test]
fn a_later_attempt_settles_a_match_without_time() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    keep_up(&mut state, DAWN + 1);
    matched(&mut state, 1_000);
    report(&mut state, at(Status::Pending, 1, DAWN + 2));
    keep_up(&mut state, DAWN + 3);
    assert!(known(&state).waits() && known(&state).matched.is_none());
    assert_eq!(usage_milli(&state, "ann"), 0);
}

#[test]
fn while_job_states_lag_no_match_is_released() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    keep_up(&mut state, DAWN + 1);
    matched(&mut state, 1_000);
    // A lane that is not at its end: what it has may be the start of the job.
    let now = DAWN + 2 * MATCH_LIFETIME;
    yardmaster::sim::scenario::feed::close(
        &mut state,
        now,
        vec![(lane(Topic::JobState, 0), Default::default())],
    );
    assert!(known(&state).matched.is_some());
    keep_up(&mut state, now + 1);
    keep_up(&mut state, now + MATCH_LIFETIME + 20 * MINUTE);
    assert!(known(&state).matched.is_none() && known(&state).waits());
}

#[test]
fn a_refused_job_waits_again_in_a_later_attempt() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 1, DAWN));
    keep_up(&mut state, DAWN + 1);
    let outcome = Outcome::Reject { reason: "empty_whitelist".to_owned() };
    state.fold_output(&Decision { outcome, ..defer("j", 1, 1, state.now) }.into());
    assert!(!known(&state).waits() && !known(&state).held());
    assert!(state.requests.is_empty() && state.answered.table.is_empty(), "no request is made");
    report(&mut state, at(Status::Pending, 2, DAWN + 2));
    assert!(known(&state).waits());
}

#[test]
fn an_offer_has_what_its_newest_announcement_left() {
    let mut state = pool();
    report(&mut state, at(Status::Pending, 0, DAWN));
    announce(&mut state, offer(0, 8, DAWN, 0));
    keep_up(&mut state, DAWN + 1);
    assert_eq!(held(&state).offer.expires_at, DAWN + HOUR, "as the limit has it");
    matched(&mut state, 1_000);
    assert_eq!((held(&state).cores_left(), held(&state).mem_left_mb()), (6, 31_000));
    // The same announcement with more known, and an older one: what was taken stays taken.
    announce(&mut state, offer(0, 9, DAWN + 2, DAWN + 30 * DAY));
    announce(&mut state, offer(0, 3, DAWN + 1, 0));
    assert_eq!((held(&state).cores_left(), held(&state).answers), (7, 1));
    assert_eq!(held(&state).offer.expires_at, DAWN + 2 + HOUR, "never later than the limit");
    announce(&mut state, offer(1, 4, DAWN + 3, DAWN + MINUTE));
    assert_eq!((held(&state).cores_left(), held(&state).answers), (4, 0));
    assert!(held(&state).is_live(DAWN + MINUTE - 1) && !held(&state).is_live(DAWN + MINUTE));
    let taken_back = Pilot::SlotWithdrawn { queue: "T2_B", offer: "o", attempt: 1, at: DAWN + 4 };
    announce(&mut state, taken_back);
    assert!(!held(&state).is_live(DAWN + 5));
    // Whatever of it is read again while it could hold changes nothing.
    keep_up(&mut state, DAWN + 5);
    for pilot in [offer(0, 8, DAWN, 0), offer(1, 4, DAWN + 3, DAWN + MINUTE)] {
        announce(&mut state, pilot);
        assert!(!held(&state).is_live(DAWN + 5));
    }
    keep_up(&mut state, DAWN + 4 + HOUR);
    assert!(state.pool.offers.is_empty());
    announce(&mut state, offer(0, 9, DAWN + 2, DAWN + 30 * DAY));
    assert!(!held(&state).is_live(state.now));
    keep_up(&mut state, DAWN + 5 + HOUR);
    assert!(state.pool.offers.is_empty());
    let node = state.pool.nodes.of("n").expect("it was named");
    assert_eq!((node.cores_total, node.site.as_str()), (16, "T2_B"));
}

#[test]
fn a_workflow_is_no_request_and_its_priority_is_that_of_the_highest_revision() {
    let mut state = pool();
    let with = |priority_revision, priority, changed_at| {
        let facts = WorkflowFacts { priority, priority_revision, ..WorkflowFacts::default() };
        let task = Task { workflow: Some(facts), ..task("w", TaskPhase::Asking, changed_at) };
        Event::Task(Box::new(task))
    };
    read(&mut state, Topic::Task, with(2, 70, DAWN));
    read(&mut state, Topic::Task, with(1, 90, DAWN + 5));
    keep_up(&mut state, DAWN + 6);
    let workflow = state.pool.workflows.of("w").expect("there");
    assert_eq!(workflow.priority.map(|it| (it.revision, it.priority)), Some((2, 70)));
    assert_eq!(workflow.record.as_ref().expect("there").changed_at, DAWN + 5);
    assert!(state.requests.is_empty());
    assert_eq!(story::matchable(&state), None);
}

/// HTCondor changes JobPrio in place, up and down: without a revision the newest record holds, in
/// whatever order they are read.
#[test]
fn a_priority_without_a_revision_is_the_newest() {
    for lowered_first in [false, true] {
        let mut state = pool();
        let with = |priority, changed_at| {
            let facts = WorkflowFacts { priority, ..WorkflowFacts::default() };
            let task = Task { workflow: Some(facts), ..task("w", TaskPhase::Asking, changed_at) };
            Event::Task(Box::new(task))
        };
        let (raised, lowered) = (with(110_000, DAWN), with(85_000, DAWN + 60));
        let both = if lowered_first { [lowered, raised] } else { [raised, lowered] };
        for it in both {
            read(&mut state, Topic::Task, it);
        }
        keep_up(&mut state, DAWN + 61);
        let workflow = state.pool.workflows.of("w").expect("there");
        assert_eq!(workflow.priority.map(|it| it.priority), Some(85_000));
    }
}

#[test]
fn a_drain_that_is_over_does_not_begin_again() {
    let mut state = pool();
    let command = |kind, since: Millis, repeat| {
        let command = Command {
            kind,
            repeat,
            queue: "T2_B".to_owned(),
            jobs: vec!["j".to_owned()],
            measured: 3_600.0,
            expires_at: DAWN + HOUR,
            now: since + Millis::from(repeat),
            ..Command::new("atlas", "C-55", "n", 0, Some(since))
        };
        Output::from(command)
    };
    let drain = |state: &State| state.pool.nodes.of("n").and_then(|node| node.drain.clone());
    state.fold_output(&command(CommandKind::Drain, DAWN, 0));
    let begun = drain(&state).expect("begun");
    assert_eq!((begun.job.as_str(), begun.until_s), ("j", (DAWN + HOUR) / 1_000));
    keep_up(&mut state, DAWN + HOUR);
    assert!(state.pool.nodes.of("n").expect("there").drain_starts.is_empty(), "an hour ago");
    let ends = Command {
        kind: CommandKind::Undrain,
        now: state.now,
        ..Command::new("atlas", "C-55-undrain", "n", 0, Some(DAWN))
    };
    state.fold_output(&ends.into());
    assert_eq!(drain(&state), None);
    state.fold_output(&command(CommandKind::Drain, DAWN, 1));
    assert_eq!(drain(&state), None, "a repeat of what is over");
    state.fold_output(&command(CommandKind::Drain, DAWN + 2 * HOUR, 0));
    assert!(drain(&state).is_some());
    keep_up(&mut state, DAWN + 2 * DAY);
    assert_eq!(drain(&state), None, "overdue for a day");
}

/// Where no policy answers offers nothing is kept.
#[test]
fn elsewhere_nothing_is_kept() {
    let mut state = state();
    report(&mut state, at(Status::Pending, 0, DAWN));
    announce(&mut state, offer(0, 8, DAWN, 0));
    let facts = Some(WorkflowFacts::default());
    let workflow = Task { workflow: facts, ..task("w", TaskPhase::Asking, DAWN) };
    read(&mut state, Topic::Task, Event::Task(Box::new(workflow)));
    close(&mut state, DAWN + 1);
    assert!(state.pool.is_empty() && state.requests.is_empty());
}
