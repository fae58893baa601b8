//! Counters that are published: their topic gives what a recount would give, whichever process led
//! and however often he died.

use super::yard::*;
use std::collections::BTreeMap;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Status;
use yardmaster::core::id::stir;
use yardmaster::core::output::progress::Progress;
use yardmaster::core::state::State;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::changed::{Changed, Of};
use yardmaster::drive::counters::CounterPublishing;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

/// How counters are published here: text, and rarely enough that cycles lie between.
const TELL: CounterPublishing = CounterPublishing {
    interval: 350,
    is_early: false,
    write: |changed, _, put| {
        let figures = format!("{} {}", changed.jobs, changed.cores);
        put(name_of(changed).as_bytes(), figures.as_bytes());
    },
};

fn name_of(changed: &Changed<'_>) -> String {
    let of = match &changed.of {
        Of::Load(names) => format!("load {names:?}"),
        Of::User(names) => format!("user {names:?}"),
        Of::Group(names) => format!("group {names:?}"),
        Of::Nucleus(name) => format!("nucleus {name}"),
    };
    format!("{of} {}", changed.status.name())
}

/// Every other life goes by another topology, under which the state is made again. Some publish few
/// counters in a cycle.
fn config_with_counters(number: usize) -> Config {
    let mut changes = Vec::new();
    if number % 2 == 1 {
        changes.push(("ended_job_lifetime_h = 24", "ended_job_lifetime_h = 25"));
    }
    if !number.is_multiple_of(3) {
        changes.push(("counters_per_cycle = 5_000", "counters_per_cycle = 3"));
    }
    let epoch_config = epoch_config_with(&changes);
    Config { counters: Some(TELL), epoch_config, ..config(&format!("life {number}")) }
}

/// Counters as a reader of the topic knows them; counters of 0 are left out.
fn known(yard: &Yard) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for partition in 0..2 {
        for note in yard.paper.records(Lane::new(Topic::Counter, partition)) {
            let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
            known.insert(text(note.key), text(note.value));
        }
    }
    known.retain(|_, figures| figures != "0 0");
    known
}

/// All counters of a state.
fn counted(state: &State) -> BTreeMap<String, String> {
    let mut ledger = state.ledger.clone();
    ledger.watch();
    let mut counted = BTreeMap::new();
    ledger.begin_publishing();
    ledger.publish(usize::MAX, &state.names, &mut |changed| {
        counted.insert(name_of(&changed), format!("{} {}", changed.jobs, changed.cores));
    });
    counted.retain(|_, figures| figures != "0 0");
    counted
}

/// Users and groups at queues, each job on its own.
fn people(state: &State) -> BTreeMap<String, String> {
    let mut sums: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for (_, job) in state.jobs.slab.iter() {
        let Some(status) = job.status else { continue };
        let [queue, _, _, user, group, _] = job.names.map(|name| state.names.text(name));
        for of in [Of::User([user, queue]), Of::Group([group, queue])] {
            if of != Of::Group(["", queue]) {
                let name = name_of(&Changed { of, status, jobs: 0, cores: 0 });
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + 1, sum.1 + job.cores);
            }
        }
    }
    sums.into_iter().map(|(name, (jobs, cores))| (name, format!("{jobs} {cores}"))).collect()
}

fn life(yard: &Yard, store: PaperStore, number: usize) -> Drive<PaperLog, PaperStore> {
    Drive::start(yard.log(), store, config_with_counters(number)).unwrap()
}

fn some_jobs(yard: &Yard, dice: &mut u64) {
    let path = [Status::Activated, Status::Running, Status::Finished, Status::Failed];
    for _ in 0..6 {
        *dice = stir(dice.wrapping_add(1));
        let name = (*dice % 40).to_string();
        let queue = format!("QUEUE_{:02}", *dice >> 8 & 3);
        let status = path[(*dice >> 16 & 3) as usize];
        let mut job = job(&name, &queue, "", status, yard.now);
        // Now and then a job begins again, or what ended is ended elsewhere: counters fall to 0.
        job.attempt = (*dice >> 24 & 63) as u32;
        job.gshare = ["MC 16 simul", "User Analysis", ""][(*dice >> 30) as usize % 3];
        job.group = if *dice >> 33 & 1 == 0 { "AP_MCGN" } else { "" };
        yard.job(&job);
    }
}

