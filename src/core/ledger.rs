//! The ledger: contributions in, contributions out.
//!
//! No counter is ever incremented by hand. Each record has a pure function here that gives its
//! contributions, reading that record and nothing else; folding takes the old record's out and
//! puts the new one's in. Hence every counter equals the sum over live records (and, in windows,
//! what forgotten ones left behind), and [`crate::core::audit`] can prove it.

use crate::core::event::Status;
use crate::core::id::{Key, Name};
use crate::core::record::{Job, Move, Node, Workers};
use crate::core::reserve::Seen;
use crate::core::rows::{NO_ROW, RowKey, Rows};
use crate::core::unit::{DAY, HOUR, MINUTE, Millis};
use crate::core::window::{Window, bucket_of};

/// Jobs and their cores, by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Jobs by state.
    pub jobs: [u32; Status::COUNT],
    /// Cores by state.
    pub cores: [u32; Status::COUNT],
}

impl Count {
    fn add(&mut self, status: Status, cores: u32, sign: i32) {
        let at = status.index();
        self.jobs[at] = self.jobs[at].wrapping_add_signed(sign);
        self.cores[at] = self.cores[at].wrapping_add_signed(sign * cores as i32);
    }

    /// Whether every number is 0.
    pub fn is_zero(&self) -> bool {
        self.jobs.iter().chain(&self.cores).all(|number| *number == 0)
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
    /// Workers submitted and not running.
    pub workers_submitted: u32,
    /// Workers running.
    pub workers_running: u32,
}

/// Counters of (queue, gshare).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtShare {
    /// Jobs by state.
    pub jobs: [u32; Status::COUNT],
    /// Jobs promised by decisions and not yet seen; derived, see `reserve`.
    pub promised: u32,
}

/// What waits on a link, for one activity; or into a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What arrived over a link: bytes by the time they arrived, in three grains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// For the last hour: 5 min buckets.
    pub hour: Window,
    /// For the last day: 1 h buckets.
    pub day: Window,
    /// For the last week: 6 h buckets.
    pub week: Window,
}

/// Grains and reaches of the windows in [`Rate`].
pub const RATE_GRAINS: [(Millis, Millis); 3] =
    [(5 * MINUTE, HOUR), (HOUR, DAY), (6 * HOUR, 7 * DAY)];

/// Grain of the windows in [`Tally`].
pub const TALLY_GRAIN: Millis = 10 * MINUTE;

/// Ended jobs of a task at a queue, by the time they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Finished, failed, closed.
    pub ended: [Window; 3],
}

/// Which window of a [`Tally`] an ended state counts in.
pub fn tally_of(status: Status) -> Option<usize> {
    match status {
        Status::Finished => Some(0),
        Status::Failed => Some(1),
        Status::Closed => Some(2),
        _ => None,
    }
}

/// Every counter there is.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By (queue, gshare, resource type).
    pub load: Rows<Load>,
    /// By queue.
    pub queue: Rows<AtQueue>,
    /// By (queue, gshare).
    pub share: Rows<AtShare>,
    /// By (user, queue, 0) and (working group, queue, 1).
    pub who: Rows<Count>,
    /// By nucleus.
    pub nucleus: Rows<Count>,
    /// By (request or task, queue): jobs seen, against promises.
    pub seen: Rows<Seen>,
    /// By (task, queue).
    pub tally: Rows<Tally>,
    /// By (source, destination, activity): transfers not ended.
    pub flow: Rows<Flow>,
    /// By (destination, activity): transfers not ended.
    pub into: Rows<Flow>,
    /// By (source, destination).
    pub rate: Rows<Rate>,
    /// Open promises; derived.
    pub opens: crate::core::reserve::Opens,
    /// Windows drop what is older than this; set by the cycle.
    pub now: Millis,
    /// Reach of [`Tally`] windows.
    pub tally_reach: Millis,
}

/// Row key of a job or task number at a queue.
pub fn at_queue(key: Key, queue: Name, kind: u32) -> RowKey {
    [key.0 as u32, (key.0 >> 32) as u32, queue.0, kind]
}

impl Ledger {
    /// The rows of (queue, gshare, resource type), made when they are new.
    pub fn load_row(&mut self, queue: Name, gshare: Name, resource_type: Name) -> u32 {
        let key = [queue.0, gshare.0, resource_type.0, 0];
        if let Some(row) = self.load.find(key) {
            return row;
        }
        let row = self.load.row(key);
        let queue_row = self.queue.row([queue.0, 0, 0, 0]);
        let share_row = self.share.row([queue.0, gshare.0, 0, 0]);
        let load = self.load.at(row);
        load.queue = queue_row;
        load.share = share_row;
        row
    }

