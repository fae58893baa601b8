//! A decision of the CMS policy beside what was recorded.

use super::super::compare::Agreement;
use super::super::json::{entries, items, text};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Compares the parts of a result: actions or verdict, who is matched where, figures and ranks, how
/// many are eligible, and the reasons of all others that are looked at. Warnings are optional and
/// not compared; `whitelist` and `overflow_off` are one reason.
pub(in crate::conform) fn compare(whole: &Value, ours: &Value) -> Option<Agreement> {
    let theirs = whole.get("expected").filter(|expected| expected.is_object())?;
    let mut agreement = Agreement::default();
    if theirs.get("assignments").is_some() {
        cuts(&whole["scenario"], theirs, ours, &mut agreement);
        return Some(agreement);
    }
    let same = match whole["scenario"]["subject"]["kind"] == "usage" {
        true => usage(whole, theirs, ours),
        false => without_warnings(theirs) == without_warnings(ours),
    };
    agreement.verdict = theirs["verdict"] == ours["verdict"] && theirs["code"] == ours["code"];
    agreement.candidates = same;
    (agreement.weights, agreement.skipped, agreement.reasons) = (true, true, true);
    if !agreement.is_whole() {
        agreement.differences.push(format!("ours {ours}, theirs {theirs}"));
    }
    Some(agreement)
}

fn without_warnings(value: &Value) -> Map<String, Value> {
    let kept = entries(value).filter(|(name, _)| *name != "warnings");
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn cuts(scenario: &Value, theirs: &Value, ours: &Value, agreement: &mut Agreement) {
    let mut same = |what: &str, theirs: Value, ours: Value| {
        let same = theirs == ours;
        if !same {
            agreement.differences.push(format!("{what}: ours {ours}, theirs {theirs}"));
        }
        same
    };
    let verdict = same("commands", commands(theirs), commands(ours));
    let candidates = same("matches", matches(theirs), matches(ours));
    let weights = same("assignments", ranked(theirs), ranked(ours));
    let skipped = same("eligible", eligible(theirs), eligible(ours));
    let held = held(scenario);
    let reasons = same("reasons", reasons(theirs, &held), reasons(ours, &held));
    (agreement.verdict, agreement.candidates, agreement.weights) = (verdict, candidates, weights);
    (agreement.skipped, agreement.reasons) = (skipped, reasons);
}

/// Commands in a fixed order. That a test job of a workflow succeeded changes a status that nothing
/// is decided by, and is no event (A.8).
fn commands(result: &Value) -> Value {
    let events = items(&result["commands"]);
    let events = events.filter(|it| it["command"] != "workflow.test_passed");
    let mut all: Vec<(String, Value)> = events.map(|it| (canonical(it), it.clone())).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter().map(|(_, value)| value).collect()
}

/// The text of an object with its fields in order.
fn canonical(value: &Value) -> String {
    let mut fields: Vec<String> =
        entries(value).map(|(name, value)| format!("{name}={value}")).collect();
    fields.sort();
    fields.join(" ")
}

fn matches(result: &Value) -> Value {
    let each = items(&result["assignments"]);
    each.map(|it| Value::from(format!("{} -> {}", it["offer"], it["job"]))).collect()
}

/// Assignments with the order of their rank keys.
fn ranked(result: &Value) -> Value {
    let each = items(&result["assignments"]).map(|it| {
        let order: Vec<Value> =
            entries(&it["rank"]).map(|(name, _)| Value::from(name.as_str())).collect();
        Value::Array(vec![it.clone(), Value::Array(order)])
    });
    each.collect()
}

/// The rest of each offer, how many jobs were eligible, and which the cap moved.
fn eligible(result: &Value) -> Value {
    let each = items(&result["offers"]).map(|it| {
        Value::Array(vec![
            it["offer"].clone(),
            it["site"].clone(),
            it["cores_left"].clone(),
            it["first_look"]["eligible"].clone(),
            it["last_look"]["eligible"].clone(),
            it["test_cap"].clone(),
        ])
    });
    each.collect()
}

/// Jobs that wait for their workflow's record: they are looked at before no offer (C-02).
fn held(scenario: &Value) -> BTreeSet<String> {
    let workflows: BTreeSet<String> =
        items(&scenario["workflows"]).map(|it| text(&it["workflow"])).collect();
    let held =
        items(&scenario["pending_jobs"]).filter(|job| !workflows.contains(&text(&job["workflow"])));
    held.map(|job| text(&job["job"])).collect()
}

fn reasons(result: &Value, held: &BTreeSet<String>) -> Value {
    let of_look = |look: &Value| -> Value {
        let mut all: Map<String, Value> = Map::new();
        for (code, jobs) in entries(&look["not_eligible"]) {
            let code = if code == "overflow_off" { "whitelist" } else { code };
            let known = all.entry(code).or_insert_with(|| Value::Array(Vec::new()));
            let mut jobs: Vec<String> = items(known).chain(items(jobs)).map(text).collect();
            jobs.retain(|job| !held.contains(job));
            jobs.sort();
            *known = jobs.into();
        }
        all.retain(|_, jobs| items(jobs).next().is_some());
        Value::Object(all)
    };
    let each = items(&result["offers"]);
    each.map(|it| Value::Array(vec![of_look(&it["first_look"]), of_look(&it["last_look"])]))
        .collect()
}

/// Usage agrees within 0.05 % of the weights it is made of.
fn usage(whole: &Value, theirs: &Value, ours: &Value) -> bool {
    let histories = &whole["scenario"]["subject"]["histories"];
    let mut users = entries(&theirs["users"]);
    let count = |value: &Value| entries(&value["users"]).count();
    count(theirs) == count(ours)
        && users.all(|(user, theirs)| {
            let stays = items(&histories[user]);
            let power = |stay: &Value| stay["corepower_mhs06"].as_f64().unwrap_or(10_000.0);
            let weights: f64 =
                stays.map(|stay| stay["cores"].as_f64().unwrap_or(0.0) * power(stay) / 10.0).sum();
            entries(theirs).all(|(name, value)| {
                let (a, b) = (value.as_f64(), ours["users"][user][name].as_f64());
                a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= 0.0005 * weights + 1.0)
            })
        })
}
