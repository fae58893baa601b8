//! Who uses how much: shares against their targets, users and working groups over all queues.

use super::{RowKind, ShareGlance, shares_of_pool};
use crate::engine::Engine;
use crate::event::Status;
use crate::id::Name;
use crate::judge::share::{ShareUse, share_use};
use crate::output::throttle::SubjectKind;
use crate::state::State;
use crate::state::ledger::{GROUP, Totals, USER};
use crate::unit::Millis;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most users, and most working groups, that are listed.
const OWNERS_MAX: usize = 1_000;

/// Use of the grid as of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridUsage {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Shares, those furthest above their targets first; of a pool its classes of jobs.
    pub shares: Vec<ShareUsage>,
    /// Users with jobs, most running cores first; at most 1,000.
    pub users: Vec<OwnerUsage>,
    /// Working groups likewise.
    pub groups: Vec<OwnerUsage>,
    /// How many users have jobs.
    pub users_in_all: u64,
}

/// Use of a share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShareUsage {
    /// Name.
    pub gshare: String,
    /// Its part of what runs, from 0 to 1, as the rules measure it.
    pub part: f64,
    /// The part that is its target.
    pub target: f64,
    /// Its jobs.
    pub jobs: JobsOf,
}

/// Jobs and their cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobsOf {
    /// Jobs that run.
    pub running: u64,
    /// Jobs that have not begun to run.
    pub queued: u64,
    /// Cores of those that run.
    pub running_cores: u64,
    /// Cores of those that have not begun to run.
    pub queued_cores: u64,
}

/// Use by a user or a working group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnerUsage {
    /// Name.
    pub owner: String,
    /// Its jobs.
    pub jobs: JobsOf,
    /// Its part of all cores that run, from 0 to 1.
    pub part: f64,
    /// Rules whose throttles hold it, by name.
    pub throttled: Vec<String>,
}

impl JobsOf {
    /// Counts jobs of a state: those that wait for their start are queued.
    fn add(&mut self, status: Status, jobs: u64, cores: u64) {
        if status == Status::Running {
            self.running += jobs;
            self.running_cores += cores;
        } else if status.index() < Status::Running.index() {
            self.queued += jobs;
            self.queued_cores += cores;
        }
    }
}

impl GridUsage {
    /// The use as the last cycle left it.
    pub fn of(engine: &Engine) -> GridUsage {
        let state = &engine.state;
        let mut shares = match RowKind::of(engine.policies()) {
            RowKind::Sites => classes(engine),
            RowKind::Queues | RowKind::ClusterQueues | RowKind::Own => of_tree(state),
        };
        let over = |it: &ShareUsage| it.part - it.target;
        shares.sort_by(|a, b| over(b).total_cmp(&over(a)).then_with(|| a.gshare.cmp(&b.gshare)));
        let (users, users_in_all) = owners(state, USER);
        GridUsage {
            now: state.now,
            cycle: state.number,
            shares,
            users,
            groups: owners(state, GROUP).0,
            users_in_all,
        }
    }
}

/// The leaves of the tree of shares.
fn of_tree(state: &State) -> Vec<ShareUsage> {
    let mut jobs: BTreeMap<&str, JobsOf> = BTreeMap::new();
    for (key, load) in state.ledger.load.iter() {
        let of = jobs.entry(state.names.text(Name(key[1]))).or_default();
        for status in Status::ALL {
            let counted = load.count.by[status.index()];
            of.add(status, u64::from(counted.jobs), u64::from(counted.cores));
        }
    }
    let share = |it: ShareUse| {
        let jobs = jobs.get(it.gshare.as_str()).copied().unwrap_or_default();
        ShareUsage { part: it.part, target: it.target, jobs, gshare: it.gshare }
    };
    share_use(state).into_iter().map(share).collect()
}

/// The classes of a pool's jobs, against what the quotas of its sites give them.
fn classes(engine: &Engine) -> Vec<ShareUsage> {
    let jobs = jobs_by_class(&engine.state);
    let class = |it: ShareGlance| {
        let jobs = jobs.get(it.gshare.as_str()).copied().unwrap_or_default();
        ShareUsage { part: it.part, target: it.target, jobs, gshare: it.gshare }
    };
    shares_of_pool(engine).into_iter().map(class).collect()
}

/// Jobs of a pool by the name of their class; elsewhere there are none.
pub fn jobs_by_class(state: &State) -> BTreeMap<&'static str, JobsOf> {
    let mut by_class: BTreeMap<&str, JobsOf> = BTreeMap::new();
    for (class, job) in state.pool_jobs() {
        by_class.entry(class).or_default().add(job.status, 1, u64::from(job.cores.max(1)));
    }
    by_class
}

/// A job of a pool that waits for slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleJob<'a> {
    /// Name of its class; empty where no record of its workflow was read.
    pub class: &'static str,
    /// User of its workflow.
    pub user: &'a str,
    /// Its workflow.
    pub workflow: &'a str,
}

/// Every job of a pool that waits for slots; elsewhere there are none.
pub fn each_idle(state: &State) -> impl Iterator<Item = IdleJob<'_>> {
    state.idle_jobs().map(|(record, job)| IdleJob {
        class: record.map_or("", |record| record.facts.class.name()),
        user: record.map_or(&job.user, |record| &record.user),
        workflow: &job.workflow,
    })
}

/// Owners of a kind with jobs, and how many there are.
fn owners(state: &State, wanted: u32) -> (Vec<OwnerUsage>, u64) {
    let rows = state.ledger.owner.iter().filter(|([_, kind, ..], _)| *kind == wanted);
    let rows: Vec<(Name, Totals)> = rows
        .map(|([owner, ..], _)| (Name(owner), state.ledger.totals_shown(Name(owner), wanted)))
        .filter(|(_, it)| it.running_jobs + it.queued_jobs > 0)
        .collect();
    let queues = state.ledger.queue.iter();
    let running = queues.map(|(_, row)| u64::from(row.count.cores()[Status::Running.index()]));
    let all: u64 = running.sum();
    let mut owners: Vec<OwnerUsage> =
        rows.iter().map(|(name, totals)| owner(state, *name, totals, all)).collect();
    owners.sort_by(|a, b| {
        let key = |it: &OwnerUsage| Reverse((it.jobs.running_cores, it.jobs.queued));
        key(a).cmp(&key(b)).then_with(|| a.owner.cmp(&b.owner))
    });
    let count = owners.len() as u64;
    owners.truncate(OWNERS_MAX);
    let kind = if wanted == USER { SubjectKind::User } else { SubjectKind::Group };
    let mut holding: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let throttles = state.throttles.iter().map(|(_, throttle)| throttle);
    for throttle in throttles.filter(|it| it.kind == kind && it.holds(state.now)) {
        holding.entry(&throttle.subject).or_default().push(throttle.rule.clone());
    }
    for it in &mut owners {
        it.throttled = holding.remove(it.owner.as_str()).unwrap_or_default();
    }
    (owners, count)
}

fn owner(state: &State, name: Name, totals: &Totals, all: u64) -> OwnerUsage {
    let jobs = JobsOf {
        running: totals.running_jobs,
        queued: totals.queued_jobs,
        running_cores: totals.running_cores,
        queued_cores: totals.queued_cores,
    };
    let part = if all > 0 { jobs.running_cores as f64 / all as f64 } else { 0.0 };
    let owner = state.names.text(name).to_owned();
    OwnerUsage { owner, jobs, part, throttled: Vec::new() }
}
