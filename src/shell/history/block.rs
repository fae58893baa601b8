//! A block of the history: outputs, counters, figures or changes of some minutes, compressed, with
//! what a search needs to pass it over.
//!
//! Layout, numbers little-endian: `YMH3`, kind (1), times of the first and the last record (8, 8),
//! sequence of the first and the last record (8, 8), last cycle covered (8), number of names (4),
//! length of the body as written (4) and before it was compressed (4), CRC-32C of this head (4),
//! names (8 each, ascending), CRC-32C of the names (4), body, CRC-32C of all before it (4).

use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use std::io::{self, Read};
use yardmaster_core::id::hash;
use yardmaster_core::unit::Millis;

const MAGIC: &[u8; 4] = b"YMH3";
/// Bytes of a block's head.
pub(super) const HEAD: usize = 4 + 1 + 8 * 5 + 4 * 3 + 4;
/// Bytes of the checksum behind the names, and of that behind the body.
const CHECKSUM: usize = 4;
/// No block is longer before it is compressed; a head that states more is damaged.
const RAW_MAX: u32 = 256 << 20;

/// Content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Outputs, as they are published.
    Outputs = 1,
    /// Every counter that is not 0.
    Full = 2,
    /// Counters that changed since the block of counters before.
    Changes = 3,
    /// Nothing: what was published between its times is not kept.
    Gap = 4,
    /// The figures that curves are made of.
    Figures = 5,
    /// What changed of facts, configuration and lead.
    Facts = 6,
}

const KINDS: [BlockKind; 6] = [
    BlockKind::Outputs,
    BlockKind::Full,
    BlockKind::Changes,
    BlockKind::Gap,
    BlockKind::Figures,
    BlockKind::Facts,
];

/// The part of a block that is known without reading its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Content of the block.
    pub kind: BlockKind,
    /// Time of its first record; of counters the `now` they are of.
    pub first_at: Millis,
    /// Time of its last record.
    pub last_at: Millis,
    /// Sequence of its first record; 0 where it holds none.
    pub first: u64,
    /// Sequence of its last record.
    pub last: u64,
    /// Up to this cycle nothing is missing in the history, but for its gaps.
    pub cycle: u64,
    /// Set when it is written, as are the lengths.
    pub names: u32,
    /// Length of the body as written; bytes.
    pub written: u32,
    /// Length of the body before compression; bytes.
    pub raw: u32,
}

impl Head {
    /// A head of a block that holds nothing yet.
    pub fn new(kind: BlockKind, at: Millis, cycle: u64) -> Head {
        let (first_at, last_at) = (at, at);
        Head { kind, first_at, last_at, first: 0, last: 0, cycle, names: 0, written: 0, raw: 0 }
    }

    /// Bytes of the whole block.
    pub fn bytes(&self) -> u64 {
        self.names_at().end as u64 + u64::from(self.written) + CHECKSUM as u64
    }

    /// Where its names and their checksum lie in it.
    pub fn names_at(&self) -> std::ops::Range<usize> {
        HEAD..HEAD + self.names as usize * 8 + CHECKSUM
    }

    /// Reads a head; `None` if these bytes are none.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let (stated, crc) = bytes.get(..HEAD)?.split_at(HEAD - 4);
        let mut at = Reader(stated);
        if at.take(4)? != MAGIC || crc != crc32c::crc32c(stated).to_le_bytes() {
            return None;
        }
        let kind = at.take(1)?[0];
        let kind = KINDS.into_iter().find(|it| *it as u8 == kind)?;
        let head = Head {
            kind,
            first_at: at.u64()? as i64,
            last_at: at.u64()? as i64,
            first: at.u64()?,
            last: at.u64()?,
            cycle: at.u64()?,
            names: at.u32()?,
            written: at.u32()?,
            raw: at.u32()?,
        };
        (head.raw <= RAW_MAX).then_some(head)
    }
}

