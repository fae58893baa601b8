//! The framing of an Avro object container file: a header, then blocks of count, size, data and
//! the sync marker (Avro specification, "Object Container Files"; codec `null`).

use sha2::{Digest, Sha256};
use std::ops::Range;

/// First bytes of every such file.
const MAGIC: &[u8; 4] = b"Obj\x01";
/// Bytes of a sync marker.
pub const SYNC: usize = 16;
/// A header longer than this is no header of a log (ours has about 1 KiB).
pub const HEADER_BYTES_MAX: usize = 1 << 20;

/// Marker between the blocks of one file.
pub type Sync = [u8; SYNC];

/// The header of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the header: where the first block begins.
    pub length: usize,
    /// The writer's schema.
    pub schema: Vec<u8>,
    /// Name of the codec; `null` when none is named.
    pub codec: Vec<u8>,
    /// The sync marker.
    pub sync: Sync,
}

/// The bytes at some place after the header, as a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A whole block.
    Block(Block),
    /// The beginning of a block; with so many bytes from here more would be known.
    Incomplete(usize),
    /// No block.
    Damaged,
}

/// One block, in places relative to where it was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Records in it.
    pub count: u64,
    /// Where its records lie.
    pub data: Range<usize>,
    /// Where the next block begins.
    pub end: usize,
}

/// The sync marker of a lane's file: a function of its name, so that equal logs are equal bytes.
pub fn sync_of(topic: &str, partition: u32) -> Sync {
    let digest = Sha256::digest(format!("yardmaster log {topic} {partition}").as_bytes());
    let mut sync = [0; SYNC];
    sync.copy_from_slice(&digest[..SYNC]);
    sync
}

/// The header of a new file.
pub fn header(schema: &str, sync: &Sync) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    put_long(&mut bytes, 2);
    for (name, value) in [("avro.schema", schema), ("avro.codec", "null")] {
        put_bytes(&mut bytes, name.as_bytes());
        put_bytes(&mut bytes, value.as_bytes());
    }
    put_long(&mut bytes, 0);
    bytes.extend_from_slice(sync);
    bytes
}

/// Reads a header; `None` when these bytes are none, or not the whole of one.
pub fn parse_header(bytes: &[u8]) -> Option<Header> {
    let mut at = MAGIC.len();
    if bytes.get(..at)? != MAGIC {
        return None;
    }
    let (mut schema, mut codec) = (Vec::new(), b"null".to_vec());
    loop {
        let mut count = get_long(bytes, &mut at)?;
        if count == 0 {
            break;
        }
        if count < 0 {
            get_long(bytes, &mut at)?;
            count = count.checked_neg()?;
        }
        for _ in 0..count {
            let name = get_bytes(bytes, &mut at)?;
            let value = get_bytes(bytes, &mut at)?;
            match &bytes[name] {
                b"avro.schema" => schema = bytes[value].to_vec(),
                b"avro.codec" => codec = bytes[value].to_vec(),
                _ => {}
            }
        }
    }
    let sync = bytes.get(at..at + SYNC)?.try_into().ok()?;
    Some(Header { length: at + SYNC, schema, codec, sync })
}

/// Appends a block.
pub fn put_block(bytes: &mut Vec<u8>, count: u64, data: &[u8], sync: &Sync) {
    put_long(bytes, count as i64);
    put_bytes(bytes, data);
    bytes.extend_from_slice(sync);
}

/// The block at the beginning of `bytes`.
pub fn next_block(bytes: &[u8], sync: &Sync) -> Next {
    /// Two numbers of at most ten bytes.
    const NUMBERS: usize = 20;
    let mut at = 0;
    let (Some(count), Some(size)) = (get_long(bytes, &mut at), get_long(bytes, &mut at)) else {
        return if bytes.len() < NUMBERS { Next::Incomplete(NUMBERS) } else { Next::Damaged };
    };
    let (Ok(count), Ok(size)) = (u64::try_from(count), usize::try_from(size)) else {
        return Next::Damaged;
    };
    let Some(end) = at.checked_add(size).and_then(|end| end.checked_add(SYNC)) else {
        return Next::Damaged;
    };
    match bytes.get(at + size..end) {
        None => Next::Incomplete(end),
        // An empty block means nothing, but a run of zeros looks like the start of one.
        Some(found) if found == sync && count > 0 => {
            Next::Block(Block { count, data: at..at + size, end })
        }
        Some(_) => Next::Damaged,
    }
}

/// Appends a number: zigzag, seven bits a byte.
pub fn put_long(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Appends bytes with their length before them.
pub fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put_long(bytes, value.len() as i64);
    bytes.extend_from_slice(value);
}

/// Reads a number and moves on.
#[inline]
pub fn get_long(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut value = 0u64;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Reads where bytes lie and moves behind them.
#[inline]
pub fn get_bytes(bytes: &[u8], at: &mut usize) -> Option<Range<usize>> {
    let length = usize::try_from(get_long(bytes, at)?).ok()?;
    let start = *at;
    let end = start.checked_add(length)?;
    if end > bytes.len() {
        return None;
    }
    *at = end;
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN, 1 << 40] {
            let mut bytes = Vec::new();
            put_long(&mut bytes, value);
            let mut at = 0;
            assert_eq!(get_long(&bytes, &mut at), Some(value));
            assert_eq!(at, bytes.len());
        }
        assert_eq!(get_long(&[0xFF; 11], &mut 0), None);
        assert_eq!(get_long(&[0x80], &mut 0), None);
    }

    #[test]
    fn a_block_is_whole_or_not_there() {
        let sync = sync_of("t", 0);
        let mut bytes = Vec::new();
        put_block(&mut bytes, 3, b"abcdef", &sync);
        for length in 0..bytes.len() {
            let next = next_block(&bytes[..length], &sync);
            assert!(matches!(next, Next::Incomplete(_)), "{length}: {next:?}");
        }
        let whole = Block { count: 3, data: 2..8, end: bytes.len() };
        assert_eq!(next_block(&bytes, &sync), Next::Block(whole));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert_eq!(next_block(&bytes, &sync), Next::Damaged);
        assert_eq!(next_block(&[0; 64], &sync), Next::Damaged);
    }

    #[test]
    fn a_header_comes_back() {
        let sync = sync_of("t", 1);
        assert_ne!(sync, sync_of("t", 0));
        let bytes = header("\"bytes\"", &sync);
        let parsed = parse_header(&bytes).unwrap();
        assert_eq!((parsed.length, parsed.sync), (bytes.len(), sync));
        assert_eq!((&parsed.schema[..], &parsed.codec[..]), (&b"\"bytes\""[..], &b"null"[..]));
        assert_eq!(parse_header(&bytes[..bytes.len() - 1]), None);
    }
}
