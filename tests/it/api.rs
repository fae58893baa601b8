//! The JSON API of a running process, asked over a socket: it is what `docs/openapi.json` says.

pub mod past;
pub mod schema;
mod whatif;

use crate::demo::Demo;
use crate::http::{ask, problem};
use schema::Schemas;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use yardmaster::shell::api::openapi;

/// The body of a good answer.
fn get(address: SocketAddr, path: &str) -> Value {
    let (head, body) = ask(address, path);
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head} {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

/// Asks again until an answer is as it should be.
fn wait_for(address: SocketAddr, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let (head, body) = ask(address, path);
        let answer = serde_json::from_str::<Value>(&body).unwrap_or_default();
        if head.starts_with("HTTP/1.1 200") && is_so(&answer) {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{path}: {head} {body}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn demo() -> (TempDir, Demo) {
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    (dir, demo)
}

/// A decision of each outcome named, once there is one.
fn first(address: SocketAddr, what: &str) -> Value {
    let path = format!("/api/v1/decisions?kind=decision&what={what}&limit=1");
    wait_for(address, &path, |it| !it["items"][0].is_null())["items"][0].clone()
}

#[test]
fn every_answer_has_the_described_form_and_every_parameter_is_described() {
    let (_dir, demo) = demo();
    let schemas = Schemas::read(openapi());
    let assigned = first(demo.address, "assign");
    let deferred = first(demo.address, "defer");
    let (subject, queue) = (assigned["subject"].as_str().unwrap(), &assigned["queues"][0]);
    let queue = queue.as_str().unwrap().split('/').next().unwrap();
    let by_sequence = format!("/api/v1/decisions/{}", assigned["sequence"]);
    let by_id = format!("/api/v1/decisions/{}", deferred["id"].as_str().unwrap());
    let asked = [
        ("/api/v1/status", "/api/v1/status".to_owned()),
        ("/api/v1/history", "/api/v1/history".to_owned()),
        ("/api/v1/queues", "/api/v1/queues".to_owned()),
        ("/api/v1/shares", "/api/v1/shares".to_owned()),
        ("/api/v1/counters", "/api/v1/counters?by=queue,link".to_owned()),
        ("/api/v1/audit", "/api/v1/audit".to_owned()),
        ("/api/v1/series", "/api/v1/series?of=queue&what=running,starts".to_owned()),
        ("/api/v1/changes", "/api/v1/changes".to_owned()),
        ("/api/v1/task", format!("/api/v1/task?name={}", subject.split('/').next().unwrap())),
        ("/api/v1/decisions", "/api/v1/decisions?limit=1000".to_owned()),
        ("/api/v1/decisions/{id}", by_sequence),
        ("/api/v1/decisions/{id}", by_id),
        ("/api/v1/explain", format!("/api/v1/explain?name={subject}")),
        ("/api/v1/explain", format!("/api/v1/explain?name={queue}&kind=queue")),
        ("/api/v1/explain", "/api/v1/explain?name=prod00".to_owned()),
        ("/api/v1/usage", "/api/v1/usage".to_owned()),
        ("/api/v1/attention", "/api/v1/attention".to_owned()),
        ("/api/v1/sites", "/api/v1/sites".to_owned()),
        ("/api/v1/waiting", "/api/v1/waiting".to_owned()),
        ("/api/v1/throttles", "/api/v1/throttles?all=1".to_owned()),
        ("/api/v1/what-if", format!("/api/v1/what-if?set=queue.{queue}.status=offline")),
    ];
    for (path, url) in &asked {
        let complaints = schemas.check(path, &get(demo.address, url));
        assert!(complaints.is_empty(), "{url}: {complaints:#?}");
        // A parameter that there is not: the answer names those that there are.
        let more = if url.contains('?') { '&' } else { '?' };
        let (head, body) = ask(demo.address, &format!("{url}{more}nonsense=1"));
        assert!(head.starts_with("HTTP/1.1 400"), "{url}: {head}");
        assert!(problem(&body).contains("nonsense"), "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        let remedy = body["remedy"].as_str().unwrap();
        let allowed: BTreeSet<&str> = remedy
            .strip_prefix("give any of ")
            .map_or(BTreeSet::new(), |it| it.split(", ").collect());
        assert_eq!(allowed, schemas.parameters(path), "{url}");
    }
    assert_eq!(ask(demo.address, "/api/v1/openapi.json").1, openapi());
}

#[test]
fn the_reason_is_that_of_the_terminal() {
    let (dir, demo) = demo();
    let event = first(demo.address, "assign");
    let subject = event["subject"].as_str().unwrap();
    let found = get(demo.address, &format!("/api/v1/explain?name={subject}"));
    assert_eq!((&found["state"], &found["kind"]), (&"assigned".into(), &"task".into()));
    let decision = &found["decisions"][0];
    assert_eq!(decision["id"], event["id"]);
    // The cut-flow adds up: from all candidates down to those that are listed.
    let steps = decision["steps"].as_array().unwrap();
    let mut left = decision["candidates"].as_u64().unwrap();
    for step in steps {
        left -= step["rejected"].as_u64().unwrap();
        assert_eq!(step["left"], left, "{step}");
    }
    assert_eq!(left, decision["queues"].as_array().unwrap().len() as u64);
    let sent: u64 =
        decision["queues"].as_array().unwrap().iter().map(|it| it["jobs"].as_u64().unwrap()).sum();
    assert_eq!(event["jobs"], sent);
    let yard = dir.path().join("demo");
    let explained = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["explain", subject, "--dir", yard.to_str().unwrap()])
        .output()
        .unwrap();
    let explained = String::from_utf8(explained.stdout).unwrap();
    let text = found["text"].as_str().unwrap();
    assert!(explained.contains(text.trim_end()), "{explained}\n---\n{text}");
}

#[test]
fn what_is_not_known_or_makes_no_sense_is_answered_with_a_remedy() {
    let (_dir, demo) = demo();
    first(demo.address, "assign");
    for (code, path, part) in [
        (404, "/api/v1/explain?name=nobody", "nobody"),
        (404, "/api/v1/explain?name=nobody&kind=task", "nobody"),
        (400, "/api/v1/explain", "no name"),
        (400, "/api/v1/explain?name=x&kind=dog", "dog"),
        (404, "/api/v1/decisions/77", "77"),
        (400, "/api/v1/decisions?limit=1001", "1001"),
        (400, "/api/v1/decisions?what=jump", "jump"),
        (400, "/api/v1/queues?at=noon", "noon"),
        (404, "/api/v1/queues?at=1", "1970"),
        (404, "/api/v1/pool", "no pool of slots"),
        (400, "/api/v1/counters?by=moon", "moon"),
        (404, "/api/v1/counters?against=1", "1970"),
        (400, "/api/v1/series?of=moon", "moon"),
        (400, "/api/v1/series?of=user", "no name"),
        (400, "/api/v1/series?of=share&what=starts", "starts of a share"),
        (400, "/api/v1/series?from=2100-01-01T00:00:00Z", "2100"),
        (404, "/api/v1/series?of=task&name=nobody", "nobody"),
        (400, "/api/v1/changes?limit=1001", "1001"),
        (400, "/api/v1/task", "no name"),
        (404, "/api/v1/task?name=nobody", "nobody"),
    ] {
        let (head, body) = ask(demo.address, path);
        assert!(head.starts_with(&format!("HTTP/1.1 {code}")), "{path}: {head}");
        assert!(problem(&body).contains(part), "{path}: {body}");
    }
}

#[test]
fn the_list_goes_on_where_it_ended_in_both_directions() {
    let (_dir, demo) = demo();
    let path = "/api/v1/decisions?limit=5";
    let page = wait_for(demo.address, path, |it| it["more_before"].is_u64());
    let sequences = |page: &Value| -> Vec<u64> {
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["sequence"].as_u64().unwrap())
            .collect()
    };
    let newest = sequences(&page);
    assert!(newest.is_sorted_by(|one, next| one > next), "{newest:?}");
    let before = format!("{path}&before={}", page["more_before"]);
    let older = sequences(&get(demo.address, &before));
    assert!(older.iter().all(|it| it < newest.last().unwrap()), "{older:?} {newest:?}");
    let after = format!("/api/v1/decisions?after={}&limit=1000", newest[4]);
    let again = sequences(&get(demo.address, &after));
    assert!(again.ends_with(&newest[..4]), "{again:?} {newest:?}");
}

#[test]
fn a_past_moment_is_shown_as_it_was() {
    let (_dir, demo) = demo();
    let mut seen: BTreeMap<u64, Value> = BTreeMap::new();
    let begun = Instant::now();
    let mut same = 0;
    while same < 2 {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} cycles seen", seen.len());
        let now = wait_for(demo.address, "/api/v1/queues", |it| it["cycle"].as_u64() > Some(0));
        let at = now["now"].as_i64().unwrap();
        seen.insert(now["cycle"].as_u64().unwrap(), now);
        let (head, body) = ask(demo.address, &format!("/api/v1/queues?at={at}"));
        if !head.starts_with("HTTP/1.1 200") {
            // Nothing is kept so early.
            continue;
        }
        let then: Value = serde_json::from_str(&body).unwrap();
        assert!(then["now"].as_i64().unwrap() <= at, "{at}: {}", then["now"]);
        if let Some(live) = seen.get(&then["cycle"].as_u64().unwrap()) {
            assert_eq!(live, &then);
            same += 1;
        }
    }
}

#[test]
fn a_killed_process_goes_on_with_its_history() {
    let (dir, demo) = demo();
    let kept = |it: &Value| it["to"].as_i64() > it["from"].as_i64().map(|from| from + 1_800_000);
    let before = wait_for(demo.address, "/api/v1/history", kept);
    let event = first(demo.address, "assign");
    let begun = Instant::now();
    let stored = |metrics: &str| {
        let count =
            metrics.lines().find(|it| it.starts_with("yardmaster_checkpoint_seconds_count"));
        count.is_some_and(|it| !it.ends_with(" 0"))
    };
    while !stored(&ask(demo.address, "/metrics").1) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(100));
    }
    // The drop kills it; it writes nothing more.
    drop(demo);
    let yard = dir.path().join("demo");
    // The simulated grid's time is long ago, and the pause since takes nothing away.
    let run = Run::start(yard.to_str().unwrap(), "atlas");
    let after = wait_for(run.address, "/api/v1/history", |it| !it["from"].is_null());
    assert_eq!(before["from"], after["from"]);
    let at = format!("/api/v1/queues?at={}", before["from"]);
    assert_eq!(get(run.address, &at)["now"], before["from"]);
    // What it had not written is read back from the log, or is a stated gap.
    let at = event["at"].as_i64();
    let begun = Instant::now();
    loop {
        let (head, _) = ask(run.address, &format!("/api/v1/decisions/{}", event["sequence"]));
        let history = get(run.address, "/api/v1/history");
        let mut gaps = history["gaps"].as_array().unwrap().iter();
        if head.starts_with("HTTP/1.1 200")
            || gaps.any(|gap| gap["from"].as_i64() <= at && at <= gap["to"].as_i64())
        {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{event} is missing: {history}");
        std::thread::sleep(Duration::from_millis(200));
    }
    // An orderly end leaves none, though the last cycles had no outputs.
    let cycle = |run: &Run| get(run.address, "/api/v1/status")["cycle"].as_u64();
    let first = cycle(&run);
    while cycle(&run) <= first {
        std::thread::sleep(Duration::from_millis(100));
    }
    // The limits are those of the process, though the state is of another topology at first.
    let of_today = |it: &Value| it["to"].as_i64() > before["to"].as_i64().map(|to| to + 86_400_000);
    let kept = wait_for(run.address, "/api/v1/history", of_today);
    assert_eq!(kept["from"], after["from"]);
    let gaps = |run: &Run| get(run.address, "/api/v1/history")["gaps"].clone();
    let before = gaps(&run);
    run.stop();
    let run = Run::start(yard.to_str().unwrap(), "atlas");
    wait_for(run.address, "/api/v1/history", |it| !it["from"].is_null());
    assert_eq!(gaps(&run), before);
}

/// `run` on a directory.
struct Run {
    child: std::process::Child,
    address: SocketAddr,
}

impl Run {
    /// SIGTERM, and waits for the end.
    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    fn start(dir: &str, topology: &str) -> Run {
        let child = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
            .args(["run", "--dir", dir, "--http", "127.0.0.1:0", "--log", "warn"])
            .args(["--topology", topology])
            .spawn()
            .unwrap();
        let mut run = Run { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let begun = Instant::now();
        let store = std::path::Path::new(dir).join("store").join("address");
        loop {
            let text = std::fs::read_to_string(&store).unwrap_or_default();
            if let Ok(address) = text.trim().parse::<SocketAddr>()
                && ask_quietly(address)
            {
                run.address = address;
                return run;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not serve");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Whether somebody listens there: the address may be that of the process before.
fn ask_quietly(address: SocketAddr) -> bool {
    std::net::TcpStream::connect(address).is_ok()
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
