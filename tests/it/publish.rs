//! `publish` as a user calls it: what lies on the topic afterwards, and what is refused.

use crate::other_rules::files;
use crate::verbs::{printed, yardmaster};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use yardmaster::core::topic::Topic;
use yardmaster::drive::port::Log as _;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use yardmaster::wire::json::bytes_json;
use yardmaster::wire::topology::{ATLAS, Topology};

struct Log {
    dir: TempDir,
}

impl Log {
    fn new() -> Log {
        Log { dir: TempDir::new().unwrap() }
    }

    fn path(&self) -> String {
        self.dir.path().join("log").to_str().unwrap().to_owned()
    }

    fn publish(&self, topic: &str, json: &Value, more: &[&str]) -> (Option<i32>, String, String) {
        let file = self.dir.path().join("records.json").to_str().unwrap().to_owned();
        std::fs::write(&file, json.to_string()).unwrap();
        let (log, args) = (self.path(), ["publish", topic, "--json", &file, "--dir"]);
        printed(&yardmaster(&[&args[..], &[&log], more].concat()))
    }

    /// Key and record of all that a topic has, as its files hold them.
    fn records(&self, topic: Topic) -> Vec<(String, Option<Value>)> {
        let topology = Topology::parse("atlas.toml", ATLAS).unwrap();
        let name = topology.topic(topic).name.clone();
        let topics = [DirTopic { topic, name, partitions: topology.topic(topic).partitions }];
        let path = self.path();
        let options = DirOptions::default();
        let mut log = DirLog::open(Path::new(&path), Mode::Read, &topics, options).unwrap();
        let mut found = Vec::new();
        for span in log.lanes().unwrap() {
            log.scan(span.lane, span.first, span.stable_end, &mut |record| {
                let key = String::from_utf8_lossy(record.key.unwrap()).into_owned();
                found.push((key, record.value.and_then(|value| bytes_json(topic, value))));
                Ok(())
            })
            .unwrap();
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }
}

#[test]
fn what_is_published_lies_on_the_topic_under_its_key() {
    let log = Log::new();
    let tasks = json!([
        {"subject": "77/1", "policy": "production-job", "jobs": 10},
        {"subject": "78", "policy": "analysis-job", "jobs": 3, "asked_at": 1_760_000_000_000_i64},
    ]);
    let (code, shown, errors) = log.publish("task", &tasks, &["--dry-run"]);
    assert_eq!((code, shown.lines().count()), (Some(0), 2), "{errors}");
    let dry: Vec<Value> = shown.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!((&dry[0]["task"], &dry[1]["jobs"]), (&json!("77"), &json!(3)));
    assert!(!Path::new(&log.path()).exists(), "a dry run makes no log");
    // By the name in the Kafka it is the same topic.
    let (code, shown, errors) = log.publish("yardmaster.task", &tasks, &[]);
    assert_eq!((code, shown.as_str()), (Some(0), "task: 2 records published\n"), "{errors}");
    let found = log.records(Topic::Task);
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["77", "78"]);
    let second = found[1].1.as_ref().unwrap();
    assert_eq!((&second["asked_at"], &second["domain"]), (&tasks[1]["asked_at"], &json!("atlas")));
    let site = json!({"name": "GONE", "nucleus": true});
    assert_eq!(log.publish("site", &site, &[]).0, Some(0));
    let remove = ["publish", "site", "--remove", "GONE", "--dir", &log.path()];
    let (code, shown, errors) = printed(&yardmaster(&remove));
    assert_eq!((code, shown.as_str()), (Some(0), "site: 1 record published\n"), "{errors}");
    let sites = log.records(Topic::Site);
    assert!(sites.iter().all(|(key, _)| key == "GONE"), "{sites:?}");
    assert_eq!(sites.iter().filter(|(_, value)| value.is_none()).count(), 1, "{sites:?}");
}

#[test]
fn every_mistake_is_named_and_then_nothing_is_published() {
    let log = Log::new();
    let good = json!({"subject": "77/1", "policy": "production-job"});
    assert_eq!(log.publish("task", &good, &[]).0, Some(0));
    let before = files(Path::new(&log.path()));
    let mut wrong = vec![good.clone()];
    wrong.extend((0..25).map(|at| json!({"subject": at, "policy": "production-job"})));
    let (code, shown, errors) = log.publish("task", &json!(wrong), &[]);
    assert_eq!((code, shown.as_str()), (Some(2), ""), "{errors}");
    assert!(errors.contains("record 2: field subject: found 0; allowed: a text"), "{errors}");
    assert!(errors.contains("and 5 records more\nnothing was published"), "{errors}");
    for (topic, why) in [
        ("decision", "the leader alone"),
        ("comparison", "clients that ask two brokers"),
        ("grant", "the topology has no such topic"),
        ("tasks", "there is no such topic; give one of job-state,"),
    ] {
        let (code, _, errors) = log.publish(topic, &good, &[]);
        assert!(code == Some(2) && errors.contains(why), "{topic}: {errors}");
    }
    let remove = ["publish", "task", "--remove", "77", "--dir", &log.path()];
    let (code, _, errors) = printed(&yardmaster(&remove));
    assert!(code == Some(2) && errors.contains("a null removes nothing on task"), "{errors}");
    assert_eq!(files(Path::new(&log.path())), before);
}
