//! Schemas of writers as others' registries hold them: read as Confluent's clients read them, which
//! check neither names nor defaults. Of a writer's schema only the layout of its records matters.

use apache_avro::Schema;
use serde_json::Value;

/// Parts of a schema that do not change its layout.
const UNUSED: [&str; 2] = ["default", "aliases"];
/// Parts of a schema that are names, or names that are separated by dots.
const NAMES: [&str; 2] = ["name", "namespace"];
/// Where schemas stand in a schema.
const PARTS: [&str; 4] = ["type", "items", "values", "fields"];

/// A writer's schema; the error of one that is none is that of Avro's rules.
pub(crate) fn parse(text: &str) -> Result<Schema, apache_avro::Error> {
    Schema::parse_str(text).or_else(|error| {
        let Ok(mut schema) = serde_json::from_str::<Value>(text) else { return Err(error) };
        ease(&mut schema);
        Schema::parse(&schema).map_err(|_| error)
    })
}

/// Takes out what is not needed, and gives names letters that Avro allows: the same name the same
/// ones, wherever it stands.
fn ease(schema: &mut Value) {
    match schema {
        Value::String(name) => *name = plain(name),
        Value::Array(parts) => parts.iter_mut().for_each(ease),
        Value::Object(object) => {
            UNUSED.iter().for_each(|key| drop(object.remove(*key)));
            for key in NAMES {
                if let Some(Value::String(name)) = object.get_mut(key) {
                    *name = plain(name);
                }
            }
            for key in PARTS {
                object.get_mut(key).into_iter().for_each(ease);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn plain(name: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(namespace: &str, default: &str) -> String {
        format!(
            r#"{{"type": "record", "name": "Job", "namespace": "{namespace}", "fields": [
                {{"name": "job", "type": "string"}},
                {{"name": "host", "type": {{"type": "record", "name": "Host-1", "fields": [
                    {{"name": "a-b", "type": "long", "default": {default}}}]}}}},
                {{"name": "again", "type": ["null", "Host-1"], "default": null}}]}}"#
        )
    }

    #[test]
    fn names_and_defaults_that_avro_forbids_are_no_reason_to_lose_records() {
        let schema = parse(&of("org.my-site", "\"no number\"")).unwrap();
        let text = schema.canonical_form();
        assert!(text.contains("org.my_site.Host_1") && text.contains("a_b"), "{text}");
        // What is right is read as it is.
        let right = r#"{"type": "record", "name": "a", "fields": []}"#;
        assert_eq!(parse(right).unwrap(), Schema::parse_str(right).unwrap());
    }

    #[test]
    fn what_is_no_schema_is_none() {
        for text in ["", "{", "[1]", r#"{"type": "record", "name": "a"}"#, r#""a.Host""#] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
