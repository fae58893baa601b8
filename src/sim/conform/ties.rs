//! Queues of exactly equal weight where the list of the best ends: any choice among them is right.

use super::Judged;
use super::json::{entries, items, number, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A queue that is among the best.
const CHOSEN: &str = "chosen";
/// PanDA's word for a queue that is not, since others are heavier.
const CUT: &str = "low_weight";

/// Queues of which one was taken here and another there: of equal weight, on both sides of the cut,
/// with the same fates in another order.
pub(super) fn at_the_cut(expected: &Value, judged: &Judged) -> BTreeSet<String> {
    let theirs = |queue: &str| {
        let mut candidates = items(&expected["candidates"]);
        match candidates.any(|it| it["queue"].as_str() == Some(queue)) {
            true => CHOSEN.to_owned(),
            false => text(&expected["skipped"][queue]),
        }
    };
    let ours = |queue: &str| match judged.candidates.iter().any(|it| it.0 == queue) {
        true => CHOSEN.to_owned(),
        false => judged.skipped.get(queue).cloned().unwrap_or_default(),
    };
    let mut by_weight: BTreeMap<u64, Vec<(&String, String, String)>> = BTreeMap::new();
    for (queue, weight) in entries(&expected["weighed"]) {
        let Some(weight) = number(weight) else { continue };
        let (ours, theirs) = (ours(queue), theirs(queue));
        if ours != theirs {
            by_weight.entry(weight.to_bits()).or_default().push((queue, ours, theirs));
        }
    }
    let mut found = BTreeSet::new();
    for differing in by_weight.into_values() {
        let mut ours: Vec<&String> = differing.iter().map(|(_, ours, _)| ours).collect();
        let mut theirs: Vec<&String> = differing.iter().map(|(_, _, theirs)| theirs).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        if ours == theirs && ours.iter().any(|fate| *fate == CUT) {
            found.extend(differing.into_iter().map(|(queue, _, _)| queue.clone()));
        }
    }
    found
}
