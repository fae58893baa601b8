//! A record that we write is read back, whole; and apache-avro reads the same.

use super::dice::Dice;
use super::{CODEC, decode, encode, framed, kinds, records};
use apache_avro::types::Value;
use apache_avro::{Schema, schema::ResolvedSchema};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, Garbled};
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::Decision;
use yardmaster::core::output::progress::Progress;
use yardmaster::core::state::prefetch::Sought;
use yardmaster::wire::avro::{Arena, Codec, HEADER_BYTES, schema};
use yardmaster::wire::record;

/// Reads an event back, and says it again.
fn check(codec: &Codec, topic: Topic, event: &Event<'_>) {
    let bytes = encoded(event);
    let mut arena = Arena::default();
    assert_eq!(codec.read(topic, None, Some(&bytes), &mut arena), *event);
    assert_eq!(record::sought(topic, &bytes[HEADER_BYTES..]), Sought::of(event).key);
    let datum = &bytes[HEADER_BYTES..];
    let theirs = encode(schema(topic), &decode(schema(topic), datum));
    if topic == Topic::DomainRecord {
        // The reference keeps no order of a map's entries.
        let theirs = framed(topic, &theirs);
        assert_eq!(codec.read(topic, None, Some(&theirs), &mut arena), *event);
    } else {
        assert_eq!(theirs, datum);
    }
    if let Event::Output(Output::Decision(decision)) = event {
        let mut answer = Decision::clone(decision);
        if answer.outcome.is_final() {
            answer.fates.clear();
        }
        assert_eq!(codec.read_output(topic, &bytes), Ok(answer.into()));
    }
}

/// The record of an event.
pub fn encoded(event: &Event<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match event {
        Event::JobState(it) => record::write(&mut out, it),
        Event::Heartbeat(it) => record::write(&mut out, it),
        Event::Transfer(it) => record::write(&mut out, it),
        Event::Pilot(it) => record::write(&mut out, it),
        Event::Task(it) => record::write(&mut out, it),
        Event::Outcome(it) => record::write(&mut out, it),
        Event::Configuration(it) => record::write_configuration(&mut out, it),
        Event::Output(it) => record::write_output(&mut out, it),
        Event::Removed { .. } | Event::Garbled(_) => panic!("no record says {event:?}"),
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_struct_comes_back(bytes in vec(any::<u8>(), 0..1500)) {
        let codec = &*CODEC;
        // Each record is drawn from all of the bytes: none is left with what the others did not take.
        let mut dice = Dice::new(&bytes);
        let text = records::texts(&mut dice);
        for topic in Topic::ALL {
            if let Some(event) = kinds::event(*topic, &mut dice.clone(), &text[..]) {
                check(codec, *topic, &event);
            }
        }

        let progress = records::progress(&mut dice);
        let mut out = Vec::new();
        record::write(&mut out, &progress);
        let ours = schema(Topic::Progress);
        let datum = &out[HEADER_BYTES..];
        prop_assert_eq!(encode(ours, &decode(ours, datum)), datum);
        prop_assert_eq!(codec.read_record::<Progress>(&out), Ok(progress));
    }
}

#[test]
fn infinite_numbers_do_not_enter() {
    let empty = Dice::new(&[]);
    let mut dice = empty;
    let codec = &*CODEC;
    let mut task = records::task(&mut dice);
    let mut link = records::link(&mut dice);
    let ours = schema(Topic::Task);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // Written by another producer with such values.
        task.atom_effective_mb = 7.5;
        task.output_per_mb = Some(8.5);
        let published = encoded(&Event::Task(Box::new(task.clone())));
        let mut value = decode(ours, &published[HEADER_BYTES..]);
        replace(&mut value, "atom_effective_mb", Value::Double(bad));
        replace(&mut value, "output_per_mb", Value::Union(1, Box::new(Value::Double(bad))));
        let bytes = framed(Topic::Task, &encode(ours, &value));
        let mut arena = Arena::default();
        let Event::Task(read) = codec.read(Topic::Task, None, Some(&bytes), &mut arena) else {
            panic!("a task");
        };
        assert_eq!((read.atom_effective_mb, read.output_per_mb), (0.0, None));

        // Written by us.
        link.mbps_1d = Some(bad);
        let published = encoded(&Event::from(link.clone()));
        let mut arena = Arena::default();
        link.mbps_1d = None;
        let read = codec.read(Topic::Link, None, Some(&published), &mut arena);
        assert_eq!(read, Event::from(link.clone()));
    }
}

