//! A file of JSON as a person writes it: an object, a list of objects, or one a line.

use crate::cli::Usage;
use serde_json::{Deserializer, Value};
use std::io::Read;
use std::path::Path;

/// Largest file that is read; bytes.
const FILE_MAX: u64 = 64 << 20;

/// The objects of a file (`-`: stdin), each with its place in it. `noun` is one of them in a
/// message, and `schema` has their fields.
///
/// # Errors
/// The file cannot be read, is no JSON, or has no object.
pub(super) fn objects(
    file: &Path,
    noun: &str,
    schema: &str,
) -> Result<Vec<(String, Value)>, Usage> {
    let name = if file.as_os_str() == "-" { "stdin".into() } else { file.display().to_string() };
    let remedy = format!("name a readable file of less than 64 MiB with {noun}s in JSON");
    let unread = |error: std::io::Error| Usage(format!("{name}: {error}; {remedy}"));
    let mut text = String::new();
    let length = match name.as_str() {
        "stdin" => std::io::stdin().take(FILE_MAX).read_to_string(&mut text),
        _ => std::fs::File::open(file).and_then(|it| it.take(FILE_MAX).read_to_string(&mut text)),
    };
    if length.map_err(unread)? as u64 >= FILE_MAX {
        return Err(Usage(format!("{name}: it is too long; {remedy}")));
    }
    let mut found = Vec::new();
    for value in Deserializer::from_str(&text).into_iter::<Value>() {
        let value = value.map_err(|error| {
            let allowed = format!("a {noun} as a JSON object, a list of them, or one a line");
            Usage(format!("{name}: no JSON: {error}; allowed: {allowed}"))
        })?;
        match value {
            Value::Array(values) => found.extend(values),
            value => found.push(value),
        }
    }
    if found.is_empty() {
        return Err(Usage(format!(
            "{name}: it has no {noun}; write one with the fields of schemas/{schema}.avsc"
        )));
    }
    let several = found.len() > 1;
    let place = |at: usize| match several {
        true => format!("{name}: {noun} {}", at + 1),
        false => name.clone(),
    };
    Ok(found.into_iter().enumerate().map(|(at, value)| (place(at), value)).collect())
}
