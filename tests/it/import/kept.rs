//! A good record is never taken away by a row that cannot be read.

use super::CRIC;
use super::standing::{Standing, Web, held, page, printed, verb};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;
use yardmaster::core::cut::Topic;

/// A source of a kind, first and then: something in it is well both times, something cannot be read
/// the second time, and something is gone.
pub(super) struct Case {
    pub kind: &'static str,
    pub topic: Topic,
    pub first: Value,
    then: Value,
    /// Keys that stay, and those that go.
    stay: &'static [&'static str],
    go: &'static [&'static str],
}

pub(super) fn cases() -> Vec<Case> {
    let dump: Value = serde_json::from_str(CRIC).unwrap();
    let [well, single] = ["BNL", "ALL"].map(|name| dump[name].clone());
    let mut odd = well.clone();
    odd["cloud"] = json!(["somewhere"]);
    let link = |site: &str, latest: Value| json!({"src": site, "dst": "B", "closeness": {"latest": latest}});
    let share = |name: &str, parent: Value, value: Value| json!({"name": name, "parent": parent, "value": value});
    let parameter = |key: &str, value: Value| json!({"app": "jobbroker", "component": "c", "key": key, "type": "integer", "value": value});
    let quota = |account: &str, used: i64| json!({"account": account, "rse_expression": "S", "bytes_limit": 9, "used_bytes": used});
    let replica = |name: &str, length: i64| {
        json!({"scope": "s", "name": name, "rse": "R_DATADISK", "length": length,
            "available_length": 1})
    };
    let slots = |queue: &str, slots: Value| json!({"pandaqueuename": queue, "numslots": slots});
    let software = |tags: Value| json!({"cmtconfigs": [], "containers": [], "cvmfs": [], "architectures": [], "tags": tags});
    let tag = json!([{"tag": "t", "container_name": "c", "sources": []}]);
    vec![
        Case {
            kind: "cric",
            topic: Topic::Queue,
            first: json!({"A": well, "B": well, "C": single, "GONE": single}),
            then: json!({"A": well, "B": odd, "C": 7}),
            stay: &["A/SCORE", "B/SCORE", "B/MCORE_HIMEM", "C"],
            go: &["GONE"],
        },
        Case {
            kind: "netmetrics",
            topic: Topic::Link,
            first: json!({"A:B": link("A", json!(1)), "C:B": link("C", json!(2)),
                "GONE:B": link("GONE", json!(3))}),
            then: json!({"A:B": link("A", json!(1)), "C:B": link("C", json!("near"))}),
            stay: &["A:B", "C:B"],
            go: &["GONE:B"],
        },
        Case {
            kind: "storage",
            topic: Topic::Storage,
            first: json!({"Q": {"RSE": {"A": 1, "B": 2, "C": "3", "GONE": 4}}}),
            then: json!({"Q": {"RSE": {"A": 1, "B": "full", "C": 0}}}),
            stay: &["A", "B", "C"],
            go: &["GONE"],
        },
        Case {
            kind: "nuclei",
            topic: Topic::Site,
            first: json!(["A", "B", "GONE"]),
            then: json!(["A", {"name": "B", "output_endpoint": 7}]),
            stay: &["A", "B"],
            go: &["GONE"],
        },
        Case {
            kind: "shares",
            topic: Topic::Share,
            first: json!([
                share("A", Value::Null, json!(1)),
                share("B", Value::Null, json!(2)),
                share("B1", json!("B"), json!(2)),
                share("GONE", json!("A"), json!(2)),
            ]),
            then: json!([
                share("A", Value::Null, json!(1)),
                share("B", Value::Null, json!("much")),
                share("B1", json!("B"), json!(2)),
            ]),
            stay: &["A", "B", "B1"],
            go: &["GONE"],
        },
        Case {
            kind: "gdpconfig",
            topic: Topic::Parameter,
            first: json!([
                parameter("A", json!(1)),
                parameter("B", json!("2")),
                parameter("GONE", json!(3)),
            ]),
            then: json!([parameter("A", json!(1)), parameter("B", json!("two"))]),
            stay: &["jobbroker/c/A/", "jobbroker/c/B/"],
            go: &["jobbroker/c/GONE/"],
        },
        Case {
            kind: "quotas",
            topic: Topic::Quota,
            first: json!([quota("ann", 1), quota("bob", 2), quota("gone", 3)]),
            then: json!([quota("ann", 1), quota("bob", -2)]),
            stay: &["user/ann S", "user/bob S"],
            go: &["user/gone S"],
        },
        Case {
            kind: "releases",
            topic: Topic::Release,
            first: json!({"A": software(tag.clone()), "B": software(tag.clone()),
                "GONE": software(json!([]))}),
            then: json!({"A": software(json!([])), "B": software(json!("none"))}),
            stay: &["A", "B", "ALL"],
            go: &["GONE"],
        },
        Case {
            kind: "replicas",
            topic: Topic::Replica,
            first: json!([replica("a", 1), replica("b", 1), replica("gone", 1)]),
            then: json!([replica("a", 1), replica("b", -1)]),
            stay: &["s:a|R_DATADISK", "s:b|R_DATADISK"],
            go: &["s:gone|R_DATADISK"],
        },
        Case {
            kind: "slots",
            topic: Topic::Pilot,
            first: json!([slots("A", json!(1)), slots("B", json!(2)), slots("GONE", json!(2))]),
            then: json!([slots("A", json!(1)), slots("B", json!("few"))]),
            stay: &["A/slots//", "B/slots//"],
            // What takes a figure back is a record too.
            go: &[],
        },
    ]
}

