//! PanDA's run-time parameters (gdpconfig; spec atlas 11).

use super::field::{Fields, show};
use super::{Imported, lower};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use yardmaster_core::event::{Configuration, Configured, Parameter};
use yardmaster_core::unit::Millis;

/// Declared type of a value.
#[derive(Clone, Copy)]
enum Type {
    Text,
    Whole,
    Number,
    Flag,
    Json,
}

impl Type {
    /// The type of PanDA's name.
    fn of(word: &str) -> Option<Type> {
        match word.to_ascii_lowercase().as_str() {
            "string" | "str" => Some(Type::Text),
            "integer" | "int" => Some(Type::Whole),
            "float" => Some(Type::Number),
            "boolean" | "bool" => Some(Type::Flag),
            "json" => Some(Type::Json),
            _ => None,
        }
    }

    fn wants(self) -> &'static str {
        match self {
            Type::Text => "a string, as its type is",
            Type::Whole => "an integer, as its type is",
            Type::Number => "a float, as its type is",
            Type::Flag => "true or false, as its type is",
            Type::Json => "JSON, as its type is",
        }
    }

    /// The value as text; `None` when it is of another type. PanDA keeps all values as text, so a
    /// number or flag may come as one.
    fn read(self, value: &Value) -> Option<String> {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            other => other.to_string(),
        };
        match (self, value) {
            (Type::Text, Value::String(text)) => Some(text.clone()),
            (Type::Whole, Value::String(_) | Value::Number(_)) => {
                text.parse::<i64>().ok().map(|number| number.to_string())
            }
            (Type::Number, Value::String(_) | Value::Number(_)) => {
                text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| text)
            }
            (Type::Flag, Value::String(_) | Value::Bool(_)) => {
                let word = text.to_ascii_lowercase();
                matches!(word.as_str(), "true" | "false").then_some(word)
            }
            (Type::Json, Value::String(_)) => {
                serde_json::from_str::<Value>(&text).is_ok().then_some(text)
            }
            (Type::Json, _) => Some(text),
            _ => None,
        }
    }
}

/// Parameter records from either form of a dump: a JSON list of objects with `app`, `component`,
/// `key`, `value` (of type `json` also `value_json`), and where they are known `vo` and `type`; or
/// an object of values under `app.component.KEY`. A value that is not of the type it is declared to
/// be is named and left out.
pub fn gdpconfig(text: &str, now: Millis) -> Result<Imported, String> {
    let dump: Value =
        super::parse(text).map_err(|error| format!("gdpconfig: not JSON: {error}"))?;
    let (mut imported, mut seen) = (Imported::default(), BTreeSet::new());
    let count = match &dump {
        Value::Array(rows) => return Ok(parameters(rows, now)),
        Value::Object(values) => {
            for (name, value) in values {
                let read = entry(name, value, now, &mut imported);
                keep(read, &mut seen, &mut imported);
            }
            values.len()
        }
        other => {
            let found = show(other);
            return Err(format!("gdpconfig: found {found}, wants a JSON list or object"));
        }
    };
    imported.notes.push(format!("{} of {count} parameters", imported.records.len()));
    Ok(imported)
}

/// The same of rows that were read already.
pub(super) fn parameters(rows: &[Value], now: Millis) -> Imported {
    let (mut imported, mut seen) = (Imported::default(), BTreeSet::new());
    for (at, row) in rows.iter().map(lower).enumerate() {
        let read = row_of(at + 1, &row, now, &mut imported);
        keep(read, &mut seen, &mut imported);
    }
    imported.notes.push(format!("{} of {} parameters", imported.records.len(), rows.len()));
    imported
}

fn keep(read: Option<Parameter>, seen: &mut BTreeSet<String>, imported: &mut Imported) {
    let Some(parameter) = read else { return };
    let Parameter { app, component, key, .. } = &parameter;
    if !seen.insert(parameter.name()) {
        imported.complaints.push(format!(
            "parameter {app}.{component}.{key}: field `key`: it is there twice; left out"
        ));
        return;
    }
    imported.records.push(Configuration::Parameter(parameter));
}

fn row_of(number: usize, row: &Value, now: Millis, imported: &mut Imported) -> Option<Parameter> {
    let part = |name: &str| row.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let thing = match (part("app"), part("component"), part("key")) {
        (Some(app), Some(component), Some(key)) => format!("parameter {app}.{component}.{key}"),
        _ => format!("parameter number {number}"),
    };
    let mut fields = Fields::of(thing, None, row, imported)?;
    let mut parameter = Parameter {
        app: fields.needed("app").to_owned(),
        component: fields.needed("component").to_owned(),
        key: fields.needed("key").to_owned(),
        vo: fields.text_if_set("vo").unwrap_or_default(),
        changed_at: now,
        ..Parameter::default()
    };
    let declared = fields.text_if_set("type");
    let kind = declared.as_deref().and_then(Type::of);
    if let (Some(word), None) = (&declared, kind) {
        let words = "string, integer, float, boolean or json";
        fields.wrong("type", &Value::from(word.as_str()), words);
    }
    // PanDA keeps JSON in a column of its own.
    let is_json = matches!(kind, Some(Type::Json)) && fields.deep(&["value_json"]).is_some();
    let column = if is_json { "value_json" } else { "value" };
    match fields.deep(&[column]) {
        None => fields.wrong(column, &Value::Null, "a value"),
        Some(value) => match kind.unwrap_or_else(|| natural(value)).read(value) {
            Some(text) => parameter.value = text,
            None => {
                let wants = kind.map_or("a value", Type::wants);
                fields.wrong(column, value, wants);
            }
        },
    }
    (!fields.is_left_out_by(|| parameter.name())).then_some(parameter)
}

fn entry(name: &str, value: &Value, now: Millis, imported: &mut Imported) -> Option<Parameter> {
    let mut parts = name.splitn(3, '.');
    let mut part = || parts.next().filter(|part| !part.is_empty());
    let row = match (part(), part(), part(), value) {
        (Some(app), Some(component), Some(key), Value::Object(stated)) => {
            // A value with its type and VO beside it.
            let mut row = stated.clone();
            let names = [("app", app), ("component", component), ("key", key)];
            row.extend(names.map(|(field, text)| (field.to_owned(), Value::from(text))));
            row
        }
        (Some(app), Some(component), Some(key), value) => {
            let row = [("app", app), ("component", component), ("key", key)];
            let mut row: Map<String, Value> =
                row.into_iter().map(|(field, it)| (field.to_owned(), Value::from(it))).collect();
            row.insert("value".to_owned(), value.clone());
            row
        }
        _ => {
            let complaint = format!(
                "parameter {name}: field `key`: found {}, wants app.component.KEY; left out",
                show(&Value::from(name))
            );
            imported.leave_out(None, complaint);
            return None;
        }
    };
    row_of(0, &Value::Object(row), now, imported)
}

/// Type of a value where none is stated.
fn natural(value: &Value) -> Type {
    match value {
        Value::String(_) | Value::Null => Type::Text,
        Value::Number(_) => Type::Number,
        Value::Bool(_) => Type::Flag,
        Value::Array(_) | Value::Object(_) => Type::Json,
    }
}
