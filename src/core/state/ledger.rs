//! The ledger: contributions in, contributions out.
//!
//! No counter is ever incremented by hand. Each record has a pure function here that gives its
//! contributions, reading that record and nothing else; folding takes the old record's out and
//! puts the new one's in. Hence every counter equals the sum over live records (and, in windows,
//! what forgotten ones left behind), and [`crate::state::audit`] can prove it.

mod copy;
mod count;
mod ended;
mod flow;
mod level;
mod wait;
mod who;

pub use count::{AtQueue, AtShare, Count, Flow, JobsAndCores, Load};
pub use ended::{
    ENDED_GRAIN, EndedJobs, START_GRAIN, START_REACH, WORK_GRAIN, ended_index, start_of,
    starts_per_hour,
};
pub use flow::{RATE_GRAINS, Rate};
pub use level::Level;
pub(in crate::state) use level::level_key;
pub use wait::{QUEUED_GRAIN, WAIT_GRAIN, WAIT_REACH, Waits};
pub use who::{GROUP, MERGE, Totals, USER, USER_FOR_GROUP};

use crate::event::Status;
use crate::id::{Key, Name};
use crate::state::job::{Job, Sample};
use crate::state::record::{Node, Workers};
use crate::state::reservation::{OpenReservations, Seen};
use crate::state::rows::{ByName, ByPlace, NO_ROW, RowKey, Rows};
use crate::state::window::{Window, bucket_of};
use crate::unit::Millis;

/// Every counter there is.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By (queue, gshare, resource type).
    pub load: Rows<Load>,
    /// By queue.
    pub queue: Rows<AtQueue>,
    /// By (queue, gshare).
    pub share: Rows<AtShare>,
    /// By (user or working group, queue, which of both, gshare): see [`USER`], [`GROUP`],
    /// [`USER_FOR_GROUP`], [`MERGE`].
    pub who: Rows<Count, ByPlace>,
    /// By (user or working group, which of both), on the whole grid. Changes are always noted.
    pub owner: Rows<Totals>,
    /// By (user, queue, gshare): jobs reserved by decisions and not yet seen, without those that
    /// merge output; derived, see `reserve`.
    pub reserved: Rows<u32>,
    /// By nucleus.
    pub nucleus: Rows<Count>,
    /// By (gshare, resource type, priority): jobs that wait to run.
    pub levels: Rows<Level, ByName>,
    /// By (queue, nucleus): jobs in transferring, their output on its way there.
    pub bound: Rows<u32>,
    /// By (request or task, queue): jobs seen, against reservations.
    pub seen: Rows<Seen>,
    /// By (task, queue).
    pub ended: Rows<EndedJobs>,
    /// By task: jobs that finished and had a nucleus, by the time they did. Changes are always
    /// noted.
    pub work: Rows<Window>,
    /// By queue: jobs that started, by the time they did.
    pub starts: Rows<Window>,
    /// By queue: how long sample jobs waited, by the time they started, and wait.
    pub waits: Rows<Waits>,
    /// How often anything in `waits` changed since this state was made; derived.
    pub waits_changed: u64,
    /// At how many queues the workload system counts nodes itself; derived.
    pub counted_queues: u32,
    /// By (source, destination, activity): transfers not ended.
    pub flow: Rows<Flow>,
    /// By (destination, activity): transfers not ended.
    pub into: Rows<Flow>,
    /// By (source, destination).
    pub rate: Rows<Rate>,
    /// Open reservations; derived.
    pub open_reservations: OpenReservations,
    /// Windows drop what is older than this; set by the cycle.
    pub now: Millis,
    /// Reach of [`EndedJobs`] windows.
    pub ended_reach: Millis,
    /// Reach of the windows of work that is done: longer than a request lives, so that what was
    /// counted off its work stays so.
    pub work_reach: Millis,
}

/// A state's place in a note of changes.
fn bit(status: Status) -> u16 {
    1 << status.index()
}

/// Row key of a job or task number at a queue.
pub fn at_queue(key: Key, queue: Name, kind: u32) -> RowKey {
    [key.0 as u32, (key.0 >> 32) as u32, queue.0, kind]
}

