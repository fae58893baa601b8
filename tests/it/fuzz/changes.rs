//! Change messages of PanDA's tables: each is read or refused with a reason, key and value alike.

use super::feed;
use yardmaster::wire::dialect::change::read;

const LINES: [&str; 7] = [
    include_str!("../../fixtures/panda/life.ndjson"),
    include_str!("../../fixtures/panda/workers.ndjson"),
    include_str!("../../fixtures/panda/tasks.ndjson"),
    include_str!("../../fixtures/panda/markers.ndjson"),
    include_str!("../../fixtures/panda/snapshot.ndjson"),
    include_str!("../../fixtures/panda/with_schema.ndjson"),
    include_str!("../../fixtures/panda/wide.ndjson"),
];

/// Keys and values of the fixtures, as texts.
fn corpus() -> Vec<(String, String)> {
    let lines = LINES.into_iter().flat_map(str::lines);
    let parsed = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    parsed.map(|line| (line["key"].to_string(), line["value"].to_string())).collect()
}

fn is_read(key: &[u8], value: &[u8]) -> bool {
    match read(Some(key), Some(value)) {
        Ok(_) => true,
        Err(why) => {
            assert!(!why.is_empty());
            false
        }
    }
}

#[test]
fn a_change_message_is_read_or_refused() {
    let corpus = corpus();
    let values: Vec<Vec<u8>> = corpus.iter().map(|it| it.1.clone().into_bytes()).collect();
    let mut inputs = feed("change values", 1, &values, |bytes| is_read(b"{\"pandaid\":1}", bytes));
    let keys: Vec<Vec<u8>> = corpus.iter().map(|it| it.0.clone().into_bytes()).collect();
    let delete = corpus.iter().find(|it| it.1.contains("\"op\":\"d\"")).expect("a delete");
    inputs += feed("change keys", 1, &keys, |bytes| is_read(bytes, delete.1.as_bytes()));
    println!("fuzz changes: {inputs} inputs in all");
}

#[test]
fn the_worst_value_in_any_field_of_a_change_is_read_or_refused() {
    let deep = ["[", "{\"a\":", "{\"payload\":"].map(|open| open.repeat(5_000));
    let long = format!("\"{}\"", "9".repeat(5_000));
    let scaled = r#"{"scale": 9223372036854775807, "value": "////////////////////"}"#;
    let mut worst = super::dialects::WORST.to_vec();
    worst.extend(deep.iter().map(String::as_str).chain([long.as_str(), scaled]));
    let (mut inputs, mut could) = (0, 0);
    for (key, text) in corpus().iter().step_by(6) {
        for (at, _) in text.match_indices("\":") {
            let (before, after) = text.split_at(at + 2);
            let mut whole = serde_json::Deserializer::from_str(after).into_iter();
            if !matches!(whole.next(), Some(Ok::<serde_json::Value, _>(_))) {
                continue;
            }
            let rest = &after[whole.byte_offset()..];
            for value in &worst {
                let mangled = format!("{before}{value}{rest}");
                could += u64::from(is_read(key.as_bytes(), mangled.as_bytes()));
                inputs += 1;
            }
        }
    }
    assert!(inputs > 1_000 && could > 0, "{inputs} {could}");
    println!("fuzz worst values of changes: {inputs} inputs, {could} read");
}
