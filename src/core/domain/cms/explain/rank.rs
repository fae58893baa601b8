//! The rank keys of a job before an offer (spec cms-nordugrid C-11 to C-23), in words.

use crate::explain::{iso, number, span};
use crate::unit::SECOND;

/// The value of a key in words; `None` for a key, or a value, that is not known here.
pub(super) fn words(key: &str, value: f64) -> Option<String> {
    let whole = (value == value.trunc() && value.abs() < 1e15).then_some(value as i64)?;
    let at = |seconds: i64| iso(seconds.saturating_mul(SECOND));
    Some(match (key, whole) {
        ("band", 0) => "a system job".to_owned(),
        ("band", 1) => "a test job".to_owned(),
        ("band", 2) => "neither a system job nor a test job".to_owned(),
        ("injected_at_s", seconds) => format!("its workflow was injected {}", at(seconds)),
        ("class_order", 0) => "its class has the lower ratio of use to quota there".to_owned(),
        ("class_order", 1) => "the other class has the lower ratio of use to quota".to_owned(),
        ("group_order", place) => {
            format!("its working group is number {} of group_order", place + 1)
        }
        ("minus_level", level) => format!("level {} there", -level),
        ("fair_share_milli", _) => {
            let cores = number(value / 1000.0);
            format!("its user has {cores} cores of decayed usage and of what is held now")
        }
        ("minus_user_priority", priority) => {
            format!("priority {} among its user's own jobs", -priority)
        }
        ("minus_priority", priority) => format!("priority {} of its workflow", -priority),
        ("overflow", 0) => "it runs where its input may be read locally".to_owned(),
        ("overflow", 1) => "it overflows".to_owned(),
        ("bucket", bucket) => {
            format!("queued in span {bucket} of time; within a span the closest fit goes first")
        }
        ("wall_gap_s", gap) => format!("it leaves {} of the offer's time unused", span(gap)),
        ("mem_gap_mb", gap) => format!("it leaves {gap} MB of the offer unused"),
        ("queued_at_s", seconds) => format!("first queued {}", at(seconds)),
        ("seq", place) => format!("place {place} in its workflow"),
        _ => return None,
    })
}
