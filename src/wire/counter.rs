//! Counters as text: one JSON object each.

use crate::core::counters::Counter;
use serde_json::{Map, Value};

/// One counter as a JSON object: `counter` says what it counts, then its names, then its figures.
pub fn to_json(counter: &Counter) -> String {
    let mut object = Map::new();
    object.insert("counter".to_owned(), Value::from(counter.kind));
    for (what, name) in &counter.names {
        object.insert((*what).to_owned(), Value::from(name.as_str()));
    }
    for (figure, value) in &counter.figures {
        object.insert(figure.clone(), Value::from(*value));
    }
    Value::Object(object).to_string()
}
