//! Keys and frames of the records in the tree: how a record names what it is, and how damage shows.

/// Version of everything in this room's files: keys, frames, the head's seal. Persisted. Raise it
/// with any change; a store of another version is cleared and rebuilt from the log.
pub(super) const FORMAT: u32 = 1;

/// Every frame begins with this, so that a foreign record is recognised.
const MAGIC: [u8; 2] = *b"YM";
/// Magic, format, kind, sequence number.
const HEADER: usize = 2 + 1 + 1 + 8;
/// CRC32C over key, header and payload.
const TRAILER: usize = 4;
/// First bytes of the format record. Its layout never changes: it names all other layouts.
pub(super) const FORMAT_MAGIC: &[u8] = b"yardmaster store ";

/// The key of a record. Tree order is: bases, counters, deltas, head, format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key<'a> {
    /// `b`, page number: a base page.
    Base(u64),
    /// `c|`, readable text: a counter.
    Counter(&'a [u8]),
    /// `d`, sequence number of the checkpoint, place within it: a delta chunk.
    Delta(u64, u32),
    /// `h`: the head, with the seal over all records.
    Head,
    /// `v`: which format the other records have.
    Format,
}

impl Key<'_> {
    /// The bytes in the tree; numbers are big endian, so that tree order is their order.
    pub(super) fn bytes(self) -> Vec<u8> {
        match self {
            Key::Base(page) => [&b"b"[..], &page.to_be_bytes()].concat(),
            Key::Counter(text) => [b"c|", text].concat(),
            Key::Delta(sequence, index) => {
                [&b"d"[..], &sequence.to_be_bytes(), &index.to_be_bytes()].concat()
            }
            Key::Head => b"h".to_vec(),
            Key::Format => b"v".to_vec(),
        }
    }

    /// Reads a key; `None` when it is not one of ours.
    pub(super) fn parse(bytes: &[u8]) -> Option<Key<'_>> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            b'b' => Some(Key::Base(u64::from_be_bytes(rest.try_into().ok()?))),
            b'c' => Some(Key::Counter(rest.strip_prefix(b"|")?)),
            b'd' => {
                let (sequence, index) = rest.split_first_chunk::<8>()?;
                let index = index.try_into().ok()?;
                Some(Key::Delta(u64::from_be_bytes(*sequence), u32::from_be_bytes(index)))
            }
            b'h' if rest.is_empty() => Some(Key::Head),
            b'v' if rest.is_empty() => Some(Key::Format),
            _ => None,
        }
    }
}

/// Frames `parts` (one payload, in pieces) for the record under `key`, written by checkpoint
/// `sequence`. Also gives the checksum, which goes into the seal.
pub(super) fn frame(key: &[u8], sequence: u64, parts: &[&[u8]]) -> (Vec<u8>, u32) {
    let payload: usize = parts.iter().map(|part| part.len()).sum();
    let mut value = Vec::with_capacity(HEADER + payload + TRAILER);
    value.extend_from_slice(&MAGIC);
    value.push(FORMAT as u8);
    value.push(key.first().copied().unwrap_or(0));
    value.extend_from_slice(&sequence.to_le_bytes());
    for part in parts {
        value.extend_from_slice(part);
    }
    let checksum = checksum(key, &value);
    value.extend_from_slice(&checksum.to_le_bytes());
    (value, checksum)
}

/// A frame that was found whole.
#[derive(Debug)]
pub(super) struct Framed<'a> {
    /// The checkpoint that wrote it.
    pub(super) sequence: u64,
    /// The payload.
    pub(super) payload: &'a [u8],
    /// Its checksum.
    pub(super) checksum: u32,
}

/// Opens a frame; the error names what is wrong with it.
pub(super) fn unframe<'a>(key: &[u8], value: &'a [u8]) -> Result<Framed<'a>, &'static str> {
    let Some((body, trailer)) = value.split_last_chunk::<TRAILER>() else {
        return Err("is too short");
    };
    let found = u32::from_le_bytes(*trailer);
    if checksum(key, body) != found {
        return Err("does not match its checksum");
    }
    let Some((header, payload)) = body.split_first_chunk::<HEADER>() else {
        return Err("is too short");
    };
    if header[..2] != MAGIC || header[2] != FORMAT as u8 || key.first() != Some(&header[3]) {
        return Err("is of another kind or version");
    }
    let mut sequence = [0; 8];
    sequence.copy_from_slice(&header[4..]);
    Ok(Framed { sequence: u64::from_le_bytes(sequence), payload, checksum: found })
}

