//! How the jobs of a task stand: by queue and state, and by the request that placed them. It walks
//! over all jobs, so it is asked of a copy of the state.

use crate::event::Status;
use crate::id::{Key, Name};
use crate::state::State;
use crate::state::job::Job;
use crate::unit::Millis;
use std::collections::BTreeMap;

/// Jobs by state.
pub type JobsByState = [u64; Status::COUNT];

/// How the jobs of a task stand.
#[derive(Clone, Debug, Default)]
pub struct TaskStanding {
    /// The cycle.
    pub cycle: u64,
    /// Its `now`.
    pub now: Millis,
    /// Jobs by queue. Of those that finished or failed also the ones that are forgotten, as far as
    /// the windows of the policies reach.
    pub queues: BTreeMap<String, JobsByState>,
    /// Jobs by the number of the request that placed them.
    pub requests: BTreeMap<Key, RequestJobs>,
    /// From generation to start, of the jobs that started: the median; ms.
    pub wait: Option<Millis>,
    /// From start to end, of the jobs that ended: the median; ms.
    pub run: Option<Millis>,
    /// Its jobs over time, as far as they are remembered: since the first of them was there.
    pub curve: Vec<TaskMoment>,
}

/// Jobs of a task at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskMoment {
    /// When; ms since 1970.
    pub at: Millis,
    /// Jobs that had not begun to run.
    pub queued: u64,
    /// Jobs whose program ran.
    pub running: u64,
}

/// Moments of a curve, the last one the present.
const MOMENTS: i64 = 96;

/// Jobs that a request placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestJobs {
    /// How many are remembered.
    pub jobs: u64,
    /// When the first of them started.
    pub first_start: Option<Millis>,
    /// When the last of them ended, once all have.
    pub last_end: Option<Millis>,
    live: u64,
}

impl TaskStanding {
    /// How the jobs of a task stand as of the last cut.
    pub fn of(state: &State, task: &str) -> TaskStanding {
        let key = Key::of(task.as_bytes());
        let mut it =
            TaskStanding { cycle: state.number, now: state.now, ..TaskStanding::default() };
        let (mut waits, mut runs, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        for (_, job) in state.jobs.slab.iter().filter(|(_, job)| job.task == key) {
            let Some(status) = job.status else { continue };
            let queue = state.names.text(job.names[0]);
            it.queues.entry(queue.to_owned()).or_default()[status.index()] += 1;
            let started = Some(job.started_at).filter(|at| *at > 0);
            let ended = status.is_ended().then(|| job.over_at());
            let of = it.requests.entry(job.request).or_default();
            of.jobs += 1;
            of.live += u64::from(ended.is_none());
            of.first_start = [of.first_start, started].into_iter().flatten().min();
            of.last_end = of.last_end.max(ended);
            waits.extend(started.map(|at| at - job.created_at).filter(|wait| *wait >= 0));
            turns.extend(turns_of(job, status));
            let run = started.zip(ended).map(|(from, to)| to - from);
            runs.extend(run.filter(|run| *run >= 0));
        }
        for of in it.requests.values_mut().filter(|of| of.live > 0) {
            of.last_end = None;
        }
        for (row, ended) in state.ledger.ended.iter() {
            if u64::from(row[0]) | u64::from(row[1]) << 32 != key.0 {
                continue;
            }
            let queue = state.names.text(Name(row[2]));
            let jobs = it.queues.entry(queue.to_owned()).or_default();
            let since = ended.since(Millis::MIN / 2);
            for (status, known) in [Status::Finished, Status::Failed].into_iter().zip(since) {
                jobs[status.index()] = jobs[status.index()].max(known);
            }
        }
        (it.wait, it.run) = (median(waits), median(runs));
        it.curve = curve(turns, state.now);
        it
    }
}

/// When a job was queued, began to run and ran no more, each with what that changes. A moment that
/// no record states is the one at which it came into its state.
fn turns_of(job: &Job, status: Status) -> impl Iterator<Item = (Millis, [i64; 2])> {
    let or_seen = |at: Millis| if at > 0 { at } else { job.changed_at };
    let is_past = status.index() > Status::Running.index();
    let has_run = status == Status::Running || is_past && job.started_at > 0;
    let began = has_run.then(|| (or_seen(job.started_at), [-1, 1]));
    let last = if has_run { [0, -1] } else { [-1, 0] };
    let left = is_past.then(|| (job.over_at(), last));
    [Some((or_seen(job.created_at), [1, 0])), began, left].into_iter().flatten()
}

/// How many are queued and run at each moment, of how these change and when.
fn curve(mut turns: Vec<(Millis, [i64; 2])>, now: Millis) -> Vec<TaskMoment> {
    turns.sort_unstable();
    let Some((first, _)) = turns.first() else { return Vec::new() };
    let step = (now - first).max(0) / MOMENTS + 1;
    let (mut sums, mut turns) = ([0, 0], turns.into_iter().peekable());
    let moments = (0..=MOMENTS).rev().map(|left| now - left * step).map(|at| {
        while let Some((_, [queued, running])) = turns.next_if(|(turn, _)| *turn <= at) {
            sums = [sums[0] + queued, sums[1] + running];
        }
        let [queued, running] = sums.map(|sum: i64| u64::try_from(sum).unwrap_or(0));
        TaskMoment { at, queued, running }
    });
    moments.collect()
}

/// The one in the middle; of an even number the later one of the two.
fn median(mut spans: Vec<Millis>) -> Option<Millis> {
    let middle = spans.len() / 2;
    (!spans.is_empty()).then(|| *spans.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert_eq!(median(vec![9, 1]), Some(9));
    }

    #[test]
    fn a_curve_ends_with_the_jobs_of_now() {
        // One runs, one ended, one waits.
        let turns = vec![
            (1_000, [1, 0]),
            (5_000, [-1, 1]),
            (1_000, [1, 0]),
            (2_000, [-1, 1]),
            (3_000, [0, -1]),
            (9_000, [1, 0]),
        ];
        let curve = curve(turns, 10_000);
        assert_eq!(curve.len() as i64, MOMENTS + 1);
        let at = |at: Millis| *curve.iter().rev().find(|it| it.at <= at).unwrap();
        assert_eq!([at(1_500), at(2_500)].map(|it| (it.queued, it.running)), [(2, 0), (1, 1)]);
        assert_eq!((at(4_000).queued, at(4_000).running), (1, 0));
        assert_eq!(at(10_000), TaskMoment { at: 10_000, queued: 1, running: 1 });
        assert!(super::curve(Vec::new(), 1).is_empty());
    }
}
