//! Timeout rules T9 and T10: jobs that stop sending heartbeats.

use super::stage::*;
use super::story::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

#[test]
fn t9_a_running_job_fails_two_hours_after_its_last_heartbeat() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Running);
    stage.publish(&job);
    stage.pass(HOUR);
    let last = stage.now();
    stage.heartbeat("7", last);
    stage.until(last + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(last + 2 * HOUR);
    assert_eq!(stage.about("7"), [("fail".to_owned(), "T9".to_owned(), true)]);
    let command = stage.yard.commands().pop().unwrap();
    assert_eq!((command.clock.as_str(), command.clock_at), ("heartbeat", Some(last)));
    assert_eq!((command.measured, command.limit), (7_200_000.0, 7_200_000.0));
    stage.check();
}

#[test]
fn t9_a_starting_job_fails_two_hours_after_its_last_heartbeat() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Starting);
    stage.publish(&job);
    stage.pass(HOUR);
    let last = stage.now();
    stage.heartbeat("7", last);
    stage.until(last + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(last + 2 * HOUR);
    assert_eq!(stage.about("7"), [("fail".to_owned(), "T9".to_owned(), true)]);
    stage.check();
}

#[test]
fn t9_is_about_all_jobs_that_run_or_start_whether_they_ever_sent_a_heartbeat() {
    let mut stage = Stage::new(&[]);
    let stories = [
        a_job("starting", Status::Starting, |_| {}).with_heartbeat(0).due("T9", 2 * HOUR),
        a_job("running", Status::Running, |_| {}).with_heartbeat(0).due("T9", 2 * HOUR),
        a_job("a second attempt", Status::Starting, |job| job.attempt = 1)
            .with_heartbeat(1)
            .due("T9", 2 * HOUR),
        a_job("a user's", Status::Running, |job| job.label = "user")
            .with_heartbeat(0)
            .due("T9", 2 * HOUR),
        a_job("running, of an earlier attempt", Status::Running, |job| job.attempt = 1)
            .with_heartbeat(0)
            .due("T9", 2 * HOUR),
        a_job("starting, none", Status::Starting, |_| {}).due("T9", 2 * HOUR),
        a_job("running, none", Status::Running, |_| {}).due("T9", 2 * HOUR),
        a_job("another state", Status::Activated, |_| {}).with_heartbeat(0),
        a_job("merging", Status::Merging, |_| {}).with_heartbeat(0),
    ];
    play(&mut stage, &stories, 7 * HOUR);
    let commands = stage.yard.commands();
    let clock = |name: &str| {
        let command = commands.iter().find(|it| it.subject == name).unwrap();
        command.clock.clone()
    };
    assert_eq!((clock("17").as_str(), clock("15").as_str()), ("changed_at", "changed_at"));
    stage.check();
}

