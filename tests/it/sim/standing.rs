//! A grid as it stands: for readers who have read nothing, all that lives and waits is published, and it
//! goes on from there.

use super::{Always, START, each, plan};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::event::{Configuration, Event, Status, TaskPhase, TransferStatus};
use yardmaster::core::unit::MINUTE;
use yardmaster::sim::grid::{Grid, GridPlan, Record};

/// Jobs and transfers that live, by records.
#[derive(Debug, Default, PartialEq)]
struct Living {
    jobs: BTreeSet<(String, u32)>,
    transfers: BTreeSet<String>,
}

impl Living {
    fn of(records: &[Record]) -> Living {
        let mut living = Living::default();
        let mut over = BTreeSet::new();
        each(records, |_, event| match event {
            Event::JobState(job) => {
                let name = (job.job.to_owned(), job.attempt);
                if job.status.is_ended() {
                    living.jobs.remove(&name);
                    over.insert(name);
                } else if !over.contains(&name) {
                    living.jobs.insert(name);
                }
            }
            Event::Transfer(it) if it.state.is_ended() => {
                living.transfers.remove(it.request);
            }
            Event::Transfer(it) => drop(living.transfers.insert(it.request.to_owned())),
            _ => {}
        });
        living
    }
}

/// Runs a grid with requests that are assigned at once, a minute at a time.
fn go_on(grid: &mut Grid, always: &mut Always, minutes: std::ops::Range<i64>) -> Vec<Record> {
    let (mut all, mut decisions) = (Vec::new(), Vec::new());
    for minute in minutes {
        let mut published = Vec::new();
        grid.advance(START + minute * MINUTE, &decisions, &mut published);
        decisions = always.answer(&published);
        all.append(&mut published);
    }
    all
}

#[test]
fn all_that_lives_is_published_and_goes_on() {
    let mut grid = Grid::new(plan(5, 0.01, 24)).unwrap();
    let mut always = Always::default();
    let before = go_on(&mut grid, &mut always, 1..180);
    let mut stated = Vec::new();
    grid.stand(&mut stated);
    let living = Living::of(&stated);
    assert_eq!(living, Living::of(&before));
    assert!(living.jobs.len() > 100 && !living.transfers.is_empty(), "{}", living.jobs.len());

    let mut waiting = BTreeSet::new();
    let mut facts: BTreeMap<&str, usize> = BTreeMap::new();
    each(&stated, |record, event| match event {
        Event::Task(task) => {
            assert_eq!((task.phase, task.asked_at), (TaskPhase::Asking, record.at));
            waiting.insert(task.subject.clone());
        }
        Event::Configuration(it) => {
            let kind = match *it {
                Configuration::Queue(_) => "queue",
                Configuration::Share(_) => "share",
                Configuration::Link(_) => "link",
                Configuration::Storage(_) => "storage",
                Configuration::Site(_) => "site",
                _ => "other",
            };
            *facts.entry(kind).or_default() += 1;
        }
        Event::Transfer(it) => assert_ne!(it.state, TransferStatus::Done),
        _ => {}
    });
    assert_eq!(waiting.len() as u64, grid.summary().chunks_waiting);
    assert_eq!(facts.len(), 6, "{facts:?}");
    assert_eq!(grid.summary().finished, 0, "what was before does not count");

    // A reader who begins here knows every job that is published, and requests find their answers.
    let mut decisions = always.answer(&stated);
    let mut after = Vec::new();
    grid.advance(START + 181 * MINUTE, &decisions, &mut after);
    decisions = always.answer(&after);
    grid.advance(START + 182 * MINUTE, &decisions, &mut after);
    after.append(&mut go_on(&mut grid, &mut always, 183..360));
    let mut known = living.jobs;
    each(&after, |_, event| {
        let Event::JobState(job) = event else { return };
        let name = (job.job.to_owned(), job.attempt);
        let is_new = matches!(job.status, Status::Pending | Status::Defined);
        assert!(is_new || known.contains(&name), "{name:?} is {:?}", job.status);
        known.insert(name);
    });
    let summary = grid.summary();
    assert!(summary.accepted > 0 && summary.finished > 100, "{summary:?}");
}

#[test]
fn runs_of_different_series_have_no_name_in_common() {
    let names = |series: u64| {
        let mut grid = Grid::new(GridPlan { series, ..plan(5, 0.01, 24) }).unwrap();
        let records = go_on(&mut grid, &mut Always::default(), 1..60);
        let mut names = BTreeSet::new();
        each(&records, |_, event| match event {
            Event::JobState(job) => drop(names.insert(format!("job {}", job.job))),
            Event::Task(task) => drop(names.insert(format!("task {}", task.task))),
            Event::Transfer(it) => drop(names.insert(format!("transfer {}", it.request))),
            _ => {}
        });
        names
    };
    let (one, two) = (names(60_000_000), names(60_000_001));
    assert!(one.len().min(two.len()) > 500, "{} {}", one.len(), two.len());
    assert!(one.is_disjoint(&two));
}
