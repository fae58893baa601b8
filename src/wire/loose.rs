//! JSON and numbers as other systems write them: numbers as text or as floats, `None` for nothing,
//! a byte order mark, Python's `NaN` and `Infinity`.

use serde_json::{Number, Value};

/// Beyond this a float does not hold every whole number.
const WHOLE_MAX: f64 = 9e15;

/// Whether text stands for no value: empty, or the nothing of Python or SQL.
pub(crate) fn is_unset(text: &str) -> bool {
    matches!(text.trim(), "" | "None" | "NULL")
}

/// A whole number in text: `8`, ` 8 `, `48000.0`. Python's `int()` drops the fraction of a float,
/// and reads no text that has one.
pub(crate) fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let exact = || text.parse().ok().filter(|number: &f64| number.fract() == 0.0);
    text.parse().ok().or_else(|| whole_of(exact()?))
}

/// A number in text, finite.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// A float without its fraction.
pub(crate) fn whole_of(number: f64) -> Option<i64> {
    (number.abs() < WHOLE_MAX).then_some(number as i64)
}

/// The whole number of a value: a number, or text of one.
pub(crate) fn whole_in(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => whole_number(number),
        Value::String(text) => whole(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A JSON number without its fraction.
pub(crate) fn whole_number(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| whole_of(number.as_f64()?))
}

/// The number of a value: a number, or text of one.
pub(crate) fn number_in(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => self::number(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads JSON bytes; where they are none, once more with what Python's `json` writes and JSON does
/// not have put right: a byte order mark at the front goes, `NaN` and `Infinity` are no values.
///
/// # Errors
/// They are no JSON whichever way; of the bytes as they are.
pub(crate) fn read<T>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    read(bytes).or_else(|error| match mended(bytes) {
        Some(mended) => read(&mended).map_err(|_| error),
        None => Err(error),
    })
}

/// JSON without a byte order mark, and with nulls for numbers that JSON does not have; `None` where
/// it has neither.
pub(crate) fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    const NONE: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let start = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    let mut mended: Vec<u8> = Vec::new();
    let (mut at, mut kept, mut is_text) = (start, start, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let none = NONE.iter().find(|word| !is_text && rest.starts_with(word));
        match (rest[0], none) {
            (_, Some(word)) => {
                mended.extend_from_slice(&bytes[kept..at]);
                mended.extend_from_slice(b"null");
                at += word.len();
                kept = at;
            }
            (b'\\', None) if is_text => at += 2,
            (byte, None) => {
                is_text ^= byte == b'"';
                at += 1;
            }
        }
    }
    (kept > 0).then(|| {
        mended.extend_from_slice(&bytes[kept..]);
        mended
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_read_however_it_is_written() {
        for (value, wants) in [
            (json!(8), Some(8)),
            (json!(8.0), Some(8)),
            (json!("8"), Some(8)),
            (json!(" -1 "), Some(-1)),
            (json!("48000.0"), Some(48_000)),
            (json!(14.5), Some(14)),
            (json!("14.5"), None),
            (json!("unlimited"), None),
            (json!("inf"), None),
            (json!("nan"), None),
            (json!(1e300), None),
            (json!(""), None),
            (json!(true), None),
            (json!(null), None),
            (json!([8]), None),
        ] {
            assert_eq!(whole_in(&value), wants, "{value}");
        }
        assert_eq!([json!("14.5"), json!(14.5)].map(|it| number_in(&it)), [Some(14.5); 2]);
        assert_eq!([json!("1e999"), json!("x")].map(|it| number_in(&it)), [None; 2]);
    }

    #[test]
    fn what_python_writes_is_read_and_text_is_left_alone() {
        let value = |text: &str| {
            read(text.as_bytes(), |bytes| serde_json::from_slice::<Value>(bytes))
                .map_err(|error| error.to_string())
        };
        let named = json!({"NaN \"NaN": "a NaN, -Infinity"});
        assert_eq!(value(&named.to_string()), Ok(named));
        let text = "\u{feff}{\"a\": NaN, \"b\": [-Infinity, Infinity], \"c\\\"NaN\": \"NaN\"}";
        assert_eq!(value(text), Ok(json!({"a": null, "b": [null, null], "c\"NaN": "NaN"})));
        assert!(value("{\"a\": NaNo}").unwrap_err().contains("expected value"));
        assert!(value("\"NaN").is_err() && value("").is_err() && value("\"a\\").is_err());
    }
}
