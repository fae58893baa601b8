//! Recorded cases judged: the reader and the comparison, on a small case written here; the table by
//! which attributes of PanDA are read.

use serde_json::{Value, json};
use yardmaster::core::cut::Topic;
use yardmaster::core::policy::Rules;
use yardmaster::sim::conform::{Configuration, Judged, Recorded, Summary, task_fields};
use yardmaster::wire::avro::from_json;
use yardmaster::wire::topology::{ATLAS, CMS};

/// By hand, for files of recorded cases: `YARDMASTER_CASES=FILE[:FILE...]` (unpacked) and
/// `YARDMASTER_RULES=panda|documented`, with `--ignored --nocapture`.
#[test]
#[ignore = "needs files of recorded cases; see YARDMASTER_CASES"]
fn recorded_cases_agree() {
    let files = std::env::var("YARDMASTER_CASES").expect("YARDMASTER_CASES names files");
    let rules = match std::env::var("YARDMASTER_RULES").as_deref() {
        Ok("panda") => Rules::Panda,
        _ => Rules::Documented,
    };
    let mut summary = Summary::default();
    for path in files.split(':') {
        for line in std::fs::read_to_string(path).expect("a file of cases").lines() {
            let case = Recorded::read(line).expect("a case");
            let judged = case.judge(rules).expect("a judgement");
            if case.out_of_scope().is_some() {
                continue;
            }
            let Some(agreement) = case.compare(&judged) else { continue };
            if agreement.excuse(&judged).is_some() {
                continue;
            }
            summary.add(&agreement);
            if !agreement.is_whole() {
                println!("{} {}", case.id, case.rule());
                agreement.differences.iter().for_each(|line| println!("    {line}"));
            }
        }
    }
    println!("{summary}");
    assert_eq!(summary.whole, summary.cases);
}

fn queue(site: &str, status: &str) -> Value {
    json!({
        "site": site, "role": if site == "NORTH" { "nucleus" } else { "satellite" }, "cloud": "X",
        "type": "production", "status": status, "core_count": 8, "max_rss_mb": 16000,
        "releases": ["ANY"], "endpoints": [{
            "endpoint": format!("{site}_DATADISK"), "default_read": true, "default_write": true,
            "roles": ["read_lan", "write_lan"]
        }]
    })
}

/// Two queues, one of them on standby; 100 jobs run at each, nothing is queued.
fn case() -> Value {
    let storage = |site: &str| json!({"site": site, "type": "DATADISK", "space_free_gb": 5000, "space_total_gb": 9000});
    json!({
        "id": "t-1", "kind": "prod_job", "rule": "status", "target": "SOUTH_MCORE",
        "doc": {"says": "skipped", "panda_agrees": false},
        "scenario": {
            "now": "2025-10-15T12:00:00", "resource_types": [],
            "storage_endpoints": {
                "NORTH_DATADISK": storage("NORTH"), "SOUTH_DATADISK": storage("SOUTH")
            },
            "queues": {
                "NORTH_MCORE": queue("NORTH", "online"), "SOUTH_MCORE": queue("SOUTH", "standby")
            },
            "task": {
                "task_id": 1, "prod_source_label": "managed", "processing_type": "simul",
                "gshare": "MC", "resource_type": "MCORE", "current_priority": 500,
                "task_priority": 500, "core_count": 8, "ram_count_mb": 1500,
                "ram_unit": "MBPerCore", "nucleus": "NORTH", "options": {"nFilesPerJob": 1}
            },
            "input": {"datasets": []},
            "network": {},
            "stats": {
                "jobs": {"NORTH_MCORE": {"MC": {"running": 100}}, "SOUTH_MCORE": {"MC": {"running": 100}}},
                "jobs_by_resource_type": {},
                "pilots_3h": {
                    "NORTH_MCORE": {"get_job": 1, "update_job": 1},
                    "SOUTH_MCORE": {"get_job": 1, "update_job": 1}
                }
            }
        },
        "gdpconfig": {},
        "expected": {
            "verdict": "assigned",
            "candidates": [
                {"queue": "NORTH_MCORE", "weight": 10.1}, {"queue": "SOUTH_MCORE", "weight": 10.1}
            ],
            "skipped": {}
        }
    })
}

