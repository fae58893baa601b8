//! Records as the pool keeps them, with what follows from them.

use super::facts::{HeldJob, PendingJob, Seconds, Workflow};
use crate::domain::cms::state::PoolWorkflow;
use crate::event::{Grant, User};
use crate::id::Name;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A job as the pool knows it.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It waits, in an autocluster.
    Pending(Box<PendingJob>),
    /// It runs, or a slot is reserved for it.
    Held(Box<HeldJob>),
}

impl Standing {
    /// The job as it waited.
    pub fn job(&self) -> &PendingJob {
        match self {
            Standing::Pending(job) => job,
            Standing::Held(held) => &held.job,
        }
    }

    /// When it got its slots; `None`: it waits.
    pub(super) fn given_s(&self) -> Option<Seconds> {
        match self {
            Standing::Pending(_) => None,
            Standing::Held(held) => Some(held.counts_from_s),
        }
    }
}

/// A workflow with what follows from its record.
#[derive(Clone, Debug, Default)]
pub struct WorkflowEntry {
    /// All that is known of it; without a record until that was seen.
    pub known: PoolWorkflow,
    /// Its user.
    pub user: Name,
    /// Its working group.
    pub group: Option<Name>,
    /// How many test jobs it has (C-47).
    pub test_jobs: i64,
    /// Sites of the explicit overflow list.
    pub overflow_list: Option<Vec<Name>>,
    /// Sites that ended jobs overflowed to: these stay for the workflow's life (C-40).
    pub overflow_used: Vec<Name>,
    /// Its jobs, waiting and held, by their place in it.
    pub jobs: BTreeSet<(i64, Arc<str>)>,
    /// When a job of it last got slots, of those that the state still had when the pool was made,
    /// and since; only for looks at it.
    pub last_given_s: Option<Seconds>,
}

impl WorkflowEntry {
    /// The workflow, once its record was seen.
    pub fn workflow(&self) -> Option<Workflow<'_>> {
        Workflow::of(&self.known)
    }
}

/// A user with what follows from the records.
#[derive(Clone, Debug, Default)]
pub struct UserEntry {
    /// The record, once seen.
    pub record: Option<User>,
    /// Groups, VOMS and site-defined.
    pub groups: Vec<Name>,
    /// Own grants.
    pub grants: Vec<usize>,
    /// X of F-3 of jobs that ended, at the landmark of the pool's clock.
    pub past_x: i128,
}

/// A grant by interned names.
#[derive(Clone, Debug)]
pub struct GrantEntry {
    /// The grant.
    pub grant: Grant,
    /// Its principal.
    pub principal: Name,
    /// The working group that a job must have, if any.
    pub only_with_group: Option<Name>,
    /// Its site, if it holds at one.
    pub site: Option<Name>,
}
