//! Requests as a person writes them: JSON with the fields of `schemas/task.avsc`.

use crate::cli::Usage;
use crate::suppose::SupposedField;
use serde_json::{Map, Value};
use yardmaster_core::event::{Event, Task};
use yardmaster_core::topic::Topic;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec, from_json};
use yardmaster_wire::written::with_defaults;

/// A field with the value it is to have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Override {
    /// Of every request.
    Request {
        /// The way to the field, as `options.excluded_sites`.
        path: Vec<String>,
        /// Its value; null: its default.
        value: Value,
    },
    /// Of a configuration record.
    Configuration(SupposedField),
}

impl Override {
    /// Reads `NAME=VALUE`.
    ///
    /// # Errors
    /// It has no name, or no `=`.
    pub(super) fn parse(text: &str) -> Result<Override, String> {
        let wrong =
            || format!("{text:?} is no NAME=VALUE; give a field and its value, core_count=8");
        if let Some(field) = SupposedField::parse(text) {
            return Ok(Override::Configuration(field));
        }
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let path: Vec<String> = name.trim().split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(wrong());
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok(Override::Request { path, value })
    }

    /// The field of a configuration record; `None`: it is of the requests.
    pub(super) fn supposed(&self) -> Option<&SupposedField> {
        match self {
            Override::Configuration(field) => Some(field),
            Override::Request { .. } => None,
        }
    }
}

/// Sets fields of a request.
///
/// # Errors
/// A field is within something that is no object.
pub(super) fn with_overrides(json: &mut Value, overrides: &[Override]) -> Result<(), String> {
    for given in overrides {
        let Override::Request { path, value } = given else { continue };
        let Some((last, way)) = path.split_last() else { continue };
        let mut at = &mut *json;
        for name in way {
            let within = at.as_object_mut().ok_or_else(|| not_within(path))?;
            at = within.entry(name).or_insert_with(|| Value::Object(Map::new()));
        }
        let within = at.as_object_mut().ok_or_else(|| not_within(path))?;
        match value {
            Value::Null => drop(within.remove(last)),
            value => drop(within.insert(last.clone(), value.clone())),
        }
    }
    Ok(())
}

fn not_within(path: &[String]) -> String {
    let name = path.join(".");
    format!("--set {name}: no object has this field; give a field of the request, as core_count=8")
}

/// The request that JSON has, with its place. What it leaves out of its domain and its times is
/// that of the log at `now`; of its name, that of its task.
///
/// # Errors
/// The field that is wrong, its value, and what is allowed.
pub(super) fn task(
    (place, json): &(String, Value),
    domain: &str,
    now: Millis,
) -> Result<Task, Usage> {
    let mut json = json.clone();
    if let Some(fields) = json.as_object_mut() {
        let task = fields.get("task").cloned();
        fields.entry("subject").or_insert_with(|| task.unwrap_or_else(|| "judge".into()));
    }
    let json = with_defaults(Topic::Task, &json, domain, now);
    let bytes = from_json(Topic::Task, &json)
        .map_err(|fault| Usage(format!("{place}: {fault} (schemas/task.avsc has all fields)")))?;
    let mut arena = Arena::default();
    let event = Codec::default().read(Topic::Task, None, Some(&bytes), &mut arena);
    match event {
        Event::Task(task) if task.domain == domain => Ok(*task),
        Event::Task(task) => Err(Usage(format!(
            "{place}: field domain: found {:?}; the log is of {domain:?}: correct it, leave it out, \
             or --set domain=null",
            task.domain
        ))),
        _ => Err(Usage(format!(
            "{place}: the record is too long, or a name in it is; shorten it (limits \
             max_record_bytes and name_bytes of the topology)"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_set_by_their_way_and_null_gives_the_default() {
        let set = |text: &str| Override::parse(text).unwrap();
        let mut json = json!({"core_count": 8, "options": {"cloud": "US"}});
        let overrides = [
            set("core_count=1"),
            set("gshare=MC Default"),
            set("options.excluded_sites=[\"BNL\"]"),
            set("options.cloud=null"),
            set("input.datasets=[]"),
        ];
        with_overrides(&mut json, &overrides).unwrap();
        let expected = json!({
            "core_count": 1, "gshare": "MC Default", "options": {"excluded_sites": ["BNL"]},
            "input": {"datasets": []},
        });
        assert_eq!(json, expected);
        let why = with_overrides(&mut json, &[set("core_count.most=1")]).unwrap_err();
        assert!(why.contains("core_count.most"), "{why}");
        for wrong in ["", "core_count", "=1", "options.=1"] {
            assert!(Override::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_request_leaves_out_is_that_of_the_log() {
        let place = "task.json".to_owned();
        let it = (place.clone(), json!({"subject": "7/1", "policy": "production-job"}));
        let read = task(&it, "atlas", 99).unwrap();
        assert_eq!((read.task.as_str(), read.domain.as_str()), ("7", "atlas"));
        assert_eq!((read.asked_at, read.changed_at), (99, 99));
        let fault = |json: Value| task(&(place.clone(), json), "atlas", 99).unwrap_err().0;
        let other = fault(json!({"policy": "p", "domain": "cms"}));
        assert!(other.contains("field domain") && other.contains("\"cms\""), "{other}");
        let none = fault(json!({"subject": "7/1"}));
        assert!(none.starts_with("task.json: field policy: it is missing"), "{none}");
        assert!(fault(json!(7)).contains("an object with fields"));
    }
}
