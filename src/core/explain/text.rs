//! Figures, moments and limits in words.

use crate::output::limit_use::LimitUse;
use crate::unit::Millis;

/// A moment as `2025-10-15T12:00:00.000Z`; as a number of ms if it is beyond the year 9999. 0 is
/// none that anybody stated.
pub fn iso(at: Millis) -> String {
    if at == 0 {
        return "not known".to_owned();
    }
    match jiff::Timestamp::from_millisecond(at) {
        Ok(moment) => format!("{moment:.3}"),
        Err(_) => format!("{at} ms since 1970"),
    }
}

/// A number without digits nobody reads.
pub(crate) fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value}");
    }
    match value.abs() {
        size if !(1e-4..1e15).contains(&size) => format!("{value:e}"),
        _ => {
            let text = format!("{value:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
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
    let [before, after, max] = match weighed {
        true => [before, after, max].map(cores),
        false => [before, after, max].map(plain),
    };
    let what = match name.as_str() {
        "overflow" => format!("overflow slots of {of}"),
        "high_io" => format!("HighIO jobs that read the storage of {of}"),
        "restricted_pool" => format!("cores by power of the group's own slots at {of}"),
        "shared_capacity" => format!("cores by power that all share at {of}"),
        "disk" => format!("bytes of the user's disk at {of}"),
        "cache" => format!("bytes of the cache of {of}"),
        other => format!("{other} of {of}"),
    };
    format!("{what}: {before} before, {after} with it, {max} at most")
}
