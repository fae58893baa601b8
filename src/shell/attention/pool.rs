//! A pool of slots in trouble: nothing is offered, workflows get no slots.

use super::facts::Facts;
use super::memory::Memory;
use super::words::{jobs, span, things};
use super::{Item, NAMES_MAX, Severity};
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::{PoolGlance, WorkflowAt};
use yardmaster_wire::topology::{AttentionSettings, hours};

pub(super) fn items(
    facts: &Facts<'_>,
    settings: &AttentionSettings,
    memory: &mut Memory,
) -> Vec<Item> {
    let Some(pool) = &facts.pool else { return Vec::new() };
    let mut items: Vec<Item> = no_offer(pool).into_iter().collect();
    let mut by_reason: BTreeMap<&str, Vec<(Millis, &WorkflowAt)>> = BTreeMap::new();
    // Of a workflow that got slots it is not known when, once those jobs are forgotten.
    let is_known = |it: &&WorkflowAt| it.given == 0 || it.last_match_at.is_some();
    for it in pool.workflows.iter().filter(|it| it.idle > 0).filter(is_known) {
        let since = it.last_match_at.max(it.injected_at);
        let since = since.unwrap_or_else(|| memory.since("no_slots", &it.workflow, facts.now()));
        if facts.now().saturating_sub(since) >= hours(settings.workflow_h) {
            by_reason.entry(it.reason).or_default().push((since, it));
        }
    }
    let item = |(reason, all)| no_slots(pool, reason, all, (facts.now(), settings));
    items.extend(by_reason.into_iter().filter_map(item));
    items
}

/// Jobs wait, and not one offer is live.
fn no_offer(pool: &PoolGlance) -> Option<Item> {
    if pool.idle == 0 || pool.offers.live > 0 {
        return None;
    }
    Some(Item {
        severity: Severity::Act,
        rule: "no_offer",
        kind: "process",
        name: "offers".to_owned(),
        names: Vec::new(),
        title: "The pool has no live offer".to_owned(),
        text: format!("{} wait, and no pilot offers a slot.", jobs(pool.idle)),
        since: None,
        count: pool.idle,
    })
}

/// Workflows that wait for slots for one reason.
fn no_slots(
    pool: &PoolGlance,
    reason: &str,
    mut all: Vec<(Millis, &WorkflowAt)>,
    (now, settings): (Millis, &AttentionSettings),
) -> Option<Item> {
    all.sort_by_key(|(since, it)| (*since, &it.workflow));
    let (since, first) = *all.first()?;
    let idle: u64 = all.iter().map(|(_, it)| it.idle).sum();
    let words = pool.idle_by_reason.iter().find(|it| it.filter == reason);
    let (why, help) = words.map_or(("", ""), |it| (&it.title, &it.help));
    let title = match all.len() {
        1 => format!("{} gets no slots: {why}", first.workflow),
        many => format!(
            "{} got no slots for {} h: {why}",
            things(many as u64, "workflow", "workflows"),
            settings.workflow_h
        ),
    };
    Some(Item {
        severity: Severity::Watch,
        rule: "no_slots",
        kind: "workflow",
        name: if all.len() == 1 { first.workflow.clone() } else { reason.to_owned() },
        names: all.iter().take(NAMES_MAX).map(|(_, it)| it.workflow.clone()).collect(),
        title,
        text: format!(
            "{} wait, those of {} for {}: {help}.",
            jobs(idle),
            first.workflow,
            span(now.saturating_sub(since))
        ),
        since: Some(since),
        count: idle,
    })
}
