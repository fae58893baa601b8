//! A pool of slots as a running process shows it, to a program and on a terminal: its figures are
//! those of the records that the log was given.

use super::process::Inputs;
use super::top;
use crate::api::schema::Schemas;
use crate::demo::Demo;
use crate::http::ask;
use crate::kill::bus::now;
use crate::kill::process::{Ending, PROGRAM, wait_until};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::event::{
    JobState, Pilot, Requirements, Site, SiteStatus, SlotOffer, SlotQuota, Status, Task,
    WorkflowFacts,
};
use yardmaster::core::topic::Topic;
use yardmaster::shell::api::openapi;
use yardmaster::wire::record;
use yardmaster::wire::topology::Topology;

/// Jobs that want more cores than the offer has, those of a site that is offline, those that run.
const LARGE: usize = 3;
const OFFLINE: usize = 5;
const RUNNING: usize = 2;
/// Jobs on hold of a workflow that has no others, and of one that has.
const LEFT: usize = 4;
const ASIDE: usize = 1;
/// Jobs that somebody removed.
const REMOVED: usize = 6;

fn site(inputs: &mut Inputs, name: &str, status: SiteStatus) {
    let quota = SlotQuota {
        revision: 1,
        tier: "T2".into(),
        status,
        pledged_slots: 100,
        central_permille: 500,
        corepower_mhs06: 10_000,
        ..SlotQuota::default()
    };
    inputs.configure(&Site {
        name: name.into(),
        changed_at: now(),
        active: true,
        slot_quota: Some(quota),
        ..Site::default()
    });
}

const OF_OPS: [&str; 2] = ["wf", "ops"];
const OF_KIM: [&str; 2] = ["wf-left", "kim"];

fn jobs(
    inputs: &mut Inputs,
    [task, user]: [&str; 2],
    (name, count): (&str, usize),
    status: Status,
    wants: &Requirements<&str>,
) {
    for at in 0..count {
        let (job, at) = (format!("{name}-{at}"), now());
        let started_at = if status == Status::Running { at } else { 0 };
        let state = JobState {
            job: &job,
            task,
            user,
            queue: if status == Status::Running { "T2_A" } else { "" },
            cores: 4,
            status,
            started_at,
            changed_at: at,
            created_at: at,
            requirements: Some(Box::new(wants.clone())),
            ..JobState::default()
        };
        inputs.append(Topic::JobState, &job, |out| record::write(out, &state));
    }
}

/// A log of two sites, a workflow with jobs, and an offer of two cores.
fn write_log(dir: &Path) {
    let mut inputs = Inputs::create(dir, &Topology::default_cms());
    site(&mut inputs, "T2_A", SiteStatus::Online);
    site(&mut inputs, "T2_OFF", SiteStatus::Offline);
    for [name, user] in [OF_OPS, OF_KIM] {
        let workflow = Task {
            subject: name.into(),
            task: name.into(),
            domain: "cms".into(),
            policy: "cms".into(),
            user: user.into(),
            working_group: "higgs".into(),
            asked_at: now(),
            changed_at: now(),
            workflow: Some(WorkflowFacts { test_jobs: Some(0), ..WorkflowFacts::default() }),
            ..Task::default()
        };
        inputs.append(Topic::Task, name, |out| record::write(out, &workflow));
    }
    let wants = |site_whitelist, cores_min| Requirements {
        seq: Some(1_000),
        site_whitelist: Some(site_whitelist),
        cores_min,
        ..Requirements::default()
    };
    for (of, count, status, wants) in [
        (OF_OPS, ("large", LARGE), Status::Activated, wants("T2_A", 4)),
        (OF_OPS, ("off", OFFLINE), Status::Activated, wants("T2_OFF", 1)),
        (OF_OPS, ("run", RUNNING), Status::Running, wants("T2_A", 4)),
        (OF_OPS, ("aside", ASIDE), Status::Held, wants("T2_A", 4)),
        (OF_KIM, ("left", LEFT), Status::Held, wants("T2_A", 1)),
        (OF_KIM, ("gone", REMOVED), Status::Cancelled, wants("T2_A", 1)),
    ] {
        jobs(&mut inputs, of, count, status, &wants);
    }
    let offer = SlotOffer {
        offer: "o",
        cores_free: 2,
        cores_total: 8,
        wall_left_s: 86_400,
        mem_free_mb: 64_000,
        expires_at: now() + 3_600_000,
        ..SlotOffer::default()
    };
    let report = Pilot::SlotOffer { queue: "T2_A", offer: Box::new(offer), at: now() };
    inputs.append(Topic::Pilot, "o", |out| record::write(out, &report));
    inputs.flush();
}

