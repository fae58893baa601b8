//! Defects that must be found: an altered decision, a lost record, a lost decision, a flipped
//! counter, a damaged record.

use super::check::*;
use super::play::*;
use crate::drive::yard::{Yard, task};
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::port::{Checkpoint, Store};
use yardmaster::drive::{Drive, Halt};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

fn played() -> (Yard, Reached) {
    let mut play = Play::new(Vec::new(), Left::All, false);
    let reached = play.run();
    (play.yard, reached)
}

/// Result of making every decision of a log again: same, different, not verifiable; and where it
/// ends.
fn verify(yard: &Yard) -> Result<([u64; 3], Vec<String>, Reached), Halt> {
    let mut config = config("a reader");
    config.verify = true;
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config)?;
    for _ in 0..80 {
        drive.pump(Duration::ZERO)?;
        drive.follow()?;
    }
    let report = drive.take_report();
    assert_eq!(audit(drive.state()), vec![]);
    let reached = Reached { number: drive.state().number, digest: digest(drive.state()) };
    Ok((report.verified, report.differences, reached))
}

fn lanes(yard: &Yard, own: bool) -> Vec<Lane> {
    let lanes = yard.paper.spans().into_iter().map(|span| span.lane);
    lanes.filter(|lane| lane.topic.is_own() == own).collect()
}

#[test]
fn one_altered_decision_is_found() {
    let (yard, _) = played();
    let decisions = yard.decisions();
    for decision in &decisions {
        let fork = Yard { paper: yard.paper.fork(), now: yard.now };
        let mut altered = decision.clone();
        match &mut altered.outcome {
            Outcome::Assign(ranked) => ranked[0].jobs += 1,
            Outcome::Defer { until } => *until += 1,
            Outcome::Reject { reason } => reason.push('!'),
        }
        let mut value = Vec::new();
        record::write(&mut value, decision);
        let find = |lane: &Lane| {
            let records = yard.paper.records(*lane);
            let found = records.iter().find(|note| note.value.as_ref() == Some(&value));
            found.map(|note| (*lane, note.offset))
        };
        let (lane, offset) = lanes(&yard, true).iter().find_map(find).unwrap();
        let mut value = Vec::new();
        record::write(&mut value, &altered);
        fork.paper.rewrite(lane, offset, Some(value));
        let (verified, differences, _) = verify(&fork).unwrap();
        assert!(verified[1] >= 1 && verified[2] == 0, "{verified:?}");
        assert!(differences[0].contains(&altered.subject), "{differences:?}");
    }
}

