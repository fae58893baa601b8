//! Commands that the governor holds back, that are repeated, or that are published for people to
//! see.

use super::stage::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::*;
use yardmaster::core::output::command::Command;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, SECOND};
use yardmaster::wire::record;

/// Jobs 100 to 100 + count, pending since now.
fn pending(stage: &mut Stage, count: u32) -> Vec<String> {
    let names: Vec<String> = (100..100 + count).map(|number| number.to_string()).collect();
    for name in &names {
        let job = stage.job(name, Status::Pending);
        stage.yard.job(&job);
    }
    stage.turn();
    names
}

fn commanded(stage: &Stage) -> Vec<Command> {
    let all = stage.yard.commands().into_iter();
    all.filter(|it| it.held_back().is_none() && it.repeat == 0).collect()
}

#[test]
fn every_rule_is_for_people_to_see_until_it_is_turned_on() {
    let mut stage = Stage::with(&[]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    stage.pass(5 * HOUR);
    assert_eq!(stage.about("7"), [("kill".to_owned(), "T1".to_owned(), false)]);
    assert!(stage.yard.commands().iter().all(|it| it.dry_run));
    stage.check();
}

#[test]
fn a_rule_that_is_off_is_not_looked_at() {
    let off = ("name = \"T1\"\nmode = \"on\"", "name = \"T1\"\nmode = \"off\"");
    let mut stage = Stage::new(&[off]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    stage.pass(5 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
}

#[test]
fn no_queue_is_commanded_beyond_its_budget_and_the_rest_follows_the_longest_overdue_first() {
    let small =
        ("jobs_per_queue = 100\npercent_of_queue = 10", "jobs_per_queue = 3\npercent_of_queue = 0");
    let mut stage = Stage::new(&[small]);
    let names = pending(&mut stage, 8);
    let at = stage.now();
    stage.pass(HOUR + MINUTE);
    let first: Vec<String> = commanded(&stage).into_iter().map(|it| it.subject).collect();
    assert_eq!(first, names[..3]);
    assert_eq!(stage.held("T1"), [(5, "queue_budget, 3 of 3 jobs".to_owned())]);
    stage.until(at + 2 * HOUR - MINUTE);
    assert_eq!(commanded(&stage).len(), 3);
    // What nobody carried out holds the budget longer: it may all be carried out at once.
    stage.until(at + 4 * HOUR);
    assert_eq!(commanded(&stage).len(), 3);
    carry_out(&mut stage);
    stage.pass(MINUTE);
    assert_eq!(commanded(&stage).len(), 6);
    carry_out(&mut stage);
    stage.pass(HOUR - 5 * MINUTE);
    assert_eq!(commanded(&stage).len(), 6);
    stage.pass(10 * MINUTE);
    let all: Vec<String> = commanded(&stage).into_iter().map(|it| it.subject).collect();
    assert_eq!(all, names);
    stage.pass(HOUR);
    assert_eq!(stage.held("T1").last().unwrap().0, 0, "nothing is held back any more");
    stage.check();
}

/// Says of every command that it was carried out, though its job is still there.
fn carry_out(stage: &mut Stage) {
    for command in commanded(stage) {
        stage.answer(&command, OutcomeKind::Accepted);
    }
}

#[test]
fn a_rule_and_all_rules_have_budgets_of_their_own() {
    for (budget, name) in [
        (("jobs_per_rule = 2_000", "jobs_per_rule = 2"), "rule_budget, 2 of 2 jobs"),
        (("jobs = 5_000", "jobs = 2"), "budget, 2 of 2 jobs"),
    ] {
        let mut stage = Stage::new(&[budget]);
        pending(&mut stage, 4);
        stage.pass(HOUR + MINUTE);
        assert_eq!(commanded(&stage).len(), 2);
        assert_eq!(stage.held("T1"), [(2, name.to_owned())]);
        stage.check();
    }
}

#[test]
fn the_kill_switch_stops_everything_at_its_cycle_and_nothing_is_lost() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    let turn = |stage: &mut Stage, value: &str| {
        let parameter = Parameter {
            app: "yardmaster".into(),
            component: "governor".into(),
            key: "kill_switch".into(),
            vo: "atlas".into(),
            value: value.into(),
            changed_at: stage.now(),
        };
        stage.yard.configure(&parameter);
    };
    stage.until(job.created_at + HOUR - SECOND);
    turn(&mut stage, "on");
    stage.until(job.created_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    assert_eq!(stage.held("T1")[0], (1, "kill_switch".to_owned()));
    turn(&mut stage, "off");
    stage.pass(SECOND);
    assert_eq!(stage.rules("7"), ["T1"]);
    stage.check();
}

/// Neither a host whose clock is ahead, within the limit or beyond it, nor one whose clock is behind
/// outweighs what is written after it.
#[test]
fn the_kill_switch_obeys_what_was_written_last_whatever_time_it_states() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    let turn = |stage: &mut Stage, value: &str, off: i64| {
        let [app, component, key, vo, value] =
            ["yardmaster", "governor", "kill_switch", "atlas", value].map(str::to_owned);
        let (changed_at, is_to_stop) = (stage.now() + off, value == "on");
        stage.yard.configure(&Parameter { app, component, key, vo, value, changed_at });
        stage.pass(SECOND);
        assert_eq!(stage.drive.state().is_kill_switch_on(), is_to_stop, "off by {off}");
    };
    stage.until(job.created_at + 30 * MINUTE);
    for off in [4 * MINUTE, 5 * HOUR, -5 * HOUR, 0] {
        turn(&mut stage, "off", off);
        turn(&mut stage, "on", 0);
        turn(&mut stage, "off", 0);
        turn(&mut stage, "on", off);
    }
    stage.until(job.created_at + 2 * HOUR);
    assert_eq!(stage.rules("7"), Vec::<String>::new());
    stage.check();
}

#[test]
fn an_unanswered_command_is_repeated_under_its_id_with_growing_pauses() {
    let mut stage = Stage::new(&[]);
    let job = stage.job("7", Status::Pending);
    stage.publish(&job);
    let due = job.created_at + HOUR;
    let all = |stage: &Stage| -> Vec<(u32, i64)> {
        let commands = stage.yard.commands().into_iter().filter(|it| it.subject == "7");
        commands.map(|it| (it.repeat, (it.now - due) / MINUTE)).collect()
    };
    stage.until(due + HOUR + 46 * MINUTE);
    assert_eq!(all(&stage), [(0, 0), (1, 15), (2, 45), (3, 105)]);
    let ids: std::collections::BTreeSet<_> = stage.yard.commands().iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), 1);
    // It ends when the job moves on.
    let gone = stage.job("7", Status::Closed);
    stage.publish(&gone);
    stage.pass(10 * HOUR);
    assert_eq!(all(&stage).len(), 4);
    stage.check();
}

