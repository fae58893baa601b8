//! Time of a lane and of a topic.
//!
//! A lane's time is the cycle's `now` only if the lane was read to its end and its topic is not
//! silent for longer than its stated limit; else it is the newest time of its own records. A
//! deadline is compared with the time of the lanes that could have prevented it. Each topic also
//! has a clock that runs only while its time is `now`: time in which the topic was silent or
//! lagging does not count against a deadline, and after a gap the clock rests for the topic's
//! limit before it goes on.

use crate::cut::{Lane, Topic};
use crate::output::progress::LaneFlags;
use crate::record::record;
use crate::state::gaps::Gaps;
use crate::unit::{MINUTE, Millis};

/// A topic without a silence limit is late when it is so far behind; ms.
const LATE_AFTER: Millis = 10 * MINUTE;

/// How far a lane was read, and what is known of its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    /// Next offset to read.
    pub next: u64,
    /// Flags as of the last cycle.
    pub flags: LaneFlags,
    /// Newest own-time of its records; 0: none yet.
    pub newest: Millis,
}

/// The time of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicTime {
    /// Its time as of the last cycle.
    pub time: Millis,
    /// Time that passed while it was up to date.
    pub clock: Millis,
    /// Until when the clock rests after a gap.
    pub rests_until: Millis,
    /// Whether it was up to date at the last cycle.
    pub is_fresh: bool,
    /// Since when nothing is read of it, if that is longer than its limit; 0: never anything.
    pub stale_since: Option<Millis>,
}

/// All lanes that were ever read or flagged, by topic and partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lanes {
    /// By partition, ascending. Partitions are numbered without gap, so a lane's place mostly is
    /// its number; a number out of all proportion takes no more room than any other.
    by_topic: [Vec<(u32, LaneState)>; Topic::ALL.len()],
}

impl Lanes {
    /// Offset, flags and newest time of a lane; `None`: it was never read or flagged.
    pub fn get(&self, lane: Lane) -> Option<&LaneState> {
        let lanes = &self.by_topic[lane.topic as usize];
        place(lanes, lane.partition).ok().map(|at| &lanes[at].1)
    }

    /// A lane, known from now on.
    #[inline]
    pub fn at(&mut self, lane: Lane) -> &mut LaneState {
        let lanes = &mut self.by_topic[lane.topic as usize];
        let at = match place(lanes, lane.partition) {
            Ok(at) => at,
            Err(at) => {
                lanes.insert(at, (lane.partition, LaneState::default()));
                at
            }
        };
        &mut lanes[at].1
    }

    /// Own times of a topic's lanes that lie after `latest` count as `now`.
    pub fn bound(&mut self, topic: Topic, latest: Millis, now: Millis) {
        for (_, lane) in &mut self.by_topic[topic as usize] {
            lane.newest = if lane.newest > latest { now } else { lane.newest };
        }
    }

    /// Lanes in order.
    pub fn iter(&self) -> impl Iterator<Item = (Lane, &LaneState)> {
        Topic::ALL.iter().flat_map(|topic| self.of(*topic))
    }

    /// Lanes of a topic, in order.
    pub fn of(&self, topic: Topic) -> impl Iterator<Item = (Lane, &LaneState)> {
        self.by_topic[topic as usize]
            .iter()
            .map(move |(partition, state)| (Lane::new(topic, *partition), state))
    }
}

/// Where a partition is in a list, or would be.
#[inline]
fn place(lanes: &[(u32, LaneState)], partition: u32) -> Result<usize, usize> {
    match lanes.get(partition as usize) {
        Some((held, _)) if *held == partition => Ok(partition as usize),
        _ => lanes.binary_search_by_key(&partition, |(held, _)| *held),
    }
}

/// Times of all lanes and topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogTimes {
    /// By lane.
    pub lanes: Lanes,
    /// By topic, indexed by its number.
    pub topics: [TopicTime; Topic::ALL.len()],
    /// By topic: spans that do not count against a deadline, each up to the topic's limit after it
    /// was read again.
    pub gaps: [Gaps; Topic::ALL.len()],
}

impl LogTimes {
    /// The next offset to read in a lane.
    pub fn next(&self, lane: Lane) -> u64 {
        self.lanes.get(lane).map_or(0, |lane| lane.next)
    }

    /// Time and clock of a topic.
    pub fn of(&self, topic: Topic) -> &TopicTime {
        &self.topics[topic as usize]
    }

