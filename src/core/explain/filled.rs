//! Jobs at queues, or of a share, by who has them: shares, users, queues.

use crate::event::Status;
use crate::id::Name;
use crate::state::State;
use crate::state::ledger::{Count, GROUP};
use std::collections::BTreeMap;

/// Names of a kind that are listed, those with most jobs first.
const LISTED_MAX: usize = 20;

/// Jobs of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldJobs {
    /// Share, user or queue.
    pub name: String,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that have not begun to run.
    pub queued: u64,
}

/// Whose jobs are counted: those at queues, or those of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilledOf {
    /// At these queues.
    Queues(Vec<String>),
    /// Of this leaf share.
    Share(String),
}

/// Jobs by who has them, those with most jobs first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledBy {
    /// The cycle.
    pub cycle: u64,
    /// All of them.
    pub all: HeldJobs,
    /// By leaf share.
    pub shares: Vec<HeldJobs>,
    /// By user.
    pub users: Vec<HeldJobs>,
    /// By queue.
    pub queues: Vec<HeldJobs>,
}

impl FilledBy {
    /// Counts them.
    pub fn of(state: &State, of: &FilledOf) -> FilledBy {
        let (mut shares, mut users, mut queues) = (Sums::new(), Sums::new(), Sums::new());
        let mut all = [0, 0];
        let text = |name: u32| state.names.text(Name(name));
        let is_of = |queue: &str, gshare: &str| match of {
            FilledOf::Queues(names) => names.iter().any(|name| name == queue),
            FilledOf::Share(name) => name == gshare,
        };
        // Counters have no class of a pool's jobs.
        for (class, job) in state.pool_jobs().filter(|(class, job)| is_of(&job.site, class)) {
            let jobs = [job.status == Status::Running, job.status < Status::Running].map(u64::from);
            add(&mut all, jobs);
            for (sums, name) in
                [(&mut shares, class), (&mut queues, &*job.site), (&mut users, &*job.user)]
            {
                add(sums.entry(name).or_default(), jobs);
            }
        }
        let is_counted = |[queue, gshare]: [u32; 2]| {
            state.pool.jobs.is_empty() && is_of(text(queue), text(gshare))
        };
        let load = state.ledger.load.iter();
        for (key, load) in load.filter(|(key, _)| is_counted([key[0], key[1]])) {
            let jobs = jobs(&load.count);
            add(&mut all, jobs);
            add(shares.entry(text(key[1])).or_default(), jobs);
            add(queues.entry(text(key[0])).or_default(), jobs);
        }
        let who = state.ledger.who.iter().filter(|(key, _)| key[2] != GROUP);
        for (key, count) in who.filter(|(key, _)| is_counted([key[1], key[3]])) {
            add(users.entry(text(key[0])).or_default(), jobs(count));
        }
        FilledBy {
            cycle: state.number,
            all: HeldJobs { name: String::new(), running: all[0], queued: all[1] },
            shares: listed(shares),
            users: listed(users),
            queues: listed(queues),
        }
    }
}

/// By name: jobs that run, and jobs queued.
type Sums<'a> = BTreeMap<&'a str, [u64; 2]>;

fn jobs(count: &Count) -> [u64; 2] {
    let jobs = count.jobs();
    let running = Status::Running.index();
    [u64::from(jobs[running]), jobs[..running].iter().copied().map(u64::from).sum()]
}

fn add(sum: &mut [u64; 2], jobs: [u64; 2]) {
    sum[0] += jobs[0];
    sum[1] += jobs[1];
}

fn listed(sums: Sums<'_>) -> Vec<HeldJobs> {
    let sums = sums.into_iter().filter(|(_, jobs)| jobs[0] + jobs[1] > 0);
    let mut all: Vec<HeldJobs> = sums
        .map(|(name, [running, queued])| HeldJobs { name: name.to_owned(), running, queued })
        .collect();
    let order = |it: &HeldJobs| (std::cmp::Reverse(it.running + it.queued), it.name.clone());
    all.sort_by_cached_key(order);
    all.truncate(LISTED_MAX);
    all
}