/// The answer of a path, which has the described form.
fn answer(address: SocketAddr, path: &str) -> Value {
    let (head, body) = ask(address, path);
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head} {body}");
    let answer = serde_json::from_str(&body).unwrap();
    let described = path.split('?').next().unwrap();
    let complaints = Schemas::read(openapi()).check(described, &answer);
    assert!(complaints.is_empty(), "{path}: {complaints:#?}");
    answer
}

#[test]
fn a_pool_is_shown_in_its_own_words_with_the_figures_of_its_records() {
    let dir = TempDir::new().unwrap();
    let (yard, log) = (dir.path().join("yard"), dir.path().join("log"));
    write_log(&yard);
    let child = Command::new(PROGRAM)
        .args(["run", "--topology", "cms", "--http", "127.0.0.1:0", "--dir"])
        .arg(&yard)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let _run = Ending(child);
    let store = yard.join("store");
    let shown = ["--once", "--store", store.to_str().unwrap()];
    let frame = RefCell::new(String::new());
    let seen = || format!("{}\n{}", frame.borrow(), std::fs::read_to_string(&log).unwrap());
    let idle = LARGE + OFFLINE;
    wait_until(Duration::from_secs(60), seen, || {
        *frame.borrow_mut() = top(&shown).1;
        let has = |text: &str| frame.borrow().contains(text);
        // Header and figures are of two looks, of which the first may be older.
        has("leading") && has(&format!("idle {idle}")) && has(&format!("idle jobs {idle} "))
    });
    let frame = frame.into_inner();
    let line = |parts: &[&str]| {
        let has = |line: &&str| parts.iter().all(|part| line.contains(part));
        frame.lines().find(has).unwrap_or_else(|| panic!("no {parts:?} in {frame}"))
    };
    line(&["cms  leading", &format!("idle jobs {idle}")]);
    line(&[
        "sites 2",
        &format!("running {RUNNING} (8 cores of 200 pledged)"),
        "offers 1 (2 cores)",
    ]);
    line(&["Too few cores left", &LARGE.to_string()]);
    line(&["Their sites take no jobs", &OFFLINE.to_string()]);
    line(&["T2_OFF", "offline", "Tier 2"]);
    assert!(!frame.contains("pilots") && !frame.contains("Shares"), "{frame}");

    let address = frame.split("http://").nth(1).unwrap().split(' ').next().unwrap();
    let address = address.parse().unwrap();
    let pool = answer(address, "/api/v1/pool");
    let reasons: Vec<(&str, u64)> = pool["idle_by_reason"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["filter"].as_str().unwrap(), it["jobs"].as_u64().unwrap()))
        .collect();
    assert_eq!(reasons, [("site_status", OFFLINE as u64), ("cores", LARGE as u64)]);
    assert_eq!((&pool["idle"], &pool["running"]), (&json!(idle), &json!(RUNNING)));
    assert_eq!(pool["offers"]["cores_free"], 2);
    assert_eq!(pool["workflows"][0]["idle"], idle);
    for (user, jobs) in [("higgs", Some(idle)), ("ops", Some(idle)), ("nobody", None)] {
        let (_, body) = ask(address, &format!("/api/v1/waiting?user={user}"));
        let waiting: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(waiting["requests"][0]["jobs"], json!(jobs), "{user}");
    }
    let queues = answer(address, "/api/v1/queues");
    assert_eq!(queues["of"], "sites");
    let off = queues["queues"].as_array().unwrap().iter().find(|it| it["queue"] == "T2_OFF");
    let off = off.unwrap();
    assert_eq!((&off["status"], &off["pledged_cores"]), (&json!("offline"), &json!(100)));
    assert_eq!(answer(address, "/api/v1/status")["requests_open"], idle);
    shows_workflows_users_and_ages(&frame, &pool);
    shows_what_is_on_hold_and_what_was_removed(&frame, &pool);
    says_nowhere_that_none_waits(address);
}

