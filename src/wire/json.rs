//! Records as JSON, by their schemas: the same names and figures, in the same order. Ids are hex,
//! and moments ms since 1970.

use crate::avro::{Cursor, Fault, HEADER_BYTES, schema};
use crate::record;
use apache_avro::Schema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use yardmaster_core::output::{Output, each_output};
use yardmaster_core::record::Published;
use yardmaster_core::topic::Topic;

/// A record: an object with the fields of its schema.
pub fn record_json<T: Published>(record: &T) -> Value {
    let mut bytes = Vec::new();
    record::write(&mut bytes, record);
    // Its own schema reads what was just written: a test has every kind of record.
    bytes_json(T::TOPIC, &bytes).unwrap_or(Value::Null)
}

/// A record in single-object encoding by the current schema of its topic.
pub fn bytes_json(topic: Topic, bytes: &[u8]) -> Option<Value> {
    let mut at = Cursor::new(bytes.get(HEADER_BYTES..)?);
    value(schema(topic), &mut at, &mut BTreeMap::new()).ok()
}

/// A decision, throttle or command.
pub fn output_json(output: &Output) -> Value {
    macro_rules! shown {
        ($($kind:ident,)*) => { match output { $(Output::$kind(it) => record_json(it),)* } };
    }
    each_output!(shown)
}

/// Records and enums that a schema names further on.
type Named<'s> = BTreeMap<String, &'s Schema>;

