//! The schemas themselves: documented, exemplified, and able to read all that were released.

use super::roundtrip::encoded;
use super::{CODEC, decode, encode, framed};
use apache_avro::Schema;
use apache_avro::schema::RecordField;
use apache_avro::schema_compatibility::{Compatibility, SchemaCompatibility};
use apache_avro::types::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use yardmaster::core::comparison::Comparison;
use yardmaster::core::comparison::{AnswerOutcome, InCharge};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{
    Band, Class, Event, FailureClass, Garbled, GrantScopeKind, PrincipalKind, QueueStatus,
    SiteStatus, Status, TransferStatus,
};
use yardmaster::core::output::progress::Progress;

use yardmaster::core::output::command::CommandKind;
use yardmaster::core::output::repair::NowRepair;
use yardmaster::core::output::throttle::{Action, SubjectKind};
use yardmaster::wire::avro::{
    Arena, ENVELOPE, HEADER_BYTES, canonical_form, compile, rabin, released, schema, schema_text,
};
use yardmaster::wire::record;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

/// Every schema by its word, the directory log's envelope included.
fn all() -> Vec<(&'static str, &'static str)> {
    let topics = Topic::ALL.iter().map(|topic| (topic.name(), schema_text(*topic)));
    topics.chain([("envelope", ENVELOPE)]).collect()
}

