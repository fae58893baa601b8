//! Limits: what hits one is reported and counted, and ends nothing.

use super::check::*;
use crate::drive::yard::{Yard, config, epoch_config_with, job, lead, queue, task};
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::*;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::digest::digest;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::sim::paper::{Note, PaperLog};
use yardmaster::wire::record;

fn begin(yard: &Yard, changes: &[(&str, &str)]) -> Drive<PaperLog, PaperStore> {
    let config = Config { epoch_config: epoch_config_with(changes), ..config("one") };
    Drive::start(yard.log(), PaperStore::default(), config).unwrap()
}

fn add_queue(yard: &Yard, name: &str, max_rss_mb: u32) {
    let queue = Queue { max_rss_mb, ..queue(name, yard.now) };
    yard.configure(&queue);
    yard.pilot(name, "node1");
}

fn hungry(subject: &str, at: i64) -> Task {
    Task { ram_count_mb: Some(8_000), ..task(subject, 10, at) }
}

#[test]
fn fates_beyond_the_size_of_a_record_become_counts() {
    let mut yard = Yard::new();
    for at in 0..500 {
        add_queue(&yard, &format!("QUEUE_WITH_A_LONG_NAME_{at:03}"), 2_000);
    }
    let mut drive = begin(&yard, &[("max_output_bytes = 900_000", "max_output_bytes = 16_384")]);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&hungry("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let decision = &yard.decisions()[0];
    assert!(decision.fates_cut > 0 && !decision.fates.is_empty());
    assert_eq!(decision.fates.len() + decision.fates_cut as usize, 500);
    assert_eq!(decision.counts.iter().map(|count| count.rejected).sum::<u32>(), 500);
    let records = (0..2).flat_map(|at| yard.paper.records(Lane::new(Topic::Decision, at)));
    let longest = records.map(|note| note.value.unwrap().len()).max().unwrap();
    assert!(longest <= 16_384 && longest > 10_000, "{longest}");
    // What was cut is not known to those who follow: it is published again next time, and wakes it.
    add_queue(&yard, "QUEUE_WITH_A_LONG_NAME_499", 16_000);
    yard.pass(61_000);
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    assert!(matches!(decisions[1].outcome, Outcome::Assign(_)), "{:?}", decisions[1].outcome);
    check_words(&yard);
}

#[test]
fn fates_beyond_so_many_become_counts() {
    let mut yard = Yard::new();
    (0..50).for_each(|at| add_queue(&yard, &format!("QUEUE_{at:02}"), 2_000));
    let mut drive = begin(&yard, &[("fates_max = 2_000", "fates_max = 10")]);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&hungry("1/1", yard.now));
    yard.ask(&Task { jobs: u32::MAX, ..hungry("2/1", yard.now) });
    lead(&mut yard, &mut drive, 10).unwrap();
    for decision in yard.decisions() {
        assert_eq!((decision.fates.len(), decision.fates_cut), (10, 40));
        assert_eq!(decision.counts.iter().map(|count| count.rejected).sum::<u32>(), 50);
    }
    // One that was not named wakes the requests all the same.
    add_queue(&yard, "QUEUE_49", 16_000);
    yard.pass(61_000);
    lead(&mut yard, &mut drive, 20).unwrap();
    let decisions = yard.decisions();
    let assigned = decisions.iter().filter(|it| matches!(it.outcome, Outcome::Assign(_)));
    assert_eq!(assigned.count(), 2, "{decisions:#?}");
    check_words(&yard);
}

