//! The two ports: a log that is read and published to, and a store that holds what was folded.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::limits::BATCH_BYTES;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::Writer;

/// Where the bytes of a record lie in its batch.
pub type Span = Range<usize>;

/// One record as read, its bytes in [`Batch::bytes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Lane.
    pub lane: Lane,
    /// Offset in the lane.
    pub offset: u64,
    /// The log's own time stamp (append or create time); ms since 1970.
    pub appended_at: Millis,
    /// Key; `None` for a null key.
    pub key: Option<Span>,
    /// Value; `None` for a null.
    pub value: Option<Span>,
}

/// Records and marks of one `take`. Reused between calls: `clear` leaves its memory.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Keys and values, one after the other.
    pub bytes: Vec<u8>,
    /// Records; in offset order within each lane.
    pub records: Vec<Raw>,
    /// Lanes of which more is known than their records show.
    pub marks: Vec<Mark>,
    /// Schemas behind the registry's numbers: each comes no later than the first record that
    /// carries it, and again after an `assign`.
    pub writers: Vec<Writer>,
}

/// News of a lane: everything below `position` was delivered, or is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Lane.
    pub lane: Lane,
    /// The next offset that could still come.
    pub position: u64,
    /// Flags of the lane's end.
    pub flags: LaneFlags,
}

impl Batch {
    /// Forgets the content, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.marks.clear();
        self.writers.clear();
    }

    /// Whether another record may be added: there are fewer than `full`, of fewer bytes in all than
    /// a batch takes.
    pub fn has_room(&self, full: usize) -> bool {
        self.records.len() < full && self.bytes.len() < BATCH_BYTES
    }

    /// Appends a record, copying its bytes.
    pub fn push(
        &mut self,
        lane: Lane,
        offset: u64,
        appended_at: Millis,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) {
        let mut span = |part: Option<&[u8]>| {
            part.map(|part| {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(part);
                start..self.bytes.len()
            })
        };
        let key = span(key);
        let value = span(value);
        self.records.push(Raw { lane, offset, appended_at, key, value });
    }

    /// Appends a record, its value as `write` appends it to the bytes.
    pub fn push_with(
        &mut self,
        lane: Lane,
        offset: u64,
        appended_at: Millis,
        key: Option<&[u8]>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.push(lane, offset, appended_at, key, None);
        let start = self.bytes.len();
        write(&mut self.bytes);
        if let Some(raw) = self.records.last_mut() {
            raw.value = Some(start..self.bytes.len());
        }
    }

    /// The key of one of this batch's records.
    pub fn key<'a>(&'a self, raw: &Raw) -> Option<&'a [u8]> {
        raw.key.clone().map(|span| &self.bytes[span])
    }

    /// The value of one of this batch's records.
    pub fn value<'a>(&'a self, raw: &Raw) -> Option<&'a [u8]> {
        raw.value.clone().map(|span| &self.bytes[span])
    }
}

/// How far a lane reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSpan {
    /// Lane.
    pub lane: Lane,
    /// First offset that can still be read.
    pub first: u64,
    /// Last stable offset: the next one a committed record could get, open transactions left out.
    pub stable_end: u64,
    /// High watermark; above `stable_end` while a transaction is open.
    pub end: u64,
}

impl LaneSpan {
    /// Whether reading can go on at `wanted`: nothing that was not read is gone, and the lane has
    /// got that far. At the end of a lane that retention emptied nothing is lost.
    pub fn admits(&self, wanted: u64) -> Result<(), LogError> {
        let LaneSpan { lane, first, end, .. } = *self;
        if wanted < first {
            return Err(LogError::OutOfRange { lane, wanted, first });
        }
        if wanted > end {
            return Err(LogError::Stop(format!(
                "{lane} ends at offset {end}, but was read to {wanted}: it lost its end, {LOST_END}; \
                 {REMAKE}"
            )));
        }
        Ok(())
    }
}

/// One record to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRecord {
    /// Lane.
    pub lane: Lane,
    /// Key.
    pub key: Bytes,
    /// Value; `None` for a null. Those of many records may be parts of one block.
    pub value: Option<Bytes>,
    /// Headers: name and value.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// A log: lanes to read, and own lanes to publish to.
///
/// Reading is by assignment: the caller states where each lane starts and tracks the cut itself.
/// Only committed records are delivered.
pub trait Log {
    /// Every lane of every topic the topology names, with its extent now.
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError>;

    /// Reads each named lane from its offset on; lanes that are not named are not read. An offset
    /// below the first readable one is `LogError::OutOfRange`.
    fn assign(&mut self, from: &Cut) -> Result<(), LogError>;

    /// Pauses lanes (they deliver nothing) or resumes them where they stopped.
    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError>;

    /// Appends to `batch` what there is, at most `max` records and no further one once the batch
    /// has no room ([`Batch::has_room`]), waiting at most `wait` for the first. Returns with an
    /// empty batch when nothing came. A [`Mark`] is given for a lane each time it is read to its
    /// end or its flags change.
    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError>;

