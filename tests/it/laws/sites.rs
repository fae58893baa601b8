//! Classes of sites are those of all sample jobs that were reported, whichever are still remembered.

use super::counters::assert_audit_clean;
use super::kept::stored;
use crate::world::*;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, JobState, Queue, Status, Task};
use yardmaster::core::judge::view::Grid;
use yardmaster::core::limits::Limits;
use yardmaster::core::math::student::point95;
use yardmaster::core::policy::Rules;
use yardmaster::core::state::State;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis};

/// Queues: name, kind of resource, workflow; and how long jobs wait there, in the mean.
const QUEUES: [(&str, &str, &str, Millis); 6] = [
    ("ash", "GRID", "pull_ups", 10 * MINUTE),
    ("elm", "", "pull", 3 * HOUR),
    ("fir", "hpc", "push", 9 * HOUR),
    ("ivy", "GRID", "push", 5 * HOUR),
    ("oak", "GRID", "pull_ups", 8 * HOUR),
    ("yew", "GRID", "pull_ups", 2 * HOUR),
];

fn grid(limits: Limits) -> State {
    let mut state = state_with(limits);
    for (name, facility, workflow, _) in QUEUES {
        let queue = Queue {
            analysis: true,
            facility: facility.into(),
            workflow: workflow.into(),
            ..crate::drive::yard::queue(name, DAWN)
        };
        fold(&mut state, &published(lane(Topic::Queue, 0), Event::from(queue)));
    }
    state
}

fn feed(state: &mut State, job: JobState<'static>) {
    fold(state, &published(lane(Topic::JobState, 0), Event::JobState(job)));
}

/// The class of each queue's site, to somebody who just came.
fn classes(state: &State, rules: Rules) -> BTreeMap<&'static str, i8> {
    let (mut state, mut grid) = (state.clone(), Grid::default());
    grid.update(&mut state, None, true);
    seen(&state, &grid, rules)
}

/// The class of each queue's site.
fn seen(state: &State, grid: &Grid, rules: Rules) -> BTreeMap<&'static str, i8> {
    let (policy, resolved) = policy("atlas-analysis-job", rules);
    let task = Task { gshare: "User Analysis".into(), ..Task::default() };
    let view = grid.view(state);
    let (case, survey) = view.case(&policy, &resolved, &task);
    let class = |at| view.look(&case, &survey).one(at as u32).user.site_class;
    QUEUES.iter().enumerate().map(|(at, (name, ..))| (*name, class(at))).collect()
}

/// A merge job, by queue, activated and started.
fn merge(
    name: &'static str,
    queue: &'static str,
    from: Millis,
    start: Millis,
) -> JobState<'static> {
    JobState {
        queue,
        status: if start > 0 { Status::Running } else { Status::Activated },
        changed_at: if start > 0 { start } else { from },
        gshare: "User Analysis",
        processing_type: "pmerge",
        activated_at: from,
        started_at: start,
        ..job(name)
    }
}

