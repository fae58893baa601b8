//! Conditions on a log when all is published, however often a process died.

use super::play::{OVERDUE, REQUESTS, Reached, commanded, config};
use crate::drive::yard::Yard;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::output::command::{Command, CommandId};
use yardmaster::core::output::decision::{Decision, DecisionId};
use yardmaster::core::output::throttle::{Action, Throttle, ThrottleId};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::Drive;
use yardmaster::drive::port::{Log, Store};
use yardmaster::drive::report::Report;
use yardmaster::sim::paper::store::PaperStore;

/// Answers: at most one final one per request, the last; ordinals without gap, names unique. Cycles: numbers without
/// gap, counts that are right, time that does not go back.
pub fn check_words(yard: &Yard) {
    let decisions = yard.decisions();
    let mut requests: BTreeMap<(&str, u64), Vec<&Decision>> = BTreeMap::new();
    for decision in &decisions {
        requests.entry((&decision.subject, decision.attempt)).or_default().push(decision);
    }
    for ((subject, attempt), answers) in &requests {
        for (at, answer) in answers.iter().enumerate() {
            let ordinal = at as u32 + 1;
            assert_eq!(answer.ordinal, ordinal, "{subject}:{attempt} {answers:#?}");
            let follows = at + 1 < answers.len();
            assert!(!follows || !answer.outcome.is_final(), "{subject}:{attempt} {answers:#?}");
            let id = DecisionId::derive("atlas", subject, *attempt, ordinal);
            assert_eq!(answer.id, id);
        }
    }
    let ids: BTreeSet<DecisionId> = decisions.iter().map(|decision| decision.id).collect();
    assert_eq!(ids.len(), decisions.len());
    let throttles = yard.throttles();
    check_throttles(&throttles);
    check_cycles(yard, &decisions, &throttles);
    check_commands(yard);
}

/// Commands: each record of an id once, its repeats without gap, names derived; counted by its cycle.
fn check_commands(yard: &Yard) {
    let mut by_id: BTreeMap<CommandId, Vec<Command>> = BTreeMap::new();
    let mut by_cycle: BTreeMap<u64, u32> = BTreeMap::new();
    for command in yard.commands() {
        *by_cycle.entry(command.cycle).or_default() += 1;
        by_id.entry(command.id).or_default().push(command);
    }
    for records in by_id.values() {
        for (repeat, command) in (0..).zip(records) {
            let Command { rule, subject, attempt, clock_at, .. } = command;
            assert_eq!(command.repeat, repeat, "{records:#?}");
            assert_eq!(command.id, CommandId::derive("atlas", rule, subject, *attempt, *clock_at));
        }
    }
    for cycle in yard.progress() {
        let counted = cycle.outputs.iter().filter(|(lane, _)| lane.topic == Topic::Command);
        let counted: u32 = counted.map(|(_, count)| count).sum();
        assert_eq!(counted, by_cycle.get(&cycle.number).copied().unwrap_or(0));
    }
}

/// Words on throttles: ordinals without gap for each (rule, subject), names derived and unique; one
/// that is lifted was set, and stood its least time unless its rule has no limit any more.
pub fn check_throttles(throttles: &[Throttle]) {
    let mut subjects: BTreeMap<String, Vec<&Throttle>> = BTreeMap::new();
    for throttle in throttles {
        subjects.entry(throttle.name()).or_default().push(throttle);
    }
    for throttles in subjects.values() {
        for (at, throttle) in throttles.iter().enumerate() {
            let ordinal = at as u32 + 1;
            assert_eq!(throttle.ordinal, ordinal, "{throttles:#?}");
            assert_eq!(
                throttle.id,
                ThrottleId::derive("atlas", &throttle.rule, &throttle.key(), ordinal)
            );
        }
        assert_eq!(throttles[0].action, Action::Set, "{throttles:#?}");
        for pair in throttles.windows(2) {
            if pair[1].action == Action::Lift {
                assert_eq!(pair[0].action, Action::Set, "{throttles:#?}");
                let is_gone = pair[1].notes.iter().any(|note| note == "no_limit");
                assert!(is_gone || pair[0].lift_from <= Some(pair[1].now), "{throttles:#?}");
            }
        }
    }
    let ids: BTreeSet<ThrottleId> = throttles.iter().map(|throttle| throttle.id).collect();
    assert_eq!(ids.len(), throttles.len());
}

