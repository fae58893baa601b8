//! Records as a person writes them: JSON with the field names of a topic's schema, checked as far
//! as that can be done without the log.

use crate::avro::{Cursor, HEADER_BYTES, from_json, schema};
use crate::oversize::oversize;
use crate::record::{event, impossible};
use crate::topology::Topology;
use apache_avro::Schema;
use serde_json::Value;
use yardmaster_core::event::{Event, Task};
use yardmaster_core::id::cut;
use yardmaster_core::topic::Topic;
use yardmaster_core::unit::{Millis, SECOND};

/// A moment before this was meant in seconds: as ms it lies in 1973 or before.
const SECONDS_BELOW: Millis = 100_000_000_000;
/// How much of a name is shown; bytes.
const SHOWN: usize = 60;

/// A record that may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The key that its topic has it under.
    pub key: String,
    /// Its bytes, in single-object encoding.
    pub value: Vec<u8>,
}

/// Fills in what a person may leave out: the domain is that of the log, the times that a record
/// must state are `now`, and a request's task is its subject before the slash.
pub fn with_defaults(topic: Topic, json: &Value, domain: &str, now: Millis) -> Value {
    let mut json = json.clone();
    let (Some(fields), Schema::Record(record)) = (json.as_object_mut(), schema(topic)) else {
        return json;
    };
    let task = fields.get("subject").and_then(Value::as_str);
    let task = task.map(|subject| subject.split('/').next().unwrap_or_default().to_owned());
    for field in record.fields.iter().filter(|field| field.default.is_none()) {
        let value = match (field.name.as_str(), &field.schema) {
            ("domain", _) => Some(domain.into()),
            ("task", _) => task.clone().map(Value::from),
            (_, Schema::TimestampMillis) => Some(now.into()),
            _ => None,
        };
        if let Some(value) = value {
            fields.entry(&field.name).or_insert(value);
        }
    }
    json
}

/// The record of a topic that JSON has, for the log of a topology.
///
/// # Errors
/// The field that is wrong, its value, and what is allowed.
pub fn written(
    topic: Topic,
    json: &Value,
    topology: &Topology,
    now: Millis,
) -> Result<Written, String> {
    let json = with_defaults(topic, json, &topology.domain, now);
    let value = from_json(topic, &json)
        .map_err(|fault| format!("{fault} (schemas/{}.avsc has all fields)", topic.name()))?;
    check_times(topic, &json, topology.limits.own_time_ahead_ms, now)?;
    if let Some(why) = oversize(topic, &value, &topology.limits) {
        let limits = "limits max_record_bytes and name_bytes of the topology";
        return Err(format!("{why}: shorten it ({limits})"));
    }
    let (datum, mut is_corrected) = (&value[HEADER_BYTES..], false);
    let event = event(topic, datum, &mut is_corrected);
    if is_corrected {
        let figures = impossible(schema(topic), Cursor::new(datum)).join("; ");
        return Err(format!("a figure that cannot be: {figures}; correct it"));
    }
    if let Event::Task(task) = &event {
        check_task(task, topology)?;
    }
    let key = key(&event).ok_or_else(|| {
        let name = topic.name();
        format!("the engine cannot read it as a record of {name}; see schemas/{name}.avsc")
    })?;
    if key.is_empty() {
        return Err("its name is empty, and with that its key: state the name".to_owned());
    }
    Ok(Written { key, value })
}

/// A time that a record must state is neither in seconds nor so far ahead that the record has no
/// effect.
fn check_times(topic: Topic, json: &Value, ahead: Millis, now: Millis) -> Result<(), String> {
    let Schema::Record(record) = schema(topic) else { return Ok(()) };
    for field in record.fields.iter().filter(|field| field.default.is_none()) {
        let Schema::TimestampMillis = field.schema else { continue };
        let name = &field.name;
        let Some(at) = json.get(name).and_then(Value::as_i64) else { continue };
        if at < SECONDS_BELOW {
            return Err(format!(
                "field {name}: found {at}; allowed: a moment in ms since 1970, now {now}; seconds \
                 times 1000, or leave it out for now"
            ));
        }
        if at.saturating_sub(now) > ahead {
            return Err(format!(
                "field {name}: found {at}, which is {} s ahead of this clock; allowed: at most {} \
                 s (own_time_ahead_s of the topology): else the record has no effect",
                (at - now) / SECOND,
                ahead / SECOND
            ));
        }
    }
    Ok(())
}

/// A request has a name, and names the domain and a policy of the topology that it is published by.
fn check_task(task: &Task, topology: &Topology) -> Result<(), String> {
    if task.subject.is_empty() {
        return Err("field subject: found \"\"; allowed: task/chunk, or the task".to_owned());
    }
    let domain = &topology.domain;
    if task.domain != *domain {
        return Err(format!(
            "field domain: found {:?}; the topology is of {domain:?}: correct it, leave it out, or \
             name the topology of that domain",
            cut(&task.domain, SHOWN)
        ));
    }
    let names: Vec<&str> = topology.policies.iter().map(|it| it.name.as_str()).collect();
    if !names.contains(&task.policy.as_str()) {
        return Err(format!(
            "field policy: found {:?}; allowed: one of {}",
            cut(&task.policy, SHOWN),
            names.join(", ")
        ));
    }
    Ok(())
}

