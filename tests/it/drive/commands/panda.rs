//! Timeouts as PanDA's copyArchive has them: whose jobs they are about, and those that the page does
//! not name.

use super::rules::NO_T9;
use super::stage::*;
use super::story::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

/// A rule that is not looked at.
const NO_T2: (&str, &str) = ("name = \"T2\"\nmode = \"on\"", "name = \"T2\"\nmode = \"off\"");
const NO_AGE: (&str, &str) = ("name = \"age\"\nmode = \"on\"", "name = \"age\"\nmode = \"off\"");
const NO_T5: (&str, &str) = ("name = \"T5a\"\nmode = \"on\"", "name = \"T5a\"\nmode = \"off\"");

#[test]
fn t10_is_about_jobs_of_users_whatever_their_sub_state() {
    let mut stage = Stage::new(&[PANDA]);
    let stories = [
        a_job("a user's", Status::Transferring, |job| job.label = "user").due("T10", 2 * HOUR),
        a_job("production", Status::Transferring, |job| job.sub_status = "to_transfer"),
    ];
    play(&mut stage, &stories, 7 * HOUR);
    stage.check();
}

#[test]
fn t11a_is_about_more_than_its_priority() {
    let mut stage = Stage::new(&[PANDA]);
    let stories = [
        a_job("800", Status::Holding, |job| job.priority = 800).due("T11b", 2 * DAY),
        a_job("801", Status::Holding, |job| job.priority = 801).due("T11a", 3 * HOUR),
    ];
    play(&mut stage, &stories, 2 * DAY + HOUR);
    stage.check();
}

#[test]
fn t12_leaves_jobs_of_users_alone() {
    let mut stage = Stage::new(&[PANDA, NO_AGE, T10_OFF]);
    let stories = [
        a_job("production", Status::Transferring, |job| job.priority = 800).due("T12a", 2 * DAY),
        a_job("a test", Status::Transferring, |job| job.label = "test").due("T12b", 6 * DAY),
        a_job("a user's", Status::Transferring, |job| job.label = "user"),
    ];
    play(&mut stage, &stories, 6 * DAY + HOUR);
    stage.check();
}

const T10_OFF: (&str, &str) = ("name = \"T10\"\nmode = \"on\"", "name = \"T10\"\nmode = \"off\"");

fn of_user(job: &mut JobState<'_>) {
    (job.label, job.group) = ("user", "");
}

#[test]
fn a_users_job_that_no_pilot_takes_is_reassigned_after_twelve_hours() {
    let mut stage = Stage::new(&[PANDA, NO_T9]);
    let stories = [
        a_job("defined", Status::Defined, of_user).due("analysis_timeout", 12 * HOUR),
        a_job("assigned, made before", Status::Assigned, |job| {
            of_user(job);
            job.created_at -= HOUR;
        })
        .due("analysis_timeout", 11 * HOUR),
        a_job("activated", Status::Activated, of_user).due("analysis_timeout", 12 * HOUR),
        a_job("starting", Status::Starting, of_user).due("analysis_timeout", 12 * HOUR),
        a_job("running", Status::Running, of_user),
        a_job("production", Status::Activated, |_| {}),
    ];
    play(&mut stage, &stories, 13 * HOUR);
    stage.check();
}

#[test]
fn a_users_job_stays_while_jobs_of_its_task_finish_at_the_queue() {
    let mut stage = Stage::new(&[PANDA]);
    let mut waiting = stage.job("7", Status::Activated);
    of_user(&mut waiting);
    stage.publish(&waiting);
    stage.pass(11 * HOUR);
    let mut finished = JobState { ended_at: stage.now(), ..stage.job("8", Status::Finished) };
    of_user(&mut finished);
    stage.publish(&finished);
    let at = stage.now();
    // The windows of ended jobs are ten minutes wide.
    stage.until(at + 3 * HOUR);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(at + 3 * HOUR + 10 * MINUTE);
    assert_eq!(stage.rules("7"), ["analysis_timeout"]);
    stage.check();
}