#[test]
fn one_altered_throttle_is_found() {
    let (yard, _) = played();
    let throttles = yard.throttles();
    assert!(throttles.len() > 2, "{throttles:#?}");
    for (at, throttle) in throttles.iter().enumerate() {
        let fork = Yard { paper: yard.paper.fork(), now: yard.now };
        let mut altered = throttle.clone();
        match at % 3 {
            0 => altered.measured += 1.0,
            1 => altered.limit += 1.0,
            _ => altered.policy_hash.push('!'),
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        record::write(&mut old, throttle);
        record::write(&mut new, &altered);
        let find = |lane: &Lane| {
            let records = yard.paper.records(*lane);
            let found = records.iter().find(|note| note.value.as_ref() == Some(&old));
            found.map(|note| (*lane, note.offset))
        };
        let (lane, offset) = lanes(&yard, true).iter().find_map(find).unwrap();
        fork.paper.rewrite(lane, offset, Some(new));
        let (verified, differences, _) = verify(&fork).unwrap();
        assert!(verified[1] >= 1 && verified[2] == 0, "{verified:?}");
        assert!(differences[0].contains(&altered.name()), "{differences:?}");
    }
}

#[test]
fn one_lost_output_is_found() {
    let (yard, _) = played();
    for lane in lanes(&yard, true).into_iter().filter(|lane| lane.topic.is_folded_output()) {
        for note in yard.paper.records(lane) {
            let fork = Yard { paper: yard.paper.fork(), now: yard.now };
            fork.paper.remove(lane, note.offset);
            let Err(halt) = verify(&fork) else { panic!("{lane} {} is not missed", note.offset) };
            assert!(halt.to_string().contains("decisions, throttles and commands, "), "{halt}");
        }
    }
}

#[test]
fn what_was_unreadable_stays_so() {
    let (yard, reached) = played();
    let mut readable = Vec::new();
    let known = task("8/1", 20, yard.now);
    yardmaster::wire::record::write(&mut readable, &known);
    let lane = Lane::new(Topic::Task, 0);
    let notes = yard.paper.records(lane);
    let garbage = Some(&b"nobody reads this"[..]);
    let note = notes.iter().find(|note| note.value.as_deref() == garbage).unwrap();
    // As if this version could read what the one that led could not.
    yard.paper.rewrite(lane, note.offset, Some(readable));
    let (verified, differences, other) = verify(&yard).unwrap();
    assert_eq!((verified[1], verified[2]), (0, 0), "{differences:?}");
    assert_eq!(other, reached);
    // It lies among the dead letters, with the place it came from.
    let letters = lanes(&yard, true).into_iter().filter(|lane| lane.topic == Topic::DeadLetter);
    let letters: Vec<_> = letters.flat_map(|lane| yard.paper.records(lane)).collect();
    assert_eq!(letters.len(), 2);
    let of = |name: &str| {
        let letter = letters.iter().find(|letter| letter.value.as_deref() == note.value.as_deref());
        let headers = &letter.unwrap().headers;
        let found = headers.iter().find(|(header, _)| header == name).unwrap();
        String::from_utf8(found.1.clone()).unwrap()
    };
    let offset = note.offset.to_string();
    assert_eq!([of("topic"), of("partition"), of("offset")], ["task", "0", &offset]);
    assert_eq!([of("reason"), of("length")], ["framing", "17"]);
}

#[test]
fn one_lost_input_is_found_unless_nothing_hung_on_it() {
    let (yard, reached) = played();
    let (mut found, mut differs, mut nothing) = (0, 0, Vec::new());
    for lane in lanes(&yard, false) {
        for note in yard.paper.records(lane) {
            let fork = Yard { paper: yard.paper.fork(), now: yard.now };
            fork.paper.remove(lane, note.offset);
            let (verified, _, other) = verify(&fork).unwrap();
            assert_eq!(verified[2], 0);
            match (verified[1] > 0, other != reached) {
                (true, _) => found += 1,
                (false, true) => differs += 1,
                (false, false) => nothing.push((lane, note.offset)),
            }
        }
    }
    assert!(found > 5 && differs > 20, "{found} {differs} {nothing:?}");
    // What has no effect: what nobody can read, what was superseded, published twice or unknown.
    let quiet = |lane: &Lane| {
        matches!(
            lane.topic,
            Topic::JobState | Topic::Task | Topic::Pilot | Topic::Outcome | Topic::Heartbeat
        )
    };
    assert!(nothing.iter().all(|(lane, _)| quiet(lane)), "{nothing:?}");
}

/// A store with one checkpoint in it, of everything, as an orderly stop leaves it.
fn kept(yard: &Yard) -> Checkpoint {
    let store = PaperStore::default();
    let mut drive = Drive::start(yard.log(), store.clone(), config("a standby")).unwrap();
    // Nothing is copied before all is followed: one checkpoint holds everything.
    drive.pump(Duration::ZERO).unwrap();
    follow_to_end(&mut drive);
    drive.finish(yard.now).unwrap();
    let mut all = Drive::start(yard.log(), PaperStore::default(), config("another")).unwrap();
    follow_to_end(&mut all);
    let checkpoints = store.checkpoints();
    let last = checkpoints.last().unwrap();
    assert!(last.counters.is_some());
    // Bases of all pages, put together over all checkpoints, and the newest deltas.
    let kept = store.clone().load().unwrap().unwrap();
    Checkpoint {
        head: kept.head,
        deltas: kept.deltas.into_iter().map(|(_, chunk)| chunk).collect(),
        bases: kept.bases,
        useful: 0,
        counters: Some(kept.counters),
        fresh: true,
    }
}

fn load(yard: &Yard, checkpoint: Checkpoint, reached: &Reached) -> Vec<String> {
    let mut store = PaperStore::default();
    store.keep(checkpoint).unwrap();
    let mut drive = Drive::start(yard.log(), store, config("a reader")).unwrap();
    let notices = drive.take_report().notices;
    follow_to_end(&mut drive);
    assert_eq!(digest(drive.state()), reached.digest, "{notices:?}");
    notices
}

#[test]
fn one_flipped_counter_in_the_store_is_found() {
    let (yard, reached) = played();
    let good = kept(&yard);
    assert_eq!(load(&yard, good.clone(), &reached), Vec::<String>::new());
    let count = good.counters.as_ref().unwrap().len();
    assert!(count > 15, "{count}");
    let mut found = 0;
    for at in 0..count {
        let mut bad = good.clone();
        let (key, value) = &mut bad.counters.as_mut().unwrap()[at];
        if key == b"cycle" {
            continue;
        }
        let Some(digit) = value.iter().rposition(u8::is_ascii_digit) else { continue };
        value[digit] = if value[digit] == b'9' { b'8' } else { value[digit] + 1 };
        let notices = load(&yard, bad, &reached);
        let key = String::from_utf8_lossy(&good.counters.as_ref().unwrap()[at].0).into_owned();
        assert!(notices.len() == 1 && notices[0].contains(&key), "{notices:?}");
        assert!(notices[0].contains("it is rebuilt from the log"));
        found += 1;
    }
    assert!(found > 15, "{found}");
    let mut bad = good;
    bad.counters.as_mut().unwrap().remove(3);
    assert_eq!(load(&yard, bad, &reached).len(), 1, "one counter is missing");
}

#[test]
fn one_damaged_record_in_the_store_is_found() {
    let (yard, reached) = played();
    let good = kept(&yard);
    // A queue's name in the records of jobs: another name as long.
    let mut bad = good.clone();
    let mut changed = 0;
    let chunks = bad.deltas.iter_mut().chain(bad.bases.iter_mut().map(|(_, bytes)| bytes));
    for chunk in chunks.filter(|chunk| chunk[0] == 1) {
        while let Some(at) = chunk.windows(8).position(|name| name == b"QUEUE_00") {
            chunk[at + 7] = b'1';
            changed += 1;
        }
    }
    assert!(changed > 0);
    let notices = load(&yard, bad, &reached);
    assert!(notices.len() == 1 && notices[0].contains("is not what its records"), "{notices:?}");
    // Cells that are cut off.
    let mut bad = good;
    let chunk = &mut bad.bases[0].1;
    chunk.truncate(chunk.len() - 1);
    let notices = load(&yard, bad, &reached);
    assert!(notices.len() == 1 && notices[0].contains("cannot be read"), "{notices:?}");
}

/// A leader for some cycles, with a store.
fn leader(yard: &mut Yard, name: &str, store: &PaperStore) -> Reached {
    let mut drive = Drive::start(yard.log(), store.clone(), config(name)).unwrap();
    for _ in 0..10 {
        yard.pass(300);
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().unwrap();
        if drive.leads() {
            drive.lead(yard.now).unwrap();
        } else if drive.may_lead(yard.now, 0, 0) {
            drive.take_lead(yard.now).unwrap();
        }
    }
    drive.finish(yard.now).unwrap();
    Reached { number: drive.state().number, digest: digest(drive.state()) }
}

#[test]
fn a_store_of_another_log_is_refused() {
    let mut yard = Yard::new();
    yard.build(2);
    leader(&mut yard, "one", &PaperStore::default());
    // Two futures of one past: as many cycles, other epochs.
    let mut fork = Yard { paper: yard.paper.fork(), now: yard.now };
    let foreign = PaperStore::default();
    leader(&mut fork, "two", &foreign);
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("none")).unwrap();
    follow_to_end(&mut drive);
    drive.take_lead(yard.now).unwrap();
    let reached = leader(&mut yard, "three", &PaperStore::default());
    let load = |store: PaperStore, yard: &Yard| {
        let mut drive = Drive::start(yard.log(), store, config("a reader")).unwrap();
        let notices = drive.take_report().notices;
        follow_to_end(&mut drive);
        (notices, Reached { number: drive.state().number, digest: digest(drive.state()) })
    };
    let (notices, rebuilt) = load(foreign, &yard);
    assert!(notices.len() == 1 && notices[0].contains("not in progress"), "{notices:?}");
    assert_eq!(rebuilt, reached);
    // One that has read further than there is.
    let (played, _) = played();
    let mut further = PaperStore::default();
    further.keep(kept(&played)).unwrap();
    let (notices, rebuilt) = load(further, &yard);
    assert!(notices.len() == 1 && notices[0].contains("of another log"), "{notices:?}");
    assert_eq!(rebuilt, reached);
}