/// Calls back for every field of every record in a schema.
fn fields(schema: &Schema, each: &mut impl FnMut(&str, &RecordField)) {
    match schema {
        Schema::Record(record) => {
            for field in &record.fields {
                each(record.name.name(), field);
                fields(&field.schema, each);
            }
        }
        Schema::Array(array) => fields(&array.items, each),
        Schema::Map(map) => fields(&map.types, each),
        Schema::Union(union) => union.variants().iter().for_each(|branch| fields(branch, each)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented_with_its_unit() {
    const UNITS: [&str; 17] = [
        "ms since 1970",
        "count",
        "bytes",
        "MB",
        "GB",
        "MHz",
        "kB/s",
        " s;",
        "; s.",
        "; ms.",
        "%",
        "ores",
        "unit",
        "HS06",
        "Tier",
        "files",
        "thousandths",
    ];
    let mut silent = Vec::new();
    for (name, text) in all() {
        let schema = Schema::parse_str(text).expect(name);
        let full = schema.name().expect("a name").fullname(None);
        assert!(full.starts_with("org.yardmaster."), "{full}");
        fields(&schema, &mut |record, field| {
            let doc = field.doc.as_deref().unwrap_or_default();
            assert!(doc.ends_with('.') && doc.len() > 2, "{record}.{}: {doc}", field.name);
            let branch = match &field.schema {
                Schema::Union(union) => &union.variants()[1],
                other => other,
            };
            let numeric = matches!(
                branch,
                Schema::Int | Schema::Long | Schema::Double | Schema::TimestampMillis
            );
            let reported =
                UNITS.iter().any(|unit| doc.contains(unit)) || field.name.ends_with("_s");
            if numeric && !reported {
                silent.push(format!("{record}.{}: {doc}", field.name));
            }
        });
    }
    assert_eq!(silent, Vec::<String>::new(), "say the unit, or `no unit`");
}

#[test]
fn no_schema_lies_about_unnoticed() {
    let mut words: Vec<String> = all().iter().map(|(name, _)| format!("{name}.avsc")).collect();
    words.sort();
    let is_new = |word: &String| {
        let topic = Topic::from_name(word.trim_end_matches(".avsc"));
        // Those of the first release were in the second too.
        topic.is_some_and(|topic| released(topic).len() < 2)
    };
    let first: Vec<String> = words.iter().filter(|word| !is_new(word)).cloned().collect();
    for (place, words) in [("", words), ("released/1", first)] {
        let entries = std::fs::read_dir(folder().join(place)).expect("a folder");
        let names = entries.map(|it| it.expect("an entry").file_name().into_string());
        let mut found: Vec<String> = names.map(|it| it.expect("a name")).collect();
        found.retain(|it| it.ends_with(".avsc"));
        found.sort();
        assert_eq!(found, words, "{place}");
    }
}

/// Both judges say whether one schema reads another's data, whatever they are.
fn reads(writer: &str, reader: &str) -> Result<(), String> {
    let parse = |text| Schema::parse_str(text).expect("a schema");
    let (writer, reader) = (parse(writer), parse(reader));
    let theirs = match SchemaCompatibility::can_read(&writer, &reader) {
        Ok(Compatibility::Full) => Ok(()),
        Ok(Compatibility::Partial) => Err("some values cannot be read".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let ours = compile(&writer, &reader).map(drop).map_err(|mismatch| mismatch.to_string());
    theirs.and(ours)
}

#[test]
fn every_schema_reads_every_released_one() {
    for topic in Topic::ALL {
        let versions = released(*topic);
        for (index, version) in versions.iter().enumerate() {
            for (later, reader) in
                versions[index..].iter().chain([&schema_text(*topic)]).enumerate()
            {
                let done = reads(version, reader);
                assert_eq!(done, Ok(()), "{} {} by {later}", topic.name(), index + 1);
            }
        }
    }
    let first = std::fs::read_to_string(folder().join("released/1/envelope.avsc"));
    assert_eq!(reads(&first.expect("a schema"), ENVELOPE), Ok(()));
}

/// Records on somebody's topics have the fingerprint of a schema that was current once. The file only
/// grows.
#[test]
fn every_schema_that_was_ever_current_is_still_known() {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/schemas.txt");
    let mark = |topic: Topic, text: &str| {
        let schema = Schema::parse_str(text).expect("a schema");
        format!("{} {:016x}", topic.name(), rabin(canonical_form(&schema).as_bytes()))
    };
    let current: BTreeSet<String> =
        Topic::ALL.iter().map(|topic| mark(*topic, schema_text(*topic))).collect();
    let mut known = current.clone();
    for topic in Topic::ALL {
        known.extend(released(*topic).iter().map(|text| mark(*topic, text)));
    }
    let stored = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut stored: BTreeSet<String> = stored.lines().map(str::to_owned).collect();
    if std::env::var_os("UPDATE").is_some() {
        stored.extend(known.clone());
        let lines: Vec<&str> = stored.iter().map(String::as_str).collect();
        std::fs::write(FILE, lines.join("\n") + "\n").expect("written");
    }
    let lost: Vec<&String> = stored.difference(&known).collect();
    assert!(lost.is_empty(), "{lost:?}: the version before a change belongs in schemas/released");
    let new: Vec<&String> = current.difference(&stored).collect();
    assert!(new.is_empty(), "{new:?}: UPDATE=1 cargo test --test it wire::schemas");
}

#[test]
fn changes_that_break_readers_are_found() {
    let site = schema_text(Topic::Site);
    let breaking = [
        // A field without a default.
        site.replace(r#""fields": ["#, r#""fields": [{"name": "new", "type": "string"},"#),
        // Another type.
        site.replace(r#""name": "name", "type": "string""#, r#""name": "name", "type": "long""#),
        // Another name.
        site.replace(r#""name": "name""#, r#""name": "title""#),
    ];
    for changed in breaking {
        assert_ne!(changed, site);
        assert!(reads(site, &changed).is_err(), "{changed}");
    }
    // A symbol less, and no default to stand for it.
    let job = schema_text(Topic::JobState);
    let changed = job.replace(r#", "held"]"#, "]");
    assert_ne!(changed, job);
    assert!(reads(job, &changed).is_err());
    // And what may be done.
    let added = r#""fields": [{"name": "new", "type": "string", "default": "", "doc": "x"},"#;
    assert_eq!(reads(site, &site.replace(r#""fields": ["#, added)), Ok(()));
}

const PILOTS: [&str; 7] =
    ["asked_job", "updated_job", "workers", "slots", "slot_offer", "slot_withdrawn", "nodes"];

/// Symbols are read by their index. The table has every enumeration of every topic that is read.
#[test]
fn symbols_stand_in_the_order_of_the_core() {
    let mut found = Vec::new();
    for topic in Topic::read().chain([Topic::Comparison]) {
        fields(schema(topic), &mut |_, field| {
            let branch = match &field.schema {
                Schema::Union(union) => &union.variants()[1],
                other => other,
            };
            if let Schema::Enum(it) = branch {
                found.push((topic, field.name.clone(), it.symbols.clone()));
            }
        });
    }
    let mut table: Vec<(Topic, String, Vec<String>)> = Vec::new();
    let mut stands = |topic, name: &str, symbols: &[&str]| {
        let symbols = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        table.push((topic, name.to_owned(), symbols));
    };
    stands(Topic::JobState, "status", &Status::ALL.map(Status::name));
    stands(Topic::Transfer, "state", &TransferStatus::ALL.map(TransferStatus::name));
    stands(Topic::Pilot, "kind", &PILOTS);
    stands(Topic::JobState, "class", &Class::ALL.map(Class::name));
    stands(Topic::JobState, "last_failure", &FailureClass::ALL.map(FailureClass::name));
    stands(Topic::Task, "class", &Class::ALL.map(Class::name));
    stands(Topic::Site, "status", &SiteStatus::ALL.map(SiteStatus::name));
    stands(Topic::Site, "class_only", &Class::ALL.map(Class::name));
    stands(Topic::Grant, "principal_kind", &PrincipalKind::ALL.map(PrincipalKind::name));
    stands(Topic::Grant, "scope_kind", &GrantScopeKind::ALL.map(GrantScopeKind::name));
    stands(Topic::Decision, "class", &Class::ALL.map(Class::name));
    stands(Topic::Decision, "band", &Band::ALL.map(Band::name));
    stands(Topic::Task, "phase", &["asking", "ended"]);
    stands(Topic::Task, "chunk", &["normal", "scout", "merge"]);
    stands(Topic::Task, "ram_unit", &["mb", "mb_per_core"]);
    stands(Topic::Task, "full_chain", &["no", "only", "require", "capable"]);
    stands(Topic::Outcome, "kind", &["accepted", "refused", "failed", "expired"]);
    stands(Topic::Comparison, "in_charge", &InCharge::ALL.map(InCharge::name));
    stands(Topic::Comparison, "outcome", &AnswerOutcome::ALL.map(AnswerOutcome::name));
    stands(Topic::Outcome, "about", &["decision", "command"]);
    stands(Topic::Command, "kind", &CommandKind::ALL.map(CommandKind::name));
    stands(Topic::Queue, "status", &QueueStatus::ALL.map(QueueStatus::name));
    stands(Topic::Release, "type", &["cpu", "gpu"]);
    stands(Topic::Replica, "kind", &["file", "dataset"]);
    stands(Topic::Replica, "state", &["available", "copying", "unavailable"]);
    stands(Topic::Quota, "subject_kind", &["user", "group"]);
    stands(Topic::User, "kind", &["user", "group"]);
    stands(Topic::Registration, "kind", &["unknown", "registry", "computing", "storage"]);
    stands(Topic::Registration, "status", &["valid", "invalid", "purged"]);
    stands(Topic::Decision, "outcome", &["assign", "defer", "reject"]);
    stands(Topic::Throttle, "subject_kind", &SubjectKind::ALL.map(SubjectKind::name));
    stands(Topic::Throttle, "action", &Action::ALL.map(Action::name));
    stands(Topic::DeadLetter, "reason", &Garbled::ALL.map(Garbled::name));
    for it in &found {
        assert!(table.contains(it), "not in the table: {it:?}");
    }
    for it in &table {
        assert!(found.contains(it), "in no schema: {it:?}");
    }
}

/// The examples of a schema, as values of it. An example names only fields that there are.
fn examples(name: &str, schema: &Schema) -> Vec<Value> {
    let file = folder().join("examples").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let Json::Array(list) = serde_json::from_str(&text).expect(name) else { panic!("{name}") };
    assert!(!list.is_empty(), "{name}");
    let Schema::Record(record) = schema else { panic!("{name}") };
    for example in &list {
        for field in example.as_object().expect(name).keys() {
            assert!(record.lookup.contains_key(field), "{name} has no field {field}");
        }
    }
    let value = |it: Json| Value::try_from(it).and_then(|it| it.resolve(schema)).expect(name);
    list.into_iter().map(value).collect()
}

#[test]
fn every_example_survives_the_round_trip() {
    let codec = &*CODEC;
    for (name, text) in all() {
        let schema = Schema::parse_str(text).expect(name);
        for value in examples(name, &schema) {
            let datum = encode(&schema, &value);
            assert_eq!(decode(&schema, &datum), value, "{name}");
            let Some(topic) = Topic::from_name(name) else { continue };
            let bytes = framed(topic, &datum);
            let mut arena = Arena::default();
            let event = codec.read(topic, None, Some(&bytes), &mut arena);
            let mut out = Vec::new();
            match &event {
                Event::Garbled(Garbled::WrongSchema) if topic == Topic::Progress => {
                    record::write(&mut out, &codec.read_record::<Progress>(&bytes).expect(name));
                }
                Event::Garbled(Garbled::WrongSchema) if topic == Topic::Comparison => {
                    let read = codec.read_record::<Comparison>(&bytes).expect(name);
                    record::write(&mut out, &read);
                }
                Event::Garbled(Garbled::WrongSchema) => continue, // No event of the core yet.
                event => out = encoded(event),
            }
            // The reference keeps no order of a map's entries.
            match topic {
                Topic::DomainRecord => assert_eq!(decode(&schema, &out[HEADER_BYTES..]), value),
                _ => assert_eq!(out[HEADER_BYTES..], datum, "{name}: {event:?}"),
            }
        }
    }
}

#[test]
fn progress_fields_have_the_names_of_the_struct() {
    let ours = schema(Topic::Progress);
    let first = examples("progress", ours).swap_remove(0);
    let bytes = framed(Topic::Progress, &encode(ours, &first));
    let read = CODEC.read_record::<Progress>(&bytes).expect("a cycle");
    assert_eq!((&read.domain[..], read.epoch, read.number), ("atlas", 7, 812_344));
    assert_eq!(read.now, 1_760_000_000_000);
    assert_eq!((&read.instance[..], read.lanes.len()), ("broker1.cern.ch:4711:18f2a0", 5));
    assert!(read.full && read.quiet && !read.farewell && read.outputs.is_empty());
    assert_eq!(read.flags[2].1.blocked_at, Some(1_759_999_980_000));
    assert!(read.flags[0].1.at_end && read.flags[1].1.unreadable);
    assert!(read.policies.is_some_and(|text| text.contains("production-job")));
    assert_eq!((&read.policy_hash[..], read.engine), ("9f86d081884c7d65", 1));
    assert_eq!(read.now_repairs, vec![]);
    let job_state = (Topic::JobState, "Zk3u2yTCSbuVgVRlYt9C9A".to_owned());
    assert_eq!((read.topic_ids.len(), read.topic_ids[0].clone()), (2, job_state));
    let last = examples("progress", ours).pop().expect("an example");
    let read = CODEC
        .read_record::<Progress>(&framed(Topic::Progress, &encode(ours, &last)))
        .expect("a cycle");
    let repair = NowRepair { from_cycle: 812_100, until_cycle: 812_107, now: 1_759_999_000_000 };
    assert_eq!(read.now_repairs, vec![repair]);
}
