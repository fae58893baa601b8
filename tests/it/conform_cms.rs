//! Recorded cases of the CMS policy: each kind of subject, on small cases written here.

use serde_json::{Value, json};
use yardmaster::core::policy::Rules;
use yardmaster::sim::conform::Recorded;

/// Judges a case and compares it with what it expects.
fn differences(scenario: Value, expected: Value) -> Vec<String> {
    let case = json!({
        "id": "t-1", "kind": "cms", "rules": ["C-13"], "scenario": scenario, "expected": expected,
    });
    let case = Recorded::read(&case.to_string()).expect("a case");
    let judged = case.judge(Rules::Documented).expect("a judgement");
    let agreement = case.compare(&judged).expect("something to compare with");
    assert_eq!(agreement.is_whole(), agreement.differences.is_empty());
    agreement.differences
}

#[track_caller]
fn agrees(scenario: Value, expected: Value) {
    let found = differences(scenario, expected);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Two central jobs and one that fits nowhere, before an offer of one core.
fn offers() -> Value {
    json!({
        "now_s": 1_000_000_000,
        "sites": [{"site": "T2_Y", "tier": "T2", "pledged_slots": 20}],
        "workflows": [
            {"workflow": "w", "class": "central", "user": "prod", "test_jobs": 0,
             "total_jobs": 100, "priority": 1},
            {"workflow": "v", "class": "central", "user": "prod", "test_jobs": 0,
             "total_jobs": 100, "priority": 7, "done_jobs": 99},
        ],
        "pending_jobs": [
            {"job": "a", "workflow": "w", "seq": 1, "queued_at_s": 999_900_000},
            {"job": "b", "workflow": "v", "seq": 100, "queued_at_s": 999_999_000},
            {"job": "c", "workflow": "w", "seq": 2, "queued_at_s": 1, "cores_min": 2},
        ],
        "subject": {"kind": "offers", "offers": [{
            "offer": "o1", "site": "T2_Y", "cores_free": 1, "cores_total": 1,
            "wall_left_s": 172_800, "mem_free_mb": 4000,
        }]},
    })
}

fn expected() -> Value {
    json!({
        "assignments": [{
            "offer": "o1", "job": "b", "site": "T2_Y", "class": "central", "band": 2, "cores": 1,
            "weight_milli": 1000, "wall_time_s": 43_200, "rss_mb": 2000,
            "rank": {
                "band": 2, "class_order": 0, "minus_priority": -900_000, "overflow": 0,
                "bucket": 46_296, "wall_gap_s": 129_600, "mem_gap_mb": 2000,
                "queued_at_s": 999_999_000, "workflow": "v", "seq": 100,
            },
            "class_comparison": {
                "central_used_milli": 0, "central_quota_milli": 10_000,
                "analysis_used_milli": 0, "analysis_quota_milli": 10_000,
                "preferred": "central", "taken": "central",
            },
        }],
        "offers": [{
            "offer": "o1", "site": "T2_Y", "cores_left": 0,
            "first_look": {"eligible": 2, "not_eligible": {"cores": ["c"]}},
        }],
        "commands": [{
            "command": "workflow.boosted", "rule": "C-16", "workflow": "v",
            "effective_priority": 900_000,
        }],
    })
}

#[test]
fn a_cut_agrees_in_all_its_parts() {
    agrees(offers(), expected());
}

#[test]
fn a_changed_record_of_a_cut_is_found() {
    for (pointer, value) in [
        ("/assignments/0/job", json!("a")),
        ("/assignments/0/rank/minus_priority", json!(-7)),
        ("/offers/0/first_look/eligible", json!(1)),
        ("/offers/0/first_look/not_eligible", json!({"mem": ["c"]})),
        ("/commands", json!([])),
    ] {
        let mut changed = expected();
        *changed.pointer_mut(pointer).expect("a field") = value;
        assert!(!differences(offers(), changed).is_empty(), "{pointer}");
    }
}

/// A node is drained for a job that is gone, and another job waits for a whole node.
#[test]
fn what_a_step_of_a_cut_asks_for_holds_for_the_next_step() {
    let waits = json!({"job": "big", "workflow": "w", "seq": 1, "queued_at_s": 999_900_000,
        "cores_min": 8});
    let scenario = json!({
        "now_s": 1_000_000_000,
        "sites": [{"site": "T2_Y", "tier": "T2", "pledged_slots": 20}],
        "workflows": [{"workflow": "w", "class": "central", "user": "prod", "test_jobs": 0}],
        "pending_jobs": [waits],
        "running_jobs": [{"job": "r", "workflow": "w", "seq": 2, "queued_at_s": 999_900_000,
            "run_site": "T2_Y", "alloc_cores": 4, "node": "n1",
            "expected_end_s": 1_000_007_200}],
        "nodes": [{"node": "n1", "site": "T2_Y", "cores_total": 8}],
        "draining": [{"node": "n1", "site": "T2_Y", "job": "gone", "until_s": 1_000_000_100}],
        "subject": {"kind": "tick"},
    });
    let cancelled = json!({
        "command": "node.drain_cancelled", "rule": "C-55", "node": "n1", "job": "gone",
    });
    let drain = json!({
        "command": "node.drain", "rule": "C-55", "node": "n1", "site": "T2_Y", "job": "big",
        "need_cores": 8, "until_s": 1_000_007_200, "idle_core_s": 28_800,
    });
    let expected = |commands: Value| json!({"assignments": [], "offers": [], "commands": commands});
    agrees(scenario.clone(), expected(json!([cancelled, drain])));
    let mut killed = scenario;
    killed["workflows"][0]["test_jobs"] = json!(1);
    killed["ended_jobs"] = json!([{"job": "t", "workflow": "w", "seq": 1, "state": "failed",
        "failure_class": "payload", "run_site": "T2_Y"}]);
    let kill = json!({
        "command": "workflow.kill", "rule": "C-49", "workflow": "w",
        "reason": "test_failed_100pct", "pending_jobs": ["big"],
    });
    agrees(killed, expected(json!([kill, cancelled])));
}

/// A node is drained for a job that fits nowhere for an hour, in the attempt in which it waits. One
/// that idles needs no drain.
#[test]
fn a_job_that_waits_again_fits_nowhere_since_then() {
    let busy = json!([{"job": "r", "workflow": "w", "seq": 2, "queued_at_s": 999_900_000,
        "run_site": "T2_Y", "alloc_cores": 4, "node": "n1", "expected_end_s": 1_000_007_200}]);
    let hour = 1_000_000_000 - 3_600;
    for (since_s, running, drains) in
        [(hour + 1, busy.clone(), 0), (hour, busy, 1), (hour, json!([]), 0)]
    {
        let waits = json!({"job": "big", "workflow": "w", "seq": 1, "queued_at_s": 999_900_000,
            "attempt": 1, "not_fitted_since_s": since_s, "cores_min": 8});
        let scenario = json!({
            "now_s": 1_000_000_000,
            "sites": [{"site": "T2_Y", "tier": "T2", "pledged_slots": 20}],
            "workflows": [{"workflow": "w", "class": "central", "user": "prod", "test_jobs": 0}],
            "pending_jobs": [waits],
            "running_jobs": running,
            "nodes": [{"node": "n1", "site": "T2_Y", "cores_total": 8}],
            "subject": {"kind": "tick"},
        });
        let case = json!({"id": "t-2", "kind": "cms", "rules": ["C-55"], "scenario": scenario});
        let judged = Recorded::read(&case.to_string()).expect("a case").judge(Rules::Documented);
        let answer = judged.expect("a judgement").to_json();
        assert_eq!(answer["commands"].as_array().map(Vec::len), Some(drains), "{answer}");
    }
}

/// A case of each other subject: scenario, what it expects, and where a change is made to that.
fn other_subjects() -> Vec<(Value, Value, &'static str)> {
    let site = json!({"site": "T2_Y", "tier": "T2", "pledged_slots": 101, "revision": 3});
    let scenario = |subject: Value| {
        json!({"now_s": 86_400, "sites": [], "workflows": [{
            "workflow": "w", "class": "analysis", "user": "u",
        }], "subject": subject})
    };
    let in_force = json!({
        "revision": 3, "kappa_milli": 1000, "central_slots": 51, "analysis_slots": 50,
        "central_quota_milli": 51_000, "analysis_quota_milli": 50_000, "restricted_milli": {},
        "overflow_slots": 0, "high_io_slots": 25,
        "accept_surplus": {"central": true, "analysis": true},
    });
    let job = json!({"job": "j", "workflow": "w", "seq": 5, "queued_at_s": 1, "cores_min": 4});
    let admitted = json!({
        "class": "analysis", "queued_at_s": 1, "allow_overflow": false, "high_io": false,
        "system_job": false, "cores_min": 4, "cores_max": 4, "whole_node": false,
        "max_wall_time_s": 43_200, "max_rss_mb": 8000, "test_member": true,
    });
    let event = json!({
        "kind": "job_event", "known": {"attempt": 0, "state": "failed"},
        "event": {"attempt": 0, "state": "done"},
    });
    let workflow = json!({"workflow": "w", "class": "central", "user": "u", "total_jobs": 4});
    let of_workflow = json!({
        "class": "central", "priority": 0, "priority_rev": 0, "allow_overflow": false,
        "max_overflow_sites": 5, "test_jobs_effective": 4, "tail_fraction_permille": 950,
    });
    let histories = json!({"u": [{"cores": 4, "started_at_s": 0}]});
    let usage = json!({
        "decayed_usage_milli": 2000.0, "running_milli": 4000, "fair_share_milli": 6000.0,
    });
    vec![
        (
            scenario(json!({"kind": "site_config", "config": site})),
            json!({"verdict": "accept", "in_force": in_force}),
            "/in_force/central_slots",
        ),
        (
            scenario(json!({"kind": "job_admission", "job": job})),
            json!({"verdict": "accept", "job": admitted}),
            "/job/max_rss_mb",
        ),
        (scenario(event), json!({"applied": false}), "/applied"),
        (
            scenario(json!({"kind": "workflow_admission", "workflow": workflow})),
            json!({"verdict": "accept", "workflow": of_workflow}),
            "/workflow/test_jobs_effective",
        ),
        (
            scenario(json!({"kind": "usage", "histories": histories})),
            json!({"users": {"u": usage}}),
            "/users/u/decayed_usage_milli",
        ),
    ]
}

#[test]
fn the_other_subjects_agree() {
    other_subjects().into_iter().for_each(|(scenario, expected, _)| agrees(scenario, expected));
}

#[test]
fn a_changed_record_of_any_other_subject_is_found() {
    for (scenario, mut expected, pointer) in other_subjects() {
        let value = expected.pointer_mut(pointer).expect("a field");
        *value = match &*value {
            Value::Bool(flag) => json!(!flag),
            number => json!(number.as_f64().expect("a number") + 7.0),
        };
        assert!(!differences(scenario, expected).is_empty(), "{pointer}");
    }
    let (scenario, mut expected, _) = other_subjects().remove(0);
    expected["verdict"] = json!("reject");
    assert!(!differences(scenario, expected).is_empty(), "another verdict");
}

#[test]
fn what_is_no_case_is_named() {
    let judge = |scenario: Value| {
        let case = json!({"id": "t-1", "kind": "cms", "rules": [], "scenario": scenario});
        Recorded::read(&case.to_string()).expect("a case").judge(Rules::Documented)
    };
    let error = judge(json!({"subject": {"kind": "night"}})).expect_err("a mistake");
    assert!(error.contains("t-1") && error.contains("night") && error.contains("tick"), "{error}");
    let class =
        json!({"workflows": [{"workflow": "w", "class": "x"}], "subject": {"kind": "tick"}});
    let error = judge(class).expect_err("a mistake");
    assert!(error.contains("`class`") && error.contains("analysis"), "{error}");
    let params = json!({"params": {"speed": 1}, "subject": {"kind": "tick"}});
    assert!(judge(params).expect_err("a mistake").contains("speed"));
    for (word, about, scenario) in [
        ("pounds", "accounting_mode", json!({"params": {"accounting_mode": "pounds"}})),
        ("nodes", "overflow_unit", json!({"params": {"overflow_unit": "nodes"}})),
        (
            "keep",
            "highio_without_whitelist",
            json!({"params": {
                "highio_without_whitelist": "keep",
            }}),
        ),
        ("planet", "scope_kind", json!({"grants": [{"principal": "u", "scope_kind": "planet"}]})),
        (
            "club",
            "principal_kind",
            json!({"grants": [{
                "principal": "u", "principal_kind": "club",
            }]}),
        ),
        (
            "both",
            "class_only",
            json!({"sites": [{
                "site": "S", "tier": "T2", "extra_blocks": [{"slots": 1, "class_only": "both"}],
            }]}),
        ),
    ] {
        let mut scenario = scenario;
        scenario["subject"] = json!({"kind": "tick"});
        let error = judge(scenario).expect_err("a mistake");
        assert!(error.contains(word) && error.contains(about), "{error}");
    }
}
