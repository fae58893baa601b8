//! Reading Avro's primitives from bytes that may be hostile.

use yardmaster_core::event::Garbled;

/// Reason why bytes cannot be read. Small on purpose: it is in every return value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They end early, or hold what the schema does not allow.
    Malformed,
    /// They hold a branch that our schema has no place for.
    WrongSchema,
    /// The datum that they unfold to is longer than the limit on one record.
    Oversized,
}

impl From<Fault> for Garbled {
    fn from(fault: Fault) -> Garbled {
        match fault {
            Fault::Malformed => Garbled::Malformed,
            Fault::WrongSchema => Garbled::WrongSchema,
            Fault::Oversized => Garbled::Oversized,
        }
    }
}

/// A place in a datum. Every read is checked; none allocates.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// A figure that cannot be was read as the nearest that can.
    is_corrected: bool,
    /// Fields that only a reader of the whole wants are skipped.
    is_brief: bool,
}

impl<'a> Cursor<'a> {
    /// At the start of a datum.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes, is_corrected: false, is_brief: false }
    }

    /// At the start of a datum of which only what later judgements need is wanted.
    pub fn brief(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { is_brief: true, ..Cursor::new(bytes) }
    }

    /// Whether only what later judgements need is wanted.
    pub fn is_brief(&self) -> bool {
        self.is_brief
    }

    /// All that follows is wanted.
    pub fn read_whole(&mut self) {
        self.is_brief = false;
    }

    /// Notes that a figure was read as `used` instead of as `stated`.
    #[inline(always)]
    pub fn compare<T: PartialEq>(&mut self, stated: &T, used: &T) {
        self.is_corrected |= stated != used;
    }

    /// Whether a figure that cannot be was read as the nearest that can.
    #[inline]
    pub fn is_corrected(&self) -> bool {
        self.is_corrected
    }

    /// The bytes that were not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Nothing may follow a datum.
    #[inline]
    pub fn end(&self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(Fault::Malformed) }
    }

    /// The next `count` bytes.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Fault::Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A variable-length number before its sign is unfolded.
    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Fault> {
        match self.rest {
            [first, rest @ ..] if *first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            [first, second, rest @ ..] if *second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first & 0x7F) | u64::from(*second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    /// Most long numbers are time stamps of six bytes: eight bytes are looked at together. Each
    /// holds seven bits, the last one has its top bit clear.
    #[inline]
    fn long_varint(&mut self) -> Result<u64, Fault> {
        let Some(chunk) = self.rest.first_chunk::<8>() else { return self.slow_varint() };
        let word = u64::from_le_bytes(*chunk);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.slow_varint();
        }
        let septets = word & (ends ^ (ends - 1)) & 0x7F7F_7F7F_7F7F_7F7F;
        let pairs = septets & 0x007F_007F_007F_007F | (septets & 0x7F00_7F00_7F00_7F00) >> 1;
        let fours = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2;
        self.rest = &self.rest[ends.trailing_zeros() as usize / 8 + 1..];
        Ok(fours & 0x0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4)
    }

    /// Near the end of the bytes, and beyond 56 bits; at most ten bytes make a number.
    #[inline(never)]
    fn slow_varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0u64;
        for (index, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * index);
            if *byte < 0x80 {
                if index == 9 && *byte > 1 {
                    return Err(Fault::Malformed);
                }
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(Fault::Malformed)
    }

    /// A `long`.
    #[inline(always)]
    pub fn long(&mut self) -> Result<i64, Fault> {
        let folded = self.varint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// An `int`.
    #[inline(always)]
    pub fn int(&mut self) -> Result<i32, Fault> {
        i32::try_from(self.long()?).map_err(|_| Fault::Malformed)
    }

    /// A `boolean`.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Fault> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Fault::Malformed),
        }
    }

    /// A `float`.
    #[inline]
    pub fn float(&mut self) -> Result<f32, Fault> {
        Ok(f32::from_le_bytes(self.array()?))
    }

    /// A `double`, bit for bit.
    #[inline]
    pub fn double(&mut self) -> Result<f64, Fault> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// A `fixed` of 16 bytes.
    #[inline]
    pub fn fixed16(&mut self) -> Result<[u8; 16], Fault> {
        self.array()
    }

    /// A `bytes`, where it lies.
    #[inline(always)]
    pub fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let count = usize::try_from(self.long()?).map_err(|_| Fault::Malformed)?;
        self.take(count)
    }

    /// A `string`, where it lies.
    #[inline(always)]
    pub fn string(&mut self) -> Result<&'a str, Fault> {
        if let [0, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok("");
        }
        std::str::from_utf8(self.bytes()?).map_err(|_| Fault::Malformed)
    }

    /// So many strings, one after the other, where they lie. As long as each is shorter than 64
    /// bytes, their lengths are ASCII, and the whole run is valid text just if each of them is:
    /// looking at it once is faster than looking at each.
    #[inline(always)]
    pub fn run(&mut self, count: usize) -> Result<Run<'a>, Fault> {
        let mut end = 0;
        for _ in 0..count {
            match self.rest.get(end) {
                // Neither a longer length nor one below nothing.
                Some(folded) if folded & 0x81 == 0 => end += 1 + usize::from(folded >> 1),
                _ => return self.long_run(count),
            }
        }
        let texts = self.take(end)?;
        let texts = std::str::from_utf8(texts).map_err(|_| Fault::Malformed)?;
        Ok(Run { texts, long: Cursor::new(&[]) })
    }

    /// The same, each looked at by itself.
    #[inline(never)]
    fn long_run(&mut self, count: usize) -> Result<Run<'a>, Fault> {
        let long = self.clone();
        for _ in 0..count {
            self.string()?;
        }
        Ok(Run { texts: "", long })
    }

    /// The strings of a run, all at once.
    #[inline]
    pub fn strings<const N: usize>(&mut self) -> Result<[&'a str; N], Fault> {
        let mut run = self.run(N)?;
        let mut texts = [""; N];
        for text in &mut texts {
            *text = run.next()?;
        }
        Ok(texts)
    }

    /// The place in an enum's list of symbols, or of a union's branch.
    #[inline(always)]
    pub fn index(&mut self) -> Result<usize, Fault> {
        usize::try_from(self.long()?).map_err(|_| Fault::Malformed)
    }

    /// The head of a block of array or map items: how many follow, 0 at the end. The size in
    /// bytes that a negative count brings is read over: items have their own ends.
    #[inline]
    pub fn block(&mut self) -> Result<u64, Fault> {
        let count = self.long()?;
        if count < 0 && self.long()? < 0 {
            return Err(Fault::Malformed);
        }
        Ok(count.unsigned_abs())
    }
}

