//! Figures, units and times as ARC writes them.

use crate::stamp;
use yardmaster_core::unit::{Bytes, Millis};

/// Bytes of what ARC calls MB.
pub(super) const MIB: Bytes = 1 << 20;
/// Bytes of GLUE2's GB, which ARC rounds up: up to 1 GiB too much.
pub(super) const GIB: Bytes = 1 << 30;
/// Seconds of a minute.
pub(super) const MINUTE_S: u64 = 60;

/// Texts that stand for "not known" in GLUE2.
const UNKNOWN: [&str; 3] = ["999999999", "9999999", "UNDEFINEDVALUE"];

/// The text, unless it stands for "not known".
pub(super) fn known(text: &str) -> Option<&str> {
    let text = text.trim();
    Some(text).filter(|text| !text.is_empty() && !UNKNOWN.contains(text))
}

/// A whole number, 0 or more; `None`: it is not known, or is none.
pub(super) fn whole(text: &str) -> Option<u64> {
    known(text)?.parse().ok()
}

/// A whole number of units.
pub(super) fn times(text: &str, unit: u64) -> Option<u64> {
    whole(text).map(|count| count.saturating_mul(unit))
}

/// A name with its version, where that is known.
pub(super) fn versioned(name: &str, version: &str) -> Option<String> {
    let name = known(name)?;
    Some(known(version).map_or_else(|| name.to_owned(), |version| format!("{name}-{version}")))
}

/// A moment of LDAP, `20261125232948Z`; ms since 1970.
pub(super) fn moment(text: &str) -> Option<Millis> {
    let part = |from: usize, to: usize| text.get(from..to);
    let date = format!("{}-{}-{}", part(0, 4)?, part(4, 6)?, part(6, 8)?);
    stamp::parse(&format!("{date}T{}:{}:{}Z", part(8, 10)?, part(10, 12)?, part(12, 14)?))
}

/// Free CPUs of GLUE2, `n[:seconds]` separated by blanks, as `n[:minutes]`; no seconds, or 0, are
/// without limit.
pub(super) fn free_slots(text: &str) -> String {
    let entry = |entry: &str| {
        let (slots, seconds) = entry.split_once(':').unwrap_or((entry, ""));
        let slots = whole(slots)?;
        Some(match whole(seconds).unwrap_or(0) {
            0 => slots.to_string(),
            seconds => format!("{slots}:{}", seconds / MINUTE_S),
        })
    };
    text.split_whitespace().filter_map(entry).collect::<Vec<_>>().join(" ")
}

/// Names in order, each once.
pub(super) fn each_once(names: impl IntoIterator<Item = String>) -> Vec<String> {
    names.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_unknown_is_no_figure() {
        for text in ["999999999", "9999999", "UNDEFINEDVALUE", "", "-1", "2.5", "many"] {
            assert_eq!(whole(text), None, "{text}");
        }
        assert_eq!((whole(" 16 "), times("3", MIB)), (Some(16), Some(3 << 20)));
        assert_eq!(times("18446744073709551615", GIB), Some(u64::MAX));
        assert_eq!(versioned("debian", ""), Some("debian".to_owned()));
        assert_eq!(versioned("nordugrid-arc", "7.2.0"), Some("nordugrid-arc-7.2.0".to_owned()));
    }

    #[test]
    fn seconds_of_glue2_become_minutes() {
        assert_eq!(free_slots("10:3600 6:36000 2"), "10:60 6:600 2");
        assert_eq!(free_slots("4:0 999999999 -1 many"), "4");
    }

    #[test]
    fn moments_of_ldap_are_in_utc() {
        assert_eq!(moment("20261125232948Z"), Some(1_795_649_388_000));
        for text in ["", "2026", "20261325232948Z", "ä0261125232948Z"] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
