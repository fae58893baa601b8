//! What the CMS policy decides, in the shape of what was recorded.

use serde_json::{Map, Value, json};
use std::sync::Arc;
use yardmaster_core::policy::cms::admission::Admitted;
use yardmaster_core::policy::cms::cut::Cut;
use yardmaster_core::policy::cms::decision::{Action, Assignment};
use yardmaster_core::policy::cms::facts::{Class, CoresMax, PendingJob};
use yardmaster_core::policy::cms::judge::{Explained, RankValue};
use yardmaster_core::policy::cms::quota::SiteTerms;

/// A whole cut.
pub(super) fn cut(cut: &Cut) -> Value {
    let offers = cut.served.iter().map(|served| {
        let mut shown = json!({
            "offer": served.open.offer.offer,
            "site": served.open.offer.site,
            "cores_left": served.open.cores_left,
            "first_look": look(&served.first_look),
        });
        if let Some(last) = &served.last_look {
            shown["last_look"] = look(last);
        }
        if !served.first_look.test_cap.is_empty() {
            shown["test_cap"] = names(&served.first_look.test_cap);
        }
        shown
    });
    json!({
        "assignments": cut.assignments.iter().map(assignment).collect::<Vec<Value>>(),
        "offers": offers.collect::<Vec<Value>>(),
        "commands": cut.actions.iter().map(command).collect::<Vec<Value>>(),
    })
}

fn look(look: &Explained) -> Value {
    let refused: Map<String, Value> =
        look.not_eligible.iter().map(|(code, jobs)| ((*code).to_owned(), names(jobs))).collect();
    json!({"eligible": look.eligible, "not_eligible": refused})
}

fn names(jobs: &[Arc<str>]) -> Value {
    jobs.iter().map(|job| Value::from(&**job)).collect()
}

fn assignment(assignment: &Assignment) -> Value {
    let rank: Map<String, Value> = assignment
        .rank
        .iter()
        .map(|(name, value)| {
            let value = match value {
                RankValue::Number(value) => json!(*value as i64),
                RankValue::Text(text) => json!(text),
            };
            ((*name).to_owned(), value)
        })
        .collect();
    let mut shown = json!({
        "offer": assignment.offer,
        "job": &*assignment.job,
        "site": assignment.site,
        "class": assignment.class.name(),
        "band": assignment.band.number(),
        "cores": assignment.cores,
        "weight_milli": assignment.weight_milli,
        "wall_time_s": assignment.wall_time_s,
        "rss_mb": assignment.rss_mb,
        "rank": rank,
    });
    let texts = [
        ("overflow_source", &assignment.overflow_source),
        ("charged_group", &assignment.charged_group),
        ("io_source_site", &assignment.io_source_site),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            shown[name] = json!(value);
        }
    }
    if let Some(comparison) = &assignment.comparison {
        shown["class_comparison"] = json!({
            "central_used_milli": comparison.used.central,
            "central_quota_milli": comparison.quota.central,
            "analysis_used_milli": comparison.used.analysis,
            "analysis_quota_milli": comparison.quota.analysis,
            "preferred": comparison.preferred.name(),
            "taken": assignment.class.name(),
        });
    }
    shown
}

fn command(action: &Action) -> Value {
    match action {
        Action::ReservationExpired { job } => {
            json!({"command": "reservation.expired", "rule": "C-58", "job": &**job})
        }
        Action::Boosted { workflow, effective_priority } => json!({
            "command": "workflow.boosted", "rule": "C-16", "workflow": workflow,
            "effective_priority": effective_priority,
        }),
        Action::Kill { workflow, reason, pending_jobs } => json!({
            "command": "workflow.kill", "rule": "C-49", "workflow": workflow, "reason": reason,
            "pending_jobs": names(pending_jobs),
        }),
        Action::Alert { workflow, reason } => json!({
            "command": "workflow.alert", "rule": "C-49", "workflow": workflow, "reason": reason,
        }),
        Action::TestPassed { workflow } => {
            json!({"command": "workflow.test_passed", "rule": "C-50", "workflow": workflow})
        }
        Action::ProfileUpdated { workflow, profile } => json!({
            "command": "workflow.profile_updated", "rule": "C-50", "workflow": workflow,
            "wall_s": profile.wall_s, "rss_mb": profile.rss_mb,
        }),
        Action::DrainNode { drain, need_cores, idle_core_s, .. } => json!({
            "command": "node.drain", "rule": "C-55", "node": drain.node, "site": drain.site,
            "job": &*drain.job, "need_cores": need_cores, "until_s": drain.until_s,
            "idle_core_s": idle_core_s,
        }),
        Action::DrainCancelled { node, job } => {
            json!({"command": "node.drain_cancelled", "rule": "C-55", "node": node, "job": &**job})
        }
    }
}

/// A job that was accepted.
pub(super) fn accepted(job: &PendingJob, admitted: &Admitted) -> Value {
    let most = match admitted.cores_max {
        CoresMax::Cores(cores) => json!(cores),
        CoresMax::Node => json!("node"),
    };
    let mut shown = json!({
        "class": admitted.class.name(),
        "queued_at_s": job.queued_at_s,
        "allow_overflow": admitted.allow_overflow,
        "high_io": admitted.high_io,
        "system_job": job.system_job,
        "cores_min": job.cores_min,
        "cores_max": most,
        "whole_node": job.whole_node,
        "max_wall_time_s": admitted.max_wall_time_s,
        "max_rss_mb": admitted.max_rss_mb,
        "test_member": admitted.test_member,
    });
    if let Some(sites) = &admitted.site_whitelist {
        shown["site_whitelist"] = json!(sites);
    }
    let mut result = json!({"verdict": "accept", "job": shown});
    if !admitted.unknown_sites.is_empty() {
        result["unknown_sites"] = json!(admitted.unknown_sites);
    }
    if admitted.site_whitelist.as_ref().is_some_and(Vec::is_empty) {
        result["pending_code"] = json!("no_known_site");
    }
    result
}

/// What holds at a site.
pub(super) fn in_force(terms: &SiteTerms) -> Value {
    let restricted: Map<String, Value> =
        terms.restricted.iter().map(|pool| (pool.group.clone(), json!(pool.milli))).collect();
    let surplus = |class: Class| terms.accept_surplus.of(class);
    json!({
        "revision": terms.revision,
        "kappa_milli": terms.kappa_milli,
        "central_slots": terms.slots.central,
        "analysis_slots": terms.slots.analysis,
        "central_quota_milli": terms.quota.central,
        "analysis_quota_milli": terms.quota.analysis,
        "restricted_milli": restricted,
        "overflow_slots": terms.overflow_slots,
        "high_io_slots": terms.high_io_slots,
        "accept_surplus": {
            "central": surplus(Class::Central), "analysis": surplus(Class::Analysis),
        },
    })
}
