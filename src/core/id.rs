//! Names of things. A name on the wire is text; inside, a thing that comes by the million is known
//! by a number that is a function of the name alone, so that no state depends on which came first.

use crate::copy::{InPortions, TakeCopy, UnderWay};

/// A job, task, request or transfer by number.
///
/// A canonical decimal name below 2^63 (PanDA's ids) *is* its number. Any other name is a 63-bit
/// hash with the top bit set. Two of ten million named things meet with odds of about 1 in
/// 200,000; where names are kept beside the number ([`crate::state::State`] does so for
/// jobs that are not decimal) a meeting is an oddity, and the later thing has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The number of a name. Total: every text has one.
    #[inline]
    pub fn of(name: &[u8]) -> Key {
        match decimal(name) {
            Some(number) => Key(number),
            None => Key(hash(name) | 1 << 63),
        }
    }

    /// One number for several names. Two that meet (odds as above) are counted as one.
    pub fn joint(names: &[&[u8]]) -> Key {
        Key(names.iter().fold(0, |number, name| stir(number.rotate_left(23) ^ hash(name))))
    }

    /// No thing at all: what an absent name is read as.
    pub const NONE: Key = Key(u64::MAX);

    /// Whether the number is the name (a decimal id), so that nothing else need be kept.
    pub fn is_decimal(self) -> bool {
        self.0 >> 63 == 0
    }
}

/// The value of a canonical decimal: digits only, no leading zero but for "0", below 2^63.
#[inline]
fn decimal(name: &[u8]) -> Option<u64> {
    if (*name.first()? == b'0' && name.len() > 1) || name.len() > 18 {
        return None;
    }
    match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) if name.len() <= 16 => {
            let low = u64::from_le_bytes(*last);
            // What comes before the last eight, with zeroes in front: the first is the lowest.
            let missing = 8 * (16 - name.len() as u32);
            let zeros = ZEROS & !u64::MAX.checked_shl(missing).unwrap_or(0);
            let head = u64::from_le_bytes(*first).checked_shl(missing).unwrap_or(0) | zeros;
            (not_digits(low) | not_digits(head) == 0)
                .then(|| eight_digits(head) * 100_000_000 + eight_digits(low))
        }
        _ => name.iter().try_fold(0u64, |value, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit <= 9).then(|| value * 10 + u64::from(digit))
        }),
    }
}

/// Eight times the digit 0.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Not 0 if one of eight bytes is no digit: each digit has the high half 3, and keeps it when 6 is
/// added.
#[inline]
fn not_digits(word: u64) -> u64 {
    let beyond = word.wrapping_add(0x0606_0606_0606_0606);
    ((word ^ ZEROS) | (beyond ^ ZEROS)) & 0xF0F0_F0F0_F0F0_F0F0
}

/// The value of eight digits, the first in the lowest byte, added up in pairs, fours and all
/// together.
#[inline]
fn eight_digits(word: u64) -> u64 {
    let ones = word ^ ZEROS;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF
}

/// A 64-bit hash of bytes, the same on every machine and for ever (stores and digests hold it).
/// Multiply and fold, eight bytes at a time; not for adversaries.
pub fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = (bytes.len() as u64).wrapping_mul(K) ^ 0x2545_F491_4F6C_DD1D;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0u8; 8];
        word.copy_from_slice(chunk);
        state = stir(state ^ u64::from_le_bytes(word));
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        state = stir(state ^ tail(bytes, rest));
    }
    stir(state)
}

/// The last 1 to 7 bytes as a word, zeroes above.
#[inline]
fn tail(bytes: &[u8], rest: &[u8]) -> u64 {
    match bytes.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// A text's beginning, of at most `bytes` bytes and whole characters.
#[inline]
pub fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    // A character takes at most four bytes, and one begins at 0.
    let end = (bytes.saturating_sub(3)..=bytes).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The first and the last bytes of a text as words, which may overlap. With its length, that is
/// all of a text of at most 16 bytes, as most names are.
#[inline]
fn edges(text: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        return [u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last))];
    }
    [text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0]
}

