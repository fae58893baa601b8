//! Requests that wait for too long, that are throttled, or that were rejected for good.

use super::facts::Facts;
use super::words::{count, figure, jobs, span, things};
use super::{Item, NAMES_MAX, Severity};
use crate::waiting::{Helps, title};
use std::collections::BTreeMap;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::policy::rule::Rule;
use yardmaster_core::state::admit::remedy;
use yardmaster_wire::topology::AttentionSettings;

/// So many throttles of a rule are described in its sentence.
const DESCRIBED: usize = 3;

pub(super) fn items(facts: &Facts<'_>, settings: &AttentionSettings) -> Vec<Item> {
    let mut items = old(facts, settings);
    items.extend(throttled(facts));
    items.extend(rejected(facts));
    items
}

/// One item for each reason.
fn old(facts: &Facts<'_>, settings: &AttentionSettings) -> Vec<Item> {
    let item = |((helps, reason), old): (&(Helps, String), &super::facts::OldRequests)| {
        let (asked_at, oldest) = old.oldest.clone()?;
        let (severity, remedy) = match helps {
            Helps::Turn => (Severity::Act, "not one of them was judged"),
            Helps::Configuration => {
                (Severity::Watch, "waiting does not help: another configuration or request does")
            }
            Helps::Throttle => (Severity::Note, "they go once the throttle is lifted"),
            Helps::Time => (Severity::Note, "they go by themselves once figures move"),
        };
        let requests = things(old.requests, "request waits", "requests wait");
        let span_of = span(facts.now().saturating_sub(asked_at));
        Some(Item {
            severity,
            rule: "request_age",
            kind: "request",
            name: reason.clone(),
            names: vec![oldest.clone()],
            title: format!("{requests} for more than {} h: {}", settings.request_h, title(reason)),
            text: format!(
                "The oldest, {oldest}, asked {span_of} ago; they ask for {}; {remedy}.",
                jobs(old.jobs)
            ),
            since: Some(asked_at),
            count: old.requests,
        })
    };
    facts.old.iter().filter_map(item).collect()
}

/// One item for each rule that holds anybody.
fn throttled(facts: &Facts<'_>) -> Vec<Item> {
    let mut by_rule: BTreeMap<(&str, bool), Vec<&Throttle>> = BTreeMap::new();
    let throttles = facts.state.throttles.iter().map(|(_, throttle)| throttle);
    for throttle in throttles.filter(|it| it.stands(facts.now())) {
        by_rule.entry((&throttle.rule, throttle.dry_run)).or_default().push(throttle);
    }
    by_rule.into_iter().filter_map(|((rule, dry_run), all)| held(rule, dry_run, all)).collect()
}

fn held(rule: &str, dry_run: bool, mut all: Vec<&Throttle>) -> Option<Item> {
    all.sort_by(|a, b| (b.measured / b.limit).total_cmp(&(a.measured / a.limit)));
    let first = all.first()?;
    let one = |it: &&Throttle| {
        let (measured, limit) = (figure(it.measured), figure(it.limit));
        format!("{}: {measured} {}, limit {limit}", it.subject, it.unit)
    };
    let mut text = all.iter().take(DESCRIBED).map(one).collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(DESCRIBED) {
        0 => text.push('.'),
        more => text.push_str(&format!("; and {} more.", count(more as u64))),
    }
    let help = Rule::from_name(rule).map_or("a rule of another version", |it| it.text().help);
    let would = if dry_run { "would be" } else { "is" };
    let title = match all.len() {
        1 => format!("{} {would} throttled: {help}", first.subject),
        many => {
            let would = if dry_run { "would be" } else { "are" };
            format!("{many} {}s {would} throttled: {help}", first.kind.name())
        }
    };
    Some(Item {
        severity: if dry_run { Severity::Note } else { Severity::Watch },
        rule: "throttled",
        kind: first.kind.name(),
        name: if all.len() == 1 { first.subject.clone() } else { rule.to_owned() },
        names: all.iter().take(NAMES_MAX).map(|it| it.subject.clone()).collect(),
        title,
        text,
        since: all.iter().map(|it| it.since()).min(),
        count: all.len() as u64,
    })
}

/// One item for all that were rejected for good: the reasons, the most frequent first, and the
/// remedy for that one.
fn rejected(facts: &Facts<'_>) -> Option<Item> {
    let by_reason = facts.rejected.by_reason(facts.now());
    let mut reasons: Vec<(&str, u64)> = by_reason.iter().map(|(it, of)| (*it, of.0)).collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let (first, _) = *reasons.first()?;
    let all: u64 = reasons.iter().map(|(_, number)| number).sum();
    let requests = match facts.is_of_pool() {
        true => things(all, "job was", "jobs were"),
        false => things(all, "request was", "requests were"),
    };
    let words = |reason: &str| reason.replace('_', " ");
    let listed = reasons.iter().take(DESCRIBED);
    let mut text: Vec<String> =
        listed.map(|(reason, number)| format!("{}: {}", words(reason), count(*number))).collect();
    match reasons.len().saturating_sub(DESCRIBED) {
        0 => {}
        1 => text.push("one other reason".to_owned()),
        more => text.push(format!("{more} other reasons")),
    }
    let remedy = remedy(first).map(|remedy| match reasons.len() {
        1 => format!(" The remedy: {remedy}."),
        _ => format!(" The remedy for {}: {remedy}.", words(first)),
    });
    Some(Item {
        severity: Severity::Watch,
        rule: "rejected",
        kind: "request",
        name: first.to_owned(),
        names: reasons.iter().take(NAMES_MAX).map(|(reason, _)| (*reason).to_owned()).collect(),
        title: format!("{requests} rejected for good in 24 h"),
        text: format!("{}.{}", text.join(", "), remedy.unwrap_or_default()),
        since: by_reason.values().map(|(_, since)| *since).min(),
        count: all,
    })
}
