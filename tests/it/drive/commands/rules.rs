//! Timeout rules T1 to T8: nothing a second before the threshold, a command at it.

use super::stage::*;
use super::story::*;
use yardmaster::core::event::*;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};

/// A rule that is not looked at.
const NO_T1: (&str, &str) = ("name = \"T1\"\nmode = \"on\"", "name = \"T1\"\nmode = \"off\"");
const NO_T2: (&str, &str) = ("name = \"T2\"\nmode = \"on\"", "name = \"T2\"\nmode = \"off\"");
const NO_T5: (&str, &str) = ("name = \"T5a\"\nmode = \"on\"", "name = \"T5a\"\nmode = \"off\"");
pub const NO_T9: (&str, &str) = ("name = \"T9\"\nmode = \"on\"", "name = \"T9\"\nmode = \"off\"");
const NO_AGE: (&str, &str) = ("name = \"age\"\nmode = \"on\"", "name = \"age\"\nmode = \"off\"");
const NO_ANALYSIS: (&str, &str) =
    ("name = \"analysis_timeout\"\nmode = \"on\"", "name = \"analysis_timeout\"\nmode = \"off\"");

/// A task whose jobs stay where they are.
fn task_that_forbids_it(stage: &mut Stage, subject: &str) {
    stage.task(subject, Options { disable_reassign: true, ..Options::default() });
}

#[test]
fn t1_a_pending_job_is_killed_an_hour_after_it_was_created() {
    due("T1", "kill", HOUR, |_| {});
    // Since it was created, not since it became pending.
    due("T1", "kill", 40 * MINUTE, |job| job.created_at -= 20 * MINUTE);
}

#[test]
fn t1_a_job_that_is_read_seconds_before_its_threshold_is_killed_at_it() {
    due("T1", "kill", 5 * SECOND, |job| job.created_at -= HOUR - 5 * SECOND);
}

#[test]
fn t2_a_defined_job_is_reassigned_after_four_hours() {
    due("T2", "reassign", 4 * HOUR, |job| job.status = Status::Defined);
    due("T2", "reassign", 4 * HOUR, |job| {
        (job.status, job.label) = (Status::Defined, "test");
    });
}

#[test]
fn t2_a_build_job_or_one_without_a_task_is_killed() {
    due("T2", "kill", 4 * HOUR, |job| (job.status, job.label) = (Status::Defined, "panda"));
    due("T2", "kill", 4 * HOUR, |job| (job.status, job.task) = (Status::Defined, ""));
    // In PanDA by its age: created an hour before it was defined.
    due_at(Stage::new(&[PANDA]), "T2", "kill", 3 * HOUR, |job| {
        (job.status, job.label, job.created_at) = (Status::Defined, "panda", job.created_at - HOUR);
    });
    due_at(Stage::new(&[PANDA]), "T2", "kill", 3 * HOUR, |job| {
        (job.status, job.task, job.created_at) = (Status::Defined, "", job.created_at - HOUR);
    });
}

#[test]
fn t2_is_about_all_jobs_and_in_panda_not_about_those_of_users() {
    let labels = ["managed", "prod_test", "rc_test", "panda", "user"];
    for changes in [&[][..], &[PANDA]] {
        let mut stage = Stage::new(changes);
        let stories = labels.map(|label| {
            let story = Story::labelled(label, Status::Defined);
            let is_out = label == "user" && !changes.is_empty();
            if is_out { story } else { story.due("T2", 4 * HOUR) }
        });
        play(&mut stage, &stories, 11 * HOUR);
        stage.check();
    }
}

#[test]
fn t2_goes_by_the_run_time_parameter() {
    let mut stage = Stage::new(&[]);
    stage.yard.set("job_timeout", "TIMEOUT_defined", "2");
    let job = stage.job("7", Status::Defined);
    stage.publish(&job);
    stage.until(job.changed_at + 2 * HOUR - SECOND);
    assert_eq!(stage.rules("7"), [""; 0]);
    stage.until(job.changed_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), ["T2"]);
    // A limit that is made shorter holds for jobs that wait already.
    let other = stage.job("8", Status::Defined);
    stage.publish(&other);
    stage.pass(HOUR + MINUTE);
    assert_eq!(stage.rules("8"), [""; 0]);
    stage.yard.set("job_timeout", "TIMEOUT_defined", "1");
    stage.pass(SECOND);
    assert_eq!(stage.rules("8"), ["T2"]);
    stage.check();
}

