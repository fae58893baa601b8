//! The pool at a glance: why jobs are idle, workflows, users, quotas of classes, drains, offers.

use super::classes::{ClassUse, class_use};
use super::words::words;
use crate::domain::cms::judge::offers::live_offers;
use crate::domain::cms::policy::entry::{Standing, WorkflowEntry};
use crate::domain::cms::policy::facts::{Workflow, seconds};
use crate::domain::cms::policy::pool::Pool;
use crate::engine::Engine;
use crate::event::Status;
use crate::id::Name;
use crate::state::State;
use crate::state::ledger::USER;
use crate::unit::{Millis, SECOND};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most workflows, users and drains that a glance lists.
const WORKFLOWS_MAX: usize = 1_000;
const USERS_MAX: usize = 200;
const DRAINS_MAX: usize = 200;

/// A pool as of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolGlance {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Jobs that wait for slots.
    pub idle: u64,
    /// The fewest cores that they take.
    pub idle_cores: u64,
    /// Jobs in state `held`: they wait, and for no offer. In a pool of HTCondor also those that are
    /// left to it.
    pub on_hold: u64,
    /// Jobs that were matched and are not seen to run yet.
    pub held: u64,
    /// Jobs that run.
    pub running: u64,
    /// Workflows that are neither ended nor killed.
    pub workflows_open: u64,
    /// Those of which jobs have slots.
    pub workflows_served: u64,
    /// Those of which jobs are idle and none has a slot.
    pub workflows_waiting: u64,
    /// Idle jobs by reason, most jobs first. In sum they are all of them.
    pub idle_by_reason: Vec<IdleReason>,
    /// Open workflows, most idle jobs first, then most on hold.
    pub workflows: Vec<WorkflowAt>,
    /// Users with jobs that run, are idle or on hold, the largest share first.
    pub users: Vec<UserOfPool>,
    /// Use of each class, and its part of the quotas of all sites.
    pub classes: Vec<ClassUse>,
    /// Nodes that are kept free for a job, the newest first.
    pub drains: Vec<Drain>,
    /// How many there are.
    pub drains_open: u64,
    /// The live offers.
    pub offers: Offers,
}

/// Idle jobs that lack the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleReason {
    /// Filter, or another reason, by its name in records.
    pub filter: &'static str,
    /// The same for a reader.
    pub title: String,
    /// Its meaning, or what would let them go.
    pub help: String,
    /// How many jobs.
    pub jobs: u64,
}

/// An open workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowAt {
    /// Its name.
    pub workflow: String,
    /// Its class.
    pub class: &'static str,
    /// Its user.
    pub user: String,
    /// Its working group; empty: none.
    pub group: String,
    /// Its priority.
    pub priority: i64,
    /// Its jobs, if that is stated.
    pub total: Option<u64>,
    /// Jobs that got slots, or were removed: those that have some, finished, or are over for good.
    pub given: u64,
    /// Jobs that wait.
    pub idle: u64,
    /// Why most of them do; empty if none does.
    pub reason: &'static str,
    /// Jobs in state `held`.
    pub on_hold: u64,
    /// Jobs that have slots.
    pub running: u64,
    /// Jobs that finished.
    pub finished: u64,
    /// Jobs that failed for good or were removed: the state does not tell these apart.
    pub failed: u64,
    /// When a job of it last got slots; `None`: none did, or none of which the state still knows.
    pub last_match_at: Option<Millis>,
    /// When it was injected.
    pub injected_at: Option<Millis>,
}

/// A user of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserOfPool {
    /// Name.
    pub user: String,
    /// The first of its groups; empty: none is known.
    pub group: String,
    /// What fair share goes by: its decayed use with what it holds; thousandths of cores by power.
    pub share_milli: u64,
    /// Jobs that run.
    pub running: u64,
    /// Their cores.
    pub running_cores: u64,
    /// Jobs that wait.
    pub idle: u64,
    /// Jobs in state `held`.
    pub on_hold: u64,
}