/// Spreads every bit of a word over the whole word.
pub fn stir(word: u64) -> u64 {
    let wide = u128::from(word ^ 0xA076_1D64_78BD_642F) * u128::from(0xE703_7ED1_A0B4_28DBu64);
    (wide >> 64) as u64 ^ wide as u64
}

/// An interned name (queue, user, share, site ...): an index into [`Names`]. Internal: it depends
/// on which came first, so it is in no digest and no output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u32);

impl Name {
    /// The empty name: an absent value.
    pub const NONE: Name = Name(0);

    /// As an index into a dense table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All interned names. The empty text is always number 0. Names are only ever added.
#[derive(Clone, Debug)]
pub struct Names {
    /// All texts, one after the other.
    texts: String,
    entries: Vec<Entry>,
    hashes: Vec<u64>,
    /// Open addressing; 0 is free, else index + 1.
    slots: Vec<u32>,
    copying: UnderWay<NamesCopy>,
}

/// A copy under way.
#[derive(Debug)]
struct NamesCopy {
    /// Names there were when it began.
    end: usize,
    texts: String,
    entries: Vec<Entry>,
    hashes: Vec<u64>,
}

/// Where a name's text lies, and what distinguishes it from others without reading it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    edges: [u64; 2],
    start: usize,
    length: usize,
}

impl Default for Names {
    fn default() -> Self {
        let (texts, entries, hashes) = (String::new(), Vec::new(), Vec::new());
        let copying = UnderWay::default();
        let mut names = Names { texts, entries, hashes, slots: vec![0; 64], copying };
        names.intern("");
        names
    }
}

impl Names {
    /// The number of a name, given now if it is new.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash = hash(text.as_bytes());
        let at = match self.seek(text, hash) {
            Ok(name) => return name,
            Err(at) => at,
        };
        let name = Name(self.entries.len() as u32);
        let (edges, start) = (edges(text.as_bytes()), self.texts.len());
        self.texts.push_str(text);
        self.entries.push(Entry { edges, start, length: text.len() });
        self.hashes.push(hash);
        self.slots[at] = name.0 + 1;
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        name
    }

    /// The number of a name that is known already.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.seek(text, hash(text.as_bytes())).ok()
    }

    /// The number of a name, or the free slot where it would stand.
    #[inline]
    fn seek(&self, text: &str, hash: u64) -> Result<Name, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                0 => return Err(at),
                taken if self.is(Name(taken - 1), text) => return Ok(Name(taken - 1)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The text of a number that this table gave out; the empty text for any other.
    #[inline]
    pub fn text(&self, name: Name) -> &str {
        let Some(entry) = self.entries.get(name.index()) else { return "" };
        self.texts.get(entry.start..entry.start + entry.length).unwrap_or("")
    }

    /// Whether a number's text is this one.
    #[inline]
    pub fn is(&self, name: Name, text: &str) -> bool {
        let Some(entry) = self.entries.get(name.index()) else { return false };
        entry.length == text.len()
            && entry.edges == edges(text.as_bytes())
            && (entry.length <= 16 || self.is_within(entry, text.as_bytes()))
    }

    /// Whether what lies between the edges of a name is the same too.
    #[inline]
    fn is_within(&self, entry: &Entry, text: &[u8]) -> bool {
        let held = self.texts.as_bytes().get(entry.start..entry.start + entry.length);
        let Some(held) = held else { return false };
        match (held.get(8..16), text.get(8..16)) {
            (Some(held), Some(text)) if entry.length <= 24 => held == text,
            _ => held == text,
        }
    }

    /// How many names there are; every [`Name`] given out is below.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: the empty name is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn grow(&mut self) {
        self.place(self.slots.len() * 2);
    }

    /// Finds every name again, in a table of `length` slots, a power of two.
    fn place(&mut self, length: usize) {
        let mut slots = vec![0u32; length];
        let mask = slots.len() - 1;
        for (index, hash) in self.hashes.iter().enumerate() {
            let mut at = *hash as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = index as u32 + 1;
        }
        self.slots = slots;
    }
}

impl InPortions for Names {
    fn begin_copy(&mut self) {
        let end = self.entries.len();
        let (texts, entries, hashes) = (String::new(), Vec::new(), Vec::new());
        self.copying.begin(NamesCopy { end, texts, entries, hashes });
    }

