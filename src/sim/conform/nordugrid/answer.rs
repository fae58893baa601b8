//! A decision on a NorduGrid job in the shape of what was recorded.

use super::super::xrsl::alternative;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use yardmaster_core::domain::nordugrid::policy::case::JobCase;
use yardmaster_core::domain::nordugrid::policy::changes::TargetChanges;
use yardmaster_core::domain::nordugrid::policy::choice::Choice;
use yardmaster_core::domain::nordugrid::policy::decide::{JobSubmission, TargetDecision};
use yardmaster_core::domain::nordugrid::policy::discovery::Discovery;
use yardmaster_core::domain::nordugrid::policy::grid_facts::GridFacts;
use yardmaster_core::domain::nordugrid::policy::staging::{FileClass, Staging};
use yardmaster_core::domain::nordugrid::policy::target::TargetCandidate;
use yardmaster_core::domain::nordugrid::policy::windows::{UNLIMITED_S, Windows};
use yardmaster_core::draw::SeededDraw;
use yardmaster_core::policy::{Policy, Resolved};

/// Filters whose objection is published with what the job stages at the queue.
const STAGED: [&str; 5] = ["no_location", "size_unknown", "cache_space", "disk_space", "excluded"];

/// The whole answer.
pub(super) fn answer(
    policy: &Policy,
    resolved: &Resolved,
    facts: &GridFacts,
    submission: &JobSubmission,
    decision: &TargetDecision,
) -> Value {
    let discovery = decision.discovery.as_ref();
    let (mut alternatives, mut chosen) = (Vec::new(), Value::Null);
    for (tried, written) in decision.tried.iter().zip(&submission.alternatives) {
        let case = submission.case(facts, written, resolved);
        let queues: Map<String, Value> = candidates(&case, tried)
            .map(|(candidate, refused)| {
                let filter = refused.and_then(|it| policy.filter(usize::from(it.0)));
                let is_early = filter.is_some_and(|it| !STAGED.contains(&it.name));
                let reason = refused.map(|(_, reason)| reason);
                let entry = match is_early {
                    true => json!({"rejected": reason}),
                    false => queue(&case, &candidate, reason),
                };
                (candidate.id(&case).to_owned(), entry)
            })
            .collect();
        alternatives.push(json!({"job": alternative(written), "queues": queues}));
        chosen = choice(&case, tried);
    }
    let rejection = decision.rejection.map(|rejection| rejection.code());
    json!({
        "verdict": if rejection.is_some() { "reject" } else { "assign" },
        "code": rejection,
        "error": null,
        "discovery": discovery.map(|it| discovered(facts, it, &decision.no_information)),
        "alternative_index": rejection.is_none().then(|| decision.tried.len() - 1),
        "alternatives": alternatives,
        "choice": chosen,
        "changes": decision.changes.as_ref().map(changed),
    })
}

fn discovered(facts: &GridFacts, discovery: &Discovery, silent: &BTreeSet<String>) -> Value {
    let known = discovery.clusters.all().map(|cluster| facts.names.name(cluster));
    let clusters: BTreeSet<&str> =
        known.chain(discovery.unknown.iter().map(String::as_str)).collect();
    json!({
        "mode": discovery.mode.name(),
        "index_servers_read": discovery.index_servers,
        "clusters": clusters,
        "no_information": silent,
    })
}

/// Every candidate of an alternative, with the filter and the reason of those that were refused.
fn candidates<'c>(
    case: &'c JobCase<'c>,
    choice: &'c Choice,
) -> impl Iterator<Item = (TargetCandidate<'c>, Option<(u16, &'static str)>)> {
    let refused = choice.refused.iter().map(|it| {
        let reason = it.objection.reason.name;
        (it.target, Some((it.filter, reason)))
    });
    let ranked = choice.ranked.iter().map(|it| (it.target, None));
    refused.chain(ranked).filter_map(|(target, refused)| {
        Some((TargetCandidate::of(case, case.facts.share(target)?)?, refused))
    })
}

/// The figures of a target whose files were looked at.
fn queue(case: &JobCase<'_>, candidate: &TargetCandidate<'_>, reason: Option<&str>) -> Value {
    let staging = Staging::of(case, candidate.cluster);
    let has_cache = staging.cache_free.is_some();
    let class = |input| FileClass::of(input, staging.cluster, has_cache).name();
    let files = case.job.input_files.iter().zip(&case.inputs);
    let classes: Map<String, Value> =
        files.map(|(file, input)| (file.name.clone(), json!(class(input)))).collect();
    let disk_free = candidate.disk_free();
    let flags = [("size_unknown", case.is_size_unknown), ("disk_unknown", disk_free.is_none())];
    let flags: Vec<&str> = flags.iter().filter(|(_, is_set)| *is_set).map(|it| it.0).collect();
    json!({
        "rejected": reason,
        "classes": classes,
        "cache_sum_bytes": staging.cache_sum,
        "session_sum_bytes": staging.session_sum,
        "remote_bytes": staging.remote_bytes,
        "local_bytes": staging.local_bytes,
        "flags": flags,
        "free_slots": windows(&candidate.windows(case)),
        "free_slots_for_job": candidate.free_slots(case, &mut Vec::new()),
        "needed_time_s": limited(candidate.needed_time_s(case)),
        "queued_jobs": candidate.queued_jobs(),
        "total_slots": candidate.total_slots(),
        "cache_free_bytes": staging.cache_free,
        "disk_free_bytes": disk_free,
    })
}

fn choice(case: &JobCase<'_>, choice: &Choice) -> Value {
    let Some(chosen) = &choice.chosen else { return Value::Null };
    let ranked = &choice.ranked;
    let name = |at: &usize| case.facts.targets.name(ranked[*at].target);
    let is_free = |at: &usize| ranked[*at].is_free;
    let every: Vec<usize> = (0..ranked.len()).collect();
    json!({
        "target": name(&chosen.at),
        "rule": chosen.rule.name(),
        "has_free_slots": is_free(&chosen.at),
        "free_set": every.iter().filter(|at| is_free(at)).map(name).collect::<BTreeSet<_>>(),
        "tied": chosen.tied.iter().map(name).collect::<BTreeSet<_>>(),
        "draw": chosen.draw.as_ref().map(drawn),
    })
}

/// A draw.
pub(super) fn drawn(draw: &SeededDraw) -> Value {
    json!({
        "algorithm": draw.algorithm,
        "attempt": draw.attempt,
        "round": draw.round,
        "digest_hex": hex::encode(draw.digest),
        "total_weight": number(draw.total),
        "x": number(draw.drawn),
        "weights": draw.weights,
        "chosen": draw.winner(),
    })
}

fn changed(changes: &TargetChanges) -> Value {
    json!({
        "target": changes.target,
        "count": changes.count,
        "time_s": changes.time_s,
        "free_slots_after": windows(&changes.free_slots_after),
        "disk_bytes": changes.disk_bytes,
        "disk_free_bytes_after": changes.disk_free_bytes_after,
        "cache_bytes": changes.cache_bytes,
        "cache_free_bytes_after": changes.cache_free_bytes_after,
        "tags": changes.tags,
        "queued_jobs_delta": changes.queued_jobs_delta,
    })
}

fn windows(windows: &Windows) -> Value {
    windows.all().iter().map(|it| json!([limited(it.duration_s), it.slots])).collect()
}

fn limited(time_s: u64) -> Option<u64> {
    Some(time_s).filter(|time_s| *time_s != UNLIMITED_S)
}

/// A number, of which JSON holds 64 bits.
fn number(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}
