//! Shares that are off their targets for long.

use super::facts::Facts;
use super::memory::Memory;
use super::words::jobs;
use super::{Item, Severity};
use yardmaster_wire::topology::{AttentionSettings, hours};

/// A share above its target takes what others leave; one below it is in trouble if jobs wait.
pub(super) fn items(
    facts: &Facts<'_>,
    settings: &AttentionSettings,
    memory: &mut Memory,
) -> Vec<Item> {
    let mut items = Vec::new();
    for share in &facts.view.shares {
        let points = 100.0 * (share.r#use - share.target);
        let wanted = facts.wanted.get(&share.gshare).copied().unwrap_or(0);
        let is_below = points < 0.0;
        if points.abs() < settings.share_points as f64 || is_below && wanted == 0 {
            continue;
        }
        let name = &share.gshare;
        let rule = if is_below { "share_below" } else { "share_above" };
        let since = memory.since(rule, name, facts.now());
        if facts.now().saturating_sub(since) < hours(settings.share_h) {
            continue;
        }
        let (used, target) = (100.0 * share.r#use, 100.0 * share.target);
        let (title, side, severity) = match is_below {
            true => ("gets less than its share", "below", Severity::Watch),
            false => ("has more than its share", "above", Severity::Note),
        };
        let waits = jobs(wanted);
        items.push(Item {
            severity,
            rule: "share_off",
            kind: "share",
            name: name.clone(),
            names: Vec::new(),
            title: format!("{name} {title}"),
            text: format!(
                "It has {used:.1} % of what runs, {:.1} points {side} its target of {target:.1} %; \
                 {waits} of it wait.",
                points.abs()
            ),
            since: Some(since),
            count: points.abs().round() as u64,
        });
    }
    items
}