/// A report of a job: queue, since when it waited, when it started; 0: not yet.
type Reported = (&'static str, Millis, Millis);

/// The same by the letter of the specification, sample by sample.
fn dumb(reported: &[Reported], seen_at: Millis, rules: Rules) -> BTreeMap<&'static str, i8> {
    let half_life = if rules == Rules::Panda { 12.0 } else { 6.0 };
    let mut sites = BTreeMap::new();
    for (queue, facility, _, _) in QUEUES {
        let own = || reported.iter().filter(move |(at, ..)| *at == queue);
        let samples: Vec<(f64, f64)> = own()
            .filter(|(_, _, start)| *start > 0)
            .filter_map(|(_, from, start)| {
                let bucket = start / (10 * MINUTE);
                let age = seen_at - bucket * 10 * MINUTE - 5 * MINUTE;
                let counts = age > 0 && age < 4 * DAY;
                let weight = 0.5f64.powf(age as f64 / HOUR as f64 / half_life);
                counts.then_some((weight, ((start - from) / 1_000) as f64))
            })
            .collect();
        if samples.is_empty() {
            continue;
        }
        let all: f64 = samples.iter().map(|(weight, _)| weight).sum();
        let mean = samples.iter().map(|(weight, wait)| weight * wait).sum::<f64>() / all;
        let square = |(weight, wait): &(f64, f64)| weight * (wait - mean) * (wait - mean);
        let spread = (samples.iter().map(square).sum::<f64>() / all).sqrt();
        if spread < 1e-6 && rules == Rules::Panda {
            continue;
        }
        let most = (mean + if spread < 1e-6 { 0.0 } else { spread * point95(all) }).min(999_999.0);
        let waits = own()
            .filter(|(_, _, start)| *start == 0)
            .map(|(_, from, _)| (seen_at - from / MINUTE * MINUTE - MINUTE / 2) as f64 / 1_000.0);
        let long: Vec<f64> = waits.filter(|wait| *wait > mean).collect();
        let long_mean =
            if long.is_empty() { mean } else { long.iter().sum::<f64>() / long.len() as f64 };
        let newest = own().map(|(_, _, start)| *start).max().unwrap_or(0);
        let starts = newest > seen_at - DAY;
        sites.insert(queue, (most.max(long_mean), most, long.len(), starts, facility != "hpc"));
    }
    let mut measures: Vec<f64> =
        sites.values().filter(|site| site.4).map(|(rank, ..)| *rank).collect();
    measures.sort_by(f64::total_cmp);
    let part = |part: f64| {
        let place = part * (measures.len().max(1) - 1) as f64;
        let value = |at: f64| measures.get(at as usize).copied().unwrap_or(0.0);
        value(place.floor()) + place.fract() * (value(place.ceil()) - value(place.floor()))
    };
    let (hi, lo) = (part(0.333).max(3_600.0), part(0.667).max(10_800.0));
    let class = |(rank, most, long, starts, _): (f64, f64, usize, bool, bool)| match () {
        () if starts && (rank <= hi || most <= hi && long <= 3) => 1,
        () if rank > lo => -1,
        () => 0,
    };
    let of = |name: &&'static str| sites.get(*name).copied().map_or(0, class);
    QUEUES.iter().map(|(name, ..)| (*name, of(name))).collect()
}

#[test]
fn classes_are_those_of_all_samples_reported() {
    let limits = Limits { ended_job_lifetime_ms: HOUR, ..Limits::default() };
    let mut met = BTreeSet::new();
    for seed in 0..12 {
        let mut chance = Chance(seed);
        let (mut state, mut now) = (grid(limits.clone()), DAWN);
        let mut reported: Vec<Reported> = Vec::new();
        let mut grid = Grid::default();
        for step in 0..60 {
            now += chance.of(&[MINUTE, 20 * MINUTE, 2 * HOUR]);
            for _ in 0..chance.below(8) {
                let (queue, _, _, wait) = QUEUES[chance.below(QUEUES.len())];
                let waited = wait / 4 + chance.below(wait as usize) as Millis;
                let name = text(format!("{}", 100 + reported.len()));
                let start = if chance.below(3) > 0 { now } else { 0 };
                reported.push((queue, now - waited, start));
                let mut job = merge(name, queue, now - waited, start);
                if start > 0 && chance.below(2) == 0 {
                    (job.status, job.ended_at) = (Status::Finished, start + 1);
                }
                feed(&mut state, job);
            }
            // Now and then one that waits starts.
            let waiting = reported.iter().position(|(_, _, start)| *start == 0);
            if let Some(at) = waiting.filter(|_| chance.below(2) == 0) {
                reported[at].2 = now;
                let (queue, from, start) = reported[at];
                feed(&mut state, merge(text(format!("{}", 100 + at)), queue, from, start));
            }
            close(&mut state, now);
            grid.update(&mut state, None, step == 0);
            state.touched = Default::default();
            let seen_at = now - now % (30 * MINUTE);
            for rules in [Rules::Documented, Rules::Panda] {
                let found = seen(&state, &grid, rules);
                let when = format!("seed {seed}, step {step}, {rules:?}");
                assert_eq!(found, dumb(&reported, seen_at, rules), "{when}");
                assert_eq!(classes(&stored(&state), rules), found, "{when}: from its store");
                met.extend(found);
            }
        }
        assert!(state.jobs.slab.len() < reported.len(), "some are forgotten");
        assert_audit_clean(&state, "at last");
    }
    assert!(met.len() > 15, "every queue is of most classes now and then: {met:?}");
}

