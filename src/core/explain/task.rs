//! How the jobs of a task stand: by queue and state, and by the request that placed them. It walks
//! over all jobs, so it is asked of a copy of the state.

use crate::event::Status;
use crate::id::{Key, Name};
use crate::state::State;
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
}

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
        let (mut waits, mut runs) = (Vec::new(), Vec::new());
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
        it
    }
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
}