    /// A record was read: moves the lane on, and its newest own-time. Whether it is news: what is
    /// below the next offset was read before, and nothing moves.
    #[inline]
    pub fn read(&mut self, lane: Lane, offset: u64, own_time: Millis) -> bool {
        let state = self.lanes.at(lane);
        let is_news = offset >= state.next;
        if is_news {
            state.next = offset.saturating_add(1);
            state.newest = state.newest.max(own_time);
        }
        is_news
    }

    /// Sets every topic's time at a cycle's end. `limits` gives a topic's silence limit; `None`
    /// for topics without a silence limit. `span` is the time since the last cycle.
    pub fn close(&mut self, now: Millis, span: Millis, limit: &dyn Fn(Topic) -> Option<Millis>) {
        for topic in Topic::ALL {
            let (mut behind, mut newest, mut lanes) = (None::<Millis>, 0, 0);
            for (_, lane) in self.lanes.of(*topic) {
                lanes += 1;
                newest = newest.max(lane.newest);
                let own = match lane.flags {
                    LaneFlags { blocked_at: Some(at), .. } => Some(at),
                    LaneFlags { at_end: true, unreadable: false, .. } => None,
                    _ => Some(lane.newest),
                };
                if let Some(own) = own {
                    behind = Some(behind.map_or(own, |before| before.min(own)));
                }
            }
            let silent = limit(*topic).is_some_and(|limit| newest.saturating_add(limit) < now);
            let time = match behind {
                Some(behind) => behind.min(now),
                None if lanes > 0 && !silent => now,
                None => newest.min(now),
            };
            let rest = limit(*topic).unwrap_or(0);
            let state = &mut self.topics[*topic as usize];
            state.pass(time, now, span, rest);
            let late_after = limit(*topic).unwrap_or(LATE_AFTER);
            let silent_since = if silent { Some(newest) } else { None };
            let lags_since = (now.saturating_sub(state.time) > late_after).then_some(state.time);
            let since = silent_since.or(lags_since);
            match (state.stale_since, since) {
                (None, since) => state.stale_since = since,
                (Some(_), Some(_)) => {}
                (Some(from), None) => {
                    state.stale_since = None;
                    self.gaps[*topic as usize].add(from, now.saturating_add(late_after));
                }
            }
        }
    }

    /// Forgets gaps that ended before a moment: no deadline runs through them any more.
    pub fn forget_gaps(&mut self, horizon: Millis) {
        self.gaps.iter_mut().for_each(|gaps| gaps.forget_until(horizon));
    }
}

impl TopicTime {
    fn pass(&mut self, time: Millis, now: Millis, span: Millis, rest: Millis) {
        let is_fresh = time == now;
        if is_fresh && !self.is_fresh && self.time != 0 {
            self.rests_until = now.saturating_add(rest);
        }
        if is_fresh && self.is_fresh && now > self.rests_until {
            let passed = span.min(now.saturating_sub(self.rests_until));
            self.clock = self.clock.saturating_add(passed.max(0));
        }
        self.is_fresh = is_fresh;
        self.time = self.time.max(time);
    }
}

record!(LaneState { next, flags, newest });
record!(TopicTime { time, clock, rests_until, is_fresh, stale_since });

#[cfg(test)]
mod tests {
    use super::*;

    const LANE: Lane = Lane::new(Topic::JobState, 0);

    fn at_end(times: &mut LogTimes, at_end: bool) {
        times.lanes.at(LANE).flags.at_end = at_end;
    }

    #[test]
    fn a_lagging_or_silent_topic_stops_its_clock() {
        let limit = |topic| (topic == Topic::JobState).then_some(60_000);
        let mut times = LogTimes::default();
        times.read(LANE, 0, 1_000_000);
        at_end(&mut times, true);
        times.close(1_010_000, 0, &limit);
        times.close(1_020_000, 10_000, &limit);
        assert_eq!(times.of(Topic::JobState).time, 1_020_000);
        assert_eq!(times.of(Topic::JobState).clock, 10_000);
        // Silent for longer than its limit: time stands at the newest own-time, the clock stops.
        times.close(1_090_000, 70_000, &limit);
        assert!(!times.of(Topic::JobState).is_fresh);
        assert_eq!(times.of(Topic::JobState).clock, 10_000);
        // Records come again: the clock rests for the limit, then goes on.
        times.read(LANE, 1, 1_095_000);
        times.close(1_100_000, 10_000, &limit);
        times.read(LANE, 2, 1_155_000);
        times.close(1_161_000, 61_000, &limit);
        assert_eq!(times.of(Topic::JobState).clock, 11_000);
        // Lagging: its time is the newest of its records.
        at_end(&mut times, false);
        times.close(1_162_000, 1_000, &limit);
        assert_eq!(times.of(Topic::JobState).clock, 11_000);
    }
}
