//! Reads the whole tree back and believes nothing that does not add up.
//!
//! A second thread fetches and checks while the caller makes records of what it shows: the two
//! take about as long.

use super::frame::{self, FORMAT, Framed, Key, Seal};
use super::index::{Counter, Index};
use super::open::{self, Trouble};
use sled::IVec;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, scope};
use yardmaster_drive::port::Piece;

/// Result of reading the tree.
pub(super) enum Found {
    /// Nothing was ever written.
    Empty,
    /// A checkpoint, whole: what was shown can be believed.
    Whole(Box<Index>),
    /// Written in another format; which.
    OtherFormat(u32),
}

/// How much of the records is wanted; all are checked either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Everything.
    All,
    /// Counters and head.
    Counters,
}

/// Cells travel from thread to thread in loads of about so many bytes, since each handing over
/// costs a wait.
const LOAD_BYTES: usize = 1 << 20;
/// How many loads may be fetched ahead.
const LOADS_AHEAD: usize = 8;
/// Memory of a record beside its bytes; bytes.
const CELL_BYTES: usize = 64;

/// A record that was checked: key and frame.
type Cell = (IVec, IVec);

/// Where the deltas lie among the keys.
const DELTAS: std::ops::Range<&[u8]> = b"d"..b"e";

/// Reads and checks every record and shows it: the head, deltas from the newest on, all others.
pub(super) fn read(
    db: &sled::Db,
    want: Want,
    take: &mut dyn FnMut(Piece<'_>),
) -> Result<Found, Trouble> {
    scope(|scope| {
        let (send, receive) = sync_channel(LOADS_AHEAD);
        let reader = Builder::new()
            .name("store-read".to_string())
            .spawn_scoped(scope, move || {
                open::guard("reading it", || read_tree(db, &mut Loads::new(want, send)))
            })
            .map_err(|error| Trouble::World(format!("no thread to read with: {error}")))?;
        show(&receive, take);
        reader.join().unwrap_or_else(|_| Err(Trouble::damage("the thread that reads it died")))
    })
}

fn show(loads: &Receiver<Vec<Cell>>, take: &mut dyn FnMut(Piece<'_>)) {
    for (key, value) in loads.iter().flatten() {
        let payload = frame::payload(&value);
        match Key::parse(&key) {
            Some(Key::Base(page)) => take(Piece::Base(page, payload)),
            Some(Key::Counter(text)) => take(Piece::Counter(text, payload)),
            Some(Key::Delta(sequence, _)) => take(Piece::Delta(sequence, payload)),
            Some(Key::Head) => {
                if let Ok((framed, _, head)) = open_head(&key, &value) {
                    take(Piece::Head(framed.sequence, head));
                }
            }
            Some(Key::Format) | None => (),
        }
    }
}

/// Checked records on their way to the caller.
struct Loads {
    want: Want,
    send: SyncSender<Vec<Cell>>,
    load: Vec<Cell>,
    bytes: usize,
}

impl Loads {
    fn new(want: Want, send: SyncSender<Vec<Cell>>) -> Loads {
        Loads { want, send, load: Vec::new(), bytes: 0 }
    }

    /// Takes a record along. If nothing receives, the caller has given up.
    fn add(&mut self, key: IVec, value: IVec) {
        self.bytes += value.len() + CELL_BYTES;
        self.load.push((key, value));
        if self.bytes >= LOAD_BYTES {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        self.bytes = 0;
        let _ = self.send.send(std::mem::take(&mut self.load));
    }
}

fn read_tree(db: &sled::Db, loads: &mut Loads) -> Result<Found, Trouble> {
    match db.get(Key::Format.bytes()).map_err(Trouble::from)? {
        None if db.is_empty() => return Ok(Found::Empty),
        None => return Err(Trouble::damage("the format record is missing")),
        Some(record) => match frame::read_format(&record) {
            Some(FORMAT) => (),
            Some(other) => return Ok(Found::OtherFormat(other)),
            None => return Err(Trouble::damage("the format record is damaged")),
        },
    }
    let head = Key::Head.bytes();
    let Some(value) = db.get(&head).map_err(Trouble::from)? else {
        return Err(Trouble::damage("the head is missing"));
    };
    let (framed, sealed, _) = open_head(&head, &value)?;
    let mut index = Index { formatted: true, sequence: framed.sequence, ..Index::default() };
    loads.add(head.into(), value.clone());
    read_deltas(db, &mut index, loads)?;
    for record in db.range(..DELTAS.start).chain(db.range(DELTAS.end..)) {
        let (key, value) = record.map_err(Trouble::from)?;
        if take_in(&key, &value, &mut index, loads.want)? {
            loads.add(key, value);
        }
    }
    loads.hand_over();
    if sealed == index.seal.bytes() {
        return Ok(Found::Whole(Box::new(index)));
    }
    let count = u64::from_le_bytes(*sealed.first_chunk().unwrap_or(&[0; 8]));
    Err(Trouble::damage(&format!(
        "records are missing, old or left over: found {}, the head counts {count}",
        index.seal.records
    )))
}

/// The deltas, newest first.
fn read_deltas(db: &sled::Db, index: &mut Index, loads: &mut Loads) -> Result<(), Trouble> {
    let missing = |(sequence, place): (u64, u32)| {
        Trouble::damage(&format!("chunk {place} of checkpoint {sequence} is missing"))
    };
    // The chunk that is to come next.
    let mut next = None;
    for record in db.range(DELTAS).rev() {
        let (key, value) = record.map_err(Trouble::from)?;
        let Some(Key::Delta(sequence, place)) = Key::parse(&key) else {
            return Err(none_of_ours(&key));
        };
        if let Some(next) = next.filter(|next| *next != (sequence, place)) {
            return Err(missing(next));
        }
        next = place.checked_sub(1).map(|place| (sequence, place));
        let checksum = open_record(&key, &value)?.checksum;
        index.deltas.entry(sequence).or_default().push(checksum);
        index.seal.add(checksum);
        if loads.want == Want::All {
            loads.add(key, value);
        }
    }
    index.deltas.values_mut().for_each(|chunks| chunks.reverse());
    next.map_or(Ok(()), |next| Err(missing(next)))
}

/// A head: its frame, the seal, and what the checkpoint holds.
fn open_head<'a>(
    key: &[u8],
    value: &'a [u8],
) -> Result<(Framed<'a>, [u8; Seal::LENGTH], &'a [u8]), Trouble> {
    let framed = open_record(key, value)?;
    let Some((seal, head)) = framed.payload.split_first_chunk() else {
        return Err(Trouble::damage("the head is too short"));
    };
    Ok((framed, *seal, head))
}

fn open_record<'a>(key: &[u8], value: &'a [u8]) -> Result<Framed<'a>, Trouble> {
    frame::unframe(key, value)
        .map_err(|what| Trouble::damage(&format!("record {} {what}", hex::encode(key))))
}

fn none_of_ours(key: &[u8]) -> Trouble {
    Trouble::damage(&format!("record {} is none of ours", hex::encode(key)))
}

/// Checks a record and notes it; returns whether it is wanted. Head, format and deltas have been
/// read.
fn take_in(key: &[u8], value: &[u8], index: &mut Index, want: Want) -> Result<bool, Trouble> {
    let Some(kind) = Key::parse(key) else {
        return Err(none_of_ours(key));
    };
    if matches!(kind, Key::Head | Key::Format | Key::Delta(..)) {
        return Ok(false);
    }
    let framed = open_record(key, value)?;
    match kind {
        Key::Base(page) => {
            index.bases.insert(page, framed.checksum);
        }
        Key::Counter(text) => {
            let value = framed.payload.to_vec();
            index.counters.insert(text.to_vec(), Counter { value, checksum: framed.checksum });
        }
        Key::Head | Key::Format | Key::Delta(..) => return Ok(false),
    }
    index.seal.add(framed.checksum);
    Ok(want == Want::All || matches!(kind, Key::Counter(_)))
}
