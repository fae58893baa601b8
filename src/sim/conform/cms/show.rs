//! The outputs of a case, in the shape of what was recorded.

use super::cut::{Cut, Given};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use yardmaster_core::domain::cms::policy::admission::Admitted;
use yardmaster_core::domain::cms::policy::facts::{CoresMax, PendingJob, Seconds};
use yardmaster_core::domain::cms::policy::judge::Explained;
use yardmaster_core::domain::cms::policy::quota::SiteTerms;
use yardmaster_core::domain::cms::policy::rank::KEYS;
use yardmaster_core::event::{Band, Class};
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::{Decision, Outcome};

/// A whole cut.
pub(super) fn cut(cut: &Cut, now_s: Seconds) -> Value {
    let offers = cut.served.iter().map(|served| {
        let mut shown = json!({
            "offer": served.offer,
            "site": served.site,
            "cores_left": served.cores_left,
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
    let released = cut.released.iter();
    let released =
        released.map(|job| json!({"command": "reservation.expired", "rule": "C-58", "job": job}));
    let commands = cut.commands.iter().filter_map(|it| command(it, now_s)).chain(released);
    json!({
        "assignments": cut.given.iter().filter_map(assignment).collect::<Vec<Value>>(),
        "offers": offers.collect::<Vec<Value>>(),
        "commands": commands.collect::<Vec<Value>>(),
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

/// The rank of a chosen job: the numbers that its decision has, and the names, in their order.
fn rank(decision: &Decision, factors: &[f64], is_shared: bool) -> Map<String, Value> {
    let numbers: BTreeMap<&str, i64> = decision
        .factor_names
        .iter()
        .zip(factors)
        .map(|(name, value)| (name.as_str(), *value as i64))
        .collect();
    let value = |name: &str| match name {
        "workflow" => Some(json!(decision.task)),
        "user" => is_shared.then(|| json!(decision.user)),
        _ => numbers.get(name).map(|value| json!(value)),
    };
    KEYS.iter()
        .filter_map(|key| Some((key.weight.name.to_owned(), value(key.weight.name)?)))
        .collect()
}

fn assignment(given: &Given) -> Option<Value> {
    let Given { decision, look } = given;
    let (Outcome::Assign(ranked), Some(matched)) = (&decision.outcome, &decision.matched) else {
        return None;
    };
    let chosen = ranked.first()?;
    let is_normal = matched.band == Band::Normal;
    let is_shared = is_normal && matched.class == Class::Analysis;
    let mut shown = json!({
        "offer": decision.subject,
        "job": matched.job,
        "site": chosen.queue,
        "class": matched.class.name(),
        "band": matched.band.number(),
        "cores": matched.cores,
        "weight_milli": matched.weight_milli,
        "wall_time_s": matched.wall_time_s,
        "rss_mb": matched.rss_mb,
        "rank": rank(decision, &chosen.factors, is_shared),
    });
    let texts = [
        ("overflow_source", &matched.overflow_source),
        ("charged_group", &matched.charged_group),
        ("io_source_site", &matched.io_source),
    ];
    for (name, value) in texts {
        if !value.is_empty() {
            shown[name] = json!(value);
        }
    }
    if is_normal {
        let compared = &look.comparison;
        shown["class_comparison"] = json!({
            "central_used_milli": compared.used.central,
            "central_quota_milli": compared.quota.central,
            "analysis_used_milli": compared.used.analysis,
            "analysis_quota_milli": compared.quota.analysis,
            "preferred": compared.preferred.name(),
            "taken": matched.class.name(),
        });
    }
    Some(shown)
}

/// A command; `None`: it reports what was held back.
fn command(command: &Command, now_s: Seconds) -> Option<Value> {
    let Command { kind, subject, queue, measured, limit, .. } = command;
    if command.held_back().is_some() {
        return Some(json!({"command": "held back", "why": command.held_back()}));
    }
    let reason = || command.notes.first().cloned().unwrap_or_default();
    let job = || command.jobs.first().cloned().unwrap_or_default();
    Some(match kind {
        CommandKind::Boost => json!({
            "command": "workflow.boosted", "rule": "C-16", "workflow": subject,
            "effective_priority": *measured as i64,
        }),
        CommandKind::KillWorkflow => json!({
            "command": "workflow.kill", "rule": "C-49", "workflow": subject, "reason": reason(),
            "pending_jobs": command.jobs,
        }),
        // The model that cases are recorded of knows no limits of sites.
        CommandKind::Alert if reason() == "no_site_can_host" => return None,
        CommandKind::Alert => json!({
            "command": "workflow.alert", "rule": "C-49", "workflow": subject, "reason": reason(),
        }),
        CommandKind::Profile => json!({
            "command": "workflow.profile_updated", "rule": "C-50", "workflow": subject,
            "wall_s": *measured as i64, "rss_mb": *limit as i64,
        }),
        CommandKind::Drain => json!({
            "command": "node.drain", "rule": "C-55", "node": subject, "site": queue,
            "job": job(), "need_cores": *limit as i64, "until_s": now_s + *measured as i64,
            "idle_core_s": idle_core_s(&reason()),
        }),
        CommandKind::Undrain => json!({
            "command": "node.drain_cancelled", "rule": "C-55", "node": subject, "job": job(),
        }),
        CommandKind::Rebroker | CommandKind::Reassign | CommandKind::Kill | CommandKind::Fail => {
            return None;
        }
    })
}

/// The figure of a note such as `idle_core_s(7200)`.
fn idle_core_s(note: &str) -> Option<i64> {
    note.strip_prefix("idle_core_s(")?.strip_suffix(')')?.parse().ok()
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

/// The limits that hold at a site.
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
