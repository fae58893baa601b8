//! Each rule below its threshold and at it.

use super::facts::{Facts, OldRequests};
use super::memory::Memory;
use super::rejected::Rejections;
use super::*;
use crate::view::{QueueView, ShareView, View};
use crate::waiting::Helps;
use std::collections::BTreeMap;
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::throttle::{Action, SubjectKind, Throttle};
use yardmaster_core::state::{Setting, State};
use yardmaster_core::unit::{HOUR, MINUTE};
use yardmaster_core::view::{IdleReason, Offers, PoolGlance, WorkflowAt};

const NOW: Millis = 1_760_000_000_000;

fn state() -> State {
    let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
    state.now = NOW;
    state
}

fn queue(name: &str, queued: u64, running: u64, hours: Millis) -> QueueView {
    QueueView {
        queue: name.to_owned(),
        site: "SITE".to_owned(),
        status: "online".to_owned(),
        queued,
        running,
        last_start_at: Some(NOW - hours * HOUR),
        ..QueueView::default()
    }
}

fn facts<'a>(state: &'a State, rejected: &'a Rejections, queues: Vec<QueueView>) -> Facts<'a> {
    Facts {
        state,
        view: View { now: state.now, queues, ..View::default() },
        ended: BTreeMap::new(),
        old: BTreeMap::new(),
        wanted: BTreeMap::new(),
        pool: None,
        rejected,
    }
}

/// Severity, rule, kind and name of each item.
fn shown(attention: &Attention) -> Vec<[&str; 4]> {
    let items = attention.items.iter();
    items.map(|it| [it.severity.name(), it.rule, it.kind, it.name.as_str()]).collect()
}

fn look(facts: &Facts<'_>) -> Attention {
    Attention::of(facts, &AttentionSettings::default(), &mut Memory::default())
}

/// The one item of some queues.
fn of_queues(queues: Vec<QueueView>) -> Vec<[String; 4]> {
    let (state, rejected) = (state(), Rejections::default());
    let attention = look(&facts(&state, &rejected, queues));
    shown(&attention).into_iter().map(|it| it.map(str::to_owned)).collect()
}

#[track_caller]
fn check(queue: QueueView, expected: Option<[&str; 2]>) {
    let found = of_queues(vec![queue]);
    let found: Vec<[&str; 2]> = found.iter().map(|it| [it[0].as_str(), it[1].as_str()]).collect();
    assert_eq!(found, Vec::from_iter(expected));
}

#[test]
fn a_queue_with_enough_queued_that_starts_nothing_for_long_enough_is_found() {
    check(queue("Q", 20, 5, 2), None);
    check(queue("Q", 20, 5, 3), Some(["watch", "no_start"]));
    check(queue("Q", 20, 5, 6), Some(["act", "no_start"]));
    check(queue("Q", 19, 5, 9), None);
    // A closed one is that, and the missing pilot comes before what follows from it.
    let closed = QueueView { status: "offline".into(), ..queue("Q", 20, 5, 9) };
    check(closed.clone(), Some(["watch", "closed"]));
    // It is so for at least as long as its record is unchanged, whenever this process saw it first.
    let (state, rejected) = (state(), Rejections::default());
    for (changed_at, since) in [(Some(NOW - 9 * HOUR), Some(NOW - 9 * HOUR)), (None, None)] {
        let closed = QueueView { changed_at, ..closed.clone() };
        let attention = look(&facts(&state, &rejected, vec![closed]));
        assert_eq!(attention.items[0].since, since);
    }
    let last_pilot_at = Some(NOW - 7 * HOUR);
    let silent = QueueView { last_pilot_at, ..queue("Q", 20, 5, 7) };
    check(silent, Some(["act", "no_pilot"]));
    // Jobs that run there have pilots that report; where none runs and few wait, there may be none.
    let silent = QueueView { last_pilot_at, ..queue("Q", 0, 5, 7) };
    check(silent.clone(), Some(["act", "no_pilot"]));
    check(QueueView { running: 0, ..silent }, None);
}

#[test]
fn a_queue_is_crowded_by_number_and_by_ratio() {
    check(queue("Q", 150, 19, 0), None);
    check(queue("Q", 152, 19, 0), Some(["watch", "crowded"]));
    check(queue("Q", 149, 0, 0), None);
    check(queue("Q", 150, 0, 0), Some(["watch", "crowded"]));
}

