//! Commands that are open, and the order in which they are handed out.

use super::*;
use yardmaster_core::event::OutcomeKind;
use yardmaster_core::output::command::held_back_note;
use yardmaster_core::unit::Millis;

/// Repeat `repeat` of a command about a subject, published at `now`.
fn command(subject: &str, rule: &str, repeat: u32, now: Millis) -> Command {
    Command { repeat, cycle: now as u64, now, ..Command::new("atlas", rule, subject, 0, Some(7)) }
}

fn answer(kind: OutcomeKind, at: Millis) -> CommandAnswer {
    CommandAnswer { at, kind, reason: String::new() }
}

/// Takes the next one: its subject, rule and repeat.
fn next(orders: &mut Orders) -> Option<(String, String, u32)> {
    orders.take().map(|(it, _)| (it.subject, it.rule, it.repeat))
}

#[test]
fn a_command_is_open_until_it_is_settled_and_after_each_repeat() {
    use OutcomeKind::{Accepted, Expired, Failed, Refused};
    let one = command("1", "T1", 1, 100);
    assert!(is_open(&one, None));
    for (kind, at, open) in [
        (Accepted, 50, false),
        (Accepted, 150, false),
        (Refused, 50, false),
        (Failed, 99, true),
        (Failed, 100, false),
        (Failed, 150, false),
        (Expired, 50, true),
        (Expired, 150, false),
    ] {
        assert_eq!(is_open(&one, Some(&answer(kind, at))), open, "{kind:?} {at}");
    }
    let dry = Command { dry_run: true, ..one.clone() };
    let report = Command { notes: vec![held_back_note("kill_switch")], ..one };
    assert!(!is_open(&dry, None) && !is_open(&report, None));
}

#[test]
fn what_is_about_one_subject_is_handed_out_one_after_the_other() {
    let mut orders = Orders::default();
    for (subject, rule) in [("1", "T1"), ("1", "T8"), ("2", "T1")] {
        assert!(orders.publish(command(subject, rule, 0, 10)));
    }
    let (first, _) = orders.take().unwrap();
    assert_eq!((first.subject.as_str(), first.rule.as_str()), ("1", "T1"));
    assert_eq!(next(&mut orders), Some(("2".into(), "T1".into(), 0)));
    assert_eq!((next(&mut orders), orders.waiting()), (None, 1));
    orders.done(&first, answer(OutcomeKind::Accepted, 20));
    assert_eq!(next(&mut orders), Some(("1".into(), "T8".into(), 0)));
}

#[test]
fn a_repeat_is_handed_out_once_and_only_if_the_last_try_was_in_vain() {
    for (kind, is_repeated) in [(OutcomeKind::Failed, true), (OutcomeKind::Refused, false)] {
        let mut orders = Orders::default();
        orders.publish(command("1", "T1", 0, 10));
        let (first, _) = orders.take().unwrap();
        orders.publish(command("1", "T1", 0, 10));
        assert_eq!(orders.waiting(), 0);
        orders.done(&first, answer(kind, 20));
        orders.publish(command("1", "T1", 1, 30));
        assert_eq!(next(&mut orders).is_some(), is_repeated);
        orders.publish(command("1", "T1", 1, 30));
        assert_eq!(next(&mut orders), None);
    }
}

#[test]
fn a_repeat_that_came_while_the_program_ran_is_dropped_by_its_outcome() {
    let mut orders = Orders::default();
    orders.publish(command("1", "T1", 0, 10));
    let (first, _) = orders.take().unwrap();
    orders.publish(command("1", "T1", 1, 30));
    assert_eq!(orders.waiting(), 1);
    orders.done(&first, answer(OutcomeKind::Failed, 40));
    assert_eq!(orders.waiting(), 0, "it failed after that repeat: the next one counts");
    orders.publish(command("1", "T1", 2, 50));
    assert_eq!(orders.waiting(), 1);
}

#[test]
fn an_outcome_of_another_or_a_record_that_is_no_order_takes_a_command_back() {
    let mut orders = Orders::default();
    let one = command("1", "T1", 0, 10);
    orders.publish(one.clone());
    orders.publish(command("2", "T1", 0, 10));
    orders.answer(one.id, answer(OutcomeKind::Accepted, 15));
    orders.publish(Command { dry_run: true, ..command("2", "T1", 1, 20) });
    assert_eq!(next(&mut orders), None);
}

#[test]
fn the_newest_repeat_takes_the_place_of_those_before() {
    let mut orders = Orders::default();
    orders.publish(command("1", "T1", 0, 10));
    orders.publish(command("2", "T1", 0, 11));
    orders.publish(command("1", "T1", 2, 50));
    orders.publish(command("1", "T1", 1, 30));
    assert_eq!(next(&mut orders), Some(("1".into(), "T1".into(), 2)));
    assert_eq!(orders.waiting(), 1);
}

#[test]
fn what_is_remembered_is_bounded_and_what_waits_is_not_forgotten() {
    let mut orders = Orders::default();
    for number in 0..KNOWN_MAX {
        assert!(orders.publish(command(&number.to_string(), "T1", 0, number as Millis)));
    }
    assert!(!orders.publish(command("one more", "T1", 0, 1)));
    let (first, _) = orders.take().unwrap();
    orders.done(&first, answer(OutcomeKind::Accepted, 60_000));
    assert!(orders.publish(command("one more", "T1", 0, 1)));
    assert_eq!(orders.waiting(), KNOWN_MAX);
}
