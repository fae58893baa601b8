//! One column's value: a [`Scalar`], where a number may also come as `{scale, value}`.
//!
//! Debezium writes a NUMBER without precision (Oracle) as an object of the scale and the unscaled
//! integer in base64, big-endian, in two's complement. With `decimal.handling.mode=precise` other
//! numbers come as base64 alone; their scale is in the schema only, so they cannot be read. No
//! such text is taken for a number by mistake: that of a number from 0 begins with a letter.

use crate::dialect::scalar::{Any, Scalar};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Reads a value as a [`Scalar`]; `{scale, value}` is a number.
pub(super) struct Cell;

impl<'de> DeserializeSeed<'de> for Cell {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Scalar<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar<'de>, E> {
        Any.visit_unit()
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Scalar<'de>, E> {
        Any.visit_bool(flag)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar<'de>, E> {
        Any.visit_i64(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar<'de>, E> {
        Any.visit_u64(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar<'de>, E> {
        Any.visit_f64(number)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Any.visit_borrowed_str(text)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar<'de>, E> {
        Any.visit_str(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Scalar<'de>, A::Error> {
        Any.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar<'de>, A::Error> {
        let (mut scale, mut value) = (Scalar::Absent, Scalar::Absent);
        while let Some(name) = entries.next_key::<Name>()? {
            match name {
                Name::Scale => scale = entries.next_value()?,
                Name::Value => value = entries.next_value()?,
                Name::Other => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        let number = match (scale, value) {
            (Scalar::Int(scale), Scalar::Text(value)) => number(scale, &value),
            _ => None,
        };
        Ok(number.unwrap_or(Scalar::Object))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Name {
    Scale,
    Value,
    #[serde(other)]
    Other,
}

/// The same as a floating-point number.
pub(super) fn number_of(scale: i64, base64: &str) -> Option<f64> {
    match number(scale, base64)? {
        Scalar::Int(number) => Some(number as f64),
        Scalar::Float(number) => Some(number),
        _ => None,
    }
}

/// The number of an unscaled integer in base64; `None` when it is none or has more than 128 bits.
fn number(scale: i64, base64: &str) -> Option<Scalar<'static>> {
    let unscaled = integer(base64)?;
    if scale <= 0 {
        let factor = 10_i128.checked_pow(u32::try_from(scale.checked_neg()?).ok()?)?;
        return Some(whole(unscaled.checked_mul(factor)?));
    }
    let factor = 10_i128.checked_pow(u32::try_from(scale).ok()?)?;
    match unscaled % factor {
        0 => Some(whole(unscaled / factor)),
        _ => Some(Scalar::Float(unscaled as f64 / factor as f64)),
    }
}

fn whole(number: i128) -> Scalar<'static> {
    i64::try_from(number).map_or(Scalar::Float(number as f64), Scalar::Int)
}

/// Bytes of base64 as a signed big-endian integer.
fn integer(base64: &str) -> Option<i128> {
    let (mut bits, mut bit_count, mut bytes) = (0_u32, 0, Vec::with_capacity(16));
    for symbol in base64.trim_end_matches('=').bytes() {
        let six = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six)) & 0xFFFF;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count) as u8);
        }
    }
    let (first, most) = (*bytes.first()?, size_of::<i128>());
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    (bytes.len() <= most)
        .then(|| bytes.iter().fold(sign, |number, byte| number << 8 | i128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unscaled_integers_are_read_with_their_scale() {
        for (scale, base64, wants) in [
            (0, "Bwg=", Some(Scalar::Int(1800))),
            (2, "Sw==", Some(Scalar::Float(0.75))),
            (0, "AYNuIwA=", Some(Scalar::Int(6_500_000_512))),
            (0, "/w==", Some(Scalar::Int(-1))),
            (-2, "Bw==", Some(Scalar::Int(700))),
            (1, "Rg==", Some(Scalar::Int(7))),
            (0, "", None),
            (0, "not base64", None),
            (0, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", None),
            (99, "Bwg=", None),
            (i64::MIN, "Bwg=", None),
        ] {
            assert_eq!(number(scale, base64), wants, "{scale} {base64}");
        }
    }
}