    fn copy_more(&mut self, most: usize) -> usize {
        let Some(copy) = &mut self.copying.0 else { return 0 };
        let from = copy.entries.len();
        let to = copy.end.min(from.saturating_add(most));
        if from == 0 {
            copy.entries.reserve_exact(copy.end);
            copy.hashes.reserve_exact(copy.end);
            copy.texts.reserve_exact(self.texts.len());
        }
        copy.entries.extend_from_slice(&self.entries[from..to]);
        copy.hashes.extend_from_slice(&self.hashes[from..to]);
        let until = copy.entries.last().map_or(0, |last| last.start + last.length);
        copy.texts.push_str(&self.texts[copy.texts.len()..until]);
        to - from
    }

    fn finish_copy(&mut self) {
        let Some(copy) = self.copying.0.take() else { return };
        let NamesCopy { texts, entries, hashes, .. } = *copy;
        let length = (2 * entries.len()).next_power_of_two().max(64);
        (self.texts, self.entries, self.hashes) = (texts, entries, hashes);
        self.place(length);
    }
}

impl TakeCopy for Names {
    fn take_copy(&mut self) -> Self {
        Names { copying: std::mem::take(&mut self.copying), ..Names::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_names_are_their_numbers() {
        assert_eq!(Key::of(b"0"), Key(0));
        assert_eq!(Key::of(b"6543210987"), Key(6_543_210_987));
        for other in ["", "00", "01", "-1", "1e3", "9999999999999999999", "abc"] {
            assert!(!Key::of(other.as_bytes()).is_decimal(), "{other}");
        }
        assert_ne!(Key::of(b"01"), Key::of(b"1"));
    }

    /// Every length, every digit in every place, and every byte that is none.
    #[test]
    fn digits_are_read_in_every_place() {
        for length in 1..=18u32 {
            for number in [10u64.pow(length - 1), 10u64.pow(length) - 1, 123_456_789_012_345_678] {
                let text = number.to_string();
                let text = &text[..length as usize];
                assert_eq!(Some(Key::of(text.as_bytes()).0), text.parse().ok());
                for place in 0..text.len() {
                    for byte in 0..=255u8 {
                        let mut changed = text.as_bytes().to_vec();
                        changed[place] = byte;
                        let leads = length > 1 && changed[0] == b'0';
                        let is_digits = changed.iter().all(u8::is_ascii_digit);
                        assert_eq!(Key::of(&changed).is_decimal(), is_digits && !leads);
                    }
                }
            }
        }
    }

    /// Stores and digests hold hashes: they may never change.
    #[test]
    fn hashes_are_fixed() {
        let texts = ["", "a", "queue-7", "queue-17", "a name of many words"];
        let hashes = texts.map(|text| hash(text.as_bytes()));
        assert_eq!(hashes, HASHES);
        let mut padded = 0u64.to_le_bytes();
        padded[..3].copy_from_slice(b"xyz");
        assert_eq!(tail(b"xyz", b"xyz"), u64::from_le_bytes(padded));
        assert_eq!(tail(b"12345678xyz", b"xyz"), u64::from_le_bytes(padded));
    }

    const HASHES: [u64; 5] = [
        10_378_896_301_841_839_614,
        5_822_378_480_698_490_040,
        2_921_269_442_231_643_513,
        18_404_959_549_807_047_215,
        6_091_585_547_490_624_922,
    ];

    #[test]
    fn names_come_back() {
        let mut names = Names::default();
        let all: Vec<Name> = (0..5000).map(|i| names.intern(&format!("queue_{i}"))).collect();
        for (i, name) in all.iter().enumerate() {
            assert_eq!(names.text(*name), format!("queue_{i}"));
            assert_eq!(names.find(&format!("queue_{i}")), Some(*name));
            assert!(names.is(*name, &format!("queue_{i}")));
            assert!(!names.is(*name, "queue_x") && !names.is(*name, ""));
        }
        assert_eq!(names.find("nobody"), None);
        assert_eq!(names.intern(""), Name::NONE);
        assert!(names.is(Name::NONE, "") && !names.is(Name::NONE, "x"));
        assert!(!names.is(Name(9_999), "x"));
    }
}