#[test]
fn judgements_beyond_a_cycles_budget_wait_in_their_order() {
    let mut yard = Yard::new();
    yard.build(4);
    let mut drive = begin(&yard, &[("judgements_per_cycle = 256", "judgements_per_cycle = 2")]);
    lead(&mut yard, &mut drive, 10).unwrap();
    let ask = |subject: &str, priority: i32, asked_at: i64| {
        yard.ask(&Task { priority, asked_at, ..task(subject, 2, yard.now) });
    };
    let now = yard.now;
    ask("1/1", 500, now);
    ask("2/1", 900, now);
    ask("3/1", 500, now - 5);
    ask("4/1", 700, now);
    ask("5/1", 500, now);
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    let order: Vec<&str> = decisions.iter().map(|decision| decision.subject.as_str()).collect();
    assert_eq!(order, ["2/1", "4/1", "3/1", "1/1", "5/1"]);
    let first = decisions[0].cycle;
    let cycles: Vec<u64> = decisions.iter().map(|decision| decision.cycle - first).collect();
    assert_eq!(cycles, [0, 0, 1, 1, 2]);
    check_words(&yard);
}

#[test]
fn woken_requests_share_the_budget_and_none_is_lost() {
    let mut yard = Yard::new();
    add_queue(&yard, "QUEUE_00", 2_000);
    let mut drive = begin(&yard, &[("judgements_per_cycle = 256", "judgements_per_cycle = 1")]);
    lead(&mut yard, &mut drive, 10).unwrap();
    for number in 0..4 {
        let subject = format!("{number}/1");
        yard.ask(&Task { priority: 500 + number, jobs: 2, ..hungry(&subject, yard.now) });
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions().len(), 4);
    yard.pass(61_000);
    add_queue(&yard, "QUEUE_BIG", 16_000);
    lead(&mut yard, &mut drive, 60).unwrap();
    let decisions = yard.decisions();
    let woken = decisions[4..].iter().map(|decision| decision.subject.as_str());
    assert_eq!(woken.collect::<Vec<_>>(), ["3/1", "2/1", "1/1", "0/1"]);
    check_words(&yard);
    // A rebuild wakes the same ones at the same cycles.
    let mut other = config("two");
    other.epoch_config =
        epoch_config_with(&[("judgements_per_cycle = 256", "judgements_per_cycle = 1")]);
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    follow_to_end(&mut again);
    assert_eq!(again.take_report().verified, [8, 0, 0]);
}

#[test]
fn the_decisions_of_a_cycle_are_bounded_by_their_bytes_and_none_is_lost() {
    const REQUESTS: usize = 60;
    let mut yard = Yard::new();
    for at in 0..500 {
        add_queue(&yard, &format!("QUEUE_WITH_A_LONG_NAME_{at:03}"), 2_000);
    }
    let changes = [("decision_mb_per_cycle = 32", "decision_mb_per_cycle = 1")];
    let mut drive = begin(&yard, &changes);
    lead(&mut yard, &mut drive, 10).unwrap();
    for number in 0..REQUESTS as i32 {
        let subject = format!("{number:02}/1");
        yard.ask(&Task { priority: 500 - number, jobs: 2, ..hungry(&subject, yard.now) });
    }
    lead(&mut yard, &mut drive, 20).unwrap();
    assert_eq!(yard.decisions().len(), REQUESTS);
    yard.pass(61_000);
    // One of them takes eleven requests.
    (0..6).for_each(|at| add_queue(&yard, &format!("QUEUE_BIG_{at}"), 16_000));
    lead(&mut yard, &mut drive, 60).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 2 * REQUESTS, "all wake");
    for (all, what) in [(&decisions[..REQUESTS], "new"), (&decisions[REQUESTS..], "woken")] {
        let mut subjects: Vec<&str> = all.iter().map(|it| it.subject.as_str()).collect();
        assert!(subjects.is_sorted(), "{what}: {subjects:?}");
        subjects.dedup();
        assert_eq!(subjects.len(), REQUESTS, "{what}");
        let mut cycles: Vec<u64> = all.iter().map(|it| it.cycle).collect();
        cycles.dedup();
        assert!((3..10).contains(&cycles.len()), "{what}: in cycles {cycles:?}");
    }
    let mut bytes: BTreeMap<u64, usize> = BTreeMap::new();
    for decision in &decisions {
        let mut record = Vec::new();
        record::write(&mut record, decision);
        *bytes.entry(decision.cycle).or_default() += record.len();
    }
    assert!(bytes.values().all(|bytes| *bytes <= (1 << 20) + 100_000), "{bytes:?}");
    check_words(&yard);
    let mut other = config("two");
    other.epoch_config = epoch_config_with(&changes);
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    follow_to_end(&mut again);
    assert_eq!(again.take_report().verified, [2 * REQUESTS as u64, 0, 0]);
}