impl Ledger {
    /// The rows of (queue, gshare, resource type), made when they are new.
    pub fn load_row(&mut self, queue: Name, gshare: Name, resource_type: Name) -> u32 {
        let row = self.load.row([queue.0, gshare.0, resource_type.0, 0]);
        let (queue_key, share_key) = ([queue.0, 0, 0, 0], [queue.0, gshare.0, 0, 0]);
        // A row with changes to be published outlives those it adds up in when nothing counts in
        // any.
        let Load { queue: queue_row, share: share_row, .. } = *self.load.at(row);
        let queue_row = self.queue.refind(queue_row, queue_key);
        let share_row = self.share.refind(share_row, share_key);
        let queue_row = queue_row.unwrap_or_else(|| self.queue.row(queue_key));
        let share_row = share_row.unwrap_or_else(|| self.share.row(share_key));
        let load = self.load.at(row);
        load.queue = queue_row;
        load.share = share_row;
        row
    }

    /// The rows of a job's names, made when they are new: of (queue, gshare, resource type), of its
    /// user and working group at (queue, gshare), of its nucleus. `is_merge`: whether the job
    /// merges output.
    pub fn job_rows(&mut self, names: [Name; 6], is_merge: bool) -> [u32; 4] {
        let [queue, gshare, resource_type, user, group, nucleus] = names;
        let load = self.load_row(queue, gshare, resource_type);
        let (user, group) = who::rows(&mut self.who, [user, group, queue, gshare], is_merge);
        let nucleus = match nucleus {
            Name::NONE => NO_ROW,
            name => self.nucleus.row([name.0, 0, 0, 0]),
        };
        [load, user, group, nucleus]
    }

    /// Takes the old contributions of a job out and puts the new ones in. What both have in common
    /// is left alone: most changes are of the state only, within the same rows.
    #[inline]
    pub fn job_changed(&mut self, old: &Job, new: &Job) {
        let (Some(from), Some(to)) = (old.status, new.status) else {
            self.job(new, 1);
            return self.job(old, -1);
        };
        let rows = |job: &Job| (job.load, job.user, job.group, job.nucleus, job.seen);
        let seen = |job: &Job| (job.task, job.request, job.created_at, job.sample.is_merge());
        if rows(old) != rows(new) || seen(old) != seen(new) || old.priority != new.priority {
            // In before out, so that no row stands empty in between.
            self.job(new, 1);
            return self.job(old, -1);
        }
        if (from, old.cores) != (to, new.cores) {
            self.shift(new, (from, old.cores), (to, new.cores));
        }
        self.job_disk(new.load, old.disk_io_per_core(), new.disk_io_per_core());
        let (before, now) = (ended_index(old), ended_index(new));
        if before != now || before.is_some() && old.over_at() != new.over_at() {
            now.into_iter().for_each(|which| self.job_tally(new, which, 1));
            before.into_iter().for_each(|which| self.job_tally(old, which, -1));
            self.job_work(new, 1);
            self.job_work(old, -1);
        }
        if (old.sample, new.sample) != (Sample::None, Sample::None) {
            self.wait_changed(old, new);
        }
        let (before, now) = (start_of(old), start_of(new));
        if before != now {
            let queue = self.queue_of(new);
            now.into_iter().for_each(|bucket| self.job_start(queue, bucket, 1));
            before.into_iter().for_each(|bucket| self.job_start(queue, bucket, -1));
        }
    }

    /// A job's disk I/O per core, where the job counts in the same row.
    #[inline]
    pub fn job_disk(&mut self, load: u32, before: Option<u64>, now: Option<u64>) {
        if before != now {
            let queue = self.load.at(load).queue;
            self.queue.at(queue).disk(before, -1);
            self.queue.at(queue).disk(now, 1);
        }
    }

