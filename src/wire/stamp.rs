//! Time stamps as text: `2024-08-08T12:35:16`, with or without a fraction or `Z`; always UTC.

use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Milliseconds since 1970; `None` when the text is not such a stamp.
pub fn parse(text: &str) -> Option<Millis> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' '])?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [year, month, day] = three(date, '-')?;
    let [hour, minute, second] = three(time, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis: Millis = millis.parse().ok()?;
    let clock = hour * HOUR + minute * MINUTE + second * SECOND;
    Some(days(year, month, day) * DAY + clock + millis)
}

/// Milliseconds since 1970 of a time as Python prints the object: `datetime.datetime(2025, 3, 19,
/// 20, 58, 49, 551652)`, where seconds and microseconds are left out when they are 0.
pub(crate) fn parse_repr(text: &str) -> Option<Millis> {
    let inside = text.strip_prefix("datetime.datetime(")?.strip_suffix(')')?;
    let parts: Option<Vec<u32>> = inside.split(',').map(|part| part.trim().parse().ok()).collect();
    let parts = parts.filter(|parts| (5..=7).contains(&parts.len()))?;
    let at = |index: usize| parts.get(index).copied().unwrap_or(0);
    let micros = (at(6) < 1_000_000).then_some(at(6))?;
    parse(&format!("{}-{}-{}T{}:{}:{}.{micros:06}", at(0), at(1), at(2), at(3), at(4), at(5)))
}

fn three(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut next = || {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse().ok())?
    };
    let found = [next()?, next()?, next()?];
    parts.next().is_none().then_some(found)
}

/// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap
/// day is a year's last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + day_of_year - 719_468
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
            ("2024-08-08T12:35", None),
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
