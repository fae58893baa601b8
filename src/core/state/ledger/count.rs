//! Counters: jobs and cores by state, and the figures of queues, shares and links.

use crate::event::Status;

/// Jobs and their cores, by state. Those of one state lie side by side, and so do those of states
/// that follow one another: what a change touches is near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// By state.
    pub by: [JobsAndCores; Status::COUNT],
}

/// How many jobs, and how many cores they have in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobsAndCores {
    /// Jobs.
    pub jobs: u32,
    /// Their cores.
    pub cores: u32,
}

impl Count {
    /// Nothing counted.
    pub const NONE: Count = Count { by: [JobsAndCores { jobs: 0, cores: 0 }; Status::COUNT] };

    pub(super) fn add(&mut self, status: Status, cores: u32, sign: i32) {
        let held = &mut self.by[status.index()];
        held.jobs = held.jobs.wrapping_add_signed(sign);
        held.cores = held.cores.wrapping_add_signed(sign * cores as i32);
    }

    /// The same job, counted once, in another state or with other cores.
    #[inline]
    pub(super) fn shift(&mut self, from: (Status, u32), to: (Status, u32)) {
        let old = &mut self.by[from.0.index()];
        old.jobs = old.jobs.wrapping_sub(1);
        old.cores = old.cores.wrapping_sub(from.1);
        let new = &mut self.by[to.0.index()];
        new.jobs = new.jobs.wrapping_add(1);
        new.cores = new.cores.wrapping_add(to.1);
    }

    /// Jobs by state.
    pub fn jobs(&self) -> [u32; Status::COUNT] {
        self.by.map(|wait| wait.jobs)
    }

    /// Cores by state.
    pub fn cores(&self) -> [u32; Status::COUNT] {
        self.by.map(|wait| wait.cores)
    }

    /// Puts another count's jobs and cores to its own.
    pub fn join(&mut self, other: &Count) {
        for (own, other) in self.by.iter_mut().zip(&other.by) {
            own.jobs = own.jobs.wrapping_add(other.jobs);
            own.cores = own.cores.wrapping_add(other.cores);
        }
    }

    /// Whether there is any job that is not over.
    pub fn is_active(&self) -> bool {
        let live = Status::ALL.iter().zip(&self.by).filter(|(status, _)| !status.is_ended());
        live.map(|(_, wait)| wait.jobs).any(|jobs| jobs > 0)
    }

    /// Whether every number is 0.
    pub fn is_zero(&self) -> bool {
        *self == Count::default()
    }
}

/// Counters of (queue, gshare, resource type), and the rows they add up in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Jobs and cores.
    pub count: Count,
    /// Row of the queue.
    pub queue: u32,
    /// Row of (queue, gshare).
    pub share: u32,
}

/// Counters of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtQueue {
    /// Jobs and cores of all shares.
    pub count: Count,
    /// Sum of disk I/O per core over running jobs that report it; B/s per core.
    pub disk_io: u64,
    /// How many running jobs report it.
    pub disk_io_jobs: u32,
    /// Distinct nodes that asked for a job within the window.
    pub asked: u32,
    /// Distinct nodes that updated a job within the window.
    pub updated: u32,
    /// Counts of nodes that the workload system made itself.
    pub counted: CountedNodes,
    /// Workers submitted and not running.
    pub workers_submitted: u32,
    /// Workers running.
    pub workers_running: u32,
    /// Jobs of all shares reserved by decisions and not yet seen; derived, see `reserve`.
    pub reserved: u32,
}

/// Nodes of a queue as the workload system counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedNodes {
    /// How many counts there are: one, or none.
    pub reports: u32,
    /// Nodes that asked for a job.
    pub asked: u32,
    /// Nodes that updated a job.
    pub updated: u32,
}

impl AtQueue {
    /// Nodes that asked for a job and that updated one, within the window: as they were counted,
    /// else those that single reports name.
    pub fn nodes(&self) -> [u32; 2] {
        match self.counted.reports {
            0 => [self.asked, self.updated],
            _ => [self.counted.asked, self.counted.updated],
        }
    }

    /// A running job's disk I/O per core, if it reports one.
    #[inline]
    pub(super) fn disk(&mut self, disk_io: Option<u64>, sign: i32) {
        let Some(disk_io) = disk_io else { return };
        self.disk_io = self.disk_io.wrapping_add_signed(i64::from(sign) * disk_io as i64);
        self.disk_io_jobs = self.disk_io_jobs.wrapping_add_signed(sign);
    }
}

/// Counters of (queue, gshare).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtShare {
    /// Jobs by state.
    pub jobs: [u32; Status::COUNT],
    /// Users with a job that is not over and merges nothing.
    pub users: u32,
    /// Running jobs that merge output.
    pub merging: u32,
    /// Jobs reserved by decisions and not yet seen; derived, see `reserve`.
    pub reserved: u32,
}

/// Files and bytes that wait on a link, for one activity; or into a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}
