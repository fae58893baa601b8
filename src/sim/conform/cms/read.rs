//! Small readers of a case's fields that may be absent or null.

use super::super::json::{show, text, texts, whole};
use serde_json::Value;
use yardmaster_core::event::FailureClass;

/// A field that may be absent or null.
pub(super) fn known(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}

/// A whole number.
pub(super) fn number(value: &Value) -> Option<i64> {
    known(value).map(whole)
}

/// A text.
pub(super) fn named(value: &Value) -> Option<String> {
    known(value).map(text)
}

/// A list of texts.
pub(super) fn list(value: &Value) -> Option<Vec<String>> {
    known(value).map(texts)
}

/// The value that a text stands for.
///
/// # Errors
/// That it stands for nothing, and what is wanted.
pub(super) fn one_of<T>(
    value: &Value,
    field: &str,
    wants: &str,
    read: fn(&str) -> Option<T>,
) -> Result<T, String> {
    let found = || format!("field `{field}`: found {}, wants {wants}", show(value));
    value.as_str().and_then(read).ok_or_else(found)
}

/// How an attempt failed; `None`: it did not, or that is not stated.
///
/// # Errors
/// That it is no way to fail.
pub(super) fn failure(value: &Value) -> Result<Option<FailureClass>, String> {
    let wants = "payload, site, infrastructure or remote_open";
    let read = |value| one_of(value, "failure class", wants, FailureClass::from_name);
    let stated = known(value).filter(|value| value.as_str() != Some("none"));
    stated.map(read).transpose()
}