#[test]
fn a_queue_fails_by_the_part_that_failed_of_enough() {
    let (state, rejected) = (state(), Rejections::default());
    for (failed, ended, expected, percent) in [
        (11, 11, None, ""),
        (2, 12, None, ""),
        (3, 12, Some(Severity::Watch), "(25 %)."),
        (5, 12, Some(Severity::Watch), "(42 %)."),
        (9, 12, Some(Severity::Act), "(75 %)."),
    ] {
        let mut facts = facts(&state, &rejected, vec![queue("Q", 0, 1, 0)]);
        facts.ended.insert("Q".to_owned(), [failed, ended]);
        let attention = look(&facts);
        let found = attention.items.first();
        assert_eq!(found.map(|it| it.severity), expected, "{failed} of {ended}");
        assert!(found.is_none_or(|it| it.text.starts_with(&format!("{failed} of 12 jobs"))));
        assert!(found.is_none_or(|it| it.text.ends_with(percent)), "{failed}: {percent}");
        assert_eq!((attention.sites[0].failed, attention.sites[0].ended), (failed, ended));
    }
}

#[test]
fn several_queues_of_a_site_with_one_cause_are_one_row() {
    let queues = vec![queue("A", 30, 0, 4), queue("B", 40, 0, 5), queue("C", 200, 1, 0)];
    let found = of_queues(queues.clone());
    assert_eq!(found, [["watch", "no_start", "site", "SITE"], ["watch", "crowded", "queue", "C"]]);
    let (state, rejected) = (state(), Rejections::default());
    let attention = look(&facts(&state, &rejected, queues));
    let first = &attention.items[0];
    assert_eq!((first.title.as_str(), first.count), ("SITE: 2 queues start nothing", 70));
    assert_eq!(
        (&first.names[..], first.since),
        (&["A", "B"].map(String::from)[..], Some(NOW - 5 * HOUR))
    );
    assert_eq!(attention.sites[0].troubles.len(), 3);
}

#[test]
fn what_never_started_counts_from_when_it_was_seen() {
    let (mut state, rejected) = (state(), Rejections::default());
    let (settings, mut memory) = (AttentionSettings::default(), Memory::default());
    let never = QueueView { last_start_at: None, ..queue("Q", 30, 0, 0) };
    for (hours, expected) in [(0, 0), (2, 0), (3, 1)] {
        state.now = NOW + hours * HOUR;
        let facts = facts(&state, &rejected, vec![never.clone()]);
        let attention = Attention::of(&facts, &settings, &mut memory);
        assert_eq!(attention.items.len(), expected, "after {hours} h");
        assert!(attention.items.iter().all(|it| it.since == Some(NOW)));
    }
}