#[test]
fn a_reader_of_counters_knows_what_a_recount_gives() {
    for seed in 0..12u64 {
        let mut yard = Yard::new();
        (0..2).for_each(|partition| yard.paper.add(Lane::new(Topic::Counter, partition)));
        yard.build(4);
        let mut dice = stir(seed);
        let mut store = PaperStore::default();
        for number in 0..8 {
            let mut drive = life(&yard, store, number);
            lead_after_silence(&mut yard, &mut drive);
            let counted = counted(drive.state());
            assert!(number == 0 || counted.len() > 5, "{counted:?}");
            assert_eq!(known(&yard), counted, "seed {seed}, life {number}");
            let mut reported = counted;
            reported.retain(|name, _| name.starts_with("user") || name.starts_with("group"));
            assert_eq!(reported, people(drive.state()), "seed {seed}, life {number}");
            assert_eq!(audit(drive.state()), vec![], "seed {seed}, life {number}");
            for _ in 0..=(dice >> 40 & 31) {
                some_jobs(&yard, &mut dice);
                lead(&mut yard, &mut drive, 3).unwrap();
            }
            // It dies with what it had not published yet; its store may be an older one, or none.
            let (_, kept) = drive.into_ports();
            store = match dice >> 50 & 3 {
                0 => PaperStore::default(),
                1 if kept.count() > 1 => kept.older(kept.count() / 2),
                _ => kept,
            };
        }
    }
}

/// How many counters each cycle published.
fn published(yard: &Yard) -> Vec<u32> {
    let cycles = yard.progress();
    let counters = |cycle: &Progress| {
        let lanes = cycle.outputs.iter().filter(|(lane, _)| lane.topic == Topic::Counter);
        lanes.map(|(_, records)| records).sum()
    };
    cycles.iter().map(counters).collect()
}

#[test]
fn many_counters_are_published_in_slices_and_requests_come_first() {
    let mut yard = Yard::new();
    (0..2).for_each(|partition| yard.paper.add(Lane::new(Topic::Counter, partition)));
    yard.build(4);
    let mut dice = 3;
    (0..20).for_each(|_| some_jobs(&yard, &mut dice));
    let asked: Vec<String> = (0..6).map(|task| format!("{task}/1")).collect();
    asked.iter().for_each(|subject| yard.ask(&task(subject, 1, yard.now)));
    let few = [
        ("counters_per_cycle = 5_000", "counters_per_cycle = 2"),
        ("judgements_per_cycle = 256", "judgements_per_cycle = 2"),
    ];
    let tell = CounterPublishing { interval: 60_000, ..TELL };
    let config =
        Config { counters: Some(tell), epoch_config: epoch_config_with(&few), ..config("one") };
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    for _ in 0..2_000 {
        lead(&mut yard, &mut drive, 1).unwrap();
        if drive.has_published() && known(&yard) == counted(drive.state()) {
            break;
        }
    }
    assert_eq!(known(&yard), counted(drive.state()), "all are published within one interval");
    let slices = published(&yard);
    assert!(slices.iter().all(|slice| *slice <= 2 + Status::COUNT as u32), "{slices:?}");
    let counters = counted(drive.state()).len() as u32;
    assert!(counters > 20 && slices.iter().sum::<u32>() >= counters, "{slices:?}");
    let first = slices.iter().position(|slice| *slice > 0).expect("a slice");
    let answers = |cycle: &Progress| cycle.outputs.iter().any(|it| it.0.topic == Topic::Decision);
    let answered: Vec<usize> =
        yard.progress().iter().enumerate().filter(|it| answers(it.1)).map(|it| it.0).collect();
    assert!(answered.len() >= 3, "{answered:?}");
    assert!(answered[..answered.len() - 1].iter().all(|cycle| *cycle < first), "{slices:?}");
}