    /// A job's count in its rows, where only state or cores differ.
    #[inline]
    fn shift(&mut self, job: &Job, from: (Status, u32), to: (Status, u32)) {
        let figures = bit(from.0) | bit(to.0);
        self.load.note(job.load, figures);
        let load = self.load.at(job.load);
        load.count.shift(from, to);
        let (queue, share) = (load.queue, load.share);
        let jobs = &mut self.share.at(share).jobs;
        jobs[from.0.index()] = jobs[from.0.index()].wrapping_sub(1);
        jobs[to.0.index()] = jobs[to.0.index()].wrapping_add(1);
        if job.sample.is_merge() {
            self.merges(share, from.0, -1);
            self.merges(share, to.0, 1);
        }
        self.queue.at(queue).count.shift(from, to);
        self.shift_who(job.user, share, from, to);
        self.shift_who(job.group, share, from, to);
        if from.0.is_queued() != to.0.is_queued() {
            self.job_level(job, to.0.is_queued());
        }
        if job.nucleus != NO_ROW {
            self.nucleus.note(job.nucleus, figures);
            self.nucleus.at(job.nucleus).shift(from, to);
            let (was, is) = (from.0 == Status::Transferring, to.0 == Status::Transferring);
            if was != is {
                self.job_bound(job, is);
            }
        }
    }

    /// A job's contributions, put in (`sign` 1) or taken out (-1).
    pub fn job(&mut self, job: &Job, sign: i32) {
        self.job_counts(job, sign);
        if let Some(which) = ended_index(job) {
            self.job_tally(job, which, i64::from(sign));
            self.job_work(job, i64::from(sign));
        }
        if let Some(bucket) = start_of(job) {
            self.job_start(self.queue_of(job), bucket, i64::from(sign));
        }
        if job.sample != Sample::None {
            self.job_wait(job, i64::from(sign));
        }
    }

    /// Adds or takes away the part of a job's contributions that is in plain counters.
    fn job_counts(&mut self, job: &Job, sign: i32) {
        let Some(status) = job.status else { return };
        let more = sign > 0;
        self.load.count_reference(job.load, more);
        self.load.note(job.load, bit(status));
        let load = self.load.at(job.load);
        load.count.add(status, job.cores, sign);
        let (queue_row, share_row) = (load.queue, load.share);
        self.share.count_reference(share_row, more);
        let jobs = &mut self.share.at(share_row).jobs[status.index()];
        *jobs = jobs.wrapping_add_signed(sign);
        if job.sample.is_merge() {
            self.merges(share_row, status, sign);
        }
        self.queue.count_reference(queue_row, more);
        let queue = self.queue.at(queue_row);
        queue.count.add(status, job.cores, sign);
        queue.disk(job.disk_io_per_core(), sign);
        self.add_who(job.user, share_row, (status, job.cores), sign);
        self.add_who(job.group, share_row, (status, job.cores), sign);
        if status.is_queued() {
            self.job_level(job, more);
        }
        if job.nucleus != NO_ROW {
            self.nucleus.count_reference(job.nucleus, more);
            self.nucleus.note(job.nucleus, bit(status));
            self.nucleus.at(job.nucleus).add(status, job.cores, sign);
            if status == Status::Transferring {
                self.job_bound(job, more);
            }
        }
        if job.seen != NO_ROW {
            self.seen.count_reference(job.seen, more);
            self.count_seen(job, sign);
        }
    }

    /// A job that merges output, at (queue, gshare).
    #[cold]
    fn merges(&mut self, share: u32, status: Status, sign: i32) {
        if status == Status::Running {
            let merging = &mut self.share.at(share).merging;
            *merging = merging.wrapping_add_signed(sign);
        }
    }

    /// A job's output is on its way to its nucleus, or no more.
    fn job_bound(&mut self, job: &Job, more: bool) {
        let row = self.bound.row([job.names[0].0, job.names[5].0, 0, 0]);
        self.bound.count_reference(row, more);
        let jobs = self.bound.at(row);
        *jobs = if more { jobs.wrapping_add(1) } else { jobs.wrapping_sub(1) };
    }

    /// The oldest bucket that is still within reach.
    fn first(&self, grain: Millis, reach: Millis) -> i64 {
        bucket_of(self.now.saturating_sub(reach), grain)
    }

    /// The queue of a job that has a state.
    pub fn queue_of(&self, job: &Job) -> Name {
        job.names[0]
    }

    /// A job is forgotten: its plain contributions go, those in windows stay behind.
    pub fn job_left(&mut self, job: &Job) {
        self.job_stays(job);
        self.job_counts(job, -1);
    }

