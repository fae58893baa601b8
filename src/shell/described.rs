//! Answers as types that know their schemas: each field once, with its meaning, its type and its
//! value. The description of the HTTP API is made of them.

use serde_json::{Map, Value, json};

/// Data of an answer.
pub trait HasSchema {
    /// Its schema. That of a struct is put among `all`, and this one refers to it.
    fn schema(all: &mut Schemas) -> Value;
}

/// The schemas of structs, by name.
#[derive(Debug, Default)]
pub struct Schemas(pub Map<String, Value>);

/// An attribute of a struct or field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// A line of its meaning.
    Line(&'static str),
    /// Its fields stand among those around it.
    Flat,
    /// Any other.
    Other,
}

/// A field: its name, its attributes, its schema.
pub type Field<'a> = (&'a str, &'a [Note], fn(&mut Schemas) -> Value);

/// Declares structs of which each field is always there. One with values has a function `of` that
/// makes it from what is named behind the struct.
macro_rules! described {
    (@note doc = $line:literal) => { $crate::described::Note::Line($line) };
    (@note serde(flatten)) => { $crate::described::Note::Flat };
    (@note $($other:tt)*) => { $crate::described::Note::Other };
    ($($(#[$($note:tt)*])* struct $name:ident of ($($given:ident: $kind:ty),+ $(,)?) {
        $($(#[$($of_field:tt)*])* $field:ident: $type:ty = $value:expr,)+
    })+) => {$(
        $crate::described::described! {
            $(#[$($note)*])*
            #[derive(serde::Serialize)]
            pub(crate) struct $name { $($(#[$($of_field)*])* $field: $type,)+ }
        }

        impl $name {
            /// The answer as of what is given.
            pub(crate) fn of($($given: $kind),+) -> $name {
                $name { $($field: $value),+ }
            }
        }
    )+};
    ($(#[$($note:tt)*])* $vis:vis struct $name:ident {
        $($(#[$($of_field:tt)*])* $its:vis $field:ident: $type:ty,)+
    }) => {
        $(#[$($note)*])*
        $vis struct $name { $($(#[$($of_field)*])* $its $field: $type,)+ }

        impl $crate::described::HasSchema for $name {
            fn schema(all: &mut $crate::described::Schemas) -> serde_json::Value {
                let about = [$($crate::described::described!(@note $($note)*)),*];
                all.of_struct(stringify!($name), &about, &[$((
                    stringify!($field),
                    &[$($crate::described::described!(@note $($of_field)*)),*],
                    <$type as $crate::described::HasSchema>::schema,
                )),+])
            }
        }
    };
}
pub(crate) use described;

impl Schemas {
    /// The schema of a struct; its name there is without `Answer` or `View` at the end.
    pub fn of_struct(&mut self, name: &str, about: &[Note], fields: &[Field<'_>]) -> Value {
        let name = name.trim_end_matches("Answer").trim_end_matches("View");
        if !self.0.contains_key(name) {
            // It comes before those that its fields name.
            self.0.insert(name.to_owned(), Value::Null);
            let mut properties = Map::new();
            for (field, about, schema) in fields {
                let schema = schema(self);
                if about.contains(&Note::Flat) {
                    properties.extend(self.properties(&schema));
                } else {
                    let field = field.trim_start_matches("r#").to_owned();
                    properties.insert(field, with_meaning(schema, about));
                }
            }
            let required: Vec<&String> = properties.keys().collect();
            let required = json!(required);
            let schema = json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            });
            self.0.insert(name.to_owned(), with_meaning(schema, about));
        }
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    /// The properties of a struct that a schema refers to.
    fn properties(&self, schema: &Value) -> Map<String, Value> {
        let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next());
        let schema = name.and_then(|name| self.0.get(name));
        schema.and_then(|it| it["properties"].as_object()).cloned().unwrap_or_default()
    }
}

/// A schema with its meaning, behind its type.
fn with_meaning(mut schema: Value, about: &[Note]) -> Value {
    let lines = about.iter().filter_map(|note| match note {
        Note::Line(line) => Some(line.trim()),
        Note::Flat | Note::Other => None,
    });
    let meaning = lines.collect::<Vec<_>>().join(" ");
    if let Some(schema) = schema.as_object_mut() {
        let at = usize::from(schema.contains_key("type"));
        schema.shift_insert(at, "description".to_owned(), meaning.into());
    }
    schema
}

macro_rules! plain {
    ($($name:literal: $($type:ty),+;)+) => {
        $($(impl HasSchema for $type {
            fn schema(_: &mut Schemas) -> Value {
                json!({ "type": $name })
            }
        })+)+
    };
}

plain! {
    "boolean": bool;
    "integer": u32, u64, usize, i64;
    "number": f64;
    "string": String, &'static str;
    "object": Value;
}

impl<T: HasSchema> HasSchema for Vec<T> {
    fn schema(all: &mut Schemas) -> Value {
        json!({ "type": "array", "items": T::schema(all) })
    }
}

impl<T: HasSchema> HasSchema for Option<T> {
    fn schema(all: &mut Schemas) -> Value {
        let mut schema = T::schema(all);
        match schema.get_mut("type") {
            Some(name) => {
                *name = json!([name, "null"]);
                schema
            }
            None => json!({ "oneOf": [schema, { "type": "null" }] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    described! {
        /// A part.
        #[derive(serde::Serialize)]
        struct PartView {
            /// Its use; from
            /// 0 to 1.
            r#use: Option<f64>,
        }
    }

    described! {
        /// All of it.
        struct AllAnswer of (name: &str) {
            /// Name.
            name: String = name.to_owned(),
            #[serde(flatten)]
            part: PartView = PartView { r#use: None },
            /// More of them, if there are.
            more: Option<PartView> = None,
        }
    }

    #[test]
    fn an_answer_is_made_and_described_by_the_same_lines() {
        let text = serde_json::to_string(&AllAnswer::of("a")).unwrap();
        assert_eq!(text, r#"{"name":"a","use":null,"more":null}"#);
        let mut all = Schemas::default();
        assert_eq!(AllAnswer::schema(&mut all), json!({ "$ref": "#/components/schemas/All" }));
        let part = json!({ "type": ["number", "null"], "description": "Its use; from 0 to 1." });
        assert_eq!(all.0["Part"]["properties"]["use"], part);
        assert_eq!(all.0["All"]["properties"]["use"], part);
        assert_eq!(all.0["All"]["required"], json!(["name", "use", "more"]));
        let more = &all.0["All"]["properties"]["more"]["oneOf"];
        assert_eq!(more, &json!([{ "$ref": "#/components/schemas/Part" }, { "type": "null" }]));
    }
}
