//! A datum of any schema as JSON, in the shape that Kafka Connect's JSON converter gives to the
//! same value. For records of other systems, of which the schemas are not ours.
//!
//! Bytes and decimals are what JSON has no value for. Decimals become `{scale, value}`, with the
//! unscaled integer in base64; bytes become base64 alone.

use super::{Cursor, Fault, lenient};
use apache_avro::Schema;
use apache_avro::schema::{DecimalSchema, InnerDecimalSchema, Name, RecordSchema, UuidSchema};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::Write;

/// Values within values that are read; a schema may contain itself.
const DEPTH: usize = 32;
/// Most bytes of JSON for each byte of a datum, and besides. Names of fields are in the JSON alone;
/// items of an array may have no bytes at all.
const GROWTH: (usize, usize) = (256, 1 << 16);

const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A schema of another system.
#[derive(Debug)]
pub struct ForeignSchema {
    schema: Schema,
    names: HashMap<Name, Schema>,
}

impl ForeignSchema {
    /// Reads the text of a schema.
    ///
    /// # Errors
    /// Why it is no Avro schema.
    pub fn parse(text: &str) -> Result<ForeignSchema, String> {
        let schema = lenient::parse(text).map_err(|error| error.to_string())?;
        let mut names = HashMap::new();
        gather(&schema, &mut names);
        Ok(ForeignSchema { schema, names })
    }

    /// Appends a datum as JSON.
    ///
    /// # Errors
    /// The datum is malformed or unfolds to too much; the text names the place. `out` then has a
    /// part of it.
    pub fn write_json(&self, datum: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let mut at = Cursor::new(datum);
        let most = out.len() + datum.len() * GROWTH.0 + GROWTH.1;
        let mut writer = Writer { names: &self.names, at: &mut at, out, most };
        writer.value(&self.schema, DEPTH)?;
        at.end().map_err(|_| "bytes follow the datum".to_owned())
    }
}

/// Definitions of all named types, so that a reference finds them.
fn gather(schema: &Schema, names: &mut HashMap<Name, Schema>) {
    match schema {
        Schema::Record(it) => {
            names.insert(it.name.clone(), schema.clone());
            it.fields.iter().for_each(|field| gather(&field.schema, names));
        }
        Schema::Enum(it) => _ = names.insert(it.name.clone(), schema.clone()),
        Schema::Fixed(it) => _ = names.insert(it.name.clone(), schema.clone()),
        Schema::Union(it) => it.variants().iter().for_each(|it| gather(it, names)),
        Schema::Array(it) => gather(&it.items, names),
        Schema::Map(it) => gather(&it.types, names),
        Schema::Decimal(it) => {
            if let InnerDecimalSchema::Fixed(fixed) = &it.inner {
                names.insert(fixed.name.clone(), schema.clone());
            }
        }
        _ => {}
    }
}

struct Writer<'w, 'd> {
    names: &'w HashMap<Name, Schema>,
    at: &'w mut Cursor<'d>,
    out: &'w mut Vec<u8>,
    most: usize,
}

impl Writer<'_, '_> {
    fn value(&mut self, schema: &Schema, depth: usize) -> Result<(), String> {
        if self.out.len() > self.most {
            return Err("too large".to_owned());
        }
        let depth = depth.checked_sub(1).ok_or("too deep")?;
        match schema {
            Schema::Null => self.out.extend_from_slice(b"null"),
            Schema::Boolean => {
                let flag = self.at.boolean().map_err(wrong)?;
                self.display(flag);
            }
            Schema::Int | Schema::Date | Schema::TimeMillis => {
                let number = self.at.int().map_err(wrong)?;
                self.display(number);
            }
            Schema::Long
            | Schema::TimeMicros
            | Schema::TimestampMillis
            | Schema::TimestampMicros
            | Schema::TimestampNanos
            | Schema::LocalTimestampMillis
            | Schema::LocalTimestampMicros
            | Schema::LocalTimestampNanos => {
                let number = self.at.long().map_err(wrong)?;
                self.display(number);
            }
            Schema::Float => {
                let number = self.at.float().map_err(wrong)?;
                self.float(f64::from(number));
            }
            Schema::Double => {
                let number = self.at.double().map_err(wrong)?;
                self.float(number);
            }
            Schema::String | Schema::Uuid(UuidSchema::String) => {
                let text = self.at.string().map_err(wrong)?;
                self.text(text);
            }
            Schema::Bytes | Schema::BigDecimal | Schema::Uuid(UuidSchema::Bytes) => {
                let bytes = self.at.bytes().map_err(wrong)?;
                self.base64(bytes);
            }
            Schema::Fixed(it) | Schema::Duration(it) | Schema::Uuid(UuidSchema::Fixed(it)) => {
                let bytes = self.at.take(it.size).map_err(wrong)?;
                self.base64(bytes);
            }
            Schema::Decimal(it) => self.decimal(it)?,
            Schema::Enum(it) => {
                let index = self.at.index().map_err(wrong)?;
                let symbol = it.symbols.get(index).ok_or("a symbol that the enum does not have")?;
                self.text(symbol);
            }
            Schema::Union(it) => {
                let index = self.at.index().map_err(wrong)?;
                let branch =
                    it.variants().get(index).ok_or("a branch that the union does not have")?;
                self.value(branch, depth)?;
            }
            Schema::Record(it) => self.record(it, depth)?,
            Schema::Array(it) => self.array(&it.items, depth)?,
            Schema::Map(it) => self.map(&it.types, depth)?,
            Schema::Ref { name } => {
                let named = self.names.get(name).ok_or("a name that the schema does not define")?;
                self.value(named, depth)?;
            }
        }
        Ok(())
    }