/// A node that is kept free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Node.
    pub node: String,
    /// Its site.
    pub site: String,
    /// The job that it is kept free for.
    pub job: String,
    /// When it was begun.
    pub since: Millis,
    /// When it is expected to be free.
    pub until: Millis,
    /// Cores that the job takes at least.
    pub cores: u64,
}

/// Live offers with cores left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// How many.
    pub live: u64,
    /// Cores that are left of them.
    pub cores_free: u64,
    /// When the oldest was announced.
    pub oldest_at: Option<Millis>,
    /// When the newest was announced.
    pub newest_at: Option<Millis>,
}

impl PoolGlance {
    /// The pool as the last cycle left it; `None`: no policy answers offers.
    pub fn of(engine: &Engine) -> Option<PoolGlance> {
        let (state, idle) = (&engine.state, engine.idle()?);
        let pool = &*idle.pool;
        let jobs = |status: Status| -> u64 {
            let rows = state.ledger.queue.iter();
            rows.map(|(_, row)| u64::from(row.count.jobs()[status.index()])).sum()
        };
        let (running, on_hold) = (jobs(Status::Running), jobs(Status::Held));
        let (mut workflows, held) = workflows(pool, &idle.by_workflow);
        if on_hold > 0 {
            let of = state.on_hold();
            let count = |it: &mut WorkflowAt| of.get(&*it.workflow).copied().unwrap_or(0);
            workflows.iter_mut().for_each(|it| it.on_hold = count(it));
        }
        let workflows_open = workflows.len() as u64;
        let workflows_served = workflows.iter().filter(|it| it.running > 0).count() as u64;
        let is_waiting = |it: &&WorkflowAt| it.running == 0 && it.idle > 0;
        let workflows_waiting = workflows.iter().filter(is_waiting).count() as u64;
        let users = users(state, pool, &workflows);
        workflows.sort_by(|a, b| {
            let jobs = (b.idle, b.on_hold).cmp(&(a.idle, a.on_hold));
            jobs.then_with(|| a.workflow.cmp(&b.workflow))
        });
        workflows.truncate(WORKFLOWS_MAX);
        let drains = drains(pool);
        let cores =
            pool.clusters().iter().map(|it| it.len() as u64 * count(it.signature.cores_min));
        Some(PoolGlance {
            now: state.now,
            cycle: state.number,
            idle: idle.by_reason.values().sum(),
            idle_cores: cores.fold(0, u64::saturating_add),
            on_hold,
            held: held.saturating_sub(running),
            running,
            workflows_open,
            workflows_served,
            workflows_waiting,
            idle_by_reason: by_reason(&idle.by_reason),
            workflows,
            users,
            classes: class_use(pool),
            drains_open: drains.len() as u64,
            drains: drains.into_iter().take(DRAINS_MAX).collect(),
            offers: offers(state),
        })
    }
}

/// A number that is never below 0.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn by_reason(found: &BTreeMap<&'static str, u64>) -> Vec<IdleReason> {
    let reasons = found.iter().map(|(filter, jobs)| {
        let (title, help) = words(filter);
        IdleReason { filter, title, help, jobs: *jobs }
    });
    let mut reasons: Vec<IdleReason> = reasons.collect();
    reasons.sort_by_key(|it| Reverse(it.jobs));
    reasons
}

