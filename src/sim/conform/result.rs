//! A whole result beside a recorded one, field by field.

use super::Agreement;
use super::json::show;
use serde_json::Value;

/// Compares every field of what was recorded with ours. What was not recorded is not compared.
/// `None`: nothing was recorded.
pub(super) fn with_result(expected: &Value, ours: &Value) -> Option<Agreement> {
    let fields = expected.as_object()?;
    let mut differences = Vec::new();
    for (name, theirs) in fields {
        differ(name, theirs, &ours[name], &mut differences);
    }
    let is_whole = differences.is_empty();
    let agrees = |name: &str| fields.get(name).is_none_or(|theirs| *theirs == ours[name]);
    Some(Agreement {
        verdict: agrees("verdict") && agrees("ok"),
        candidates: is_whole,
        weights: is_whole,
        skipped: is_whole,
        reasons: is_whole,
        differences,
    })
}

/// Adds a line for each place in which two values differ.
fn differ(path: &str, theirs: &Value, ours: &Value, lines: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => {
            for (name, theirs) in left {
                differ(&format!("{path}.{name}"), theirs, &ours[name], lines);
            }
            for (name, ours) in right.iter().filter(|(name, _)| !left.contains_key(*name)) {
                differ(&format!("{path}.{name}"), &Value::Null, ours, lines);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (theirs, ours)) in left.iter().zip(right).enumerate() {
                differ(&format!("{path}[{at}]"), theirs, ours, lines);
            }
        }
        _ if theirs == ours => {}
        _ => lines.push(format!("{path}: ours {}, theirs {}", show(ours), show(theirs))),
    }
}
