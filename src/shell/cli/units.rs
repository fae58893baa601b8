//! Sizes and times for people.

use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Names of sizes, each a thousand of the one before.
const SIZES: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

/// A number of bytes with three digits: `37.6 GB`.
pub fn bytes(bytes: u64) -> String {
    let (mut size, mut at) = (bytes as f64, 0);
    // 999.5 is rounded to 1000, which has four digits.
    while size >= 999.5 && at + 1 < SIZES.len() {
        size /= 1_000.0;
        at += 1;
    }
    let digits = match size {
        _ if at == 0 => 0,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{size:.digits$} {}", SIZES.get(at).copied().unwrap_or_default())
}

/// A time with its two largest units: `3 h 12 min`.
pub fn span(millis: Millis) -> String {
    let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")];
    let sign = if millis < 0 { "-" } else { "" };
    let mut left = i64::try_from(millis.unsigned_abs()).unwrap_or(i64::MAX);
    let mut parts = Vec::new();
    for (unit, name) in units {
        if parts.len() == 1 || parts.is_empty() && left >= unit {
            let count = left / unit;
            left %= unit;
            if count > 0 {
                parts.push(format!("{count} {name}"));
            } else {
                break;
            }
        }
    }
    if parts.is_empty() { "0 s".to_owned() } else { format!("{sign}{}", parts.join(" ")) }
}

/// A moment to the second: `2026-05-01T12:00:00Z`.
pub fn moment(at: Millis) -> String {
    match jiff::Timestamp::from_millisecond(at) {
        Ok(moment) => format!("{moment:.0}"),
        Err(_) => format!("{at} ms since 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let shown =
            [0, 999, 1_000, 9_994, 9_996, 99_940, 99_960, 999_499, 999_500, 174_452_042_489];
        let shown = shown.map(bytes);
        assert_eq!(
            shown,
            [
                "0 B", "999 B", "1.00 kB", "9.99 kB", "10.0 kB", "99.9 kB", "100 kB", "999 kB",
                "1.00 MB", "174 GB"
            ]
        );
        assert_eq!(bytes(u64::MAX), "18.4 EB");
    }

    #[test]
    fn times_have_two_units() {
        for (millis, text) in [
            (0, "0 s"),
            (999, "0 s"),
            (61 * SECOND, "1 min 1 s"),
            (HOUR + 59 * SECOND, "1 h"),
            (3 * HOUR + 12 * MINUTE + 5 * SECOND, "3 h 12 min"),
            (-2 * DAY - 4 * HOUR, "-2 d 4 h"),
        ] {
            assert_eq!(span(millis), text);
        }
        assert_eq!(moment(1_760_400_000_999), "2025-10-14T00:00:00Z");
    }
}
