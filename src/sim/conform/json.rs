//! Small readers of JSON values.

use serde_json::Value;
use yardmaster_core::unit::Millis;
use yardmaster_wire::stamp;

/// A value as it looks, cut to be read.
pub fn show(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text,
    }
}

/// Text, empty when there is none.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// A whole number, 0 when there is none.
pub fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| value.as_f64().map_or(0, |number| number as i64))
}

/// A whole number, 0 or more.
pub fn count(value: &Value) -> u32 {
    whole(value).clamp(0, i64::from(u32::MAX)) as u32
}

/// A whole number, 0 or more.
pub fn amount(value: &Value) -> u64 {
    whole(value).max(0) as u64
}

/// A number that may be absent.
pub fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// A flag: true, or a number that is not 0.
pub fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_f64().is_some_and(|number| number != 0.0))
}

/// Texts of a list.
pub fn texts(value: &Value) -> Vec<String> {
    value.as_array().map_or_else(Vec::new, |items| items.iter().map(text).collect())
}

/// Entries of an object, in its order.
pub fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Items of a list.
pub fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A moment, as ISO text in UTC; 0 when there is none.
pub fn moment(value: &Value) -> Millis {
    value.as_str().and_then(stamp::parse).unwrap_or(0)
}
