//! Records from fields and values, whatever the schema: a field that a schema gets tomorrow can be
//! written in a case without a word here.

use super::read::words;
use crate::wire::{encode, framed};
use apache_avro::Schema;
use apache_avro::schema::RecordField;
use apache_avro::types::Value;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};
use yardmaster::wire::avro::schema;

/// The cycle's now and an id, to which values of a record may refer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// The cycle's now, from which times are counted.
    pub now: Millis,
    /// For a field of fixed size: an id.
    pub id: [u8; 16],
}

/// Schemas by name, for those that are referred to.
type Named<'a> = BTreeMap<String, &'a Schema>;

fn name_all<'a>(schema: &'a Schema, named: &mut Named<'a>) {
    if let Some(name) = schema.name().filter(|_| !matches!(schema, Schema::Ref { .. })) {
        named.insert(name.name().to_owned(), schema);
    }
    match schema {
        Schema::Record(record) => record.fields.iter().for_each(|it| name_all(&it.schema, named)),
        Schema::Array(array) => name_all(&array.items, named),
        Schema::Union(union) => union.variants().iter().for_each(|it| name_all(it, named)),
        _ => {}
    }
}

/// A reader of values.
struct Reader<'a> {
    known: Known,
    named: Named<'a>,
}

/// A record of a topic, as bytes.
///
/// # Errors
/// A field that the schema does not have, a value that is none of its type.
pub fn record(topic: Topic, fields: &[(String, String)], known: Known) -> Result<Vec<u8>, String> {
    let schema = schema(topic);
    let mut named = Named::new();
    name_all(schema, &mut named);
    let reader = Reader { known, named };
    let json = reader.record(schema, fields)?;
    let value = Value::try_from(Json::Object(json)).map_err(|error| error.to_string())?;
    let mut value = value.resolve(schema).map_err(|error| error.to_string())?;
    if let Value::Record(fields) = &mut value {
        let fixed = fields.iter_mut().filter(|(_, value)| matches!(value, Value::Fixed(..)));
        fixed.for_each(|(_, value)| *value = Value::Fixed(known.id.len(), known.id.to_vec()));
    }
    Ok(framed(topic, &encode(schema, &value)))
}

/// Whether a topic's record has a field.
pub fn has_field(topic: Topic, field: &str) -> bool {
    let Schema::Record(record) = schema(topic) else { return false };
    record.fields.iter().any(|it| it.name == field)
}

/// The symbols of a topic's field that is an enumeration.
pub fn symbols(topic: Topic, field: &str) -> Vec<String> {
    let Schema::Record(record) = schema(topic) else { return Vec::new() };
    let found = record.fields.iter().find(|it| it.name == field);
    match found.map(|it| &it.schema) {
        Some(Schema::Enum(symbols)) => symbols.symbols.clone(),
        _ => Vec::new(),
    }
}