    fn decimal(&mut self, it: &DecimalSchema) -> Result<(), String> {
        let bytes = match &it.inner {
            InnerDecimalSchema::Bytes => self.at.bytes(),
            InnerDecimalSchema::Fixed(fixed) => self.at.take(fixed.size),
        };
        let bytes = bytes.map_err(wrong)?;
        self.out.extend_from_slice(b"{\"scale\":");
        self.display(it.scale);
        self.out.extend_from_slice(b",\"value\":");
        self.base64(bytes);
        self.out.push(b'}');
        Ok(())
    }

    fn record(&mut self, it: &RecordSchema, depth: usize) -> Result<(), String> {
        self.out.push(b'{');
        for (index, field) in it.fields.iter().enumerate() {
            self.name(index, &field.name);
            self.value(&field.schema, depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn array(&mut self, items: &Schema, depth: usize) -> Result<(), String> {
        self.out.push(b'[');
        let mut index = 0;
        loop {
            let count = self.at.block().map_err(wrong)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                if index > 0 {
                    self.out.push(b',');
                }
                index += 1;
                self.value(items, depth)?;
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn map(&mut self, values: &Schema, depth: usize) -> Result<(), String> {
        self.out.push(b'{');
        let mut index = 0;
        loop {
            let count = self.at.block().map_err(wrong)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = self.at.string().map_err(wrong)?;
                self.name(index, key);
                index += 1;
                self.value(values, depth)?;
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn name(&mut self, index: usize, name: &str) {
        if index > 0 {
            self.out.push(b',');
        }
        self.text(name);
        self.out.push(b':');
    }

    fn display(&mut self, value: impl Display) {
        // Writing to memory cannot fail.
        _ = write!(self.out, "{value}");
    }

    /// JSON has no infinity.
    fn float(&mut self, number: f64) {
        match number.is_finite() {
            true => _ = serde_json::to_writer(&mut *self.out, &number),
            false => self.out.extend_from_slice(b"null"),
        }
    }

    fn text(&mut self, text: &str) {
        _ = serde_json::to_writer(&mut *self.out, text);
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        for chunk in bytes.chunks(3) {
            let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for at in 0..4 {
                let symbol = SYMBOLS.get((bits >> (18 - 6 * at) & 63) as usize);
                let symbol = symbol.filter(|_| at as usize <= chunk.len());
                self.out.push(symbol.copied().unwrap_or(b'='));
            }
        }
        self.out.push(b'"');
    }
}

fn wrong(fault: Fault) -> String {
    format!("not as its schema says: {fault:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SCHEMA: &str = r#"{"type": "record", "name": "Envelope", "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": [
            {"name": "pandaid", "type": "long"},
            {"name": "jobstatus", "type": {"type": "string", "connect.default": "x"}},
            {"name": "cpu", "type": ["null", {"type": "bytes", "logicalType": "decimal",
                "precision": 20, "scale": 2}]},
            {"name": "ratio", "type": "double"}]}]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "raw", "type": "bytes"},
        {"name": "kinds", "type": {"type": "array",
            "items": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}}},
        {"name": "by", "type": {"type": "map", "values": "boolean"}}]}"#;

    fn json(schema: &str, datum: &[u8]) -> Result<Value, String> {
        let mut out = Vec::new();
        ForeignSchema::parse(schema)?.write_json(datum, &mut out)?;
        Ok(serde_json::from_slice(&out).expect("JSON"))
    }

    fn datum() -> Vec<u8> {
        let mut datum = vec![0, 2];
        datum.extend_from_slice(&[0x8E, 0x02, 4, b'o', b'"', 2, 4, 0x07, 0x08]);
        datum.extend_from_slice(&0.5_f64.to_le_bytes());
        datum.extend_from_slice(&[2, 0xFF, 4, 0, 2, 0, 2, 2, b'k', 1, 0]);
        datum
    }

    #[test]
    fn a_datum_becomes_json() {
        let wants = json!({
            "before": null,
            "after": {"pandaid": 135, "jobstatus": "o\"", "cpu": {"scale": 2, "value": "Bwg="},
                "ratio": 0.5},
            "raw": "/w==", "kinds": ["A", "B"], "by": {"k": true},
        });
        assert_eq!(json(SCHEMA, &datum()), Ok(wants));
    }

    #[test]
    fn a_datum_that_is_cut_off_or_goes_on_is_refused() {
        let datum = datum();
        for length in 0..datum.len() {
            assert!(json(SCHEMA, &datum[..length]).is_err(), "{length}");
        }
        let longer = [&datum[..], &[0]].concat();
        assert_eq!(json(SCHEMA, &longer), Err("bytes follow the datum".to_owned()));
    }

    #[test]
    fn bytes_that_claim_too_much_end_in_an_error() {
        let list = r#"{"type": "array", "items": "null"}"#;
        let claim = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0];
        assert_eq!(json(list, &claim), Err("too large".to_owned()));
        let nested = r#"{"type": "record", "name": "N", "fields": [
            {"name": "n", "type": ["null", "N"]}]}"#;
        assert_eq!(json(nested, &[2, 2, 0]), Ok(json!({"n": {"n": {"n": null}}})));
        assert_eq!(json(nested, &[2; 1_000]), Err("too deep".to_owned()));
        assert!(json("{}", &[]).is_err() && json("a schema of type JSON, not Avro", &[]).is_err());
    }

    #[test]
    fn base64_is_that_of_everybody() {
        for (bytes, wants) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"fooba", "Zm9vYmE="),
            (b"\xff\xfe\xfd", "//79"),
        ] {
            let datum = [&[bytes.len() as u8 * 2][..], bytes].concat();
            assert_eq!(json("\"bytes\"", &datum), Ok(json!(wants)));
        }
    }
}
