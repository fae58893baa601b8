//! A field of foreign JSON: read as it is, checked when it is asked for. A wrong type is
//! no error of the whole text, so that the reason can name the field, what was found and what is
//! wanted.

use crate::{loose, stamp};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use yardmaster_core::unit::{Millis, SECOND};

/// How much of a found text a reason shows; characters.
const SHOWN: usize = 40;
/// Stamps beyond this are no seconds since 1970; year 9999.
const SECONDS_MAX: f64 = 253_402_300_799.0;

/// One value. A list or an object keeps nothing of its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Scalar<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Int(i64),
    Float(f64),
    Flag(bool),
    List,
    Object,
}

impl<'a> Scalar<'a> {
    /// No value: left out, null, empty, or the `None` of a Python that printed itself.
    pub fn is_unset(&self) -> bool {
        match self {
            Scalar::Absent => true,
            Scalar::Text(text) => loose::is_unset(text),
            _ => false,
        }
    }

    /// Why the value is not what a field needs.
    pub fn wrong(&self, field: &str, wants: &str) -> String {
        let found = match self {
            Scalar::Absent => return format!("field `{field}` is missing, wants {wants}"),
            Scalar::Text(text) if text.chars().count() > SHOWN => {
                format!("{:?}...", text.chars().take(SHOWN).collect::<String>())
            }
            Scalar::Text(text) => format!("{text:?}"),
            Scalar::Int(number) => number.to_string(),
            Scalar::Float(number) => number.to_string(),
            Scalar::Flag(flag) => flag.to_string(),
            Scalar::List => "a list".to_owned(),
            Scalar::Object => "an object".to_owned(),
        };
        format!("field `{field}`: found {found}, wants {wants}")
    }

    /// Text; empty when there is no value. A number is taken as it is written.
    pub fn text(self, field: &str) -> Result<Cow<'a, str>, String> {
        match self {
            it if it.is_unset() => Ok(Cow::Borrowed("")),
            Scalar::Text(text) => Ok(text),
            Scalar::Int(number) => Ok(Cow::Owned(number.to_string())),
            other => Err(other.wrong(field, "text")),
        }
    }

    /// Text that must be there.
    pub fn needed(self, field: &str) -> Result<Cow<'a, str>, String> {
        if self.is_unset() {
            return Err(self.wrong(field, "a word"));
        }
        self.text(field)
    }

    /// The kind of message.
    pub fn kind(&self, field: &str) -> Result<&str, String> {
        match self {
            Scalar::Text(text) if !text.is_empty() => Ok(text),
            other => Err(other.wrong(field, "the kind of message")),
        }
    }

    /// An amount, also as text of digits; 0 when there is no value.
    pub fn amount(&self, field: &str) -> Result<u64, String> {
        let wants = "a whole number, 0 or more";
        match self {
            it if it.is_unset() => Ok(0),
            Scalar::Int(number) => u64::try_from(*number).map_err(|_| self.wrong(field, wants)),
            Scalar::Text(text) => {
                let long = || loose::whole(text)?.try_into().ok();
                text.trim().parse().ok().or_else(long).ok_or_else(|| self.wrong(field, wants))
            }
            Scalar::Float(number) => {
                let whole = loose::whole_of(*number).and_then(|it| u64::try_from(it).ok());
                whole.filter(|_| number.fract() == 0.0).ok_or_else(|| self.wrong(field, wants))
            }
            other => Err(other.wrong(field, wants)),
        }
    }

    /// A PanDA number: a whole number above 0 and below 2^63.
    pub fn id(&self, field: &str) -> Result<u64, String> {
        let number = self.amount(field).unwrap_or(0);
        let fits = (1..=i64::MAX as u64).contains(&number);
        fits.then_some(number).ok_or_else(|| self.wrong(field, "a whole number above 0"))
    }

    /// The same, or 0 when there is no value.
    pub fn id_if_stated(&self, field: &str) -> Result<u64, String> {
        match self.is_unset() || *self == Scalar::Int(0) {
            true => Ok(0),
            false => self.id(field),
        }
    }

    /// A time: seconds since 1970, with a fraction or without, as a number or its text, or a stamp
    /// in UTC. `None` when there is no value.
    pub fn time(&self, field: &str) -> Result<Option<Millis>, String> {
        let seconds = |seconds: f64| {
            let fits = seconds.is_finite() && (0.0..=SECONDS_MAX).contains(&seconds);
            fits.then(|| (seconds * SECOND as f64).round() as Millis)
        };
        let found = match self {
            it if it.is_unset() => return Ok(None),
            Scalar::Int(number) => seconds(*number as f64),
            Scalar::Float(number) => seconds(*number),
            Scalar::Text(text) => stamp::parse(text)
                .or_else(|| stamp::parse_repr(text))
                .or_else(|| seconds(text.trim().parse().ok()?)),
            Scalar::Absent | Scalar::Flag(_) | Scalar::List | Scalar::Object => None,
        };
        let wants = "seconds since 1970, or a time as 2025-03-20 20:15:43.153695 in UTC";
        found.map(Some).ok_or_else(|| self.wrong(field, wants))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Scalar<'a>, D::Error> {
        from.deserialize_any(Any)
    }
}

/// Reads any JSON value as a [`Scalar`].
pub(super) struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Absent)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(i64::try_from(number).map_or(Scalar::Float(number as f64), Scalar::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar<'de>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar<'de>, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Object)
    }
}
