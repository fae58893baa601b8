//! Rows of PanDA's configuration tables. They are few and change rarely, so all their columns are
//! kept, by name.

use super::cell::number_of;
use super::column::millis;
use super::wanted::{self, Wanted};
use crate::{loose, stamp};
use serde_json::{Map, Value};
use yardmaster_core::unit::Millis;

/// Value that PostgreSQL's connector writes for a large column that the change left as it was.
const UNCHANGED: &str = "__debezium_unavailable_value";
/// Between the parts of a row's key.
const BETWEEN: char = '\u{1f}';

/// A configuration table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactTable {
    /// `schedconfig_json`: CRIC's JSON of a queue.
    Queues,
    /// `ddm_endpoint`: space, type and site of an endpoint.
    Endpoints,
    /// `site`: role and tier of a site.
    Sites,
    /// `panda_site`: site, storage site and default endpoint of a queue.
    PandaSites,
    /// `panda_ddm_relation`: endpoints that queues read and write.
    Relations,
    /// `global_shares`.
    Shares,
    /// `config`: run-time parameters.
    Config,
    /// `network_matrix_kv`: one figure of a link.
    Network,
    /// `resource_types`.
    ResourceTypes,
}

/// Name, key and numeric columns of a table.
struct Shape {
    table: FactTable,
    name: &'static str,
    /// Columns of its key.
    key: &'static [&'static str],
    /// Columns that are numbers, also where they are written as text.
    numbers: &'static [&'static str],
}

const SHAPES: [Shape; 9] = [
    Shape {
        table: FactTable::Queues,
        name: "schedconfig_json",
        key: &["panda_queue"],
        numbers: &[],
    },
    Shape {
        table: FactTable::Endpoints,
        name: "ddm_endpoint",
        key: &["ddm_endpoint_name"],
        numbers: &[
            "space_total",
            "space_free",
            "space_expired",
            "space_min_free",
            "space_unavailable",
        ],
    },
    Shape { table: FactTable::Sites, name: "site", key: &["site_name"], numbers: &["tier_level"] },
    Shape {
        table: FactTable::PandaSites,
        name: "panda_site",
        key: &["panda_site_name"],
        numbers: &[],
    },
    Shape {
        table: FactTable::Relations,
        name: "panda_ddm_relation",
        key: &["panda_site_name", "ddm_endpoint_name", "scope"],
        numbers: &[],
    },
    Shape {
        table: FactTable::Shares,
        name: "global_shares",
        key: &["name"],
        numbers: &["value", "queue_id"],
    },
    Shape {
        table: FactTable::Config,
        name: "config",
        key: &["app", "component", "key", "vo"],
        numbers: &[],
    },
    Shape {
        table: FactTable::Network,
        name: "network_matrix_kv",
        key: &["src", "dst", "key"],
        numbers: &["value"],
    },
    Shape {
        table: FactTable::ResourceTypes,
        name: "resource_types",
        key: &["resource_name"],
        numbers: &["mincore", "maxcore", "minrampercore", "maxrampercore"],
    },
];

impl FactTable {
    /// The table of a name, in either case.
    pub fn from_name(name: &str) -> Option<FactTable> {
        let found = SHAPES.iter().find(|shape| shape.name.eq_ignore_ascii_case(name));
        found.map(|shape| shape.table)
    }

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        self.shape().map_or("", |shape| shape.name)
    }

    fn shape(self) -> Option<&'static Shape> {
        SHAPES.iter().find(|shape| shape.table == self)
    }
}

/// A row of a configuration table.
#[derive(Clone, Debug, PartialEq)]
pub struct FactRow {
    /// Table.
    pub table: FactTable,
    /// Its key columns, joined.
    pub key: String,
    /// Its columns, by their names in small letters. One that the message does not have is as it
    /// was.
    pub columns: Map<String, Value>,
    /// Columns that every schema of PanDA has and the message has not: their values are unknown.
    pub missing: Vec<&'static str>,
}

impl FactRow {
    /// Text of a column; empty if it has none.
    pub fn text(&self, column: &str) -> &str {
        self.columns.get(column).and_then(Value::as_str).unwrap_or("")
    }

    /// A number of a column; `None` if it has none.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.columns.get(column).and_then(Value::as_f64)
    }

    /// A time of a column; 0 if it has none.
    pub fn time(&self, column: &str) -> Millis {
        match self.columns.get(column) {
            Some(Value::String(text)) => stamp::parse(text).unwrap_or(0),
            Some(value) => value.as_i64().and_then(millis).unwrap_or(0),
            None => 0,
        }
    }
}

