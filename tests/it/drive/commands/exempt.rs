//! Exemptions from the timeout rules: a queue that is paused, or that has disableReassign in its
//! catchall. Each rule with each exemption.

use super::stage::*;
use super::story::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

/// How long after they were published the jobs of the table are due.
const AFTER: i64 = 30 * MINUTE;

/// Sets the clocks of a job back, so that a limit is over [`AFTER`] it was published.
fn back(job: &mut JobState<'_>, limit: i64) {
    job.changed_at -= limit - AFTER;
    job.created_at = job.changed_at;
}

/// For each rule a job that no other rule is due for, and what the rule asks for.
fn every_rule() -> Vec<(&'static str, Story)> {
    fn of(rule: &'static str, status: Status, change: fn(&mut JobState<'_>)) -> Story {
        a_job(rule, status, change).due(rule, AFTER)
    }
    use Status::*;
    vec![
        ("kill", of("T1", Pending, |job| back(job, HOUR))),
        ("reassign", of("T2", Defined, |job| back(job, 4 * HOUR))),
        ("reassign", of("T3", Assigned, |job| back(job, 12 * HOUR))),
        ("kill", of("T4", Throttled, |job| back(job, 7 * DAY))),
        ("reassign", of("T5a", Activated, |job| back(job, 2 * DAY))),
        ("reassign", of("T5b", Starting, |job| back(job, 2 * DAY)).alive()),
        (
            "reassign",
            of("T6", Starting, |job| {
                job.priority = 800;
                back(job, 4 * HOUR);
            })
            .alive(),
        ),
        ("fail", of("T7", Sent, |job| back(job, 30 * MINUTE))),
        (
            "kill",
            of("T8", Running, |job| {
                back(job, 21 * DAY);
                job.started_at = job.changed_at;
            })
            .alive(),
        ),
        ("fail", of("T9", Running, |job| back(job, 2 * HOUR)).with_heartbeat(0)),
        (
            "fail",
            of("T10", Transferring, |job| {
                job.sub_status = "to_transfer";
                back(job, 2 * HOUR);
            })
            .with_heartbeat(0),
        ),
        (
            "fail",
            of("T11a", Holding, |job| {
                job.priority = 800;
                back(job, 3 * HOUR);
            }),
        ),
        ("fail", of("T11b", Holding, |job| back(job, 2 * DAY))),
        (
            "fail",
            of("T12a", Transferring, |job| {
                job.priority = 800;
                back(job, 2 * DAY);
            }),
        ),
        ("fail", of("T12b", Transferring, |job| back(job, 6 * DAY))),
    ]
}

/// Whether a line of the table is about T9 or T10.
fn is_of_heartbeats(story: &Story) -> bool {
    matches!(story.what, "T9" | "T10")
}

/// A stage that has been up for so long that T6 may be due.
fn stage(change: impl FnOnce(&mut Queue)) -> Stage {
    let mut stage = Stage::new(&[]);
    stage.configure(change);
    stage.pass(2 * HOUR);
    stage
}

/// Each rule of a table commands its job at its threshold and not a second before, and asks for its kind.
#[track_caller]
fn are_commanded(mut stage: Stage, table: Vec<(&'static str, Story)>, at_queue: &'static str) {
    let at = stage.now();
    let (kinds, stories): (Vec<&str>, Vec<Story>) = table.into_iter().unzip();
    let stories: Vec<Story> = stories.into_iter().map(|story| story.at_queue(at_queue)).collect();
    let names = publish(&mut stage, &stories);
    stage.until(at + AFTER - SECOND);
    for (name, story) in names.iter().zip(&stories) {
        assert_eq!(stage.rules(name), [""; 0], "{}, a second before", story.what);
    }
    stage.until(at + AFTER);
    for ((name, story), kind) in names.iter().zip(&stories).zip(kinds) {
        let wanted = (kind.to_owned(), story.what.to_owned(), true);
        assert_eq!(stage.about(name), [wanted], "{}, at its threshold", story.what);
    }
    stage.check();
}

/// No rule commands its job at its threshold nor an hour later; it does in the first cycle after the
/// queue is open again.
#[track_caller]
fn is_exempt(change: fn(&mut Queue)) {
    let mut stage = stage(change);
    let at = stage.now();
    let stories: Vec<Story> = every_rule().into_iter().map(|(_, story)| story).collect();
    let names = publish(&mut stage, &stories);
    for moment in [at + AFTER - SECOND, at + AFTER, at + AFTER + HOUR] {
        stage.until(moment);
        for (name, story) in names.iter().zip(&stories) {
            let after = (moment - at - AFTER) / SECOND;
            assert_eq!(stage.rules(name), [""; 0], "{}, {after} s after", story.what);
        }
    }
    for story in &stories {
        let held = stage.held(story.what);
        let (jobs, why) = held.first().expect("what is held back is published");
        assert_eq!(*jobs, 1, "{}", story.what);
        assert!(why.starts_with("exempt"), "{}: {why}", story.what);
    }
    let cycle = stage.drive.state().number;
    stage.yard.configure(&super::super::yard::queue(QUEUE, stage.now()));
    stage.pass(SECOND);
    assert_eq!(stage.drive.state().number, cycle + 1, "one cycle was made");
    for (name, story) in names.iter().zip(&stories) {
        assert_eq!(stage.rules(name), [story.what], "{}, the queue is open", story.what);
    }
    stage.check();
}

#[test]
fn every_rule_commands_its_job_at_a_queue_that_is_open() {
    are_commanded(stage(|_| {}), every_rule(), QUEUE);
}

#[test]
fn no_rule_commands_a_job_at_a_queue_that_is_paused() {
    is_exempt(|queue| queue.status = QueueStatus::Paused);
}

#[test]
fn no_rule_commands_a_job_at_a_queue_that_has_disable_reassign() {
    is_exempt(|queue| queue.catchall = "disableReassign".into());
}

#[test]
fn no_rule_commands_a_job_at_a_queue_that_has_disable_reassign_among_other_flags() {
    is_exempt(|queue| queue.catchall = "x=1, disableReassign,transtimehi=2".into());
}

#[test]
fn a_queue_that_is_offline_or_in_test_is_not_exempt() {
    for status in [QueueStatus::Offline, QueueStatus::Test, QueueStatus::Brokeroff] {
        are_commanded(stage(|queue| queue.status = status), every_rule(), QUEUE);
    }
}

#[test]
fn a_job_without_a_queue_is_never_exempt() {
    let table = every_rule().into_iter().filter(|(_, story)| !is_of_heartbeats(story)).collect();
    are_commanded(stage(|queue| queue.status = QueueStatus::Paused), table, "");
}

#[test]
fn a_job_without_a_queue_is_never_exempt_from_the_rules_on_heartbeats() {
    let table = every_rule().into_iter().filter(|(_, story)| is_of_heartbeats(story)).collect();
    are_commanded(stage(|queue| queue.status = QueueStatus::Paused), table, "");
}

#[test]
fn a_job_at_another_queue_than_the_paused_one_is_not_exempt() {
    are_commanded(stage(|queue| queue.status = QueueStatus::Paused), every_rule(), OTHER);
}

#[test]
fn a_queue_that_is_paused_after_a_command_gets_no_repeat_until_it_is_open_again() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    stage.until(job.created_at + HOUR);
    assert_eq!(stage.about("7").len(), 1);
    stage.configure(|queue| queue.status = QueueStatus::Paused);
    stage.pass(3 * HOUR);
    assert_eq!(stage.about("7").len(), 1);
    stage.configure(|_| {});
    assert_eq!(stage.about("7").len(), 2);
    stage.check();
}