#[test]
fn a_request_beyond_the_most_that_may_wait_is_rejected_by_name() {
    let mut yard = Yard::new();
    add_queue(&yard, "QUEUE_00", 2_000);
    let changes = [("open_requests_max = 200_000", "open_requests_max = 2")];
    let mut drive = begin(&yard, &changes);
    lead(&mut yard, &mut drive, 10).unwrap();
    for number in 0..3 {
        let priority = 500 - number;
        yard.ask(&Task { priority, ..hungry(&format!("{number}/1"), yard.now) });
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    let outcomes: Vec<&Outcome> = decisions.iter().map(|decision| &decision.outcome).collect();
    let Outcome::Reject { reason } = outcomes[2] else { panic!("{outcomes:?}") };
    assert_eq!(reason, "open_requests_max(2 requests are deferred)");
    assert!(outcomes[..2].iter().all(|outcome| !outcome.is_final()), "{outcomes:?}");
    // Those that are due make no room, and what can be assigned is.
    yard.pass(3_601_000);
    yard.ask(&Task { priority: 999, ..hungry("4/1", yard.now) });
    yard.ask(&task("5/1", 10, yard.now));
    lead(&mut yard, &mut drive, 30).unwrap();
    let last = |subject: &str| {
        let decisions = yard.decisions();
        decisions.into_iter().rfind(|it| it.subject == subject).unwrap().outcome
    };
    assert!(matches!(last("4/1"), Outcome::Reject { .. }));
    assert!(matches!(last("5/1"), Outcome::Assign(_)));
    // Those that are deferred are judged again, and with room a new one is too.
    yard.pass(61_000);
    add_queue(&yard, "QUEUE_BIG", 16_000);
    lead(&mut yard, &mut drive, 60).unwrap();
    yard.ask(&hungry("3/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let assigned = |decision: &&Decision| matches!(decision.outcome, Outcome::Assign(_));
    assert_eq!(yard.decisions().iter().filter(assigned).count(), 4);
    let mut other = config("two");
    other.epoch_config = epoch_config_with(&changes);
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    follow_to_end(&mut again);
    assert_eq!(again.take_report().verified, [yard.decisions().len() as u64, 0, 0]);
}

#[test]
fn a_request_rests_between_two_judgements() {
    let mut yard = Yard::new();
    add_queue(&yard, "QUEUE_00", 2_000);
    let mut drive = begin(&yard, &[]);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&hungry("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    add_queue(&yard, "QUEUE_BIG", 16_000);
    let asked = yard.decisions()[0].now;
    while yard.decisions().len() < 2 {
        yard.pass(300);
        lead(&mut yard, &mut drive, 1).unwrap();
        assert!(yard.now - asked < 70_000, "it does not wake");
    }
    let rested = yard.decisions()[1].now - asked;
    assert!((60_000..61_000).contains(&rested), "{rested}");
}

#[test]
fn a_request_wakes_when_a_figure_it_hung_on_grows_old() {
    let mut yard = Yard::new();
    // At SOUTH, by its name.
    add_queue(&yard, "QUEUE_01", 2_000);
    let link = Link {
        source: "SOUTH".into(),
        destination: "NORTH".into(),
        changed_at: yard.now,
        queued_known: true,
        queued: vec![LinkQueued { activity: "Production Output".into(), files: 10_001, bytes: 0 }],
        ..Link::default()
    };
    yard.configure(&link);
    let changes = [("link_sample_age_min = 60", "link_sample_age_min = 4")];
    let mut drive = begin(&yard, &changes);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&task("1/1", 10, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions()[0].fates[0].reason, "link_full");
    let mut looks = 0;
    while yard.decisions().len() < 2 {
        yard.pass(1_000);
        lead(&mut yard, &mut drive, 1).unwrap();
        looks += 1;
        assert!(looks < 300, "nothing wakes it");
    }
    let after = yard.decisions()[1].now - link.changed_at;
    assert!((240_000..242_000).contains(&after), "{after}");
    // A rebuild wakes it at the same cycle.
    let mut other = config("two");
    other.epoch_config = epoch_config_with(&changes);
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    follow_to_end(&mut again);
    assert_eq!(again.take_report().verified, [2, 0, 0]);
}

#[test]
fn a_slot_figure_that_expires_wakes_the_requests_that_depend_on_it() {
    let mut yard = Yard::new();
    add_queue(&yard, "QUEUE_00", 2_000);
    let slots = |yard: &Yard, gshare: &str, slots: i64, expires_at: i64| {
        let (queue, resource_type, at) = ("QUEUE_00", "", yard.now);
        let figure = Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at };
        yard.publish(Topic::Pilot, queue, |out| record::write(out, &figure));
    };
    // Few slots for the share for two minutes; what holds for every share then is more.
    let expires_at = yard.now + 120_000;
    slots(&yard, "MC 16 simul", 1, expires_at);
    slots(&yard, "", 100, 0);
    for number in 0..50 {
        let name = number.to_string();
        yard.job(&job(&name, "QUEUE_00", "", Status::Activated, yard.now));
    }
    let mut drive = begin(&yard, &[]);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&task("1/1", 10, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions()[0].fates[0].reason, "cap");
    let mut looks = 0;
    while yard.decisions().len() < 2 {
        yard.pass(1_000);
        lead(&mut yard, &mut drive, 1).unwrap();
        looks += 1;
        assert!(looks < 200, "nothing wakes it");
    }
    let after = yard.decisions()[1].now - expires_at;
    assert!((0..2_000).contains(&after), "{after}");
}

#[test]
fn a_policy_that_waits_for_the_timer_never_wakes_early() {
    let mut yard = Yard::new();
    add_queue(&yard, "QUEUE_00", 2_000);
    let kind = "kind = \"atlas-production-job\"";
    let timer = format!("{kind}\nwake = \"timer\"");
    let mut drive = begin(&yard, &[(kind, &timer)]);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&hungry("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let Outcome::Defer { until } = yard.decisions()[0].outcome else { panic!("not deferred") };
    add_queue(&yard, "QUEUE_BIG", 16_000);
    while yard.decisions().len() < 2 {
        yard.pass(20_000);
        lead(&mut yard, &mut drive, 1).unwrap();
        assert!(yard.now < until + 60_000, "it does not wake at all");
    }
    assert!(yard.decisions()[1].now >= until);
}

#[test]
fn a_flood_of_unreadable_records_is_published_in_bounded_transactions() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, &[("dead_letters_mb = 16", "dead_letters_mb = 1")]);
    lead(&mut yard, &mut drive, 10).unwrap();
    let lane = Lane::new(Topic::Task, 1);
    for _ in 0..60 {
        yard.paper.append(lane, None, Some(&[b'x'; 50_000]), &[], None);
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    let letters: Vec<_> =
        (0..2).flat_map(|at| yard.paper.records(Lane::new(Topic::DeadLetter, at))).collect();
    assert_eq!(letters.len(), 60);
    let bytes: usize = letters.iter().map(|letter| letter.value.as_ref().unwrap().len()).sum();
    assert!((1_000_000..=1 << 20).contains(&bytes), "{bytes}");
    let is_cut = |letter: &&yardmaster::sim::paper::Note| {
        letter.headers.iter().any(|(name, _)| name == "cut_to")
    };
    assert!(letters.iter().filter(is_cut).count() > 35);
    let garbled: usize = yard.progress().iter().map(|cycle| cycle.garbled.len()).sum();
    assert_eq!(garbled, 60);
}

/// The value of a header, as text.
fn header(letter: &Note, wanted: &str) -> Option<String> {
    let found = letter.headers.iter().find(|(name, _)| name == wanted);
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// A key of a megabyte, or a request with a name of half a megabyte: one record stops nothing, and
/// whatever is published about it fits.
#[test]
fn names_that_are_too_long_are_dead_letters_and_keys_are_cut() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, &[]);
    lead(&mut yard, &mut drive, 10).unwrap();
    let long = "k".repeat(1_010_000);
    yard.paper.append(Lane::new(Topic::Heartbeat, 0), Some(long.as_bytes()), Some(b"x"), &[], None);
    let name = "n".repeat(500_000);
    let good = task("1/1", 20, yard.now);
    yard.ask(&Task { subject: "2/1".into(), policy: name.clone(), ..good.clone() });
    yard.ask(&Task { subject: name.clone(), ..good.clone() });
    yard.ask(&Task { subject: "4/1".into(), user: "u".repeat(1_025), ..good.clone() });
    yard.ask(&good);
    lead(&mut yard, &mut drive, 10).unwrap();
    let letters: Vec<Note> =
        (0..2).flat_map(|at| yard.paper.records(Lane::new(Topic::DeadLetter, at))).collect();
    let oversized = |letter: &&Note| header(letter, "reason").as_deref() == Some("oversized");
    assert_eq!((letters.len(), letters.iter().filter(oversized).count()), (4, 3));
    let limits = &drive.state().setting.limits;
    for letter in &letters {
        assert!(letter.key.as_ref().unwrap().len() <= limits.name_bytes);
    }
    let cut = letters.iter().find(|it| header(it, "key_length").as_deref() == Some("1010000"));
    assert_eq!(header(cut.expect("one is cut"), "key_cut_to").as_deref(), Some("1024"));
    for lane in (0..2).map(|at| Lane::new(Topic::Decision, at)) {
        for note in yard.paper.records(lane) {
            let bytes = note.value.unwrap().len() + note.key.unwrap().len();
            assert!(bytes <= limits.max_output_bytes, "{bytes}");
        }
    }
    let answered: Vec<String> = yard.decisions().into_iter().map(|it| it.subject).collect();
    assert_eq!(answered, ["1/1"]);
    drive.finish(yard.now).unwrap();
    let known = digest(drive.state());
    let mut again =
        Drive::start(yard.log(), PaperStore::default(), crate::drive::yard::config("again"))
            .unwrap();
    for _ in 0..20 {
        again.pump(Duration::ZERO).unwrap();
        again.follow().unwrap();
    }
    assert_eq!(digest(again.state()), known, "a rebuild passes them over likewise");
}

/// An answer without a judgement is bounded like every other.
#[test]
fn a_rejection_and_its_notes_fit_into_what_may_be_published() {
    let mut yard = Yard::new();
    yard.build(2);
    let small = [("max_output_bytes = 900_000", "max_output_bytes = 16_384")];
    let mut drive = begin(&yard, &small);
    lead(&mut yard, &mut drive, 10).unwrap();
    let long = |letter: &str| letter.repeat(1_024);
    let good = task("1/1", 20, yard.now);
    yard.ask(&Task {
        subject: long("s"),
        task: long("t"),
        policy: "\u{1}".repeat(1_024),
        gshare: long("g"),
        nucleus: long("n"),
        ..good
    });
    lead(&mut yard, &mut drive, 10).unwrap();
    let records: Vec<Note> =
        (0..2).flat_map(|at| yard.paper.records(Lane::new(Topic::Decision, at))).collect();
    assert_eq!(records.len(), 1);
    let bytes = records[0].value.as_ref().unwrap().len() + records[0].key.as_ref().unwrap().len();
    assert!(bytes <= 16_384, "{bytes}");
    assert!(
        matches!(&yard.decisions()[0].outcome, Outcome::Reject { reason } if reason.starts_with("unknown_policy"))
    );
}
