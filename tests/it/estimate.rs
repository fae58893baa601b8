//! Looks at a simulated day: estimates of when tasks begin, held against when they do; and what
//! would be if configuration were another, which changes nothing.

use crate::drive::yard::{config_with, epoch_config_with};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::estimate::TaskWaits;
use yardmaster::core::event::{
    Configuration, Configured, Parameter, Queue, QueueStatus, Task, TaskPhase,
};
use yardmaster::core::id::Key;
use yardmaster::core::output::decision::Decision;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::state::supposed::Supposed;
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

#[test]
fn a_look_at_what_would_be_changes_nothing() {
    let mut yard = Yard::new();
    while yard.now < START + 3 * HOUR {
        yard.step();
    }
    let engine = yard.drive.engine_to_copy();
    let tasks: Vec<Task> = { engine.state.requests.iter() }
        .filter_map(|(_, request)| request.task.clone())
        .filter(|task| task.phase == TaskPhase::Asking)
        .collect();
    assert!(tasks.len() >= 20, "{} requests", tasks.len());
    let queues = engine.state.configuration_names(Topic::Queue);
    let offline = |record: Option<&Configuration>| {
        let Some(Configuration::Queue(queue)) = record else { return None };
        Some(Queue { status: QueueStatus::Offline, ..queue.clone() }.into())
    };
    let parameter = Parameter {
        app: "jedi".into(),
        key: "NEW".into(),
        value: "1".into(),
        changed_at: 1,
        ..Parameter::default()
    };
    let name = parameter.name();
    let mut supposed: Vec<Supposed> = queues
        .into_iter()
        .map(|name| Supposed { topic: Topic::Queue, name, change: Arc::new(offline) })
        .collect();
    let new = Arc::new(move |_: Option<&Configuration>| Some(parameter.clone().into()));
    supposed.push(Supposed { topic: Topic::Parameter, name, change: new });
    let policies = engine.policies().to_vec();
    let known = (digest(&engine.state), engine.state.facts.parameters.len());
    let answers = engine.what_if(policies, supposed, &tasks);
    assert_eq!((digest(&engine.state), engine.state.facts.parameters.len()), known);
    let assigned = |side: usize| {
        let all = answers.iter().filter_map(|it| it[side].as_ref());
        let has_jobs = |it: &&Decision| it.outcome.ranked().iter().any(|it| it.jobs > 0);
        all.filter(has_jobs).count()
    };
    assert!(assigned(0) > 0 && assigned(1) == 0, "{} and {}", assigned(0), assigned(1));
    // What follows is what would have followed: the log verifies against the same state.
    let before = yard.drive.state().number;
    yard.step();
    assert!(yard.drive.state().number > before);
    assert!(audit(yard.drive.state()).is_empty());
}