/// What became of the jobs of workflows, users by share, how old offers are.
fn shows_workflows_users_and_ages(frame: &str, pool: &Value) {
    let (workflow, user) = (&pool["workflows"][0], &pool["users"][0]);
    let jobs = ["running", "finished", "failed"].map(|what| workflow[what].clone());
    assert_eq!(jobs, [json!(RUNNING), json!(0), json!(0)]);
    assert_eq!(user["user"], "ops");
    // Two jobs of 4 cores run, on the power of the reference.
    let share = user["share"].as_f64().unwrap();
    assert!((8.0..8.1).contains(&share), "{user}");
    let (idle, running) = ((LARGE + OFFLINE).to_string(), RUNNING.to_string());
    let has = |parts: &[&str]| has_line(frame, parts);
    assert!(has(&["idle", "hold", "run", "fin", "fail/rm", "last"]), "{frame}");
    assert!(has(&["wf", &idle, &ASIDE.to_string(), &running, "0", "0"]), "{frame}");
    assert!(has(&["ops", "8.0", &running, &idle, &ASIDE.to_string()]), "{frame}");
    assert!(frame.contains("Drained nodes 0"), "{frame}");
    assert!(frame.lines().any(|it| it.contains("offers 1 (2 cores), ") && it.contains(" old")));
}

/// Whether a line of a frame has these words, in this order.
fn has_line(frame: &str, parts: &[&str]) -> bool {
    frame.lines().any(|line| {
        let mut words = line.split_whitespace();
        parts.iter().all(|part| words.any(|word| word == *part))
    })
}

/// A workflow all of whose jobs are on hold is no empty one, nor is its user nobody. The state does
/// not tell jobs that were removed from those that failed for good.
fn shows_what_is_on_hold_and_what_was_removed(frame: &str, pool: &Value) {
    let found = |list: &str, field: &str, name: &str| {
        let all = pool[list].as_array().unwrap().iter();
        all.clone().find(|it| it[field] == name).unwrap_or_else(|| panic!("{name}: {pool}")).clone()
    };
    assert_eq!(pool["on_hold"], LEFT + ASIDE);
    assert_eq!(found("workflows", "workflow", "wf")["on_hold"], ASIDE);
    assert_eq!(found("users", "user", "ops")["on_hold"], ASIDE);
    let left = found("workflows", "workflow", "wf-left");
    assert_eq!((&left["on_hold"], &left["idle"]), (&json!(LEFT), &json!(0)), "{left}");
    assert_eq!(left["failed"], REMOVED, "{left}");
    let kim = found("users", "user", "kim");
    assert_eq!((&kim["on_hold"], &kim["running"]), (&json!(LEFT), &json!(0)), "{kim}");
    let (hold, removed) = (LEFT.to_string(), REMOVED.to_string());
    assert!(has_line(frame, &["wf-left", "0", &hold, "0", "0", &removed]), "{frame}");
    assert!(has_line(frame, &["kim", "0.0", "0", "0", &hold]), "{frame}");
}

/// What is idle is at no site: that nothing is queued there is true, and would mislead.
fn says_nowhere_that_none_waits(address: SocketAddr) {
    let attention = answer(address, "/api/v1/attention");
    let items = attention["items"].as_array().unwrap();
    let off = items.iter().find(|it| it["title"] == "T2_OFF is offline");
    let off = off.unwrap_or_else(|| panic!("{attention}"));
    assert_eq!(off["text"], "It gets no new jobs and has 100 cores: 0 run.");
    for site in ["T2_A", "T2_OFF"] {
        let explained = answer(address, &format!("/api/v1/explain?name={site}"));
        let shown = format!("{} {}", explained["headline"], explained["text"]);
        assert!(!shown.contains("queued"), "{shown}");
    }
    let explained = answer(address, "/api/v1/explain?name=T2_A");
    let headline = explained["headline"].as_str().unwrap();
    let jobs = "2 jobs run on 8 cores, 2 cores are free in 1 live offer";
    assert!(headline.ends_with(jobs), "{headline}");
    let (_, metrics) = ask(address, "/metrics");
    assert!(!metrics.contains("yardmaster_waiting_requests"), "{metrics}");
}

#[test]
fn the_curves_of_a_pool_have_its_idle_jobs() {
    let dir = TempDir::new().unwrap();
    let demo = Demo::of("cms", &dir.path().join("demo"));
    let last = |of: &str, what: &str| {
        let path = format!("/api/v1/series?of={of}&what={what}");
        let (_, body) = ask(demo.address, &path);
        let series: Value = serde_json::from_str(&body).unwrap_or_default();
        let values = series["series"][0]["values"].as_array().and_then(|it| it.last().cloned());
        values.and_then(|it| it.as_f64()).unwrap_or(0.0)
    };
    let seen = || demo.fate();
    wait_until(Duration::from_secs(60), seen, || {
        let user = "user&name=cmsprod";
        let all = [("all", "waiting"), ("all", "queued"), (user, "waiting")];
        all.into_iter().all(|(of, what)| last(of, what) > 0.0)
    });
}
