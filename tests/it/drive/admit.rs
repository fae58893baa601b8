//! Requests that are rejected before any candidate is judged.

use super::start;
use super::yard::*;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{ChunkKind, ReplicaSummary, Share, Storage, Task, TaskPhase};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::unit::{DAY, HOUR};
use yardmaster::drive::Drive;
use yardmaster::drive::port::{Log, Store};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

/// The reason of a request's one decision that is no deferral.
fn rejected(yard: &Yard, subject: &str, attempt: u64) -> String {
    let of = |it: &Decision| it.subject == subject && it.attempt == attempt;
    let decisions: Vec<Decision> = yard.decisions().into_iter().filter(of).collect();
    let ordinals: Vec<u32> = decisions.iter().map(|it| it.ordinal).collect();
    assert_eq!(ordinals, (1..=decisions.len() as u32).collect::<Vec<_>>(), "{subject}");
    let finals: Vec<&Decision> = decisions.iter().filter(|it| it.outcome.is_final()).collect();
    match finals[..] {
        [Decision { outcome: Outcome::Reject { reason }, .. }] => reason.clone(),
        _ => panic!("{subject}: not rejected once: {finals:#?}"),
    }
}

/// Every decision is made again from nothing, and the state is the same.
fn check_replay<L: Log, S: Store>(yard: &Yard, led: &mut Drive<L, S>) {
    led.finish(yard.now).unwrap();
    let mut config = config("a reader");
    config.verify = true;
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    for _ in 0..200 {
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().unwrap();
    }
    let report = drive.take_report();
    assert_eq!(report.verified[1..], [0, 0], "{:#?}", report.differences);
    assert_eq!(report.verified[0], yard.decisions().len() as u64);
    use yardmaster::core::state::digest::digest;
    assert_eq!(digest(drive.state()), digest(led.state()));
}

/// No queue has so many cores.
fn large(subject: &str, at: i64) -> Task {
    Task { core_count: Some(8), ..task(subject, 10, at) }
}

#[test]
fn a_request_with_an_implausible_or_too_old_time_is_rejected_by_name() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    let now = yard.now;
    yard.ask(&task("1/1", 5, now / 1_000));
    yard.ask(&task("2/1", 5, 0));
    yard.ask(&task("3/1", 5, now - 15 * DAY));
    yard.ask(&task("4/1", 5, now - 5 * DAY));
    lead(&mut yard, &mut drive, 10).unwrap();
    let seconds = (now / 1_000).to_string();
    for (subject, parts) in [
        ("1/1", ["changed_at_implausible(", &seconds, "expected milliseconds since 1970"]),
        ("2/1", ["changed_at_implausible(0, ", "expected", "milliseconds since 1970"]),
        ("3/1", ["expired(", "15 d before", "request_lifetime_d is 14"]),
    ] {
        let reason = rejected(&yard, subject, 0);
        assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
    }
    // Published again, at once and after the rest was forgotten: the answer is known.
    for _ in 0..3 {
        yard.ask(&Task { priority: 700, ..task("1/1", 5, now / 1_000) });
        yard.ask(&Task { priority: 700, ..task("3/1", 5, now - 15 * DAY) });
        lead(&mut yard, &mut drive, 10).unwrap();
        yard.pass(DAY);
    }
    assert_eq!(yard.decisions().len(), 4, "{:#?}", yard.decisions());
    let asks = |drive: &Drive<_, _>| drive.state().requests.len();
    assert_eq!((asks(&drive), drive.state().answered.table.len()), (1, 3));
    check_replay(&yard, &mut drive);
}

