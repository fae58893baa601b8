//! Parts of the line, each on an input of its own that is always the same.

use crate::Figures;
use crate::allocator::counted;
use crate::yard::{T0, Yard, config, epoch_config};
use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::engine::Engine;
use yardmaster::core::output::Output;
use yardmaster::core::state::changed::Changed;
use yardmaster::core::unit::HOUR;
use yardmaster::drive::counters::{CounterPublishing, Moment};
use yardmaster::drive::port::{Batch, Checkpoint, Kept, Store, StoreError};
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::load::Load;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::scenario::feed::close;
use yardmaster::sim::scenario::{records, simulated};
use yardmaster::wire::record::write_counter;

/// Measures a part.
type Measure = fn() -> Figures;

/// Name and measurement of each part.
pub const PARTS: [(&str, Measure); 4] =
    [("live", live), ("idle", idle), ("replay", replay), ("judge", judge)];

const JOBS: u64 = 20_000;
const RECORDS: usize = 100_000;
/// Records of a cycle, and how long one lasts; ms.
const CYCLE: usize = 2_000;
const CYCLE_MS: i64 = 200;
/// Requests of a cycle.
const REQUESTS: usize = 4;
const QUEUES: u32 = 30;

thread_local!(static CLOCK: Cell<u64> = const { Cell::new(0) });

/// A store that keeps nothing, and counts what it is given.
#[derive(Clone, Default)]
struct Counted(Rc<Cell<u64>>);

impl Store for Counted {
    fn load(&mut self) -> Result<Option<Kept>, StoreError> {
        Ok(None)
    }

    fn keep(&mut self, it: Checkpoint) -> Result<(), StoreError> {
        let counters = it.counters.iter().flatten().map(|(key, value)| key.len() + value.len());
        let bases = it.bases.iter().map(|(_, bytes)| bytes.len());
        let bytes = it.head.len() + it.deltas.iter().map(Vec::len).chain(bases).sum::<usize>();
        self.0.set(self.0.get() + (bytes + counters.sum::<usize>()) as u64);
        Ok(())
    }

