//! Time stamps as text: `2024-08-08T12:35:16`, with or without a fraction; UTC unless an offset is
//! stated.

use jiff::Timestamp;
use yardmaster_core::unit::Millis;

/// Milliseconds since 1970; `None` when the text is no such stamp, or one of before.
pub fn parse(text: &str) -> Option<Millis> {
    let is_of_offset = |byte: &u8| matches!(byte, b'Z' | b'z' | b'+' | b'-');
    // The signs of a date are none of an offset.
    let has_offset = text.as_bytes().get(10..)?.iter().any(is_of_offset);
    let stamp: Result<Timestamp, jiff::Error> =
        if has_offset { text.parse() } else { format!("{text}Z").parse() };
    stamp.ok().map(|stamp| stamp.as_millisecond()).filter(|millis| *millis >= 0)
}

/// Milliseconds since 1970 of a time as Python prints the object: `datetime.datetime(2025, 3, 19,
/// 20, 58, 49, 551652)`, where seconds and microseconds are left out when they are 0.
pub(crate) fn parse_repr(text: &str) -> Option<Millis> {
    let inside = text.strip_prefix("datetime.datetime(")?.strip_suffix(')')?;
    let parts: Option<Vec<u32>> = inside.split(',').map(|part| part.trim().parse().ok()).collect();
    let parts = parts.filter(|parts| (5..=7).contains(&parts.len()))?;
    let at = |index: usize| parts.get(index).copied().unwrap_or(0);
    let micros = (at(6) < 1_000_000).then_some(at(6))?;
    let (date, time) = ((at(0), at(1), at(2)), (at(3), at(4), at(5)));
    let date = format!("{:04}-{:02}-{:02}", date.0, date.1, date.2);
    parse(&format!("{date}T{:02}:{:02}:{:02}.{micros:06}", time.0, time.1, time.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read() {
        for (text, millis) in [
            ("1970-01-01T00:00:00", Some(0)),
            ("2000-02-29T23:59:59.5", Some(951_868_799_500)),
            ("2000-03-01 00:00:00Z", Some(951_868_800_000)),
            ("2024-08-08T12:35:16", Some(1_723_120_516_000)),
            ("2014-09-26T12:17:20.263016", Some(1_411_733_840_263)),
            ("2024-08-08", None),
            ("2024-13-08T12:35:16", None),
            ("2024-08-08T12:35:16+00:00", Some(1_723_120_516_000)),
            ("2024-08-08 14:35:16.5+02:00", Some(1_723_120_516_500)),
            ("2024-08-08T12:35", Some(1_723_120_500_000)),
            ("2026-02-31T12:35:16", None),
            ("1969-12-31T23:59:59", None),
            ("2024-08-08T+2:35:16", None),
            ("", None),
        ] {
            assert_eq!(parse(text), millis, "{text}");
        }
    }

    #[test]
    fn printed_objects_are_read() {
        let with_all = "datetime.datetime(2025, 3, 19, 20, 58, 49, 551652)";
        for (text, same) in [
            (with_all, "2025-03-19 20:58:49.551652"),
            ("datetime.datetime(2025, 5, 8, 19, 46, 0, 888)", "2025-05-08 19:46:00.000888"),
            ("datetime.datetime(2025, 3, 19, 20, 58, 49)", "2025-03-19 20:58:49"),
            ("datetime.datetime(2025, 3, 19, 20, 58)", "2025-03-19 20:58:00"),
        ] {
            assert!(parse(same).is_some());
            assert_eq!(parse_repr(text), parse(same), "{text}");
        }
        for text in ["datetime.datetime(2025, 3, 19)", "datetime.datetime()", "datetime.date(1, 2)"]
        {
            assert_eq!(parse_repr(text), None, "{text}");
        }
    }
}