/// The open workflows, and how many jobs have slots, those of ended workflows included.
fn workflows(pool: &Pool, idle: &BTreeMap<(Name, &'static str), u64>) -> (Vec<WorkflowAt>, u64) {
    let (mut open, mut all_held) = (Vec::new(), 0);
    let reason = |name: Name| {
        let of_workflow = idle.range((name, "")..).take_while(|((it, _), _)| *it == name);
        of_workflow.max_by_key(|(_, jobs)| **jobs).map_or("", |((_, reason), _)| reason)
    };
    for (name, entry, workflow) in pool.workflows() {
        let counters = pool.counters().workflow(name);
        let held = count(counters.held);
        all_held += held;
        if workflow.is_live() {
            let open_one = workflow_at(entry, workflow, held, count(counters.pending));
            open.push(WorkflowAt { reason: reason(name), ..open_one });
        }
    }
    (open, all_held)
}

fn workflow_at(entry: &WorkflowEntry, workflow: Workflow<'_>, held: u64, idle: u64) -> WorkflowAt {
    let (known, record) = (workflow.known, workflow.record);
    let (finished, failed) = (count(known.done), count(known.failed_final));
    WorkflowAt {
        workflow: known.workflow.clone(),
        class: record.facts.class.name(),
        user: record.user.clone(),
        group: record.working_group.clone(),
        priority: workflow.priority(),
        total: record.facts.total_jobs.map(count),
        given: held + finished + failed,
        idle,
        reason: "",
        on_hold: 0,
        running: held,
        finished,
        failed,
        last_match_at: entry.last_given_s.map(|at_s| at_s.saturating_mul(SECOND)),
        injected_at: Some(record.injected_at).filter(|at| *at > 0),
    }
}

fn users(state: &State, pool: &Pool, workflows: &[WorkflowAt]) -> Vec<UserOfPool> {
    let mut users: BTreeMap<&str, UserOfPool> = BTreeMap::new();
    for ([user, kind, ..], totals) in state.ledger.owner.iter() {
        if kind == USER && totals.running_jobs > 0 {
            let it = users.entry(state.names.text(Name(user))).or_default();
            (it.running, it.running_cores) = (totals.running_jobs, totals.running_cores);
        }
    }
    for it in workflows.iter().filter(|it| it.idle + it.on_hold > 0) {
        let user = users.entry(&it.user).or_default();
        (user.idle, user.on_hold) = (user.idle + it.idle, user.on_hold + it.on_hold);
    }
    let growth = pool.decay().growth(seconds(state.now));
    let mut users: Vec<UserOfPool> = users
        .into_iter()
        .filter(|(user, _)| !user.is_empty())
        .map(|(user, it)| {
            let name = pool.name(user);
            let usage = name.map(|name| &pool.counters().user(name).usage);
            let share = usage.map_or(0, |usage| usage.fair_share_milli(growth));
            let (user, group) =
                (user.to_owned(), name.map_or_else(String::new, |name| group(pool, name)));
            UserOfPool { user, group, share_milli: u64::try_from(share).unwrap_or(0), ..it }
        })
        .collect();
    users.sort_by_key(|it| Reverse((it.share_milli, it.running, it.idle, it.on_hold)));
    users.truncate(USERS_MAX);
    users
}

/// The first group of a user.
fn group(pool: &Pool, user: Name) -> String {
    let group = pool.user(user).and_then(|entry| entry.groups.first());
    group.map_or_else(String::new, |group| pool.text(*group).to_owned())
}

fn drains(pool: &Pool) -> Vec<Drain> {
    let mut drains: Vec<Drain> = pool
        .open_drains()
        .map(|(node, drain)| {
            let cores = pool.job(&drain.job).map(Standing::job).map(|job| job.cores_min);
            Drain {
                node: node.node.clone(),
                site: node.site.clone(),
                job: drain.job.clone(),
                since: drain.since,
                until: drain.until_s.saturating_mul(SECOND),
                cores: count(cores.unwrap_or(node.cores_total)),
            }
        })
        .collect();
    drains.sort_by_key(|it| Reverse(it.since));
    drains
}

fn offers(state: &State) -> Offers {
    let live = live_offers(state);
    let all = || live.values().flatten();
    let announced = || all().map(|offer| offer.changed_at);
    Offers {
        live: all().count() as u64,
        cores_free: all().map(|it| count(it.cores_left())).fold(0, u64::saturating_add),
        oldest_at: announced().min(),
        newest_at: announced().max(),
    }
}
