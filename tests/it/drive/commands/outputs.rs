//! Timeout rules T11 and T12: jobs whose outputs are not registered or do not arrive.

use super::stage::*;
use super::story::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

/// Tasks "8" and "9", of priority 500 and 900.
fn tasks(stage: &mut Stage) {
    stage.task_of_priority("8/1", 500);
    stage.task_of_priority("9/1", 900);
}

/// A job of a task with a priority of its own; 0: it states none.
fn of_task(job: &mut JobState<'_>, task: &'static str, priority: i32) {
    (job.task, job.priority) = (task, priority);
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

/// A payload had not ended when its last heartbeat arrived, and a state that lies ahead of its stamp
/// is as old as the stamp.
#[test]
fn t11_goes_by_when_the_log_knew_of_it_where_a_clock_is_wrong() {
    let mut stage = Stage::new(&[]);
    let running = stage.job("7", Status::Running);
    stage.publish(&running);
    let beaten = stage.now();
    stage.beat("7", 0, beaten);
    stage.pass(MINUTE);
    // Its worker is seven hours behind.
    let holding = JobState {
        priority: 900,
        ended_at: stage.now() - 7 * HOUR,
        ..stage.job("7", Status::Holding)
    };
    stage.publish(&holding);
    // Another one's server is a day ahead.
    let published = stage.now();
    let ahead =
        JobState { priority: 900, changed_at: published + DAY, ..stage.job("8", Status::Holding) };
    stage.publish(&ahead);
    stage.until(beaten + 3 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(beaten + 3 * HOUR);
    assert_eq!(stage.rules("7"), ["T11a"]);
    assert_eq!(stage.rules("8"), [""; 0]);
    stage.until(published + 3 * HOUR + MINUTE);
    assert_eq!(stage.rules("8"), ["T11a"]);
    stage.check();
}

#[test]
fn t11_goes_by_the_priority_of_the_job_else_of_its_task() {
    let mut stage = Stage::new(&[]);
    tasks(&mut stage);
    let stories = [
        a_job("800", Status::Holding, |job| job.priority = 800).due("T11a", 3 * HOUR),
        a_job("799", Status::Holding, |job| job.priority = 799).due("T11b", 2 * DAY),
        a_job("none, its task 900", Status::Holding, |job| of_task(job, "9", 0))
            .due("T11a", 3 * HOUR),
        a_job("none, its task 500", Status::Holding, |job| of_task(job, "8", 0))
            .due("T11b", 2 * DAY),
        a_job("none, no task", Status::Holding, |job| of_task(job, "", 0)).due("T11b", 2 * DAY),
        a_job("799, its task 900", Status::Holding, |job| of_task(job, "9", 799))
            .due("T11b", 2 * DAY),
        a_job("800, its task 500", Status::Holding, |job| of_task(job, "8", 800))
            .due("T11a", 3 * HOUR),
        a_job("a user's", Status::Holding, |job| {
            (job.label, job.priority) = ("user", 800);
        })
        .due("T11a", 3 * HOUR),
        a_job("another state", Status::Merging, |job| job.priority = 800),
    ];
    play(&mut stage, &stories, 2 * DAY + HOUR);
    stage.check();
}

#[test]
fn t11b_goes_by_the_run_time_parameter_and_t11a_does_not() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("job_timeout", "TIMEOUT_holding", "5");
    let stories = [
        a_job("800", Status::Holding, |job| job.priority = 800).due("T11a", 3 * HOUR),
        a_job("799", Status::Holding, |job| job.priority = 799).due("T11b", 5 * HOUR),
        a_job("799, by its end", Status::Holding, |job| {
            (job.priority, job.ended_at) = (799, job.changed_at - HOUR);
        })
        .due("T11b", 4 * HOUR),
    ];
    play(&mut stage, &stories, 6 * HOUR);
    stage.check();
}

#[test]
fn t11b_is_about_jobs_of_high_priority_too_where_its_limit_is_the_shorter_one() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("job_timeout", "TIMEOUT_holding", "1");
    let stories = [
        a_job("800", Status::Holding, |job| job.priority = 800).due("T11b", HOUR),
        a_job("799", Status::Holding, |job| job.priority = 799).due("T11b", HOUR),
    ];
    play(&mut stage, &stories, 4 * HOUR);
    stage.check();
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
fn t12_counts_from_the_end_of_the_payload_else_from_its_start() {
    let mut stage = Stage::new(&[]);
    let stories = [
        a_job("ended", Status::Transferring, |job| {
            (job.priority, job.ended_at) = (800, job.changed_at - HOUR);
        })
        .due("T12a", 2 * DAY - HOUR),
        a_job("started", Status::Transferring, |job| {
            (job.priority, job.started_at) = (800, job.changed_at - 5 * HOUR);
            job.created_at = job.started_at;
        })
        .due("T12a", 2 * DAY - 5 * HOUR),
        a_job("started and ended", Status::Transferring, |job| {
            job.priority = 800;
            (job.started_at, job.ended_at) = (job.changed_at - 5 * HOUR, job.changed_at - HOUR);
        })
        .due("T12a", 2 * DAY - HOUR),
        a_job("neither is known", Status::Transferring, |job| job.priority = 800)
            .due("T12a", 2 * DAY),
        a_job("of low priority, ended", Status::Transferring, |job| {
            (job.started_at, job.ended_at) = (job.changed_at - 5 * HOUR, job.changed_at - HOUR);
        })
        .due("T12b", 6 * DAY - HOUR),
        a_job("of low priority, started", Status::Transferring, |job| {
            job.started_at = job.changed_at - 5 * HOUR;
            job.created_at = job.started_at;
        })
        .due("T12b", 6 * DAY - 5 * HOUR),
        a_job("started before it was made", Status::Transferring, |job| {
            job.started_at = job.changed_at - 9 * HOUR;
            job.created_at = job.changed_at - 5 * HOUR;
        })
        .due("T12b", 6 * DAY - 5 * HOUR),
    ];
    play(&mut stage, &stories, 6 * DAY);
    stage.check();
}

#[test]
fn t12_goes_by_the_priority_of_the_job_else_of_its_task() {
    let mut stage = Stage::new(&[]);
    tasks(&mut stage);
    let stories = [
        a_job("800", Status::Transferring, |job| job.priority = 800).due("T12a", 2 * DAY),
        a_job("799", Status::Transferring, |job| job.priority = 799).due("T12b", 6 * DAY),
        a_job("none, its task 900", Status::Transferring, |job| of_task(job, "9", 0))
            .due("T12a", 2 * DAY),
        a_job("none, its task 500", Status::Transferring, |job| of_task(job, "8", 0))
            .due("T12b", 6 * DAY),
        a_job("799, its task 900", Status::Transferring, |job| of_task(job, "9", 799))
            .due("T12b", 6 * DAY),
        a_job("800, its task 500", Status::Transferring, |job| of_task(job, "8", 800))
            .due("T12a", 2 * DAY),
        a_job("a test", Status::Transferring, |job| {
            (job.label, job.priority) = ("test", 800);
        })
        .due("T12a", 2 * DAY),
        a_job("a user's, of high priority", Status::Transferring, |job| {
            (job.label, job.priority) = ("user", 5_000);
        })
        .due("T12a", 2 * DAY),
        a_job("a user's", Status::Transferring, |job| job.label = "user").due("T12b", 6 * DAY),
        a_job("another state", Status::Merging, |job| job.priority = 800),
    ];
    play(&mut stage, &stories, 6 * DAY + HOUR);
    stage.check();
}

#[test]
fn t12_goes_by_the_limits_in_the_catchall_of_the_queue() {
    let mut stage = Stage::new(&[]);
    stage.configure(|queue| queue.catchall = "x=1, transtimehi=1,transtimelo=3".into());
    let stories = [
        a_job("800", Status::Transferring, |job| job.priority = 800).due("T12a", DAY),
        a_job("799", Status::Transferring, |job| job.priority = 799).due("T12b", 3 * DAY),
        a_job("a user's", Status::Transferring, |job| {
            (job.label, job.priority) = ("user", 5_000);
        })
        .due("T12a", DAY),
        a_job("at another queue", Status::Transferring, |job| {
            (job.queue, job.priority) = (OTHER, 800);
        })
        .due("T12a", 2 * DAY),
        a_job("without a queue", Status::Transferring, |job| {
            (job.queue, job.priority) = ("", 800);
        })
        .due("T12a", 2 * DAY),
    ];
    play(&mut stage, &stories, 4 * DAY);
    // A limit that is made shorter holds for jobs that wait already.
    stage.configure(|_| {});
    let stories = [a_job("799", Status::Transferring, |job| job.job = "99")];
    let at = stage.now();
    publish(&mut stage, &stories);
    stage.until(at + DAY + MINUTE);
    assert_eq!(stage.rules("99"), [""; 0]);
    stage.configure(|queue| queue.catchall = "transtimelo=1".into());
    assert_eq!(stage.rules("99"), ["T12b"]);
    stage.check();
}