    /// Gives the log what registry's numbers are known to stand for, so that the registry need not
    /// be asked again; takes the place of what was given before. A log without a registry has no
    /// use for it.
    fn know(&mut self, writers: &[Writer]) {
        let _ = writers;
    }

    /// Names records, by lane and offset, that a cycle in `progress` counts as unreadable: no
    /// reader need be asked for their schemas. A log without a registry has no use for it.
    fn pass_unreadable(&mut self, records: &[(Lane, u64)]) {
        let _ = records;
    }

    /// How many records that were read wait for the schema registry, and why; `None` when none
    /// does. A log without a registry holds nothing back.
    fn waiting_for_registry(&self) -> Option<(u64, String)> {
        None
    }

    /// Identifier of this log, if its topics have no ids; `None`: not known.
    fn id(&mut self) -> Option<String> {
        None
    }

    /// Identifier of each topic beside its name: another topic of the same name has another
    /// identifier. A topic whose identifier is not known is left out, as are all in a log without
    /// identifiers.
    fn topic_ids(&mut self) -> Result<BTreeMap<Topic, String>, LogError> {
        Ok(BTreeMap::new())
    }

    /// Of each lane the first offset of a record that the log stamped at or after `at`, its end if
    /// there is none; `None`: the log knows no offsets by time.
    fn offsets_since(&mut self, at: Millis) -> Result<Option<Vec<(Lane, u64)>>, LogError> {
        let _ = at;
        Ok(None)
    }

    /// How far the assigned lanes reach, those of which it is known, without asking and waiting:
    /// the figure may be a few seconds old. For metrics alone: nothing is decided by it.
    fn ends(&mut self) -> Vec<(Lane, u64)>;

    /// Becomes the only leader: the one before is fenced and can publish no more. This is the
    /// election.
    fn lead(&mut self) -> Result<(), LogError>;

    /// Lets the lead go before anything was published: it reads like a follower again.
    fn let_go(&mut self);

    /// Begins to append `outputs` and then `progress`, all or nothing, and returns without waiting
    /// for it to be durable. Needs `lead` first, and the one before to be settled.
    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError>;

    /// Whether the last `publish` is done, or failed: `settle` would not wait.
    fn is_settled(&mut self) -> bool;

    /// Waits until the last `publish` is durable and visible. After an error nothing is known of
    /// it; the caller drops its memory and starts again.
    fn settle(&mut self) -> Result<(), LogError>;
}

/// Advice to a person when a topic that cycles were made of is not the same any more.
pub const REMAKE: &str = "bring the topic back as it was, or begin a new log: give the topics \
                          task, decision and progress new names in the topology, `yardmaster \
                          topology apply`, start again, and let open requests be published again";

/// Possible causes of the loss of a lane's end.
pub(crate) const LOST_END: &str = "as after an unclean election of a leader, or on a broker that \
                                   lost what it had not flushed";

/// Why a lane, of this name, cannot be read on though it reaches to where it was read.
pub fn rewritten(lane: &str, next: u64) -> String {
    format!(
        "{lane} has lost records below offset {next} that were read, and others are written there \
         now, {LOST_END}; {REMAKE}"
    )
}

/// Why what was read of a topic is of another one of the same name, if `known` has another id than
/// there is now.
pub fn recreated<'a>(
    known: impl IntoIterator<Item = &'a (Topic, String)>,
    now: &BTreeMap<Topic, String>,
) -> Option<String> {
    let mut known = known.into_iter();
    known.find_map(|(topic, id)| {
        let other = now.get(topic).filter(|other| *other != id)?;
        let topic = topic.name();
        Some(format!(
            "the topic {topic} was deleted and created again: its id was {id} and is {other}"
        ))
    })
}

/// Errors of a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The broker cannot be reached or asks to try again.
    #[error("the log cannot be reached: {0}")]
    Unreachable(String),
    /// The schema registry does not answer what has to be known of it.
    #[error("the schema registry cannot be asked: {0}")]
    Unanswered(String),
    /// Another process took the lead.
    #[error("another process took the lead: {0}")]
    Fenced(String),
    /// The transaction failed and is gone; starting again is the way on.
    #[error("what was published did not get through: {0}")]
    Aborted(String),
    /// A lane no longer holds what we have not read.
    #[error(
        "{lane} no longer holds offset {wanted}: it now begins at {first}. Records between are \
         lost to us; delete the store to rebuild from what is left, and keep the topic longer"
    )]
    OutOfRange {
        /// Lane.
        lane: Lane,
        /// Offset that was asked for.
        wanted: u64,
        /// First offset that is there.
        first: u64,
    },
    /// A topic has more partitions than are read. The drive is whole and may publish a final
    /// progress record; starting again takes the new ones in.
    #[error(
        "{} has {found} partitions, {known} are read: starting again takes the new ones in",
        topic.name()
    )]
    Grown {
        /// Topic.
        topic: Topic,
        /// Partitions that are read.
        known: usize,
        /// Partitions there are.
        found: usize,
    },
    /// Nothing helps but a person.
    #[error("{0}")]
    Stop(String),
}