#[test]
fn t3_an_assigned_job_is_reassigned_after_twelve_hours() {
    due("T3", "reassign", 12 * HOUR, |job| job.status = Status::Assigned);
    due("T3", "kill", 12 * HOUR, |job| (job.status, job.task) = (Status::Assigned, ""));
    let mut stage = Stage::new(&[NO_T1, NO_T2]);
    let stories = [
        a_job("pending", Status::Pending, |job| job.created_at -= HOUR),
        a_job("defined", Status::Defined, |job| job.created_at -= HOUR),
        a_job("a user's", Status::Assigned, |job| job.label = "user").due("T3", 12 * HOUR),
        a_job("a test", Status::Assigned, |job| job.label = "test").due("T3", 12 * HOUR),
    ];
    play(&mut stage, &stories, 13 * HOUR);
    stage.check();
}

#[test]
fn t3_in_panda_is_about_production_that_is_not_activated() {
    // T1 and T2 would be due earlier; a user's job that waits has a rule of its own.
    let mut stage = Stage::new(&[NO_T1, NO_T2, NO_ANALYSIS, PANDA]);
    let stories = [
        a_job("pending", Status::Pending, |job| job.created_at -= HOUR).due("T3", 12 * HOUR),
        a_job("defined", Status::Defined, |job| job.created_at -= HOUR).due("T3", 12 * HOUR),
        a_job("assigned", Status::Assigned, |job| job.created_at -= HOUR).due("T3", 12 * HOUR),
        a_job("without a task", Status::Assigned, |job| job.task = ""),
        a_job("throttled", Status::Throttled, |_| {}),
        a_job("a user's, pending", Status::Pending, |job| job.label = "user"),
        a_job("a user's, defined", Status::Defined, |job| job.label = "user"),
        a_job("a user's, assigned", Status::Assigned, |job| job.label = "user"),
        a_job("a build job", Status::Defined, |job| job.label = "panda"),
        a_job("a test", Status::Assigned, |job| job.label = "test"),
    ];
    play(&mut stage, &stories, 13 * HOUR);
    stage.check();
}

#[test]
fn t4_a_throttled_job_is_killed_a_week_after_it_was_created() {
    due("T4", "kill", 7 * DAY - HOUR, |job| {
        (job.status, job.created_at) = (Status::Throttled, job.created_at - HOUR);
    });
}

#[test]
fn t5a_activated_production_is_reassigned_after_two_days() {
    due("T5a", "reassign", 2 * DAY, |job| job.status = Status::Activated);
}

#[test]
fn t5b_starting_production_is_reassigned_after_two_days() {
    due_at(Stage::new(&[NO_T9]), "T5b", "reassign", 48 * HOUR, |job| {
        job.status = Status::Starting;
    });
}

#[test]
fn t5_jobs_of_a_task_that_forbids_it_stay() {
    let mut stage = Stage::new(&[NO_T9]);
    task_that_forbids_it(&mut stage, "2/1");
    let stories = [
        a_job("activated", Status::Activated, |job| job.created_at -= DAY).due("T5a", 2 * DAY),
        a_job("starting", Status::Starting, |job| job.created_at -= DAY).due("T5b", 2 * DAY),
        a_job("kept by its task, activated", Status::Activated, |job| job.task = "2"),
        a_job("kept by its task, starting", Status::Starting, |job| job.task = "2"),
        a_job("a user's", Status::Activated, |job| job.label = "user").due("T5a", 2 * DAY),
        a_job("a test", Status::Starting, |job| job.label = "test").due("T5b", 2 * DAY),
        a_job("without a task", Status::Activated, |job| job.task = "").due("T5a", 2 * DAY),
    ];
    play(&mut stage, &stories, 3 * DAY);
    stage.check();
}

#[test]
fn t5_in_panda_is_about_production_of_a_task() {
    let mut stage = Stage::new(&[NO_T9, NO_ANALYSIS, PANDA]);
    task_that_forbids_it(&mut stage, "2/1");
    let stories = [
        a_job("activated", Status::Activated, |job| job.created_at -= DAY).due("T5a", 2 * DAY),
        a_job("starting", Status::Starting, |job| job.created_at -= DAY).due("T5b", 2 * DAY),
        a_job("kept by its task", Status::Activated, |job| job.task = "2"),
        a_job("a user's, activated", Status::Activated, |job| job.label = "user"),
        a_job("a user's, starting", Status::Starting, |job| job.label = "user"),
        a_job("a test", Status::Activated, |job| job.label = "test"),
        a_job("without a task, activated", Status::Activated, |job| job.task = ""),
        a_job("without a task, starting", Status::Starting, |job| job.task = ""),
    ];
    play(&mut stage, &stories, 3 * DAY);
    stage.check();
}

#[test]
fn t6_a_job_of_high_priority_moves_where_nothing_has_started_for_two_hours() {
    let mut stage = Stage::new(&[NO_T9]);
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
    assert_eq!(stage.rules("7"), [""; 0], "the last start is less than 2 h old");
    stage.until(at + 5 * HOUR);
    assert_eq!(stage.rules("7"), ["T6"]);
    stage.check();
}

