//! Tails of central workflows go first (C-16).

use super::decision::Action;
use super::effective::is_boosted;
use super::facts::{Class, Workflow};
use super::pool::Pool;
use super::settings::Settings;

/// The workflows whose tails begin now, as far as there is room for more: those with the least
/// work left first.
pub fn boosts(pool: &Pool) -> Vec<Action> {
    let settings = pool.settings();
    let mut boosted = 0;
    let mut ready: Vec<(i64, &str, i64)> = Vec::new();
    for (name, _, record) in pool.workflows() {
        let counters = pool.counters().workflow(name);
        if !record.status.is_live() || record.class != Class::Central {
            continue;
        }
        if is_boosted(record) {
            boosted += i64::from(counters.pending + counters.held > 0);
        } else if counters.pending > 0 && is_tail(record, settings) {
            let priority = record.priority.value.max(settings.tail_priority);
            ready.push((counters.pending_cores, &record.workflow, priority));
        }
    }
    ready.sort_unstable();
    let room = (settings.max_tail_workflows - boosted).max(0) as usize;
    let boost = |(_, workflow, effective_priority): (i64, &str, i64)| Action::Boosted {
        workflow: workflow.to_owned(),
        effective_priority,
    };
    ready.into_iter().take(room).map(boost).collect()
}

/// Whether enough of a workflow is done, and operations did not end its boost.
fn is_tail(record: &Workflow, settings: &Settings) -> bool {
    let Some(total) = record.total_jobs else { return false };
    let permille = record.tail_permille.unwrap_or(settings.tail_permille);
    let done = i128::from(record.done_jobs) + i128::from(record.failed_final_jobs);
    let is_there = done * 1000 >= i128::from(permille) * i128::from(total);
    !record.boosted && !record.priority.override_tail && is_there
}
