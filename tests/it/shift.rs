//! The verbs and answers of a shift: what waits, who is throttled, what needs a person. Each figure
//! is compared with a count of the log, or with decisions as they were published.

use crate::api::past::{Reported, newest, reported};
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
use yardmaster::core::event::Status;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::wire::topology::{ATLAS, CMS, Topology};

/// The log of some hours of a simulated grid that has ended, with a topology of its own.
fn log_of(topology: &str, hours: &str) -> (TempDir, PathBuf, PathBuf) {
    let dir = TempDir::new().unwrap();
    let (file, log) = (dir.path().join("own.toml"), dir.path().join("log"));
    std::fs::write(&file, topology).unwrap();
    let ended = Command::new(PROGRAM)
        .args(["demo", "--hours", hours, "--scale", "0.01"])
        .args(if topology == CMS { &[][..] } else { &["--commands", "on", "--faults"] })
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
        // Where no figure moves, the reason is that of the candidate which came furthest.
        if it["helps"] == "configuration" && it["nearest"].is_object() {
            assert_eq!(it["reason"], it["nearest"]["filter"], "{it}");
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
    // The log has the topology that it was led by, of which no built-in one is.
    let dir = log.to_str().unwrap();
    let (code, out, errors) = printed(&yardmaster(&["throttles", "--json", "--dir", dir]));
    assert_eq!((code, out.lines().count()), (Some(0), in_force.len()), "{errors}");
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

/// The figure of a counter; 0 where it has none.
fn figure(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

#[test]
fn usage_is_the_sum_of_the_counters_over_all_queues() {
    let (_dir, file, log) = log_of(ATLAS, "3");
    let waits = ["pending", "defined", "assigned", "throttled", "activated", "sent", "starting"];
    let mut by_share: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for it in listed(&["counters", "--by", "load"], &file, &log) {
        let sums = by_share.entry(text(&it, "gshare").to_owned()).or_default();
        sums[0] += figure(&it, "jobs_running");
        sums[1] += figure(&it, "cores_running");
        sums[2] += waits.iter().map(|wait| figure(&it, &format!("jobs_{wait}"))).sum::<u64>();
    }
    let shares = listed(&["usage"], &file, &log);
    let part = |of: &Value, name: &str| of[name].as_f64().unwrap();
    for it in &shares {
        let sums = by_share.remove(text(it, "gshare")).unwrap_or_default();
        let jobs = &it["jobs"];
        let own = ["running", "running_cores", "queued"].map(|name| figure(jobs, name));
        assert_eq!(own, sums, "{it}");
        let points = 100.0 * (part(it, "use") - part(it, "target"));
        assert!((part(it, "points") - points).abs() < 1e-9, "{it}");
    }
    assert!(by_share.values().all(|it| *it == [0; 3]), "shares that are left out: {by_share:?}");
    let sum = |name: &str| shares.iter().map(|it| part(it, name)).sum::<f64>();
    assert!((sum("use") - 1.0).abs() < 1e-9 && (sum("target") - 1.0).abs() < 1e-9);
    let points: Vec<f64> = shares.iter().map(|it| part(it, "points")).collect();
    assert!(points.is_sorted_by(|a, b| a >= b), "the furthest above first: {points:?}");

    // A user's part is that of all cores that run, those of production included.
    let queues = listed(&["counters", "--by", "queue"], &file, &log);
    let all: u64 = queues.iter().map(|it| figure(it, "cores_running")).sum();
    for (by, kind) in [("user", "user"), ("group", "group")] {
        let mut sums: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for it in listed(&["counters", "--by", kind], &file, &log) {
            let sums = sums.entry(text(&it, kind).to_owned()).or_default();
            sums[0] += figure(&it, "cores_running");
            sums[1] += waits.iter().map(|wait| figure(&it, &format!("jobs_{wait}"))).sum::<u64>();
        }
        let used = listed(&["usage", "--by", by], &file, &log);
        assert!(used.len() > 2, "{used:?}");
        for it in &used {
            let [own, queued] = sums[text(it, "owner")];
            assert_eq!(figure(&it["jobs"], "running_cores"), own, "{it}");
            assert_eq!(figure(&it["jobs"], "queued"), queued, "{it}");
            assert!((part(it, "part") - own as f64 / all as f64).abs() < 1e-9, "{it}");
        }
    }
}

#[test]
fn an_estimate_rests_on_the_tasks_that_the_log_has() {
    let (_dir, file, log) = log_of(ATLAS, "6");
    let all = reported(&log, &Topology::default_atlas());
    let jobs = newest(&all, i64::MAX);
    // Tasks with jobs at queues of which none has started.
    let mut began: BTreeMap<&str, bool> = BTreeMap::new();
    for it in jobs.values() {
        *began.entry(&it.task).or_default() |= it.started_at > 0;
    }
    let is_queued = |task: &str| jobs.values().any(|it| it.task == task && it.status.is_queued());
    let waiting = began.iter().filter(|(task, began)| !**began && is_queued(task));
    let progress = listed(&["tail", "--no-follow", "--lines", "1"], &file, &log);
    let at = progress[0]["now"].as_i64().unwrap().to_string();
    let (file, log) = (file.to_str().unwrap(), log.to_str().unwrap());
    let mut seen = 0;
    for (task, _) in waiting.take(4) {
        let place = ["explain", task, "--topology", file, "--dir", log, "--at", &at];
        let (code, out, errors) = printed(&yardmaster(&place));
        assert_eq!(code, Some(0), "{errors}");
        // `  begins between A and B at QUEUE: N tasks of share S began at QUEUE within a day, ...`
        let line = out.lines().find(|line| line.trim_start().starts_with("begins between "));
        let Some((range, basis)) = line.and_then(|line| line.split_once(": ")) else {
            assert!(out.contains("no estimate: not so many as 5 tasks of its share"), "{out}");
            continue;
        };
        let Some((number, rest)) = basis.split_once(" tasks of ") else { panic!("{basis}") };
        let (whose, rest) = rest.split_once(" began ").unwrap();
        let queue = rest.strip_prefix("at ").and_then(|rest| rest.split(" within").next());
        let is_its = |it: &&&Reported| {
            let is_of_share = whose.strip_prefix("share ").is_none_or(|share| it.gshare == share);
            it.started_at > 0 && is_of_share && queue.is_none_or(|queue| it.queue == queue)
        };
        let tasks: BTreeSet<&str> = jobs.values().filter(is_its).map(|it| &*it.task).collect();
        // Since a moment before the end, at which this answer is.
        let number: usize = number.trim().parse().unwrap();
        assert!(number <= tasks.len() && number + 2 >= tasks.len(), "{} in {basis}", tasks.len());
        assert!(range.contains(" and "), "{range}");
        seen += 1;
    }
    assert!(seen > 0, "no estimate of {} tasks", began.len());
}

#[test]
fn a_pool_counts_its_jobs_by_class_and_owner_and_knows_when_workflows_got_slots() {
    let (_dir, file, log) = log_of(CMS, "2");
    let all = reported(&log, &Topology::default_cms());
    let jobs = newest(&all, i64::MAX);
    let count = |is: &dyn Fn(&Reported) -> bool| jobs.values().filter(|it| is(it)).count() as u64;
    let is_queued = |it: &Reported| it.status < Status::Running;
    let is_running = |it: &Reported| it.status == Status::Running;
    let mut queued = 0;
    for (by, is_group) in [("user", false), ("group", true)] {
        for it in listed(&["usage", "--by", by], &file, &log) {
            let owner = text(&it, "owner");
            let is_its = |job: &Reported| match is_group {
                true => job.group == owner,
                false => job.user == owner && job.group.is_empty(),
            };
            let found = figure(&it["jobs"], "queued");
            assert_eq!(found, count(&|job| is_its(job) && is_queued(job)), "{it}");
            queued += found;
        }
    }
    assert!(queued > 100, "{queued} are queued");
    // The class of a workflow is that of any decision on one of its kind, the first word of it.
    let decisions = outputs("decision", &file, &log);
    let kind = |workflow: &str| workflow.split('-').next().unwrap().to_owned();
    let classes: BTreeMap<String, &str> =
        decisions.iter().map(|it| (kind(text(it, "task")), text(it, "gshare"))).collect();
    let place = ["--topology", file.to_str().unwrap(), "--dir", log.to_str().unwrap()];
    let verb = |verb: &[&str]| printed(&yardmaster(&[verb, &place].concat()));
    for it in listed(&["usage"], &file, &log) {
        let class = text(&it, "gshare");
        let is_its = |job: &Reported| classes.get(&kind(&job.task)) == Some(&class);
        let running = count(&|job| is_its(job) && is_running(job));
        let queued = count(&|job| is_its(job) && is_queued(job));
        let found = ["running", "queued"].map(|name| figure(&it["jobs"], name));
        assert_eq!(found, [running, queued], "{it}");
        let (code, out, errors) = verb(&["explain", &format!("share/{class}")]);
        assert_eq!(code, Some(0), "{errors}");
        let jobs = format!("{running} jobs run, {queued} are queued");
        assert!(out.starts_with(&format!("share {class} uses ")) && out.contains(&jobs), "{out}");
    }
    let waiting = listed(&["waiting"], &file, &log);
    let mut never = Vec::new();
    for it in &waiting {
        let workflow = text(it, "subject");
        let matched =
            decisions.iter().filter(|it| it["task"] == workflow && it["outcome"] == "assign");
        let started = jobs.values().filter(|it| it.task == workflow && it.started_at > 0);
        let matched = matched.filter_map(|it| it["now"].as_i64()).max();
        let last = matched.max(started.map(|it| it.started_at).max());
        assert_eq!(
            it["last_slots_at"].as_i64().map(|at| at / 1_000),
            last.map(|at| at / 1_000),
            "{it}"
        );
        if last.is_none() {
            never.push(workflow);
        }
    }
    assert!(never.len() < waiting.len() && !never.is_empty(), "{never:?}");
    let (code, out, errors) = verb(&["explain", never[0]]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("  start     no estimate: its jobs start when pilots offer"), "{out}");
    assert!(out.contains("none of its jobs is known to have got slots"), "{out}");
    let (code, _, errors) = verb(&["waiting", "--queue", "T1_DE_01"]);
    let remedy = "yardmaster explain 'site/T1_DE_01'";
    assert!(code != Some(0) && errors.contains(remedy), "{errors}");
    let (code, _, errors) = verb(&["explain", "share/analysi"]);
    assert!(code != Some(0) && errors.contains("analysis"), "{errors}");
}
