//! Results of a cut: assignments of jobs to offers, and actions on workflows and nodes (A.8). Both
//! are facts: folding them changes the pool, making them does not.

use super::entry::Standing;
use super::judge::RankValue;
use super::pool::Pool;
use super::scaling::Needs;
use crate::domain::cms::output::Matched;
use crate::domain::cms::state::{PoolDrain, PoolWorkflow};
use crate::output::limit_use::LimitUse;
use std::sync::Arc;

/// A job gets a place of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Offer.
    pub offer: String,
    /// Its site.
    pub site: String,
    /// Workflow of the job.
    pub workflow: String,
    /// Its user.
    pub user: String,
    /// The job, and what it gets.
    pub matched: Matched,
    /// The rank vector: key and value, in order.
    pub rank: Vec<(&'static str, RankValue)>,
    /// The hard limits that applied (TS-07).
    pub limits: Vec<LimitUse>,
}

/// An action on a workflow or a node, beside the assignment of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolAction {
    /// The tail of a workflow goes first (C-16).
    Boosted {
        /// Workflow.
        workflow: String,
        /// Its priority from now on.
        effective_priority: i64,
    },
    /// All test jobs of a workflow failed: what waits is removed (C-49).
    Kill {
        /// Workflow.
        workflow: String,
        /// Why.
        reason: &'static str,
        /// Its jobs that wait, sorted.
        pending_jobs: Vec<Arc<str>>,
    },
    /// The same where operations are to decide (C-49).
    Alert {
        /// Workflow.
        workflow: String,
        /// Why.
        reason: &'static str,
    },
    /// The needs of a workflow's test jobs became known (C-50).
    ProfileUpdated {
        /// Workflow.
        workflow: String,
        /// Run time and memory of its jobs.
        profile: Needs,
    },
    /// A node is kept free for a job (C-55).
    DrainNode {
        /// Node.
        node: String,
        /// Its site.
        site: String,
        /// Job, and when the node is expected to be ready.
        drain: PoolDrain,
        /// Cores the job waits for.
        need_cores: i64,
        /// Core-seconds that idle until then (F-7).
        idle_core_s: i64,
    },
    /// A node is not drained any longer (C-55).
    DrainCancelled {
        /// Node.
        node: String,
        /// The job it was drained for.
        job: String,
    },
}

/// Lets an action take effect.
pub fn fold_action(pool: &mut Pool, action: &PoolAction) {
    match action {
        PoolAction::Boosted { workflow, .. } => change(pool, workflow, |it| it.boosted = true),
        PoolAction::Kill { workflow, pending_jobs, .. } => {
            for job in pending_jobs {
                if matches!(pool.job(job), Some(Standing::Pending(_))) {
                    pool.remove_job(job);
                }
            }
            change(pool, workflow, |it| it.killed = true);
        }
        PoolAction::Alert { workflow, .. } => change(pool, workflow, |it| it.alerted = true),
        PoolAction::ProfileUpdated { workflow, profile } => {
            change(pool, workflow, |it| it.profile = Some((profile.wall_s, profile.rss_mb)));
        }
        PoolAction::DrainNode { node, drain, .. } => {
            if let Some(node) = pool.nodes.get_mut(node) {
                node.drain_starts.push(drain.since);
                node.drain = Some(drain.clone());
            }
        }
        PoolAction::DrainCancelled { node, .. } => {
            if let Some(node) = pool.nodes.get_mut(node) {
                node.drain = None;
            }
        }
    }
}

fn change(pool: &mut Pool, workflow: &str, change: impl FnOnce(&mut PoolWorkflow)) {
    let entry = pool.name(workflow).and_then(|name| pool.workflow(name));
    let Some(mut known) = entry.map(|entry| entry.known.clone()) else { return };
    change(&mut known);
    pool.put_workflow(known);
}
