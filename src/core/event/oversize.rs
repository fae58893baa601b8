//! The bounds on a record's length: the one place that says which record is too long to be read,
//! for the engine and for all that write records for it.

use super::{Event, FieldName, longest_name};
use std::fmt;

/// How much of a name that is too long is shown; characters.
const SHOWN: usize = 40;

/// Why a record is [`Garbled::Oversized`](super::Garbled::Oversized).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize<'a> {
    /// It has more bytes than `max_record_bytes`.
    Record {
        /// Its length; bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// It has a name of more bytes than `name_bytes`.
    Name {
        /// The name.
        name: FieldName<'a>,
        /// The limit.
        most: usize,
    },
}

impl<'a> Oversize<'a> {
    /// Of a record's length; `most`: `max_record_bytes`.
    #[inline]
    pub fn of_record(bytes: usize, most: usize) -> Option<Oversize<'static>> {
        (bytes > most).then_some(Oversize::Record { bytes, most })
    }

    /// Of an event, read of so many bytes; `most`: `name_bytes`. Most records are shorter than one
    /// name may be.
    #[inline]
    pub fn of_event(event: &'a Event<'_>, bytes: usize, most: usize) -> Option<Oversize<'a>> {
        if bytes > most { Oversize::of_name(longest_name(event), most) } else { None }
    }

    /// Of the longest name of what becomes a record; `most`: `name_bytes`.
    pub fn of_name(name: FieldName<'a>, most: usize) -> Option<Oversize<'a>> {
        (name.text.len() > most).then_some(Oversize::Name { name, most })
    }
}

impl fmt::Display for Oversize<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Oversize::Record { bytes, most } => {
                write!(f, "{bytes} bytes, more than max_record_bytes of {most}")
            }
            Oversize::Name { name: FieldName { field, text }, most } => {
                let (shown, bytes) = (text.chars().take(SHOWN).collect::<String>(), text.len());
                write!(
                    f,
                    "field `{field}`: found {shown:?}..., a name of {bytes} bytes, more than \
                     name_bytes of {most}"
                )
            }
        }
    }
}
