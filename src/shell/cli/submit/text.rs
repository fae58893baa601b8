//! Text files that a user names.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use yardmaster_core::domain::nordugrid::xrsl::TEXT_BYTES_MAX;

/// Mark that some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Why a file is no text.
pub(super) enum Unread {
    /// It cannot be read.
    File(io::Error),
    /// It has more than [`TEXT_BYTES_MAX`] bytes.
    TooLong,
    /// A byte is not part of a text in UTF-8.
    NotText(BytePlace),
}

/// Where the first byte stands that is not UTF-8.
pub(super) struct BytePlace {
    /// Line, from 1.
    line: usize,
    /// Column, from 1, in characters.
    column: usize,
    /// The byte.
    byte: u8,
}

impl fmt::Display for BytePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BytePlace { line, column, byte } = self;
        write!(f, "{line}:{column}: the byte {byte:#04x} is not UTF-8")
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::File(why) => why.fmt(f),
            Unread::TooLong => {
                f.write_str("it has more than 1,048,576 bytes, the most that is read")
            }
            Unread::NotText(place) => place.fmt(f),
        }
    }
}

/// The text of a file, without a byte order mark. Of a file that is too long no more is read than
/// shows that it is.
///
/// # Errors
/// See [`Unread`].
pub(super) fn text(path: &Path) -> Result<String, Unread> {
    let most = BYTE_ORDER_MARK.len() + TEXT_BYTES_MAX + 1;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Unread::File)?;
    file.take(most as u64).read_to_end(&mut bytes).map_err(Unread::File)?;
    if bytes.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(Unread::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| Unread::NotText(place(&error)))
}

fn place(error: &std::string::FromUtf8Error) -> BytePlace {
    let (before, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
    let before = String::from_utf8_lossy(before);
    let (line, last) = before.split('\n').enumerate().last().unwrap_or_default();
    let byte = rest.first().copied().unwrap_or_default();
    BytePlace { line: line + 1, column: last.chars().count() + 1, byte }
}
