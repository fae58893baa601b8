//! Counters as text: one JSON object each.

use std::fmt::Write;
use yardmaster_core::state::counters::Counter;

/// One counter as a JSON object: `counter` is what it counts, then its names, then its figures.
/// Written as it is, without a value in between: there are many, and each start writes them all.
pub fn to_json(counter: &Counter) -> String {
    let mut json = String::with_capacity(256);
    json.push_str("{\"counter\":");
    text(&mut json, counter.kind);
    for (what, name) in &counter.names {
        member(&mut json, what);
        text(&mut json, name);
    }
    for (figure, value) in &counter.figures {
        member(&mut json, figure);
        // Writing to a `String` cannot fail.
        let _ = write!(json, "{value}");
    }
    json.push('}');
    json
}

fn member(json: &mut String, name: &str) {
    json.push(',');
    text(json, name);
    json.push(':');
}

fn text(json: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_is_written_is_json_and_says_the_same() {
        for name in ["CERN", "", "a \"b\" \\ \n\u{1} ä\u{2028}\u{7f}"] {
            let counter = Counter {
                kind: "load",
                names: vec![("queue", name.to_owned()), ("gshare", "x".to_owned())],
                figures: vec![(format!("slots[{name}]"), -5), ("jobs".to_owned(), i64::MAX)],
            };
            let json = to_json(&counter);
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value.to_string(), json);
            assert_eq!(value["counter"], "load");
            assert_eq!(value["queue"], name);
            assert_eq!(value["gshare"], "x");
            assert_eq!(value[format!("slots[{name}]")], -5);
            assert_eq!(value["jobs"], i64::MAX);
            assert_eq!(value.as_object().unwrap().len(), 5);
        }
    }
}
