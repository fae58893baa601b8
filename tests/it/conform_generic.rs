//! Recorded cases of PanDA's generic broker: a small case written here, on the way that a file of
//! recorded ones takes.

use serde_json::{Value, json};
use yardmaster::core::policy::Rules;
use yardmaster::sim::conform::{Agreement, Judged, Recorded};

fn queue(cloud: &str, cores: u32) -> Value {
    json!({
        "site": "SLAC", "cloud": cloud, "type": "production", "status": "online",
        "core_count": cores, "endpoints": [{
            "endpoint": "SLAC_DISK", "default_read": true, "default_write": true
        }]
    })
}

/// Two queues of the task's cloud that fit, one of too many cores, one of another cloud.
fn case() -> Value {
    let pilots = json!({"get_job": 1, "update_job": 1});
    json!({
        "id": "g-1", "kind": "gen_job", "rule": "weight",
        "scenario": {
            "now": "2026-09-01T12:00:00", "resource_types": [],
            "storage_endpoints": {"SLAC_DISK": {"site": "SLAC", "type": "DISK"}},
            "queues": {
                "BUSY": queue("US", 1), "FREE": queue("US", 1), "WHOLE": queue("US", 8),
                "FAR": queue("UK", 1)
            },
            "task": {
                "task_id": 1, "prod_source_label": "managed", "processing_type": "lsst",
                "gshare": "Rubin", "core_count": 1, "cloud": "US", "walltime": 3600,
                "options": {"nFilesPerJob": 1}
            },
            "input": {"is_merging": false, "datasets": []},
            "ddm_client": "gen", "task_params": {"cloud": "US"},
            "stats": {
                "jobs": {
                    "BUSY": {"Rubin": {"running": 9, "activated": 3, "defined": 1}},
                    "FREE": {"ePIC": {"running": 3}}
                },
                "pilots_3h": {"BUSY": pilots, "FREE": pilots, "WHOLE": pilots, "FAR": pilots}
            }
        },
        "expected": {
            "verdict": "assigned",
            "candidates": [{"queue": "FREE", "weight": 4.0}, {"queue": "BUSY", "weight": 1.0}],
            "skipped": {"WHOLE": "cpucore"}
        }
    })
}

fn agreement(case: &Value, rules: Rules) -> Agreement {
    let case = Recorded::read(&case.to_string()).expect("a case");
    let judged = case.judge(rules).expect("a judgement");
    case.compare(&Judged { rules: Rules::Panda, ..judged }).expect("something to compare with")
}

#[test]
fn a_case_agrees_and_a_changed_record_is_found() {
    let whole = agreement(&case(), Rules::Panda);
    assert!(whole.is_whole(), "{:?}", whole.differences);
    for (path, value) in [
        ("/expected/verdict", json!("pending")),
        ("/expected/candidates/1/weight", json!(2.0)),
        ("/expected/candidates/0/queue", json!("FAR")),
        ("/expected/skipped", json!({"WHOLE": "lowmemory"})),
        ("/expected/skipped", json!({"WHOLE": "cpucore", "FAR": "status"})),
    ] {
        let mut changed = case();
        *changed.pointer_mut(path).expect("a place") = value;
        assert!(!agreement(&changed, Rules::Panda).is_whole(), "{path}");
    }
}

/// Where PanDA's code fails we reject, and name the cause; our own rules go on.
#[test]
fn a_crash_of_panda_is_a_rejection_with_its_cause() {
    for (path, value, cause) in [
        ("/scenario/queues/FREE/max_time_s", json!(null), "maxtime_fails"),
        ("/scenario/queues/FREE/max_time_s", json!(""), "maxtime_fails"),
        ("/scenario/queues/FREE/nickname", json!("OTHER"), "nickname_fails"),
        ("/scenario/queues/FREE/nickname", json!(null), "nickname_fails"),
        ("/scenario/task/site", json!("FREE("), "site_pattern_fails"),
        (
            "/scenario/queues/FREE/params",
            json!({"allowed_processing": ["x"]}),
            "processing_list_fails",
        ),
    ] {
        let mut crashed = case();
        let (place, field) = path.rsplit_once('/').expect("a field");
        crashed.pointer_mut(place).expect("a place")[field] = value;
        crashed["expected"] = json!({"verdict": "crashed", "candidates": []});
        let whole = agreement(&crashed, Rules::Panda);
        assert!(whole.verdict && whole.candidates, "{path}: {:?}", whole.differences);
        let read = Recorded::read(&crashed.to_string()).expect("a case");
        assert_eq!(read.out_of_scope(), None, "{path}");
        assert_eq!(read.judge(Rules::Panda).expect("a judgement").reason, cause);
        let ours = read.judge(Rules::Tuned).expect("a judgement").verdict;
        assert_eq!(ours, if cause == "site_pattern_fails" { "crashed" } else { "assigned" });
    }
}

