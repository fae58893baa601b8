//! Avro's single-object encoding, read and written without a value in between; and Confluent's.
//!
//! A record is a marker, the fingerprint of its writer's schema, and the datum; in Confluent
//! framing a zero byte and a registry's number stand for the first two. Bytes written with our own
//! schema are read where they lie. Bytes of any other schema that is known go through a plan,
//! compiled once from the two schemas, which turns the writer's datum into ours; from there on
//! there is one way to read. A writer whose schema cannot be resolved gets no plan, and its records
//! are garbled.

mod canonical;
mod codec;
mod compile;
mod confluent;
mod cursor;
mod default;
mod foreign;
mod form;
mod from_json;
mod lenient;
mod peek;
mod plan;
mod prepared;
mod run;
mod schema;
mod shape;
mod sink;

pub use canonical::{canonical_form, rabin};
pub use codec::{Codec, LearnError};
pub use compile::{Mismatch, compile};
pub use confluent::{MAGIC, NUMBERED_BYTES, Writer, number_of, numbered, unframed};
pub use cursor::{Cursor, Fault};
pub use foreign::ForeignSchema;
pub use from_json::{JsonFault, from_json};
pub use peek::{Peek, peek};
pub use plan::Plan;
pub use prepared::{Arena, Prepared};
pub use run::{Bounds, Scratch, transcode};
pub use schema::{ENVELOPE, fingerprint, released, schema, schema_text};
pub use sink::Sink;

/// Marks a record as Avro's single-object encoding, version 1.
pub const MARKER: [u8; 2] = [0xC3, 0x01];

/// Marker and fingerprint together; the datum follows.
pub const HEADER_BYTES: usize = 10;