    /// A job's contributions, put in (`sign` 1) or taken out (-1).
    #[inline]
    pub fn job(&mut self, job: &Job, sign: i32) {
        self.job_counts(job, sign);
        if let Some(which) = job.status.and_then(tally_of) {
            self.job_tally(job, which, i64::from(sign));
        }
    }

    /// What of a job's contributions stands in plain counters.
    #[inline]
    fn job_counts(&mut self, job: &Job, sign: i32) {
        let Some(status) = job.status else { return };
        let more = sign > 0;
        self.load.hold(job.load, more);
        let load = self.load.at(job.load);
        load.count.add(status, job.cores, sign);
        let (queue_row, share_row) = (load.queue, load.share);
        self.share.hold(share_row, more);
        let jobs = &mut self.share.at(share_row).jobs[status.index()];
        *jobs = jobs.wrapping_add_signed(sign);
        self.queue.hold(queue_row, more);
        let queue = self.queue.at(queue_row);
        queue.count.add(status, job.cores, sign);
        if let Some(disk_io) = job.disk_io_per_core() {
            queue.disk_io = queue.disk_io.wrapping_add_signed(i64::from(sign) * disk_io as i64);
            queue.disk_io_jobs = queue.disk_io_jobs.wrapping_add_signed(sign);
        }
        for row in [job.user, job.group] {
            if row != NO_ROW {
                self.who.hold(row, more);
                self.who.at(row).add(status, job.cores, sign);
            }
        }
        if job.nucleus != NO_ROW {
            self.nucleus.hold(job.nucleus, more);
            self.nucleus.at(job.nucleus).add(status, job.cores, sign);
        }
        if job.seen != NO_ROW {
            self.seen.hold(job.seen, more);
            self.count_seen(job, sign);
        }
    }

    /// Changes where only the state differs: same rows, no holding and releasing.
    #[inline]
    pub fn job_moved(&mut self, old: &Job, new: &Job) {
        self.job(old, -1);
        self.job(new, 1);
    }

    fn job_tally(&mut self, job: &Job, which: usize, amount: i64) {
        let bucket = bucket_of(job.over_at(), TALLY_GRAIN);
        if bucket < bucket_of(self.now - self.tally_reach, TALLY_GRAIN) {
            return;
        }
        let key = at_queue(job.task, self.queue_of(job), 0);
        let row = self.tally.row(key);
        let was_empty = self.tally.at(row).is_empty();
        self.tally.at(row).ended[which].add(bucket, amount);
        self.hold_tally(row, was_empty);
    }

    fn hold_tally(&mut self, row: u32, was_empty: bool) {
        let is_empty = self.tally.at(row).is_empty();
        if was_empty != is_empty {
            self.tally.hold(row, was_empty);
        }
    }

    /// The queue of a job that has a state.
    pub fn queue_of(&self, job: &Job) -> Name {
        Name(self.load.key(job.load)[0])
    }

    /// A job is forgotten: its plain contributions go, those in windows stay behind.
    pub fn job_left(&mut self, job: &Job) {
        if let Some(which) = job.status.and_then(tally_of) {
            let bucket = bucket_of(job.over_at(), TALLY_GRAIN);
            if bucket >= bucket_of(self.now - self.tally_reach, TALLY_GRAIN) {
                let row = self.tally.row(at_queue(job.task, self.queue_of(job), 0));
                self.tally.at(row).ended[which].leave(bucket, 1);
            }
        }
        self.job_counts(job, -1);
    }

    /// A transfer's contributions.
    pub fn transfer(&mut self, transfer: &Move, sign: i32) {
        let more = sign > 0;
        let key = self.flow.key(transfer.flow);
        self.flow.hold(transfer.flow, more);
        if transfer.state.is_ended() {
            if transfer.state == crate::core::event::TransferState::Done {
                self.arrived(transfer, i64::from(sign));
            }
            return;
        }
        let into = self.into.row([key[1], key[2], 0, 0]);
        self.into.hold(into, more);
        for flow in [self.flow.at(transfer.flow), self.into.at(into)] {
            let sign = i64::from(sign);
            flow.files = flow.files.wrapping_add_signed(sign * i64::from(transfer.files));
            flow.bytes = flow.bytes.wrapping_add_signed(sign * transfer.bytes as i64);
        }
    }

    fn arrived(&mut self, transfer: &Move, sign: i64) {
        let key = self.flow.key(transfer.flow);
        let row = self.rate.row([key[0], key[1], 0, 0]);
        let was_empty = self.rate.at(row).is_empty();
        for (which, (grain, reach)) in RATE_GRAINS.into_iter().enumerate() {
            let bucket = bucket_of(transfer.changed_at, grain);
            if bucket >= bucket_of(self.now - reach, grain) {
                let amount = sign * transfer.bytes.min(i64::MAX as u64) as i64;
                self.rate.at(row).window(which).add(bucket, amount);
            }
        }
        let is_empty = self.rate.at(row).is_empty();
        if was_empty != is_empty {
            self.rate.hold(row, was_empty);
        }
    }

