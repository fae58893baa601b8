//! Reads the whole tree back and believes nothing that does not add up.

use super::frame::{self, FORMAT, Key, Seal};
use super::index::{Counter, Index};
use super::open::{self, Trouble};
use crate::drive::port::Kept;

/// What the tree gave.
pub(super) enum Found {
    /// Nothing was ever written.
    Empty,
    /// A checkpoint, whole.
    Whole(Kept, Box<Index>),
    /// Written in another format; which.
    OtherFormat(u32),
}

/// How much of the cells is wanted; all are checked either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Everything.
    All,
    /// Counters and head.
    Counters,
}

/// Reads and checks every cell.
pub(super) fn read(db: &sled::Db, want: Want) -> Result<Found, Trouble> {
    open::guard("reading it", || read_tree(db, want))
}

fn read_tree(db: &sled::Db, want: Want) -> Result<Found, Trouble> {
    match db.get(Key::Format.bytes()).map_err(Trouble::from)? {
        None if db.is_empty() => return Ok(Found::Empty),
        None => return Err(Trouble::damage("the format cell is missing")),
        Some(cell) => match frame::read_format(&cell) {
            Some(FORMAT) => (),
            Some(other) => return Ok(Found::OtherFormat(other)),
            None => return Err(Trouble::damage("the format cell is damaged")),
        },
    }
    let mut kept = Kept::default();
    let mut index = Index { formatted: true, ..Index::default() };
    let mut sealed = None;
    for cell in db.iter() {
        let (key, value) = cell.map_err(Trouble::from)?;
        take_in(&key, &value, want, &mut kept, &mut index, &mut sealed)?;
    }
    match sealed {
        None => Err(Trouble::damage("the head is missing")),
        Some(sealed) if sealed != index.seal.bytes() => {
            let count = u64::from_le_bytes(*sealed.first_chunk().unwrap_or(&[0; 8]));
            Err(Trouble::damage(&format!(
                "cells are missing, old or left over: found {}, the head counts {count}",
                index.seal.cells
            )))
        }
        Some(_) => Ok(Found::Whole(kept, Box::new(index))),
    }
}

fn take_in(
    key: &[u8],
    value: &[u8],
    want: Want,
    kept: &mut Kept,
    index: &mut Index,
    sealed: &mut Option<[u8; Seal::LENGTH]>,
) -> Result<(), Trouble> {
    let Some(kind) = Key::parse(key) else {
        return Err(Trouble::damage(&format!("cell {} is none of ours", hex(key))));
    };
    if kind == Key::Format {
        return Ok(());
    }
    let framed = frame::unframe(key, value)
        .map_err(|what| Trouble::damage(&format!("cell {} {what}", hex(key))))?;
    match kind {
        Key::Base(page) => {
            index.bases.insert(page, framed.checksum);
            if want == Want::All {
                kept.bases.push((page, framed.payload.to_vec()));
            }
        }
        Key::Counter(text) => {
            let value = framed.payload.to_vec();
            kept.counters.push((text.to_vec(), value.clone()));
            index.counters.insert(text.to_vec(), Counter { value, checksum: framed.checksum });
        }
        Key::Delta(sequence, place) => {
            let chunks = index.deltas.entry(sequence).or_default();
            if chunks.len() != place as usize {
                return Err(Trouble::damage(&format!(
                    "chunk {} of checkpoint {sequence} is missing",
                    chunks.len()
                )));
            }
            chunks.push(framed.checksum);
            if want == Want::All {
                kept.deltas.push((sequence, framed.payload.to_vec()));
            }
        }
        Key::Head => {
            let Some((seal, head)) = framed.payload.split_first_chunk() else {
                return Err(Trouble::damage("the head is too short"));
            };
            *sealed = Some(*seal);
            kept.head = head.to_vec();
            kept.sequence = framed.sequence;
            index.sequence = framed.sequence;
            return Ok(());
        }
        Key::Format => return Ok(()),
    }
    index.seal.add(framed.checksum);
    Ok(())
}

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
