//! A log that is read ahead by a thread is the same log: the contract, and any order of takes,
//! holds and new beginnings.

use crate::contract::{DECISIONS, JOBS, LANES, PROGRESS, World, contract, cut, publish_cycle};
use crate::crash::ports::Dice;
use crate::dirlog::InDirectory;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yardmaster::core::cut::{Cut, Lane};
use yardmaster::drive::port::{Batch, LaneSpan, Log, LogError, Mark, OutputRecord};
use yardmaster::shell::dirlog::DirLog;
use yardmaster::shell::read_ahead::ReadAhead;

struct Ahead(InDirectory);

impl World for Ahead {
    type L = ReadAhead<DirLog>;

    fn publisher(&mut self) -> Self::L {
        ReadAhead::start(self.0.publisher()).unwrap()
    }

    fn reader(&mut self) -> Self::L {
        ReadAhead::start(self.0.reader()).unwrap()
    }

    fn append(&mut self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.0.append(lane, key, value);
    }
}

#[test]
fn the_contract_holds_for_a_log_that_is_read_ahead() {
    contract(&mut Ahead(InDirectory::new(false)));
}

/// A follower that checks, take by take, what it may rely on.
struct Follower {
    /// Per lane, the next offset that has to come.
    next: BTreeMap<Lane, u64>,
    held: BTreeSet<Lane>,
    at_end: BTreeSet<Lane>,
}

impl Follower {
    fn begin(log: &mut impl Log, from: &Cut) -> Follower {
        log.assign(from).unwrap();
        Follower { next: from.0.clone(), held: BTreeSet::new(), at_end: BTreeSet::new() }
    }

    fn take(&mut self, log: &mut impl Log, max: usize, wait: Duration) -> usize {
        let mut batch = Batch::default();
        log.take(&mut batch, max, wait).unwrap();
        assert!(batch.records.len() <= max);
        for raw in &batch.records {
            assert!(!self.held.contains(&raw.lane), "{} is held", raw.lane);
            let next = self.next.get_mut(&raw.lane).expect("a lane that is read");
            assert_eq!(raw.offset, *next, "{}", raw.lane);
            let text = format!("{} {}", raw.lane, raw.offset);
            let is_input = raw.lane == JOBS || raw.lane == LANES[1];
            assert!(!is_input || batch.value(raw) == Some(text.as_bytes()), "{text}");
            *next += 1;
            self.at_end.remove(&raw.lane);
        }
        for Mark { lane, position, flags } in &batch.marks {
            assert!(!self.held.contains(lane), "{lane} is held");
            assert!(*position <= self.next[lane], "all below a mark was handed on");
            if flags.at_end && *position == self.next[lane] {
                self.at_end.insert(*lane);
            } else {
                self.at_end.remove(lane);
            }
        }
        batch.records.len()
    }
}

#[test]
fn nothing_comes_twice_or_is_left_out_with_lanes_paused_at_any_time() {
    let mut world = InDirectory::new(false);
    let mut publisher = world.publisher();
    let sizes = [3_000, 700, 40, 40];
    for (lane, size) in LANES.into_iter().zip(sizes).take(2) {
        for offset in 0..size {
            world.append(lane, None, Some(format!("{lane} {offset}").as_bytes()));
        }
    }
    publisher.lead().unwrap();
    (0..40).for_each(|number| publish_cycle(&mut publisher, &["d"], &number.to_string()).unwrap());
    let seeds = if std::env::var_os("YARDMASTER_LONG").is_some() { 60 } else { 4 };
    for seed in 0..seeds {
        let mut dice = Dice::new(seed);
        let mut log = ReadAhead::start(world.reader()).unwrap();
        let any = |dice: &mut Dice| {
            Cut(LANES
                .iter()
                .zip(sizes)
                .map(|(lane, size)| (*lane, dice.below(size) as u64))
                .collect())
        };
        let mut follower = Follower::begin(&mut log, &any(&mut dice));
        for _ in 0..200 {
            let lane = LANES[dice.below(LANES.len())];
            match dice.below(20) {
                0 => follower = Follower::begin(&mut log, &any(&mut dice)),
                1..=4 => {
                    log.set_paused(&[lane], true).unwrap();
                    follower.held.insert(lane);
                }
                5..=9 => {
                    log.set_paused(&[lane], false).unwrap();
                    follower.held.remove(&lane);
                }
                10 => assert_eq!(log.ends().len(), LANES.len()),
                _ => {
                    let max = [1, 7, 64, 300][dice.below(4)];
                    follower.take(&mut log, max, Duration::ZERO);
                }
            }
        }
        log.set_paused(&LANES, false).unwrap();
        follower.held.clear();
        while follower.take(&mut log, 500, Duration::ZERO) > 0 {}
        let ends: Vec<u64> = follower.next.into_values().collect();
        assert_eq!(ends, LANES.iter().zip(sizes).map(|(_, size)| size as u64).collect::<Vec<_>>());
        assert_eq!(follower.at_end.len(), LANES.len(), "seed {seed}");
    }
}

