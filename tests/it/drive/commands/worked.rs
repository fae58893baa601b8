//! The worked examples of spec atlas 13.6: what is known of a job "so long ago", and what is
//! commanded of it now.

use super::rules::NO_T9;
use super::stage::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

/// A stage that has been up for six hours, so that starts of that time are known.
fn stage() -> Stage {
    stage_with(&[])
}

fn stage_with(changes: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(changes);
    stage.pass(6 * HOUR);
    stage
}

/// A job that reached its state so long ago.
fn job(stage: &Stage, status: Status, ago: i64, priority: i32) -> JobState<'static> {
    let at = stage.now() - ago;
    JobState { changed_at: at, created_at: at, priority, ..stage.job("7", status) }
}

/// Asserts the commands about a job that is published now: kind and rule.
#[track_caller]
fn commanded(stage: &mut Stage, job: &JobState<'_>, wanted: &[(&str, &str)]) {
    stage.publish(job);
    // A job that is overdue when it is read is looked at when the next minute begins.
    stage.pass(MINUTE);
    let about = stage.about(job.job);
    let found: Vec<(&str, &str)> =
        about.iter().map(|(kind, rule, _)| (kind.as_str(), rule.as_str())).collect();
    assert_eq!(found, wanted);
}

#[test]
fn activated_49_hours_ago_of_priority_500_is_reassigned() {
    let mut stage = stage();
    let job = job(&stage, Status::Activated, 49 * HOUR, 500);
    commanded(&mut stage, &job, &[("reassign", "T5a")]);
    stage.check();
}

#[test]
fn activated_49_hours_ago_at_a_paused_queue_stays() {
    let mut stage = stage();
    stage.configure(|queue| queue.status = QueueStatus::Paused);
    let job = job(&stage, Status::Activated, 49 * HOUR, 500);
    commanded(&mut stage, &job, &[]);
    stage.pass(DAY);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.check();
}

/// Another job of the queue started so long ago.
fn last_start(stage: &mut Stage, ago: i64) {
    let started_at = stage.now() - ago;
    let running = JobState { started_at, ..stage.job("100", Status::Running) };
    stage.publish(&running);
}

#[test]
fn starting_5_hours_ago_of_priority_850_is_reassigned_if_the_last_start_was_3_hours_ago() {
    let mut stage = stage_with(&[NO_T9]);
    last_start(&mut stage, 3 * HOUR);
    let job = job(&stage, Status::Starting, 5 * HOUR, 850);
    commanded(&mut stage, &job, &[("reassign", "T6")]);
    stage.check();
}