/// Imports a text: exit code, and what was done.
pub(super) fn import(case: &Case, place: &Path, text: &str) -> (Option<i32>, String, String) {
    let (file, dir) = (place.join("source.json"), place.join(case.kind));
    std::fs::write(&file, text).unwrap();
    let (file, dir) = (file.to_str().unwrap(), dir.to_str().unwrap());
    let args = ["import", case.kind, file, "--dir", dir, "--prune", "--may-shrink", "--verbose"];
    printed(&verb(&args).output().unwrap())
}

#[test]
fn what_the_source_names_and_cannot_be_read_stays() {
    let place = TempDir::new().unwrap();
    for case in cases() {
        let kind = case.kind;
        let (code, out, errors) = import(&case, place.path(), &case.first.to_string());
        assert_eq!(code, Some(0), "{kind}: {out}{errors}");
        let (code, out, errors) = import(&case, place.path(), &case.then.to_string());
        assert_eq!(code, Some(1), "{kind}: {out}{errors}");
        let log = held(&place.path().join(kind), case.topic);
        let is_there = |key: &&str| log.get(*key).copied();
        for key in case.stay {
            assert_eq!(is_there(key), Some(true), "{kind}: {key} of {log:?}\n{out}{errors}");
        }
        for key in case.go {
            assert_eq!(is_there(key), Some(false), "{kind}: {key} of {log:?}\n{out}{errors}");
        }
        assert!(out.contains("kept as they were"), "{kind}: {out}");
        assert!(errors.contains("left out"), "{kind}: {errors}");
    }
}

/// Whose row it is that cannot be read is not known, so nothing is known to be gone.
#[test]
fn nothing_goes_while_a_row_has_no_name_that_can_be_read() {
    let place = TempDir::new().unwrap();
    for case in cases().into_iter().filter(|case| case.first.is_array()) {
        let mut then = case.then.clone();
        then.as_array_mut().unwrap().push(json!({"name": 7}));
        import(&case, place.path(), &case.first.to_string());
        let before = held(&place.path().join(case.kind), case.topic);
        let (code, out, errors) = import(&case, place.path(), &then.to_string());
        assert_eq!(code, Some(1), "{}: {out}{errors}", case.kind);
        let now = held(&place.path().join(case.kind), case.topic);
        assert_eq!(now, before, "{}: {out}{errors}", case.kind);
        assert!(out.contains(" 0 removed"), "{}: {out}", case.kind);
    }
}