/// PanDA takes a default for it that is online, states no scratch space and is of no site, and fails
/// where it asks for the space of that.
#[test]
fn no_fact_of_a_queue_of_another_nickname_is_looked_at() {
    let judged = |fields: Value, panda_site: &str| {
        let mut whole = case();
        whole["scenario"]["task_params"]["PandaSite"] = json!(panda_site);
        whole["scenario"]["task"]["work_disk_count"] = json!(500);
        whole["scenario"]["task"]["work_disk_unit"] = json!("MB");
        whole["scenario"]["queues"]["FREE"]["nickname"] = json!("OTHER");
        let free = whole["scenario"]["queues"]["FREE"].as_object_mut().expect("a queue");
        free.extend(fields.as_object().expect("fields").clone());
        Recorded::read(&whole.to_string()).expect("a case").judge(Rules::Panda).expect("judged")
    };
    for fields in [json!({"status": "offline"}), json!({"max_wdir_mb": 1}), json!({"space_gb": 1})]
    {
        let judged = judged(fields, "");
        let skipped = judged.skipped.keys().collect::<Vec<_>>();
        assert_eq!((judged.verdict, &judged.reason[..]), ("crashed", "nickname_fails"));
        assert!(skipped.is_empty(), "{skipped:?}");
    }
    let judged = judged(json!({}), "SLAC");
    let skipped = judged.skipped.get("FREE").map(String::as_str);
    assert_eq!((judged.verdict, skipped), ("assigned", Some("panda_site")));
}

/// PanDA's map has no queue for production without a cloud.
#[test]
fn a_queue_that_is_not_on_the_map_has_no_name() {
    for (kind, wants) in
        [("production", "pending"), ("unified", "pending"), ("analysis", "assigned")]
    {
        let mut whole = case();
        whole["scenario"]["task"]["site"] = json!("BARE");
        whole["scenario"]["task"]["prod_source_label"] = json!("test");
        whole["scenario"]["queues"]["BARE"] = queue("", 1);
        whole["scenario"]["queues"]["BARE"]["type"] = json!(kind);
        let read = Recorded::read(&whole.to_string()).expect("a case");
        assert_eq!(read.judge(Rules::Panda).expect("a judgement").verdict, wants, "{kind}");
    }
}

/// Real input and a client that lists no files: PanDA waits for ever, we reject.
#[test]
fn the_client_that_a_case_names_decides_whether_files_are_listed() {
    let mut real = case();
    real["scenario"]["input"]["datasets"] = json!([{
        "name": "run1.raw", "type": "input", "is_master": true, "total_files": 1,
        "files": [{"file_id": 1, "lfn": "a", "size_bytes": 1, "n_events": 1}],
        "replicas": [{
            "endpoint": "SLAC_DISK", "files_found": 1, "files_total": 1, "chunk_files": "all"
        }]
    }]);
    let read = |case: &Value| Recorded::read(&case.to_string()).expect("a case");
    let verdict = |case: &Value, rules| read(case).judge(rules).expect("a judgement").verdict;
    assert_eq!(verdict(&real, Rules::Panda), "pending");
    assert_eq!(verdict(&real, Rules::Tuned), "rejected");
    real["scenario"]["ddm_client"] = json!("atlas");
    assert_eq!(verdict(&real, Rules::Panda), "assigned");
}

/// The broker writes it to the task; PanDA's other brokers read the task alone.
#[test]
fn a_generic_task_without_a_cloud_takes_that_of_its_parameters() {
    let mut unstated = case();
    unstated["scenario"]["task"]["cloud"] = json!(null);
    let whole = agreement(&unstated, Rules::Panda);
    assert!(whole.is_whole(), "{:?}", whole.differences);
    unstated["scenario"]["task_params"] = json!({});
    assert!(!agreement(&unstated, Rules::Panda).is_whole());
}

/// A failure that has no effect leaves a case in scope.
#[test]
fn a_collaborator_that_fails_puts_a_case_out_of_scope_where_it_matters() {
    let mut failed = case();
    failed["scenario"]["fail_used_queues"] = json!(true);
    let scope = |case: &Value| Recorded::read(&case.to_string()).expect("a case").out_of_scope();
    assert_eq!(scope(&failed), None);
    failed["expected"] = json!({"verdict": "pending", "reason": "no_used_queues"});
    assert_eq!(scope(&failed), Some("a collaborator was made to fail"));
}

