//! Numbers that the registry does not know, many of them, and a registry that is down while a
//! process starts.

use super::*;
use crate::drive::yard::{lead, task};
use ::yardmaster::core::state::digest::digest;
use ::yardmaster::sim::paper::store::PaperStore;

fn begin(
    yard: &Yard,
    topology: &Topology,
    store: PaperStore,
    instance: &str,
) -> Drive<Framed, PaperStore> {
    let url = &topology.registry.as_ref().unwrap().urls[0];
    Drive::start(framed(yard, topology), store, config_of(instance, url)).unwrap()
}

fn decided(yard: &Yard) -> usize {
    let lanes = (0..2).map(|partition| Lane::new(Topic::Decision, partition));
    lanes.map(|lane| yard.paper.records(lane).len()).sum()
}

fn asked(registry: &Registry, from: usize) -> Vec<String> {
    let books = registry.books();
    books.asked[from..].iter().filter(|it| it.contains("/schemas/ids/")).cloned().collect()
}

#[test]
fn a_thousand_records_of_random_numbers_are_asked_for_side_by_side_and_doubted_within_bounds() {
    let registry = registry();
    let (theirs, topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, &topology, PaperStore::default(), "one");
    lead_until(&mut yard, &mut drive, |_, drive| drive.has_published());
    let from = registry.books().asked.len();
    registry.books().side_by_side = 8;
    for number in 1..=1_000_u32 {
        let id = 1_000 + number.wrapping_mul(2_654_435_761) % 2_000_000_000;
        append(&yard, Topic::Heartbeat, "7", &beat(id, "7"));
    }
    append(&yard, Topic::Heartbeat, "8", &beat(theirs, "8"));
    lead_until(&mut yard, &mut drive, |_, drive| drive.state().stubs.len() == 1);
    lead_until(&mut yard, &mut drive, |yard, _| dead_letters(yard).len() == 1_000);
    // Each once, and a bounded number of them three times.
    let asked = asked(&registry, from).len();
    assert!((1_000..=1_001 + 2 * 64).contains(&asked), "{asked} questions");
    assert_eq!(registry.books().side_by_side, 0, "eight questions were open at once");
}

#[test]
fn a_number_that_no_registry_gives_is_a_dead_letter_and_its_lane_goes_on() {
    let registry = registry();
    let (theirs, topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, &topology, PaperStore::default(), "one");
    lead_until(&mut yard, &mut drive, |_, drive| drive.has_published());
    registry.books().has_no_codes = true;
    let from = registry.books().asked.len();
    for id in [1 << 31, u32::MAX, 999] {
        append(&yard, Topic::Heartbeat, "7", &beat(id, "7"));
    }
    append(&yard, Topic::Heartbeat, "8", &beat(theirs, "8"));
    lead_until(&mut yard, &mut drive, |_, drive| drive.state().stubs.len() == 1);
    lead_until(&mut yard, &mut drive, |yard, _| dead_letters(yard).len() == 3);
    let asked = asked(&registry, from);
    let is_one = |it: &String| it.ends_with("/999") || it.ends_with(&format!("/{theirs}"));
    assert!(asked.iter().all(is_one), "{asked:?}");
}

/// Leads for some rounds, with time for the registry's threads.
fn lead_on(yard: &mut Yard, drive: &mut Drive<Framed, PaperStore>) {
    for _ in 0..30 {
        lead(yard, drive, 3).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_start_while_the_registry_is_down_answers_once_the_lane_counts_as_unreadable() {
    let registry = registry();
    let (theirs, mut topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    topology.limits.lane_unreadable_ms = 100;
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, &topology, PaperStore::default(), "one");
    lead_until(&mut yard, &mut drive, |_, drive| drive.has_published());
    drive.finish(yard.now).unwrap();
    let (_, store) = drive.into_ports();
    registry.books().is_down = true;
    append(&yard, Topic::Heartbeat, "7", &beat(theirs, "7"));
    yard.ask(&task("1/1", 10, yard.now));
    let mut drive = begin(&yard, &topology, store, "two");
    lead_until(&mut yard, &mut drive, |yard, _| decided(yard) == 1);
    assert!(drive.log().waiting_for_registry().is_some() && dead_letters(&yard).is_empty());
    let notes: Vec<String> =
        drive.take_report().decisions().flat_map(|it| it.notes.clone()).collect();
    assert!(notes.iter().any(|it| it.starts_with("input_stale(heartbeat")), "{notes:?}");
    drive.finish(yard.now).unwrap();
    let (_, store) = drive.into_ports();
    // Requests are never passed over: one may be the newest word on another.
    append(&yard, Topic::Task, "x", &beat(theirs + 100, "x"));
    yard.ask(&task("1/2", 10, yard.now));
    let mut drive = begin(&yard, &topology, store, "three");
    lead_until(&mut yard, &mut drive, |_, drive| {
        drive.stuck_lanes().any(|(lane, flags)| lane.topic == Topic::Task && flags.unreadable)
    });
    lead_on(&mut yard, &mut drive);
    assert_eq!(decided(&yard), 1);
    registry.books().is_down = false;
    lead_until(&mut yard, &mut drive, |yard, _| {
        decided(yard) == 2 && dead_letters(yard).len() == 1
    });
}

#[test]
fn what_progress_names_as_unreadable_is_counted_again_without_a_registry() {
    let registry = registry();
    let topology = topology(&[&registry.url]);
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = begin(&yard, &topology, PaperStore::default(), "one");
    lead_until(&mut yard, &mut drive, |_, drive| drive.has_published());
    drive.finish(yard.now).unwrap();
    let (_, store) = drive.into_ports();
    let mut drive = begin(&yard, &topology, PaperStore::default(), "two");
    for id in [999, 1_000] {
        append(&yard, Topic::Heartbeat, "7", &beat(id, "7"));
    }
    lead_until(&mut yard, &mut drive, |yard, _| dead_letters(yard).len() == 2);
    drive.finish(yard.now).unwrap();
    let reached = digest(drive.state());
    drop(drive);
    registry.books().is_down = true;
    let mut drive = begin(&yard, &topology, store, "three");
    let began = Instant::now();
    while digest(drive.state()) != reached {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            drive.log().waiting_for_registry()
        );
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().unwrap();
    }
    assert_eq!(drive.log().waiting_for_registry(), None);
}
