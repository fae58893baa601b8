//! Other writers' records: what our plans make of them is what apache-avro makes of them.

use super::dice::Dice;
use super::{decode, encode, mutate};
use apache_avro::Schema;
use apache_avro::schema::ResolvedSchema;
use apache_avro::types::Value;
use proptest::collection::vec;
use proptest::prelude::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, Garbled};
use yardmaster::wire::avro::{
    Arena, Bounds, Codec, Fault, MARKER, Prepared, Scratch, compile, schema_text, transcode,
};

const BOUNDS: Bounds = Bounds { output_bytes: 1 << 20, depth: 64 };

/// One writer, one record: the same bytes as the reference, or a refusal where it refuses.
fn check(text: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut dice = Dice::new(bytes);
    let pair = mutate::pair(text, &mut dice);
    let writer = Schema::parse_str(&pair.writer)
        .map_err(|error| TestCaseError::fail(format!("{error}: {}", pair.writer)))?;
    let reader = Schema::parse_str(&pair.reader).expect("ours with aliases");
    let names = ResolvedSchema::new(&writer).expect("names");
    let mut scratch = Scratch::default();
    let mut out = b"before".to_vec();
    let plan = compile(&writer, &reader);
    for _ in 0..3 {
        let value = mutate::value(&writer, names.get_names(), None, &mut dice, 0);
        let datum = encode(&writer, &value);
        let Value::Record(mut fields) = decode(&writer, &datum) else { panic!("a record") };
        for (field, _) in &mut fields {
            if let Some((_, ours)) = pair.renamed.iter().find(|(old, _)| old == field) {
                field.clone_from(ours);
            }
        }
        let expected = Value::Record(fields).resolve(&reader);
        let Ok(plan) = &plan else {
            // Nothing the writer can say resolves: a field that can only be null, say.
            prop_assert!(expected.is_err(), "{plan:?} for {}", pair.writer);
            continue;
        };
        out.truncate(6);
        let done = transcode(plan, &datum, BOUNDS, &mut scratch, &mut out);
        match expected {
            Ok(expected) => {
                prop_assert_eq!(done, Ok(()), "{}", pair.writer);
                let (ours, theirs) = (&out[6..], &encode(&reader, &expected)[..]);
                // The reference keeps no order of a map's entries.
                if has_map(&reader) {
                    let ours = decode(&reader, ours);
                    prop_assert_eq!(ours, decode(&reader, theirs), "{}", pair.writer);
                } else {
                    prop_assert_eq!(ours, theirs, "{}", pair.writer);
                }
            }
            Err(error) => {
                let refused = matches!(done, Err(Fault::WrongSchema | Fault::Malformed));
                prop_assert!(refused, "{done:?}, but {error}");
                prop_assert_eq!(&out[..], b"before");
            }
        }
    }
    Ok(())
}

/// Whether a record has a field that is a map.
fn has_map(schema: &Schema) -> bool {
    let Schema::Record(record) = schema else { return false };
    record.fields.iter().any(|field| matches!(field.schema, Schema::Map(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn plans_do_what_the_reference_does(bytes in vec(any::<u8>(), 0..3000)) {
        for topic in Topic::ALL {
            check(schema_text(*topic), &bytes)?;
        }
    }
}

/// Compiles a pair and turns one datum.
fn turn(writer: &str, reader: &str, datum: &[u8]) -> Result<Vec<u8>, String> {
    let parse = |text| Schema::parse_str(text).expect("a schema");
    let plan = compile(&parse(writer), &parse(reader)).map_err(|mismatch| mismatch.to_string())?;
    let mut out = Vec::new();
    transcode(&plan, datum, BOUNDS, &mut Scratch::default(), &mut out)
        .map_err(|fault| format!("{fault:?}"))?;
    Ok(out)
}

#[test]
fn blocks_become_one() {
    let longs = r#"{"type":"array","items":"long"}"#;
    let ints = r#"{"type":"array","items":"int"}"#;
    // 1 2 in a block with its size in bytes, 3 in one without.
    assert_eq!(turn(ints, longs, &[3, 4, 2, 4, 2, 6, 0]), Ok(vec![6, 2, 4, 6, 0]));
    // Sixty-four blocks of one: the count takes two bytes instead of one.
    let many = [[2, 0]; 64].concat();
    let one = [&[0x80, 0x01][..], &[0; 64], &[0]].concat();
    assert_eq!(turn(ints, longs, &[&many[..], &[0]].concat()), Ok(one));
}

#[test]
fn a_type_has_our_name_or_an_alias() {
    let fixed = |name: &str| format!(r#"{{"type":"fixed","name":"{name}","size":2}}"#);
    let aliased = r#"{"type":"fixed","name":"a.Id","size":2,"aliases":["Old"]}"#;
    assert_eq!(turn(&fixed("b.Id"), aliased, &[7, 8]), Ok(vec![7, 8]));
    assert_eq!(turn(&fixed("b.Old"), aliased, &[7, 8]), Ok(vec![7, 8]));
    assert!(turn(&fixed("a.Other"), aliased, &[7, 8]).is_err());
}

#[test]
fn mismatches_name_the_field() {
    let reader = r#"{"type":"record","name":"Task","fields":[{"name":"replicas","type":
        {"type":"array","items":{"type":"record","name":"Replica","fields":[
            {"name":"bytes","type":"long"},{"name":"at","type":
                {"type":"long","logicalType":"timestamp-millis"}}]}}}]}"#;
    let longer = reader.replace("\"long\"", "\"string\"").replace("millis", "none");
    let error = turn(&longer, reader, &[]).expect_err("strings are not longs");
    assert_eq!(error, "Task.replicas[].bytes: the writer has String, ours is Long");
    let micros = reader.replace("millis", "micros");
    let error = turn(&micros, reader, &[]).expect_err("micros are not millis");
    let expected = "Task.replicas[].at: the writer has timestamp-micros, ours is timestamp-millis";
    assert_eq!(error, expected);
    let without = reader.replace("bytes", "size");
    let error = turn(&without, reader, &[]).expect_err("no bytes");
    let expected = "Task.replicas[].bytes: the writer does not have it, and it has no default";
    assert_eq!(error, expected);
}

/// A record of a foreign writer: our heartbeat with one field more, in another order.
const FOREIGN: &str = r#"{"type":"record","name":"Heartbeat","namespace":"elsewhere","fields":[
    {"name":"host","type":"string"},
    {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
    {"name":"job","type":"string"},
    {"name":"rss_mb","type":"int"}]}"#;

