//! Jobs that are brokered again do not go in circles: they are taken back where another queue would
//! take them, not again soon from the same queue, and twice at most.

use super::rebroker::{WIDE, activated, moves, threshold};
use super::stage::*;
use yardmaster::core::budget::CycleLoop;
use yardmaster::core::event::*;
use yardmaster::core::explain::explain_command;
use yardmaster::core::output::command::{Command, CommandKind};
use yardmaster::core::output::decision::{Decision, Outcome, Ranked};
use yardmaster::core::unit::{DAY, HOUR, MINUTE};

/// A stage whose jobs are of a task with a request, and a threshold of 300.
fn stage(changes: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(&[&[WIDE], changes].concat());
    threshold(&mut stage, 300);
    let request = super::super::yard::task("1/1", 1, stage.now());
    stage.yard.ask(&request);
    stage.turn();
    stage
}

/// The other queue is in service, or not.
fn other_is(stage: &mut Stage, status: QueueStatus) {
    let other = super::super::yard::queue(OTHER, stage.now());
    stage.yard.configure(&Queue { status, ..other });
    stage.turn();
}

/// What was taken back ends, as many new jobs come to the same queue.
fn come_back(stage: &mut Stage, from: u32) {
    let open: Vec<Command> = stage
        .drive
        .state()
        .commands
        .unsettled
        .iter()
        .copied()
        .map(|id| stage.drive.state().commands.of(id).expect("known").command.clone())
        .collect();
    let mut count = 0;
    for command in open.iter().filter(|it| it.kind == CommandKind::Rebroker) {
        stage.answer(command, OutcomeKind::Accepted);
        for name in &command.jobs {
            let job = stage.job(name, Status::Closed);
            stage.yard.job(&job);
            count += 1;
        }
    }
    activated(stage, from, count);
}

/// The newest reason for which jobs are held back.
fn held(stage: &Stage) -> String {
    let (_, why) = stage.held("fast_rebrokerage").pop().expect("a report");
    why.split(',').next().unwrap_or_default().to_owned()
}

#[test]
fn jobs_stay_while_no_other_queue_would_take_them() {
    let mut stage = stage(&[]);
    other_is(&mut stage, QueueStatus::Offline);
    activated(&mut stage, 1_000, 500);
    stage.pass(3 * HOUR);
    assert_eq!(moves(&stage), []);
    let report = stage.held("fast_rebrokerage").pop().expect("a report");
    assert_eq!(report, (200, "no_other_queue, no other queue would take them".to_owned()));
    other_is(&mut stage, QueueStatus::Online);
    stage.pass(2 * MINUTE);
    let found: Vec<(String, u64)> =
        moves(&stage).into_iter().map(|it| (it.subject, it.amount)).collect();
    let subject = format!("{QUEUE}/{}/1", stage.job("1", Status::Activated).gshare);
    assert_eq!(found, [(subject.clone(), 100), (subject, 100)]);
    stage.check();
}

/// The jobs that would move are among those that wait: that the share or the owner has too many of
/// these keeps none where it is.
#[test]
fn jobs_move_although_too_many_of_their_share_wait() {
    let limit = "name = \"production-job\"\njob_throttler = true\nNQUEUELIMIT = 1";
    let mut stage = stage(&[("name = \"production-job\"", limit)]);
    let gshare = stage.job("1", Status::Activated).gshare.to_owned();
    let at = stage.now();
    let share =
        Share { name: gshare, changed_at: at, value: 1.0, throttled: true, ..Share::default() };
    stage.yard.configure(&share);
    activated(&mut stage, 1_000, 500);
    stage.pass(50 * MINUTE);
    assert_eq!(moves(&stage).iter().map(|it| it.amount).sum::<u64>(), 200);
    stage.check();
}

#[test]
fn jobs_of_no_task_that_is_known_move_as_in_panda_s_code_which_judges_nothing() {
    let mut stage = Stage::new(&[WIDE]);
    threshold(&mut stage, 300);
    other_is(&mut stage, QueueStatus::Offline);
    activated(&mut stage, 1_000, 500);
    stage.pass(50 * MINUTE);
    assert_eq!(moves(&stage).iter().map(|it| it.amount).sum::<u64>(), 200);
    assert!(moves(&stage).iter().all(|it| it.task.is_empty()));
    stage.check();
}

