//! Facts, in the past tense. An event carries the whole state of its thing, so that a compacted
//! topic is enough to rebuild and a gap (a skipped state) does no harm.

pub(crate) mod configured;
mod description;
pub(crate) mod field_name;
mod input;
mod job;
mod link;
mod names;
mod options;
mod oversize;
mod parameter;
mod pilot;
mod queue;
mod quota;
mod release;
mod replica;
mod share;
mod site;
mod storage;
mod task;
mod transfer;
mod user;

pub use crate::domain::cms::event::grant::Grant;
pub use crate::domain::cms::event::pool::listed_sites;
pub use crate::domain::cms::event::pool::{
    Band, Class, FailureClass, GrantScopeKind, Label, NeededLabel, OwnRequirements, OwnSlotOffer,
};
pub use crate::domain::cms::event::pool::{
    PrincipalKind, Requirements, Resource, SiteStatus, SlotOffer, Tier, WorkflowFacts,
};
pub use crate::domain::cms::event::slot_quota::{
    BadQuota, ExtraBlock, MAX_SLOTS, SlotParts, SlotQuota, SlotsOfSite,
};
pub use crate::domain::nordugrid::event::{
    BatchFacts, ChildKind, ClusterFacts, Registration, RegistrationStatus, UserShare,
};
pub use crate::domain::own::event::{DomainRecord, DomainValue, domain_record_name};
pub use configured::{Configured, Touches, is_newer};
pub use description::{JobDescription, Upload};
pub use field_name::FieldName;
pub use input::{Dataset, DatasetReplica, FilePlacement, Input, OutputDataset};
pub use job::{Heartbeat, JobState, REVISION_ERA, Status, era};
pub use link::{BLOCKED, Link, LinkQueued, link_name};
pub use names::longest_name;
pub use options::{FullChain, Options};
pub use oversize::Oversize;
pub use parameter::{
    Parameter, confirmed, history_since, is_bookkeeping, kill_switch, uncounted_nodes,
};
pub use pilot::{Pilot, PilotKind};
pub use queue::{Endpoints, Queue, QueueStatus, Scope};
pub use quota::{Quota, QuotaKind};
pub use release::{Gpu, Hardware, HardwareKind, Release, SoftwareTag};
pub use replica::{DataKind, Location, Replica, ReplicaState, scoped, usual_scope};
pub use share::Share;
pub use site::Site;
pub use storage::Storage;
pub use task::{
    ChunkKind, DecisionOutcome, OutcomeAbout, OutcomeKind, RamUnit, ReplicaSummary, Task, TaskPhase,
};
pub use transfer::{Transfer, TransferStatus};
pub use user::{User, UserKind, user_name};

use crate::cut::Topic;
use crate::output::Output;
use crate::record::Published;
use crate::unit::Millis;

/// Hands every kind of configuration record to a macro: its type, which is also the name of its
/// topic, and the field of [`Facts`](crate::state::Facts) that holds its records.
#[macro_export]
macro_rules! each_configuration {
    ($then:ident) => {
        $then! {
            Queue queues,
            Site sites,
            Storage storages,
            Link links,
            Parameter parameters,
            Release releases,
            Share shares,
            Quota quotas,
            User users,
            Replica replicas,
            Registration registrations,
            UserShare user_shares,
            Grant grants,
            DomainRecord domain_records,
        }
    };
}
pub use each_configuration;

macro_rules! configuration {
    ($($kind:ident $field:ident,)*) => {
        /// A configuration record of any kind.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "an event holds it in a box")]
        pub enum Configuration {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)*
        }

        impl Configuration {
            /// The topics of all kinds.
            pub const TOPICS: &'static [Topic] = &[$(<$kind as Published>::TOPIC),*];

            /// Its topic.
            pub fn topic(&self) -> Topic {
                match self { $(Configuration::$kind(_) => <$kind as Published>::TOPIC,)* }
            }

            /// Its name: the record's key.
            pub fn name(&self) -> String {
                match self { $(Configuration::$kind(it) => it.name(),)* }
            }

            /// Whether its name is one of its fields, not several joined.
            pub fn is_key_a_field(&self) -> bool {
                match self { $(Configuration::$kind(_) => <$kind as Configured>::IS_KEY_A_FIELD,)* }
            }

            /// When it was last changed.
            pub fn changed_at(&self) -> Millis {
                match self { $(Configuration::$kind(it) => it.changed_at(),)* }
            }

            /// See [`Configured::revision`].
            pub fn revision(&self) -> i64 {
                match self { $(Configuration::$kind(it) => it.revision(),)* }
            }

            /// The same, changed at another time; ms since 1970.
            pub fn changed(&self, at: Millis) -> Configuration {
                match self { $(Configuration::$kind(it) => it.changed(at).into(),)* }
            }

            /// The same, later than the record that it replaces: of one time the content would
            /// decide which holds, and what a topic keeps would be another than what is known.
            pub fn after(&self, replaced: Millis) -> Configuration {
                match self.changed_at() > replaced {
                    true => self.clone(),
                    false => self.changed(replaced.saturating_add(1)),
                }
            }

            /// The longest name by which it refers to things.
            pub fn longest_name(&self) -> FieldName<'_> {
                match self { $(Configuration::$kind(it) => it.longest_name(),)* }
            }
        }

        $(impl From<$kind> for Configuration {
            fn from(it: $kind) -> Configuration {
                Configuration::$kind(it)
            }
        }

        impl<'a> TryFrom<&'a Configuration> for &'a $kind {
            type Error = Topic;

            /// The record, if it is of this kind; else its topic.
            fn try_from(it: &'a Configuration) -> Result<&'a $kind, Topic> {
                match it {
                    Configuration::$kind(it) => Ok(it),
                    other => Err(other.topic()),
                }
            }
        })*
    };
}
each_configuration!(configuration);

impl<T: Into<Configuration>> From<T> for Event<'_> {
    fn from(it: T) -> Self {
        Event::Configuration(Box::new(it.into()))
    }
}

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
    /// The end of a decision.
    Outcome(DecisionOutcome),
    /// A configuration record.
    Configuration(Box<Configuration>),
    /// A null under a key: the configuration record of that name is gone.
    Removed {
        /// The topic it stood in.
        topic: Topic,
        /// The record's key: the name of the thing.
        name: &'a str,
    },
    /// A leader published an output that is folded.
    Output(Output),
    /// Bytes that could not be read, or that do not belong where they were. A fact like the others:
    /// it moves the cut and is counted.
    Garbled(Garbled),
}

/// Why bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Garbled {
    /// Longer than the limit on one record, or with a name longer than the limit on names.
    Oversized,
    /// Not framed as the topology states (no single-object marker).
    Framing,
    /// Framed with a schema that is not known here.
    UnknownSchema,
    /// The schema cannot be resolved against ours, or is another topic's.
    WrongSchema,
    /// The bytes end early, or hold what the schema does not allow.
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

    /// Its name in headers and metrics.
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

macro_rules! published {
    ($($kind:ident $field:ident,)*) => {
        $(impl Published for $kind {
            const TOPIC: Topic = Topic::$kind;
        })*
    };
}
each_configuration!(published);
published!(Task task,);

impl Published for DecisionOutcome {
    const TOPIC: Topic = Topic::Outcome;
}

macro_rules! reported {
    ($($kind:ident),*) => {
        $(impl Published for $kind<'_> {
            const TOPIC: Topic = Topic::$kind;
        })*
    };
}
reported!(JobState, Heartbeat, Transfer, Pilot);
