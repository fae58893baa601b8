//! A month of requests of every kind, with restarts from stores of any age and topics that are
//! trimmed as the topology says.

use super::yard::*;
use std::collections::BTreeMap;
use yardmaster::core::event::{Task, TaskPhase};
use yardmaster::core::state::digest::records_digest;
use yardmaster::core::unit::{DAY, HOUR};
use yardmaster::drive::Drive;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::topology::Topology;

const DAYS: usize = 31;
/// Cycles are made for a moment only, so often a day.
const MOMENTS: i64 = 4;

/// Deletes what each topic keeps no longer.
fn trim(yard: &Yard, topology: &Topology) {
    for span in yard.paper.spans() {
        let Some(kept) = topology.topic(span.lane.topic).retention_ms else { continue };
        let notes = yard.paper.records(span.lane);
        let old = notes.iter().take_while(|note| note.appended_at + kept < yard.now);
        if let Some(last) = old.last() {
            yard.paper.forget(span.lane, last.offset + 1);
        }
    }
}

/// The requests that are asked on a day, by what becomes of them.
fn ask(yard: &Yard, day: usize, open: &mut Vec<Task>) {
    let now = yard.now;
    let name = |kind: &str| format!("{kind}{day}/1");
    let waits = |subject: &str| Task { core_count: Some(8), ..task(subject, 5, now) };
    yard.ask(&task(&name("1"), 5, now));
    yard.ask(&waits(&name("2")));
    let ended = waits(&name("3"));
    yard.ask(&ended);
    open.push(ended);
    yard.ask(&task(&name("4"), 5, [0, now / 1_000, now - 15 * DAY][day % 3]));
    let again = task(&name("5"), 5, now);
    yard.ask(&again);
    open.push(again);
    // Tasks of five days ago end; what was asked ten days ago is asked again with another priority.
    if let Some(before) = day.checked_sub(5) {
        let end = Task { phase: TaskPhase::Ended, ..task(&format!("3{before}"), 0, now) };
        yard.ask(&end);
    }
    for request in open.iter().filter(|it| now - it.changed_at > 10 * DAY) {
        yard.ask(&Task { priority: 900, changed_at: now, ..request.clone() });
    }
}

#[test]
fn in_a_month_every_request_gets_one_final_answer_from_whatever_store() {
    let topology = Topology::default_atlas();
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let begin = |yard: &Yard, store: &PaperStore, name: &str| -> Drive<PaperLog, PaperStore> {
        Drive::start(yard.log(), store.clone(), config(name)).unwrap()
    };
    let mut drive = begin(&yard, &store, "first");
    let (mut open, mut finals) = (Vec::new(), BTreeMap::new());
    let mut seen: BTreeMap<(String, u64), u32> = BTreeMap::new();
    for day in 0..DAYS + 15 {
        for moment in 0..MOMENTS {
            yard.pass(DAY / MOMENTS);
            if moment == 0 && day < DAYS {
                ask(&yard, day, &mut open);
            }
            lead(&mut yard, &mut drive, 8).unwrap();
        }
        for decision in yard.decisions() {
            let ordinal = seen.entry((decision.subject.clone(), decision.attempt)).or_default();
            if decision.ordinal <= *ordinal {
                continue;
            }
            assert_eq!(decision.ordinal, *ordinal + 1, "{}", decision.subject);
            *ordinal = decision.ordinal;
            if decision.outcome.is_final() {
                let first = finals.insert(decision.subject.clone(), decision.id);
                assert_eq!(first, None, "a second final answer to {}", decision.subject);
            }
        }
        trim(&yard, &topology);
        // A restart on most days: with the newest store, an older one, or none.
        let checkpoints = store.count();
        match day % 5 {
            0 => drive = begin(&yard, &store, &format!("whole {day}")),
            2 => drive = begin(&yard, &store.older(checkpoints * 9 / 10), &format!("old {day}")),
            3 => drive = begin(&yard, &PaperStore::default(), &format!("none {day}")),
            _ => {}
        }
    }
    let asked = DAYS * 5;
    let answered = finals.keys().filter(|subject| subject.contains('/')).count();
    assert_eq!(answered, asked, "{:?}", seen.keys().map(|it| &it.0).collect::<Vec<_>>());
    // What is left is what was kept of the answers, and the same without a store.
    yard.pass(15 * DAY + HOUR);
    lead(&mut yard, &mut drive, 20).unwrap();
    assert!(drive.state().requests.is_empty(), "{:?}", drive.state().requests.by_name.keys());
    drive.finish(yard.now).unwrap();
    let mut again = begin(&yard, &PaperStore::default(), "again");
    for _ in 0..100 {
        again.pump(std::time::Duration::ZERO).unwrap();
        again.follow().unwrap();
    }
    assert_eq!(records_digest(again.state()), records_digest(drive.state()));
    // And nothing of it is kept for ever.
    let lifetime = drive.state().setting.limits.answer_lifetime_ms / DAY;
    for _ in 0..=lifetime {
        yard.pass(DAY);
        lead(&mut yard, &mut again, 8).unwrap();
        trim(&yard, &topology);
    }
    assert!(again.state().answered.table.is_empty(), "{}", again.state().answered.table.len());
}
