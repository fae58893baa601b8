//! Changes of PanDA's tables, as Debezium publishes them (change data capture).
//!
//! One message is one change of one row. JSON with the schema inside or without; names of columns
//! in either case; columns that no record of ours has a place for are ignored. Times are milli-,
//! micro- or nanoseconds, as their size shows, or text; 0 is "not set". Numbers are numbers, text,
//! or `{scale, value}`; base64 alone (`decimal.handling.mode=precise`) is an error.
//!
//! `before` is not read but for the key of a delete: under PostgreSQL's default replica identity it
//! has the columns' defaults and not the row's values.

mod cell;
mod column;
mod envelope;
mod fact;
mod row;
mod rows;
#[cfg(test)]
mod tests;
pub mod wanted;

pub use fact::{FactRow, FactTable};
pub use row::{
    Change, JobRow, NodesRow, Row, RowOperation, Snapshot, Table, TaskRow, WorkerKey, WorkerRow,
};

use super::scalar::Scalar;
use column::{Columns, RowInto};
use envelope::{Envelope, EnvelopeInto, FieldInto, Source};
use serde::de::DeserializeSeed;
use yardmaster_core::id::hash;

/// A message of Debezium.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// A change of a row.
    Change(Change<'a>),
    /// No value: follows a delete, for topics that are compacted.
    Tombstone,
    /// A heartbeat, a transaction's begin or end, a change of a schema, a truncated table.
    Other,
}

/// Reads a message. `key` is the record's key, of which a delete's key columns are taken.
///
/// # Errors
/// Names the field, what was found and what is wanted.
pub fn read<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Result<Message<'a>, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(Message::Tombstone);
    };
    let mut envelope = Envelope::default();
    json(value, EnvelopeInto(&mut envelope))?;
    if envelope.is_null {
        return Ok(Message::Tombstone);
    }
    let Some(op) = op(&envelope)? else { return Ok(Message::Other) };
    let table = table(&envelope.source)?;
    let mut missing = Vec::new();
    let row = match (op, table) {
        (RowOperation::Delete, Table::Facts(table)) => {
            Row::FactGone { table, key: fact::gone(table, key, value)? }
        }
        (_, Table::Facts(table)) => {
            let row = fact::row(table, value)?;
            missing.clone_from(&row.missing);
            Row::Fact(Box::new(row))
        }
        (RowOperation::Delete, _) => {
            let mut columns = key_columns(key, value)?;
            rows::gone(table, &mut columns)?
        }
        _ if envelope.has_after => {
            missing.extend(envelope.after.missing(rows::wanted(table)));
            rows::row(table, &mut envelope.after)?
        }
        _ => return Err("field `after` is missing, wants the row".to_owned()),
    };
    let source = &envelope.source;
    Ok(Message::Change(Change {
        op,
        snapshot: snapshot(op, &source.snapshot),
        position: position(source)?,
        commit_position: commit_position(source),
        transaction: transaction(&envelope),
        committed_at: source.ts_ms.amount("source.ts_ms")?.try_into().unwrap_or(0),
        table,
        row,
        missing,
    }))
}

/// Operation on the row; `None` for messages that are no change of a row.
fn op(envelope: &Envelope<'_>) -> Result<Option<RowOperation>, String> {
    let wants = "c, u, r or d of a change envelope (transforms must not unwrap it)";
    match &envelope.op {
        Scalar::Text(op) => match &**op {
            "c" => Ok(Some(RowOperation::Create)),
            "u" => Ok(Some(RowOperation::Update)),
            "r" => Ok(Some(RowOperation::Read)),
            "d" => Ok(Some(RowOperation::Delete)),
            // A table was truncated; a message that was written into the log by itself.
            "t" | "m" => Ok(None),
            _ => Err(envelope.op.wrong("op", wants)),
        },
        Scalar::Absent if envelope.is_other || !envelope.has_stranger => Ok(None),
        other => Err(other.wrong("op", wants)),
    }
}

fn table(source: &Source<'_>) -> Result<Table, String> {
    match &source.table {
        Scalar::Text(name) => Ok(Table::from_name(name)),
        other => Err(other.wrong("source.table", "the name of a table")),
    }
}

fn snapshot(op: RowOperation, found: &Scalar<'_>) -> Snapshot {
    match found {
        Scalar::Text(text) => match &**text {
            "true" | "first" | "first_in_data_collection" | "last_in_data_collection" => {
                Snapshot::Yes
            }
            "last" => Snapshot::Last,
            _ => Snapshot::No,
        },
        Scalar::Flag(true) => Snapshot::Yes,
        // A connector that does not say it: only a snapshot reads.
        Scalar::Absent if op == RowOperation::Read => Snapshot::Yes,
        _ => Snapshot::No,
    }
}

fn position(source: &Source<'_>) -> Result<u64, String> {
    match (&source.lsn, &source.scn) {
        (Scalar::Absent, Scalar::Absent) => Err("field `source.lsn` is missing, wants the place \
             in the log: lsn (PostgreSQL) or scn (Oracle)"
            .to_owned()),
        (Scalar::Absent, scn) => scn.amount("source.scn"),
        (lsn, _) => lsn.amount("source.lsn"),
    }
}

/// `source.sequence` is a list as text: the last commit's position, then the change's own.
fn commit_position(source: &Source<'_>) -> Option<u64> {
    match &source.sequence {
        Scalar::Text(text) => {
            let first = text.trim_start_matches(['[', '"', ' ']);
            let end = first.find(|symbol: char| !symbol.is_ascii_digit()).unwrap_or(first.len());
            first.get(..end)?.parse().ok()
        }
        _ => match source.commit_scn.amount("source.commit_scn") {
            Ok(0) | Err(_) => None,
            Ok(scn) => Some(scn),
        },
    }
}

fn transaction(envelope: &Envelope<'_>) -> Option<u64> {
    match (&envelope.source.tx_id, &envelope.transaction.id) {
        (Scalar::Int(number), _) => Some(*number as u64),
        (Scalar::Text(text), _) => Some(hash(text.as_bytes())),
        (_, Scalar::Text(text)) => {
            let (id, _) = text.split_once(':').unwrap_or((text, ""));
            Some(hash(id.as_bytes()))
        }
        _ => None,
    }
}

/// The key columns of a deleted row: of the record's key, and where that has not all of them (its
/// columns can be chosen), of `before`.
fn key_columns<'a>(key: Option<&'a [u8]>, value: &'a [u8]) -> Result<Columns<'a>, String> {
    let mut columns = Columns::default();
    if let Some(key) = key.filter(|key| key.first() == Some(&b'{')) {
        json(key, RowInto(&mut columns))?;
        json(key, FieldInto { field: "payload", columns: &mut columns })?;
    }
    let mut before = Columns::default();
    json(value, FieldInto { field: "before", columns: &mut before })?;
    columns.complete(before);
    Ok(columns)
}

/// Reads a JSON text into what the seed has.
fn json<'a, S: DeserializeSeed<'a>>(bytes: &'a [u8], seed: S) -> Result<(), String> {
    let wrong = |error| format!("no JSON object as wanted: {error}");
    let mut from = serde_json::Deserializer::from_slice(bytes);
    seed.deserialize(&mut from).map_err(wrong)?;
    from.end().map_err(wrong)
}
