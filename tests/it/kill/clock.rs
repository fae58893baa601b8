//! A log with a `now` that a year has to pass for, and its repair.

use super::bus::{Bus, text};
use super::process::{Process, wait_until};
use super::witness::glance;
use super::{SECOND, ask, hasty, settle_accounts, wait_for_lead};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::cut::Topic;
use yardmaster::core::output::progress::Progress;
use yardmaster::core::unit::DAY;
use yardmaster::wire::avro::Codec;
use yardmaster::wire::record;

fn cycles(bus: &Bus) -> Vec<Progress> {
    let codec = Codec::new(usize::MAX);
    let records = glance(&bus.bootstrap, &bus.topic(Topic::Progress));
    let read = |(_, value): &(Vec<u8>, Vec<u8>)| codec.read_record::<Progress>(value).unwrap();
    let mut cycles: Vec<Progress> = records.iter().map(read).collect();
    cycles.sort_by_key(|cycle| cycle.number);
    cycles
}

/// An epoch as an older version published it whose clock jumped a year ahead.
fn publish_ahead(bus: &Bus) -> u64 {
    let cycles = cycles(bus);
    let last = cycles.last().unwrap();
    let full = cycles.iter().rev().find(|cycle| cycle.policies.is_some()).unwrap();
    let mut lanes: BTreeMap<_, _> = full.lanes.iter().copied().collect();
    let later = cycles.iter().filter(|cycle| cycle.number > full.number);
    lanes.extend(later.flat_map(|cycle| cycle.lanes.iter().copied()));
    for number in 1..=4 {
        let cycle = Progress {
            epoch: last.epoch + 1,
            number: last.number + number,
            now: if number == 1 { last.now } else { last.now + 366 * DAY },
            instance: "an older version".to_owned(),
            lanes: lanes.iter().map(|(lane, next)| (*lane, *next)).collect(),
            full: true,
            policies: full.policies.clone().filter(|_| number == 1),
            quiet: true,
            farewell: false,
            outputs: Vec::new(),
            output_hashes: Vec::new(),
            garbled: Vec::new(),
            ..last.clone()
        };
        let mut value = Vec::new();
        record::write(&mut value, &cycle);
        bus.write(Topic::Progress, &bus.domain, Some(&value));
    }
    bus.flush();
    last.number + 2
}

#[test]
fn a_log_that_is_a_year_ahead_is_repaired_and_everybody_goes_on() {
    let Some(bus) = Bus::real(hasty) else { return };
    bus.queue("QUEUE_00", 1, 10);
    let (store, other) = (bus.path("store"), bus.path("other"));
    let mut subjects = BTreeSet::new();
    let mut one = [Process::start(&bus.bootstrap, &bus.topology, &store)];
    wait_for_lead(&one[0], 60 * SECOND);
    ask(&bus, &mut subjects, &mut one);
    assert!(bus.verb("repair", 0, &["clock"]).contains("nothing to repair"));
    let [first] = one;
    first.kill();
    let from = publish_ahead(&bus);

    // It follows these cycles, and then nobody leads for a year.
    let mut standby = Process::start(&bus.bootstrap, &bus.topology, &other);
    let is_mute =
        || standby.page("/readyz").is_some_and(|page| page.contains("yardmaster repair clock"));
    wait_until(60 * SECOND, || standby.logged(), is_mute);
    let is_logged = || standby.logged().contains("the last now found in progress");
    wait_until(20 * SECOND, || standby.logged(), is_logged);
    let dry = bus.verb("repair", 0, &["clock"]);
    assert!(dry.contains(&format!("cycles {from} to ")), "{dry}");
    assert!(dry.contains("366 d 0 h ahead") || dry.contains("365 d 23 h ahead"), "{dry}");
    assert!(dry.contains("nothing was done"), "{dry}");
    assert!(cycles(&bus).iter().all(|cycle| cycle.now_repairs.is_empty()));

    let done = bus.verb("repair", 0, &["clock", "--execute"]);
    assert!(done.contains("repaired: "), "{done}");
    assert!(bus.verb("repair", 0, &["clock", "--execute"]).contains("nothing to repair"));
    wait_for_lead(&standby, 60 * SECOND);
    standby.must_live();
    let reported = standby.all_logged();
    assert!(reported.contains("was repaired"), "{reported}");
    let mut pair = [standby, Process::start(&bus.bootstrap, &bus.topology, &store)];
    ask(&bus, &mut subjects, &mut pair);
    let named = cycles(&bus).pop().unwrap().now_repairs;
    assert_eq!((named.len(), named[0].from_cycle), (1, from));
    assert!(bus.verb("explain", 0, &["1/0"]).contains("1/0"));
    let [standby, first] = pair;
    assert_eq!(first.stop().code(), Some(0));
    assert_eq!(standby.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&other, &store]));
    let digest = |more: &[&str]| {
        let text = bus.verb("replay", 0, more);
        text.lines().find(|line| line.starts_with("digest")).unwrap().to_owned()
    };
    let reached = digest(&[]);
    for store in [&store, &other] {
        assert_eq!(digest(&["--from-store", "--store", text(store)]), reached);
    }
}
