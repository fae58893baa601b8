//! Tails of central workflows go first (C-16).

use super::decision::PoolAction;
use super::effective::is_boosted;
use super::facts::{Class, Workflow};
use super::pool::Pool;
use super::settings::Settings;

/// The workflows whose tails begin now, as far as there is room for more: those with the least
/// work left first.
pub fn boosts(pool: &Pool) -> Vec<PoolAction> {
    let settings = pool.settings();
    let mut boosted = 0;
    let mut ready: Vec<(i64, &str, i64)> = Vec::new();
    for (name, _, workflow) in pool.workflows() {
        let counters = pool.counters().workflow(name);
        if !workflow.is_live() || workflow.facts().class != Class::Central {
            continue;
        }
        if is_boosted(workflow) {
            boosted += i64::from(counters.pending + counters.held > 0);
        } else if counters.pending > 0 && is_tail(workflow, settings) {
            let priority = workflow.priority().max(settings.tail_priority);
            ready.push((counters.pending_cores, &workflow.known.workflow, priority));
        }
    }
    ready.sort_unstable();
    let room = (settings.max_tail_workflows - boosted).max(0) as usize;
    let boost = |(_, workflow, effective_priority): (i64, &str, i64)| PoolAction::Boosted {
        workflow: workflow.to_owned(),
        effective_priority,
    };
    ready.into_iter().take(room).map(boost).collect()
}

/// Whether enough of a workflow is done, and operations did not end its boost.
fn is_tail(workflow: Workflow<'_>, settings: &Settings) -> bool {
    let (known, facts) = (workflow.known, workflow.facts());
    let Some(total) = facts.total_jobs else { return false };
    let permille = facts.tail_permille.unwrap_or(settings.tail_permille);
    let done = i128::from(known.done) + i128::from(known.failed_final);
    let is_there = done * 1000 >= i128::from(permille) * i128::from(total);
    !known.boosted && !workflow.ends_boost() && is_there
}
