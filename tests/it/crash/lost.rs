//! A log that does not reach back: begun at a full cut, compacted, or without any cycle left.

use super::check::*;
use super::play::*;
use crate::drive::yard::{Yard, config_with, epoch_config_with, lead, queue, task};
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Queue, Task};
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

const PROGRESS: Lane = Lane::new(Topic::Progress, 0);

fn played() -> Yard {
    let mut play = Play::new(Vec::new(), Left::All, false);
    play.run();
    play.yard
}

fn start(yard: &Yard, name: &str, store: &PaperStore) -> Drive<PaperLog, PaperStore> {
    Drive::start(yard.log(), store.clone(), config(name)).unwrap()
}

/// Follows to the end, takes the lead, and leads for some seconds.
fn lead_on(yard: &mut Yard, drive: &mut Drive<PaperLog, PaperStore>) {
    follow_to_end(drive);
    drive.take_lead(yard.now).unwrap();
    for _ in 0..40 {
        yard.pass(200);
        drive.pump(Duration::ZERO).unwrap();
        drive.lead(yard.now).unwrap();
    }
}

/// Forgets progress up to the last full cut, but for the farewell, and gives that cut's number.
fn forget_beginning(yard: &Yard) -> u64 {
    let cycles = yard.progress();
    let full = cycles.iter().rposition(|cycle| cycle.full).unwrap();
    assert!(full > 5 && full < cycles.len() - 1, "{full} of {}", cycles.len());
    yard.paper.forget(PROGRESS, yard.paper.records(PROGRESS)[full - 1].offset);
    cycles[full].number
}

#[test]
fn a_rebuild_begins_at_the_first_full_cut_that_is_left() {
    let mut yard = played();
    let first = forget_beginning(&yard);
    // The answers to one request are lost with the past; all others are known.
    for lane in [0, 1].map(|partition| Lane::new(Topic::Decision, partition)) {
        for note in yard.paper.records(lane) {
            if note.key.as_deref() == Some(b"3/1") {
                yard.paper.remove(lane, note.offset);
            }
        }
    }
    let answers = yard.decisions();
    let store = PaperStore::default();
    let mut drive = start(&yard, "late", &store);
    follow_to_end(&mut drive);
    let since = yard.progress().iter().find(|cycle| cycle.number == first).unwrap().now;
    assert_eq!(drive.state().known_since, since);
    assert_eq!(audit(drive.state()), vec![]);
    // A reservation of long ago does not count again, one of a moment ago does.
    let reserved = |subject: &str| drive.state().requests.of(subject).unwrap().reservations.len();
    assert_eq!((reserved("2/1"), reserved("6/1")), (0, 1));
    lead_on(&mut yard, &mut drive);
    // Only what is not known to be answered is answered, and not judged.
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), answers.len() + 1);
    let last = decisions.last().unwrap();
    assert_eq!(last.subject, "3/1");
    assert_eq!(last.outcome, Outcome::Reject { reason: "history_missing".into() });
    // A new one is judged as ever.
    yard.ask(&task("9/1", 10, yard.now));
    lead_until_answered(&mut yard, &mut drive);
    assert!(matches!(yard.decisions().last().unwrap().outcome, Outcome::Assign(_)));
    drive.finish(yard.now).unwrap();
    // A process that begins at the same cut comes to the same.
    let reached = Reached { number: drive.state().number, digest: digest(drive.state()) };
    let report = rebuild_part(yard.log(), PaperStore::default(), &reached);
    assert!(report.verified[2] > 0, "3/1 would have been answered earlier");
    for count in 0..=store.count() {
        rebuild_part(yard.log(), store.older(count), &reached);
    }
}

fn lead_until_answered(yard: &mut Yard, drive: &mut Drive<PaperLog, PaperStore>) {
    for _ in 0..20 {
        yard.pass(200);
        drive.pump(Duration::ZERO).unwrap();
        drive.lead(yard.now).unwrap();
    }
}

#[test]
fn decisions_that_arrive_late_are_known_before_the_first_cycle_counts() {
    let mut yard = played();
    forget_beginning(&yard);
    let answers = yard.decisions().len();
    // The decision lanes bring nothing at first.
    let lanes = [0, 1].map(|partition| Lane::new(Topic::Decision, partition));
    lanes.iter().for_each(|lane| yard.paper.set_unreadable(*lane, true));
    let mut drive = start(&yard, "late", &PaperStore::default());
    follow_to_end(&mut drive);
    assert_eq!(drive.state().number, 0);
    lanes.iter().for_each(|lane| yard.paper.set_unreadable(*lane, false));
    lead_on(&mut yard, &mut drive);
    assert_eq!(yard.decisions().len(), answers, "something was answered again");
}