fn replace(value: &mut Value, name: &str, new: Value) {
    let Value::Record(fields) = value else { panic!("a record") };
    let field = fields.iter_mut().find(|(field, _)| field == name);
    field.expect("a field of that name").1 = new;
}

#[test]
fn amounts_out_of_range_are_clamped() {
    let ours = schema(Topic::JobState);
    let mut turn = 0;
    let names = ResolvedSchema::new(ours).expect("names");
    let mut value = without_zero(ours, &names, &mut turn, 0);
    replace(&mut value, "input_bytes", Value::Long(-1));
    replace(&mut value, "cores", Value::Long(i64::MIN));
    replace(&mut value, "revision", Value::Long(i64::MAX));
    let bytes = framed(Topic::JobState, &encode(ours, &value));
    let mut arena = Arena::default();
    let codec = &*CODEC;
    let Event::JobState(job) = codec.read(Topic::JobState, None, Some(&bytes), &mut arena) else {
        panic!("a job state");
    };
    assert_eq!((job.input_bytes, job.cores), (0, 0));
    assert_eq!(job.revision, i64::MAX as u64);
}

#[test]
fn an_attempt_is_read_whole_or_refused() {
    let read = |topic: Topic, attempt: i64| {
        let (ours, mut turn) = (schema(topic), 0);
        let names = ResolvedSchema::new(ours).expect("names");
        let mut value = without_zero(ours, &names, &mut turn, 0);
        replace(&mut value, "attempt", Value::Long(attempt));
        let bytes = framed(topic, &encode(ours, &value));
        match CODEC.read(topic, None, Some(&bytes), &mut Arena::default()) {
            Event::JobState(job) => Ok(u64::from(job.attempt)),
            Event::Heartbeat(beat) => Ok(u64::from(beat.attempt)),
            Event::Task(task) => {
                assert_eq!(task.impossible, [] as [&str; 0]);
                Ok(task.attempt)
            }
            Event::Output(output) => match output {
                Output::Decision(decision) => Ok(decision.attempt),
                other => panic!("{other:?}"),
            },
            Event::Garbled(garbled) => Err(garbled),
            other => panic!("{other:?}"),
        }
    };
    let most = i64::from(u32::MAX);
    for topic in [Topic::JobState, Topic::Heartbeat] {
        assert_eq!(read(topic, most), Ok(u64::from(u32::MAX)));
        assert_eq!(read(topic, most + 1), Err(Garbled::Malformed));
        assert_eq!(read(topic, i64::MAX), Err(Garbled::Malformed));
    }
    for topic in [Topic::Task, Topic::Decision] {
        for attempt in [most, most + 1, 1_763_000_000_123, i64::MAX] {
            assert_eq!(read(topic, attempt), Ok(attempt as u64));
        }
    }
}