#[test]
fn a_share_is_off_after_an_hour_and_one_below_only_if_jobs_wait() {
    let (mut state, rejected) = (state(), Rejections::default());
    let (settings, mut memory) = (AttentionSettings::default(), Memory::default());
    let share = |name: &str, used: f64| {
        let (gshare, target) = (name.to_owned(), 0.2);
        ShareView { gshare, r#use: used, target }
    };
    for minutes in [0, 30, 60] {
        state.now = NOW + minutes * MINUTE;
        let mut facts = facts(&state, &rejected, Vec::new());
        facts.view.shares =
            vec![share("Above", 0.24), share("Below", 0.1), share("Idle", 0.1), share("On", 0.22)];
        facts.wanted.insert("Below".to_owned(), 7);
        let attention = Attention::of(&facts, &settings, &mut memory);
        let expected =
            [["watch", "share_off", "share", "Below"], ["note", "share_off", "share", "Above"]];
        let expected = if minutes < 60 { &[][..] } else { &expected[..] };
        assert_eq!(shown(&attention), expected, "after {minutes} min");
    }
}

#[test]
fn requests_throttles_and_rejections_are_one_row_for_each_cause() {
    let (mut state, mut rejected) = (state(), Rejections::default());
    for user in ["ann", "bob"] {
        let of = (SubjectKind::User, user);
        let throttle = Throttle::new("atlas", "A1", of, 1, Action::Set);
        let (until, measured, limit) = (Some(NOW + HOUR), 12.0, 10.0);
        state.fold_throttle(&Throttle { until, measured, limit, now: NOW, ..throttle });
    }
    let outcome = yardmaster_core::output::decision::Outcome::Reject {
        reason: "bad_description: xRSL, line 1".to_owned(),
    };
    let decision = yardmaster_core::output::decision::Decision::new("atlas", "1", 1, 1, outcome);
    rejected.note(&yardmaster_core::output::decision::Decision { now: NOW, ..decision });
    let mut facts = facts(&state, &rejected, Vec::new());
    let oldest = Some((NOW - 30 * HOUR, "7/1".to_owned()));
    let old = OldRequests { requests: 3, jobs: 40, oldest };
    facts.old.insert((Helps::Configuration, "opportunistic".to_owned()), old.clone());
    facts.old.insert((Helps::Time, "room".to_owned()), old);
    let attention = look(&facts);
    assert_eq!(
        shown(&attention),
        [
            ["watch", "rejected", "request", "bad_description"],
            ["watch", "request_age", "request", "opportunistic"],
            ["watch", "throttled", "user", "A1"],
            ["note", "request_age", "request", "room"],
        ]
    );
    let texts: Vec<&str> = attention.items.iter().map(|it| it.text.as_str()).collect();
    assert!(
        texts[1].contains("waiting does not help") && texts[1].contains("1 d 6 h"),
        "{texts:?}"
    );
    assert!(texts[2].contains("ann: 12") && texts[2].contains("bob: 12"), "{texts:?}");
}

#[test]
fn commands_that_go_in_circles_or_are_held_back_need_a_person() {
    let (mut state, rejected) = (state(), Rejections::default());
    for batch in 0..3 {
        let rule = "fast_rebrokerage";
        let command = Command::new("atlas", rule, "Q/MC/77", batch, Some(NOW));
        let (kind, task, queue) = (CommandKind::Rebroker, "77".to_owned(), "Q".to_owned());
        let command = Command { kind, task, queue, amount: 5, now: NOW, ..command };
        state.commands.take(&command);
        let found = look(&facts(&state, &rejected, Vec::new()));
        assert_eq!(found.items.len(), usize::from(batch == 2), "the third time");
    }
    let found = look(&facts(&state, &rejected, Vec::new()));
    assert_eq!(shown(&found), [["watch", "circles", "task", "77"]]);
    assert!(found.items[0].text.starts_with("15 jobs of it were taken back 3 times"));
}

#[test]
fn a_pool_without_offers_and_workflows_without_slots_need_a_person() {
    let (state, rejected) = (state(), Rejections::default());
    let workflow = |name: &str, hours: Millis| WorkflowAt {
        workflow: name.to_owned(),
        class: "central",
        user: "u".to_owned(),
        group: String::new(),
        priority: 1,
        total: None,
        given: 0,
        idle: 10,
        reason: "no_offer",
        on_hold: 0,
        running: 0,
        finished: 0,
        failed: 0,
        last_match_at: None,
        injected_at: Some(NOW - hours * HOUR),
    };
    let reason =
        IdleReason { filter: "no_offer", title: "No slot".into(), help: "wait".into(), jobs: 30 };
    let glance = |live: u64| PoolGlance {
        idle: 30,
        idle_by_reason: vec![reason.clone()],
        workflows: vec![workflow("A", 5), workflow("B", 4), workflow("C", 3)],
        offers: Offers { live, ..Offers::default() },
        ..PoolGlance::default()
    };
    for (live, expected) in [(0, 2), (1, 1)] {
        let mut facts = facts(&state, &rejected, Vec::new());
        facts.pool = Some(glance(live));
        let attention = look(&facts);
        assert_eq!(attention.items.len(), expected);
        let last = attention.items.last().unwrap();
        assert_eq!((last.rule, &last.names[..]), ("no_slots", &["A", "B"].map(String::from)[..]));
        assert_eq!(last.title, "2 workflows got no slots for 4 h: No slot");
        assert_eq!(expected == 2, attention.items[0].severity == Severity::Act);
    }
}
