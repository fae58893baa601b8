//! Verbs as somebody calls them who knows a log and little else: without its topology, by the name
//! of a user or workflow, with ages in place of moments, with fields that the pages name.

use crate::broker::{Broker, is_possible};
use crate::other_rules::simulated;
use crate::verbs::{printed, yardmaster};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::output::progress::Progress;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf, NewTopicSpec};
use yardmaster::wire::record;
use yardmaster::wire::topology::{ATLAS, BUILT_IN};

const DOMAINS: [(&str, &str); 3] = [("atlas", "0.005"), ("cms", "0.002"), ("nordugrid", "0.02")];

/// Logs of the three domains, an hour of a small grid each, in one directory.
struct Logs(TempDir);

impl Logs {
    fn log(&self, domain: &str) -> String {
        self.0.path().join(domain).to_str().unwrap().to_owned()
    }

    /// A verb on a log that it can read: its answer.
    fn shown(&self, domain: &str, verb: &[&str]) -> String {
        let log = self.log(domain);
        let args = [verb, &["--dir", &log]].concat();
        let (code, out, errors) = printed(&yardmaster(&args));
        assert_eq!(code, Some(0), "{domain} {verb:?}: {errors}");
        out
    }

    /// What is wrong with a call.
    fn refused(&self, args: &[&str]) -> String {
        let (code, _, errors) = printed(&yardmaster(args));
        assert_eq!(code, Some(2), "{args:?}: {errors}");
        errors
    }
}

#[test]
fn a_log_answers_somebody_who_knows_little_else() {
    let logs = Logs(TempDir::new().unwrap());
    for (topology, scale) in DOMAINS {
        simulated(logs.0.path(), topology, "1", scale);
    }
    the_topology_is_that_of_the_log(&logs);
    users_and_workflows_are_explained(&logs);
    ages_are_reckoned_from_the_last_cycle(&logs);
    fields_of_the_pages_can_be_supposed(&logs);
    other_rules_are_compared_in_what_decides(&logs);
    a_process_and_a_log_are_not_both_asked(&logs);
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn the_topology_is_that_of_the_log(logs: &Logs) {
    let verbs: [&[&str]; 6] = [
        &["waiting", "--json"],
        &["attention", "--json"],
        &["changes", "--json"],
        &["counters", "--at", "0s", "--json"],
        &["commands", "--state", "all", "--json"],
        &["tail", "--no-follow", "--json"],
    ];
    for (domain, _) in DOMAINS {
        for verb in verbs {
            let without = logs.shown(domain, verb);
            assert_eq!(
                without,
                logs.shown(domain, &[verb, &["--topology", domain]].concat()),
                "{verb:?}"
            );
            assert!(
                !without.is_empty() || !["changes", "counters", "tail"].contains(&verb[0]),
                "{verb:?}"
            );
        }
        let log = logs.log(domain);
        for (other, _) in DOMAINS.into_iter().filter(|(other, _)| *other != domain) {
            let args = ["waiting", "--topology", other, "--dir", &log];
            let errors = logs.refused(&args);
            assert!(errors.contains(&format!("give --topology {domain}")), "{errors}");
        }
    }
    let errors = logs.refused(&["usage", "--dir", logs.0.path().to_str().unwrap()]);
    assert!(DOMAINS.iter().all(|(domain, _)| errors.contains(&logs.log(domain))), "{errors}");
}

fn users_and_workflows_are_explained(logs: &Logs) {
    let used = lines(&logs.shown("atlas", &["usage", "--by", "user", "--json"]));
    let user = used.iter().max_by_key(|it| it["jobs"]["running"].as_u64()).unwrap();
    let (name, jobs) = (user["owner"].as_str().unwrap(), &user["jobs"]);
    let text = logs.shown("atlas", &["explain", name]);
    let [running, cores] = ["running", "running_cores"].map(|it| jobs[it].as_u64().unwrap());
    assert!(running > 0, "{user}");
    for part in [&format!("{name}: a user, as of "), &format!("{running} run on {cores} cores,")] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert_eq!(logs.shown("atlas", &["explain", &format!("user/{name}")]), text);

    let waiting = lines(&logs.shown("cms", &["waiting", "--json"]));
    assert!(waiting.len() > 2, "{waiting:?}");
    for it in waiting.iter().take(3) {
        let text = logs.shown("cms", &["explain", it["task"].as_str().unwrap()]);
        let [title, reason] = ["title", "reason"].map(|name| it[name].as_str().unwrap());
        let why = format!("  waits     {} jobs: {title} ({reason}): ", it["jobs"]);
        let helps = match it["helps"].as_str().unwrap() {
            "time" => "\n  helps     goes by itself; ",
            "configuration" => "\n  helps     waiting does not help; ",
            _ => "\n  helps     judged soon; ",
        };
        assert!(text.contains(&why) && text.contains(helps), "{why}{helps} is not in:\n{text}");
    }
}

fn ages_are_reckoned_from_the_last_cycle(logs: &Logs) {
    let last = lines(&logs.shown("atlas", &["counters", "--json"]));
    assert!(!last.is_empty());
    // The hour of a demo ends at 01:00.
    let half = "2025-10-14T00:30:00Z";
    let set = ["replay", "--set", "queue.EAST_T1.status=offline", "--format", "json"];
    let verbs: [(&[&str], &str); 5] = [
        (&["counters", "--json"], "--at"),
        (&["counters", "--json"], "--against"),
        (&["tail", "--no-follow", "--json"], "--from"),
        (&set, "--from"),
        (&set, "--to"),
    ];
    for (verb, flag) in verbs {
        let of = |when: &str| logs.shown("atlas", &[verb, &[flag, when]].concat());
        let age = of("30m");
        assert!(age == of(half) && age != of("10m"), "{verb:?} {flag}: {age}");
    }
}

fn fields_of_the_pages_can_be_supposed(logs: &Logs) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verbs.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (domain, _) in DOMAINS {
        let row = format!("| {domain} | `");
        let rows = page.lines().filter_map(|line| line.strip_prefix(&row));
        let sets: Vec<&str> = rows.map(|rest| rest.split('`').next().unwrap()).collect();
        assert_eq!(sets.len(), 3, "{domain}");
        for set in sets {
            let report = logs.shown(domain, &["replay", "--set", set]);
            assert!(report.starts_with(&format!("{set} beside the log")), "{report}");
            let changed = report.lines().find_map(|line| line.strip_prefix("changed "));
            let changed = changed.and_then(|it| it.strip_suffix(" %")?.parse::<f64>().ok());
            assert!(changed.unwrap() > 0.0, "{report}");
        }
    }
    let set = "site.T1_DE_01.status=drain";
    let log = logs.log("cms");
    let args = ["replay", "--dir", &log, "--set", set];
    let errors = logs.refused(&args);
    assert!(errors.contains("slot_quota has one, slot_quota.status"), "{errors}");
}