/// Nothing is known of when it was ready, it is nobody's sample, or it goes back in time.
#[test]
fn a_job_that_is_no_sample_changes_no_class() {
    let mut state = grid(Limits::default());
    let good = merge("1", "ash", DAWN - HOUR, DAWN);
    for (name, job) in [
        ("11", JobState { gshare: "Express Analysis", ..good.clone() }),
        ("12", JobState { processing_type: "panda-client", ..good.clone() }),
        ("13", JobState { activated_at: 0, ..good.clone() }),
        ("14", JobState { activated_at: DAWN + 1, ..good.clone() }),
        ("15", JobState { status: Status::Throttled, started_at: 0, ..good.clone() }),
        ("16", JobState { activated_at: 0, started_at: 0, ..good.clone() }),
    ] {
        feed(&mut state, JobState { job: name, ..job });
    }
    close(&mut state, DAWN + 2 * HOUR);
    assert!(state.ledger.waits.is_empty());
    // A probe counts once it started; a merge job also while it waits, by when it was reported so.
    let probe = JobState { processing_type: "", user: "gangarbt", ..good.clone() };
    feed(&mut state, JobState { job: "21", ..probe.clone() });
    feed(&mut state, JobState { job: "22", status: Status::Sent, started_at: 0, ..probe.clone() });
    let reported =
        JobState { status: Status::Activated, activated_at: 0, started_at: 0, ..good.clone() };
    feed(&mut state, JobState { job: "23", ..reported });
    close(&mut state, DAWN + 3 * HOUR);
    let waits = state.ledger.waits.iter().next().expect("a row").1;
    let sums = |window: &yardmaster::core::state::window::Window| window.sum(i64::MIN, i64::MAX);
    assert_eq!(waits.over.each_ref().map(sums), [1, 3_600, 3_600 * 3_600]);
    assert_eq!(waits.queued.each_ref().map(sums), [1, 0]);
    assert_eq!(waits.queued[0].buckets()[0].number, DAWN / MINUTE);
    assert_audit_clean(&state, "sampled");
}

#[test]
fn jobs_of_push_queues_wait_until_they_run() {
    let mut state = grid(Limits::default());
    let mut next = 100..;
    let mut name = || text(next.next().expect("a number").to_string());
    for queue in ["ash", "ivy"] {
        feed(&mut state, merge(name(), queue, DAWN - 60_000, DAWN));
        for _ in 0..4 {
            let job = merge(name(), queue, DAWN - 6 * HOUR, 0);
            feed(&mut state, JobState { status: Status::Starting, ..job });
        }
    }
    for _ in 0..6 {
        feed(&mut state, merge(name(), "oak", DAWN - 60_000, DAWN));
        feed(&mut state, merge(name(), "yew", DAWN - 90_000, DAWN));
        feed(&mut state, merge(name(), "elm", DAWN - 90_000, DAWN));
    }
    close(&mut state, DAWN + HOUR);
    let found = classes(&state, Rules::Documented);
    assert_eq!([found["ash"], found["ivy"]], [1, -1], "{found:?}");
}

#[test]
fn old_samples_expire_and_with_them_the_class() {
    let limits = Limits { ended_job_lifetime_ms: HOUR, ..Limits::default() };
    let mut state = grid(limits);
    let over = merge("1", "oak", DAWN - 12 * HOUR, DAWN);
    feed(&mut state, JobState { status: Status::Finished, ended_at: DAWN + 1, ..over });
    let of_oak = |state: &State| classes(state, Rules::Documented)["oak"];
    close(&mut state, DAWN + 5 * MINUTE);
    assert_eq!(of_oak(&state), 0, "the half hour is not over");
    close(&mut state, DAWN + 30 * MINUTE);
    assert_eq!(of_oak(&state), 1, "the only one is the quickest");
    close(&mut state, DAWN + HOUR + MINUTE);
    assert!(state.jobs.slab.is_empty());
    assert_eq!(of_oak(&state), 1, "the job is forgotten, its wait is not");
    close(&mut state, DAWN + 25 * HOUR);
    assert_eq!(of_oak(&state), 0, "nothing started for a day");
    close(&mut state, DAWN + 4 * DAY + 19 * MINUTE);
    assert_eq!(state.ledger.waits.len(), 1);
    close(&mut state, DAWN + 4 * DAY + 20 * MINUTE);
    assert!(state.ledger.waits.is_empty());
    assert_audit_clean(&state, "expired");
}
