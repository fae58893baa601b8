//! The record of a job. A number or a text that is kept of its state is listed here, and nowhere
//! else but where it is folded: store and digest go through [`Job::each_number`] and
//! [`Job::texts`].

use crate::event::{JobState, Status};
use crate::id::{Key, Name};
use crate::unit::Millis;

/// A job: its newest state, and its last sign of life.
///
/// There are millions, met in no order, so what lies together is what is looked at
/// together: the first 64 bytes are all that a heartbeat needs, the next are what a change of state
/// needs too.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Job {
    /// Its number.
    pub key: Key,
    /// The heartbeat part.
    pub heartbeat: LastHeartbeat,
    /// Which try it is.
    pub attempt: u32,
    /// Cores, at least 1.
    pub cores: u32,
    /// Row of (queue, gshare, resource type).
    pub load: u32,
    /// Revision of its state.
    pub revision: u64,
    /// Its state; `None` while only heartbeats are known of it (a stub).
    pub status: Option<Status>,
    /// Its contribution to waiting times at its queue.
    pub sample: Sample,
    /// Whether it counts as one that went wrong at its queue once it is closed; follows from its
    /// sub-state, see [`counts_closed`].
    pub counts_closed: bool,
    /// Whether its next heartbeat sets when it is looked at: a rule gave its command for want of
    /// one. Derived, as `look`.
    pub awaits_heartbeat: bool,
    /// Minute in which the job is looked at next; 0: it has no entry. Derived, see
    /// [`JobLooks`](crate::state::looks::JobLooks).
    pub look: u32,
    /// Its task.
    pub task: Key,
    /// The request that placed it; [`Key::NONE`] when not known.
    pub request: Key,
    /// When it reached its state.
    pub changed_at: Millis,
    /// When it was generated.
    pub created_at: Millis,
    /// When its payload started; 0 before.
    pub started_at: Millis,
    /// When its payload ended; 0 before.
    pub ended_at: Millis,
    /// Row of its user at (queue, gshare).
    pub user: u32,
    /// Row of its working group at (queue, gshare).
    pub group: u32,
    /// Row of its nucleus.
    pub nucleus: u32,
    /// Row of (request or task, queue) where its coming is counted against reservations.
    pub seen: u32,
    /// Queue, gshare, resource type, user, working group, nucleus: the names that its rows are of,
    /// so that a state with the same ones keeps the rows without a look at them.
    pub names: [Name; 6],
    /// Workflow.
    pub workflow: Name,
    /// Production source label.
    pub label: Name,
    /// Sub-state.
    pub sub_status: Name,
    /// Priority.
    pub priority: i32,
    /// Size of its input.
    pub input_bytes: u64,
    /// Size of its output.
    pub output_bytes: u64,
    /// When a pilot could first take it; 0 before.
    pub activated_at: Millis,
}

/// The sub-state of a closed job whose input goes back to be brokered again.
const TO_REASSIGN: &str = "toreassign";

/// Whether a closed job counts with those that failed (spec atlas 8.3 G16): its sub-state says that
/// it was taken away to be brokered again, or its writer states no sub-states. One that was closed
/// for another reason says nothing about its queue.
#[inline]
pub fn counts_closed(sub_status: &str) -> bool {
    sub_status.is_empty() || sub_status == TO_REASSIGN
}

/// Contribution of a job to waiting times at its queue (spec atlas 8.1.3), and whether it merges
/// output. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Sample {
    /// Nothing, and it merges nothing: most jobs.
    #[default]
    None = 0,
    /// It merges a user's output: how long it waited, and how long it waits.
    Merge = 1,
    /// It was sent to probe the queue: how long it waited.
    Probe = 2,
    /// Nothing: it merges output in a share whose waiting times do not count.
    OtherMerge = 3,
}

/// Share of the jobs that count for waiting times.
const SAMPLED_SHARE: &str = "User Analysis";
/// Processing type of jobs that merge output.
const MERGES: &str = "pmerge";
/// User whose jobs probe queues.
const PROBES: &str = "gangarbt";

impl Sample {
    /// All there are, in order of their numbers.
    pub const ALL: [Sample; 4] = [Sample::None, Sample::Merge, Sample::Probe, Sample::OtherMerge];

    /// The contribution of a job, by the share, processing type and user that it reports.
    #[inline]
    pub fn of(job: &JobState<'_>) -> Sample {
        match (job.gshare == SAMPLED_SHARE, job.processing_type, job.user) {
            (true, MERGES, _) => Sample::Merge,
            (false, MERGES, _) => Sample::OtherMerge,
            (true, _, PROBES) => Sample::Probe,
            (..) => Sample::None,
        }
    }

    /// Whether the job merges output. Such jobs count neither in a user's slots nor in the
    /// analysis stabilizer (spec atlas 8.1.1, 8.5).
    #[inline]
    pub fn is_merge(self) -> bool {
        matches!(self, Sample::Merge | Sample::OtherMerge)
    }
}

/// The newest heartbeat of a job. All zero: none. Packed to 28 bytes, so that the revision of the
/// job's state lies in the same 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, packed(4))]
pub struct LastHeartbeat {
    /// Attempt it is about.
    pub attempt: u32,
    /// When the log took it, whatever time it states; ms since 1970.
    pub at: Millis,
    /// Events done.
    pub events: u32,
    /// CPU time; s.
    pub cpu_s: u32,
    /// Disk I/O; kB/s.
    pub disk_io_kbps: u32,
    /// Resident memory; MB.
    pub rss_mb: u32,
}