#[test]
fn a_task_rests_for_hours_and_the_third_time_operations_are_alerted_instead() {
    let mut stage = stage(&[]);
    activated(&mut stage, 1_000, 500);
    stage.pass(50 * MINUTE);
    let moved = |stage: &Stage| -> u64 {
        let all = moves(stage).into_iter().filter(|it| it.kind == CommandKind::Rebroker);
        all.filter(|it| it.repeat == 0).map(|it| it.amount).sum()
    };
    assert_eq!(moved(&stage), 200);
    let first = moves(&stage)[0].now;
    come_back(&mut stage, 2_000);
    stage.until(first + 6 * HOUR - MINUTE);
    assert_eq!((moved(&stage), held(&stage)), (200, "rest".to_owned()));
    stage.until(first + 6 * HOUR + MINUTE);
    assert_eq!(moved(&stage), 400);
    come_back(&mut stage, 3_000);
    stage.pass(8 * HOUR);
    assert_eq!((moved(&stage), held(&stage)), (400, "taken_back".to_owned()));
    let alerts = stage.yard.commands().into_iter().filter(|it| it.kind == CommandKind::Alert);
    let alerts: Vec<Command> = alerts.filter(|it| it.repeat == 0).collect();
    let [alert] = alerts.as_slice() else { panic!("{alerts:#?}") };
    assert_eq!((alert.task.as_str(), alert.queue.as_str()), ("1", QUEUE));
    assert_eq!((alert.rule.as_str(), alert.clock_at), ("fast_rebrokerage", Some(first)));
    let text = explain_command(alert, None, alert.now);
    assert!(text.starts_with("QUEUE_00/1: alert\n"), "{text}");
    let asked = "asked     jobs of it were taken back 2 times, wait there again, and stay";
    assert!(text.contains(asked), "{text}");
    // There is one alert, which is repeated until somebody answers.
    stage.answer(alert, OutcomeKind::Accepted);
    stage.pass(DAY);
    let alerts = stage.yard.commands().into_iter().filter(|it| it.kind == CommandKind::Alert);
    assert_eq!(alerts.filter(|it| it.id != alert.id).count(), 0);
    // Work that goes to the queue again is counted.
    let ranked = |queue: &str, jobs| Ranked {
        queue: queue.to_owned(),
        unified: queue.to_owned(),
        weight: 1.0,
        jobs,
        cores: 1,
        factors: vec![],
        platform: String::new(),
    };
    let outcome = Outcome::Assign(vec![ranked(QUEUE, 3), ranked(OTHER, 3)]);
    let gshare = stage.job("1", Status::Activated).gshare.to_owned();
    let decision =
        Decision { task: "1".to_owned(), gshare, ..Decision::new("atlas", "1/9", 1, 1, outcome) };
    let commands = &stage.drive.state().commands;
    assert_eq!(commands.repeated(&decision), 1);
    assert_eq!(commands.repeated(&Decision { task: "2".to_owned(), ..decision }), 0);
    stage.check();
}

#[test]
fn tasks_beyond_what_one_cycle_judges_take_turns() {
    let few = ("rebrokered_tasks_per_cycle = 100", "rebrokered_tasks_per_cycle = 1");
    let mut stage = stage(&[few]);
    // The oldest jobs are of a task that no other queue takes.
    let now = stage.now();
    let large = Task { core_count: Some(8), ..super::super::yard::task("2/1", 1, now) };
    stage.yard.ask(&large);
    stage.turn();
    for number in 1_000..1_250 {
        let name = number.to_string();
        let job = stage.job(&name, Status::Activated);
        stage.yard.job(&JobState { task: "2", ..job });
    }
    activated(&mut stage, 2_000, 250);
    // A minute at a time: which task has its turn follows from the minute.
    for _ in 0..45 {
        stage.pass(MINUTE);
    }
    let tasks = moves(&stage).into_iter().map(|it| it.task);
    assert_eq!(tasks.collect::<Vec<_>>(), ["1", "1"]);
    assert!(stage.drive.take_report().exceeded.of(CycleLoop::Rebrokered) > 0);
    stage.check();
}

#[test]
fn a_deadline_that_takes_jobs_back_to_be_given_again_does_so_twice_and_then_alerts() {
    let mut stage = stage(&[]);
    let mut at = stage.now();
    for number in 0..3 {
        let name = (7_000 + number).to_string();
        let waits = JobState { priority: 900, ..stage.job(&name, Status::Activated) };
        stage.publish(&waits);
        at += 4 * HOUR + 5 * MINUTE;
        stage.until(at);
        if number < 2 {
            assert_eq!(stage.about(&name), [("reassign".into(), "T6".into(), true)]);
            let given = stage.yard.commands().into_iter().find(|it| it.subject == name);
            stage.answer(&given.expect("given"), OutcomeKind::Accepted);
            let closed = stage.job(&name, Status::Closed);
            stage.publish(&JobState { priority: 900, ..closed });
        } else {
            assert_eq!(stage.rules(&name), [""; 0]);
        }
    }
    let why = "taken_back, jobs of the task were taken back 2 times";
    assert_eq!(stage.held("T6"), [(1, why.to_owned())]);
    let alert = [("alert".into(), "T6".into(), true)];
    assert_eq!(stage.about(&format!("{QUEUE}/1"))[..1], alert);
    stage.check();
}
