//! Outputs as JSON, with the field names and meanings of `schemas/*.avsc`: ids as hex, moments in
//! ms since 1970, and `null` for a number that is not finite.

mod comparison;

pub use comparison::comparison_json;

use serde_json::{Value, json};
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use yardmaster_core::output::matched::Matched;
use yardmaster_core::output::placed::{Draw, DrawWeight, LimitUse, Placed};
use yardmaster_core::output::throttle::Throttle;

/// A decision, throttle or command: its record with the fields of its schema, in their order.
pub fn output_json(output: &Output) -> Value {
    match output {
        Output::Decision(decision) => decision_json(decision),
        Output::Throttle(throttle) => throttle_json(throttle),
        Output::Command(command) => command_json(command),
    }
}

fn decision_json(it: &Decision) -> Value {
    let (ranked, until, reason) = match &it.outcome {
        Outcome::Assign(ranked) => (&ranked[..], None, ""),
        Outcome::Defer { until } => (&[][..], Some(*until), ""),
        Outcome::Reject { reason } => (&[][..], None, &reason[..]),
    };
    json!({
        "id": it.id.to_string(),
        "domain": it.domain,
        "subject": it.subject,
        "attempt": it.attempt,
        "task": it.task,
        "ordinal": it.ordinal,
        "epoch": it.epoch,
        "cycle": it.cycle,
        "number": it.number,
        "now": it.now,
        "first_answered_at": it.first_answered_at,
        "policy": it.policy,
        "policy_hash": it.policy_hash,
        "gshare": it.gshare,
        "user": it.user,
        "working_group": it.working_group,
        "merge": it.merge,
        "nucleus": it.nucleus,
        "outcome": it.outcome.name(),
        "ranked": ranked.iter().map(ranked_json).collect::<Vec<_>>(),
        "until": until,
        "reason": reason,
        "factor_names": it.factor_names,
        "counts": it.counts.iter().map(count_json).collect::<Vec<_>>(),
        "fates": it.fates.iter().map(fate_json).collect::<Vec<_>>(),
        "full": it.full,
        "fates_cut": it.fates_cut,
        "notes": it.notes,
        "dry_run": it.dry_run,
        "placed": it.placed.as_ref().map(placed_json),
        "limits": it.limits.iter().map(limit_json).collect::<Vec<_>>(),
        "matched": it.matched.as_ref().map(matched_json),
    })
}

fn ranked_json(it: &Ranked) -> Value {
    json!({
        "queue": it.queue,
        "unified": it.unified,
        "weight": it.weight,
        "jobs": it.jobs,
        "cores": it.cores,
        "factors": it.factors,
        "platform": it.platform,
    })
}

fn placed_json(it: &Placed) -> Value {
    json!({
        "alternative": it.alternative,
        "count": it.count,
        "time_s": it.time_s,
        "disk_bytes": it.disk_bytes,
        "cache_bytes": it.cache_bytes,
        "tags": it.tags,
        "rule": it.rule,
        "draw": it.draw.as_ref().map(draw_json),
    })
}

fn draw_json(it: &Draw) -> Value {
    let weight = |it: &DrawWeight| json!({ "name": it.name, "weight": it.weight });
    json!({
        "algorithm": it.algorithm,
        "cut_id": it.cut_id,
        "round": it.round,
        "digest": it.digest,
        "x": it.x,
        "weights": it.weights.iter().map(weight).collect::<Vec<_>>(),
    })
}

fn limit_json(it: &LimitUse) -> Value {
    json!({
        "name": it.name,
        "of": it.of,
        "before": it.before,
        "after": it.after,
        "max": it.max,
    })
}

/// A match: its record within a decision.
pub fn matched_json(it: &Matched) -> Value {
    json!({
        "job": it.job,
        "job_attempt": it.job_attempt,
        "class": it.class.name(),
        "band": it.band.name(),
        "node": it.node,
        "cores": it.cores,
        "weight_milli": it.weight_milli,
        "usage_milli": it.usage_milli,
        "wall_time_s": it.wall_time_s,
        "rss_mb": it.rss_mb,
        "overflow_source": it.overflow_source,
        "overflow_cost": it.overflow_cost,
        "charged_group": it.charged_group,
        "io_source": it.io_source,
        "relaxed": it.relaxed,
    })
}

fn count_json(it: &FilterCount) -> Value {
    json!({ "filter": it.filter, "rejected": it.rejected })
}

fn fate_json(it: &Fate) -> Value {
    json!({
        "queue": it.queue,
        "filter": it.filter,
        "reason": it.reason,
        "measured": it.measured,
        "limit": it.limit,
    })
}

fn throttle_json(it: &Throttle) -> Value {
    json!({
        "id": it.id.to_string(),
        "domain": it.domain,
        "subject_kind": it.kind.name(),
        "subject": it.subject,
        "action": it.action.name(),
        "rule": it.rule,
        "ordinal": it.ordinal,
        "counter": it.counter,
        "measured": it.measured,
        "limit": it.limit,
        "unit": it.unit,
        "until": it.until,
        "epoch": it.epoch,
        "cycle": it.cycle,
        "number": it.number,
        "now": it.now,
        "policy": it.policy,
        "policy_hash": it.policy_hash,
        "notes": it.notes,
        "since": it.since,
        "lift_limit": it.lift_limit,
        "lift_from": it.lift_from,
        "dry_run": it.dry_run,
    })
}

