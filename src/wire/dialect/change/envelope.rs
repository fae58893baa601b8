//! Debezium's envelope: `{before, after, source, transaction, op, ...}`, with the schema beside it
//! (`{schema, payload}`) or without.

use super::column::{Columns, RowInto};
use crate::dialect::scalar::Scalar;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// The parts of a change message that are read.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub op: Scalar<'a>,
    pub after: Columns<'a>,
    /// Whether `after` is there and is not null.
    pub has_after: bool,
    pub source: Source<'a>,
    pub transaction: Transaction<'a>,
    /// A message of another kind: transaction marker, heartbeat, schema change.
    pub is_other: bool,
    /// A field that no such message has: a row without its envelope.
    pub has_stranger: bool,
    /// The message is `null`.
    pub is_null: bool,
}

/// Where the change comes from.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Source<'a> {
    #[serde(borrow)]
    pub snapshot: Scalar<'a>,
    #[serde(borrow)]
    pub table: Scalar<'a>,
    #[serde(borrow)]
    pub ts_ms: Scalar<'a>,
    #[serde(borrow, rename = "txId")]
    pub tx_id: Scalar<'a>,
    #[serde(borrow)]
    pub lsn: Scalar<'a>,
    #[serde(borrow)]
    pub scn: Scalar<'a>,
    #[serde(borrow)]
    pub commit_scn: Scalar<'a>,
    #[serde(borrow)]
    pub sequence: Scalar<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Transaction<'a> {
    #[serde(borrow)]
    pub id: Scalar<'a>,
}

/// Reads a message into the envelope given.
pub(super) struct EnvelopeInto<'b, 'a>(pub &'b mut Envelope<'a>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for EnvelopeInto<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for EnvelopeInto<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.is_null = true;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let envelope = self.0;
        while let Some(name) = entries.next_key::<Name>()? {
            match name {
                Name::Payload => entries.next_value_seed(EnvelopeInto(envelope))?,
                Name::After => {
                    envelope.has_after = entries.next_value_seed(RowInto(&mut envelope.after))?;
                }
                Name::Source => {
                    envelope.source = entries.next_value::<Option<_>>()?.unwrap_or_default();
                }
                Name::Transaction => {
                    envelope.transaction = entries.next_value::<Option<_>>()?.unwrap_or_default();
                }
                Name::Op => envelope.op = entries.next_value()?,
                Name::Known => {
                    entries.next_value::<IgnoredAny>()?;
                }
                Name::Marker => {
                    envelope.is_other = true;
                    entries.next_value::<IgnoredAny>()?;
                }
                Name::Stranger => {
                    envelope.has_stranger = true;
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Fields of an envelope and of the other messages that Debezium writes.
#[derive(serde::Deserialize)]
enum Name {
    #[serde(rename = "payload")]
    Payload,
    #[serde(rename = "after")]
    After,
    #[serde(rename = "source")]
    Source,
    #[serde(rename = "transaction")]
    Transaction,
    #[serde(rename = "op")]
    Op,
    #[serde(rename = "before", alias = "schema", alias = "ts_ms", alias = "ts_us", alias = "ts_ns")]
    Known,
    #[serde(
        rename = "event_count",
        alias = "data_collections",
        alias = "ddl",
        alias = "tableChanges"
    )]
    Marker,
    #[serde(other)]
    Stranger,
}

/// Reads the columns of the object in a field of a message: of `before`, or of `payload` of a key
/// that has its schema beside it.
pub(super) struct FieldInto<'b, 'a> {
    pub field: &'static str,
    pub columns: &'b mut Columns<'a>,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for FieldInto<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for FieldInto<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let FieldInto { field, columns } = self;
        while let Some(name) = entries.next_key::<Cow<'de, str>>()? {
            if name == field {
                entries.next_value_seed(RowInto(columns))?;
            } else if name == "payload" {
                entries.next_value_seed(FieldInto { field, columns })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