/// Writes a block: its head with the lengths filled in, and its bytes.
pub(super) fn write(head: Head, names: &[&str], raw: &[u8]) -> io::Result<(Head, Vec<u8>)> {
    let mut hashes: Vec<u64> = names.iter().map(|name| hash(name.as_bytes())).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let mut body = Vec::with_capacity(raw.len() / 4);
    DeflateEncoder::new(raw, Compression::fast()).read_to_end(&mut body)?;
    let size = |count: usize| u32::try_from(count).map_err(io::Error::other);
    let lengths = (size(hashes.len())?, size(body.len())?, size(raw.len())?);
    let head = Head { names: lengths.0, written: lengths.1, raw: lengths.2, ..head };
    let mut bytes = Vec::with_capacity(head.bytes() as usize);
    bytes.extend_from_slice(MAGIC);
    bytes.push(head.kind as u8);
    let moments = [head.first_at as u64, head.last_at as u64];
    for number in moments.into_iter().chain([head.first, head.last, head.cycle]) {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [head.names, head.written, head.raw] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    hashes.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_le_bytes()));
    bytes.extend_from_slice(&crc32c::crc32c(&bytes[HEAD..]).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    Ok((head, bytes))
}

/// Whether a block whose names and checksum these are may hold something of a name; so if they are
/// damaged.
pub(super) fn may_hold(names: &[u8], name: &str) -> bool {
    let wanted = hash(name.as_bytes());
    let Some((names, crc)) = names.split_last_chunk::<CHECKSUM>() else { return true };
    if *crc != crc32c::crc32c(names).to_le_bytes() {
        return true;
    }
    let (hashes, _) = names.as_chunks::<8>();
    hashes.binary_search_by_key(&wanted, |hash| u64::from_le_bytes(*hash)).is_ok()
}

/// The body of a whole block; `None` if it is damaged.
pub(super) fn body(block: &[u8]) -> Option<Vec<u8>> {
    let head = Head::read(block)?;
    let (content, crc) = block.split_at_checked(block.len().checked_sub(CHECKSUM)?)?;
    if crc != crc32c::crc32c(content).to_le_bytes() {
        return None;
    }
    let mut raw = Vec::with_capacity(head.raw as usize);
    let limited = DeflateDecoder::new(content.get(head.names_at().end..)?).take(RAW_MAX.into());
    limited.take(head.raw.into()).read_to_end(&mut raw).ok()?;
    (raw.len() == head.raw as usize).then_some(raw)
}

/// Appends a piece with its length before it.
pub(super) fn put(raw: &mut Vec<u8>, piece: &[u8]) {
    // A piece is one record or one counter: far below 4 GiB.
    raw.extend_from_slice(&(piece.len() as u32).to_le_bytes());
    raw.extend_from_slice(piece);
}

/// The pieces of a body, in order.
pub(super) fn pieces(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = Reader(raw);
    std::iter::from_fn(move || {
        let length = at.u32()?;
        at.take(length as usize)
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Head, Vec<u8>) {
        let head = Head { last_at: 9, first: 3, last: 7, ..Head::new(BlockKind::Outputs, 5, 4) };
        let mut raw = Vec::new();
        put(&mut raw, b"one");
        put(&mut raw, b"");
        put(&mut raw, b"three");
        write(head, &["b", "a", "b"], &raw).unwrap()
    }

    #[test]
    fn a_block_gives_back_what_was_put_in() {
        let (head, block) = sample();
        assert_eq!(head.bytes(), block.len() as u64);
        assert_eq!(Head::read(&block), Some(head));
        let raw = body(&block).unwrap();
        let all: Vec<&[u8]> = pieces(&raw).collect();
        assert_eq!(all, [&b"one"[..], b"", b"three"]);
        let names = &block[head.names_at()];
        assert!(may_hold(names, "a") && may_hold(names, "b") && !may_hold(names, "c"));
    }

    #[test]
    fn a_block_with_damaged_names_is_not_passed_over() {
        let (head, block) = sample();
        for at in head.names_at() {
            let mut damaged = block.clone();
            damaged[at] ^= 1;
            let names = &damaged[head.names_at()];
            assert!(may_hold(names, "a") && may_hold(names, "b"), "byte {at}");
        }
    }

    #[test]
    fn a_damaged_block_is_none() {
        let (_, block) = sample();
        for at in 0..block.len() {
            let mut damaged = block.clone();
            damaged[at] ^= 1;
            assert_eq!(body(&damaged), None, "byte {at}");
        }
        for length in 0..block.len() {
            assert_eq!(body(&block[..length]), None, "{length} bytes");
        }
    }
}
