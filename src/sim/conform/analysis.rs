//! Figures of a case of analysis: the owner, and users at each queue.

use super::json::{count, entries, items, number, text, whole};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::policy::{Owner, Totals, UserView};

/// Whose work a case is.
pub fn owner(scenario: &Value) -> Owner {
    let (analysis, gshare) = (&scenario["analysis"], text(&scenario["task"]["gshare"]));
    let totals = &analysis["owner_totals"];
    let total = |name: &str| whole(&totals[name]).max(0) as u64;
    let usage = &analysis["gshare_usage"];
    let level1 = &usage[format!("L1 {gshare}")];
    let mut owner = Owner {
        totals: totals.is_object().then(|| Totals {
            running_jobs: total("running_jobs"),
            queued_jobs: total("queued_jobs"),
            running_cores: total("running_cores"),
            queued_cores: total("queued_cores"),
            reserved_jobs: 0,
            reserved_cores: 0,
        }),
        share_usage: number(&usage[&gshare]["usage_fraction"]),
        level1_usage: number(&level1["equivalent_usage_fraction"]),
        task_class: number(&analysis["task_class"]).map(|class| class as i8),
        remaining_slots: number(&analysis["user_eval"]["remaining_slots_class_a"]),
        ..Owner::default()
    };
    let quota = &scenario["quota"];
    let used = |it: &Value| {
        let limit = number(&it["limit_bytes"]).filter(|limit| *limit > 0.0)?;
        Some(number(&it["used_bytes"])? / limit)
    };
    owner.quota_used = items(&quota["global"]).filter_map(used).reduce(f64::max);
    owner.full_endpoints = items(&quota["local"])
        .filter(|it| used(it).is_some_and(|used| used >= 1.0))
        .map(|it| text(&it["endpoint"]))
        .collect();
    for (_, shares) in entries(&scenario["stats"]["jobs"]) {
        for (state, jobs) in entries(&shares[&gshare]) {
            match state.as_str() {
                "running" => owner.share_running += u64::from(count(jobs)),
                "defined" | "assigned" | "activated" | "starting" => {
                    owner.share_queued += u64::from(count(jobs));
                }
                _ => {}
            }
        }
    }
    owner
}

/// What is known of users at each queue, by its unified name.
pub fn users(scenario: &Value) -> BTreeMap<String, UserView> {
    let (analysis, task) = (&scenario["analysis"], &scenario["task"]);
    let (user, gshare) = (text(&task["user_name"]), text(&task["gshare"]));
    let mut views: BTreeMap<String, UserView> = BTreeMap::new();
    for (queue, shares) in entries(&analysis["user_jobs"]) {
        let Some(users) = shares[&gshare].as_object() else { continue };
        let view = views.entry(queue.clone()).or_default();
        view.users = Some(users.keys().filter(|name| *name != "_total").count() as u32);
        view.all_running = users.get("_total").map(|total| count(&total["running"]));
        if let Some(own) = users.get(&user) {
            view.present = true;
            (view.queued, view.running) = (count(&own["queued"]), count(&own["running"]));
        }
    }
    for (queue, rate) in entries(&analysis["to_running_rate_per_hour"]) {
        views.entry(queue.clone()).or_default().starts_per_hour = number(rate).unwrap_or(0.0);
    }
    for (queue, class) in entries(&analysis["queue_class"]) {
        views.entry(queue.clone()).or_default().site_class = whole(class) as i8;
    }
    for (queue, outcomes) in entries(&analysis["task_job_outcomes"]) {
        let view = views.entry(queue.clone()).or_default();
        view.finished = count(&outcomes["finished"]);
        view.failed = count(&outcomes["failed"]);
        view.closed = count(&outcomes["closed"]);
    }
    views
}