/// Where the ids of the topics show that it is the same log, what it lost is not made again.
#[test]
fn a_store_that_its_own_log_no_longer_reaches_stops_the_process() {
    let mut yard = Yard::new();
    yard.build(2);
    yard.paper.set_topic_ids(Some("first"));
    let store = PaperStore::default();
    leader(&mut yard, "one", &store);
    let start = |yard: &Yard| {
        let started = Drive::start(yard.log(), store.clone(), config("one"));
        started.map(|mut drive| drive.take_report().notices).map_err(|halt| halt.to_string())
    };
    let is_refused = |yard: &Yard, part: &str| {
        let why = start(yard).unwrap_err();
        let parts = [part, "an unclean election of a leader", "new names in the topology"];
        assert!(parts.iter().all(|part| why.contains(part)), "{why}");
        // What tells it from another log is the id alone.
        for other in [true, false] {
            let fork = Yard { paper: yard.paper.fork(), now: yard.now };
            fork.paper.set_topic_ids(other.then_some("second"));
            let notices = start(&fork).unwrap();
            assert!(notices[0].contains("it is rebuilt from the log"), "{notices:?}");
        }
    };
    assert_eq!(start(&yard), Ok(vec![]));
    let progress = Lane::new(Topic::Progress, 0);
    let spans = yard.paper.spans();
    for span in spans.iter().filter(|span| span.end > 2) {
        let mut fork = Yard { paper: yard.paper.fork(), now: yard.now };
        if span.lane == progress {
            // Its last entry ends a transaction.
            fork.paper.cut_off(progress, span.end - 1);
            assert_eq!(start(&fork), Ok(vec![]));
            fork.paper.cut_off(progress, span.end - 2);
            is_refused(&fork, "progress[0] has lost cycle");
            // Behind an open transaction the cycle may stand.
            let hidden = Yard { paper: fork.paper.fork(), now: fork.now };
            hidden.paper.open(progress, b"a foreign record");
            assert!(start(&hidden).unwrap()[0].contains("not in progress"));
            leader(&mut fork, "two", &PaperStore::default());
            is_refused(&fork, "progress[0] has lost cycle");
            fork.paper.cut_off(progress, 0);
            is_refused(&fork, "progress[0]");
            // It is none that single records were taken from, and that goes on behind them.
            let mut fork = Yard { paper: yard.paper.fork(), now: yard.now };
            leader(&mut fork, "two", &PaperStore::default());
            (0..span.end).for_each(|offset| fork.paper.remove(progress, offset));
            assert!(start(&fork).unwrap()[0].contains("not in progress"));
        } else if !span.lane.topic.is_own() {
            fork.paper.cut_off(span.lane, span.end - 1);
            is_refused(&fork, "it lost its end");
        }
        // What retention took at the beginning is no loss.
        let fork = Yard { paper: yard.paper.fork(), now: yard.now };
        fork.paper.forget(span.lane, span.end);
        assert!(start(&fork).is_ok(), "{}", span.lane);
    }
}