#[test]
fn starting_5_hours_ago_of_priority_850_stays_if_the_last_start_was_an_hour_ago() {
    let mut stage = stage_with(&[NO_T9]);
    let started_at = stage.now() - HOUR;
    last_start(&mut stage, HOUR);
    let job = job(&stage, Status::Starting, 5 * HOUR, 850);
    commanded(&mut stage, &job, &[]);
    // It moves when the last start is two hours old.
    stage.until(started_at + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(started_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T6"]);
    stage.check();
}

/// A running job of a workflow whose last heartbeat was 2 h 1 min ago.
fn silent(stage: &mut Stage, workflow: &'static str) -> JobState<'static> {
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_push", "12");
    let job = JobState { workflow, ..job(stage, Status::Running, 5 * HOUR, 500) };
    stage.beat("7", 0, stage.now() - 2 * HOUR - MINUTE);
    job
}

#[test]
fn running_with_a_last_heartbeat_2_hours_and_a_minute_ago_fails() {
    let mut stage = stage();
    let job = silent(&mut stage, "pull_ups");
    commanded(&mut stage, &job, &[("fail", "T9")]);
    stage.check();
}

#[test]
fn running_with_a_last_heartbeat_2_hours_and_a_minute_ago_stays_in_a_workflow_with_12_hours() {
    let mut stage = stage();
    let last = stage.now() - 2 * HOUR - MINUTE;
    let job = silent(&mut stage, "push");
    commanded(&mut stage, &job, &[]);
    stage.until(last + 12 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(last + 12 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

#[test]
fn holding_for_4_hours_of_priority_800_fails() {
    let mut stage = stage();
    let job = job(&stage, Status::Holding, 4 * HOUR, 800);
    commanded(&mut stage, &job, &[("fail", "T11a")]);
    stage.check();
}

/// A transferring job whose payload ended three days ago.
fn transferring(stage: &Stage, priority: i32) -> JobState<'static> {
    let ended_at = stage.now() - 3 * DAY;
    JobState { ended_at, ..job(stage, Status::Transferring, 3 * DAY, priority) }
}

#[test]
fn transferring_of_priority_900_that_ended_3_days_ago_fails() {
    let mut stage = stage();
    let job = transferring(&stage, 900);
    commanded(&mut stage, &job, &[("fail", "T12a")]);
    stage.check();
}

#[test]
fn transferring_of_priority_700_that_ended_3_days_ago_stays_until_6_days() {
    let mut stage = stage();
    let job = transferring(&stage, 700);
    commanded(&mut stage, &job, &[]);
    stage.until(job.ended_at + 6 * DAY - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(job.ended_at + 6 * DAY);
    assert_eq!(stage.rules("7"), ["T12b"]);
    stage.check();
}

// --- Fast rebrokerage ------------------------------------------------------------------------------

/// Budgets that hold back none of the examples.
const WIDE: (&str, &str) = (
    "jobs_per_queue = 100\npercent_of_queue = 10",
    "jobs_per_queue = 1_000\npercent_of_queue = 10",
);

/// How many jobs are commanded to move, given those queued and running at a queue, those of the
/// share queued at all queues, and the threshold of the share; 0: none is set.
#[track_caller]
fn excess(queued: u32, running: u32, total: u32, threshold: u32, wanted: u64) {
    let mut stage = Stage::new(&[WIDE]);
    // Nothing moves away from the other queue, whose jobs count in the total.
    let other = super::super::yard::queue(OTHER, stage.now());
    stage.yard.configure(&Queue { status: QueueStatus::Paused, ..other });
    if threshold > 0 {
        let gshare = stage.job("1", Status::Activated).gshare;
        let key = format!("FAST_REBRO_THRESHOLD_NQUEUE_{gshare}");
        stage.yard.set("rebroker", &key, &threshold.to_string());
    }
    let states = [Status::Defined, Status::Assigned, Status::Activated, Status::Starting];
    let place = |number: u32| match number {
        _ if number < queued => (QUEUE, states[number as usize % 4]),
        _ if number < total => (OTHER, Status::Activated),
        _ => (QUEUE, Status::Running),
    };
    for number in 0..total + running {
        let (queue, status) = place(number);
        let name = (1_000 + number).to_string();
        stage.yard.job(&JobState { queue, ..stage.job(&name, status) });
    }
    // Once a minute it is noted where there are too many.
    stage.pass(MINUTE);
    let since = stage.now();
    let moved = |stage: &Stage| -> u64 {
        let all = stage.yard.commands().into_iter();
        let moves = all.filter(|it| it.rule == "fast_rebrokerage" && it.held_back().is_none());
        moves.filter(|it| it.repeat == 0).map(|it| it.amount).sum()
    };
    stage.until(since + 39 * MINUTE);
    assert_eq!(moved(&stage), 0, "before the dwell is over");
    stage.until(since + 40 * MINUTE);
    assert_eq!(moved(&stage), wanted);
    stage.check();
}

#[test]
fn of_1000_queued_and_100_running_with_2000_in_all_400_move() {
    excess(1_000, 100, 2_000, 300, 400);
}

#[test]
fn of_1000_queued_with_5000_in_all_none_moves_since_it_is_less_than_its_part() {
    excess(1_000, 100, 5_000, 300, 0);
}

#[test]
fn of_1000_queued_and_400_running_none_moves_since_they_will_start() {
    excess(1_000, 400, 2_000, 300, 0);
}

#[test]
fn of_500_queued_and_none_running_200_move() {
    excess(500, 0, 500, 300, 200);
}

#[test]
fn of_301_queued_with_900_in_all_one_moves() {
    excess(301, 0, 900, 300, 1);
}

#[test]
fn of_5000_queued_none_moves_if_the_share_has_no_threshold() {
    excess(5_000, 0, 5_000, 0, 0);
}
