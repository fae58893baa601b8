//! The wire room from outside: schemas, round trips, other writers' schemas, hostile bytes.
//! apache-avro is the reference throughout.

mod comparisons;
pub mod dice;
pub mod facts;
mod hostile;
pub mod kinds;
mod mutate;
pub mod pool;
pub mod records;
mod resolve;
pub mod roundtrip;
mod schemas;
pub mod targets;

use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use std::sync::LazyLock;
use yardmaster::core::cut::Topic;
use yardmaster::wire::avro::{Codec, MARKER, fingerprint};

/// A value as apache-avro encodes it.
pub fn encode(schema: &Schema, value: &Value) -> Vec<u8> {
    let writer = GenericDatumWriter::builder(schema).build().expect("a writer");
    writer.write_value_to_vec(value.clone()).expect("a datum")
}

/// A datum as apache-avro decodes it, all of it.
pub fn decode(schema: &Schema, mut datum: &[u8]) -> Value {
    let reader = GenericDatumReader::builder(schema).build().expect("a reader");
    let value = reader.read_value(&mut datum).expect("a value");
    assert!(datum.is_empty(), "{} bytes left over", datum.len());
    value
}

/// A datum as a record of our schema.
pub fn framed(topic: Topic, datum: &[u8]) -> Vec<u8> {
    [&MARKER[..], &fingerprint(topic).to_le_bytes(), datum].concat()
}

/// Making one compiles many plans.
pub static CODEC: LazyLock<Codec> = LazyLock::new(Codec::default);