/// The payload of a frame that was opened before.
pub(super) fn payload(value: &[u8]) -> &[u8] {
    value.get(HEADER..value.len().saturating_sub(TRAILER)).unwrap_or_default()
}

/// The key belongs to what is checked, so that a record that turns up in another's place is
/// noticed.
fn checksum(key: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(key), body)
}

/// The value of the format record.
pub(super) fn format_record(format: u32) -> Vec<u8> {
    let mut value = [FORMAT_MAGIC, &format.to_le_bytes()].concat();
    value.extend_from_slice(&crc32c::crc32c(&value).to_le_bytes());
    value
}

/// Which format a format record names; `None` when it is damaged.
pub(super) fn read_format(value: &[u8]) -> Option<u32> {
    let (body, trailer) = value.split_last_chunk::<4>()?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*trailer) {
        return None;
    }
    let format = body.strip_prefix(FORMAT_MAGIC)?;
    Some(u32::from_le_bytes(format.try_into().ok()?))
}

/// A sum over the checksums of all records but head and format, kept in the head. A record that is
/// whole but old, missing or left over would pass its own checksum; it does not pass this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seal {
    /// How many records.
    pub(super) records: u64,
    /// Sum of their checksums, each spread over 64 bits; wraps.
    pub(super) sum: u64,
}

impl Seal {
    /// Length of `bytes`.
    pub(super) const LENGTH: usize = 16;

    /// Counts a record in.
    pub(super) fn add(&mut self, checksum: u32) {
        self.records = self.records.wrapping_add(1);
        self.sum = self.sum.wrapping_add(spread(checksum));
    }

    /// Counts a record out.
    pub(super) fn take(&mut self, checksum: u32) {
        self.records = self.records.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(spread(checksum));
    }

    /// As it stands in the head.
    pub(super) fn bytes(self) -> [u8; Seal::LENGTH] {
        let mut bytes = [0; Seal::LENGTH];
        bytes[..8].copy_from_slice(&self.records.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }
}

/// The splitmix64 finisher: a change of any bit changes about half of the result.
fn spread(checksum: u32) -> u64 {
    let mut x = u64::from(checksum).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_round_trip_and_keep_their_order() {
        let keys = [
            Key::Base(0),
            Key::Base(256),
            Key::Counter(b"queue=A"),
            Key::Delta(1, 0),
            Key::Delta(1, 300),
            Key::Delta(256, 0),
            Key::Head,
            Key::Format,
        ];
        let bytes: Vec<Vec<u8>> = keys.iter().map(|key| key.bytes()).collect();
        assert!(bytes.is_sorted());
        for (key, bytes) in keys.iter().zip(&bytes) {
            assert_eq!(Key::parse(bytes), Some(*key));
        }
        for foreign in [&b""[..], b"x", b"b123", b"cqueue", b"d12345678", b"head"] {
            assert_eq!(Key::parse(foreign), None);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_frame_or_its_key_is_noticed() {
        let key = Key::Delta(7, 2).bytes();
        let (value, _) = frame(&key, 7, &[b"some ", b"records"]);
        assert_eq!(unframe(&key, &value).map(|framed| framed.payload), Ok(&b"some records"[..]));
        assert_eq!(unframe(&key, &value).map(|framed| framed.sequence), Ok(7));
        for bit in 0..value.len() * 8 {
            let mut bent = value.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            assert!(unframe(&key, &bent).is_err(), "bit {bit}");
        }
        for bit in 0..key.len() * 8 {
            let mut bent = key.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            assert!(unframe(&bent, &value).is_err(), "bit {bit} of the key");
        }
        for length in 0..value.len() {
            assert!(unframe(&key, &value[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn the_format_record_tells_its_format_or_nothing() {
        let record = format_record(FORMAT);
        assert_eq!(read_format(&record), Some(FORMAT));
        for bit in 0..record.len() * 8 {
            let mut bent = record.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_format(&bent), None, "bit {bit}");
        }
    }

    #[test]
    fn a_seal_forgets_what_was_taken_out_and_not_what_was_swapped() {
        let mut seal = Seal::default();
        seal.add(1);
        seal.add(2);
        let both = seal;
        seal.take(1);
        seal.add(3);
        assert_ne!(seal, both);
        seal.take(3);
        seal.add(1);
        assert_eq!(seal, both);
    }
}
