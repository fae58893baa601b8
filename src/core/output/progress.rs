//! The record of a cycle: how far the log was read, what time it was, what was published.

use crate::cut::{Lane, Topic};
use crate::output::repair::NowRepair;
use crate::record::{Published, Word, record};
use crate::unit::Millis;

/// Revision of the engine. Raised when the same cycle would give other decisions, so that
/// `replay --verify` can distinguish "made by another engine" from "wrong".
pub const ENGINE_REVISION: u32 = 20;

/// Oldest revision whose decisions are made again by `replay --verify`: since then only mistakes
/// were mended, so a decision that is the same is verified, and one that differs is not verifiable.
pub const VERIFIABLE_SINCE: u32 = 3;

/// One cycle. Replaying these in order is the one way to recover, and it is exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Domain.
    pub domain: String,
    /// Leader's term: raised by each process that takes the lead.
    pub epoch: u64,
    /// Number of the cycle; grows by one, across epochs too.
    pub number: u64,
    /// The cycle's `now`.
    pub now: Millis,
    /// The process that published it: host, process id and a start stamp.
    pub instance: String,
    /// Next offsets of the lanes that moved; of all lanes when `full`.
    pub lanes: Vec<(Lane, u64)>,
    /// Whether `lanes` and `flags` hold every lane.
    pub full: bool,
    /// Lanes whose flags changed; all flagged lanes when `full`.
    pub flags: Vec<(Lane, LaneFlags)>,
    /// Records of this cycle that could not be read: what was unreadable then stays so.
    pub garbled: Vec<(Lane, u64)>,
    /// How many outputs went to each own lane in this cycle (`progress` not counted).
    pub outputs: Vec<(Lane, u32)>,
    /// The resolved policies as text; only in the first record of an epoch.
    pub policies: Option<String>,
    /// Hash of `policies`, in every record.
    pub policy_hash: String,
    /// [`ENGINE_REVISION`] of the process that published it.
    pub engine: u32,
    /// No request was judged, on purpose: the lanes had not caught up after a start.
    pub quiet: bool,
    /// The leader stops in order: a standby may take over at once.
    pub farewell: bool,
    /// Hash of each decision and throttle of this cycle without framing
    /// ([`hash`](crate::id::hash)), lane by lane as in `outputs`, in each in the order of
    /// offsets; empty when there are too many.
    pub output_hashes: Vec<u64>,
    /// The counters published in this cycle go on with those of an earlier one.
    pub counters_continue: bool,
    /// Further counters that had changed then are published in later cycles.
    pub counters_follow: bool,
    /// All repairs of a `now` there were; in every record, so that the newest one is enough.
    pub now_repairs: Vec<NowRepair>,
    /// Identifier of each topic in the log beside its name (Kafka: the topic's id), so that another
    /// topic of the same name is noticed; in records that are `full`. Empty where the log has no
    /// identifiers.
    pub topic_ids: Vec<(Topic, String)>,
    /// Of `lanes`, the last record that was read of each, where one is known.
    pub last_read: Vec<(Lane, LastRead)>,
}

/// The last record that was read of a lane. Another one at its offset shows that the lane lost its
/// end and was written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRead {
    /// Its offset.
    pub offset: u64,
    /// [`hash`](crate::id::hash) of its offset, time stamp, key and value.
    pub check: u64,
}

/// Flags of a lane at the end of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneFlags {
    /// Read to its end (the client's end of partition, at the high watermark).
    pub at_end: bool,
    /// Could not be read for 60 s.
    pub unreadable: bool,
    /// Held back by an open transaction of another producer: its time is the append time of its
    /// last readable record.
    pub blocked_at: Option<Millis>,
}

record!(Progress {
    domain,
    epoch,
    number,
    now,
    instance,
    lanes,
    full,
    flags,
    garbled,
    outputs,
    policies,
    policy_hash,
    engine,
    quiet,
    farewell,
    output_hashes as Word,
    counters_continue,
    counters_follow,
    now_repairs,
    topic_ids,
    last_read,
});
record!(LastRead { offset, check as Word });
record!(LaneFlags { at_end, unreadable, blocked_at });

impl Published for Progress {
    const TOPIC: Topic = Topic::Progress;
}