/// A run of strings that are known to be text; each is cut off when it is asked for.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Lengths and strings, if every length is one byte.
    texts: &'a str,
    /// Where they lie otherwise.
    long: Cursor<'a>,
}

impl<'a> Run<'a> {
    /// The next one. There are as many as were asked for.
    #[inline(always)]
    pub fn next(&mut self) -> Result<&'a str, Fault> {
        let Some(folded) = self.texts.as_bytes().first() else { return self.long.string() };
        let end = 1 + usize::from(folded >> 1);
        let (text, rest) = self.texts.split_at_checked(end).ok_or(Fault::Malformed)?;
        self.texts = rest;
        text.get(1..).ok_or(Fault::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_unfold() {
        for (bytes, value) in [
            (&[0x00][..], 0i64),
            (&[0x01], -1),
            (&[0x02], 1),
            (&[0x80, 0x01], 64),
            (&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], i64::MAX),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], i64::MIN),
        ] {
            let mut cursor = Cursor::new(bytes);
            assert_eq!(cursor.long(), Ok(value));
            assert_eq!(cursor.end(), Ok(()));
        }
    }

    /// Every length of number, in the middle of bytes and at their end.
    #[test]
    fn numbers_of_all_lengths_unfold() {
        for shift in 0..64 {
            for value in [1i64 << shift, (1i64 << shift).wrapping_sub(1), -(1i64 << (shift / 2))] {
                let mut bytes = Vec::new();
                crate::avro::Sink { out: &mut bytes }.long(value);
                assert_eq!(Cursor::new(&bytes).long(), Ok(value));
                bytes.extend([0xFF; 9]);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(cursor.long(), Ok(value));
                assert_eq!(cursor.rest(), [0xFF; 9]);
            }
        }
    }

    #[test]
    fn runs_of_strings_are_strings() {
        let long = "x".repeat(64);
        for texts in [["", "a", "é"], ["日本", "", ""], [&long[..], "b", ""]] {
            let mut bytes = Vec::new();
            let mut sink = crate::avro::Sink { out: &mut bytes };
            texts.iter().for_each(|text| sink.string(text));
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.strings::<3>(), Ok(texts));
            assert_eq!(cursor.end(), Ok(()));
            for cut in 0..bytes.len() {
                assert_eq!(Cursor::new(&bytes[..cut]).strings::<3>(), Err(Fault::Malformed));
            }
        }
        // Two halves of a letter, in two strings; a length below nothing.
        assert_eq!(Cursor::new(&[2, 0xC3, 2, 0xA9]).strings::<2>(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[2, 0xC3, 0]).strings::<2>(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0, 1]).strings::<2>(), Err(Fault::Malformed));
    }

    #[test]
    fn bad_bytes_are_faults() {
        assert_eq!(Cursor::new(&[]).long(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0x80]).long(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0xFF; 11]).long(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0xFE, 0xFF, 0xFF, 0xFF, 0x7F]).int(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[2]).boolean(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0x01]).bytes(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0x04, b'a']).string(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0x02, 0xFF]).string(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0x01, 0x01]).block(), Err(Fault::Malformed));
        assert_eq!(Cursor::new(&[0x03, 0x08]).block(), Ok(2));
    }
}
