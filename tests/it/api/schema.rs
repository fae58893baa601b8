//! As much of JSON Schema as `docs/openapi.json` uses.

use serde_json::Value;
use std::collections::BTreeSet;

/// The description.
pub struct Schemas(Value);

impl Schemas {
    /// Reads it.
    pub fn read(text: &str) -> Schemas {
        Schemas(serde_json::from_str(text).unwrap())
    }

    /// Parameters in the query of a path.
    pub fn parameters(&self, path: &str) -> BTreeSet<&str> {
        let parameters = self.0["paths"][path]["get"]["parameters"].as_array().unwrap();
        let of_query = parameters.iter().filter(|it| it["in"] == "query");
        of_query.map(|it| it["name"].as_str().unwrap()).collect()
    }

    /// In what an answer to a path is not as described.
    pub fn check(&self, path: &str, answer: &Value) -> Vec<String> {
        let response = &self.0["paths"][path]["get"]["responses"]["200"];
        let mut complaints = Vec::new();
        self.look(
            path,
            &response["content"]["application/json"]["schema"],
            answer,
            &mut complaints,
        );
        complaints
    }

    fn look(&self, at: &str, schema: &Value, value: &Value, complaints: &mut Vec<String>) {
        if let Some(name) = schema["$ref"].as_str() {
            let schema = self.0.pointer(name.strip_prefix('#').unwrap()).unwrap();
            return self.look(at, schema, value, complaints);
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let fits = choices.iter().map(|choice| {
                let mut wrong = Vec::new();
                self.look(at, choice, value, &mut wrong);
                wrong
            });
            let fits: Vec<Vec<String>> = fits.collect();
            if !fits.iter().any(Vec::is_empty) {
                complaints.extend(fits.into_iter().next().unwrap());
            }
            return;
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().map(|it| it.as_str().unwrap()).collect(),
            one => vec![one.as_str().unwrap()],
        };
        if !types.iter().any(|name| is(name, value)) {
            complaints.push(format!("{at}: {value} is none of {types:?}"));
        }
        if let (Some(properties), Some(object)) =
            (schema["properties"].as_object(), value.as_object())
        {
            for name in schema["required"].as_array().unwrap() {
                if !object.contains_key(name.as_str().unwrap()) {
                    complaints.push(format!("{at}: there is no {name}"));
                }
            }
            for (name, value) in object {
                match properties.get(name) {
                    Some(schema) => self.look(&format!("{at}.{name}"), schema, value, complaints),
                    None if schema["additionalProperties"] == true => {}
                    None => complaints.push(format!("{at}: {name} is not described")),
                }
            }
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            for (index, value) in values.iter().enumerate() {
                self.look(&format!("{at}[{index}]"), items, value, complaints);
            }
        }
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    }
}