#[test]
fn an_answer_settles_a_command_and_a_failure_does_not() {
    for (kind, repeats) in [
        (OutcomeKind::Accepted, false),
        (OutcomeKind::Refused, false),
        (OutcomeKind::Failed, true),
        (OutcomeKind::Expired, true),
    ] {
        let mut stage = Stage::new(&[]);
        let job = stage.job("7", Status::Pending);
        stage.publish(&job);
        stage.pass(HOUR + MINUTE);
        let command = stage.yard.commands().pop().unwrap();
        let requests = stage.drive.state().requests.len();
        stage.answer(&command, kind);
        assert_eq!(stage.drive.state().requests.len(), requests, "no request record is made");
        stage.pass(3 * HOUR);
        let records = stage.yard.commands().iter().filter(|it| it.id == command.id).count();
        assert_eq!(records > 1, repeats, "{kind:?}");
        stage.check();
    }
}

#[test]
fn an_outcome_of_an_unknown_command_changes_nothing() {
    let mut stage = Stage::new(&[]);
    let outcome = DecisionOutcome {
        subject: "7".into(),
        decision: yardmaster::core::output::decision::DecisionId([9; 16]),
        about: OutcomeAbout::Command,
        kind: OutcomeKind::Accepted,
        at: stage.now(),
        reason: String::new(),
    };
    stage.yard.publish(Topic::Outcome, "7", |out| record::write(out, &outcome));
    stage.turn();
    assert_eq!(stage.drive.state().requests.len(), 0);
    stage.check();
}

#[test]
fn a_job_is_not_moved_more_often_than_it_may_be() {
    let mut stage = Stage::new(&[("moves_per_job = 3", "moves_per_job = 2")]);
    for attempt in 0..4 {
        let job = JobState { attempt, ..stage.job("7", Status::Defined) };
        stage.publish(&job);
        stage.pass(5 * HOUR);
        let command = stage.yard.commands().into_iter().rfind(|it| it.held_back().is_none());
        stage.answer(&command.unwrap(), OutcomeKind::Accepted);
    }
    let moves = commanded(&stage).into_iter().filter(|it| it.subject == "7").count();
    assert_eq!(moves, 2);
    assert_eq!(stage.held("T2")[0], (1, "moves_per_job, 2 moves".to_owned()));
    // Later it may move again.
    stage.pass(8 * DAY);
    let moves = commanded(&stage).into_iter().filter(|it| it.subject == "7").count();
    assert!(moves > 2, "{moves}");
    stage.check();
}

#[test]
fn a_cycle_gives_no_more_commands_than_it_may() {
    let mut stage = Stage::new(&[("commands_per_cycle = 1_000", "commands_per_cycle = 5")]);
    let names = pending(&mut stage, 12);
    stage.pass(HOUR + MINUTE);
    let mut cycles = std::collections::BTreeMap::<u64, u32>::new();
    for command in stage.yard.commands() {
        *cycles.entry(command.cycle).or_default() += 1;
    }
    assert!(cycles.values().all(|count| *count <= 5), "{cycles:?}");
    stage.turn();
    stage.pass(MINUTE);
    assert_eq!(commanded(&stage).len(), names.len());
    stage.check();
}
