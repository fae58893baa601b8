//! What would be decided if configuration were another, asked of a running process.

use super::{demo, get, problem, wait_for};
use crate::http::ask;
use serde_json::Value;
use std::collections::BTreeMap;

fn jobs(answer: &Value, side: &str) -> BTreeMap<String, u64> {
    let queues = answer["queues"].as_array().unwrap();
    let one = |it: &Value| (it["queue"].as_str().unwrap().to_owned(), it[side].as_u64().unwrap());
    queues.iter().map(one).collect()
}

#[test]
fn a_queue_that_were_offline_would_get_nothing_and_others_its_jobs() {
    let (_dir, demo) = demo();
    let path = "/api/v1/decisions?kind=decision&what=assign&limit=200";
    let found = wait_for(demo.address, path, |it| it["items"].as_array().unwrap().len() >= 40);
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for item in found["items"].as_array().unwrap() {
        for queue in item["queues"].as_array().unwrap() {
            *times.entry(queue.as_str().unwrap().split('/').next().unwrap()).or_default() += 1;
        }
    }
    let (busiest, _) = times.iter().max_by_key(|(_, times)| **times).unwrap();
    let set = format!("/api/v1/what-if?window=24h&set=queue.{busiest}.status=offline");
    // Whether it gets jobs at this moment depends on how full it is.
    let is_of_it = |queue: &str| queue.split('/').next() == Some(*busiest);
    let answer = wait_for(demo.address, &set, |it| {
        jobs(it, "jobs_before").iter().any(|(queue, jobs)| is_of_it(queue) && *jobs > 0)
    });
    for (queue, jobs) in jobs(&answer, "jobs_after").iter().filter(|it| is_of_it(it.0)) {
        assert_eq!(*jobs, 0, "{queue}: {answer}");
    }
    let (looked_at, changed) = (answer["looked_at"].as_u64(), answer["changed"].as_u64());
    assert!(changed > Some(0) && changed <= looked_at && looked_at <= Some(300), "{answer}");
    for side in ["before", "after"] {
        let sum: u64 = ["assigned", "deferred", "rejected"]
            .iter()
            .map(|it| answer[side][*it].as_u64().unwrap())
            .sum();
        assert_eq!(Some(sum), looked_at, "{side}");
    }
    let change = &answer["changes"][0];
    assert_ne!(change["before"], change["after"], "{change}");
    // One of them alone, with both decisions in full; of a demo in a hurry it may be over by now.
    let one = wait_for(demo.address, &set, |it| it["changes"][0]["subject"].is_string());
    let alone = |it: &Value| {
        let subject = it["subject"].as_str().unwrap().replace('/', "%2F");
        let (head, body) = ask(demo.address, &format!("{set}&task={subject}"));
        let answer: Value = serde_json::from_str(&body).unwrap();
        let is_answered = head.starts_with("HTTP/1.1 200") && answer["decision_after"].is_object();
        is_answered.then_some(answer)
    };
    let mut changes = one["changes"].as_array().unwrap().clone();
    let one = loop {
        if let Some(one) = changes.iter().find_map(alone) {
            break one;
        }
        changes = get(demo.address, &set)["changes"].as_array().unwrap().clone();
    };
    assert_eq!(one["looked_at"], 1);
    let then = &one["decision_after"]["rejected"];
    let is_refused =
        |it: &Value| is_of_it(it["queue"].as_str().unwrap()) && it["filter"] == "status";
    assert!(then.as_array().unwrap().iter().any(is_refused), "{then}");
    // Nothing that runs is changed by the question.
    let queues = get(demo.address, "/api/v1/queues");
    let its = queues["queues"].as_array().unwrap().iter().find(|it| it["queue"] == **busiest);
    assert_ne!(its.unwrap()["status"], "offline");
    assert_eq!(get(demo.address, "/api/v1/audit")["drifts"], Value::Array(Vec::new()));
}

#[test]
fn what_cannot_be_supposed_is_refused_with_what_is_near() {
    let (_dir, demo) = demo();
    wait_for(demo.address, "/api/v1/queues", |it| !it["queues"][0].is_null());
    for (path, part) in [
        ("/api/v1/what-if", "set is given 0 times"),
        ("/api/v1/what-if?set=moon", "TOPIC.KEY.FIELD=VALUE"),
        ("/api/v1/what-if?set=queue.WEST_T3.status=offline", "WEST_T"),
        ("/api/v1/what-if?set=queue.WEST_T1.statsu=offline", "status"),
        ("/api/v1/what-if?set=queue.WEST_T1.status=offline&window=2h", "2h"),
    ] {
        let (head, body) = ask(demo.address, path);
        assert!(head.starts_with("HTTP/1.1 400"), "{path}: {head}");
        assert!(body.contains(part), "{path}: {}", problem(&body));
    }
    let path = "/api/v1/what-if?set=queue.WEST_T1.status=offline&task=nobody";
    assert!(ask(demo.address, path).0.starts_with("HTTP/1.1 404"));
}
