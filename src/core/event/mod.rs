//! Facts, in the past tense. An event carries the whole state of its thing, so that a compacted
//! topic is enough to rebuild and a gap (a skipped state) does no harm.

mod account;
mod config;
mod input;
mod job;
mod names;
mod options;
mod pilot;
mod software;
mod task;
mod transfer;

pub use account::{Quota, QuotaKind, Share, User, UserKind};
pub use config::{
    Endpoints, Link, LinkQueued, Parameter, Queue, QueueStatus, Scope, Site, Storage, history_since,
};
pub use input::{Dataset, DatasetReplica, Input, OutputDataset, Placement};
pub use job::{Heartbeat, JobState, Status};
pub use names::longest_name;
pub use options::{FullChain, Options};
pub use pilot::Pilot;
pub use software::{Gpu, Hardware, HardwareKind, Release, SoftwareTag};
pub use task::{ChunkKind, Outcome, OutcomeKind, RamUnit, ReplicaSummary, Task, TaskPhase};
pub use transfer::{Transfer, TransferState};

use crate::core::cut::Topic;
use crate::core::output::decision::Decision;
use crate::core::output::throttle::Throttle;

/// A fact. Closed on purpose: a new kind of fact is a new variant, and every `match` then asks
/// what to do with it. What comes by the million borrows its text from the record's bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A job reached a state.
    JobState(JobState<'a>),
    /// A job is still alive.
    Heartbeat(Heartbeat<'a>),
    /// A file or dataset on its way.
    Transfer(Transfer<'a>),
    /// A pilot, worker or slot report.
    Pilot(Pilot<'a>),
    /// A task, or a chunk of it, asks for brokerage, changes, or ends.
    Task(Box<Task>),
    /// What became of a decision.
    Outcome(Outcome),
    /// A queue's configuration.
    Queue(Box<Queue>),
    /// A site, perhaps a nucleus.
    Site(Site),
    /// Space and status of a storage endpoint.
    Storage(Storage),
    /// Network measurements from one site to another.
    Link(Link),
    /// A run-time parameter (gdpconfig).
    Parameter(Parameter),
    /// Software and hardware that a queue publishes.
    Release(Box<Release>),
    /// A node of the tree of global shares.
    Share(Box<Share>),
    /// A limit on storage, and what is used of it.
    Quota(Quota),
    /// A user or working group, and its caps.
    User(Box<User>),
    /// A null under a key: the configuration record of that name is gone.
    Removed {
        /// The topic it stood in.
        topic: Topic,
        /// The record's key: the name of the thing.
        name: &'a str,
    },
    /// We answered a request.
    Decided(Box<Decision>),
    /// We held somebody as a whole, or let go.
    Throttled(Box<Throttle>),
    /// Bytes nobody could read, or that had no business where they were. A fact like the others:
    /// it moves the cut and is counted.
    Garbled(Garbled),
}

/// Why bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Garbled {
    /// Longer than the limit on one record, or with a name longer than the limit on names.
    Oversized,
    /// Not framed as the topology says (no single-object marker).
    Framing,
    /// Framed with a schema that is not known here.
    UnknownSchema,
    /// The schema cannot be resolved against ours, or is another topic's.
    WrongSchema,
    /// The bytes end early, or say what the schema does not allow.
    Malformed,
    /// A null where no record can be removed.
    Null,
    /// The log's stamp on it lies ahead of the leader's clock by more than the limit, so nothing
    /// bounds the times that it states. The bytes may be fine.
    StampAhead,
}

impl Garbled {
    /// All reasons, in order of their numbers.
    pub const ALL: [Garbled; 7] = [
        Garbled::Oversized,
        Garbled::Framing,
        Garbled::UnknownSchema,
        Garbled::WrongSchema,
        Garbled::Malformed,
        Garbled::Null,
        Garbled::StampAhead,
    ];

    /// The word for it in headers and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Garbled::Oversized => "oversized",
            Garbled::Framing => "framing",
            Garbled::UnknownSchema => "unknown_schema",
            Garbled::WrongSchema => "wrong_schema",
            Garbled::Malformed => "malformed",
            Garbled::Null => "null",
            Garbled::StampAhead => "stamp_ahead",
        }
    }
}
