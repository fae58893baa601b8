//! Records in Avro's bytes: how the fields that core lists are written and read.
//!
//! Reading trusts nothing: amounts below 0 are 0, counts beyond their type are its largest, a
//! number that is not finite, or a quantity below 0, is absent or 0; the caller learns that one was
//! corrected. What is no symbol of an enum is malformed.

use super::cursor::Run;
use super::{Cursor, Fault, Sink};
use yardmaster_core::record::{Decoder, Encoder};

impl Encoder for Sink<'_> {
    fn text(&mut self, text: &str) {
        self.string(text);
    }

    fn long(&mut self, number: i64) {
        Sink::long(self, number);
    }

    fn amount(&mut self, amount: u64) {
        Sink::amount(self, amount);
    }

    fn word(&mut self, word: u64) {
        Sink::long(self, word as i64);
    }

    /// A number that is not finite is written as 0, so that the bytes are the same for all readers.
    fn number(&mut self, number: f64) {
        self.double(finite(number).unwrap_or(0.0));
    }

    fn boolean(&mut self, value: bool) {
        Sink::boolean(self, value);
    }

    fn symbol(&mut self, place: usize) {
        self.index(place);
    }

    fn present(&mut self, is_present: bool) {
        self.index(usize::from(is_present));
    }

    fn items(&mut self, count: usize) {
        if count > 0 {
            self.index(count);
        }
    }

    fn item(&mut self) {}

    fn end(&mut self) {
        self.index(0);
    }

    fn raw(&mut self, bytes: &[u8]) {
        Sink::raw(self, bytes);
    }
}

