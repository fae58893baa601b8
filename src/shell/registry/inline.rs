//! A schema that refers to others becomes one that holds them: each is put in where it is named
//! first, as Avro wants it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// How deep references may go, and how deep a schema may be nested in another.
pub(super) const DEPTH: usize = 32;

/// The schema with the definitions of what it refers to in it; as it is when it is no JSON.
pub(super) fn inline(text: &str, others: &[String]) -> String {
    let Ok(mut schema) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let mut named = BTreeMap::new();
    for other in others {
        if let Ok(other) = serde_json::from_str::<Value>(other) {
            named.insert(full_name(&other, ""), other);
        }
    }
    put(&mut schema, "", &mut named, DEPTH);
    schema.to_string()
}

/// Walks where a schema may stand: the schema itself, items, values, types of fields, branches.
fn put(schema: &mut Value, space: &str, named: &mut BTreeMap<String, Value>, depth: usize) {
    if depth == 0 {
        return;
    }
    match schema {
        Value::String(name) => {
            let full = if name.contains('.') { name.clone() } else { qualified(space, name) };
            if let Some(mut found) = named.remove(&full).or_else(|| named.remove(name)) {
                // Its own names are of its own space, wherever it stands.
                let own = full_name(&found, "").rsplit_once('.').map_or("", |it| it.0).to_owned();
                if let Value::Object(object) = &mut found {
                    object.entry("namespace").or_insert_with(|| Value::String(own.clone()));
                }
                put(&mut found, &own, named, depth - 1);
                *schema = found;
            }
        }
        Value::Array(branches) => {
            branches.iter_mut().for_each(|branch| put(branch, space, named, depth - 1));
        }
        Value::Object(object) => {
            let space = space_of(object, space);
            for key in ["type", "items", "values"] {
                if let Some(part) = object.get_mut(key) {
                    put(part, &space, named, depth - 1);
                }
            }
            for field in
                object.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if let Some(kind) = field.get_mut("type") {
                    put(kind, &space, named, depth - 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn space_of(object: &Map<String, Value>, outer: &str) -> String {
    let name = object.get("name").and_then(Value::as_str).unwrap_or_default();
    match (name.rsplit_once('.'), object.get("namespace").and_then(Value::as_str)) {
        (Some((space, _)), _) => space.to_owned(),
        (None, Some(space)) => space.to_owned(),
        (None, None) => outer.to_owned(),
    }
}

fn full_name(schema: &Value, outer: &str) -> String {
    let Value::Object(object) = schema else { return String::new() };
    let name = object.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.contains('.') { name.to_owned() } else { qualified(&space_of(object, outer), name) }
}

fn qualified(space: &str, name: &str) -> String {
    if space.is_empty() { name.to_owned() } else { format!("{space}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_referred_to_is_put_in_where_it_is_named_first() {
        let place = r#"{"type":"record","name":"Place","namespace":"a","fields":[
            {"name":"kind","type":"Kind"}]}"#;
        let kind = r#"{"type":"enum","name":"a.Kind","symbols":["X"]}"#;
        let user = r#"{"type":"record","name":"User","namespace":"b","fields":[
            {"name":"from","type":["null","a.Place"]},{"name":"to","type":"a.Place"},
            {"name":"on","type":{"type":"array","items":"a.Kind"}}]}"#;
        let whole = inline(user, &[kind.to_owned(), place.to_owned()]);
        let parsed = apache_avro::Schema::parse_str(&whole).expect(&whole);
        let canonical = parsed.canonical_form();
        assert!(canonical.contains(r#""name":"a.Place""#), "{canonical}");
        assert_eq!(canonical.matches(r#""symbols""#).count(), 1, "{canonical}");
    }
}