fn other_rules_are_compared_in_what_decides(logs: &Logs) {
    assert!(ATLAS.contains("batch_records = 10_000") && !ATLAS.contains("\n[attention]"));
    let text = ATLAS.replace("batch_records = 10_000", "batch_records = 900");
    let text = format!("{text}\n[attention]\nno_start_act_h = 4\n");
    let (file, log) = (logs.0.path().join("other.toml"), logs.log("atlas"));
    std::fs::write(&file, text).unwrap();
    let args = ["replay", "--from", "5m", "--with-topology", file.to_str().unwrap()];
    let (code, _, errors) = printed(&yardmaster(&[&args[..], &["--dir", &log]].concat()));
    assert_eq!(code, Some(0), "{errors}");
    let named = errors.lines().filter(|line| line.contains("differs from"));
    let parts = named.map(|line| line.split(' ').nth(1).unwrap());
    assert_eq!(parts.collect::<Vec<_>>(), ["limits.batch_records"], "{errors}");
}

fn a_process_and_a_log_are_not_both_asked(logs: &Logs) {
    let log = logs.log("atlas");
    for verb in [&["explain", "prod00"][..], &["changes"]] {
        for place in [["--dir", log.as_str()], ["--bootstrap-server", "localhost:1"]] {
            let errors = logs.refused(&[verb, &["--http", "localhost:1"], &place].concat());
            let flags = ["--http", place[0], "cannot be used with"];
            assert!(flags.iter().all(|it| errors.contains(it)), "{errors}");
        }
    }
}

/// Serves answers by path, until it is dropped, and counts what was asked.
struct Answering {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answering {
    fn new(answer: impl Fn(&str) -> (u16, Value) + Send + 'static) -> Answering {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                let mut line = String::new();
                let mut reader = BufReader::new(&stream);
                reader.read_line(&mut line).unwrap();
                let path = line.split(' ').nth(1).unwrap().to_owned();
                // The rest is read, so that nothing is lost when this side closes.
                while reader.read_line(&mut line).unwrap() > 2 {}
                let (status, body) = answer(&path);
                noted.lock().unwrap().push(path);
                let body = body.to_string();
                let head = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\n", body.len());
                write!(&stream, "{head}Connection: close\r\n\r\n{body}").unwrap();
            }
        });
        Answering { address, asked }
    }

    fn ask(&self, verb: &[&str]) -> (Option<i32>, String, String) {
        printed(&yardmaster(&[verb, &["--http", &self.address]].concat()))
    }
}

