//! The envelope of a record in a file: what a log knows of it beside its bytes.

use super::ocf::{get_bytes, get_long, put_bytes, put_long};
use std::ops::Range;
use yardmaster_core::unit::Millis;

/// The schema in files of earlier versions, without its docs: the same layout under other names.
/// Such files are read, and appended to.
pub const EARLIER: &str = concat!(
    r#"{"name":"yardmaster.log.Envelope","type":"record","fields":[{"name":"offset","type":"long"},"#,
    r#"{"name":"timestamp","type":{"type":"long","logicalType":"timestamp-millis"}},"#,
    r#"{"name":"timestamp_type","type":"#,
    r#"{"name":"yardmaster.log.TimestampType","type":"enum","symbols":["CREATE","APPEND"]}},"#,
    r#"{"name":"key","type":["null","bytes"]},{"name":"value","type":["null","bytes"]},"#,
    r#"{"name":"headers","type":{"type":"array","items":{"name":"yardmaster.log.Header","#,
    r#""type":"record","fields":[{"name":"name","type":"string"},"#,
    r#"{"name":"value","type":"bytes"}]}}}]}"#,
);

/// Origin of a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The producer of the record.
    Create = 0,
    /// The log, when it was appended.
    Append = 1,
}

/// A record to be written.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Offset in its lane.
    pub offset: u64,
    /// Time stamp; ms since 1970.
    pub timestamp: Millis,
    /// Origin of the time stamp.
    pub stamp: Stamp,
    /// Key; `None` for a null.
    pub key: Option<&'a [u8]>,
    /// Value; `None` for a null.
    pub value: Option<&'a [u8]>,
    /// Headers: name and value.
    pub headers: &'a [(String, Vec<u8>)],
}

/// Where the parts of a record lie in the bytes it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Offset in its lane.
    pub offset: u64,
    /// Time stamp; ms since 1970.
    pub timestamp: Millis,
    /// Origin of the time stamp.
    pub stamp: Stamp,
    /// Key; `None` for a null.
    pub key: Option<Range<usize>>,
    /// Value; `None` for a null.
    pub value: Option<Range<usize>>,
    /// The headers, still encoded.
    headers: Range<usize>,
}

/// Appends a record.
pub fn encode(bytes: &mut Vec<u8>, envelope: &Envelope<'_>) {
    put_long(bytes, envelope.offset as i64);
    put_long(bytes, envelope.timestamp);
    put_long(bytes, envelope.stamp as i64);
    for part in [envelope.key, envelope.value] {
        match part {
            None => put_long(bytes, 0),
            Some(part) => {
                put_long(bytes, 1);
                put_bytes(bytes, part);
            }
        }
    }
    if !envelope.headers.is_empty() {
        put_long(bytes, envelope.headers.len() as i64);
        for (name, value) in envelope.headers {
            put_bytes(bytes, name.as_bytes());
            put_bytes(bytes, value);
        }
    }
    put_long(bytes, 0);
}

/// Reads the record at `at` and moves behind it; `None` when there is none.
#[inline]
pub fn decode(bytes: &[u8], at: &mut usize) -> Option<Parts> {
    let offset = u64::try_from(get_long(bytes, at)?).ok()?;
    let timestamp = get_long(bytes, at)?;
    let stamp = match get_long(bytes, at)? {
        0 => Stamp::Create,
        1 => Stamp::Append,
        _ => return None,
    };
    let key = nullable(bytes, at)?;
    let value = nullable(bytes, at)?;
    let start = *at;
    walk_headers(bytes, at, |_, _| {})?;
    Some(Parts { offset, timestamp, stamp, key, value, headers: start..*at })
}

impl Parts {
    /// The record, to be written again. `headers` are its own, as [`Parts::headers`] gave them.
    pub fn envelope<'a>(&self, bytes: &'a [u8], headers: &'a [(String, Vec<u8>)]) -> Envelope<'a> {
        Envelope {
            offset: self.offset,
            timestamp: self.timestamp,
            stamp: self.stamp,
            key: self.key.clone().map(|span| &bytes[span]),
            value: self.value.clone().map(|span| &bytes[span]),
            headers,
        }
    }

    /// The headers: name and value. A name that is not UTF-8 is shown with marks in it.
    pub fn headers(&self, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut headers = Vec::new();
        let mut at = self.headers.start;
        // The same walk gave the range, so it cannot end early here.
        let _ = walk_headers(bytes, &mut at, |name, value| {
            headers.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
        });
        headers
    }
}

#[inline]
fn nullable(bytes: &[u8], at: &mut usize) -> Option<Option<Range<usize>>> {
    match get_long(bytes, at)? {
        0 => Some(None),
        1 => Some(Some(get_bytes(bytes, at)?)),
        _ => None,
    }
}

#[inline]
fn walk_headers(bytes: &[u8], at: &mut usize, mut each: impl FnMut(&[u8], &[u8])) -> Option<()> {
    loop {
        let mut count = get_long(bytes, at)?;
        if count == 0 {
            return Some(());
        }
        if count < 0 {
            // A negative count is followed by the size of the block in bytes.
            get_long(bytes, at)?;
            count = count.checked_neg()?;
        }
        for _ in 0..count {
            let name = get_bytes(bytes, at)?;
            let value = get_bytes(bytes, at)?;
            each(&bytes[name], &bytes[value]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_comes_back() {
        let headers = [("a".to_string(), b"1".to_vec()), ("b".to_string(), Vec::new())];
        for headers in [&headers[..], &[]] {
            for (key, value) in [(None, Some(&b"v"[..])), (Some(&b"k"[..]), None)] {
                let stamp = Stamp::Append;
                let envelope = Envelope { offset: 7, timestamp: -5, stamp, key, value, headers };
                let mut bytes = b"before".to_vec();
                encode(&mut bytes, &envelope);
                let mut at = 6;
                let parts = decode(&bytes, &mut at).unwrap();
                assert_eq!(at, bytes.len());
                assert_eq!((parts.offset, parts.timestamp, parts.stamp), (7, -5, stamp));
                assert_eq!(parts.key.clone().map(|span| &bytes[span]), key);
                assert_eq!(parts.value.clone().map(|span| &bytes[span]), value);
                assert_eq!(parts.headers(&bytes), headers);
                for length in 6..bytes.len() {
                    assert_eq!(decode(&bytes[..length], &mut 6), None);
                }
            }
        }
    }
}