fn command_json(it: &Command) -> Value {
    json!({
        "id": it.id.to_string(),
        "repeat": it.repeat,
        "domain": it.domain,
        "kind": it.kind.name(),
        "rule": it.rule,
        "subject": it.subject,
        "attempt": it.attempt,
        "queue": it.queue,
        "gshare": it.gshare,
        "jobs": it.jobs,
        "amount": it.amount,
        "clock": it.clock,
        "clock_at": it.clock_at,
        "measured": it.measured,
        "limit": it.limit,
        "unit": it.unit,
        "expires_at": it.expires_at,
        "epoch": it.epoch,
        "cycle": it.cycle,
        "number": it.number,
        "now": it.now,
        "policy": it.policy,
        "policy_hash": it.policy_hash,
        "dry_run": it.dry_run,
        "notes": it.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use yardmaster_core::output::command::CommandKind;
    use yardmaster_core::output::throttle::{Action, SubjectKind};

    /// The names of a record's fields, and the records within by the name of their field.
    type Names = (Vec<String>, BTreeMap<String, Vec<String>>);

    fn names(fields: &Value) -> Vec<String> {
        let name = |field: &Value| field["name"].as_str().unwrap().to_owned();
        fields.as_array().unwrap().iter().map(name).collect()
    }

    fn of_schema(schema: &str) -> Names {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let within = schema["fields"].as_array().unwrap().iter().filter_map(|field| {
            let items = match &field["type"]["items"]["fields"] {
                // A union's second branch.
                Value::Null => &field["type"][1]["fields"],
                items => items,
            };
            items.is_array().then(|| (field["name"].as_str().unwrap().to_owned(), names(items)))
        });
        (names(&schema["fields"]), within.collect())
    }

    fn of_json(value: &Value) -> Names {
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect();
        let within = value.as_object().unwrap().iter().filter_map(|(name, value)| {
            let item = match value {
                Value::Array(items) => items.first()?,
                item => item,
            };
            Some((name.clone(), item.is_object().then(|| keys(item))?))
        });
        (keys(value), within.collect())
    }

    fn decision(outcome: Outcome) -> Value {
        output_json(
            &Decision {
                counts: vec![FilterCount { filter: "status".into(), rejected: 2 }],
                fates: vec![Fate {
                    queue: "ash".into(),
                    filter: "disk_space".into(),
                    reason: "full".into(),
                    measured: f64::INFINITY,
                    limit: 20.5,
                }],
                placed: Some(Placed::default()),
                matched: Some(Matched::default()),
                limits: vec![LimitUse::default()],
                ..Decision::new("atlas", "12/3", 1, 1, outcome)
            }
            .into(),
        )
    }

    fn assigned() -> Value {
        let ranked = Ranked {
            queue: "oak".into(),
            unified: "oak".into(),
            weight: f64::NAN,
            jobs: 5,
            cores: 8,
            factors: vec![1.5, f64::NEG_INFINITY],
            platform: String::new(),
        };
        decision(Outcome::Assign(vec![ranked]))
    }

    fn throttle() -> Value {
        let of = (SubjectKind::User, "ann");
        output_json(&Throttle::new("atlas", "A1", of, 1, Action::Set).into())
    }

    fn command() -> Value {
        let kind = CommandKind::KillWorkflow;
        output_json(&Command { kind, ..Command::new("atlas", "T1", "4711", 0, Some(7)) }.into())
    }

    #[test]
    fn the_fields_are_those_of_the_schemas_in_their_order() {
        let decisions = include_str!("../../schemas/decision.avsc");
        assert_eq!(of_json(&assigned()), of_schema(decisions));
        assert_eq!(of_json(&throttle()), of_schema(include_str!("../../schemas/throttle.avsc")));
        assert_eq!(of_json(&command()), of_schema(include_str!("../../schemas/command.avsc")));
    }

    #[test]
    fn ids_are_hex_moments_ms_and_a_number_that_is_not_finite_is_null() {
        let decision = assigned();
        assert_eq!(decision["id"].as_str().map(str::len), Some(32));
        assert_eq!(decision["outcome"], "assign");
        assert_eq!(decision["until"], Value::Null);
        assert_eq!(decision["ranked"][0]["weight"], Value::Null);
        assert_eq!(decision["ranked"][0]["factors"], json!([1.5, null]));
        assert_eq!(decision["fates"][0]["measured"], Value::Null);
        assert_eq!(decision["fates"][0]["limit"], 20.5);
        assert_eq!(
            (&throttle()["subject_kind"], &throttle()["action"]),
            (&json!("user"), &json!("set"))
        );
        assert_eq!(
            (&command()["kind"], &command()["clock_at"]),
            (&json!("kill_workflow"), &json!(7))
        );
    }

    #[test]
    fn an_outcome_fills_its_own_fields_alone() {
        let deferred = decision(Outcome::Defer { until: 99 });
        assert_eq!((&deferred["outcome"], &deferred["until"]), (&json!("defer"), &json!(99)));
        assert_eq!((&deferred["ranked"], &deferred["reason"]), (&json!([]), &json!("")));
        let rejected = decision(Outcome::Reject { reason: "no such share".into() });
        assert_eq!((&rejected["outcome"], &rejected["until"]), (&json!("reject"), &Value::Null));
        assert_eq!(rejected["reason"], "no such share");
    }
}
