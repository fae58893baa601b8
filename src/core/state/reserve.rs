//! Promises: what assignments said will come, until it is seen.
//!
//! A queue's promised figure is, over all open promises, the sum of max(0, promised - jobs of that
//! request known by now). Jobs are matched by request, or by task if they name no request and were
//! created after the decision's now. The figure is derived from promises and jobs; it is kept up to
//! date here and recounted by the audit.

use crate::core::id::{Key, Name};
use crate::core::state::ledger::{Ledger, at_queue};
use crate::core::state::promise::Open;
use crate::core::state::record::{Job, Promise};
use crate::core::unit::{Millis, SECOND};

const BY_REQUEST: u32 = 1;
const BY_TASK: u32 = 2;

/// The row a job counts in against promises.
pub fn seen_row(ledger: &mut Ledger, request: Key, task: Key, queue: Name) -> u32 {
    let key = if request == Key::NONE {
        at_queue(task, queue, BY_TASK)
    } else {
        at_queue(request, queue, BY_REQUEST)
    };
    ledger.seen.row(key)
}

impl Ledger {
    /// A job's coming, counted against promises.
    pub(in crate::core) fn count_seen(&mut self, job: &Job, sign: i32) {
        let by_task = job.request == Key::NONE;
        let seen = self.seen.at(job.seen);
        seen.count(by_task.then_some(job.created_at.div_euclid(SECOND)), sign);
        for at in 0..self.seen.at(job.seen).watch.len() {
            let open = self.seen.at(job.seen).watch[at];
            self.settle_open(open);
        }
    }

    fn settle_open(&mut self, id: u32) {
        let open = self.opens.opens[id as usize];
        let by_request = self.seen.get(open.request_row).map_or(0, |seen| seen.jobs);
        let by_task = self.seen.get(open.task_row).map_or(0, |seen| seen.after(open.after_s));
        let waiting = open.promised.saturating_sub(by_request.saturating_add(by_task));
        let share = self.share.at(open.share_row);
        share.promised = share.promised.wrapping_sub(open.waiting).wrapping_add(waiting);
        self.opens.opens[id as usize].waiting = waiting;
    }

    /// Counts one queue's part of a promise from now on. Returns the number to close it by.
    pub fn open(&mut self, promise: &Promise, queue: Name, gshare: Name, promised: u32) -> u32 {
        let request_row = self.seen.row(at_queue(promise.request, queue, BY_REQUEST));
        let task_row = self.seen.row(at_queue(promise.task, queue, BY_TASK));
        let share_row = self.share.row([queue.0, gshare.0, 0, 0]);
        let after_s = promise.now.div_euclid(SECOND);
        let open = Open { promised, request_row, task_row, share_row, after_s, waiting: 0 };
        let id = match self.opens.free.pop() {
            Some(id) => {
                self.opens.opens[id as usize] = open;
                id
            }
            None => {
                self.opens.opens.push(open);
                self.opens.opens.len() as u32 - 1
            }
        };
        for row in [request_row, task_row] {
            self.seen.hold(row, true);
            self.seen.at(row).watch.push(id);
        }
        self.share.hold(share_row, true);
        self.settle_open(id);
        id
    }

    /// Ends one queue's part of a promise. Returns the queue.
    pub fn close(&mut self, id: u32) -> Name {
        let open = self.opens.opens[id as usize];
        for row in [open.request_row, open.task_row] {
            self.seen.at(row).watch.retain(|watched| *watched != id);
            self.seen.hold(row, false);
        }
        let share = self.share.at(open.share_row);
        share.promised = share.promised.wrapping_sub(open.waiting);
        self.share.hold(open.share_row, false);
        self.opens.free.push(id);
        Name(self.share.key(open.share_row)[0])
    }
}

/// Whether a promise is over by its lifetime: `clock` is the job-state clock's reading now.
pub fn is_over(promise: &Promise, clock: Millis, lifetime: Millis) -> bool {
    clock.saturating_sub(promise.clock) >= lifetime
}
