//! Each timeout rule: nothing a second before its threshold, a command at it; and its exemptions.

use super::stage::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

/// The story of one rule: a job as published now, and when it is due after that.
#[track_caller]
fn due(rule: &str, kind: &str, after: i64, change: impl FnOnce(&mut JobState<'static>)) {
    let mut stage = Stage::new(&[]);
    let at = stage.now();
    let mut job = stage.job("7", Status::Pending);
    change(&mut job);
    stage.publish(&job);
    stage.until(at + after - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new(), "{rule}, a second before");
    stage.until(at + after);
    let wanted = (kind.to_owned(), rule.to_owned(), true);
    assert_eq!(stage.about("7"), [wanted], "{rule}, at its threshold");
    stage.check();
}

/// No rule is due for a job within a time.
#[track_caller]
fn never(stage: &mut Stage, job: &JobState<'_>, within: i64) {
    stage.publish(job);
    stage.pass(within);
    assert_eq!(stage.rules(job.job), Vec::<String>::new());
}

#[test]
fn t1_a_pending_job_is_killed_an_hour_after_it_was_created() {
    due("T1", "kill", HOUR, |_| {});
}

#[test]
fn t2_a_defined_job_is_reassigned_after_four_hours() {
    due("T2", "reassign", 4 * HOUR, |job| job.status = Status::Defined);
    due("T2", "reassign", 4 * HOUR, |job| {
        (job.status, job.label) = (Status::Defined, "test");
    });
}

#[test]
fn t2_a_build_job_or_one_without_a_task_is_killed_by_its_age() {
    // Created an hour before it was defined.
    due("T2", "kill", 3 * HOUR, |job| {
        (job.status, job.label, job.created_at) = (Status::Defined, "panda", job.created_at - HOUR);
    });
    due("T2", "kill", 3 * HOUR, |job| {
        (job.status, job.task, job.created_at) = (Status::Defined, "", job.created_at - HOUR);
    });
}

#[test]
fn t2_goes_by_the_run_time_parameter() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("job_timeout", "TIMEOUT_defined", "2");
    let job = stage.job("7", Status::Defined);
    stage.publish(&job);
    stage.until(job.changed_at + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.until(job.changed_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T2"]);
    // A limit that is made shorter holds for jobs that wait already.
    let other = stage.job("8", Status::Defined);
    stage.publish(&other);
    stage.pass(HOUR + MINUTE);
    assert_eq!(stage.rules("8"), Vec::<String>::new());
    stage.yard.set("job_timeout", "TIMEOUT_defined", "1");
    stage.pass(SECOND);
    assert_eq!(stage.rules("8"), ["T2"]);
    stage.check();
}

#[test]
fn t3_production_that_is_not_activated_is_reassigned_after_twelve_hours() {
    due("T3", "reassign", 12 * HOUR, |job| job.status = Status::Assigned);
    let mut stage = Stage::new(&[]);
    let users = JobState { label: "user", ..stage.job("8", Status::Assigned) };
    never(&mut stage, &users, 13 * HOUR);
}

#[test]
fn t4_a_throttled_job_is_killed_a_week_after_it_was_created() {
    due("T4", "kill", 7 * DAY, |job| job.status = Status::Throttled);
}

#[test]
fn t5a_activated_production_is_reassigned_after_two_days() {
    due("T5a", "reassign", 2 * DAY, |job| job.status = Status::Activated);
}

#[test]
fn t5b_starting_production_is_reassigned_after_two_days() {
    due("T5b", "reassign", 48 * HOUR, |job| job.status = Status::Starting);
}

#[test]
fn t5_jobs_of_users_without_a_task_or_of_a_task_that_forbids_it_stay() {
    let mut stage = Stage::new(&[]);
    stage.task("1/1", Options { disable_reassign: true, ..Options::default() });
    let kept = JobState { priority: 900, ..stage.job("7", Status::Activated) };
    stage.publish(&kept);
    let users = JobState { label: "user", task: "2", ..stage.job("8", Status::Activated) };
    stage.publish(&users);
    let alone = JobState { task: "", ..stage.job("9", Status::Starting) };
    never(&mut stage, &alone, 3 * DAY);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    assert_eq!(stage.rules("8"), Vec::<String>::new());
    stage.check();
}

#[test]
fn t6_a_job_of_high_priority_moves_where_nothing_has_started_for_two_hours() {
    // The worked example of spec atlas 13.6: 5 h in starting, the queue's last start 3 h or 1 h ago.
    let mut stage = Stage::new(&[]);
    let at = stage.now();
    let started = |stage: &mut Stage, name: &'static str, at: i64| {
        let job = stage.job(name, Status::Running);
        stage.publish(&JobState { started_at: at, ..job });
    };
    let job = JobState { priority: 850, ..stage.job("7", Status::Starting) };
    stage.publish(&job);
    started(&mut stage, "100", at);
    stage.until(at + 3 * HOUR);
    started(&mut stage, "101", at + 3 * HOUR);
    stage.until(at + 5 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new(), "the last start is less than 2 h old");
    stage.until(at + 5 * HOUR);
    assert_eq!(stage.rules("7"), ["T6"]);
    stage.check();
}

#[test]
fn t6_needs_four_hours_and_a_high_priority_and_leaves_merge_jobs_alone() {
    due("T6", "reassign", 4 * HOUR, |job| {
        (job.status, job.priority) = (Status::Activated, 800);
    });
    let mut stage = Stage::new(&[]);
    let low = JobState { priority: 799, ..stage.job("7", Status::Activated) };
    stage.publish(&low);
    let merge = JobState {
        processing_type: "pmerge",
        priority: 5_000,
        ..stage.job("8", Status::Activated)
    };
    never(&mut stage, &merge, 6 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
}

#[test]
fn t6_takes_the_priority_of_the_task_where_the_job_states_none() {
    let mut stage = Stage::new(&[]);
    stage.task("1/1", Options::default());
    let job = JobState { priority: 0, ..stage.job("7", Status::Activated) };
    stage.publish(&job);
    stage.pass(5 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    let raised = Task {
        priority: 900,
        task_priority: 900,
        ..super::super::yard::task("1/1", 1, stage.now())
    };
    stage.yard.ask(&raised);
    stage.pass(SECOND);
    assert_eq!(stage.rules("7"), ["T6"]);
    stage.check();
}

#[test]
fn t7_a_job_sent_to_a_pilot_fails_after_half_an_hour() {
    due("T7", "fail", 30 * MINUTE, |job| job.status = Status::Sent);
}

#[test]
fn t8_no_job_lives_longer_than_21_days() {
    due("T8", "kill", 21 * DAY, |job| {
        (job.status, job.label) = (Status::Merging, "user");
    });
}

#[test]
fn t9_a_running_job_fails_two_hours_after_its_last_heartbeat() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Running);
    stage.publish(&job);
    stage.pass(HOUR);
    let last = stage.now();
    stage.heartbeat("7", last);
    stage.until(last + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.until(last + 2 * HOUR);
    assert_eq!(stage.about("7"), [("fail".to_owned(), "T9".to_owned(), true)]);
    let command = stage.yard.commands().pop().unwrap();
    assert_eq!((command.clock.as_str(), command.clock_at), ("heartbeat", Some(last)));
    assert_eq!((command.measured, command.limit), (7_200_000.0, 7_200_000.0));
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
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    // A second attempt that has sent none yet is left alone.
    let again = JobState { attempt: 1, ..stage.job("7", Status::Running) };
    never(&mut stage, &again, 6 * HOUR);
    // One that never sent any is, too.
    let silent = stage.job("8", Status::Starting);
    never(&mut stage, &silent, 6 * HOUR);
    stage.check();
}

#[test]
fn t9_goes_by_the_workflow_of_the_job_else_of_its_queue() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_push", "12");
    stage.yard.set("watcher", "HEARTBEAT_TIMEOUT_production", "3");
    stage.configure(|queue| queue.workflow = "push".into());
    let own = JobState { workflow: "pull_ups", ..stage.job("7", Status::Running) };
    stage.publish(&own);
    let of_queue = JobState { workflow: "", ..stage.job("8", Status::Running) };
    stage.publish(&of_queue);
    let at = stage.now();
    for job in ["7", "8"] {
        stage.heartbeat(job, at);
    }
    stage.until(at + 3 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.until(at + 3 * HOUR);
    assert_eq!(stage.rules("7"), ["T9"], "an unknown workflow has the limit of production");
    stage.until(at + 12 * HOUR - SECOND);
    assert_eq!(stage.rules("8"), Vec::<String>::new());
    stage.until(at + 12 * HOUR);
    assert_eq!(stage.rules("8"), ["T9"]);
    stage.check();
}

#[test]
fn t10_a_transferring_job_with_a_sub_state_needs_heartbeats() {
    let mut stage = Stage::new(&[]);
    let job = JobState { sub_status: "to_transfer", ..stage.job("7", Status::Transferring) };
    stage.publish(&job);
    let plain = stage.job("8", Status::Transferring);
    stage.publish(&plain);
    let at = stage.now();
    stage.heartbeat("7", at);
    stage.heartbeat("8", at);
    stage.until(at + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.until(at + 2 * HOUR);
    assert_eq!(stage.about("7"), [("fail".to_owned(), "T10".to_owned(), true)]);
    stage.pass(HOUR);
    assert_eq!(stage.rules("8"), Vec::<String>::new());
    stage.check();
}

#[test]
fn t11_a_holding_job_fails_after_three_hours_or_two_days() {
    due("T11a", "fail", 3 * HOUR, |job| {
        (job.status, job.priority) = (Status::Holding, 800);
    });
    due("T11b", "fail", 2 * DAY, |job| {
        (job.status, job.priority) = (Status::Holding, 799);
    });
    // By the end of its payload where that is known.
    due("T11a", "fail", 2 * HOUR, |job| {
        (job.status, job.priority, job.ended_at) = (Status::Holding, 900, job.changed_at - HOUR);
    });
}

#[test]
fn t12_a_transferring_job_fails_two_or_six_days_after_its_payload_ended() {
    due("T12a", "fail", 2 * DAY - HOUR, |job| {
        let ended = job.changed_at - HOUR;
        (job.status, job.priority, job.ended_at) = (Status::Transferring, 900, ended);
    });
    due("T12b", "fail", 6 * DAY, |job| {
        (job.status, job.priority, job.started_at) = (Status::Transferring, 700, job.changed_at);
    });
}

#[test]
fn t12_goes_by_the_queue_and_leaves_jobs_of_users_alone() {
    let mut stage = Stage::new(&[]);
    stage.configure(|queue| queue.catchall = "transtimehi=1,transtimelo=3".into());
    let high = JobState { priority: 900, ..stage.job("7", Status::Transferring) };
    let low = stage.job("8", Status::Transferring);
    let users = JobState { label: "user", ..stage.job("9", Status::Transferring) };
    let at = stage.now();
    for job in [high, low, users] {
        stage.publish(&job);
    }
    stage.until(at + DAY - SECOND);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.until(at + DAY);
    assert_eq!(stage.rules("7"), ["T12a"]);
    stage.until(at + 3 * DAY);
    assert_eq!(stage.rules("8"), ["T12b"]);
    stage.until(at + 7 * DAY);
    assert_eq!(stage.rules("9"), Vec::<String>::new());
}

#[test]
fn no_rule_applies_at_a_queue_that_is_paused_or_forbids_it() {
    for change in
        [(|queue: &mut Queue| queue.status = QueueStatus::Paused) as fn(&mut Queue), |queue| {
            queue.catchall = "x=1, disableReassign".into()
        }]
    {
        let mut stage = Stage::new(&[]);
        stage.configure(change);
        for (name, status) in [
            ("11", Status::Pending),
            ("12", Status::Defined),
            ("13", Status::Sent),
            ("14", Status::Holding),
            ("15", Status::Activated),
        ] {
            let job = JobState { priority: 900, ..stage.job(name, status) };
            stage.publish(&job);
        }
        let elsewhere = JobState { queue: "", ..stage.job("16", Status::Pending) };
        stage.publish(&elsewhere);
        stage.pass(3 * DAY);
        for name in ["11", "12", "13", "14", "15"] {
            assert_eq!(stage.rules(name), Vec::<String>::new(), "{name}");
        }
        assert_eq!(stage.rules("16")[0], "T1", "a job without a queue is never exempt");
        assert!(stage.held("T1")[0].1.starts_with("exempt"), "{:?}", stage.held("T1"));
        // What is due is commanded in the first cycle after the queue is open again.
        stage.configure(|_| {});
        stage.pass(SECOND);
        assert_eq!(stage.rules("13"), ["T7"]);
        assert_eq!(stage.rules("11"), ["T1"]);
        stage.check();
    }
}