    /// A transfer is forgotten; what arrived stays behind in its windows.
    pub fn transfer_left(&mut self, transfer: &Move) {
        if transfer.state == crate::core::event::TransferState::Done && transfer.bytes > 0 {
            let key = self.flow.key(transfer.flow);
            let row = self.rate.row([key[0], key[1], 0, 0]);
            for (which, (grain, reach)) in RATE_GRAINS.into_iter().enumerate() {
                let bucket = bucket_of(transfer.changed_at, grain);
                if bucket >= bucket_of(self.now - reach, grain) {
                    self.rate.at(row).window(which).leave(bucket, transfer.bytes);
                }
            }
            self.flow.hold(transfer.flow, false);
        } else {
            self.transfer(transfer, -1);
        }
    }

    /// A node's contributions.
    pub fn node(&mut self, node: &Node, sign: i32) {
        let row = self.queue.row([node.queue.0, 0, 0, 0]);
        self.queue.hold(row, sign > 0);
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
        self.queue.hold(row, sign > 0);
        let queue = self.queue.at(row);
        let add = |sum: &mut u32, amount: u32| {
            *sum = if sign > 0 { sum.wrapping_add(amount) } else { sum.wrapping_sub(amount) };
        };
        add(&mut queue.workers_submitted, workers.submitted);
        add(&mut queue.workers_running, workers.running);
    }

    /// What a forgotten job left behind, from a store.
    pub fn restore_tally(&mut self, key: RowKey, which: usize, bucket: i64, left: u64) {
        let row = self.tally.row(key);
        let was_empty = self.tally.at(row).is_empty();
        self.tally.at(row).ended[which].restore(bucket, left);
        self.hold_tally(row, was_empty);
    }

    /// What forgotten transfers left behind, from a store.
    pub fn restore_rate(&mut self, key: RowKey, which: usize, bucket: i64, left: u64) {
        let row = self.rate.row(key);
        let was_empty = self.rate.at(row).is_empty();
        self.rate.at(row).window(which).restore(bucket, left);
        if was_empty && !self.rate.at(row).is_empty() {
            self.rate.hold(row, true);
        }
    }

    /// Drops buckets that are out of reach of their windows at `now`.
    pub fn expire(&mut self, now: Millis) {
        let first = |grain, reach| bucket_of(now - reach, grain);
        let moved = |grain, reach| first(grain, reach) != bucket_of(self.now - reach, grain);
        let tallies = moved(TALLY_GRAIN, self.tally_reach);
        let rates = moved(RATE_GRAINS[0].0, RATE_GRAINS[0].1);
        self.now = now;
        if tallies {
            let reach = self.tally_reach;
            expire_rows(&mut self.tally, Tally::is_empty, |tally| {
                tally.ended.iter_mut().for_each(|w| w.expire(first(TALLY_GRAIN, reach)));
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
        self.nucleus.sweep();
        self.seen.sweep();
        self.tally.sweep();
        self.flow.sweep();
        self.into.sweep();
        self.rate.sweep();
    }
}

fn expire_rows<V: Default>(rows: &mut Rows<V>, is_empty: fn(&V) -> bool, expire: impl Fn(&mut V)) {
    let keys: Vec<RowKey> = rows.iter().map(|(key, _)| key).collect();
    for key in keys {
        let row = rows.row(key);
        let was_empty = is_empty(rows.at(row));
        expire(rows.at(row));
        if !was_empty && is_empty(rows.at(row)) {
            rows.hold(row, false);
        }
    }
}

impl Tally {
    fn is_empty(&self) -> bool {
        self.ended.iter().all(Window::is_empty)
    }
}

impl Rate {
    fn is_empty(&self) -> bool {
        self.hour.is_empty() && self.day.is_empty() && self.week.is_empty()
    }

    /// One of its three windows, in the order of [`RATE_GRAINS`].
    pub fn window(&mut self, which: usize) -> &mut Window {
        match which {
            0 => &mut self.hour,
            1 => &mut self.day,
            _ => &mut self.week,
        }
    }

    /// Mean throughput over the last hour, day or week before `at`; MB/s (10^6). `None` when
    /// nothing arrived in it.
    pub fn mbps(&self, which: usize, at: Millis) -> Option<f64> {
        let (grain, reach) = RATE_GRAINS[which];
        let window = [&self.hour, &self.day, &self.week][which];
        let last = bucket_of(at, grain);
        let bytes = window.sum(last - reach / grain + 1, last);
        (bytes > 0).then(|| bytes as f64 / (reach as f64 / 1000.0) / 1e6)
    }
}