fn value<'s>(
    schema: &'s Schema,
    at: &mut Cursor<'_>,
    named: &mut Named<'s>,
) -> Result<Value, Fault> {
    Ok(match schema {
        Schema::Record(it) => {
            named.insert(it.name.to_string(), schema);
            let fields = it.fields.iter();
            let fields = fields.map(|it| Ok((it.name.clone(), value(&it.schema, at, named)?)));
            Value::Object(fields.collect::<Result<Map<String, Value>, Fault>>()?)
        }
        Schema::Enum(it) => {
            named.insert(it.name.to_string(), schema);
            it.symbols.get(at.index()?).ok_or(Fault::Malformed)?.as_str().into()
        }
        Schema::Fixed(it) => {
            named.insert(it.name.to_string(), schema);
            hex::encode(at.take(it.size)?).into()
        }
        Schema::Ref { name } => {
            value(named.get(&name.to_string()).ok_or(Fault::WrongSchema)?, at, named)?
        }
        Schema::Array(it) => {
            let mut items = Vec::new();
            loop {
                match at.block()? {
                    0 => break,
                    count => {
                        for _ in 0..count {
                            items.push(value(&it.items, at, named)?);
                        }
                    }
                }
            }
            Value::Array(items)
        }
        Schema::Map(it) => {
            let mut entries = Map::new();
            loop {
                match at.block()? {
                    0 => break,
                    count => {
                        for _ in 0..count {
                            let name = at.string()?.to_owned();
                            entries.insert(name, value(&it.types, at, named)?);
                        }
                    }
                }
            }
            Value::Object(entries)
        }
        Schema::Union(it) => {
            value(it.variants().get(at.index()?).ok_or(Fault::Malformed)?, at, named)?
        }
        Schema::Null => Value::Null,
        Schema::Boolean => at.boolean()?.into(),
        Schema::Int => at.int()?.into(),
        Schema::Long | Schema::TimestampMillis => at.long()?.into(),
        Schema::Double => at.double()?.into(),
        Schema::String => at.string()?.into(),
        // Our schemas have nothing else.
        _ => return Err(Fault::WrongSchema),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use yardmaster_core::comparison::{AnswerOutcome, Comparison, InCharge, SideAnswer};
    use yardmaster_core::domain::cms::output::Matched;
    use yardmaster_core::domain::nordugrid::output::Placed;
    use yardmaster_core::event::{
        DecisionOutcome, Heartbeat, JobState, Link, OutcomeAbout, OutcomeKind, Pilot, Queue, Site,
        Task, Transfer,
    };
    use yardmaster_core::output::command::{Command, CommandKind};
    use yardmaster_core::output::decision::{Decision, Fate, Outcome, Ranked};
    use yardmaster_core::output::progress::Progress;
    use yardmaster_core::output::throttle::{Action, SubjectKind, Throttle};

    fn decision(outcome: Outcome) -> Decision {
        let fate = Fate {
            queue: "ash".into(),
            filter: "disk_space".into(),
            reason: "full".into(),
            measured: f64::INFINITY,
            limit: 20.5,
        };
        let (placed, matched) = (Some(Placed::default()), Some(Matched::default()));
        let base = Decision::new("atlas", "12/3", 1, 1, outcome);
        Decision { fates: vec![fate], placed, matched, ..base }
    }

    #[test]
    fn ids_are_hex_moments_ms_and_enums_their_symbols() {
        let ranked = Ranked {
            queue: "oak".into(),
            unified: "oak".into(),
            weight: 2.5,
            jobs: 5,
            cores: 8,
            factors: vec![1.5, 3.0],
            platform: String::new(),
        };
        let assigned = record_json(&decision(Outcome::Assign(vec![ranked])));
        assert_eq!(assigned["id"].as_str().map(str::len), Some(32));
        assert_eq!((&assigned["outcome"], &assigned["until"]), (&json!("assign"), &Value::Null));
        assert_eq!(assigned["ranked"][0]["factors"], json!([1.5, 3.0]));
        // As the record has it, which every reader gets.
        assert_eq!(assigned["fates"][0]["measured"], 0.0);
        assert_eq!(assigned["fates"][0]["limit"], 20.5);
        let deferred = record_json(&decision(Outcome::Defer { until: 99 }));
        assert_eq!((&deferred["outcome"], &deferred["until"]), (&json!("defer"), &json!(99)));
        assert_eq!((&deferred["ranked"], &deferred["reason"]), (&json!([]), &json!("")));
        let throttle = Throttle::new("atlas", "A1", (SubjectKind::User, "ann"), 1, Action::Set);
        let throttle = output_json(&throttle.into());
        assert_eq!(
            (&throttle["subject_kind"], &throttle["action"]),
            (&json!("user"), &json!("set"))
        );
        let kind = CommandKind::KillWorkflow;
        let command = Command { kind, ..Command::new("atlas", "T1", "4711", 0, Some(7)) };
        let command = output_json(&command.into());
        assert_eq!((&command["kind"], &command["clock_at"]), (&json!("kill_workflow"), &json!(7)));
    }

    #[test]
    fn records_of_every_kind_are_objects() {
        let answer = SideAnswer {
            outcome: AnswerOutcome::Absent,
            reason: String::new(),
            took_ms: 0,
            queues: Vec::new(),
            fates: Vec::new(),
            figures: Vec::new(),
            notes: Vec::new(),
        };
        let comparison = Comparison {
            domain: String::new(),
            subject: "12/3".into(),
            attempt: 0,
            task: String::new(),
            policy: String::new(),
            gshare: String::new(),
            queue_type: String::new(),
            resource_type: String::new(),
            label: String::new(),
            asked_at: 1,
            compared_at: 2,
            in_charge: InCharge::Other,
            yardmaster: answer.clone(),
            other: answer,
        };
        let outcome = DecisionOutcome {
            subject: "12/3".into(),
            decision: Decision::new("atlas", "12/3", 1, 1, Outcome::Assign(Vec::new())).id,
            about: OutcomeAbout::Decision,
            kind: OutcomeKind::Accepted,
            at: 1,
            reason: String::new(),
        };
        let all = [
            record_json(&JobState::default()),
            record_json(&Heartbeat::default()),
            record_json(&Transfer::default()),
            record_json(&Pilot::AskedJob { queue: "oak", node: "n1", at: 1 }),
            record_json(&Task::default()),
            record_json(&Queue::default()),
            record_json(&Site::default()),
            record_json(&Link::default()),
            record_json(&outcome),
            record_json(&Progress::default()),
            record_json(&comparison),
        ];
        assert!(all.iter().all(|it| it.as_object().is_some_and(|it| it.len() > 5)), "{all:?}");
        assert_eq!(all[10]["other"]["outcome"], "absent");
    }
}