fn read(value: &Value) -> Recorded {
    Recorded::read(&value.to_string()).expect("a case")
}

/// The client for JEDI reads the same lines.
#[test]
fn attributes_of_panda_are_read_as_the_client_for_jedi_reads_them() {
    for line in include_str!("../fixtures/panda-task.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a line of JSON");
        let read = task_fields(&case);
        for (field, wants) in case["fields"].as_object().expect("fields") {
            let found = field.split('.').fold(&read, |within, name| &within[name]);
            assert_eq!(found, wants, "{}: {field}", case["about"]);
        }
        let named = [("subject", "1/1"), ("task", "1"), ("domain", "atlas"), ("policy", "p")];
        let mut record = read.clone();
        named.iter().for_each(|(name, value)| record[*name] = json!(value));
        ["asked_at", "changed_at"].iter().for_each(|name| record[*name] = json!(1));
        assert_eq!(from_json(Topic::Task, &record).err(), None, "{}", case["about"]);
    }
}

/// A field that is new in the schema has to be thought of.
#[test]
fn every_field_of_a_task_is_in_the_table() {
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let table = json(include_str!("../../schemas/panda-task.json"));
    let schema = json(include_str!("../../schemas/task.avsc"));
    let names = |fields: &Value| -> Vec<String> {
        let fields = fields.as_array().expect("a list").iter();
        fields.map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    };
    let mut wanted = names(&schema["fields"]);
    wanted.retain(|name| name != "options");
    let options = schema["fields"].as_array().expect("a list").iter();
    let options = options.clone().find(|it| it["name"] == "options").expect("options");
    wanted.extend(names(&options["type"]["fields"]).iter().map(|it| format!("options.{it}")));
    let rows = table["fields"].as_array().expect("rows").iter();
    let mut found: Vec<String> =
        rows.map(|row| row["field"].as_str().expect("a field").to_owned()).collect();
    let code = table["code"].as_object().expect("code").keys();
    found.extend(code.flat_map(|names| names.split(", ")).map(str::to_owned));
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);
}

#[test]
fn both_readings_of_a_difference_are_distinguished() {
    let case = read(&case());
    for rules in [Rules::Documented, Rules::Panda] {
        let judged = case.judge(rules).expect("a judgement");
        let agreement = case.compare(&judged).expect("something to compare with");
        assert!(agreement.is_whole(), "{rules:?}: {:?}", agreement.differences);
    }
    let documented = case.judge(Rules::Documented).expect("a judgement");
    let documented = Judged { rules: Rules::Panda, ..documented };
    let crossed = case.compare(&documented).expect("something to compare with");
    assert!(crossed.verdict && !crossed.candidates && !crossed.skipped);
}

#[test]
fn a_topology_file_judges_by_its_own_policies() {
    let case = read(&case());
    let by = |text| case.judge(Configuration::File { name: "my.toml", text });
    let shipped = case.judge(Rules::Documented).expect("a judgement");
    assert_eq!(by(ATLAS).expect("a judgement").to_json(), shipped.to_json());
    let panda = ATLAS.replace("rules = \"documented\"", "rules = \"panda\"");
    let judged = by(&panda).expect("a judgement");
    assert_eq!(judged.rules, Rules::Panda);
    let agreement = case.compare(&judged).expect("something to compare with");
    assert!(agreement.is_whole(), "{:?}", agreement.differences);
    let error = by(CMS).expect_err("a pool");
    assert!(error.contains("my.toml: it has no policy of kind atlas-production-job"), "{error}");
}

