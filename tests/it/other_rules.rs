//! `replay --with-topology` as a user calls it.

use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use yardmaster::wire::topology::ATLAS;

/// Every file below a directory with its bytes.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found
}

/// A simulated grid's log of so many hours.
pub(crate) fn simulated(dir: &Path, topology: &str, hours: &str, scale: &str) -> String {
    let place = dir.join(topology).to_str().unwrap().to_owned();
    let args = ["--topology", topology, "--hours", hours, "--scale", scale, "--dir", &place];
    let (code, _, errors) =
        printed(&yardmaster(&[&["demo", "--log", "error"], &args[..]].concat()));
    assert_eq!(code, Some(0), "{errors}");
    place
}

/// The report of a replay, and its exit code.
fn compared(dir: &str, topology: &str, other: &str, more: &[&str]) -> (Option<i32>, Value) {
    let args = ["replay", "--log", "error", "--dir", dir, "--topology", topology];
    let rules = ["--with-topology", other, "--format", "json"];
    let (code, report, errors) = printed(&yardmaster(&[&args, &rules[..], more].concat()));
    (code, serde_json::from_str(&report).unwrap_or_else(|_| panic!("{report} {errors}")))
}

#[test]
fn the_topology_of_a_log_changes_nothing_over_it_and_no_byte_is_written() {
    let dir = TempDir::new().unwrap();
    for (topology, hours, scale) in
        [("atlas", "3", "0.004"), ("nordugrid", "1", "0.001"), ("cms", "1", "0.001")]
    {
        let log = simulated(dir.path(), topology, hours, scale);
        let before = files(Path::new(&log));
        let (code, report) = compared(&log, topology, topology, &["--max-changed", "0%"]);
        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!(files(Path::new(&log)), before, "{topology}");
        let asked = report["requests"]["compared"].as_u64().unwrap();
        assert!(asked > 20, "{topology}: {report:#}");
        assert_eq!(report["requests"]["by_change"]["same"], asked, "{topology}: {report:#}");
        for none in ["assigned_earlier", "not_made_again", "strays", "of_repaired_cycles"] {
            assert_eq!(report[none], 0, "{topology} {none}: {report:#}");
        }
        assert_eq!(report["changed"].as_array().map(Vec::len), Some(0), "{topology}");
        let of = |it: &Value| (it["recorded"].clone(), it["other"].clone());
        for filter in report["filters"].as_array().unwrap() {
            let (recorded, other) = of(filter);
            assert_eq!(recorded, other, "{topology} {filter}");
        }
    }
}

#[test]
fn changed_rules_are_reported_and_decide_the_exit_code() {
    let dir = TempDir::new().unwrap();
    let log = simulated(dir.path(), "atlas", "1", "0.02");
    let new = dir.path().join("new.toml").to_str().unwrap().to_owned();
    let text = ATLAS.replacen(
        "rules = \"documented\"",
        "rules = \"documented\"\nroom_per_running = 0.1",
        1,
    );
    assert_ne!(text, ATLAS);
    std::fs::write(&new, text.replace("\nbatch_records = 10_000", "\nbatch_records = 900"))
        .unwrap();
    let (code, report) = compared(&log, "atlas", &new, &["--show", "3"]);
    assert_eq!(code, Some(0), "no bound, no failure: {report:#}");
    let changed = report["changed_percent"].as_f64().unwrap();
    assert!(changed > 0.0, "{report:#}");
    let shown = report["changed"].as_array().unwrap();
    assert!((1..=3).contains(&shown.len()), "{report:#}");
    let room = report["filters"].as_array().unwrap().iter().find(|it| it["filter"] == "room");
    let room = room.unwrap_or_else(|| panic!("{report:#}"));
    assert!(room["other"].as_u64() > room["recorded"].as_u64(), "{room}");
    let (code, _) = compared(&log, "atlas", &new, &["--max-changed", "100%"]);
    assert_eq!(code, Some(0));
    let (code, _) = compared(&log, "atlas", &new, &["--max-changed", "0"]);
    assert_eq!(code, Some(1));
    let args = ["replay", "--log", "error", "--dir", &log, "--with-topology", &new];
    let (code, text, errors) = printed(&yardmaster(&args));
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("limits.batch_records differs"), "{errors}");
    for part in ["changed ", "candidates rejected by filter:", "what each queue gets:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let request = shown[0]["recorded"]["subject"].as_str().unwrap();
    assert!(text.contains(&format!("  {request}:")) && text.contains("    recorded  "), "{text}");
    is_refused_with_its_remedy(dir.path(), &log);
}