/// The row of a configuration table in a message's `after`.
pub(super) fn row(table: FactTable, value: &[u8]) -> Result<FactRow, String> {
    let mut value = parse(value)?;
    let Value::Object(after) = value["after"].take() else {
        return Err("field `after`: wants the row, as an object".to_owned());
    };
    let wanted = wanted::of(table.name());
    let has = |column: &&str| after.keys().any(|name| name.eq_ignore_ascii_case(column));
    let wanted = wanted.into_iter().flat_map(Wanted::lasting);
    let missing = wanted.filter(|column| !has(column)).collect();
    let numbers = table.shape().map_or(&[][..], |shape| shape.numbers);
    let mut columns = Map::new();
    for (name, value) in after {
        if value.as_str() == Some(UNCHANGED) {
            continue;
        }
        let name = name.to_ascii_lowercase();
        let value = plain(value, numbers.contains(&name.as_str()));
        columns.insert(name, value);
    }
    let key = key(table, |column| columns.get(column).and_then(Value::as_str))?;
    Ok(FactRow { table, key, columns, missing })
}

/// The key of a row that was deleted: of the record's key, else of `before`.
pub(super) fn gone(
    table: FactTable,
    record_key: Option<&[u8]>,
    value: &[u8],
) -> Result<String, String> {
    let record_key = record_key.and_then(|key| parse(key).ok()).unwrap_or_default();
    let mut value = parse(value)?;
    let before = value["before"].take();
    let find = |column: &str| {
        let mut both = [&record_key, &before].into_iter().filter_map(Value::as_object).flatten();
        both.find(|(name, it)| name.eq_ignore_ascii_case(column) && it.is_string())
            .and_then(|(_, it)| it.as_str())
    };
    key(table, find)
}

/// The message or key, without a schema that stands beside it.
fn parse(bytes: &[u8]) -> Result<Value, String> {
    let mut value: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("no JSON object as wanted: {error}"))?;
    if let Some(payload) = value.get_mut("payload") {
        value = payload.take();
    }
    Ok(if value.is_object() { value } else { Value::Object(Map::new()) })
}

fn key<'a>(table: FactTable, column: impl Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut key = String::new();
    for name in table.shape().map_or(&[][..], |shape| shape.key) {
        let part = column(name).unwrap_or("");
        // Oracle has null for empty text, and a parameter may be of no VO.
        if part.is_empty() && *name != "vo" {
            return Err(format!("field `{name}` is missing, wants a word: capture the column"));
        }
        if !key.is_empty() {
            key.push(BETWEEN);
        }
        key.push_str(part);
    }
    Ok(key)
}

/// A number as a number, however it is written.
fn plain(value: Value, is_number: bool) -> Value {
    let number = match &value {
        Value::Object(it) => match (it.get("scale"), it.get("value")) {
            (Some(scale), Some(Value::String(base64))) => {
                scale.as_i64().and_then(|scale| number_of(scale, base64))
            }
            _ => None,
        },
        Value::String(text) if is_number => loose::number(text),
        _ => None,
    };
    match number {
        // A whole one stays whole: a reader of counts wants no fraction.
        Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::from(number as i64),
        Some(number) => Value::from(number),
        None => match value.as_f64() {
            Some(number) if is_number && number.fract() == 0.0 && number.abs() < 9e15 => {
                Value::from(number as i64)
            }
            _ => value,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(columns: Value) -> Vec<u8> {
        json!({"schema": {}, "payload": {"after": columns, "before": columns}})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn a_row_has_its_columns_in_small_letters_and_numbers_as_numbers() {
        let value = change(json!({"NAME": "MC", "VALUE": {"scale": 0, "value": "PA=="},
            "queue_id": "42", "PARENT": null, "vo": "__debezium_unavailable_value"}));
        let row = row(FactTable::Shares, &value).expect("a row");
        assert_eq!((&*row.key, row.number("value")), ("MC", Some(60.0)));
        let wants = json!({"name": "MC", "value": 60, "queue_id": 42, "parent": null});
        assert_eq!(Value::Object(row.columns), wants);
        // A value of a parameter is text, also of digits.
        let value = change(json!({"app": "a", "component": "c", "key": "K", "value": "10"}));
        let row = super::row(FactTable::Config, &value).expect("a row");
        assert_eq!((&*row.key, row.text("value")), ("a\u{1f}c\u{1f}K\u{1f}", "10"));
    }

    #[test]
    fn the_key_of_a_deleted_row_is_that_of_the_record_else_of_the_row_before() {
        let key = json!({"SRC": "A", "DST": "B", "KEY": "closeness"});
        let value = change(key.clone());
        let nothing = change(Value::Null);
        let key = key.to_string();
        for (key, value) in
            [(Some(key.as_bytes()), &nothing), (None, &value), (Some(&b"no JSON"[..]), &value)]
        {
            let key = gone(FactTable::Network, key, value);
            assert_eq!(key.as_deref(), Ok("A\u{1f}B\u{1f}closeness"));
        }
        let why = gone(FactTable::Network, None, &nothing).expect_err("no key");
        assert_eq!(why, "field `src` is missing, wants a word: capture the column");
    }

    #[test]
    fn every_table_has_a_shape() {
        for shape in &SHAPES {
            assert_eq!(FactTable::from_name(&shape.name.to_uppercase()), Some(shape.table));
            assert_eq!(shape.table.name(), shape.name);
        }
        assert_eq!(FactTable::from_name("filestable4"), None);
    }
}
