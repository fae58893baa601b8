//! `transfer`.

use super::{amount, count, symbol};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Transfer, TransferStatus};

#[inline(always)]
pub(super) fn read<'a>(at: &mut Cursor<'a>) -> Result<Transfer<'a>, Fault> {
    let request = at.string()?;
    let state = symbol(at, &TransferStatus::ALL)?;
    let changed_at = at.long()?;
    let revision = count(at)?;
    let [activity, source, destination] = at.strings()?;
    Ok(Transfer {
        request,
        state,
        changed_at,
        revision,
        activity,
        source,
        destination,
        bytes: amount(at)?,
        files: count(at)?,
        error: at.string()?,
    })
}

/// Appends a transfer's state.
pub fn write_transfer(out: &mut Vec<u8>, transfer: &Transfer<'_>) {
    let mut sink = Sink::begin(out, Topic::Transfer);
    sink.string(transfer.request);
    sink.index(transfer.state as usize);
    sink.long(transfer.changed_at);
    sink.count(transfer.revision);
    sink.string(transfer.activity);
    sink.string(transfer.source);
    sink.string(transfer.destination);
    sink.amount(transfer.bytes);
    sink.count(transfer.files);
    sink.string(transfer.error);
}