#[test]
fn t9_a_heartbeat_puts_it_off_and_one_of_another_attempt_does_not_count() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Running);
    stage.publish(&job);
    for _ in 0..5 {
        let now = stage.now();
        stage.heartbeat("7", now);
        stage.pass(HOUR + 50 * MINUTE);
    }
    assert_eq!(stage.rules("7"), [""; 0]);
    // Those of the first attempt do not count for a second.
    let again = JobState { attempt: 1, ..stage.job("7", Status::Running) };
    stage.publish(&again);
    stage.pass(HOUR);
    let now = stage.now();
    stage.heartbeat("7", now);
    stage.until(again.changed_at + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(again.changed_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

/// It is about jobs that run, and goes by what their states say.
const NO_T8: (&str, &str) = ("name = \"T8\"\nmode = \"on\"", "name = \"T8\"\nmode = \"off\"");

/// By the log's stamp: neither a node whose clock is behind nor one whose clock is ahead, within
/// the limit or beyond it, makes a job live shorter or longer.
#[test]
fn t9_goes_by_when_a_heartbeat_arrived_whatever_time_it_states() {
    for off in [-400 * DAY, -5 * HOUR, -4 * MINUTE, 4 * MINUTE, 5 * HOUR] {
        let mut stage = Stage::new(&[NO_T8]);
        let job = stage.job("7", Status::Running);
        // Its state and its first heartbeat are read together.
        stage.yard.job(&JobState { changed_at: job.changed_at + off.min(0), ..job });
        let mut last = 0;
        for _ in 0..4 {
            last = stage.now();
            stage.beat_stating("7", 0, last + off);
            stage.turn();
            stage.pass(HOUR + 50 * MINUTE);
        }
        assert_eq!(stage.rules("7"), [""; 0], "off by {off}");
        stage.until(last + 2 * HOUR - SECOND);
        assert_eq!(stage.rules("7"), [""; 0], "off by {off}");
        stage.until(last + 2 * HOUR);
        assert_eq!(stage.rules("7"), ["T9"], "off by {off}");
        let command = stage.yard.commands().pop().unwrap();
        assert_eq!((command.clock.as_str(), command.clock_at), ("heartbeat", Some(last)));
        stage.check();
    }
}

#[test]
fn t9_a_new_state_puts_it_off_like_a_heartbeat() {
    let mut stage = Stage::new(&[]);
    let starting = stage.job("7", Status::Starting);
    stage.publish(&starting);
    stage.heartbeat("7", starting.changed_at);
    stage.pass(HOUR);
    let running = stage.job("7", Status::Running);
    stage.publish(&running);
    stage.until(running.changed_at + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(running.changed_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

#[test]
fn t9_goes_by_the_workflow_of_the_job_else_of_its_queue() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_analysis", "1");
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_production", "3");
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_push", "12");
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_pull_ups", "5");
    stage.configure(|queue| queue.workflow = "push".into());
    let stories = [
        a_job("of a workflow", Status::Running, |_| {}).with_heartbeat(0).due("T9", 5 * HOUR),
        a_job("of a workflow, starting", Status::Starting, |_| {})
            .with_heartbeat(0)
            .due("T9", 5 * HOUR),
        a_job("that names none", Status::Running, |job| job.workflow = "")
            .with_heartbeat(0)
            .due("T9", 12 * HOUR),
        a_job("that names none, starting", Status::Starting, |job| job.workflow = "")
            .with_heartbeat(0)
            .due("T9", 12 * HOUR),
        a_job("of the workflow of its queue", Status::Running, |job| job.workflow = "push")
            .with_heartbeat(0)
            .due("T9", 12 * HOUR),
        a_job("of a workflow without a limit", Status::Running, |job| job.workflow = "odd")
            .with_heartbeat(0)
            .due("T9", 3 * HOUR),
        a_job("a user's", Status::Running, |job| {
            (job.workflow, job.label) = ("odd", "user");
        })
        .with_heartbeat(0)
        .due("T9", HOUR),
        a_job("a build job", Status::Starting, |job| {
            (job.workflow, job.label) = ("odd", "panda");
        })
        .with_heartbeat(0)
        .due("T9", HOUR),
    ];
    play(&mut stage, &stories, 13 * HOUR);
    stage.check();
}

#[test]
fn t9_a_job_that_names_no_workflow_and_has_no_queue_has_the_limit_of_production() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_production", "3");
    // Another job without a queue lives.
    for name in ["7", "8"] {
        let job = JobState { queue: "", workflow: "", ..stage.job(name, Status::Running) };
        stage.publish(&job);
    }
    let at = stage.now();
    stage.heartbeat("7", at);
    stage.keep("8", 3 * HOUR - SECOND - (stage.now() - at));
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.pass(SECOND);
    assert_eq!(stage.rules("7"), ["T9"]);
    assert_eq!(stage.rules("8"), [""; 0]);
    stage.check();
}

#[test]
fn t9_without_a_parameter_for_jobs_of_users_they_have_the_rules_own_limit() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_production", "3");
    let stories = [
        a_job("production", Status::Running, |_| {}).with_heartbeat(0).due("T9", 3 * HOUR),
        a_job("a user's", Status::Running, |job| job.label = "user")
            .with_heartbeat(0)
            .due("T9", 2 * HOUR),
    ];
    play(&mut stage, &stories, 4 * HOUR);
    stage.check();
}

#[test]
fn t9_a_heartbeat_that_is_read_late_counts_from_when_it_arrived() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Running);
    stage.publish(&job);
    let at = job.changed_at;
    stage.until(at + 2 * HOUR - MINUTE);
    let arrived = at + HOUR + 55 * MINUTE;
    stage.heartbeat("7", arrived);
    stage.until(arrived + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(arrived + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"]);
    stage.check();
}

#[test]
fn t10_a_transferring_job_with_a_sub_state_fails_two_hours_after_its_last_heartbeat() {
    let mut stage = Stage::new(&[]);
    let job = JobState { sub_status: "to_transfer", ..stage.job("7", Status::Transferring) };
    stage.publish(&job);
    stage.pass(HOUR);
    let last = stage.now();
    stage.heartbeat("7", last);
    stage.until(last + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(last + 2 * HOUR);
    assert_eq!(stage.about("7"), [("fail".to_owned(), "T10".to_owned(), true)]);
    stage.check();
}

#[test]
fn t10_needs_a_sub_state() {
    fn sub_state(job: &mut JobState<'_>) {
        job.sub_status = "to_transfer";
    }
    let mut stage = Stage::new(&[]);
    let stories = [
        a_job("with both", Status::Transferring, sub_state).with_heartbeat(0).due("T10", 2 * HOUR),
        a_job("a second attempt", Status::Transferring, |job| {
            (job.sub_status, job.attempt) = ("to_transfer", 1);
        })
        .with_heartbeat(1)
        .due("T10", 2 * HOUR),
        a_job("a user's", Status::Transferring, |job| {
            (job.sub_status, job.label) = ("to_transfer", "user");
        })
        .with_heartbeat(0)
        .due("T10", 2 * HOUR),
        a_job("without a sub-state", Status::Transferring, |_| {}).with_heartbeat(0),
        a_job("without a heartbeat", Status::Transferring, sub_state).due("T10", 2 * HOUR),
        a_job("of an earlier attempt", Status::Transferring, |job| {
            (job.sub_status, job.attempt) = ("to_transfer", 1);
        })
        .with_heartbeat(0)
        .due("T10", 2 * HOUR),
        a_job("another state", Status::Holding, sub_state).with_heartbeat(0),
    ];
    play(&mut stage, &stories, 7 * HOUR);
    stage.check();
}

#[test]
fn t10_goes_by_the_workflow_of_the_job_else_of_its_queue() {
    fn sub_state(job: &mut JobState<'_>, workflow: &'static str) {
        (job.sub_status, job.workflow) = ("to_transfer", workflow);
    }
    let mut stage = Stage::new(&[]);
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_production", "3");
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_push", "12");
    stage.configure(|queue| queue.workflow = "push".into());
    let stories = [
        a_job("of a workflow", Status::Transferring, |job| sub_state(job, "push"))
            .with_heartbeat(0)
            .due("T10", 12 * HOUR),
        a_job("that names none", Status::Transferring, |job| sub_state(job, ""))
            .with_heartbeat(0)
            .due("T10", 12 * HOUR),
        a_job("of a workflow without a limit", Status::Transferring, |job| sub_state(job, "odd"))
            .with_heartbeat(0)
            .due("T10", 3 * HOUR),
    ];
    play(&mut stage, &stories, 13 * HOUR);
    stage.check();
}