#[test]
fn a_log_without_a_full_cut_is_gone_on_with() {
    // Only a cycle without a full cut is left, and no cycle at all.
    for left in [1, 0] {
        let mut yard = played();
        let (answers, cycles) = (yard.decisions(), yard.progress());
        let end = yard.paper.records(PROGRESS)[cycles.len() - 1].offset + 1;
        yard.paper.forget(PROGRESS, end - left);
        let store = PaperStore::default();
        let mut drive = start(&yard, "late", &store);
        lead_on(&mut yard, &mut drive);
        assert_eq!(yard.decisions(), answers, "something was answered again");
        let opened = yard.progress()[left as usize].clone();
        let last =
            if left == 1 { cycles.last().unwrap().number } else { answers.last().unwrap().cycle };
        assert_eq!((opened.number, opened.full), (last + 1, true));
        let now = if left == 1 { cycles.last().unwrap().now } else { answers.last().unwrap().now };
        assert_eq!(opened.now, now, "opening an epoch leaves now as it was");
        assert_eq!(drive.state().known_since, now);
        yard.ask(&task("9/1", 10, yard.now));
        lead_until_answered(&mut yard, &mut drive);
        assert_eq!(yard.decisions().len(), answers.len() + 1);
        drive.finish(yard.now).unwrap();
        assert_eq!(audit(drive.state()), vec![]);
        let reached = Reached { number: drive.state().number, digest: digest(drive.state()) };
        rebuild(yard.log(), PaperStore::default(), &reached);
        for count in 0..=store.count() {
            rebuild(yard.log(), store.older(count), &reached);
        }
    }
}

/// Takes away every record of compacted topics that a newer one of its key follows below `until`.
fn compact(yard: &Yard, until: i64) -> usize {
    let mut gone = 0;
    let topics = [Topic::JobState, Topic::Transfer, Topic::Queue, Topic::Storage];
    for lane in yard.paper.spans().into_iter().map(|span| span.lane) {
        if !topics.contains(&lane.topic) {
            continue;
        }
        let mut newest: BTreeMap<Option<Vec<u8>>, u64> = BTreeMap::new();
        let notes = yard.paper.records(lane);
        for note in notes.iter().filter(|note| note.appended_at < until) {
            if let Some(before) = newest.insert(note.key.clone(), note.offset) {
                yard.paper.remove(lane, before);
                gone += 1;
            }
        }
    }
    gone
}

#[test]
fn compacted_inputs_give_the_right_state() {
    let mut play = Play::new(Vec::new(), Left::All, false);
    let reached = play.run();
    let yard = play.yard;
    // What happened before the long steps.
    let until = crate::drive::yard::T0 + 80_000;
    assert!(compact(&yard, until) > 5);
    let mut config = config("a reader");
    config.verify = true;
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    follow_to_end(&mut drive);
    assert_eq!(audit(drive.state()), vec![]);
    assert_eq!(digest(drive.state()), reached.digest);
}

/// A deferral, its reason compacted away since, and what making it again then finds.
fn verify_compacted(compact_after: &str) -> [u64; 3] {
    let config = |name: &str, verify: bool| {
        let changes = [("compact_after_hours = 336", compact_after)];
        Config { verify, keeps: false, ..config_with(name, epoch_config_with(&changes)) }
    };
    let mut yard = Yard::new();
    let publish_queue = |yard: &Yard, max_rss_mb: u32| {
        let queue = Queue { max_rss_mb, ..queue("QUEUE_00", yard.now) };
        yard.configure(&queue);
        yard.pilot("QUEUE_00", "node1");
    };
    publish_queue(&yard, 2_000);
    let log = yard.log();
    let mut drive = Drive::start(log, PaperStore::default(), config("one", false)).unwrap();
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&Task { ram_count_mb: Some(8_000), ..task("1/1", 10, yard.now) });
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.pass(7_200_000);
    publish_queue(&yard, 16_000);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions().len(), 2);
    let outcomes = yard.decisions().into_iter().map(|decision| decision.outcome.is_final());
    assert_eq!(outcomes.collect::<Vec<_>>(), [false, true]);
    assert_eq!(compact(&yard, yard.now + 1), 1);
    let log = yard.log();
    let mut again = Drive::start(log, PaperStore::default(), config("two", true)).unwrap();
    follow_to_end(&mut again);
    assert_eq!(digest(again.state()), digest(drive.state()));
    again.take_report().verified
}

#[test]
fn what_compaction_took_is_not_called_wrong_nor_right() {
    assert_eq!(verify_compacted("compact_after_hours = 1"), [1, 0, 1]);
    // A record that compaction could not have touched yet.
    assert_eq!(verify_compacted("compact_after_hours = 336"), [1, 1, 0]);
}