/// A value in which every field tells its own number.
fn without_zero(
    schema: &Schema,
    names: &ResolvedSchema<'_>,
    turn: &mut i64,
    choice: usize,
) -> Value {
    *turn += 1;
    match schema {
        Schema::String => Value::String(format!("text{turn}")),
        Schema::Int => Value::Int(*turn as i32),
        Schema::Long => Value::Long(*turn),
        Schema::TimestampMillis => Value::TimestampMillis(*turn),
        Schema::Double => Value::Double(*turn as f64 + 0.5),
        Schema::Boolean => Value::Boolean(*turn % 2 == 0),
        Schema::Fixed(fixed) => Value::Fixed(fixed.size, vec![*turn as u8; fixed.size]),
        Schema::Enum(it) => {
            let index = choice % it.symbols.len();
            Value::Enum(index as u32, it.symbols[index].clone())
        }
        Schema::Array(it) => Value::Array(vec![without_zero(&it.items, names, turn, choice)]),
        Schema::Map(it) => {
            let value = without_zero(&it.types, names, turn, choice);
            Value::Map(HashMap::from([(format!("key{turn}"), value)]))
        }
        Schema::Union(it) => {
            Value::Union(1, Box::new(without_zero(&it.variants()[1], names, turn, choice)))
        }
        Schema::Record(it) => {
            let field = |field: &apache_avro::schema::RecordField, turn: &mut i64| {
                (field.name.clone(), without_zero(&field.schema, names, turn, choice))
            };
            Value::Record(it.fields.iter().map(|it| field(it, turn)).collect())
        }
        Schema::Ref { name } => without_zero(names.get_names()[name], names, turn, choice),
        other => panic!("our schemas have no {other:?}"),
    }
}

/// Fields that have the names of PanDA's columns in the schema, and what we call them.
const CALLED: [(&str, &str); 5] = [
    ("prodsourcelabel", "label"),
    ("workinggroup", "working_group"),
    ("processingtype", "processing_type"),
    ("transpath", "trans_path"),
    ("rtype", "resource_type"),
];

/// Numbers and texts in a value as the debug text of a struct shows them, by field name.
fn expected(value: &Value, into: &mut Vec<String>) {
    let Value::Record(fields) = value else { return };
    let is_answer = fields.iter().any(|(name, _)| name == "outcome");
    for (name, value) in fields {
        let called = CALLED.iter().find(|(column, _)| column == name);
        let name = called.map_or(name.as_str(), |(_, ours)| ours);
        let (value, wrap) = match value {
            Value::Union(_, inner) => (&**inner, true),
            other => (other, false),
        };
        let text = match value {
            Value::String(text) => format!("{text:?}"),
            Value::Int(number) => number.to_string(),
            Value::Long(number) | Value::TimestampMillis(number) => number.to_string(),
            Value::Double(number) => format!("{number:?}"),
            Value::Boolean(flag) => flag.to_string(),
            Value::Array(items) => {
                items.iter().for_each(|item| expected(item, into));
                continue;
            }
            Value::Map(entries) => {
                into.extend(entries.keys().map(|key| format!("{key:?}: Whole(")));
                continue;
            }
            other => {
                expected(other, into);
                continue;
            }
        };
        let bare = format!("{name}: {text}");
        // `until` of a deferral is there or the answer is another.
        let bare_anyway = !wrap || is_answer && name == "until";
        into.push(if bare_anyway { bare } else { format!("{name}: Some({text})") });
    }
}

/// Each field of a schema arrives in the struct's field of the same name: with every symbol of the
/// enums tried, each is seen.
#[test]
fn fields_have_the_names_of_the_structs() {
    let codec = &*CODEC;
    for topic in Topic::ALL {
        let ours = schema(*topic);
        let names = ResolvedSchema::new(ours).expect("names");
        let mut missing: Option<Vec<String>> = None;
        for choice in 0..15 {
            let value = without_zero(ours, &names, &mut 100, choice);
            let bytes = framed(*topic, &encode(ours, &value));
            let mut arena = Arena::default();
            let event = codec.read(*topic, None, Some(&bytes), &mut arena);
            if event == Event::Garbled(Garbled::WrongSchema) {
                continue; // No event of the core.
            }
            let text = format!("{event:?}");
            let mut facts = Vec::new();
            expected(&value, &mut facts);
            // Text says which field it comes from even where numbers repeat.
            let lost = facts.into_iter().filter(|fact| !text.contains(fact.as_str()));
            let lost: Vec<String> = lost.collect();
            missing = Some(match missing {
                None => lost,
                Some(before) => before.into_iter().filter(|fact| lost.contains(fact)).collect(),
            });
        }
        assert_eq!(missing.unwrap_or_default(), Vec::<String>::new(), "{}", topic.name());
    }
}