#[test]
fn a_users_job_goes_by_the_run_time_parameters_and_the_queues_status() {
    let mut stage = Stage::new(&[PANDA]);
    stage.yard.set("rebroker", "ANALY_TIMEOUT", "6");
    stage.yard.set("rebroker", "ANALY_TIMEOUT_phys-higgs", "8");
    let stories = [
        a_job("a user's", Status::Activated, of_user).due("analysis_timeout", 6 * HOUR),
        a_job("a group's", Status::Activated, |job| {
            (job.label, job.group) = ("user", "phys-higgs");
        })
        .due("analysis_timeout", 8 * HOUR),
    ];
    play(&mut stage, &stories, 9 * HOUR);
    let mut stage = Stage::new(&[PANDA]);
    let mut job = stage.job("7", Status::Activated);
    of_user(&mut job);
    stage.publish(&job);
    stage.pass(2 * HOUR);
    stage.configure(|queue| queue.status = QueueStatus::Test);
    stage.until(job.changed_at + 3 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(job.changed_at + 3 * HOUR);
    assert_eq!(stage.rules("7"), ["analysis_timeout"]);
    stage.check();
}

#[test]
fn a_job_that_is_not_started_in_a_week_or_not_heard_of_is_killed() {
    let mut stage = Stage::new(&[PANDA, NO_T2, NO_T5, NO_T9]);
    let stories = [
        a_job("defined", Status::Defined, |job| {
            (job.label, job.created_at) = ("group", job.created_at - DAY);
        })
        .due("age", 6 * DAY),
        a_job("activated", Status::Activated, |job| job.created_at -= DAY).due("age", 6 * DAY),
        a_job("a user's", Status::Merging, |job| {
            (job.label, job.created_at) = ("user", job.created_at - DAY);
        })
        .due("age", 7 * DAY),
        a_job("production", Status::Merging, |_| {}),
    ];
    play(&mut stage, &stories, 8 * DAY);
    stage.check();
}

#[test]
fn t6_asks_for_no_start_where_the_queue_is_out_of_service() {
    let mut stage = Stage::new(&[PANDA, NO_T9]);
    stage.configure(|queue| queue.status = QueueStatus::Test);
    let at = stage.now();
    let job = JobState { priority: 850, ..stage.job("7", Status::Starting) };
    stage.publish(&job);
    stage.until(at + 3 * HOUR);
    let started = JobState { started_at: at + 3 * HOUR, ..stage.job("100", Status::Running) };
    stage.publish(&started);
    stage.until(job.changed_at + 4 * HOUR);
    assert_eq!(stage.rules("7"), ["T6"]);
    stage.check();
}

#[test]
fn a_job_of_event_service_is_found_whose_task_is_known_late() {
    let mut stage = Stage::new(&[PANDA, NO_T9]);
    let job = JobState { priority: 900, task: "2", ..stage.job("7", Status::Running) };
    stage.publish(&job);
    stage.until(job.changed_at + DAY + HOUR);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.task("2/1", Options { event_service: true, ..Options::default() });
    stage.pass(SECOND);
    assert_eq!(stage.rules("7"), ["event_service"]);
    stage.check();
}

#[test]
fn a_users_job_is_not_killed_for_its_age_while_heartbeats_are_late() {
    let mut stage = Stage::new(&[PANDA, NO_T2, NO_T5, NO_T9]);
    let merging = JobState { label: "user", ..stage.job("7", Status::Merging) };
    stage.publish(&merging);
    stage.pass(6 * DAY);
    stage.alive.retain(|topic| *topic != yardmaster::core::cut::Topic::Heartbeat);
    stage.pass(2 * DAY);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.check();
}

#[test]
fn a_job_of_event_service_that_runs_for_a_day_is_killed() {
    let mut stage = Stage::new(&[PANDA, NO_T9]);
    stage.task("2/1", Options { event_service: true, ..Options::default() });
    let cloned = Options { event_service: true, job_cloning: true, ..Options::default() };
    stage.task("3/1", cloned);
    let stories = [
        a_job("900", Status::Running, |job| (job.priority, job.task) = (900, "2"))
            .due("event_service", DAY),
        a_job("899", Status::Running, |job| (job.priority, job.task) = (899, "2")),
        a_job("merging", Status::Starting, |job| {
            (job.priority, job.task, job.processing_type) = (100, "2", "pmerge");
        })
        .due("event_service", DAY),
        a_job("of another task", Status::Running, |job| job.priority = 900),
        a_job("cloned", Status::Running, |job| (job.priority, job.task) = (900, "3")),
    ];
    play(&mut stage, &stories, DAY + HOUR);
    stage.check();
}
