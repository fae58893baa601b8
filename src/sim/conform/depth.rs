//! JSON that nests deeply, as the trees of nested descriptions do.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

/// Deepest nesting of a case that is read; levels. The tree of a description takes two for each of
/// its own.
const DEPTH_MAX: usize = 1_000;

/// Reads a JSON text.
///
/// # Errors
/// It is none, or nests too deeply.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let depth = depth(text);
    if depth > DEPTH_MAX {
        return Err(format!("nests {depth} levels deep, at most {DEPTH_MAX} are read"));
    }
    let mut deserializer = Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let value = Value::deserialize(&mut deserializer);
    let value = value.and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

/// How deeply brackets outside of strings nest.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