fn foreign(mark: u64) -> Vec<u8> {
    let datum = [&[8][..], b"node", &[6], &[4], b"42", &[10]].concat();
    [&MARKER[..], &mark.to_le_bytes(), &datum].concat()
}

#[test]
fn a_batch_is_prepared_then_read() {
    let mut codec = Codec::default();
    let mark = codec.learn(Topic::Heartbeat, FOREIGN).expect("a compatible schema");
    let value = foreign(mark);
    let mut arena = Arena::default();
    let prepare = |_: usize| codec.prepare(Topic::Heartbeat, None, Some(&value), &mut arena);
    let prepared: Vec<Prepared> = (0..32).map(prepare).collect();
    let events: Vec<Event<'_>> = prepared
        .iter()
        .map(|it| codec.read_prepared(it, Topic::Heartbeat, None, Some(&value), &arena, &mut false))
        .collect();
    for event in events {
        let Event::Heartbeat(beat) = event else { panic!("a heartbeat, not {event:?}") };
        assert_eq!((beat.job, beat.at, beat.rss_mb, beat.cpu_s), ("42", 3, 5, 0));
    }
}

#[test]
fn both_fingerprints_of_a_schema_are_known() {
    let mut codec = Codec::default();
    let schema = Schema::parse_str(FOREIGN).expect("a schema");
    let theirs = schema.fingerprint::<apache_avro::rabin::Rabin>().bytes;
    let theirs = u64::from_le_bytes(theirs.try_into().expect("eight bytes"));
    assert!(!codec.knows(Topic::Heartbeat, theirs));
    let mark = codec.learn(Topic::Heartbeat, FOREIGN).expect("a compatible schema");
    assert_ne!(mark, theirs, "apache-avro keeps an object around a logical type's base");
    for mark in [mark, theirs] {
        let mut arena = Arena::default();
        let value = foreign(mark);
        let event = codec.read(Topic::Heartbeat, None, Some(&value), &mut arena);
        assert!(matches!(event, Event::Heartbeat(_)), "{event:?}");
    }
}

#[test]
fn unreadable_schemas_are_refused_with_the_reason() {
    let mut codec = Codec::new(1000);
    let read = |codec: &Codec, topic, key: Option<&'static [u8]>, value: Option<&[u8]>| match codec
        .read(topic, key, value, &mut Arena::default())
    {
        Event::Garbled(garbled) => Err(garbled),
        other => Ok(format!("{other:?}")),
    };
    let mark = codec.learn(Topic::Heartbeat, FOREIGN).expect("a compatible schema");
    let value = foreign(mark);
    let beat = Topic::Heartbeat;
    assert!(read(&codec, beat, None, Some(&value)).is_ok());
    assert_eq!(read(&codec, beat, None, Some(&[0; 1001])), Err(Garbled::Oversized));
    assert_eq!(read(&codec, beat, None, Some(b"{}")), Err(Garbled::Framing));
    assert_eq!(read(&codec, beat, None, Some(&value[..9])), Err(Garbled::Framing));
    assert_eq!(read(&codec, beat, None, Some(&foreign(1))), Err(Garbled::UnknownSchema));
    assert_eq!(read(&codec, Topic::Task, None, Some(&value)), Err(Garbled::WrongSchema));
    assert_eq!(read(&codec, beat, None, Some(&value[..19])), Err(Garbled::Malformed));
    let longer = [&value[..], &[0]].concat();
    assert_eq!(read(&codec, beat, None, Some(&longer)), Err(Garbled::Malformed));
    assert_eq!(read(&codec, beat, Some(b"42"), None), Err(Garbled::Null));
    assert_eq!(read(&codec, Topic::Decision, Some(b"42"), None), Err(Garbled::Null));
    assert_eq!(read(&codec, Topic::Site, None, None), Err(Garbled::Null));
    assert_eq!(read(&codec, Topic::Site, Some(b"\xFF"), None), Err(Garbled::Malformed));
    let removed = Event::Removed { topic: Topic::Site, name: "CERN-PROD" };
    assert_eq!(read(&codec, Topic::Site, Some(b"CERN-PROD"), None), Ok(format!("{removed:?}")));

    let wrong = FOREIGN.replace(r#""rss_mb","type":"int""#, r#""rss_mb","type":"string""#);
    let error = codec.learn(Topic::Heartbeat, &wrong).expect_err("a string is no number");
    let expected = "schema elsewhere.Heartbeat for topic heartbeat cannot be read with ours: \
                    Heartbeat.rss_mb: the writer has String, ours is Long";
    assert_eq!(error.to_string(), expected);
    let schema = Schema::parse_str(&wrong).expect("a schema");
    let mark =
        yardmaster::wire::avro::rabin(yardmaster::wire::avro::canonical_form(&schema).as_bytes());
    assert_eq!(read(&codec, beat, None, Some(&foreign(mark))), Err(Garbled::WrongSchema));
    assert!(codec.learn(beat, "not a schema").is_err());
}
