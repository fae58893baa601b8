//! Job states and heartbeats.

use crate::domain::cms::event::pool::Requirements;
use crate::record::{Attempt, record, symbols};
use crate::unit::{Bytes, Cores, Millis};

macro_rules! statuses {
    ($($(#[$mark:ident])? $variant:ident = $number:literal $text:literal $doc:literal,)*) => {
        /// The state of a job (spec atlas 9.1). The numbers are persisted and are the state's
        /// rank: of two records that agree in all else, the later in a job's life wins.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Status { $($(#[$mark])? #[doc = $doc] $variant = $number,)* }

        impl Status {
            /// Every state, in order of their numbers.
            pub const ALL: [Status; Status::COUNT] = [$(Status::$variant,)*];

            /// Its name on the wire and in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Status::$variant => $text,)* }
            }
        }
    };
}

statuses! {
    #[default]
    Pending = 0 "pending" "Generated, not yet set up.",
    Defined = 1 "defined" "Destination queue set, no input transfer decided yet.",
    Assigned = 2 "assigned" "Input is being transferred to the queue's storage.",
    Throttled = 3 "throttled" "Held back by a cap, or because its task pauses.",
    Activated = 4 "activated" "All input local; may be handed to a pilot.",
    Sent = 5 "sent" "Given to a pilot.",
    Starting = 6 "starting" "Accepted, payload not started.",
    Running = 7 "running" "Payload runs.",
    Holding = 8 "holding" "Payload ended, outputs being registered.",
    Merging = 9 "merging" "Unmerged output waits for its merge job.",
    Transferring = 10 "transferring" "Outputs move to the final storage.",
    Finished = 11 "finished" "Success.",
    Failed = 12 "failed" "Error.",
    Cancelled = 13 "cancelled" "Killed by a user or operator.",
    Closed = 14 "closed" "Removed by the system before it ran.",
    Held = 15 "held" "Held back by a user or an operator: it neither waits nor runs nor has ended.",
}

impl Status {
    /// How many states there are.
    pub const COUNT: usize = 16;

    /// Whether the job is over; nothing follows within the same attempt.
    pub const fn is_ended(self) -> bool {
        matches!(self, Status::Finished | Status::Failed | Status::Cancelled | Status::Closed)
    }

    /// Whether the payload started in this state, and the job is not over.
    pub const fn is_under_way(self) -> bool {
        matches!(self, Status::Running | Status::Holding | Status::Merging | Status::Transferring)
    }

    /// States in which a job waits to run at its queue (spec atlas 9.4).
    pub const QUEUED: [Status; 4] =
        [Status::Defined, Status::Assigned, Status::Activated, Status::Starting];

    /// Whether a job in this state waits to run at its queue.
    #[inline]
    pub const fn is_queued(self) -> bool {
        matches!(self, Status::Defined | Status::Assigned | Status::Activated | Status::Starting)
    }

    /// As an index into a row of counters.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The state of a persisted number.
    pub fn from_number(number: u8) -> Option<Status> {
        Status::ALL.get(usize::from(number)).copied()
    }

    /// The state of a name.
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.iter().copied().find(|status| status.name() == name)
    }
}

symbols!(Status);

/// First bit of the era in a revision.
pub const REVISION_ERA: u32 = 52;
/// The first era, also of revisions that have none.
const FIRST_ERA: u64 = 16;

/// Era of the source of a job's state. A source that was restored, or that has a job again that was
/// over, begins another: its states are newer than all before, also than an end of the attempt.
pub const fn era(revision: u64) -> u64 {
    let era = revision >> REVISION_ERA;
    if era < FIRST_ERA { FIRST_ERA } else { era }
}

