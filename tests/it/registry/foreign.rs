//! Change messages in Avro, as Confluent's converter writes them: read by what a registry knows.

use super::desk::Registry;
use super::topology_text;
use serde_json::Value;
use std::time::{Duration, Instant};
use yardmaster::shell::registry::ForeignDesk;
use yardmaster::wire::dialect::change::{Message, read};
use yardmaster::wire::topology::Topology;

const LIFE: &str = include_str!("../../fixtures/panda/life.ndjson");

fn desk(url: &str) -> ForeignDesk {
    let source =
        "\n[[intake.source]]\ntopic = \"panda\"\ndialect = \"panda\"\nframing = \"confluent\"\n";
    let mut topology =
        Topology::parse("test.toml", &(topology_text(&[url], "t.") + source)).unwrap();
    topology.limits.backoff_max_ms = 50;
    ForeignDesk::of(&topology).unwrap().expect("a framed source")
}

/// A schema that takes the values of an object: those that are null may be any text.
fn schema_of(name: &str, value: &Value) -> Value {
    let kind = |name: &str, value: &Value| match value {
        Value::String(_) => "string".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(number) if number.is_f64() => "double".into(),
        Value::Number(_) => "long".into(),
        Value::Object(_) => schema_of(&format!("{name}_record"), value),
        _ => Value::from("string"),
    };
    let fields = value.as_object().expect("an object").iter().map(|(name, value)| {
        serde_json::json!({"name": name, "type": ["null", kind(name, value)], "default": null})
    });
    serde_json::json!({"type": "record", "name": name, "fields": fields.collect::<Vec<_>>()})
}

/// The datum of an object by that schema.
fn write(value: &Value, out: &mut Vec<u8>) {
    let long = |number: i64, out: &mut Vec<u8>| {
        let mut zigzag = (number << 1 ^ number >> 63) as u64;
        while zigzag >= 0x80 {
            out.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        out.push(zigzag as u8);
    };
    for value in value.as_object().expect("an object").values() {
        long(i64::from(!value.is_null()), out);
        match value {
            Value::Null => {}
            Value::Bool(flag) => out.push(u8::from(*flag)),
            Value::Number(number) if number.is_f64() => {
                out.extend_from_slice(&number.as_f64().expect("a number").to_le_bytes());
            }
            Value::Number(number) => long(number.as_i64().expect("a whole number"), out),
            Value::String(text) => {
                long(text.len() as i64, out);
                out.extend_from_slice(text.as_bytes());
            }
            Value::Object(_) => write(value, out),
            Value::Array(_) => panic!("no list in these"),
        }
    }
}

/// A value in Confluent framing, whose schema the registry has.
fn framed(name: &str, value: &Value, registry: &Registry) -> Vec<u8> {
    let text = schema_of(name, value).to_string();
    let mut bytes = [&[0][..], &registry.put(&text).to_be_bytes()].concat();
    write(value, &mut bytes);
    bytes
}

#[track_caller]
fn wait(mut json: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let end = Instant::now() + Duration::from_secs(20);
    while !json()? {
        assert!(Instant::now() < end, "no answer of the registry");
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

#[test]
fn a_change_in_avro_is_the_same_as_in_json() {
    let registry = Registry::start();
    let mut desk = desk(&registry.url);
    let mut changes = 0;
    for line in LIFE.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["value"].is_null() {
            continue;
        }
        let avro = [framed("Key", &line["key"], &registry), framed("V", &line["value"], &registry)];
        let (mut key, mut value) = (Vec::new(), Vec::new());
        wait(|| desk.json(&avro[0], &mut key)).expect("a key");
        wait(|| desk.json(&avro[1], &mut value)).expect("a value");
        let texts = [line["key"].to_string(), line["value"].to_string()];
        let wants = read(Some(texts[0].as_bytes()), Some(texts[1].as_bytes())).expect("JSON");
        assert_eq!(read(Some(&key), Some(&value)).expect("Avro"), wants);
        changes += u32::from(matches!(wants, Message::Change(_)));
    }
    assert!(changes > 20, "{changes}");
}

#[test]
fn while_the_registry_is_down_nothing_is_known_and_nothing_is_wrong() {
    let registry = Registry::start();
    let value = framed("V", &serde_json::json!({"ts_ms": 1}), &registry);
    registry.books().is_down = true;
    let (mut desk, mut out) = (desk(&registry.url), Vec::new());
    let end = Instant::now() + Duration::from_millis(300);
    while Instant::now() < end {
        assert_eq!(desk.json(&value, &mut out), Ok(false));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(out.is_empty());
    registry.books().is_down = false;
    wait(|| desk.json(&value, &mut out)).expect("known by now");
    assert_eq!(out, br#"{"ts_ms":1}"#);
}

#[test]
fn what_cannot_be_read_is_named() {
    let registry = Registry::start();
    let value = framed("V", &serde_json::json!({"ts_ms": 1}), &registry);
    let protobuf = registry.put("syntax = \"proto3\";");
    let (mut desk, mut out) = (desk(&registry.url), Vec::new());
    let mut why = |bytes: &[u8]| wait(|| desk.json(bytes, &mut out)).expect_err("an error");
    assert!(why(&[0, 0, 0, 1, 77, 2]).contains("the registry has no schema 333"));
    let cut = &value[..value.len() - 1];
    assert!(why(cut).starts_with("framing confluent, schema 1: not as its schema says"));
    let other = [&[0][..], &protobuf.to_be_bytes(), &[2]].concat();
    assert!(why(&other).starts_with("framing confluent, schema 2: "));
    assert!(why(b"{\"ts_ms\": 1}").contains("if the source is JSON, leave out its `framing`"));
    assert!(out.is_empty());
    // A key may be in no framing.
    assert_eq!(desk.json_of_key(b"{\"pandaid\": 7}", &mut out), Ok(true));
    assert_eq!(out, b"{\"pandaid\": 7}");
}
