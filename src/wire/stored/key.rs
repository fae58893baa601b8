//! The page of the key that users' pseudonyms were made under: a state is of one key.

use super::{FORMAT, count, text};
use crate::avro::{Cursor, Fault, Sink};

/// The number the page is kept under: beyond those of all kinds of records.
pub const KEY_PAGE: u64 = 0xFD << 32;

/// Writes the page: the key's fingerprint.
pub fn write_key(fingerprint: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = Sink { out: &mut out };
    sink.count(FORMAT);
    sink.string(fingerprint);
    out
}

/// Reads it.
pub fn read_key(page: &[u8]) -> Result<String, Fault> {
    let mut at = Cursor::new(page);
    if count(&mut at)? != FORMAT {
        return Err(Fault::Malformed);
    }
    let fingerprint = text(&mut at)?;
    at.end()?;
    Ok(fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_back_and_a_cut_page_is_refused() {
        let page = write_key("0123456789abcdef");
        assert_eq!(read_key(&page).as_deref(), Ok("0123456789abcdef"));
        assert!((0..page.len()).all(|cut| read_key(&page[..cut]).is_err()));
    }
}