/// The key of a record that others than the leader write.
fn key(event: &Event<'_>) -> Option<String> {
    match event {
        Event::JobState(it) => Some(it.job.to_owned()),
        Event::Heartbeat(it) => Some(it.job.to_owned()),
        Event::Transfer(it) => Some(it.request.to_owned()),
        Event::Pilot(it) => Some(it.key()),
        Event::Task(it) => Some(it.task.clone()),
        Event::Outcome(it) => Some(it.subject.clone()),
        Event::Configuration(it) => Some(it.name()),
        Event::Removed { .. } | Event::Output(_) | Event::Garbled(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{ATLAS, CMS, NORDUGRID};
    use serde_json::json;

    const NOW: Millis = 1_760_000_400_000;

    fn topology(text: &str) -> Topology {
        Topology::parse("t", text).unwrap()
    }

    fn fault(topic: Topic, json: Value) -> String {
        written(topic, &json, &topology(ATLAS), NOW).unwrap_err()
    }

    fn keys(topic: Topic, text: &str, by: &str) -> Vec<String> {
        let all: Vec<Value> = serde_json::from_str(text).unwrap();
        let by = topology(by);
        all.iter().map(|it| written(topic, it, &by, i64::MAX / 2).unwrap().key).collect()
    }

    macro_rules! example {
        ($name:literal) => {
            include_str!(concat!("../../schemas/examples/", $name, ".json"))
        };
    }

    #[test]
    fn an_example_of_each_kind_may_be_published_under_its_key() {
        let cases = [
            (Topic::Heartbeat, example!("heartbeat"), ATLAS, "6543210987"),
            (Topic::Outcome, example!("outcome"), ATLAS, "45123456/17"),
            (Topic::Pilot, example!("pilot"), ATLAS, "BNL/pilot/slot1_3@spool1289.sdcc.bnl.gov"),
            (Topic::Transfer, example!("transfer"), ATLAS, "0f2c9e7a1b6d4c55a1d2d0b6f3a9e711"),
            (Topic::Queue, example!("queue"), ATLAS, "CERN-T0_PROD_UCORE/MCORE"),
            (Topic::Link, example!("link"), ATLAS, "CERN-PROD:BNL-ATLAS"),
            (Topic::Grant, example!("grant"), CMS, "urgent-higgs"),
            (
                Topic::UserShare,
                example!("user-share"),
                NORDUGRID,
                "ce01.titan.uio.no/long /O=Grid/O=NorduGrid/CN=Jane Physicist",
            ),
        ];
        for (topic, text, by, first) in cases {
            assert_eq!(keys(topic, text, by)[0], first, "{}", topic.name());
        }
    }

    #[test]
    fn what_is_left_out_is_that_of_the_log_and_of_now() {
        let json = json!({"subject": "7/1", "policy": "production-job"});
        let it = written(Topic::Task, &json, &topology(ATLAS), NOW).unwrap();
        let read = crate::json::bytes_json(Topic::Task, &it.value).unwrap();
        assert_eq!(
            (it.key.as_str(), &read["task"], &read["domain"]),
            ("7", &json!("7"), &json!("atlas"))
        );
        assert_eq!((&read["asked_at"], &read["changed_at"]), (&json!(NOW), &json!(NOW)));
    }

    #[test]
    fn a_mistake_that_no_schema_finds_is_named() {
        let task = |name: &str, value: Value| {
            let mut json = json!({"subject": "7/1", "policy": "production-job"});
            json[name] = value;
            fault(Topic::Task, json)
        };
        for (why, parts) in [
            (task("policy", json!("none")), ["field policy: found \"none\"", "analysis-job"]),
            (task("domain", json!("cms")), ["field domain: found \"cms\"", "\"atlas\""]),
            (task("subject", json!("")), ["field subject: found \"\"", "task/chunk"]),
            (task("asked_at", json!(NOW / 1_000)), ["field asked_at: found 1760000400", "seconds"]),
            (task("changed_at", json!(NOW + 301_000)), ["301 s ahead", "own_time_ahead_s"]),
            (task("core_count", json!(-8)), ["core_count -8", "correct it"]),
            (task("user", json!("x".repeat(2_000))), ["name_bytes", "shorten it"]),
            (task("jobs", json!("ten")), ["field jobs: found \"ten\"", "schemas/task.avsc"]),
            (fault(Topic::JobState, json!({"job": "", "status": "running"})), ["its name", "key"]),
            (
                fault(
                    Topic::Outcome,
                    json!({"subject": "7", "decision": "12", "kind": "accepted"}),
                ),
                ["field decision: found \"12\"", "32 digits of hex"],
            ),
        ] {
            for part in parts {
                assert!(why.contains(part), "{part}: {why}");
            }
        }
        let ahead =
            json!({"subject": "7/1", "policy": "production-job", "asked_at": NOW + 299_000});
        assert!(written(Topic::Task, &ahead, &topology(ATLAS), NOW).is_ok());
    }
}