#[test]
fn open_chunks_of_an_ended_task_are_rejected_and_not_judged_again() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&large("1/1", yard.now));
    yard.ask(&large("1/2", yard.now));
    yard.ask(&task("1/3", 5, yard.now));
    yard.ask(&large("2/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions().len(), 4);
    let ended = |subject: &str, at| Task { phase: TaskPhase::Ended, ..task(subject, 0, at) };
    yard.ask(&ended("1", yard.now));
    // A chunk that takes its own request back.
    yard.ask(&ended("2/1", yard.now));
    // Asked with the end of its task.
    yard.ask(&task("1/4", 5, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    for (subject, reason) in [
        ("1/1", "task_ended("),
        ("1/2", "task_ended("),
        ("1/4", "task_ended("),
        ("2/1", "withdrawn("),
    ] {
        assert!(rejected(&yard, subject, 0).starts_with(reason), "{subject}");
    }
    let known = yard.decisions().len();
    assert_eq!(known, 8);
    yard.pass(2 * HOUR);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions().len(), known, "nothing wakes and nothing is due");
    // The task is tried again: what is asked after its end is judged, until it ends again.
    yard.ask(&task("1/5", 5, yard.now));
    yard.ask(&large("1/6", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = |yard: &Yard, subject: &str| {
        let mut of_subject = yard.decisions().into_iter().filter(|it| it.subject == subject);
        of_subject.next_back().map(|it| it.outcome.name())
    };
    assert_eq!((last(&yard, "1/5"), last(&yard, "1/6")), (Some("assign"), Some("defer")));
    yard.pass(HOUR);
    yard.ask(&ended("1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert!(rejected(&yard, "1/6", 0).starts_with("task_ended("));
    check_replay(&yard, &mut drive);
}

#[test]
fn a_deferral_ends_when_the_subject_asks_with_a_higher_attempt() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&large("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&Task { attempt: 1, ..task("1/1", 5, yard.now) });
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(rejected(&yard, "1/1", 0), "superseded(attempt 1)");
    let last = yard.decisions().pop().unwrap();
    assert!(last.attempt == 1 && matches!(last.outcome, Outcome::Assign(_)), "{last:#?}");
    check_replay(&yard, &mut drive);
}

/// Read in one cycle, since nobody led, in any order; one judgement a cycle, so that a leader with a
/// store and one without come between the answers.
#[test]
fn an_attempt_that_is_passed_before_it_is_judged_gets_its_answer() {
    let mut yard = Yard::new();
    yard.build(2);
    let ended = |subject: &str, attempt, at| Task {
        phase: TaskPhase::Ended,
        attempt,
        ..task(subject, 0, at)
    };
    let asked = |subject: &str, attempt, at| Task { attempt, ..task(subject, 5, at) };
    let now = yard.now;
    for record in [
        asked("1/1", 0, now),
        asked("1/1", 1, now),
        asked("1/2", 0, now),
        ended("1/2", 0, now),
        asked("1/3", 2, now),
        asked("1/3", 0, now),
        ended("1/4", 1, now),
        asked("1/4", 1, now),
        asked("1/4", 0, now),
        asked("1/5", 0, now),
        ended("1/5", 3, now),
        // Nobody asked for these.
        ended("1/6", 0, now),
        ended("1", 0, now - 1),
        asked("1/7", 0, now),
        asked("1/7", 0, now + 1),
    ] {
        yard.ask(&record);
    }
    let store = PaperStore::default();
    let limited = |name: &str| {
        let limit = ("judgements_per_cycle = 256", "judgements_per_cycle = 2");
        config_with(name, epoch_config_with(&[limit]))
    };
    for (store, answers) in [(store.clone(), 4), (store, 6), (PaperStore::default(), 9)] {
        let mut drive = Drive::start(yard.log(), store, limited("a leader")).unwrap();
        for _ in 0..200 {
            if yard.decisions().len() < answers {
                lead(&mut yard, &mut drive, 1).unwrap();
            }
        }
        assert_eq!(yard.decisions().len(), answers);
        drive.finish(yard.now).unwrap();
    }
    let is = |subject, attempt, reason: &str| {
        let found = rejected(&yard, subject, attempt);
        assert!(found.starts_with(reason), "{subject}:{attempt} {found}");
    };
    is("1/1", 0, "superseded(attempt 1)");
    is("1/2", 0, "withdrawn(at ");
    is("1/3", 0, "superseded(attempt 2)");
    is("1/4", 0, "superseded(attempt 1)");
    is("1/4", 1, "withdrawn(at ");
    is("1/5", 0, "withdrawn(at ");
    let all = yard.decisions();
    let assigned = all.iter().filter(|it| matches!(it.outcome, Outcome::Assign(_)));
    let mut assigned: Vec<_> = assigned.map(|it| (it.subject.as_str(), it.attempt)).collect();
    assigned.sort_unstable();
    assert_eq!(assigned, [("1/1", 1), ("1/3", 2), ("1/7", 0)]);
    assert_eq!(all.len(), 9, "{all:#?}");
    // Published again, each is known.
    for record in [asked("1/1", 0, yard.now), asked("1/2", 0, yard.now), ended("1/5", 3, yard.now)]
    {
        yard.ask(&record);
    }
    let mut drive = Drive::start(yard.log(), PaperStore::default(), limited("last")).unwrap();
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions().len(), 9);
    check_replay(&yard, &mut drive);
}

#[test]
fn a_deferred_request_that_is_not_renewed_is_given_up() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&large("1/1", yard.now));
    for _ in 0..15 {
        lead(&mut yard, &mut drive, 10).unwrap();
        yard.pass(DAY);
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    let reason = rejected(&yard, "1/1", 0);
    assert!(reason.starts_with("gave_up(") && reason.contains("request_lifetime_d is 14"));
    let words = [yardmaster::core::policy::kind("atlas-production-job").unwrap()];
    let text = yardmaster::core::explain::explain(
        yard.decisions().last().unwrap(),
        &yardmaster::core::explain::Context::of_kinds(&words),
    );
    assert!(text.contains("what to do: ask again with a higher attempt"), "{text}");
    assert!(drive.state().requests.is_empty() && drive.state().answered.table.len() == 1);
    check_replay(&yard, &mut drive);
}

/// On day 20 an answered task comes again with another priority; the leader with its store, and
/// one that has lost it, both know the answer.
#[test]
fn a_request_that_was_answered_long_ago_is_not_answered_again() {
    for is_store_lost in [false, true] {
        let mut yard = Yard::new();
        yard.build(2);
        let mut drive = start(&yard, "one");
        lead(&mut yard, &mut drive, 10).unwrap();
        let first = task("1/1", 5, yard.now);
        yard.ask(&first);
        lead(&mut yard, &mut drive, 10).unwrap();
        yard.pass(20 * DAY);
        lead(&mut yard, &mut drive, 10).unwrap();
        assert_eq!(drive.state().requests.len(), 0);
        if is_store_lost {
            drive.finish(yard.now).unwrap();
            drive = start(&yard, "two");
        }
        yard.pass(HOUR);
        yard.ask(&Task { priority: 900, changed_at: yard.now, ..first.clone() });
        yard.ask(&task("2/1", 5, yard.now));
        lead(&mut yard, &mut drive, 30).unwrap();
        let answered =
            |subject: &str| yard.decisions().iter().filter(|it| it.subject == subject).count();
        assert_eq!((answered("1/1"), answered("2/1")), (1, 1));
        // It is forgotten with its lifetime.
        yard.pass(70 * DAY);
        lead(&mut yard, &mut drive, 10).unwrap();
        assert!(drive.state().requests.is_empty() && drive.state().answered.table.is_empty());
        check_replay(&yard, &mut drive);
    }
}

#[test]
fn what_a_request_can_hardly_mean_is_noted_by_name() {
    let mut yard = Yard::new();
    yard.build(2);
    let share = Share { name: "MC".into(), value: 100.0, changed_at: yard.now, ..Share::default() };
    yard.configure(&share);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&Task { gshare: "MC".into(), ..task("1/1", 5, yard.now) });
    let odd = Task { gshare: "NC".into(), site: "ATLANTIS".into(), ..task("2/1", 0, yard.now) };
    yard.ask(&Task { asked_at: 17, ..odd });
    lead(&mut yard, &mut drive, 10).unwrap();
    let notes = |subject: &str| {
        let of = |it: &Decision| it.subject == subject;
        yard.decisions().into_iter().find(of).expect("a decision").notes.join(" ")
    };
    let words = [
        "jobs_missing(0",
        "gshare_unknown(NC)",
        "site_unknown(ATLANTIS)",
        "asked_at_implausible(17,",
    ];
    for word in words {
        assert!(!notes("1/1").contains(word), "{}", notes("1/1"));
        assert!(notes("2/1").contains(word), "{word} is not in {}", notes("2/1"));
    }
    check_replay(&yard, &mut drive);
}

/// Writes a whole number of a record's field as it could not be written.
fn state_figure(record: &mut Vec<u8>, marked: i64, stated: i64) {
    let bytes_of = |number: i64| {
        let mut bytes = Vec::new();
        yardmaster::wire::avro::Sink { out: &mut bytes }.long(number);
        bytes
    };
    let (marked, stated) = (bytes_of(marked), bytes_of(stated));
    let mut places = (0..record.len()).filter(|at| record[*at..].starts_with(&marked));
    let (Some(at), None) = (places.next(), places.next()) else { panic!("no mark, or several") };
    record.splice(at..at + marked.len(), stated);
}

/// A leader with its store, one that has lost it, and a replay make the same decisions.
#[test]
fn figures_that_cannot_be_are_noted_with_their_names() {
    const CORES: i64 = 77_001_001;
    const BYTES: i64 = 77_002_002;
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let begin = |yard: &Yard, store: PaperStore, name: &str| {
        Drive::start(yard.log(), store, config(name)).unwrap()
    };
    let mut drive = begin(&yard, store.clone(), "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    let replicas = vec![ReplicaSummary { bytes: BYTES as u64, ..ReplicaSummary::default() }];
    let odd = Task {
        core_count: Some(CORES as u32),
        walltime_s_per_mb: Some(-1.5),
        priority: -7,
        replicas,
        ..large("1/1", yard.now)
    };
    yard.publish(Topic::Task, "1/1", |out| {
        record::write(out, &odd);
        state_figure(out, CORES, -8);
        state_figure(out, BYTES, -9);
    });
    let large = Task { core_count: Some(CORES as u32), ..large("2/1", yard.now) };
    yard.publish(Topic::Task, "2/1", |out| {
        record::write(out, &large);
        state_figure(out, CORES, 1 << 32);
    });
    lead(&mut yard, &mut drive, 10).unwrap();
    let notes = |yard: &Yard, subject: &str| {
        let of = |it: &Decision| it.subject == subject;
        yard.decisions().into_iter().rfind(of).expect("a decision").notes.join("; ")
    };
    let check = |yard: &Yard| {
        for figure in [
            "figure_impossible(core_count -8, read as 0)",
            "figure_impossible(walltime_s_per_mb -1.5, left out)",
            "figure_impossible(replicas.bytes -9, read as 0)",
        ] {
            assert!(notes(yard, "1/1").contains(figure), "{}", notes(yard, "1/1"));
        }
        assert!(!notes(yard, "1/1").contains("priority"), "{}", notes(yard, "1/1"));
        let figure = "figure_impossible(core_count 4294967296, read as 4294967295)";
        assert!(notes(yard, "2/1").contains(figure), "{}", notes(yard, "2/1"));
    };
    check(&yard);
    let odd = yardmaster::core::oddity::Oddity::BadValue;
    let odd = |it: &(Topic, _, u64)| (it.0, it.1) == (Topic::Task, odd) && it.2 == 2;
    assert!(drive.take_report().oddities.iter().any(odd));
    // Deferred again, by a leader that knows the request from a store or from the log.
    for store in [store, PaperStore::default()] {
        drive.finish(yard.now).unwrap();
        drive = begin(&yard, store, "another");
        yard.pass(2 * HOUR);
        let answered = yard.decisions().len();
        lead(&mut yard, &mut drive, 20).unwrap();
        assert!(yard.decisions().len() > answered);
        check(&yard);
    }
    check_replay(&yard, &mut drive);
}

/// Merge jobs whose input lies where the queue is that they are bound to.
fn bound(subject: &str, at: i64) -> Task {
    let mut task = Task { chunk: ChunkKind::Merge, ..task(subject, 5, at) };
    task.options.chunk_site = "QUEUE_00".into();
    task
}

#[test]
fn merge_jobs_leave_their_queue_a_day_after_they_were_first_deferred() {
    let mut yard = Yard::new();
    yard.build(2);
    let full = &queue("QUEUE_00", yard.now).endpoints.write[0];
    yard.configure(&Storage { free_bytes: 0, ..storage(full, "NORTH", yard.now + 1) });
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    // The request does not say since when its queue is skipped.
    yard.ask(&bound("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let asked_at = yard.now;
    let is_assigned =
        |yard: &Yard| yard.decisions().iter().any(|it| matches!(it.outcome, Outcome::Assign(_)));
    while yard.now < asked_at + DAY - HOUR {
        assert!(!is_assigned(&yard), "{:#?}", yard.decisions().last());
        yard.pass(HOUR);
        yard.pilot("QUEUE_01", "node1");
        lead(&mut yard, &mut drive, 2).unwrap();
    }
    assert!(!is_assigned(&yard));
    // It wakes by the time alone.
    yard.pass(HOUR);
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.decisions().pop().unwrap();
    assert_eq!(sent(&last), [("QUEUE_01".to_owned(), 5)], "{last:#?}");
    check_replay(&yard, &mut drive);
}

/// Milliseconds since 1970 as attempts: each asking is answered, under its own number.
#[test]
fn an_attempt_beyond_32_bits_is_answered_under_its_number() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    let first = yard.now as u64;
    assert!(first > 1 << 32);
    for attempt in [first, first + 1] {
        yard.ask(&Task { attempt, ..task("1/1", 5, yard.now) });
        lead(&mut yard, &mut drive, 10).unwrap();
        let decisions = yard.decisions();
        let last = decisions.last().expect("a decision");
        assert_eq!((last.subject.as_str(), last.attempt, last.ordinal), ("1/1", attempt, 1));
        assert!(matches!(last.outcome, Outcome::Assign(_)), "{last:?}");
        let request = yardmaster::core::output::decision::request_name("1/1", attempt);
        assert_eq!(request, format!("1/1:{attempt}"));
    }
    assert_eq!(yard.decisions().len(), 2);
    check_replay(&yard, &mut drive);
}

#[test]
fn a_deferred_request_waits_no_longer_than_the_parameter_of_its_label_says() {
    let mut yard = Yard::new();
    yard.build(2);
    yard.set("watchdog", "PENDING_TIMEOUT_managed", "30");
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&Task { label: "managed".into(), ..large("1/1", yard.now) });
    yard.ask(&Task { label: "test".into(), ..large("2/1", yard.now) });
    lead(&mut yard, &mut drive, 10).unwrap();
    let since = yard.decisions()[0].now;
    for _ in 0..29 {
        yard.pass(HOUR);
        lead(&mut yard, &mut drive, 10).unwrap();
    }
    let is_final = |it: &Decision| matches!(it.outcome, Outcome::Reject { .. });
    assert!(!yard.decisions().iter().any(is_final), "30 h are not over");
    yard.pass(2 * HOUR);
    lead(&mut yard, &mut drive, 10).unwrap();
    let wanted = format!("pending_timeout(deferred at {since}, PENDING_TIMEOUT is 30 h)");
    assert_eq!(rejected(&yard, "1/1", 0), wanted);
    assert_eq!(yard.decisions().iter().filter(|it| is_final(it)).count(), 1);
    check_replay(&yard, &mut drive);
}
