//! Estimates of when tasks begin, held against a simulated day in which they do.

use crate::drive::yard::{config_with, epoch_config_with};
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::estimate::TaskWaits;
use yardmaster::core::id::Key;
use yardmaster::core::unit::{HOUR, MINUTE, Millis};
use yardmaster::drive::Drive;
use yardmaster::shell::estimates::Estimates;
use yardmaster::sim::grid::{Facts, Grid, GridPlan};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::sim::paper::{Paper, PaperLog};

const START: Millis = 1_760_400_000_000;
const STEP: Millis = 2 * MINUTE;
const DAY_LENGTH: Millis = 40 * HOUR;

struct Yard {
    paper: Paper,
    grid: Grid,
    drive: Drive<PaperLog, PaperStore>,
    now: Millis,
}

impl Yard {
    fn new() -> Yard {
        let lanes: Vec<Lane> = Topic::read().map(|topic| Lane::new(topic, 0)).collect();
        let paper = Paper::new(&lanes);
        paper.set_now(START);
        let plan = GridPlan {
            seed: 11,
            scale: 0.008,
            start: START,
            hours: (DAY_LENGTH / HOUR) as u32,
            domain: "atlas".to_owned(),
            facts: Facts::built_in(),
            speed: 1,
            series: 0,
        };
        let config = config_with("one", epoch_config_with(&[]));
        let log = paper.log("yardmaster-atlas");
        let mut drive = Drive::start(log, PaperStore::default(), config).unwrap();
        while drive.pump(Duration::ZERO).unwrap() > 0 || drive.follow().unwrap() > 0 {}
        drive.take_lead(START).unwrap();
        drive.settle(START).unwrap();
        Yard { paper, grid: Grid::new(plan).unwrap(), drive, now: START }
    }

    /// The grid goes on for a step, and what it publishes is judged.
    fn step(&mut self) {
        let decisions: Vec<_> = self.drive.take_report().decisions().cloned().collect();
        self.now += STEP;
        self.paper.set_now(self.now);
        let mut records = Vec::new();
        self.grid.advance(self.now, &decisions, &mut records);
        for record in records {
            let lane = Lane::new(record.topic, 0);
            let value = record.value.as_deref();
            self.paper.append(lane, Some(&record.key), value, &[], Some(record.at));
        }
        while self.drive.pump(Duration::ZERO).unwrap() > 0 {}
        self.drive.lead(self.now).unwrap();
        self.drive.settle(self.now).unwrap();
    }
}

#[test]
fn most_tasks_begin_within_the_range_that_was_estimated() {
    let mut yard = Yard::new();
    let (mut estimates, mut results) = (Estimates::default(), BTreeMap::<&str, usize>::new());
    let mut ratios = Vec::new();
    let (mut sentences, mut open) = (0, 0);
    while yard.now < START + DAY_LENGTH {
        yard.step();
        if yard.now % HOUR >= STEP {
            continue;
        }
        let waits = TaskWaits::of(yard.drive.state());
        for measured in estimates.look(&waits, yard.now) {
            *results.entry(measured.result).or_default() += 1;
            ratios.extend(measured.ratio);
        }
        for task in waits.waiting() {
            let Some(estimate) = waits.estimate(task) else { continue };
            assert!(estimate.from >= START && estimate.to.is_none_or(|to| to >= estimate.from));
            assert!(estimate.basis.contains("began"), "{}", estimate.basis);
            sentences += 1;
            open += usize::from(estimate.to.is_none());
        }
    }
    ratios.sort_by(f64::total_cmp);
    let all: usize = results.values().sum();
    let inside = results.get("inside").copied().unwrap_or_default();
    let median = ratios.get(ratios.len() / 2);
    println!(
        "{results:?}, {sentences} estimates, {open} open, median ratio {median:?} of {}",
        ratios.len()
    );
    assert!(all >= 50, "{results:?}");
    // Eight of ten are to lie inside.
    assert!(inside * 100 >= all * 65, "{results:?}");
    let of_nothing = TaskWaits::of(yard.drive.state()).estimate(Key(1));
    assert_eq!(of_nothing, None);
}
