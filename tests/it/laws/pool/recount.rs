//! Sums over the ends of jobs, counted again in the plainest way.

use super::story::PoolCycle;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::content::content_of;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, JobState, Status};
use yardmaster::core::state::State;

#[derive(Default)]
pub struct Recount {
    /// Done and finally failed, by workflow.
    tallies: BTreeMap<String, (i64, i64)>,
    sites: BTreeMap<String, BTreeSet<String>>,
    /// By workflow and place: the last attempt that ended, and whether it succeeded.
    early: BTreeMap<(String, i64), (u32, bool)>,
    /// User, thousandths of weight, start and end, s.
    runs: Vec<(String, f64, f64, f64)>,
    compared: usize,
}

impl Recount {
    pub fn done(&self) -> i64 {
        self.tallies.values().map(|it| it.0).sum()
    }

    pub fn overflowed(&self) -> usize {
        self.sites.values().map(BTreeSet::len).sum()
    }

    pub fn early(&self) -> usize {
        self.early.len()
    }

    /// Users whose usage was compared while there was some.
    pub fn used(&self) -> usize {
        self.compared
    }

    /// Counts what ended in a cycle, as far as it was not counted before.
    pub fn cycle(&mut self, before: &State, now: i64, cycle: &PoolCycle) {
        let limits = &before.setting.limits;
        let horizon = before.times.of(Topic::JobState).time - limits.ended_job_lifetime_ms;
        let mut ends: BTreeMap<(&str, u32), &JobState<'_>> = BTreeMap::new();
        for entry in cycle.records.lanes.iter().flatten() {
            let Event::JobState(job) = &entry.event else { continue };
            if job.status.is_ended() {
                let held = ends.entry((job.job, job.attempt)).or_insert(job);
                *held = if order(job) < order(held) { job } else { held };
            }
        }
        let mut counted: BTreeMap<&str, u32> = BTreeMap::new();
        for ((name, attempt), job) in ends {
            let known = before.pool.jobs.of(name);
            let last = counted.get(name).copied().or(known.and_then(|known| known.tallied));
            let over_at = if job.ended_at == 0 { job.changed_at } else { job.ended_at };
            if last.is_some_and(|last| last >= attempt) || over_at <= horizon {
                continue;
            }
            counted.insert(name, attempt);
            let wants = job.requirements.as_ref().expect("ends state them");
            let tally = self.tallies.entry(job.task.to_owned()).or_default();
            match job.status {
                Status::Finished => tally.0 += 1,
                // What its own limits end states how it failed, as one that failed does.
                Status::Cancelled if wants.failure.is_some() && !wants.last_attempt => {}
                Status::Failed if !wants.last_attempt => {}
                _ => tally.1 += 1,
            }
            let place = (job.task.to_owned(), wants.seq.unwrap_or_default());
            let new = (attempt, job.status == Status::Finished);
            let held = self.early.entry(place).or_insert(new);
            *held = if attempt >= held.0 { new } else { *held };
            let matched = known.and_then(|known| known.matched.as_ref());
            let matched = matched.filter(|it| it.matched.job_attempt == attempt);
            if let Some(matched) = matched.filter(|_| job.started_at != 0) {
                if !matched.matched.overflow_source.is_empty() {
                    let sites = self.sites.entry(job.task.to_owned()).or_default();
                    sites.insert(matched.site.clone());
                }
                let second = |at: i64| at.min(now).div_euclid(1_000) as f64;
                let (start, end) = (second(job.started_at), second(over_at));
                let weight = matched.matched.usage_milli as f64;
                self.runs.push((matched.user.clone(), weight, start.min(end), end));
            }
        }
    }

    /// Asserts that the state has the sums that were counted.
    pub fn compare(&mut self, state: &State, seed: u64) {
        for (name, workflow) in state.pool.workflows.iter() {
            let counted = self.tallies.get(name).copied().unwrap_or_default();
            assert_eq!((workflow.done, workflow.failed_final), counted, "seed {seed}: {name}");
            let sites: Vec<String> = self.sites.get(name).into_iter().flatten().cloned().collect();
            assert_eq!(workflow.overflow_sites, sites, "seed {seed}: {name}");
            let early = workflow.ended.iter().map(|((seq, attempt), ended)| {
                ((name.to_owned(), *seq), (*attempt as u32, ended.failure.is_none()))
            });
            let early: BTreeMap<_, _> = early.collect();
            let counted = self.early.iter().filter(|((of, _), _)| of == name);
            assert_eq!(early, counted.map(|(at, it)| (at.clone(), *it)).collect(), "seed {seed}");
        }
        assert!(self.tallies.keys().all(|name| state.pool.workflows.of(name).is_some()));
        self.usage(state, seed);
    }

    /// Decayed usage by its definition (F-2), in floating point.
    fn usage(&mut self, state: &State, seed: u64) {
        let now = state.now.div_euclid(1_000) as f64;
        let half_life = state.setting.pool.expect("a pool").half_life_s as f64;
        let left = |at: f64| (-(now - at) / half_life).exp2();
        let mut of_user: BTreeMap<&str, f64> = BTreeMap::new();
        for (user, weight, start, end) in &self.runs {
            *of_user.entry(user).or_default() += weight * (left(*end) - left(*start));
        }
        let decay = yardmaster::core::math::decay::Decay::at(half_life as i64, now as i64);
        for (user, wanted) in of_user {
            let x = state.pool.users.of(user).map_or(0, |known| known.x);
            let found = x as f64 / decay.growth(now as i64) as f64;
            // Growth is known to a 4096th of a half-life, each run has two of them.
            let runs = self.runs.iter().filter(|run| run.0 == user).count() as f64;
            let slack = 2.0 + runs * 2.0 * 1_900.0 * (1.0 / 4096.0);
            assert!((found - wanted).abs() <= slack, "seed {seed}: {user} {found} {wanted}");
            self.compared += usize::from(wanted > 10.0 * slack);
        }
    }
}

/// Of the ends of one attempt the least counts: the law's list, then the content, then the largest
/// of what they say that the job wants.
fn order(end: &JobState<'_>) -> impl Ord {
    (
        (end.changed_at, end.revision, end.status),
        (end.task, end.user, end.queue, end.cores),
        (end.created_at, end.started_at, end.ended_at),
        Reverse(content_of(&end.requirements)),
    )
}
