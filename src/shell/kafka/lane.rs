//! Where the reading of one lane stands, and what each event about it means.

use super::conf::ValueConversion;
use super::queue::{EventOrigin, QueueEvent};
use super::remedy::refusal;
use rdkafka::error::RDKafkaErrorCode;
use std::time::{Duration, Instant};
use yardmaster_core::cut::Lane;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{Batch, LogError, Mark, REMAKE, rewritten};

/// A lane that is read to its committed end, with more behind it for so long, is blocked by an
/// open transaction; for a shorter time the rest may be on its way.
const BLOCKED_AFTER: Duration = Duration::from_millis(200);

/// Where the reading of a lane stands.
pub(super) struct KafkaLane {
    pub lane: Lane,
    /// The next offset to deliver.
    pub next: u64,
    pub paused: bool,
    /// It gave a sign since it was assigned or let go, so its high watermark is not an old one.
    pub heard: bool,
    /// The end of the committed part was met at `next`.
    pub ended: bool,
    /// Since when there is more behind that end.
    ahead: Option<Instant>,
    /// Offset and time stamp of the last record read.
    last: Option<(u64, Millis)>,
    /// Since when the broker refuses to give us the lane.
    trouble: Option<Instant>,
    /// When the lane last gave a sign.
    sign: Instant,
    reported: LaneFlags,
    reported_position: Option<u64>,
}

/// Reason that ends the reading.
pub(super) enum Lost {
    /// `wanted` is the next offset to deliver, `from` where a client would begin to read.
    Range {
        lane: Lane,
        name: String,
        wanted: u64,
        from: u64,
    },
    Refused(LogError),
}

impl KafkaLane {
    pub fn new(lane: Lane, next: u64) -> KafkaLane {
        KafkaLane {
            lane,
            next,
            paused: false,
            heard: false,
            ended: false,
            ahead: None,
            last: None,
            trouble: None,
            sign: Instant::now(),
            reported: LaneFlags::default(),
            reported_position: None,
        }
    }

    /// Takes in one event. `now` is not long ago.
    pub fn meet(
        &mut self,
        name: &str,
        origin: &EventOrigin<'_>,
        event: QueueEvent<'_>,
        now: Instant,
        turn: Option<ValueConversion>,
        batch: &mut Batch,
    ) -> Option<Lost> {
        use RDKafkaErrorCode::{
            AutoOffsetReset, BadCompression, BadMessage, LogTruncation, NotImplemented,
            OffsetOutOfRange,
        };
        let offset = u64::try_from(origin.offset).unwrap_or(0);
        // What was fetched before the lane was paused is fetched again when it is resumed.
        if self.paused {
            return None;
        }
        match event {
            QueueEvent::Record { timestamp, .. } if offset < self.next => {
                // What is known of the last record read is enough to know the lane again.
                let last = self.last.filter(|(last, _)| offset >= *last);
                let is_other = last.is_some_and(|last| last != (offset, timestamp));
                return is_other.then(|| self.rewritten(name));
            }
            QueueEvent::Record { timestamp, key, value, .. } => {
                match (turn, value) {
                    (Some(turn), Some(value)) => {
                        let turn = |bytes: &mut Vec<u8>| turn(self.lane.topic, value, bytes);
                        batch.push_with(self.lane, offset, timestamp, key, turn);
                    }
                    _ => batch.push(self.lane, offset, timestamp, key, value),
                }
                self.next = offset + 1;
                self.last = Some((offset, timestamp));
                (self.ended, self.ahead) = (false, None);
                self.fine(now);
            }
            QueueEvent::End => {
                if offset >= self.next {
                    self.next = offset;
                    self.ended = true;
                }
                self.fine(now);
            }
            QueueEvent::Trouble(LogTruncation) => return Some(self.rewritten(name)),
            QueueEvent::Trouble(OffsetOutOfRange | AutoOffsetReset) => {
                let name = name.to_string();
                let (lane, wanted, from) = (self.lane, self.next, self.again_from());
                return Some(Lost::Range { lane, name, wanted, from });
            }
            QueueEvent::Trouble(code @ (BadCompression | NotImplemented | BadMessage)) => {
                return self.damaged(name, code, now);
            }
            QueueEvent::Trouble(code) => {
                if let Some(error) = refusal(code, &format!("Read of topic {name}")) {
                    return Some(Lost::Refused(error));
                }
                self.trouble.get_or_insert(now);
            }
        }
        None
    }

    /// A record that cannot be read: without an own lane nothing can go on, any other is left.
    fn damaged(&mut self, name: &str, code: RDKafkaErrorCode, now: Instant) -> Option<Lost> {
        let (partition, next) = (self.lane.partition, self.next);
        let text = format!(
            "{name}[{partition}] cannot be read at offset {next} ({code}): it is damaged, or \
             compressed by a codec that this build does not know"
        );
        if self.lane.topic.is_own() {
            let why = format!("{text}, and nothing can be decided without it; {REMAKE}");
            return Some(Lost::Refused(LogError::Stop(why)));
        }
        if self.trouble.is_none() {
            tracing::warn!("{text}; the other lanes are read on without it");
        }
        self.trouble.get_or_insert(now);
        None
    }

    fn rewritten(&self, name: &str) -> Lost {
        let name = format!("{name}[{}]", self.lane.partition);
        Lost::Refused(LogError::Stop(rewritten(&name, self.next)))
    }

    /// Where another client begins: at the last record, to see whether it is still that.
    pub fn again_from(&self) -> u64 {
        self.last.map_or(self.next, |(offset, _)| offset)
    }

    /// Another client begins at the next record then.
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    fn fine(&mut self, now: Instant) {
        self.trouble = None;
        self.heard = true;
        self.sign = now;
    }

    /// It is read on by another client, which has not heard of it.
    pub fn begin_again(&mut self) {
        (self.heard, self.ended) = (false, false);
        (self.ahead, self.trouble) = (None, None);
        self.sign = Instant::now();
    }

    /// Compares what was read with what there is.
    pub fn look(
        &mut self,
        high: Option<u64>,
        alone: bool,
        failing: Option<Instant>,
        now: Instant,
        patience: Duration,
    ) -> LaneFlags {
        let more = high.is_none_or(|high| high > self.next);
        let reached = self.ended || (self.heard && !more);
        let mut flags = LaneFlags::default();
        if alone {
            // What lies behind the end of an own lane are our own records, not yet committed.
            flags.at_end = reached || self.reported.at_end;
        } else if reached && !more {
            flags.at_end = true;
        } else if reached && high.is_some() && self.trouble.is_none() {
            let since = *self.ahead.get_or_insert(now);
            if now.duration_since(since) >= BLOCKED_AFTER {
                flags.blocked_at = Some(self.last.map_or(0, |(_, at)| at));
            }
        }
        if !reached || !more || high.is_none() || self.trouble.is_some() {
            self.ahead = None;
        }
        // A lane that gave a sign since is readable, whatever a question about all lanes met.
        let failing = failing.map(|since| since.max(self.sign));
        let since = [self.trouble, failing].into_iter().flatten().min();
        flags.unreadable = since.is_some_and(|since| now.duration_since(since) >= patience);
        flags.at_end &= !flags.unreadable;
        flags
    }

    /// Gives a mark when the lane was read to its end again, or when its flags changed.
    pub fn add_mark(&mut self, flags: LaneFlags, batch: &mut Batch) {
        let moved = flags.at_end && self.reported_position != Some(self.next);
        if flags != self.reported || moved {
            self.reported = flags;
            self.reported_position = Some(self.next);
            batch.marks.push(Mark { lane: self.lane, position: self.next, flags });
        }
    }
}
