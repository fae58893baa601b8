//! Figures, moments and limits in words.

use crate::output::limit_use::LimitUse;
use crate::policy::phrase::bytes;
pub(crate) use crate::policy::phrase::number;
pub use crate::policy::phrase::span;
use crate::unit::Millis;

/// A moment as `2025-10-15T12:00:00Z`, with its milliseconds where it has some; as a number of ms
/// if it is beyond the year 9999. 0 is none that anybody stated.
pub fn iso(at: Millis) -> String {
    if at == 0 {
        return "not known".to_owned();
    }
    match jiff::Timestamp::from_millisecond(at) {
        Ok(moment) if at % 1000 == 0 => format!("{moment:.0}"),
        Ok(moment) => format!("{moment:.3}"),
        Err(_) => format!("{at} ms since 1970"),
    }
}

/// Ending of a line about an answer that is not to be carried out; empty for all others.
pub(crate) fn dry_run(is_one: bool) -> &'static str {
    if is_one { ", dry run: not to be carried out" } else { "" }
}

pub(crate) fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// Thousandths as a number.
pub(crate) fn milli(value: i64) -> String {
    number(value as f64 / 1000.0)
}

/// A limit with what was used before and is used now.
pub(crate) fn limit_sentence(limit: &LimitUse) -> String {
    let LimitUse { name, of, before, after, max } = limit;
    let cores = |amount: &u64| milli(i64::try_from(*amount).unwrap_or(i64::MAX));
    let plain = |amount: &u64| amount.to_string();
    let weighed = ["restricted_pool", "shared_capacity"].contains(&name.as_str());
    let data = |amount: &u64| bytes(*amount as f64);
    let is_data = ["disk", "cache"].contains(&name.as_str());
    let [before, after, max] = match (weighed, is_data) {
        (true, _) => [before, after, max].map(cores),
        (false, true) => [before, after, max].map(data),
        (false, false) => [before, after, max].map(plain),
    };
    let what = match name.as_str() {
        "overflow" => format!("overflow slots of {of}"),
        "high_io" => format!("HighIO jobs that read the storage of {of}"),
        "restricted_pool" => format!("cores by power of the group's own slots at {of}"),
        "shared_capacity" => format!("cores by power that all share at {of}"),
        "disk" => format!("the user's disk at {of}"),
        "cache" => format!("the cache of {of}"),
        other => format!("{other} of {of}"),
    };
    format!("{what}: {before} before, {after} with it, {max} at most")
}

/// A text with each of its moments in ms since 1970 as a moment that can be read: numbers of 13
/// digits that are moments of the years 2001 to 2286.
pub(crate) fn with_moments(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, number) = rest.split_at(begin);
        let end = number.find(|it: char| !it.is_ascii_digit()).unwrap_or(number.len());
        let (digits, after) = number.split_at(end);
        done += before;
        match digits.parse() {
            Ok(at) if digits.len() == 13 && !digits.starts_with('0') => done += &iso(at),
            _ => done += digits,
        }
        rest = after;
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_numbers_stay() {
        let text =
            "expired(changed_at 1760529600000 is 30 d before 1763121600123, 2 of 17605296000001)";
        let shown = "expired(changed_at 2025-10-15T12:00:00Z is 30 d before \
                     2025-11-14T12:00:00.123Z, 2 of 17605296000001)";
        assert_eq!(with_moments(text), shown);
        assert_eq!(
            (iso(0), iso(1_760_529_600_000)),
            ("not known".into(), "2025-10-15T12:00:00Z".into())
        );
    }
}