    /// A node's contributions.
    pub fn node(&mut self, node: &Node, sign: i32) {
        let row = self.queue.row([node.queue.0, 0, 0, 0]);
        self.queue.count_reference(row, sign > 0);
        let queue = self.queue.at(row);
        if node.asked_at != 0 {
            queue.asked = queue.asked.wrapping_add_signed(sign);
        }
        if node.updated_at != 0 {
            queue.updated = queue.updated.wrapping_add_signed(sign);
        }
    }

    /// A worker report's contributions.
    pub fn workers(&mut self, workers: &Workers, sign: i32) {
        let row = self.queue.row([workers.queue.0, 0, 0, 0]);
        self.queue.count_reference(row, sign > 0);
        let queue = self.queue.at(row);
        let add = |sum: &mut u32, amount: u32| {
            *sum = if sign > 0 { sum.wrapping_add(amount) } else { sum.wrapping_sub(amount) };
        };
        if workers.are_nodes {
            add(&mut queue.counted.reports, 1);
            add(&mut queue.counted.asked, workers.submitted);
            add(&mut queue.counted.updated, workers.running);
            add(&mut self.counted_queues, 1);
        } else {
            add(&mut queue.workers_submitted, workers.submitted);
            add(&mut queue.workers_running, workers.running);
        }
    }

    /// Drops buckets that are out of reach of their windows at `now`. Time does not go back here:
    /// what was dropped could not be brought again.
    pub fn expire(&mut self, now: Millis) {
        let now = now.max(self.now);
        let first = |grain, reach| bucket_of(now.saturating_sub(reach), grain);
        let moved = |grain, reach| first(grain, reach) != self.first(grain, reach);
        let tallies = moved(ENDED_GRAIN, self.ended_reach);
        let work = moved(WORK_GRAIN, self.work_reach);
        let starts = moved(START_GRAIN, START_REACH);
        let waits = moved(WAIT_GRAIN, WAIT_REACH);
        let rates = moved(RATE_GRAINS[0].0, RATE_GRAINS[0].1);
        self.now = now;
        if tallies {
            let reach = self.ended_reach;
            expire_rows(&mut self.ended, EndedJobs::is_empty, |jobs| {
                jobs.ended.iter_mut().for_each(|w| w.expire(first(ENDED_GRAIN, reach)));
            });
        }
        if work {
            let reach = self.work_reach;
            expire_rows(&mut self.work, Window::is_empty, |work| {
                work.expire(first(WORK_GRAIN, reach));
            });
        }
        if starts {
            expire_rows(&mut self.starts, Window::is_empty, |starts| {
                starts.expire(first(START_GRAIN, START_REACH));
            });
        }
        if waits {
            self.waits_changed += 1;
            expire_rows(&mut self.waits, Waits::is_empty, |waits| {
                waits.over.iter_mut().for_each(|w| w.expire(first(WAIT_GRAIN, WAIT_REACH)));
            });
        }
        if rates {
            expire_rows(&mut self.rate, Rate::is_empty, |rate| {
                for (which, (grain, reach)) in RATE_GRAINS.into_iter().enumerate() {
                    rate.window(which).expire(first(grain, reach));
                }
            });
        }
    }

    /// Gives back rows in which nothing counts.
    pub fn sweep(&mut self) {
        self.load.sweep();
        self.share.sweep();
        self.queue.sweep();
        self.who.sweep();
        self.owner.sweep();
        self.reserved.sweep();
        self.nucleus.sweep();
        self.levels.sweep();
        self.bound.sweep();
        self.seen.sweep();
        self.ended.sweep();
        self.work.sweep();
        self.starts.sweep();
        self.waits.sweep();
        self.flow.sweep();
        self.into.sweep();
        self.rate.sweep();
    }
}

/// Expires windows; a row whose last bucket went is counted in no more.
fn expire_rows<V: Default>(rows: &mut Rows<V>, is_empty: fn(&V) -> bool, expire: impl Fn(&mut V)) {
    rows.change_each(|value| {
        let was_empty = is_empty(value);
        expire(value);
        !was_empty && is_empty(value)
    });
}
