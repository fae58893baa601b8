//! The first candidate that fares otherwise under other rules.

use crate::output::decision::Decision;
use std::collections::BTreeMap;

/// The filters that reject, in the log and under the other rules, the first candidate by name whose
/// filter differs; empty: it is not rejected. `None`: all fare alike, or not all fates are listed.
pub(super) fn first_difference(recorded: &Decision, other: &Decision) -> Option<[String; 2]> {
    let is_whole = |it: &Decision| it.full && it.fates_cut == 0;
    if !is_whole(recorded) || !is_whole(other) {
        return None;
    }
    let mut filters: BTreeMap<&str, [&str; 2]> = BTreeMap::new();
    for fate in &recorded.fates {
        filters.entry(&fate.queue).or_default()[0] = &fate.filter;
    }
    for fate in &other.fates {
        filters.entry(&fate.queue).or_default()[1] = &fate.filter;
    }
    let differs = filters.into_values().find(|[ours, others]| ours != others)?;
    Some(differs.map(str::to_owned))
}