    fn is_busy(&mut self) -> bool {
        false
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

type Line = Drive<PaperLog, Counted>;

/// A leader on paper.
struct Leader {
    yard: Yard,
    load: Load,
    store: Counted,
    drive: Line,
}

impl Leader {
    /// One that leads, and knows queues and jobs.
    fn new() -> Leader {
        let (mut yard, store) = (Yard::new(), Counted::default());
        yard.build(QUEUES);
        (0..2).for_each(|partition| yard.paper.add(Lane::new(Topic::Counter, partition)));
        let drive = Drive::start(yard.log(), store.clone(), of_line("leader")).unwrap();
        yard.pass(CYCLE_MS);
        let mut leader = Leader { yard, load: Load::new(7, JOBS, T0), store, drive };
        while !leader.drive.may_lead(T0, T0, 0) {
            leader.drive.pump(Duration::ZERO).unwrap();
            leader.drive.follow().unwrap();
        }
        leader.drive.take_lead(leader.yard.now).unwrap();
        let first = leader.load.first(0, JOBS);
        leader.append(&first);
        (0..JOBS as usize / CYCLE).for_each(|_| leader.cycle(lead));
        leader.store.0.set(0);
        leader
    }

    fn append(&self, batch: &Batch) {
        for raw in &batch.records {
            self.yard.paper.append(raw.lane, batch.key(raw), batch.value(raw), &[], None);
        }
    }

    /// All records and requests there are, cycle by cycle, each by `turn`.
    fn run(&mut self, mut turn: impl FnMut(&mut Line, i64)) {
        for cycle in 0..RECORDS / CYCLE {
            let batch = self.load.mixed(CYCLE);
            self.append(&batch);
            for at in 0..REQUESTS {
                let subject = format!("{}/0", 40_000_000 + cycle * REQUESTS + at);
                self.yard.ask(&records::request(&subject, 20, self.yard.now));
            }
            self.cycle(&mut turn);
        }
    }

    /// Reads what there is, closes a cycle and settles it.
    fn cycle(&mut self, mut turn: impl FnMut(&mut Line, i64)) {
        self.yard.pass(CYCLE_MS);
        CLOCK.set(CLOCK.get() + CYCLE_MS as u64 * 1_000_000);
        (0..3).for_each(|_| turn(&mut self.drive, self.yard.now));
        self.drive.take_report();
    }
}

fn of_line(instance: &str) -> Config {
    let write = |changed: &Changed<'_>, at: &Moment<'_>, put: &mut dyn FnMut(&[u8], &[u8])| {
        write_counter(changed, (at.domain, at.epoch, at.cycle, at.now), put);
    };
    let counters = Some(CounterPublishing { interval: 0, is_early: true, write });
    Config { counters, stopwatch: || CLOCK.get(), ..config(instance) }
}

fn lead(drive: &mut Line, now: i64) {
    drive.pump(Duration::ZERO).unwrap();
    drive.lead(now).unwrap();
}

#[inline(never)]
fn measured_lead(drive: &mut Line, now: i64) {
    lead(drive, now);
}

#[inline(never)]
fn measured_follow(drive: &mut Line) -> bool {
    drive.pump(Duration::ZERO).unwrap() > 0 || drive.follow().unwrap() > 0
}

#[inline(never)]
fn measured_judge(engine: &mut Engine) -> u64 {
    let mut decisions = 0;
    while let Some(Output::Decision(decision)) = engine.next_output() {
        black_box(decision);
        decisions += 1;
    }
    decisions
}

/// Sums up what several calls asked for.
#[derive(Default)]
struct Memory {
    calls: u64,
    bytes: u64,
}

impl Memory {
    fn of<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let (done, calls, bytes) = counted(act);
        self.calls += calls;
        self.bytes += bytes;
        done
    }

    fn figures(&self) -> Figures {
        let named = [("allocations", self.calls), ("allocated bytes", self.bytes)];
        named.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }
}

/// A leader that reads, folds, judges, publishes decisions and counters, and stores.
fn live() -> Figures {
    let (mut leader, mut memory) = (Leader::new(), Memory::default());
    let before = published(&leader.yard);
    leader.run(|drive, now| memory.of(|| measured_lead(drive, now)));
    let mut figures = memory.figures();
    figures.insert("bytes to the store".to_owned(), leader.store.0.get());
    figures.extend(since(before, published(&leader.yard)));
    figures
}

/// Messages in each topic of our own, and their bytes.
fn published(yard: &Yard) -> Figures {
    let mut figures = Figures::new();
    for span in yard.paper.spans().into_iter().filter(|span| span.lane.topic.is_own()) {
        let records = yard.paper.records(span.lane);
        let length = |part: &Option<Vec<u8>>| part.as_ref().map_or(0, Vec::len);
        let bytes: usize = records.iter().map(|it| length(&it.key) + length(&it.value)).sum();
        if !records.is_empty() {
            let topic = span.lane.topic.name();
            *figures.entry(format!("{topic} messages")).or_default() += records.len() as u64;
            *figures.entry(format!("{topic} bytes")).or_default() += bytes as u64;
        }
    }
    figures
}

/// A leader to which nothing comes for 100 s, asked ten times a second whether anything is due.
fn idle() -> Figures {
    let (mut leader, mut memory) = (Leader::new(), Memory::default());
    let before = published(&leader.yard);
    for _ in 0..1_000 {
        leader.yard.pass(100);
        CLOCK.set(CLOCK.get() + 100 * 1_000_000);
        memory.of(|| measured_lead(&mut leader.drive, leader.yard.now));
        leader.drive.take_report();
    }
    let mut figures = memory.figures();
    figures.insert("bytes to the store".to_owned(), leader.store.0.get());
    figures.extend(since(before, published(&leader.yard)));
    figures
}

/// What was published since.
fn since(before: Figures, mut now: Figures) -> Figures {
    for (name, count) in &mut now {
        *count -= before.get(name).copied().unwrap_or(0);
    }
    now.retain(|_, count| *count > 0);
    now
}

/// A follower that folds what a leader has published.
fn replay() -> Figures {
    let (mut leader, mut memory) = (Leader::new(), Memory::default());
    leader.run(lead);
    let config = Config { keeps: false, ..of_line("follower") };
    let mut drive = Drive::start(leader.yard.log(), Counted::default(), config).unwrap();
    while memory.of(|| measured_follow(&mut drive)) || !drive.is_at_end() {
        drive.take_report();
    }
    assert_eq!(drive.state().number, leader.drive.state().number);
    memory.figures()
}

/// Decisions over 300 queues.
fn judge() -> Figures {
    let mut engine = simulated::engine(epoch_config(), 300).unwrap();
    let now = engine.state.now + HOUR + 1;
    close(&mut engine.state, now, Vec::new());
    engine.settle();
    let mut memory = Memory::default();
    let decisions = memory.of(|| measured_judge(&mut engine));
    let mut figures = memory.figures();
    figures.insert("decisions".to_owned(), decisions);
    figures
}