#[test]
fn t6_is_about_all_jobs_of_high_priority() {
    let mut stage = Stage::new(&[NO_T9]);
    let stories = [
        a_job("production", Status::Activated, |job| job.priority = 800).due("T6", 4 * HOUR),
        a_job("a merge job", Status::Starting, |job| {
            (job.priority, job.processing_type) = (800, "pmerge");
        })
        .due("T6", 4 * HOUR),
        a_job("a user's", Status::Activated, |job| (job.priority, job.label) = (800, "user"))
            .due("T6", 4 * HOUR),
        a_job("lower", Status::Activated, |job| job.priority = 799),
    ];
    play(&mut stage, &stories, 6 * HOUR);
    stage.check();
}

#[test]
fn t6_in_panda_needs_four_hours_a_high_priority_and_production_of_a_task_that_allows_it() {
    let mut stage = Stage::new(&[NO_T9, PANDA]);
    task_that_forbids_it(&mut stage, "2/1");
    let stories = [
        a_job("activated", Status::Activated, |job| job.priority = 800).due("T6", 4 * HOUR),
        a_job("starting", Status::Starting, |job| job.priority = 800).due("T6", 4 * HOUR),
        a_job("lower, activated", Status::Activated, |job| job.priority = 799),
        a_job("lower, starting", Status::Starting, |job| job.priority = 799),
        a_job("assigned", Status::Assigned, |job| job.priority = 5_000),
        a_job("running", Status::Running, |job| job.priority = 5_000),
        a_job("a merge job", Status::Activated, |job| {
            (job.priority, job.processing_type) = (5_000, "pmerge");
        }),
        a_job("a user's", Status::Activated, |job| {
            (job.priority, job.label) = (5_000, "user");
        }),
        a_job("a test", Status::Activated, |job| {
            (job.priority, job.label) = (5_000, "test");
        }),
        a_job("without a task", Status::Starting, |job| {
            (job.priority, job.task) = (5_000, "");
        }),
        a_job("kept by its task, activated", Status::Activated, |job| {
            (job.priority, job.task) = (5_000, "2");
        }),
        a_job("kept by its task, starting", Status::Starting, |job| {
            (job.priority, job.task) = (5_000, "2");
        }),
    ];
    play(&mut stage, &stories, 6 * HOUR);
    stage.check();
}

#[test]
fn t6_takes_the_priority_of_the_task_where_the_job_states_none() {
    let mut stage = Stage::new(&[]);
    stage.task("1/1", Options::default());
    let job = JobState { priority: 0, ..stage.job("7", Status::Activated) };
    stage.publish(&job);
    stage.pass(5 * HOUR);
    assert_eq!(stage.rules("7"), [""; 0]);
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
    due("T7", "fail", 30 * MINUTE, |job| {
        (job.status, job.label, job.created_at) = (Status::Sent, "user", job.created_at - HOUR);
    });
}

#[test]
fn t8_no_job_runs_longer_than_21_days() {
    let mut stage = Stage::new(&[NO_T5, NO_T9]);
    let stories = [
        a_job("by its payload", Status::Running, |job| {
            job.created_at -= 2 * HOUR;
            job.started_at = job.created_at;
        })
        .due("T8", 21 * DAY - 2 * HOUR),
        a_job("by its state", Status::Running, |job| job.started_at = 0).due("T8", 21 * DAY),
        a_job("old, and activated", Status::Activated, |job| job.created_at -= 22 * DAY),
        a_job("old, and merging", Status::Merging, |job| job.created_at -= 22 * DAY),
    ];
    play(&mut stage, &stories, 21 * DAY + HOUR);
    stage.check();
}

#[test]
fn t8_in_panda_is_about_every_state_that_is_not_an_end_since_the_job_was_created() {
    // A job that reached its state just now, half an hour before it is 21 days old.
    fn old(job: &mut JobState<'_>) {
        (job.created_at, job.label, job.task) = (job.created_at - 21 * DAY + HOUR / 2, "user", "1");
    }
    let mut stage = Stage::new(&[NO_AGE, NO_ANALYSIS, PANDA]);
    let live = [
        Status::Defined,
        Status::Assigned,
        Status::Activated,
        Status::Starting,
        Status::Running,
        Status::Holding,
        Status::Merging,
        Status::Transferring,
    ];
    let ended = [Status::Finished, Status::Failed, Status::Cancelled, Status::Closed];
    let live = live.into_iter().map(|it| a_job(it.name(), it, old).due("T8", HOUR / 2));
    let ended = ended.into_iter().map(|it| a_job(it.name(), it, old));
    let stories: Vec<Story> = live.chain(ended).collect();
    play(&mut stage, &stories, HOUR);
    stage.check();
}
