//! The values of a workflow's record that are in force (C-14, C-16, C-47).

use super::facts::{Class, Workflow};
use super::settings::Settings;
use crate::domain::cms::state::TEST_JOBS_MAX;
use crate::event::WorkflowFacts;

/// How many of a workflow's jobs are test jobs (C-47).
pub fn effective_test_jobs(facts: &WorkflowFacts, settings: &Settings) -> i64 {
    let own = facts.test_jobs.unwrap_or(settings.test_jobs.of(facts.class));
    facts.total_jobs.map_or(own, |total| own.min(total)).clamp(0, TEST_JOBS_MAX)
}

/// Whether the job at a place in a workflow is one of its first so many, which test it (C-47);
/// places count from 1.
pub fn is_test_member(seq: i64, test_jobs: i64) -> bool {
    (1..=test_jobs).contains(&seq)
}

/// The priority of a workflow as its jobs have it: a boosted tail has at least that of tails
/// (C-14, C-16).
pub fn effective_priority(workflow: Workflow<'_>, settings: &Settings) -> i64 {
    match is_boosted(workflow) {
        true => workflow.priority().max(settings.tail_priority),
        false => workflow.priority(),
    }
}

/// Whether a boost is in force: operations may have ended it (C-16).
pub fn is_boosted(workflow: Workflow<'_>) -> bool {
    let is_central = workflow.facts().class == Class::Central;
    workflow.known.boosted && is_central && !workflow.ends_boost()
}
