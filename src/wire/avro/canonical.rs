//! A schema's canonical form and fingerprint, as the Avro specification has them.
//!
//! apache-avro keeps an object around a primitive with a logical type (`{"type":"long"}` where
//! the specification, and Avro's Java library, have `"long"`), so its fingerprint of such a schema
//! is not the one other writers send. Hence our own.

use apache_avro::schema::{
    DecimalSchema, FixedSchema, InnerDecimalSchema, Name, NamespaceRef, Schema, UuidSchema,
};
use std::collections::BTreeSet;

/// The Parsing Canonical Form of a schema: what decides how its data are laid out, and nothing
/// else.
pub fn canonical_form(schema: &Schema) -> String {
    let mut text = String::new();
    form(schema, None, &mut BTreeSet::new(), &mut text);
    text
}

/// The CRC-64-AVRO (Rabin) fingerprint of bytes.
pub fn rabin(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |state, byte| {
        (state >> 8) ^ TABLE[((state ^ u64::from(*byte)) & 0xFF) as usize]
    })
}

/// The fingerprint of no bytes, and the polynomial.
const EMPTY: u64 = 0xC15D_213A_A4D7_A795;

const TABLE: [u64; 256] = {
    let mut table = [0u64; 256];
    let mut index = 0;
    while index < 256 {
        let mut word = index as u64;
        let mut bit = 0;
        while bit < 8 {
            word = (word >> 1) ^ (EMPTY & (word & 1).wrapping_neg());
            bit += 1;
        }
        table[index] = word;
        index += 1;
    }
    table
};

fn form(schema: &Schema, space: NamespaceRef<'_>, seen: &mut BTreeSet<String>, out: &mut String) {
    match schema {
        Schema::Array(array) => {
            out.push_str(r#"{"type":"array","items":"#);
            form(&array.items, space, seen, out);
            out.push('}');
        }
        Schema::Map(map) => {
            out.push_str(r#"{"type":"map","values":"#);
            form(&map.types, space, seen, out);
            out.push('}');
        }
        Schema::Union(union) => {
            let branch = |branch: &Schema, out: &mut String| form(branch, space, seen, out);
            list(union.variants(), branch, out);
        }
        Schema::Record(record) => {
            if open(&record.name, space, "record", seen, out) {
                let space = record.name.namespace().or(space);
                out.push_str(r#","fields":"#);
                list(
                    &record.fields,
                    |field, out| {
                        out.push_str(&format!(r#"{{"name":"{}","type":"#, field.name));
                        form(&field.schema, space, seen, out);
                        out.push('}');
                    },
                    out,
                );
                out.push('}');
            }
        }
        Schema::Enum(symbols) => {
            if open(&symbols.name, space, "enum", seen, out) {
                out.push_str(r#","symbols":"#);
                list(&symbols.symbols, |symbol, out| quote(symbol, out), out);
                out.push('}');
            }
        }
        Schema::Fixed(fixed)
        | Schema::Duration(fixed)
        | Schema::Uuid(UuidSchema::Fixed(fixed))
        | Schema::Decimal(DecimalSchema { inner: InnerDecimalSchema::Fixed(fixed), .. }) => {
            sized(fixed, space, seen, out);
        }
        Schema::Ref { name } => quote(&name.fullname(space), out),
        Schema::Null => quote("null", out),
        Schema::Boolean => quote("boolean", out),
        Schema::Int | Schema::Date | Schema::TimeMillis => quote("int", out),
        Schema::Long
        | Schema::TimeMicros
        | Schema::TimestampMillis
        | Schema::TimestampMicros
        | Schema::TimestampNanos
        | Schema::LocalTimestampMillis
        | Schema::LocalTimestampMicros
        | Schema::LocalTimestampNanos => quote("long", out),
        Schema::Float => quote("float", out),
        Schema::Double => quote("double", out),
        Schema::Bytes
        | Schema::BigDecimal
        | Schema::Uuid(UuidSchema::Bytes)
        | Schema::Decimal(DecimalSchema { inner: InnerDecimalSchema::Bytes, .. }) => {
            quote("bytes", out);
        }
        Schema::String | Schema::Uuid(UuidSchema::String) => quote("string", out),
    }
}

fn sized(
    fixed: &FixedSchema,
    space: NamespaceRef<'_>,
    seen: &mut BTreeSet<String>,
    out: &mut String,
) {
    if open(&fixed.name, space, "fixed", seen, out) {
        out.push_str(&format!(r#","size":{}}}"#, fixed.size));
    }
}

/// Begins a named type, or refers to it if it was written before; whether its body must follow.
fn open(
    name: &Name,
    space: NamespaceRef<'_>,
    kind: &str,
    seen: &mut BTreeSet<String>,
    out: &mut String,
) -> bool {
    let full = name.fullname(space);
    if seen.contains(&full) {
        quote(&full, out);
        return false;
    }
    out.push_str(&format!(r#"{{"name":"{full}","type":"{kind}""#));
    seen.insert(full);
    true
}

fn list<T>(items: &[T], mut each: impl FnMut(&T, &mut String), out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        each(item, out);
    }
    out.push(']');
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs from Avro's own share/test/data/schema-tests.txt.
    #[test]
    fn fingerprints_are_those_of_the_specification() {
        let cases: [(&str, &str, i64); 3] = [
            (r#"{"type":"null"}"#, r#""null""#, 7195948357588979594),
            (
                r#"{"type":"fixed","name":"foo","size":15,"doc":"x"}"#,
                r#"{"name":"foo","type":"fixed","size":15}"#,
                1756455273707447556,
            ),
            (
                r#"{"type":"record","name":"PigValue","fields":
                    [{"name":"value","type":["null","int","long","PigValue"]}]}"#,
                r#"{"name":"PigValue","type":"record","fields":[{"name":"value","type":["null","int","long","PigValue"]}]}"#,
                -1759257747318642341,
            ),
        ];
        for (text, canonical, fingerprint) in cases {
            let schema = Schema::parse_str(text).expect("a schema");
            assert_eq!(canonical_form(&schema), canonical);
            assert_eq!(rabin(canonical.as_bytes()) as i64, fingerprint);
        }
    }

    #[test]
    fn a_logical_type_leaves_no_trace() {
        let text = r#"{"type":"long","logicalType":"timestamp-millis"}"#;
        let schema = Schema::parse_str(text).expect("a schema");
        assert_eq!(canonical_form(&schema), r#""long""#);
    }
}
