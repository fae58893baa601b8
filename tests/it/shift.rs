//! The verbs and answers of a shift: what waits, who is throttled, what needs a person. Each figure
//! is compared with a count of the log, or with decisions as they were published.

use crate::demo::Demo;
use crate::http::ask;
use crate::kill::process::PROGRAM;
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::wire::topology::{ATLAS, Topology};

/// The log of some hours of a simulated grid that has ended, with a topology of its own.
fn log_of(topology: &str, hours: &str) -> (TempDir, PathBuf, PathBuf) {
    let dir = TempDir::new().unwrap();
    let (file, log) = (dir.path().join("own.toml"), dir.path().join("log"));
    std::fs::write(&file, topology).unwrap();
    let ended = Command::new(PROGRAM)
        .args(["demo", "--hours", hours, "--scale", "0.01", "--commands", "on", "--faults"])
        .args(["--http", "127.0.0.1:0", "--dir"])
        .arg(&log)
        .arg("--topology")
        .arg(&file)
        .env("YARDMASTER_LOG", "error")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(ended.success());
    (dir, file, log)
}

/// JSON objects that a verb prints, a line each.
fn listed(verb: &[&str], file: &Path, log: &Path) -> Vec<Value> {
    let place = ["--topology", file.to_str().unwrap(), "--dir", log.to_str().unwrap()];
    let (code, out, errors) = printed(&yardmaster(&[verb, &place, &["--json"]].concat()));
    assert_eq!(code, Some(0), "{verb:?}: {errors}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Outputs of a kind in the log, oldest first.
fn outputs(kind: &str, file: &Path, log: &Path) -> Vec<Value> {
    listed(&["tail", "--no-follow", "--lines", "100000", "--kind", kind], file, log)
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_else(|| panic!("{name} of {of}"))
}

/// ATLAS with users that may have two running jobs.
fn with_caps() -> String {
    let line = "name = \"analysis-job\"\n";
    assert!(ATLAS.contains(line));
    ATLAS.replace(line, &format!("{line}CAP_RUNNING_USER_JOBS = 2\n"))
}

#[test]
fn what_waits_and_who_is_throttled_is_what_the_log_has() {
    let (_dir, file, log) = log_of(&with_caps(), "4");
    let decisions = outputs("decision", &file, &log);
    let mut newest: BTreeMap<&str, &Value> = BTreeMap::new();
    for it in &decisions {
        let held = newest.entry(text(it, "subject")).or_insert(it);
        let order = |it: &Value| (it["attempt"].as_u64(), it["ordinal"].as_u64());
        *held = if order(it) >= order(held) { it } else { held };
    }
    newest.retain(|_, it| it["until"].is_i64());
    let waiting = listed(&["waiting"], &file, &log);
    let judged = waiting.iter().filter(|it| it["reason"] != "not_judged");
    let subjects: BTreeSet<&str> = judged.clone().map(|it| text(it, "subject")).collect();
    assert_eq!(subjects, newest.keys().copied().collect(), "deferred at last, and no more");
    assert!(subjects.len() > 3);
    for it in judged {
        let decision = newest[text(it, "subject")];
        for (own, its) in [("until", "until"), ("answers", "ordinal"), ("judged_at", "now")] {
            assert_eq!(it[own], decision[its], "{own} of {it}");
        }
    }
    // Those that a throttle holds show it, with its figures.
    let mut throttles: BTreeMap<(String, String), Value> = BTreeMap::new();
    for it in outputs("throttle", &file, &log) {
        throttles.insert((text(&it, "subject").into(), text(&it, "rule").into()), it);
    }
    let of = |it: &Value| (text(it, "subject").to_owned(), text(it, "rule").to_owned());
    let in_force = listed(&["throttles"], &file, &log);
    assert!(!in_force.is_empty(), "users above the cap are throttled");
    for it in &in_force {
        let record = &throttles[&of(it)];
        assert_eq!((&record["action"], &it["state"]), (&"set".into(), &"in_force".into()));
        for name in ["measured", "limit", "until", "since", "lift_limit"] {
            assert_eq!(it[name], record[name], "{name} of {it}");
        }
    }
    // All that cannot have lapsed are listed.
    let last = decisions.iter().filter_map(|it| it["now"].as_i64()).max().unwrap();
    let later = Some(last + 1_800_000);
    throttles.retain(|_, it| it["action"] == "set" && it["until"].as_i64() > later);
    let shown: BTreeSet<_> = in_force.iter().map(of).collect();
    assert!(throttles.keys().all(|it| shown.contains(it)), "{shown:?}");
    let held: Vec<&Value> = waiting.iter().filter(|it| it["reason"] == "throttled").collect();
    assert!(!held.is_empty(), "somebody waits for a throttle");
    for it in held {
        let by = &it["held_by"];
        assert_eq!(by["subject"], it["user"], "{it}");
        assert!(shown.contains(&of(by)) && it["helps"] == "throttle", "{it}");
    }
}

#[test]
fn crowded_queues_and_those_that_start_nothing_need_a_person() {
    let lower = "\n[attention]\nqueued_min = 5\ncrowded_min = 30\ncrowded_ratio = 2\n";
    let (_dir, file, log) = log_of(&format!("{ATLAS}{lower}"), "5");
    let sites = listed(&["attention", "--sites"], &file, &log);
    let troubles = |rule: &str| -> BTreeSet<String> {
        let all = sites.iter().flat_map(|it| it["troubles"].as_array().unwrap());
        let of_rule = all.filter(|it| it["rule"] == rule);
        of_rule.map(|it| text(it, "queue").to_owned()).collect()
    };
    // The same from a recount of the counters.
    let counters = listed(&["counters", "--by", "queue"], &file, &log);
    let queues = counters.iter().filter(|it| it["counter"] == "queue");
    let waits = ["pending", "defined", "assigned", "throttled", "activated", "sent", "starting"];
    let mut crowded = BTreeSet::new();
    let (mut queued_in_all, mut running_in_all) = (0, 0);
    for it in queues {
        let jobs = |status: &str| it[format!("jobs_{status}")].as_u64().unwrap_or(0);
        let queued: u64 = waits.iter().map(|status| jobs(status)).sum();
        (queued_in_all, running_in_all) =
            (queued_in_all + queued, running_in_all + jobs("running"));
        if queued >= 30 && queued >= 2 * jobs("running") {
            crowded.insert(text(it, "queue").to_owned());
        }
    }
    let closed = troubles("closed");
    crowded.retain(|queue| !closed.contains(queue));
    assert_eq!(troubles("crowded"), crowded);
    assert!(!crowded.is_empty());
    let sum = |name: &str| sites.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("queued"), sum("running")), (queued_in_all, running_in_all));
    // Those in trouble come first.
    let fine = sites.iter().position(|it| it["severity"].is_null()).unwrap();
    assert!(sites[fine..].iter().all(|it| it["severity"].is_null()));
    // Each finding is an item, or is among those of its site.
    let items = listed(&["attention"], &file, &log);
    let named = |queue: &String| {
        items.iter().any(|it| {
            it["name"] == queue[..]
                || it["names"].as_array().unwrap().iter().any(|name| *name == queue[..])
        })
    };
    assert!(crowded.iter().all(named), "{items:?}");
    let ranks = ["act", "watch", "note"];
    let rank = |it: &Value| ranks.iter().position(|rank| it["severity"] == **rank);
    assert!(items.is_sorted_by_key(rank));
}