/// A take has all records that were appended before it, though a look was made ahead before that.
#[test]
fn an_empty_look_of_before_is_no_answer() {
    let mut world = InDirectory::new(false);
    let _publisher = world.publisher();
    let mut log = ReadAhead::start(world.reader()).unwrap();
    let mut follower = Follower::begin(&mut log, &cut(&[(JOBS, 0)]));
    let mut count = 0;
    for _ in 0..50 {
        // As many as are asked for: then the next look is made ahead, and is empty.
        for _ in 0..10 {
            world.append(JOBS, None, Some(format!("{JOBS} {count}").as_bytes()));
            count += 1;
        }
        while follower.next[&JOBS] < count {
            assert!(follower.take(&mut log, 10, Duration::ZERO) > 0, "{count} were appended");
        }
    }
}

/// Who takes the lead goes on with what was read ahead.
#[test]
fn taking_the_lead_loses_nothing_that_was_read_ahead() {
    let mut world = InDirectory::new(false);
    let mut log = ReadAhead::start(world.publisher()).unwrap();
    (0..500).for_each(|at| world.append(JOBS, None, Some(format!("{JOBS} {at}").as_bytes())));
    let mut follower = Follower::begin(&mut log, &cut(&[(JOBS, 0), (DECISIONS, 0), (PROGRESS, 0)]));
    assert_eq!(follower.take(&mut log, 20, Duration::ZERO), 20);
    log.lead().unwrap();
    publish_cycle(&mut log, &["a"], "p1").unwrap();
    while follower.take(&mut log, 13, Duration::ZERO) > 0 {}
    assert_eq!(follower.next.into_values().collect::<Vec<_>>(), [500, 1, 1]);
}

/// A log that gives so many records, then objects, then goes on.
struct Objecting {
    given: u64,
}

impl Log for Objecting {
    fn take(&mut self, batch: &mut Batch, max: usize, _: Duration) -> Result<(), LogError> {
        for _ in 0..max.min(10) {
            batch.push(
                JOBS,
                self.given,
                0,
                None,
                Some(format!("{JOBS} {}", self.given).as_bytes()),
            );
            self.given += 1;
        }
        match self.given {
            30 => Err(LogError::Unreachable("30 were given".into())),
            41.. => panic!("as a test"),
            _ => Ok(()),
        }
    }
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        Ok(Vec::new())
    }
    fn assign(&mut self, _: &Cut) -> Result<(), LogError> {
        Ok(())
    }
    fn set_paused(&mut self, _: &[Lane], _: bool) -> Result<(), LogError> {
        Ok(())
    }
    fn ends(&mut self) -> Vec<(Lane, u64)> {
        Vec::new()
    }
    fn lead(&mut self) -> Result<(), LogError> {
        Ok(())
    }
    fn let_go(&mut self) {}
    fn publish(&mut self, _: Vec<OutputRecord>, _: OutputRecord) -> Result<(), LogError> {
        Ok(())
    }
    fn is_settled(&mut self) -> bool {
        true
    }
    fn settle(&mut self) -> Result<(), LogError> {
        Ok(())
    }
}

/// An error comes after the records before it and before those after it; a panic is an error.
#[test]
fn an_error_comes_in_its_place() {
    let mut log = ReadAhead::start(Objecting { given: 0 }).unwrap();
    let mut batch = Batch::default();
    let mut reported = Vec::new();
    for _ in 0..6 {
        batch.clear();
        let end = log.take(&mut batch, 10, Duration::ZERO);
        let last = batch.records.last().map(|raw| raw.offset);
        reported.push((last, end.err().map(|error| error.to_string())));
    }
    let unreachable = LogError::Unreachable("30 were given".into()).to_string();
    assert_eq!(reported[..2], [(Some(9), None), (Some(19), None)]);
    assert_eq!(reported[2], (Some(29), Some(unreachable)));
    assert_eq!(reported[3], (Some(39), None));
    for (last, end) in &reported[4..] {
        assert!(last.is_none() && end.as_ref().is_some_and(|end| end.contains("start again")));
    }
}
