//! Counters as text: one JSON object each.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
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

/// The counters of which a figure is not what it was, each with its figures of before under
/// `before`, in order of kinds and names. Lines that are no counters are left out.
pub fn compared(now: &[String], before: &[String]) -> Vec<String> {
    let read = |lines: &[String]| -> BTreeMap<Vec<String>, Map<String, Value>> {
        let counters = lines.iter().filter_map(|line| match serde_json::from_str(line).ok()? {
            Value::Object(counter) => Some(counter),
            _ => None,
        });
        let names = |it: &Map<String, Value>| {
            it.values().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        counters.map(|it| (names(&it), it)).collect()
    };
    let figures = |it: Map<String, Value>| -> Map<String, Value> {
        it.into_iter().filter(|(_, value)| !value.is_string()).collect()
    };
    let (mut now, mut before) = (read(now), read(before));
    // One that is not there has no figures.
    for (names, counter) in &before {
        let named = || counter.iter().filter(|(_, value)| value.is_string());
        let without = || named().map(|(name, it)| (name.clone(), it.clone())).collect();
        now.entry(names.clone()).or_insert_with(without);
    }
    let mut changed = Vec::new();
    for (names, mut counter) in now {
        let before = figures(before.remove(&names).unwrap_or_default());
        if figures(counter.clone()) != before {
            counter.insert("before".to_owned(), Value::Object(before));
            changed.push(Value::Object(counter).to_string());
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_or_changed_is_compared_and_what_did_not_is_left_out() {
        let lines = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let of = |queue: &str, figures: &str| {
            format!(r#"{{"counter":"queue","queue":"{queue}"{figures}}}"#)
        };
        let (same, oak, elm) =
            (of("ash", r#","a":1"#), of("oak", r#","a":2"#), of("elm", r#","a":3"#));
        let was = of("oak", r#","a":5,"b":1"#);
        let found =
            compared(&lines(&[&same, &oak, &of("fir", r#","a":9"#)]), &lines(&[&was, &elm, &same]));
        let expected = [
            of("elm", r#","before":{"a":3}"#),
            of("fir", r#","a":9,"before":{}"#),
            of("oak", r#","a":2,"before":{"a":5,"b":1}"#),
        ];
        assert_eq!(found, expected);
    }

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