/// A job reached a state. Empty text and 0 mean "unknown".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobState<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// Its state.
    pub status: Status,
    /// When it reached that state, by its own clock; ms since 1970.
    pub changed_at: Millis,
    /// Orders the states of one `changed_at`: raised when the same state is published again with
    /// more known, or a position in the source (LSN, SCN). Not above `i64::MAX`. Its bits from
    /// [`REVISION_ERA`] on are an era of the source: see [`era`].
    pub revision: u64,
    /// Which try of the job this is, from 0; nothing ends an attempt but its own end or a later
    /// one.
    pub attempt: u32,
    /// Name of the task it belongs to.
    pub task: &'a str,
    /// Request (subject, a colon, attempt) whose decision placed it; empty when not known.
    pub request: &'a str,
    /// Queue, by its unified name.
    pub queue: &'a str,
    /// User.
    pub user: &'a str,
    /// Working group; empty for a user's own.
    pub group: &'a str,
    /// Leaf of the global share tree.
    pub gshare: &'a str,
    /// Resource type (SCORE, MCORE, ..._HIMEM).
    pub resource_type: &'a str,
    /// Nucleus its output goes to.
    pub nucleus: &'a str,
    /// Workflow of its queue (pull_ups, push ...): decides its heartbeat limit.
    pub workflow: &'a str,
    /// Production source label (managed, user, test ...).
    pub label: &'a str,
    /// Processing type (simul, pmerge, panda-client-1.5 ...).
    pub processing_type: &'a str,
    /// Sub-state (toreassign ...).
    pub sub_status: &'a str,
    /// Cores it takes; 0 counts as 1.
    pub cores: Cores,
    /// Current priority.
    pub priority: i32,
    /// When it was generated.
    pub created_at: Millis,
    /// When a pilot could first take it in this attempt; 0 before that. Carried on by every later
    /// state.
    pub activated_at: Millis,
    /// When its payload started in this attempt; 0 before that. Carried on by every later state.
    pub started_at: Millis,
    /// When its payload ended; 0 before that. Carried on by every later state.
    pub ended_at: Millis,
    /// Size of its input.
    pub input_bytes: Bytes,
    /// Size of its output.
    pub output_bytes: Bytes,
    /// CPU time that it asked for, of the whole job; s; 0: not known.
    pub cpu_time_s: u32,
    /// Wall time that it asked for; s; 0: not known.
    pub wall_time_s: u32,
    /// Id that its cluster gave it: records of one id at one cluster are of one job; empty: not
    /// known, or its name is the id.
    pub cluster_job: &'a str,
    /// Its wishes to a pool of slots; `None`: it is in none, or this report does not repeat it.
    /// In a box: most jobs are in no pool, and events are moved about.
    pub requirements: Option<Box<Requirements<&'a str>>>,
}

impl JobState<'_> {
    /// When a pilot could first take it: as stated, or as the state implies; ms; 0: not known.
    #[inline]
    pub fn ready_at(&self) -> Millis {
        match (self.activated_at, self.status) {
            (0, Status::Activated) => self.changed_at,
            (at, _) => at,
        }
    }
}

record!(JobState<'a> {
    job,
    status,
    changed_at,
    revision,
    attempt as Attempt;
    task,
    request,
    queue,
    user,
    group,
    gshare,
    resource_type,
    nucleus,
    workflow,
    label,
    processing_type,
    sub_status;
    cores,
    priority,
    created_at,
    activated_at,
    started_at,
    ended_at,
    input_bytes,
    output_bytes,
    cpu_time_s,
    wall_time_s,
    requirements,
    cluster_job,
});

/// A job is still alive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heartbeat<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// When the sign was given, by its own clock.
    pub at: Millis,
    /// Attempt it is about.
    pub attempt: u32,
    /// CPU time used so far; s.
    pub cpu_s: u32,
    /// Disk I/O of the whole job; kB/s.
    pub disk_io_kbps: u32,
    /// Largest resident memory so far; MB.
    pub rss_mb: u32,
    /// Events done so far.
    pub events: u32,
}

record!(Heartbeat<'a> { job, at, attempt as Attempt, cpu_s, disk_io_kbps, rss_mb, events });
