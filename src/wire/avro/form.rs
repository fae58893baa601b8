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