#[test]
fn a_changed_record_is_found() {
    for (path, value) in [
        ("/expected/verdict", json!("pending")),
        ("/expected/candidates/0/weight", json!(10.2)),
        ("/expected/candidates/0/queue", json!("WEST")),
        ("/expected/skipped", json!({"WEST": "status"})),
    ] {
        let mut changed = case();
        *changed.pointer_mut(path).expect("a place") = value;
        let case = read(&changed);
        let judged = case.judge(Rules::Panda).expect("a judgement");
        let agreement = case.compare(&judged).expect("something to compare with");
        assert!(!agreement.is_whole(), "{path}");
        assert!(!agreement.differences.is_empty(), "{path}");
    }
}

#[test]
fn a_case_without_a_record_is_judged_all_the_same() {
    let mut alone = case();
    alone.as_object_mut().expect("an object").remove("expected");
    let case = read(&alone);
    let judged = case.judge(Rules::Panda).expect("a judgement");
    assert_eq!(judged.verdict, "assigned");
    assert_eq!(case.compare(&judged), None);
}

#[test]
fn what_is_no_case_is_named() {
    let error = |text: &str| Recorded::read(text).expect_err("no case");
    assert!(error("{").contains("no JSON"));
    assert!(error("{}").contains("field `id`"));
    assert!(error(r#"{"id": "x", "kind": "prod_job"}"#).contains("case x: field `scenario`"));
    let mut odd = case();
    odd["scenario"]["queues"]["NORTH_MCORE"]["cloud"] = json!(7);
    let report = read(&odd).judge(Rules::Panda).expect_err("no such cloud");
    assert!(report.contains("queue NORTH_MCORE: field `cloud`: found 7"), "{report}");
}

/// Twelve queues that are alike, of which ten are taken: any ten of them, but no lighter one.
#[test]
fn any_choice_among_equal_weights_at_the_cut_is_right() {
    let names: Vec<String> = (0..12).map(|number| format!("QUEUE_{number:02}")).collect();
    let mut alike = case();
    let scenario = &mut alike["scenario"];
    (scenario["queues"], scenario["stats"]["jobs"]) = (json!({}), json!({}));
    scenario["stats"]["pilots_3h"] = json!({});
    for name in &names {
        scenario["queues"][name] = queue("SOUTH", "online");
        scenario["stats"]["jobs"][name] = json!({"MC": {"running": 100}});
        scenario["stats"]["pilots_3h"][name] = json!({"get_job": 1, "update_job": 1});
    }
    let recorded = |chosen: &[String], weights: &[f64]| {
        let mut alike = alike.clone();
        let is_chosen = |name: &&String| chosen.contains(name);
        let weighed = || names.iter().zip(weights);
        let candidates = weighed().filter(|(name, _)| is_chosen(name));
        let skipped = names.iter().filter(|name| !is_chosen(name));
        alike["expected"] = json!({
            "verdict": "assigned",
            "stability": "tie_at_cut",
            "candidates": candidates
                .map(|(name, weight)| json!({"queue": name, "weight": weight}))
                .collect::<Vec<_>>(),
            "weighed": weighed().map(|(name, weight)| (name.clone(), json!(weight)))
                .collect::<serde_json::Map<_, _>>(),
            "skipped": skipped.map(|name| (name.clone(), json!("low_weight")))
                .collect::<serde_json::Map<_, _>>(),
        });
        let case = read(&alike);
        let judged = case.judge(Rules::Panda).expect("a judgement");
        case.compare(&judged).expect("something to compare with")
    };
    let ours = 10.1;
    let (first, last) = (&names[..10], &names[2..]);
    for chosen in [first, last] {
        let agreement = recorded(chosen, &[ours; 12]);
        assert!(agreement.is_whole(), "{:?}", agreement.differences);
    }
    // One too few is no choice, and where the weights are not equal there is none either.
    assert!(!recorded(&names[3..], &[ours; 12]).candidates);
    let mut unequal = [ours; 12];
    unequal[11] = 10.2;
    let agreement = recorded(last, &unequal);
    assert!(!agreement.candidates && !agreement.skipped, "{:?}", agreement.differences);
}

/// A case of xRSL: `expected` has every field that is compared.
fn description(text: &str, expected: &Value) -> Recorded {
    read(&json!({
        "id": "xr-1", "kind": "xrsl", "rules": ["B.9"], "text": text, "expected": expected
    }))
}

#[test]
fn a_description_is_compared_field_by_field() {
    let condition = |name: &str, value: &str| json!({"attribute": name, "written": name, "relation": "=", "values": [value]});
    let tree = json!({
        "operator": "&", "items": [condition("executable", "a"), condition("count", "4")]
    });
    let judge = |expected: &Value| {
        let case = description("&(executable=a)(count=4)", expected);
        assert_eq!(case.rule(), "B.9");
        let judged = case.judge(Rules::Documented).expect("a judgement");
        let agreement = case.compare(&judged).expect("something to compare");
        (agreement.is_whole(), agreement.differences.join("; "), judged.to_json())
    };
    let (agrees, differences, result) = judge(&json!({"ok": true, "tree": tree}));
    assert!(agrees, "{differences}");
    assert_eq!(result["jobs"][0][0]["count"], json!(4));
    let mut whole = json!({"ok": true, "tree": tree, "jobs": result["jobs"]});
    assert!(judge(&whole).0);
    whole["jobs"][0][0]["memory_mb"] = json!(5);
    let (agrees, differences, _) = judge(&whole);
    assert!(!agrees);
    assert_eq!(differences, "jobs[0][0].memory_mb: ours null, theirs 5");
    let error = json!({"kind": "syntax", "code": "no_operator", "line": 1, "column": 3});
    let (agrees, differences, _) = judge(&json!({"ok": false, "error": error}));
    assert!(!agrees && differences.contains("ok: ours true, theirs false"), "{differences}");
}

#[test]
fn an_error_in_a_description_is_compared_with_its_place() {
    let error = |column: u64| {
        let error = json!({"kind": "meaning", "code": "not_integer", "line": 2, "column": column});
        let case = description("&(executable=a)\n(count=x)", &json!({"ok": false, "error": error}));
        let judged = case.judge(Rules::Documented).expect("a judgement");
        case.compare(&judged).expect("something to compare").is_whole()
    };
    assert!(error(2));
    assert!(!error(3));
}

/// JSON of the tree nests twice as deeply as the description.
#[test]
fn a_description_of_many_levels_is_read() {
    let condition = json!({"attribute": "a", "written": "a", "relation": "=", "values": []});
    let tree = (0..200).fold(condition, |inner, _| json!({"operator": "&", "items": [inner]}));
    let text = format!("{}a={}", "&(".repeat(200), ")".repeat(200));
    let case = description(&text, &json!({"ok": true, "tree": tree}));
    let judged = case.judge(Rules::Documented).expect("a judgement");
    let agreement = case.compare(&judged).expect("something to compare");
    assert!(agreement.is_whole(), "{:?}", agreement.differences);
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    let error = Recorded::read(&deep).expect_err("too deep");
    assert!(error.contains("nests 2000 levels deep, at most 1000"), "{error}");
}

#[test]
fn a_case_of_a_description_needs_its_text_and_a_dialect() {
    let error = |case: Value| read(&case).judge(Rules::Documented).expect_err("no case");
    let case = json!({"id": "xr-1", "kind": "xrsl"});
    assert!(error(case).contains("case xr-1: field `text`: found null"));
    let case = json!({"id": "xr-1", "kind": "xrsl", "text": "a=1", "dialect": "martian"});
    assert!(error(case).contains("field `dialect`: found \"martian\", wants user or server"));
}

/// A grid of one cluster with a full queue and an open one, as recorded cases have it.
fn nordugrid_case() -> Value {
    let queue = |free_slots: &str, most: u64| {
        json!({
            "status": "active", "total_slots": 100, "grid_queued_jobs": 4,
            "max_queuable_jobs": most, "user": {"free_slots": free_slots, "disk_free_bytes": 900}
        })
    };
    json!({
        "id": "ng-1", "kind": "nordugrid", "rules": ["N-12", "N-27"],
        "scenario": {
            "now": "2026-03-01T12:00:00Z", "cut_id": "c000000000000001", "job_id": "gsid-0001",
            "xrsl": "&(executable=run)(count=2)(cputime=60)(inputfiles=(\"a\" \"u:a\"))",
            "clusters": {"ce-a": {
                "cache_free_bytes": 100,
                "queues": {"full": queue("9", 4), "open": queue("6:600 10:60", 5)}
            }},
            "files": {"u:a": {"size_bytes": 40, "replicas": ["se1"]}}
        },
        "expected": {
            "verdict": "assign", "code": null, "alternative_index": 0,
            "discovery": {
                "mode": "index", "index_servers_read": ["index-1"], "clusters": ["ce-a"],
                "no_information": []
            },
            "choice": {
                "target": "ce-a/open", "rule": "only_candidate", "has_free_slots": true,
                "free_set": ["ce-a/open"], "tied": ["ce-a/open"], "draw": null
            },
            "changes": {
                "target": "ce-a/open", "count": 2, "time_s": 3600,
                "free_slots_after": [[3600, 8], [36000, 6]], "disk_bytes": 0,
                "disk_free_bytes_after": 900, "cache_bytes": 40, "cache_free_bytes_after": 60,
                "tags": ["u:a"], "queued_jobs_delta": 0
            }
        }
    })
}

#[test]
fn a_case_of_nordugrid_is_compared_whole() {
    let agreement = |whole: &Value| {
        let case = Recorded::read(&whole.to_string()).expect("a case");
        let judged = case.judge(Rules::Documented).expect("a judgement");
        let queues = &judged.to_json()["alternatives"][0]["queues"];
        assert_eq!(queues["ce-a/full"], json!({"rejected": "queue_full"}));
        assert_eq!(queues["ce-a/open"]["classes"], json!({"a": "REMOTE"}));
        case.compare(&judged).expect("something to compare with")
    };
    let mut whole = nordugrid_case();
    assert_eq!(agreement(&whole).differences, Vec::<String>::new());
    whole["expected"]["changes"]["free_slots_after"][1][1] = json!(5);
    assert_eq!(agreement(&whole).differences.len(), 1);
}

#[test]
fn a_draw_and_a_bad_description_are_answered() {
    let answer = |scenario: Value| {
        let whole = json!({"id": "ng-2", "kind": "nordugrid", "scenario": scenario});
        Recorded::read(&whole.to_string()).expect("a case").judge(Rules::Documented)
    };
    let drawn = answer(json!({
        "question": "draw", "job_id": "gsid-0001", "attempt": 0, "cut_id": "c000000000000001",
        "weights": [["c", 60], ["a", 10], ["b", 30]]
    }));
    let drawn = drawn.expect("a draw").to_json();
    assert_eq!((&drawn["x"], &drawn["chosen"]), (&json!(52), &json!("c")));
    let rejected = answer(json!({
        "now": "2026-03-01T12:00:00Z", "job_id": "gsid-0001", "xrsl": "&(executable=run"
    }));
    let rejected = rejected.expect("an answer").to_json();
    assert_eq!(rejected["code"], "bad_description");
    assert_eq!(rejected["error"]["code"], "missing_parenthesis");
    let error = answer(json!({"question": "why"})).expect_err("no such question");
    assert!(error.contains("wants decide, draw, cut_id"), "{error}");
}

/// Two queues for analysis at which a user's task is judged. At SOUTH 200 jobs are queued.
fn analysis_case() -> Value {
    let mut case = case();
    case["kind"] = json!("anal_job");
    case["gdpconfig"] = json!({"jedi.anal_jobbroker.OVERLOAD_RATIO_OFFSET": 100});
    let scenario = &mut case["scenario"];
    for queue in ["NORTH_MCORE", "SOUTH_MCORE"] {
        scenario["queues"][queue]["type"] = json!("analysis");
        scenario["queues"][queue]["status"] = json!("online");
        scenario["queues"][queue]["core_count"] = json!(1);
    }
    scenario["task"] = json!({
        "task_id": 1, "prod_source_label": "user", "gshare": "User Analysis", "user_name": "Jane",
        "resource_type": "SCORE", "current_priority": 1000, "task_priority": 1000, "core_count": 1,
        "ram_count_mb": 1500, "ram_unit": "MBPerCore", "options": {"nFilesPerJob": 1}
    });
    scenario["stats"]["jobs"] = json!({
        "NORTH_MCORE": {"User Analysis": {"running": 100}},
        "SOUTH_MCORE": {"User Analysis": {"running": 100, "activated": 200}}
    });
    scenario["analysis"] = json!({
        "owner_totals": {
            "running_jobs": 100, "queued_jobs": 100, "running_cores": 100, "queued_cores": 100
        },
        "gshare_usage": {"User Analysis": {"usage_fraction": 0.5}},
        "task_class": 1, "user_eval": {"remaining_slots_class_a": 500},
        "queue_class": {"NORTH_MCORE": 1, "SOUTH_MCORE": -1}
    });
    case
}

/// What a case states of users, shares and quotas reaches the engine as records.
#[test]
fn figures_of_an_analysis_case_are_counted_from_records() {
    let cap = json!({"pandaserver.prio_mgr.CAP_RUNNING_USER_JOBS": 99});
    let quota = json!({"global": [
        {"rse_expression": "type=SCRATCHDISK", "used_bytes": 11, "limit_bytes": 10}
    ]});
    let users = json!({"SOUTH_MCORE": {"User Analysis": {
        "_total": {"running": 100}, "Jane": {"queued": 190, "running": 1},
        "John": {"queued": 1, "running": 99}
    }}});
    let closed = json!({"SOUTH_MCORE": {"closed": 1}});
    let unwanted = [
        ("/gdpconfig", cap, "throttled", "running_jobs_cap"),
        ("/scenario/quota", quota, "throttled", "over_global_quota"),
        (
            "/scenario/analysis/gshare_usage/User Analysis/usage_fraction",
            json!(2.01),
            "throttled",
            "gshare_class_a",
        ),
        ("/scenario/analysis/user_jobs", users, "assigned", "badsite"),
        ("/scenario/analysis/task_job_outcomes", closed, "assigned", "closed"),
    ];
    let judged = read(&analysis_case()).judge(Rules::Panda).expect("a judgement");
    assert_eq!((judged.verdict, judged.candidates.len()), ("assigned", 2), "{judged:?}");
    let weight = |queue: &str| judged.candidates.iter().find(|it| it.0 == queue).map(|it| it.2);
    assert!(weight("NORTH_MCORE") > weight("SOUTH_MCORE"), "of class A and a hi-site: {judged:?}");
    for (path, value, verdict, word) in unwanted {
        let mut changed = analysis_case();
        let (parent, name) = path.rsplit_once('/').expect("a path");
        *match changed.pointer_mut(parent) {
            Some(parent) => &mut parent[name],
            None => &mut changed[name],
        } = value;
        let judged = read(&changed).judge(Rules::Panda).expect("a judgement");
        let reason = judged.skipped.get("SOUTH_MCORE").unwrap_or(&judged.reason);
        assert_eq!((judged.verdict, reason.as_str()), (verdict, word), "{path}");
    }
}

/// A figure that no records give excuses a case whose answer shows it, and no other.
#[test]
fn what_no_record_gives_excuses_what_comes_of_it() {
    let excuse = |skipped: Value, locked: Value| {
        let mut case = case();
        case["scenario"]["stats"]["locked_queues"] = locked;
        case["expected"]["skipped"] = skipped;
        let case = read(&case);
        let judged = case.judge(Rules::Panda).expect("a judgement");
        let agreement = case.compare(&judged).expect("something to compare with");
        assert!(!agreement.is_whole());
        agreement.excuse(&judged).is_some()
    };
    assert!(excuse(json!({"NORTH_MCORE": "lock"}), json!(["NORTH_MCORE"])));
    assert!(!excuse(json!({"NORTH_MCORE": "disk"}), json!(["NORTH_MCORE"])), "another reason");
    assert!(!excuse(json!({"NORTH_MCORE": "lock"}), json!([])), "not stated");
}