fn check_cycles(yard: &Yard, decisions: &[Decision], throttles: &[Throttle]) {
    let cycles = yard.progress();
    for (at, cycle) in cycles.iter().enumerate() {
        assert_eq!(cycle.number, cycles[0].number + at as u64);
        let made: Vec<&Decision> =
            decisions.iter().filter(|decision| decision.cycle == cycle.number).collect();
        let counted = cycle.outputs.iter().filter(|(lane, _)| lane.topic == Topic::Decision);
        assert_eq!(counted.map(|(_, count)| *count as usize).sum::<usize>(), made.len());
        for (number, decision) in made.iter().enumerate() {
            assert_eq!(decision.number, number as u32);
            assert_eq!((decision.epoch, decision.now), (cycle.epoch, cycle.now));
            assert!(!cycle.quiet);
        }
        let published = throttles.iter().filter(|throttle| throttle.cycle == cycle.number);
        let counted = cycle.outputs.iter().filter(|(lane, _)| lane.topic == Topic::Throttle);
        let counted: u32 = counted.map(|(_, count)| count).sum();
        assert_eq!(counted as usize, published.clone().count());
        for (number, throttle) in published.enumerate() {
            assert_eq!(throttle.number, number as u32);
            assert_eq!((throttle.epoch, throttle.now), (cycle.epoch, cycle.now));
            assert!(!cycle.quiet);
        }
    }
    for pair in cycles.windows(2) {
        assert!(pair[0].now <= pair[1].now && pair[0].epoch <= pair[1].epoch, "{pair:?}");
        assert_eq!(pair[0].epoch != pair[1].epoch, pair[1].policies.is_some());
    }
}

/// Every request of the play has its final decision, and each overdue job its command.
pub fn check_answered(yard: &Yard) {
    for subject in REQUESTS {
        let decisions = yard.decisions();
        let finals = decisions.iter().filter(|d| d.subject == subject && d.outcome.is_final());
        assert_eq!(finals.count(), 1, "{subject}");
    }
    assert_eq!(commanded(yard), OVERDUE, "each is commanded once");
}

/// Follows to the end of the log. What is missing then stays missing.
pub fn follow_to_end<L: Log, S: Store>(drive: &mut Drive<L, S>) {
    let mut still = 0;
    while still < 40 {
        let taken = drive.pump(Duration::ZERO).unwrap();
        let counted = drive.follow().unwrap();
        still = if taken == 0 && counted == 0 { still + 1 } else { 0 };
    }
}

/// Rebuilds from a store, makes every decision again, and compares with where the leader was.
pub fn rebuild<L: Log>(log: L, store: PaperStore, reached: &Reached) -> Report {
    let report = rebuild_part(log, store, reached);
    assert_eq!(report.verified[2], 0, "{:#?}", report.differences);
    report
}

/// The same where not every decision can be made again.
pub fn rebuild_part<L: Log>(log: L, store: PaperStore, reached: &Reached) -> Report {
    let mut config = config("a reader");
    config.verify = true;
    let mut drive = Drive::start(log, store, config).unwrap();
    follow_to_end(&mut drive);
    let report = drive.take_report();
    assert_eq!(report.verified[1], 0, "{:#?}", report.differences);
    assert_eq!(report.notices, Vec::<String>::new());
    assert_eq!(audit(drive.state()), vec![]);
    let known = Reached { number: drive.state().number, digest: digest(drive.state()) };
    assert_eq!(known, *reached);
    report
}

/// A rebuild of everything, from nothing.
pub fn check_replay(yard: &Yard, reached: &Reached) {
    let report = rebuild(yard.log(), PaperStore::default(), reached);
    assert_eq!(report.verified[0], yard.outputs() as u64);
}
