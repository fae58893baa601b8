//! Partitions without a leader: a start waits for them for a stated time, then goes on without.

use super::conf::KafkaConf;
use super::extent;
use super::queue::Client;
use super::renewed::Renewed;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_drive::port::{LaneSpan, LogError};

/// Between two looks while a start waits.
const NAP: Duration = Duration::from_millis(250);

/// Since when each lane has no leader.
#[derive(Default)]
pub(super) struct Leaders {
    missing: BTreeMap<Lane, Instant>,
}

impl Leaders {
    /// Returns the lanes that a start goes on without, once each of them has had no leader for
    /// `conf.start_without_after`. Waits until then. `failing` is since when a lane that is read
    /// has failed.
    ///
    /// # Errors
    /// A partition that nothing can be decided without has no leader: one of our own, or one of
    /// requests.
    pub fn wait(
        &mut self,
        client: &Renewed<Client>,
        lanes: &[(Lane, String)],
        failing: impl Fn(Lane) -> Option<Instant>,
        conf: &KafkaConf,
    ) -> Result<BTreeSet<Lane>, LogError> {
        loop {
            let found = extent::patiently(conf.persistence, || without(client, lanes, conf))?;
            let now = Instant::now();
            let is_new = found.iter().any(|lane| !self.missing.contains_key(lane));
            self.missing.retain(|lane, _| found.contains(lane));
            for lane in &found {
                let since = failing(*lane).unwrap_or(now);
                self.missing.entry(*lane).or_insert(since);
            }
            if is_new {
                warn_of(lanes, &found, conf.start_without_after);
            }
            let is_over = |since: &Instant| now.duration_since(*since) >= conf.start_without_after;
            if self.missing.values().all(is_over) {
                return Ok(found);
            }
            std::thread::sleep(NAP);
        }
    }
}

/// The lanes without a leader; an error while one of them is needed for every answer.
fn without(
    client: &Renewed<Client>,
    lanes: &[(Lane, String)],
    conf: &KafkaConf,
) -> Result<BTreeSet<Lane>, LogError> {
    let found = client.ask(|client| {
        let found = extent::leaderless(client, lanes, conf.patience);
        found.map_err(|error| extent::trouble(client, &error))
    })?;
    let is_needed = |lane: &&Lane| lane.topic.is_own() || lane.topic == Topic::Task;
    match found.iter().find(is_needed) {
        None => Ok(found),
        Some(lane) => Err(LogError::Unreachable(format!(
            "partition {} of {} has no leader, and nothing can be answered without it: bring its \
             broker back",
            lane.partition,
            name_of(lanes, *lane)
        ))),
    }
}

/// Extent of a lane of which nothing is known: whatever was read of it may be so.
pub(super) fn unknown(lane: Lane) -> LaneSpan {
    LaneSpan { lane, first: 0, stable_end: 0, end: u64::MAX }
}

fn name_of(lanes: &[(Lane, String)], lane: Lane) -> &str {
    lanes.iter().find(|(known, _)| *known == lane).map_or("?", |(_, name)| name)
}

fn warn_of(lanes: &[(Lane, String)], found: &BTreeSet<Lane>, patience: Duration) {
    let named = found.iter().map(|lane| format!("{}[{}]", name_of(lanes, *lane), lane.partition));
    tracing::warn!(
        "without a leader: {}; the start waits for {} s (start_without_lane_s), then goes on \
         without what is there, and decisions note input_stale; bring their broker back",
        named.collect::<Vec<_>>().join(", "),
        patience.as_secs()
    );
}