impl<'a> Reader<'a> {
    fn follow(&self, schema: &'a Schema) -> &'a Schema {
        match schema {
            Schema::Ref { name } => self.named.get(name.name()).copied().unwrap_or(schema),
            Schema::Union(union) => {
                let some = union.variants().iter().find(|it| !matches!(it, Schema::Null));
                some.map_or(schema, |it| self.follow(it))
            }
            _ => schema,
        }
    }

    fn field(&self, schema: &'a Schema, name: &str) -> Result<&'a RecordField, String> {
        let Schema::Record(record) = self.follow(schema) else {
            return Err(format!("{name:?} is a field of what has none"));
        };
        record.fields.iter().find(|it| it.name == name).ok_or_else(|| {
            let names: Vec<&str> = record.fields.iter().map(|it| it.name.as_str()).collect();
            let of = record.name.name();
            format!("{of} has no field {name:?}; it has {}", names.join(", "))
        })
    }

    fn record(
        &self,
        schema: &'a Schema,
        fields: &[(String, String)],
    ) -> Result<Map<String, Json>, String> {
        let mut made = Map::new();
        for (path, text) in fields {
            self.put(&mut made, schema, path, text).map_err(|error| match error.contains('=') {
                true => error,
                false => format!("{path}={text}: {error}"),
            })?;
        }
        let Schema::Record(record) = self.follow(schema) else { return Ok(made) };
        for field in &record.fields {
            if let (Schema::Fixed(_), false) = (&field.schema, made.contains_key(&field.name)) {
                made.insert(field.name.clone(), json!("0123456789abcdef"));
            }
            match (made.contains_key(&field.name), &field.default) {
                (true, _) => {}
                (false, Some(default)) => {
                    made.insert(field.name.clone(), default.clone());
                }
                (false, None) => return Err(format!("the field {} is missing", field.name)),
            }
        }
        Ok(made)
    }

    fn put(
        &self,
        made: &mut Map<String, Json>,
        schema: &'a Schema,
        path: &str,
        text: &str,
    ) -> Result<(), String> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
        let field = self.field(schema, name)?;
        if let Some(rest) = rest {
            let default = field.default.clone().unwrap_or_else(|| json!({}));
            let inner = made.entry(name).or_insert(default);
            let inner = inner.as_object_mut().ok_or("no fields in it")?;
            return self.put(inner, &field.schema, rest, text);
        }
        // An item is added to those there are.
        if let Schema::Array(array) = self.follow(&field.schema)
            && !text.starts_with('[')
        {
            let item = self.value(&array.items, text)?;
            let list = made.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut().ok_or("no list")?.push(item);
            return Ok(());
        }
        made.insert(name.to_owned(), self.value(&field.schema, text)?);
        Ok(())
    }

    fn value(&self, schema: &'a Schema, text: &str) -> Result<Json, String> {
        if text == "null" && matches!(schema, Schema::Union(_)) {
            return Ok(Json::Null);
        }
        match self.follow(schema) {
            Schema::Boolean => text.parse().map(Json::Bool).map_err(|_| wants("true or false")),
            Schema::Int | Schema::Long => whole(text).map(|number| json!(number)),
            Schema::TimestampMillis => moment(text, self.known.now).map(|at| json!(at)),
            Schema::Double => {
                let number = text.replace('_', "").parse::<f64>();
                number.map(|number| json!(number)).map_err(|_| wants("a number"))
            }
            Schema::String => Ok(json!(text.trim_matches('"'))),
            Schema::Enum(symbols) => match symbols.symbols.iter().any(|it| it == text) {
                true => Ok(json!(text)),
                false => Err(wants(&format!("one of {}", symbols.symbols.join(", ")))),
            },
            Schema::Array(array) => {
                let inner = inner(text, '[', ']')?;
                let items = words(&inner.replace(',', " "))?;
                let items: Result<Vec<Json>, String> =
                    items.iter().map(|it| self.value(&array.items, it)).collect();
                items.map(Json::Array)
            }
            record @ Schema::Record(_) => {
                let mut fields = Vec::new();
                for word in words(inner(text, '{', '}')?)? {
                    let (field, value) =
                        word.split_once('=').ok_or_else(|| wants("field=value"))?;
                    fields.push((field.to_owned(), value.to_owned()));
                }
                self.record(record, &fields).map(Json::Object)
            }
            other => Err(format!("values of {other:?} are not read here")),
        }
    }
}

fn wants(what: &str) -> String {
    format!("wants {what}")
}

fn inner(text: &str, open: char, close: char) -> Result<&str, String> {
    let inner = text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
    inner.ok_or_else(|| wants(&format!("{open} ... {close}")))
}

/// A whole number, perhaps of bytes with a unit: `200GiB`, `1.5TiB`.
pub fn whole(text: &str) -> Result<i64, String> {
    const UNITS: [(&str, u32); 5] =
        [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("PiB", 50)];
    let text = text.replace('_', "");
    for (unit, power) in UNITS {
        if let Some(number) = text.strip_suffix(unit) {
            let number: f64 = number.parse().map_err(|_| wants("a number before the unit"))?;
            return Ok((number * 2f64.powi(power as i32)) as i64);
        }
    }
    text.parse().map_err(|_| wants("a whole number, or one with KiB, MiB, GiB, TiB, PiB"))
}

/// A moment: `now`, `-3h`, `+10m`, `-90s`, or ms since 1970.
pub fn moment(text: &str, now: Millis) -> Result<Millis, String> {
    if text == "now" {
        return Ok(now);
    }
    if text.starts_with(['+', '-']) {
        return span(text).map(|span| now + span);
    }
    text.parse().map_err(|_| wants("now, a span from now as -3h or +90s, or ms since 1970"))
}

/// A span of time: `-3h`, `+10m`, `-90s`, `2d`.
pub fn span(text: &str) -> Result<Millis, String> {
    const UNITS: [(&str, Millis); 5] =
        [("ms", 1), ("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY)];
    let at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let length = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, length)| *length);
    match (number.replace('_', "").parse::<Millis>(), length) {
        (Ok(number), Some(length)) => Ok(number * length),
        _ => Err(wants("a span of time as -3h, +10m, -90s")),
    }
}
