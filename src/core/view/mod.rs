//! The grid at a glance, as of a cycle, for page, `top`, metrics and history: each domain in words
//! of its own. It is made when somebody looks, of counters, configuration and offers, never of
//! single jobs.

pub(crate) mod row;
mod usage;

pub use crate::domain::cms::view::classes::ClassUse;
pub use crate::domain::cms::view::pool::{
    Drain, IdleReason, Offers, PoolGlance, UserOfPool, WorkflowAt,
};
pub use crate::domain::nordugrid::view::{ClusterJobs, Cpus, GridGlance, STATUSES};
pub use row::{ViewRow, ViewRows};
pub use usage::{GridUsage, IdleJob, JobsOf, OwnerUsage, ShareUsage, each_idle, jobs_by_class};

use crate::domain::atlas::view as atlas;
use crate::domain::cms::view as cms;
use crate::domain::cms::view::classes::class_use;
use crate::domain::nordugrid::view as nordugrid;
use crate::domain::own::view as own;
use crate::engine::Engine;
use crate::judge::share::share_use;
use crate::policy::Policy;
use crate::unit::Millis;

/// The grid as of a cycle.
#[derive(Clone, Debug)]
pub struct View {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Requests that wait for an answer or for a better one; of a pool, its idle jobs. `None`: not
    /// known, for nothing was judged since all was made again.
    pub requests_open: Option<u64>,
    /// Kind of the rows.
    pub of: RowKind,
    /// Every queue, or site of a pool, that a fact or a job names, by name.
    pub rows: Vec<ViewRow>,
    /// Leaf shares, by name; of a pool its classes of jobs.
    pub shares: Vec<ShareGlance>,
}

/// A leaf share, or a class of a pool's jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareGlance {
    /// Its name.
    pub gshare: String,
    /// Its part of the running power, from 0 to 1.
    pub part: f64,
    /// Its part by the tree of shares, of a class by the quotas of all sites; from 0 to 1.
    pub target: f64,
}

/// Kind of the rows of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Queues.
    Queues,
    /// Sites of a pool of slots.
    Sites,
    /// Queues of clusters.
    ClusterQueues,
    /// Candidates of a domain that a program brings.
    Own,
}

impl RowKind {
    /// That of the policies that answer.
    pub fn of(policies: &[Policy]) -> RowKind {
        let any = |is: fn(&Policy) -> bool| policies.iter().any(is);
        if any(|it| it.flavour.judges_offers()) {
            RowKind::Sites
        } else if any(|it| it.flavour.judges_targets()) {
            RowKind::ClusterQueues
        } else if any(|it| it.flavour.domain().is_some()) {
            RowKind::Own
        } else {
            RowKind::Queues
        }
    }

    /// The word for several of them.
    pub const fn noun(self) -> &'static str {
        match self {
            RowKind::Queues | RowKind::Own => "queues",
            RowKind::Sites => "sites",
            RowKind::ClusterQueues => "cluster queues",
        }
    }
}

impl View {
    /// The grid as the last cycle left it.
    pub fn of(engine: &Engine) -> View {
        let state = &engine.state;
        let mut rows = ViewRows::of(state);
        let of = RowKind::of(engine.policies());
        match of {
            RowKind::Queues => atlas::describe(&mut rows, state),
            RowKind::Sites => cms::describe(&mut rows, state),
            RowKind::ClusterQueues => nordugrid::describe(&mut rows, engine),
            RowKind::Own => {
                atlas::describe(&mut rows, state);
                own::describe(&mut rows, engine);
            }
        }
        rows.note_marks(state);
        let open = || engine.open_requests().map(|_| engine.waiting() as u64);
        let mut shares = match of {
            RowKind::Sites => shares_of_pool(engine),
            RowKind::Queues | RowKind::ClusterQueues | RowKind::Own => share_use(state)
                .into_iter()
                .map(|it| ShareGlance { gshare: it.gshare, part: it.part, target: it.target })
                .collect(),
        };
        shares.sort_by(|a, b| a.gshare.cmp(&b.gshare));
        View {
            now: state.now,
            cycle: state.number,
            requests_open: engine.idle_jobs().or_else(open),
            of,
            rows: rows.finish(),
            shares,
        }
    }
}

/// The classes of a pool's jobs, against what the quotas of its sites give them.
fn shares_of_pool(engine: &Engine) -> Vec<ShareGlance> {
    let classes = engine.pool_at().map(|pool| class_use(&pool)).unwrap_or_default();
    let share =
        |it: ClassUse| ShareGlance { gshare: it.class.to_owned(), part: it.part, target: it.quota };
    classes.into_iter().map(share).collect()
}