/// While counters change all the time there is no cycle at which none is left to be published.
#[test]
fn a_store_is_written_while_counters_wait_and_forgets_no_fall_to_0() {
    let mut yard = Yard::new();
    (0..2).for_each(|partition| yard.paper.add(Lane::new(Topic::Counter, partition)));
    yard.build(4);
    let slow = CounterPublishing { interval: 3_600_000, ..TELL };
    let config = |instance: &str, tell| Config { counters: Some(tell), ..config(instance) };
    let store = PaperStore::default();
    let mut drive = Drive::start(yard.log(), store, config("one", TELL)).unwrap();
    lead_after_silence(&mut yard, &mut drive);
    yard.job(&job("1", "QUEUE_00", "", Status::Running, yard.now));
    lead(&mut yard, &mut drive, 100).unwrap();
    assert!(known(&yard).keys().any(|name| name.ends_with("running")), "{:?}", known(&yard));
    let (_, store) = drive.into_ports();
    // The next one publishes once, and then not again for an hour.
    let mut drive = Drive::start(yard.log(), store, config("two", slow)).unwrap();
    lead_after_silence(&mut yard, &mut drive);
    let mut ended = job("1", "QUEUE_00", "", Status::Finished, yard.now);
    ended.attempt = 1;
    yard.job(&ended);
    lead(&mut yard, &mut drive, 30).unwrap();
    assert_ne!(known(&yard), counted(drive.state()), "it was not published yet");
    let (_, store) = drive.into_ports();
    let mut drive = Drive::start(yard.log(), store, config("three", TELL)).unwrap();
    let kept = counted(drive.state());
    assert!(kept.keys().any(|name| name.ends_with("finished")), "written meanwhile: {kept:?}");
    lead_after_silence(&mut yard, &mut drive);
    assert_eq!(known(&yard), counted(drive.state()));
    assert!(!known(&yard).keys().any(|name| name.ends_with("running")), "{:?}", known(&yard));
}

#[test]
fn the_end_publishes_all_counters_and_stores_everything() {
    let mut yard = Yard::new();
    (0..2).for_each(|partition| yard.paper.add(Lane::new(Topic::Counter, partition)));
    yard.build(4);
    let mut drive = life(&yard, PaperStore::default(), 0);
    lead_after_silence(&mut yard, &mut drive);
    let mut dice = 7;
    some_jobs(&yard, &mut dice);
    lead(&mut yard, &mut drive, 40).unwrap();
    let is_left = (0..100).any(|_| {
        some_jobs(&yard, &mut dice);
        lead(&mut yard, &mut drive, 1).unwrap();
        known(&yard) != counted(drive.state())
    });
    assert!(is_left, "something is left to tell");
    drive.finish(yard.now).unwrap();
    assert_eq!(known(&yard), counted(drive.state()));
    assert_eq!(audit(drive.state()), vec![]);
    let number = drive.state().number;
    let (_, kept) = drive.into_ports();
    assert_eq!(life(&yard, kept, 0).state().number, number, "the last cycle is kept");
}

/// The one before published no final record: the lead is free when `progress` was silent for long enough.
fn lead_after_silence(yard: &mut Yard, drive: &mut Drive<PaperLog, PaperStore>) {
    for _ in 0..200 {
        lead(yard, drive, 1).unwrap();
        if drive.leads() {
            lead(yard, drive, 150).unwrap();
            // A few counters a cycle take longer.
            for _ in 0..20 {
                if known(yard) != counted(drive.state()) {
                    lead(yard, drive, 50).unwrap();
                }
            }
            return;
        }
    }
    panic!("nobody leads");
}