/// Is shown each number of a job: writes it, sets it, or adds it to a digest.
pub trait JobNumbers {
    /// Why it stops.
    type Fault;
    /// A number below 0 or above.
    fn long(&mut self, number: &mut i64) -> Result<(), Self::Fault>;
    /// A moment, most of them near to the job's `changed_at`, or 0.
    fn near(&mut self, moment: &mut Millis, changed_at: Millis) -> Result<(), Self::Fault>;
    /// 64 bits.
    fn word(&mut self, word: &mut u64) -> Result<(), Self::Fault>;
    /// A small number.
    fn count(&mut self, count: &mut u32) -> Result<(), Self::Fault>;
    /// A small number below 0 or above.
    fn int(&mut self, number: &mut i32) -> Result<(), Self::Fault>;
}

/// The statements of a record of a job at a NorduGrid cluster beside what all jobs have. Empty text
/// and 0 mean "not known".
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtCluster {
    /// CPU time that it asked for, of the whole job; s.
    pub cpu_time_s: u32,
    /// Wall time that it asked for; s.
    pub wall_time_s: u32,
    /// Id that the cluster gave it.
    pub cluster_job: String,
}

impl AtCluster {
    /// Whether it states nothing.
    pub fn is_nothing(&self) -> bool {
        self.cpu_time_s == 0 && self.wall_time_s == 0 && self.cluster_job.is_empty()
    }
}

impl Job {
    /// How many [`Job::texts`] it has.
    pub const TEXTS: usize = 3;

    /// A job of which only its number is known.
    pub fn stub(key: Key) -> Job {
        Job {
            key,
            task: Key::NONE,
            request: Key::NONE,
            changed_at: 0,
            created_at: 0,
            started_at: 0,
            ended_at: 0,
            input_bytes: 0,
            output_bytes: 0,
            heartbeat: LastHeartbeat::default(),
            attempt: 0,
            revision: 0,
            priority: 0,
            cores: 1,
            load: 0,
            user: 0,
            group: 0,
            nucleus: 0,
            seen: 0,
            names: [Name::NONE; 6],
            workflow: Name::NONE,
            label: Name::NONE,
            sub_status: Name::NONE,
            status: None,
            sample: Sample::None,
            activated_at: 0,
            counts_closed: true,
            awaits_heartbeat: false,
            look: 0,
        }
    }

    /// Shows each of its numbers, in the order of the store.
    #[inline]
    pub fn each_number<V: JobNumbers>(&mut self, to: &mut V) -> Result<(), V::Fault> {
        // Every field is named, so that none is added and forgotten: one that is missing here would
        // be missing from the digest too, which then shows no difference.
        let Job {
            task,
            request,
            changed_at,
            created_at,
            activated_at,
            started_at,
            ended_at,
            input_bytes,
            output_bytes,
            attempt,
            revision,
            cores,
            priority,
            // Written beside these, or made of what is.
            key: _,
            heartbeat: _,
            status: _,
            sample: _,
            workflow: _,
            label: _,
            sub_status: _,
            names: _,
            load: _,
            user: _,
            group: _,
            nucleus: _,
            seen: _,
            counts_closed: _,
            awaits_heartbeat: _,
            look: _,
        } = self;
        to.word(&mut task.0)?;
        to.word(&mut request.0)?;
        to.long(changed_at)?;
        for moment in [created_at, activated_at, started_at, ended_at] {
            to.near(moment, *changed_at)?;
        }
        to.word(input_bytes)?;
        to.word(output_bytes)?;
        to.count(attempt)?;
        to.word(revision)?;
        to.count(cores)?;
        to.int(priority)
    }

    /// Its names that are no part of a row, in the order of the store.
    #[inline]
    pub fn texts(&mut self) -> [&mut Name; Job::TEXTS] {
        [&mut self.workflow, &mut self.label, &mut self.sub_status]
    }

    /// Disk I/O per core, if it runs and its heartbeat of this attempt reports it; B/s per core.
    pub fn disk_io_per_core(&self) -> Option<u64> {
        let runs = self.status == Some(Status::Running);
        let is_known = self.heartbeat.at != 0
            && self.heartbeat.attempt == self.attempt
            && self.heartbeat.disk_io_kbps != 0;
        (runs && is_known)
            .then(|| u64::from(self.heartbeat.disk_io_kbps) * 1000 / u64::from(self.cores))
    }

    /// When something was last heard of it: a heartbeat of its attempt, or of a later one whose
    /// state is still to come; or else its state.
    #[inline]
    pub fn heard_at(&self) -> Millis {
        let heartbeat = self.heartbeat;
        let counts = heartbeat.attempt >= self.attempt;
        if counts { heartbeat.at.max(self.changed_at) } else { self.changed_at }
    }

    /// When it ended, for windows and forgetting: the payload's end, else the state's time.
    pub fn over_at(&self) -> Millis {
        if self.ended_at != 0 { self.ended_at } else { self.changed_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Millions of them are held, in three cache lines each.
    #[test]
    fn a_job_is_no_larger_than_it_was_made_to_be() {
        assert_eq!(size_of::<Option<Job>>(), 192);
        assert_eq!(std::mem::offset_of!(Job, task), 64);
    }
}