#[test]
fn an_age_is_one_before_the_last_cycle_of_the_process() {
    let status = |now: i64| {
        Answering::new(move |path| {
            let changes = json!({"from": 1, "to": 2, "complete": true, "changes": []});
            (200, if path.ends_with("/status") { json!({ "now": now }) } else { changes })
        })
    };
    let (code, _, errors) = status(0).ask(&["changes", "--from", "1h"]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("shows no cycle yet") && errors.contains("give a moment"), "{errors}");
    let process = status(1_760_403_600_000);
    let (code, _, errors) = process.ask(&["changes", "--from", "2h", "--to", "1h"]);
    assert_eq!(code, Some(0), "{errors}");
    let asked = process.asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].ends_with("&from=1760396400000&to=1760400000000"), "{asked:?}");
}

#[test]
fn an_explanation_in_hand_is_shown_where_the_task_is_refused() {
    let process = Answering::new(|path| match path.contains("/task?") {
        true => (503, json!({"error": "late", "remedy": "ask again"})),
        false => (200, json!({"kind": "task", "name": "7", "headline": "", "text": "all of 7"})),
    });
    let (code, text, errors) = process.ask(&["explain", "task/7"]);
    assert_eq!((code, text.trim_end()), (Some(0), "all of 7"), "{errors}");
    assert!(errors.contains("where its jobs are is left out") && errors.contains("late"));
    let asked = process.asked.lock().unwrap();
    assert_eq!(asked[1], "/api/v1/task?name=7", "the name without its kind");
}

/// Makes a topic with a cycle of a domain that ships, led by what ships.
fn put_cycle(broker: &Broker, topic: &str, domain: &str) {
    let conf = KafkaConf::new(&broker.address(), "none", Vec::new());
    let spec = NewTopicSpec {
        name: topic.to_owned(),
        partitions: 1,
        replication: -1,
        configs: Vec::new(),
    };
    KafkaAdmin::open(&conf).unwrap().create(&[spec]).unwrap();
    let text = BUILT_IN.iter().find(|(name, _)| *name == domain).unwrap().1;
    let policy_hash = EpochConfig::of(domain, text).unwrap().hash;
    let domain = domain.to_owned();
    let cycle =
        Progress { domain, epoch: 1, number: 1, now: 1, policy_hash, ..Progress::default() };
    let mut bytes = Vec::new();
    record::write(&mut bytes, &cycle);
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.address());
    let producer: BaseProducer = config.create().unwrap();
    producer.send(BaseRecord::to(topic).key("x").payload(&bytes)).unwrap();
    producer.flush(Duration::from_secs(20)).unwrap();
}

#[test]
fn the_topology_is_that_of_the_only_log_on_a_kafka() {
    if !is_possible() {
        return;
    }
    let broker = Broker::with("");
    let asked = |more: &[&str]| {
        let address = broker.address();
        let verb = ["attention", "--store", "none", "--bootstrap-server", &address];
        let (code, _, errors) = printed(&yardmaster(&[&verb[..], more].concat()));
        (code, errors)
    };
    let (atlas, cms) = ("yardmaster.progress", "yardmaster.cms.progress");
    let (code, errors) = asked(&[]);
    assert!(code != Some(0) && errors.contains("no topic yardmaster."), "{errors}");
    put_cycle(&broker, cms, "cms");
    let (_, errors) = asked(&[]);
    assert!(errors.contains("the log's own is taken, cms.toml"), "{errors}");
    put_cycle(&broker, "own.cms.progress", "cms");
    let (code, errors) = asked(&[]);
    let several = format!("several domains (own.cms.progress, {cms}); give the --topology of one");
    assert!(code == Some(2) && errors.contains(&several), "{errors}");
    let (_, errors) = asked(&["--topology", "cms"]);
    assert!(!errors.contains("several domains"), "{errors}");
    put_cycle(&broker, atlas, "atlas");
    let (_, errors) = asked(&[]);
    let several =
        format!("several domains (own.cms.progress, {cms}, {atlas}), and {atlas} is read");
    assert!(errors.contains(&several) && errors.contains("give the --topology"), "{errors}");
}