fn is_refused_with_its_remedy(dir: &Path, log: &str) {
    let new = dir.join("wrong.toml").to_str().unwrap().to_owned();
    let with = |text: &str, more: &[&str]| {
        std::fs::write(&new, text).unwrap();
        let args = ["replay", "--dir", log, "--with-topology", &new];
        let (code, out, errors) = printed(&yardmaster(&[&args[..], more].concat()));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{errors}");
        errors
    };
    let wrong = ATLAS.replacen("rules = \"documented\"", "room_per_runing = 0.5", 1);
    assert_ne!(wrong, ATLAS);
    let broken = with(&wrong, &[]);
    assert!(broken.contains("room_per_runing") && broken.contains("wrong.toml:"), "{broken}");
    let other = with(&ATLAS.replace("domain = \"atlas\"", "domain = \"belle\""), &[]);
    assert!(other.contains("belle") && other.contains("same domain"), "{other}");
    let topics = ATLAS.replace("[topics.job-state]", "[topics.job-state]\nname = \"other\"");
    assert_ne!(topics, ATLAS);
    assert!(with(&topics, &[]).contains("[topics]"));
    let none = ["--to", "2025-10-14T00:00:20Z", "--max-changed", "100%"];
    let (code, report) = compared(log, "atlas", "atlas", &none);
    assert_eq!((code, &report["requests"]["compared"]), (Some(1), &Value::from(0)), "{report:#}");
    let late = with(ATLAS, &["--from", "2031-01-01T00:00:00Z"]);
    assert!(late.contains("2031-01-01T00:00:00Z") && late.contains("2025-10-14"), "{late}");
    let share = with(ATLAS, &["--max-changed", "some"]);
    assert!(share.contains("percentage from 0 to 100"), "{share}");
    let both = with(ATLAS, &["--verify"]);
    assert!(both.contains("--verify"), "{both}");
    let (code, _, errors) = printed(&yardmaster(&["replay", "--dir", log, "--from", "1h"]));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("--with-topology"), "{errors}");
}

/// What if a queue goes offline: it gets nothing, its jobs go elsewhere or wait, and what the log has
/// stays as it is. A record that is supposed to be as it is changes nothing.
#[test]
fn a_queue_that_is_supposed_to_be_offline_gets_nothing() {
    let dir = TempDir::new().unwrap();
    let log = simulated(dir.path(), "atlas", "3", "0.004");
    let args = ["replay", "--log", "error", "--dir", &log, "--format", "json"];
    let what_if = |set: &str| {
        let (code, report, errors) = printed(&yardmaster(&[&args[..], &["--set", set]].concat()));
        (code, serde_json::from_str::<Value>(&report).unwrap_or(Value::Null), errors)
    };
    let plain = compared(&log, "atlas", "atlas", &[]).1;
    let of_queue = |report: &Value| {
        let mut jobs: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for it in report["queues"].as_array().unwrap() {
            let name = it["queue"].as_str().unwrap().split('/').next().unwrap();
            let both = jobs.entry(name.to_owned()).or_default();
            both[0] += it["jobs"]["recorded"].as_u64().unwrap();
            both[1] += it["jobs"]["other"].as_u64().unwrap();
        }
        jobs
    };
    let recorded = of_queue(&plain);
    let (queue, jobs) = recorded.iter().max_by_key(|(_, jobs)| jobs[0]).unwrap();
    assert!(jobs[0] > 0, "{plain:#}");
    let (code, same, errors) = what_if(&format!("queue.{queue}.status=online"));
    assert_eq!(code, Some(0), "{errors}");
    let asked = same["requests"]["compared"].as_u64().unwrap();
    assert_eq!(same["requests"]["by_change"]["same"], asked, "{same:#}");
    let (code, off, errors) = what_if(&format!("queue.{queue}.status=offline"));
    assert_eq!(code, Some(0), "{errors}");
    let changed = of_queue(&off);
    assert_eq!(changed[queue], [jobs[0], 0], "{off:#}");
    assert_eq!(off["not_made_again"], 0, "{off:#}");
    let gained = changed.iter().filter(|(_, jobs)| jobs[1] > jobs[0]).count();
    let waits = off["outcomes"].as_array().unwrap().iter().any(|it| {
        it["recorded"] == "assign" && it["other"] == "defer" && it["answers"].as_u64() > Some(0)
    });
    assert!(gained > 0 || waits, "its work goes elsewhere or waits: {off:#}");
    let (code, _, errors) = what_if("queue.NOWHERE.status=offline");
    assert!(code == Some(2) && errors.contains("no such queue"), "{code:?} {errors}");
}

