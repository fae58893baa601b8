//! Workflows (C-14, C-16, C-49).

use crate::domain::cms::state::{PoolWorkflow, PoolWorkflowRecord};
use crate::event::WorkflowFacts;

/// A workflow whose record was read.
#[derive(Clone, Copy, Debug)]
pub struct Workflow<'a> {
    /// All that is known of it.
    pub known: &'a PoolWorkflow,
    /// Its record.
    pub record: &'a PoolWorkflowRecord,
}

impl<'a> Workflow<'a> {
    /// A workflow of the state; `None`: its record was not read yet.
    pub fn of(known: &'a PoolWorkflow) -> Option<Workflow<'a>> {
        Some(Workflow { known, record: known.record.as_ref()? })
    }

    /// The statements of its record that the rules go by.
    pub fn facts(self) -> &'a WorkflowFacts {
        &self.record.facts
    }

    /// Whether its jobs may still be scheduled: it was not killed, and did not end.
    pub fn is_live(self) -> bool {
        !self.known.killed && !self.record.closed
    }

    /// Its priority: that of the highest revision (C-14).
    pub fn priority(self) -> i64 {
        self.known.priority.map_or(0, |stated| stated.priority)
    }

    /// Whether operations ended the boost of its tail (C-16).
    pub fn ends_boost(self) -> bool {
        self.known.priority.is_some_and(|stated| stated.override_tail)
    }
}
