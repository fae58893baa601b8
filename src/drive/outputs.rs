//! Which records are the decisions and throttles of a cycle: its `progress` record counts them and
//! lists a hash of each. So a copy or a foreign record is distinguished from an output, and a loss
//! is found.

use crate::port::OutputRecord;
use crate::read_back::ReadOutput;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::id::hash;
use yardmaster_core::output::progress::Progress;
use yardmaster_wire::avro::unframed;

/// About what a hash takes of a `progress` record; bytes.
const HASH_BYTES: usize = 10;

/// Hash of an output's value without its framing, which may change on its way to the log.
pub(super) fn output_hash(value: &[u8]) -> u64 {
    hash(unframed(value))
}

/// The hashes of all decisions and throttles among a cycle's outputs: lane by lane, in each in the
/// order of their offsets.
pub(super) fn output_hashes(outputs: &[OutputRecord]) -> Vec<u64> {
    let mut lanes: BTreeMap<Lane, Vec<u64>> = BTreeMap::new();
    for output in outputs.iter().filter(|output| output.lane.topic.is_folded_output()) {
        let value = output.value.as_deref().unwrap_or_default();
        lanes.entry(output.lane).or_default().push(output_hash(value));
    }
    lanes.into_values().flatten().collect()
}

/// The hashes as they are published: none if they would take more than a quarter of a record.
/// Outputs are then known by their places, as in cycles of versions that listed no hashes.
pub(super) fn listed(hashes: Vec<u64>, max_output_bytes: usize) -> Vec<u64> {
    match hashes.len() * HASH_BYTES <= max_output_bytes / 4 {
        true => hashes,
        false => Vec::new(),
    }
}

/// The lanes of decisions and throttles in which a cycle has outputs, and how many.
fn lanes(progress: &Progress) -> impl Iterator<Item = (Lane, usize)> {
    let folded = progress.outputs.iter().filter(|(lane, _)| lane.topic.is_folded_output());
    folded.map(|(lane, records)| (*lane, *records as usize))
}

/// How many outputs a cycle counts that are read back.
pub(super) fn counted(progress: &Progress) -> usize {
    lanes(progress).map(|(_, records)| records).sum()
}

/// The hashes that a cycle lists of its records on a topic, with their lanes; `None` if it has such
/// records and lists none.
pub(super) fn listed_of(progress: &Progress, topic: Topic) -> Option<Vec<(Lane, u64)>> {
    let is_listed = progress.output_hashes.len() == counted(progress);
    let mut hashes = progress.output_hashes.iter();
    let mut listed = Vec::new();
    for (lane, records) in lanes(progress) {
        if lane.topic == topic && !is_listed && records > 0 {
            return None;
        }
        let of_lane = hashes.by_ref().take(records).map(|hash| (lane, *hash));
        listed.extend(of_lane.filter(|(lane, _)| lane.topic == topic));
    }
    Some(listed)
}

/// Whether a cycle has an output of this hash, as far as it lists them.
pub(super) fn lists(progress: &Progress, hash: u64) -> bool {
    let is_listed = progress.output_hashes.len() == counted(progress);
    !is_listed || progress.output_hashes.contains(&hash)
}

/// The places of a cycle's outputs among the records that claim the cycle, as far as they are
/// there. A copy comes after what it is a copy of, if it is in the same lane at all. `in_doubt`:
/// what is missing is made up of records that are not listed (`replay --verify` shows how one that
/// was altered differs).
pub(super) fn choose(progress: &Progress, published: &[ReadOutput], in_doubt: bool) -> Vec<usize> {
    let is_listed = progress.output_hashes.len() == counted(progress);
    let mut hashes = progress.output_hashes.iter();
    let mut chosen = Vec::new();
    for (lane, records) in lanes(progress) {
        let mut there: Vec<usize> =
            (0..published.len()).filter(|at| published[*at].lane == lane).collect();
        there.sort_unstable_by_key(|at| published[*at].offset);
        let mut of_lane = Vec::new();
        if is_listed {
            let first = there.iter().rev().map(|at| (published[*at].hash, *at));
            let first: BTreeMap<u64, usize> = first.collect();
            of_lane.extend(hashes.by_ref().take(records).filter_map(|hash| first.get(hash)));
        }
        if !is_listed || in_doubt {
            let number = |at: usize| published[at].output.number();
            let mut numbers: BTreeSet<u32> = of_lane.iter().map(|at| number(*at)).collect();
            let missing = records.saturating_sub(of_lane.len());
            let others = there.into_iter().filter(|at| numbers.insert(number(*at)));
            of_lane.extend(others.take(missing));
        }
        chosen.append(&mut of_lane);
    }
    chosen
}
