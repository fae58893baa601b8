//! Idle jobs of a pool of slots as rows, a workflow each.

use super::{Helps, WaitingRow};
use yardmaster_core::engine::Engine;
use yardmaster_core::state::blockers::Blockers;
use yardmaster_core::view::{PoolGlance, WorkflowAt};

/// Reasons that no time and no offer ends: a site, a workflow or a quota has to be another.
const FIXED: [&str; 6] =
    ["no_node", "no_known_site", "site_status", "class_not_admitted", "labels", "whitelist"];
/// Reasons of jobs that are next.
const NEXT: [&str; 2] = ["turn", "not_looked_at"];

/// Help that lets idle jobs go.
fn helps(reason: &str) -> Helps {
    match reason {
        fixed if FIXED.contains(&fixed) => Helps::Configuration,
        next if NEXT.contains(&next) || next.is_empty() => Helps::Turn,
        _ => Helps::Time,
    }
}

/// The workflows that have idle jobs.
pub(super) fn rows(glance: &PoolGlance, engine: &Engine) -> Vec<WaitingRow> {
    let policy = engine.policies().iter().find(|it| it.flavour.judges_offers());
    let policy = policy.map_or("", |it| it.spec.name.as_str());
    let idle = glance.workflows.iter().filter(|it| it.idle > 0);
    idle.map(|it| row(it, policy, glance)).collect()
}

fn row(it: &WorkflowAt, policy: &str, glance: &PoolGlance) -> WaitingRow {
    let words = glance.idle_by_reason.iter().find(|known| known.filter == it.reason);
    WaitingRow {
        subject: it.workflow.clone(),
        task: it.workflow.clone(),
        policy: policy.to_owned(),
        gshare: it.class.to_owned(),
        user: it.user.clone(),
        group: it.group.clone(),
        jobs: u32::try_from(it.idle).unwrap_or(u32::MAX),
        cores: None,
        asked_at: it.injected_at.unwrap_or(0),
        attempt: 0,
        answers: 0,
        judged_at: None,
        last_slots_at: it.last_match_at,
        jobs_with_slots: Some(it.given),
        first_judged_at: None,
        until: None,
        reason: it.reason.to_owned(),
        title: words.map_or_else(String::new, |words| words.title.clone()),
        help: words.map_or_else(String::new, |words| words.help.clone()),
        helps: helps(it.reason),
        held_by: None,
        blockers: Blockers::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_too_large_for_every_node_waits_in_vain_and_one_without_an_offer_does_not() {
        assert_eq!(helps("no_node"), Helps::Configuration);
        assert_eq!(helps("no_offer"), Helps::Time);
        assert_eq!(helps("turn"), Helps::Turn);
    }
}
