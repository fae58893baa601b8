//! A field's default, from the JSON of a schema to the bytes a record holds.

use super::Sink;
use super::shape::{Names, SchemaNode};
use apache_avro::schema::{Schema, UuidSchema};
use serde_json::Value;

/// Encodes a default as its schema lays it out; `None` where it does not fit the schema.
pub(super) fn encode(names: &Names<'_>, node: SchemaNode<'_>, json: &Value) -> Option<Box<[u8]>> {
    let mut out = Vec::new();
    put(names, node, json, &mut Sink { out: &mut out })?;
    Some(out.into())
}

fn put(names: &Names<'_>, node: SchemaNode<'_>, json: &Value, sink: &mut Sink<'_>) -> Option<()> {
    let node = names.follow(node)?;
    match node.schema {
        Schema::Null => json.as_null()?,
        Schema::Boolean => sink.boolean(json.as_bool()?),
        Schema::Int | Schema::Date | Schema::TimeMillis => {
            sink.int(i32::try_from(json.as_i64()?).ok()?);
        }
        Schema::Long
        | Schema::TimeMicros
        | Schema::TimestampMillis
        | Schema::TimestampMicros
        | Schema::TimestampNanos
        | Schema::LocalTimestampMillis
        | Schema::LocalTimestampMicros
        | Schema::LocalTimestampNanos => sink.long(json.as_i64()?),
        Schema::Float => sink.float(json.as_f64()? as f32),
        Schema::Double => sink.double(json.as_f64()?),
        Schema::String | Schema::Uuid(UuidSchema::String) => {
            sink.string(json.as_str()?);
        }
        Schema::Bytes | Schema::BigDecimal | Schema::Uuid(UuidSchema::Bytes) => {
            sink.bytes(&latin(json)?)
        }
        Schema::Enum(symbols) => {
            let word = json.as_str()?;
            sink.index(symbols.symbols.iter().position(|symbol| symbol == word)?);
        }
        Schema::Fixed(fixed) | Schema::Duration(fixed) => {
            let bytes = latin(json)?;
            (bytes.len() == fixed.size).then(|| sink.raw(&bytes))?;
        }
        // A union's default is of its first branch.
        Schema::Union(union) => {
            sink.index(0);
            put(names, node.inner(union.variants().first()?), json, sink)?;
        }
        Schema::Array(array) => {
            let items = json.as_array()?;
            if !items.is_empty() {
                sink.index(items.len());
            }
            for item in items {
                put(names, node.inner(&array.items), item, sink)?;
            }
            sink.index(0);
        }
        Schema::Map(map) => {
            let entries = json.as_object()?;
            if !entries.is_empty() {
                sink.index(entries.len());
            }
            for (name, value) in entries {
                sink.string(name);
                put(names, node.inner(&map.types), value, sink)?;
            }
            sink.index(0);
        }
        Schema::Record(record) => {
            let given = json.as_object()?;
            for field in &record.fields {
                let json = given.get(&field.name).or(field.default.as_ref())?;
                put(names, node.inner(&field.schema), json, sink)?;
            }
        }
        // A decimal's or a fixed uuid's default has no use here; a reference was followed above.
        Schema::Decimal(_) | Schema::Uuid(_) | Schema::Ref { .. } => return None,
    }
    Some(())
}

/// Bytes are written in JSON as text whose code points are the bytes.
fn latin(json: &Value) -> Option<Vec<u8>> {
    json.as_str()?.chars().map(|point| u8::try_from(u32::from(point)).ok()).collect()
}