/// What a queue's own filters are, and what was sent there, is a count of the log's decisions.
#[test]
fn a_queue_is_explained_by_its_own_decisions() {
    let dir = TempDir::new().unwrap();
    let log = simulated(dir.path(), "atlas", "3", "0.004");
    let tail =
        ["tail", "--log", "error", "--dir", &log, "--from", "3000d", "--no-follow", "--json"];
    let (_, lines, errors) = printed(&yardmaster(&[&tail[..], &["--kind", "decision"]].concat()));
    let decisions: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(decisions.len() > 20, "{errors}");
    let decision =
        |it: &Value| if it["record"].is_object() { it["record"].clone() } else { it.clone() };
    let mut sent: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for it in decisions.iter().map(decision) {
        let mut of_one: BTreeMap<String, u64> = BTreeMap::new();
        for ranked in it["ranked"].as_array().into_iter().flatten() {
            let name = ranked["queue"].as_str().unwrap().split('/').next().unwrap().to_owned();
            *of_one.entry(name).or_default() += ranked["jobs"].as_u64().unwrap();
        }
        for (name, jobs) in of_one.into_iter().filter(|(_, jobs)| *jobs > 0) {
            let sum = sent.entry(name).or_default();
            *sum = [sum[0] + jobs, sum[1] + 1];
        }
    }
    let (queue, [jobs, times]) = sent.iter().max_by_key(|(_, sum)| sum[0]).unwrap();
    let name = format!("queue/{queue}");
    let (code, text, errors) =
        printed(&yardmaster(&["explain", "--log", "error", "--dir", &log, &name]));
    assert_eq!(code, Some(0), "{errors}");
    let jobs = if *jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") };
    let expected = format!(": {jobs} by {times} decisions");
    let is_sent = |it: &str| it.starts_with("sent there since 20") && it.ends_with(&expected);
    assert!(text.lines().any(is_sent), "{expected}\n{text}");
    let verdict =
        format!("queue {queue} is online and was sent {jobs} by {times} decisions since 20");
    assert!(text.starts_with(&verdict), "{verdict}\n{text}");
    // A pseudo-queue, as answers name candidates, is its queue.
    let part = format!("{queue}/SCORE");
    let (code, of_part, errors) =
        printed(&yardmaster(&["explain", "--log", "error", "--dir", &log, &part]));
    assert_eq!((code, of_part), (Some(0), text.clone()), "{errors}");
    let wrong = format!("queue/{queue}X");
    let (code, _, errors) = printed(&yardmaster(&["explain", "--dir", &log, &wrong]));
    assert_eq!(code, Some(1), "{errors}");
    let near = format!("there is no queue \"{queue}X\", as ");
    assert!(errors.contains(&near) && errors.contains(&format!(" {queue}")), "{errors}");
    let of_others = sent.keys().filter(|it| *it != queue && text.contains(it.as_str()));
    assert_eq!(of_others.count(), 0, "{text}");
    let (code, text, _) =
        printed(&yardmaster(&["explain", "--log", "error", "--dir", &log, "share/User Analysis"]));
    assert!(code == Some(0) && text.contains("its target is"), "{text}");
}
