//! One candidate: a queue with every figure that may be asked of it.

use super::owner::UserView;
use crate::event::{Queue, Release, Status, Storage};
use crate::policy::verdict::Verdict;
use crate::state::ledger::Count;
use crate::unit::{Bytes, Millis};

/// A queue as seen by one judgement, with all that may be known about it.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// Its configuration.
    pub queue: &'a Queue,
    /// Jobs by state, of the task's share, at the unified queue.
    pub load: &'a [u32; Status::COUNT],
    /// Jobs by state, of the task's share and resource type, at the unified queue.
    pub load_type: &'a Count,
    /// Jobs by state, of all shares, at the unified queue.
    pub load_all: &'a Count,
    /// Jobs of the task's share reserved here by decisions and not yet seen.
    pub reserved: u32,
    /// Jobs of all shares reserved here by decisions and not yet seen.
    pub reserved_all: u32,
    /// Whether the queue's storage site is the nucleus.
    pub at_nucleus: bool,
    /// State of the link from the queue's storage site to the nucleus.
    pub link: LinkView,
    /// The queue's default write endpoint, if known.
    pub output: Option<&'a Storage>,
    /// The queue's default read endpoint, if known.
    pub input: Option<&'a Storage>,
    /// Distinct nodes that asked for a job plus distinct nodes that updated one, within
    /// `node_window_h`.
    pub pilots: u32,
    /// Batch workers submitted and running, of reports younger than 60 min.
    pub workers: u32,
    /// Slot figure for this share and resource type: most specific one that has not expired.
    pub slots: Option<u32>,
    /// Job-weighted mean of disk I/O per core over running jobs that report one; kB/s per core.
    pub disk_io_kbps: Option<f64>,
    /// Bytes of the chunk's input on disk readable here.
    pub available_bytes: Bytes,
    /// Files of the chunk's input on disk readable here.
    pub available_files: u32,
    /// The same with what lies on tape.
    pub reachable_bytes: Bytes,
    /// See `reachable_bytes`.
    pub reachable_files: u32,
    /// Endpoints it reads.
    pub inputs: Stores<'a>,
    /// Endpoints it writes.
    pub outputs: Stores<'a>,
    /// Software that it publishes; `None`: none.
    pub software: Option<&'a Release>,
    /// The union of all tags, by which container names are resolved.
    pub all_software: Option<&'a Release>,
    /// No job started for two hours although some were ready (spec atlas F5).
    pub inactive: bool,
    /// Jobs transferring to nuclei that cannot be written over the WAN (spec atlas F18).
    pub stuck_transferring: u32,
    /// Jobs of the user here.
    pub user: UserView,
}

/// Storage endpoints, some of which nothing may be known of.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// All there are.
    pub all: &'a [Option<Storage>],
    /// Places of these in `all`, the default first.
    pub at: &'a [u32],
}

impl<'a> Stores<'a> {
    /// Those of which something is known.
    pub fn iter(&self) -> impl Iterator<Item = &'a Storage> + use<'a> {
        let all = self.all;
        self.at.iter().filter_map(move |at| all[*at as usize].as_ref())
    }
}

/// A candidate before a step that sees all of them at once.
pub struct Row<'a> {
    /// The candidate.
    pub candidate: &'a Candidate<'a>,
    /// Whether there is an objection to it that may fall soon: it will not be chosen, and still
    /// counts as one there is.
    pub doubtful: bool,
    /// Whether it goes ahead of all others, without a weight (spec atlas 2.5.7, bootstrap).
    pub ahead: bool,
    /// Whether it goes before others whatever their weight, and keeps its own (spec atlas 8.7).
    pub preferred: bool,
    /// Its weight; 1 before weighing.
    pub weight: f64,
    /// Number of running jobs used (spec atlas 2.5.1); 0 before weighing.
    pub running: f64,
    /// The step's verdict.
    pub verdict: Verdict,
    /// For a weight: its factor.
    pub factor: f64,
}

/// State of a link (spec atlas 4.1). Figures too old to count are already left out; of closeness
/// the last one stated holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkView {
    /// Whether anything is known of links from this source at all.
    pub source_known: bool,
    /// 0 best to 11 worst; -1 blocked.
    pub closeness: Option<i32>,
    /// Files queued for the activity that matters.
    pub queued_files: Option<u64>,
    /// Throughput over the last hour, day, week; MB/s.
    pub mbps_1h: Option<f64>,
    /// See `mbps_1h`.
    pub mbps_1d: Option<f64>,
    /// See `mbps_1h`.
    pub mbps_1w: Option<f64>,
    /// When the next of the figures becomes too old to count; `None`: none does.
    pub until: Option<Millis>,
}

impl Candidate<'_> {
    /// Jobs of the share in a state.
    #[inline]
    pub fn jobs(&self, status: Status) -> f64 {
        f64::from(self.load[status.index()])
    }

    /// Defined jobs of the share, with those reserved and not yet seen.
    #[inline]
    pub fn defined(&self) -> f64 {
        self.jobs(Status::Defined) + f64::from(self.reserved)
    }

    /// Jobs of all shares in a state.
    #[inline]
    pub fn jobs_all(&self, status: Status) -> f64 {
        f64::from(self.load_all.by[status.index()].jobs)
    }

    /// Jobs of the share and resource type in a state.
    #[inline]
    pub fn jobs_of_type(&self, status: Status) -> f64 {
        f64::from(self.load_type.by[status.index()].jobs)
    }

    /// Cores of a slot; 1 when not set.
    #[inline]
    pub fn cores(&self) -> f64 {
        f64::from(self.queue.cores.max(1))
    }
}
