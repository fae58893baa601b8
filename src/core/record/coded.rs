//! Other ways to write and read a value than that of its type.

use super::{Coded, Decode, Decoder, Encode, Encoder};

/// The number of a try, of 32 bits: one that is larger is refused. It tells one thing from another,
/// and cut it would stand for another.
pub(crate) struct Attempt;

impl<'a> Coded<'a, u32> for Attempt {
    fn encode<E: Encoder>(value: &u32, to: &mut E) {
        value.encode(to);
    }

    #[inline(always)]
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<u32, D::Fault> {
        from.attempt()
    }
}

/// A figure that cannot be below 0: what is, or is not finite, is 0 or absent.
pub(crate) struct Quantity;

impl<'a> Coded<'a, f64> for Quantity {
    fn encode<E: Encoder>(value: &f64, to: &mut E) {
        value.encode(to);
    }

    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<f64, D::Fault> {
        Ok(from.quantity()?.unwrap_or(0.0))
    }
}

impl<'a> Coded<'a, Option<f64>> for Quantity {
    fn encode<E: Encoder>(value: &Option<f64>, to: &mut E) {
        value.filter(|it| it.is_finite()).encode(to);
    }

    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Option<f64>, D::Fault> {
        if from.present()? { from.quantity() } else { Ok(None) }
    }
}

/// 64 bits that are no amount.
pub(crate) struct Word;

impl<'a> Coded<'a, u64> for Word {
    fn encode<E: Encoder>(value: &u64, to: &mut E) {
        to.word(*value);
    }

    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<u64, D::Fault> {
        from.word()
    }
}

impl<'a> Coded<'a, Vec<u64>> for Word {
    fn encode<E: Encoder>(value: &Vec<u64>, to: &mut E) {
        let words: Vec<i64> = value.iter().map(|word| *word as i64).collect();
        words.encode(to);
    }

    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Vec<u64>, D::Fault> {
        let words: Vec<i64> = Decode::decode(from)?;
        Ok(words.into_iter().map(|word| word as u64).collect())
    }
}

/// A field that is derived when a record is read: part of its content, and of no other form.
pub(crate) struct Derived;

impl<'a, V: Default + Encode> Coded<'a, V> for Derived {
    fn encode<E: Encoder>(value: &V, to: &mut E) {
        if E::IS_CONTENT {
            value.encode(to);
        }
    }

    fn decode<D: Decoder<'a>>(_: &mut D) -> Result<V, D::Fault> {
        Ok(V::default())
    }
}