/// The ones of ATLAS stand in for resource types that nobody states, not for those that cannot be
/// read.
#[test]
fn resource_types_that_cannot_be_read_change_no_pseudo_queue() {
    let place = TempDir::new().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (queues, types, dir) = (path("queues.json"), path("types.json"), path("log"));
    let well: Value = serde_json::from_str::<Value>(CRIC).unwrap()["BNL"].clone();
    std::fs::write(&queues, json!({"A": well}).to_string()).unwrap();
    let import = |sources: &[&str], core: Value| {
        let row = json!({"resource_name": "SCORE", "mincore": core, "maxcore": 1});
        std::fs::write(&types, json!([row]).to_string()).unwrap();
        let to = ["--dir", &dir, "--prune", "--may-shrink"];
        printed(&verb(&[&["import", "cric"], sources, &to].concat()).output().unwrap())
    };
    let (code, out, errors) = import(&[&queues, &types], json!(1));
    assert_eq!(code, Some(0), "{out}{errors}");
    let only = BTreeMap::from([("A/SCORE".to_owned(), true)]);
    assert_eq!(held(Path::new(&dir), Topic::Queue), only);
    let (code, out, errors) = import(&[&queues, &types], json!("some"));
    assert_eq!(code, Some(1), "{out}{errors}");
    assert!(errors.contains("resource type SCORE: field `mincore`: found \"some\""), "{errors}");
    assert_eq!(held(Path::new(&dir), Topic::Queue), only, "{out}{errors}");
    let (code, out, errors) = import(&[&types], json!(1));
    assert_eq!(code, Some(1), "{out}{errors}");
    assert!(errors.contains("resource types alone: add CRIC's dump of queues"), "{errors}");
    assert_eq!(held(Path::new(&dir), Topic::Queue), only, "{out}{errors}");
}

/// Which sites of a dump are nuclei depends on all of its queues.
#[test]
fn no_nucleus_goes_while_a_queue_cannot_be_read() {
    let place = TempDir::new().unwrap();
    let mut dump: Value = serde_json::from_str(CRIC).unwrap();
    let cases = cases();
    let case = cases.iter().find(|case| case.kind == "nuclei").unwrap();
    import(case, place.path(), &dump.to_string());
    let before = held(&place.path().join(case.kind), case.topic);
    assert!(before.contains_key("MWT2") && before.len() > 3, "{before:?}");
    dump["MWT2"]["cloud"] = json!(["somewhere"]);
    let (code, out, errors) = import(case, place.path(), &dump.to_string());
    assert_eq!(code, Some(1), "{out}{errors}");
    assert!(out.contains("0 written, 0 removed") && out.contains("1 kept"), "{out}{errors}");
    assert_eq!(held(&place.path().join(case.kind), case.topic), before);
}

#[test]
fn an_import_that_goes_on_keeps_warns_and_counts() {
    let row = |used: i64| {
        json!([
            {"account": "ann", "rse_expression": "S", "bytes_limit": 9, "used_bytes": 1},
            {"account": "bob", "rse_expression": "S", "bytes_limit": 9, "used_bytes": used},
        ])
    };
    let (place, web) = (TempDir::new().unwrap(), Web::start(&row(1).to_string()));
    let (url, dir) = (web.url(), place.path().join("yard"));
    let log = ["--dir", dir.to_str().unwrap(), "--every", "1s", "--http", "127.0.0.1:0"];
    let standing = Standing::start(&[&["import", "quotas", &url], &log[..]].concat());
    let logged = standing.wait("quota: 2 written, 0 removed, 0 unchanged");
    let address = logged.split("metrics on http://").nth(1).unwrap().lines().next().unwrap();
    web.show(200, &row(-1).to_string());
    standing.wait("0 written, 0 removed, 1 unchanged, 1 kept as they were");
    let logged = standing.wait("left out");
    assert!(logged.contains("WARN") && logged.contains("quota of bob at S"), "{logged}");
    let both = ["user/ann S", "user/bob S"].map(|key| (key.to_owned(), true));
    assert_eq!(held(&dir, Topic::Quota), BTreeMap::from(both));
    let (_, metrics) = page(address, "/metrics");
    for outcome in ["kept", "unreadable"] {
        let line = format!("import=\"quotas\",outcome=\"{outcome}\"}} ");
        let count = metrics.split(&line).nth(1).and_then(|rest| rest.lines().next());
        let count: Option<u64> = count.and_then(|count| count.parse().ok());
        assert!(count.is_some_and(|count| count > 0), "{outcome}: {metrics}");
    }
}