fn get(address: SocketAddr, path: &str) -> Value {
    let (head, body) = ask(address, path);
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head} {body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn a_running_process_shows_the_nearest_with_the_figures_of_the_decision() {
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    let begun = Instant::now();
    let mut same = 0;
    while same < 3 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no request waits");
        let waiting = get(demo.address, "/api/v1/waiting");
        let sum: u64 = waiting["by_reason"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["requests"].as_u64().unwrap())
            .sum();
        assert_eq!(Some(sum), waiting["looked_at"].as_u64());
        for it in waiting["requests"].as_array().unwrap() {
            // The first answer states all its figures.
            let nearest = &it["nearest"];
            if it["answers"] != 1 || nearest.is_null() {
                continue;
            }
            let path = format!("/api/v1/explain?name={}&kind=task", text(it, "subject"));
            let decision = &get(demo.address, &path)["decisions"][0];
            if decision["at"] != it["judged_at"] {
                continue;
            }
            let rejected = decision["rejected"].as_array().unwrap();
            let fate = rejected.iter().find(|fate| fate["queue"] == nearest["queue"]).unwrap();
            for name in ["filter", "measured", "limit"] {
                assert_eq!(fate[name], nearest[name], "{name}: {it}");
            }
            assert_eq!(it["rejected"].as_u64().unwrap(), rejected.len() as u64);
            // Asked about that queue, it is among those that wait for it.
            let queue = text(nearest, "queue").split('/').next().unwrap();
            let of_queue = get(demo.address, &format!("/api/v1/waiting?queue={queue}"));
            let mut named = of_queue["requests"].as_array().unwrap().iter();
            assert!(named.all(|it| text(&it["nearest"], "queue").starts_with(queue)));
            same += 1;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    let (head, body) = ask(demo.address, "/api/v1/throttles?all=yes");
    assert!(head.starts_with("HTTP/1.1 400") && body.contains("give one of them"), "{body}");
}

#[test]
fn thresholds_decide_nothing_and_wrong_ones_are_refused() {
    let plain = EpochConfig::of("atlas.toml", ATLAS).unwrap();
    let text = format!("{ATLAS}\n[attention]\nno_start_act_h = 4\n");
    let other = EpochConfig::of("atlas.toml", &text).unwrap();
    assert_eq!((&plain.text, &plain.hash), (&other.text, &other.hash), "no new epoch");
    assert_eq!((plain.attention.no_start_act_h, other.attention.no_start_act_h), (6, 4));
    for (wrong, part) in [
        ("no_start_act = 4", "did you mean `no_start_act_h`?"),
        ("no_start_act_h = 0", "a whole number 1..=720"),
        ("no_start_act_h = 2", "watch no higher than act"),
    ] {
        let text = format!("{ATLAS}\n[attention]\n{wrong}\n");
        let found = Topology::parse("my.toml", &text).expect_err("it is wrong");
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(shown.len() == 1 && shown[0].contains(part), "{shown:?}");
    }
}
