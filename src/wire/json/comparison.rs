//! A request that was answered twice as JSON.

use serde_json::{Value, json};
use yardmaster_core::comparison::{Answer, Chosen, Comparison, Figures, Rejected};

/// A comparison: its record with the fields of its schema, in their order.
pub fn comparison_json(it: &Comparison) -> Value {
    json!({
        "domain": it.domain,
        "subject": it.subject,
        "attempt": it.attempt,
        "task": it.task,
        "policy": it.policy,
        "gshare": it.gshare,
        "queue_type": it.queue_type,
        "resource_type": it.resource_type,
        "label": it.label,
        "asked_at": it.asked_at,
        "compared_at": it.compared_at,
        "in_charge": it.in_charge.name(),
        "yardmaster": answer_json(&it.yardmaster),
        "other": answer_json(&it.other),
    })
}

fn answer_json(it: &Answer) -> Value {
    let chosen = |it: &Chosen| json!({"queue": it.queue, "weight": it.weight, "jobs": it.jobs});
    let rejected =
        |it: &Rejected| json!({"queue": it.queue, "filter": it.filter, "reason": it.reason});
    let figures = |it: &Figures| {
        json!({
            "queue": it.queue,
            "running": it.running,
            "queued": it.queued,
            "pilots": it.pilots,
        })
    };
    json!({
        "outcome": it.outcome.name(),
        "reason": it.reason,
        "took_ms": it.took_ms,
        "queues": it.queues.iter().map(chosen).collect::<Vec<_>>(),
        "fates": it.fates.iter().map(rejected).collect::<Vec<_>>(),
        "figures": it.figures.iter().map(figures).collect::<Vec<_>>(),
        "notes": it.notes,
    })
}