/// Data that is stored at a confirmed cycle: a set of changed records, part of a rolling rewrite of
/// all records, and the head. The store sees bytes only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Epoch, number, now, cut and the like, encoded.
    pub head: Vec<u8>,
    /// Changed records since the last checkpoint, in chunks of about 32 KiB.
    pub deltas: Vec<Vec<u8>>,
    /// Whole pages of records, rewritten in turn, each under its page number.
    pub bases: Vec<(u64, Vec<u8>)>,
    /// Checkpoints before this one's sequence number minus `useful` are covered by bases: their
    /// deltas can go.
    pub useful: u64,
    /// Counters under their readable keys; `None` when they are not due.
    pub counters: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// Whether everything is new: what the store held before is to be removed in the same batch.
    pub fresh: bool,
}

/// Data that a store gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The head of the last checkpoint.
    pub head: Vec<u8>,
    /// Base pages.
    pub bases: Vec<(u64, Vec<u8>)>,
    /// Delta chunks with the sequence number of their checkpoint, oldest first.
    pub deltas: Vec<(u64, Vec<u8>)>,
    /// Sequence number of the last checkpoint.
    pub sequence: u64,
    /// Counters under their readable keys, as last written.
    pub counters: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A piece of what a store gives back; see [`Kept`].
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Sequence number of the last checkpoint, and its head. Comes before every other piece.
    Head(u64, &'a [u8]),
    /// A delta chunk with the sequence number of its checkpoint, newest first.
    Delta(u64, &'a [u8]),
    /// A base page. All of them come behind the last delta chunk.
    Base(u64, &'a [u8]),
    /// A counter: key and value.
    Counter(&'a [u8], &'a [u8]),
}

impl Kept {
    /// Takes in a piece.
    pub fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Head(sequence, head) => {
                self.sequence = sequence;
                self.head = head.to_vec();
            }
            Piece::Base(page, records) => self.bases.push((page, records.to_vec())),
            Piece::Delta(sequence, records) => self.deltas.push((sequence, records.to_vec())),
            Piece::Counter(key, value) => self.counters.push((key.to_vec(), value.to_vec())),
        }
    }

    /// Shows all pieces.
    fn show(&self, take: &mut dyn FnMut(Piece<'_>)) {
        take(Piece::Head(self.sequence, &self.head));
        let newest_first = self.deltas.iter().rev();
        newest_first.for_each(|(sequence, records)| take(Piece::Delta(*sequence, records)));
        self.bases.iter().for_each(|(page, records)| take(Piece::Base(*page, records)));
        self.counters.iter().for_each(|(key, value)| take(Piece::Counter(key, value)));
    }
}

/// A store: a cache of the fold. Deleting it loses nothing.
pub trait Store {
    /// Loads the last checkpoint; `None` when there is none, or when the data is damaged, of
    /// another version or foreign (the reason is given to `notice`, and the store is cleared).
    fn load(&mut self) -> Result<Option<Kept>, StoreError>;

    /// Shows the data of `load`, piece by piece while it is read, so that nothing need be held
    /// twice. Whether it all adds up is known at the end only: unless `true` comes back, what was
    /// shown is void, as if nothing had been stored.
    fn show(&mut self, take: &mut dyn FnMut(Piece<'_>)) -> Result<bool, StoreError> {
        let kept = self.load()?;
        kept.iter().for_each(|kept| kept.show(take));
        Ok(kept.is_some())
    }

    /// Begins to write a checkpoint, atomically; returns at once. Waits for the one before.
    fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError>;

    /// Whether the last `keep` is still being written.
    fn is_busy(&mut self) -> bool;

    /// Waits until everything given is durable.
    fn flush(&mut self) -> Result<(), StoreError>;
}

/// Errors of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing helps but a person; the text names the remedy.
    #[error("{0}")]
    Stop(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_read_on_from_its_first_offset_to_its_end_and_from_nowhere_else() {
        let span = |first, end| LaneSpan {
            lane: Lane::new(Topic::JobState, 3),
            first,
            stable_end: end,
            end,
        };
        // Emptied by retention, its last offset a marker that was passed.
        assert!(span(11, 11).admits(11).is_ok());
        assert!(span(0, 0).admits(0).is_ok());
        for wanted in 4..=9 {
            assert!(span(4, 9).admits(wanted).is_ok(), "{wanted}");
        }
        for (span, next) in [(span(11, 11), 10), (span(4, 9), 3)] {
            let lost = span.admits(next);
            let Err(LogError::OutOfRange { wanted, first, .. }) = lost else { panic!("{lost:?}") };
            assert_eq!((wanted, first), (next, span.first));
        }
        for (span, next) in [(span(11, 11), 12), (span(4, 9), 10)] {
            let Err(LogError::Stop(why)) = span.admits(next) else { panic!("{span:?}") };
            assert!(why.contains("it lost its end"), "{why}");
        }
    }
}