impl<'a> Decoder<'a> for Cursor<'a> {
    type Fault = Fault;
    type Run = Run<'a>;

    #[inline(always)]
    fn text(&mut self) -> Result<&'a str, Fault> {
        self.string()
    }

    #[inline(always)]
    fn run(&mut self, count: usize) -> Result<Run<'a>, Fault> {
        Cursor::run(self, count)
    }

    #[inline(always)]
    fn next(run: &mut Run<'a>) -> Result<&'a str, Fault> {
        run.next()
    }

    #[inline(always)]
    fn long(&mut self) -> Result<i64, Fault> {
        Cursor::long(self)
    }

    #[inline(always)]
    fn int(&mut self) -> Result<i32, Fault> {
        Cursor::int(self)
    }

    #[inline(always)]
    fn amount(&mut self) -> Result<u64, Fault> {
        let stated = Cursor::long(self)?;
        let used = stated.max(0);
        self.compare(&stated, &used);
        Ok(used as u64)
    }

    #[inline(always)]
    fn count(&mut self) -> Result<u32, Fault> {
        let stated = Cursor::long(self)?;
        let used = stated.clamp(0, i64::from(u32::MAX));
        self.compare(&stated, &used);
        Ok(used as u32)
    }

    #[inline(always)]
    fn attempt(&mut self) -> Result<u32, Fault> {
        u32::try_from(self.amount()?).map_err(|_| Fault::Malformed)
    }

    #[inline(always)]
    fn word(&mut self) -> Result<u64, Fault> {
        Cursor::long(self).map(|word| word as u64)
    }

    fn number(&mut self) -> Result<f64, Fault> {
        let stated = self.double()?;
        let used = finite(stated);
        self.compare(&Some(stated), &used);
        Ok(used.unwrap_or(0.0))
    }

    fn quantity(&mut self) -> Result<Option<f64>, Fault> {
        let stated = self.double()?;
        let used = finite(stated).filter(|value| *value >= 0.0);
        self.compare(&Some(stated), &used);
        Ok(used)
    }

    #[inline(always)]
    fn boolean(&mut self) -> Result<bool, Fault> {
        Cursor::boolean(self)
    }

    #[inline(always)]
    fn symbol(&mut self, count: usize) -> Result<usize, Fault> {
        let place = self.index()?;
        if place < count { Ok(place) } else { Err(Fault::Malformed) }
    }

    #[inline(always)]
    fn present(&mut self) -> Result<bool, Fault> {
        match self.index()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Fault::Malformed),
        }
    }

    fn items(&mut self) -> Result<usize, Fault> {
        usize::try_from(self.block()?).map_err(|_| Fault::Malformed)
    }

    /// An item takes at least a byte, so a count that lies ends with the bytes.
    fn items_max(&self) -> usize {
        self.rest().len()
    }

    fn raw<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.array()
    }

    fn is_brief(&self) -> bool {
        Cursor::is_brief(self)
    }

    fn read_whole(&mut self) {
        Cursor::read_whole(self);
    }

    fn refuse(&self) -> Fault {
        Fault::Malformed
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read;
    use std::collections::BTreeMap;
    use yardmaster_core::event::{DomainRecord, DomainValue};
    use yardmaster_core::record::Decode;

    /// Properties: a map to a union.
    type Values = BTreeMap<String, DomainValue>;

    /// What a block can claim at most: 2^63 - 1 entries, and 2^63 of them in no bytes.
    const ENDLESS: [&[u8]; 2] = [
        &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0],
    ];

    fn values(parts: &[&[u8]]) -> Result<Values, Fault> {
        read(&parts.concat())
    }

    fn whole(entries: &[(&str, i64)]) -> Result<Values, Fault> {
        let value =
            |(name, number): &(&str, i64)| ((*name).to_owned(), DomainValue::Whole(*number));
        Ok(entries.iter().map(value).collect())
    }

    /// `a` and `b` with a whole number each: length of the name, name, branch, number.
    const A1: &[u8] = &[2, b'a', 2, 2];
    const A2: &[u8] = &[2, b'a', 2, 4];
    const B3: &[u8] = &[2, b'b', 2, 6];

    #[test]
    fn a_map_comes_in_blocks_with_or_without_their_sizes() {
        assert_eq!(values(&[&[0]]), whole(&[]));
        for parts in [
            &[&[4], A1, B3, &[0]][..],
            &[&[2], A1, &[2], B3, &[0]],
            // A negative count, and the bytes of the block; a size that is wrong is read over.
            &[&[3, 16], A1, B3, &[0]],
            &[&[1, 8], B3, &[2], A1, &[0]],
            &[&[3, 0], B3, A1, &[0]],
        ] {
            assert_eq!(values(parts), whole(&[("a", 1), ("b", 3)]), "{parts:?}");
        }
    }

    #[test]
    fn of_two_entries_with_one_name_the_last_counts() {
        assert_eq!(values(&[&[6], A1, B3, A2, &[0]]), whole(&[("a", 2), ("b", 3)]));
        assert_eq!(values(&[&[2], A2, &[1, 8], A1, &[0]]), whole(&[("a", 1)]));
    }

    #[test]
    fn a_map_that_lies_is_malformed() {
        for head in ENDLESS {
            assert_eq!(values(&[head]), Err(Fault::Malformed));
            assert_eq!(values(&[head, A1, &[0; 40]]), Err(Fault::Malformed));
            // A list in it.
            assert_eq!(values(&[&[2, 2, b'a', 8], head, &[0; 40]]), Err(Fault::Malformed));
        }
        assert_eq!(values(&[&[1, 1], A1, &[0]]), Err(Fault::Malformed), "a size below 0");
        for branch in [1, 10, 0x7F] {
            assert_eq!(values(&[&[2, 2, b'a', branch, 2, 0]]), Err(Fault::Malformed), "{branch}");
        }
        assert_eq!(values(&[&[2, 2, 0xFF, 2, 2, 0]]), Err(Fault::Malformed), "no text");
    }

    #[test]
    fn every_type_of_a_property_comes_back_and_none_that_is_cut_does() {
        let list = vec!["x".to_owned(), String::new()];
        let all = [
            ("flag", DomainValue::Flag(true)),
            ("whole", DomainValue::Whole(i64::MIN)),
            ("number", DomainValue::Number(-0.5)),
            ("text", DomainValue::Text("UP".to_owned())),
            ("list", DomainValue::List(list)),
        ];
        let values = all.map(|(name, value)| (name.to_owned(), value)).into();
        let (kind, name) = ("partition".to_owned(), "batch".to_owned());
        let record = DomainRecord { kind, name, changed_at: 7, values };
        let mut bytes = Vec::new();
        crate::record::write(&mut bytes, &record);
        let datum = &bytes[crate::avro::HEADER_BYTES..];
        for end in 0..datum.len() {
            assert_eq!(read::<DomainRecord>(&datum[..end]), Err(Fault::Malformed), "{end}");
        }
        assert_eq!(read(datum), Ok(record));
    }

    #[test]
    fn a_number_of_a_property_that_is_not_finite_is_0() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let datum = [&[2, 2, b'a', 4][..], &bad.to_le_bytes(), &[0]].concat();
            let mut at = Cursor::new(&datum);
            let read = Values::decode(&mut at).unwrap();
            assert_eq!((&read["a"], at.is_corrected()), (&DomainValue::Number(0.0), true));
            let mut written = Vec::new();
            let values = Values::from([("a".to_owned(), DomainValue::Number(bad))]);
            yardmaster_core::record::Encode::encode(&values, &mut Sink { out: &mut written });
            assert_eq!(crate::record::read(&written), Ok(read));
        }
    }
}