/// Of equal weights PanDA takes any, and by that the verdict itself may be another.
#[test]
fn another_verdict_is_right_where_equal_weights_lead_to_it() {
    let mut tied = case();
    tied["expected"] = json!({
        "verdict": "pending", "candidates": [], "skipped": {"WHOLE": "cpucore", "FREE": "x"},
        "alternatives": [{"verdict": "assigned", "candidates": ["BUSY", "FREE"]}],
        "reason_order_dependent": {"FREE": ["x", "None"]}
    });
    let whole = agreement(&tied, Rules::Panda);
    assert!(whole.is_whole(), "{:?}", whole.differences);
    tied["expected"]["alternatives"][0]["candidates"] = json!(["FREE"]);
    assert!(!agreement(&tied, Rules::Panda).verdict);
}

/// Of queues of equal weight PanDA shuffles which come among the five: no queue is left out for its
/// name.
#[test]
fn of_equal_queues_each_task_draws_its_own_five() {
    let names: Vec<String> = (0..12).map(|at| format!("IDLE_{at:02}")).collect();
    let for_each = |value: Value| -> Value {
        names
            .iter()
            .map(|name| (name.clone(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let mut alike = case();
    alike["scenario"]["queues"] = for_each(queue("US", 1));
    alike["scenario"]["stats"] = json!({
        "jobs": {}, "pilots_3h": for_each(json!({"get_job": 1, "update_job": 1}))
    });
    let mut drawn = |task: u32| -> Vec<String> {
        alike["scenario"]["task"]["task_id"] = json!(task);
        let judged = Recorded::read(&alike.to_string()).expect("a case").judge(Rules::Panda);
        judged.expect("a judgement").candidates.into_iter().map(|(name, _, _)| name).collect()
    };
    assert_eq!(drawn(1), drawn(1));
    let mut times = vec![0; names.len()];
    for task in 0..240 {
        let five = drawn(task);
        assert_eq!(five.len(), 5);
        for (times, name) in times.iter_mut().zip(&names) {
            *times += u32::from(five.contains(name));
        }
    }
    assert!(times.iter().all(|it| (60..140).contains(it)), "of 240, some 100 each: {times:?}");
}

/// A name that no queue answers to is final only where there are queues, and is no nucleus's.
#[test]
fn a_name_that_may_yet_be_a_queue_is_not_rejected() {
    let verdict = |site: &str, queues: Option<Value>| {
        let mut named = case();
        named["scenario"]["task"]["site"] = json!(site);
        if let Some(queues) = queues {
            named["scenario"]["queues"] = queues;
        }
        let judged = Recorded::read(&named.to_string()).expect("a case").judge(Rules::Tuned);
        judged.expect("a judgement").verdict
    };
    assert_eq!(verdict("NOWHERE", None), "rejected");
    assert_eq!(verdict("nucleus:SLAC", None), "pending");
    assert_eq!(verdict("FREE", Some(json!({}))), "pending");
}

/// A case's queues are read as an import reads those of PanDA's table.
#[test]
fn queues_are_read_as_panda_reads_them() {
    for (fields, is_candidate) in [
        (json!({"catchall": "x, allowed_processing=zz"}), true),
        (json!({"catchall": "x,allowed_processing=zz"}), false),
        (json!({"max_wdir_mb": "lots"}), true),
        (json!({"max_wdir_mb": "lots", "max_input_size_mb": -1}), true),
        (json!({"max_wdir_mb": 300, "core_count": 8}), false),
        (json!({"max_wdir_mb": 300, "core_count": 8, "catchall": "per_core_attr"}), true),
        (json!({"space_gb": -1}), false),
    ] {
        let mut whole = case();
        let task = &mut whole["scenario"]["task"];
        task["core_count"] = json!(0);
        task["work_disk_count"] = json!(500);
        task["work_disk_unit"] = json!("MB");
        let free = &mut whole["scenario"]["queues"]["FREE"];
        let Value::Object(fields) = fields else { panic!("an object") };
        free.as_object_mut().expect("a queue").extend(fields.clone());
        let read = Recorded::read(&whole.to_string()).expect("a case");
        let judged = read.judge(Rules::Panda).expect("a judgement");
        let found = judged.candidates.iter().any(|(queue, _, _)| queue == "FREE");
        assert_eq!(found, is_candidate, "{fields:?}: {:?}", judged.skipped);
    }
}
