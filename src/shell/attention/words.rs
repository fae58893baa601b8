//! Figures in sentences.

use yardmaster_core::explain;
use yardmaster_core::unit::{Millis, SECOND};

/// A number with commas between thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 job`, `1,200 jobs`.
pub(super) fn things(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { several })
}

/// A number of jobs.
pub(super) fn jobs(number: u64) -> String {
    things(number, "job", "jobs")
}

/// A span with its two largest units.
pub(super) fn span(millis: Millis) -> String {
    explain::span(millis.max(0) / SECOND)
}

/// A figure without digits nobody reads.
pub(super) fn figure(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        return count(value as u64);
    }
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::unit::{DAY, HOUR, MINUTE};

    #[test]
    fn figures_read_as_a_person_writes_them() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(count), ["0", "999", "1,000", "12,345,678"]);
        assert_eq!([jobs(1), jobs(1_200)], ["1 job", "1,200 jobs"]);
        let shown = [0, 61 * SECOND, 3 * HOUR, DAY + HOUR + MINUTE].map(span);
        assert_eq!(shown, ["0 s", "1 min 1 s", "3 h", "1 d 1 h"]);
        assert_eq!([figure(1_203.0), figure(12.34)], ["1,203", "12.3"]);
    }
}
