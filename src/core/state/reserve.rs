//! Reservations: jobs that assignments will bring, until it is seen.
//!
//! A queue's reserved figure is, over all open reservations, the sum of max(0, reserved - jobs of
//! that request known by now). The same jobs count for their owner's caps and in what their user
//! has queued there (spec atlas 8.1, 8.5). Jobs are matched by request, or by task if they name no
//! request and were created after the decision's now. The figure is derived from reservations and
//! jobs; it is kept up to date here and recounted by the audit.

use crate::id::{Key, Name};
use crate::state::job::Job;
use crate::state::ledger::{GROUP, Ledger, USER, at_queue, level_key};
use crate::state::record::Reservation;
use crate::state::reservation::Open;
use crate::state::rows::NO_ROW;
use crate::unit::{Millis, SECOND};

const BY_REQUEST: u32 = 1;
const BY_TASK: u32 = 2;

/// Jobs and cores that a reservation holds at one queue, and the counters that they belong to.
#[derive(Clone, Copy, Debug)]
pub struct ReservedAt {
    /// Unified name of the queue.
    pub queue: Name,
    /// Share.
    pub gshare: Name,
    /// Resource type.
    pub resource_type: Name,
    /// User; none when not known.
    pub user: Name,
    /// Working group; none when there is none.
    pub group: Name,
    /// Jobs.
    pub jobs: u32,
    /// Cores of each.
    pub cores: u32,
}

/// The row a job counts in against reservations.
pub fn seen_row(ledger: &mut Ledger, request: Key, task: Key, queue: Name) -> u32 {
    let key = if request == Key::NONE {
        at_queue(task, queue, BY_TASK)
    } else {
        at_queue(request, queue, BY_REQUEST)
    };
    ledger.seen.row(key)
}

impl Ledger {
    /// A job's coming, counted against reservations.
    pub(crate) fn count_seen(&mut self, job: &Job, sign: i32) {
        let by_task = job.request == Key::NONE;
        let seen = self.seen.at(job.seen);
        seen.count(by_task.then_some(job.created_at.div_euclid(SECOND)), sign);
        for at in 0..self.seen.at(job.seen).watch.len() {
            let open = self.seen.at(job.seen).watch[at];
            self.settle_open(open);
        }
    }

    fn settle_open(&mut self, id: u32) {
        let open = self.open_reservations.all[id as usize];
        let by_request = self.seen.get(open.request_row).map_or(0, |seen| seen.jobs);
        let by_task = self.seen.get(open.task_row).map_or(0, |seen| seen.after(open.after_s));
        let waiting = open.reserved.saturating_sub(by_request.saturating_add(by_task));
        let share = self.share.at(open.share_row);
        share.reserved = share.reserved.wrapping_sub(open.waiting).wrapping_add(waiting);
        let queue = self.queue.at(open.queue_row);
        queue.reserved = queue.reserved.wrapping_sub(open.waiting).wrapping_add(waiting);
        let level = self.levels.at(open.level_row);
        level.reserved = level.reserved.wrapping_sub(open.waiting).wrapping_add(waiting);
        self.reserve_for_owner(&open, waiting);
        self.open_reservations.all[id as usize].waiting = waiting;
    }

    /// The same for the owner, and for the user at the queue.
    fn reserve_for_owner(&mut self, open: &Open, waiting: u32) {
        if waiting == open.waiting {
            return;
        }
        if open.owner_row != NO_ROW {
            self.owner.note(open.owner_row, 1);
            self.owner.at(open.owner_row).reserve(open.waiting, waiting, open.cores);
        }
        if open.user_row != NO_ROW {
            let reserved = self.reserved.at(open.user_row);
            *reserved = reserved.wrapping_sub(open.waiting).wrapping_add(waiting);
        }
    }

    /// The rows of a reservation's owner and of its user at a queue, counted in from now on.
    fn owner_rows(&mut self, of: &ReservedAt, is_merge: bool) -> [u32; 2] {
        let owner = match (of.user, of.group) {
            (Name::NONE, Name::NONE) => NO_ROW,
            (user, Name::NONE) => self.owner.row([user.0, USER, 0, 0]),
            (_, group) => self.owner.row([group.0, GROUP, 0, 0]),
        };
        let user = match of.user {
            user if is_merge || user == Name::NONE => NO_ROW,
            user => self.reserved.row([user.0, of.queue.0, of.gshare.0, 0]),
        };
        self.count_owner_rows([owner, user], true);
        [owner, user]
    }

    fn count_owner_rows(&mut self, [owner, user]: [u32; 2], more: bool) {
        if owner != NO_ROW {
            self.owner.count_reference(owner, more);
        }
        if user != NO_ROW {
            self.reserved.count_reference(user, more);
        }
    }

    /// Counts one queue's part of a reservation from now on. Returns the number to close it by.
    pub fn open(&mut self, reservation: &Reservation, at: &ReservedAt) -> u32 {
        let ReservedAt { queue, gshare, resource_type, jobs: reserved, cores, .. } = *at;
        let request_row = self.seen.row(at_queue(reservation.request, queue, BY_REQUEST));
        let task_row = self.seen.row(at_queue(reservation.task, queue, BY_TASK));
        let share_row = self.share.row([queue.0, gshare.0, 0, 0]);
        let queue_row = self.queue.row([queue.0, 0, 0, 0]);
        let level_row = self.levels.row(level_key(gshare, resource_type, reservation.priority));
        let after_s = reservation.now.div_euclid(SECOND);
        let [owner_row, user_row] = self.owner_rows(at, reservation.merge);
        let open = Open {
            reserved,
            request_row,
            task_row,
            share_row,
            queue_row,
            level_row,
            owner_row,
            user_row,
            cores,
            after_s,
            waiting: 0,
        };
        let id = match self.open_reservations.free.pop() {
            Some(id) => {
                self.open_reservations.all[id as usize] = open;
                id
            }
            None => {
                self.open_reservations.all.push(open);
                self.open_reservations.all.len() as u32 - 1
            }
        };
        for row in [request_row, task_row] {
            self.seen.count_reference(row, true);
            self.seen.at(row).watch.push(id);
        }
        self.share.count_reference(share_row, true);
        self.queue.count_reference(queue_row, true);
        self.levels.count_reference(level_row, true);
        self.settle_open(id);
        id
    }

    /// Ends one queue's part of a reservation. Returns the queue.
    pub fn close(&mut self, id: u32) -> Name {
        let open = self.open_reservations.all[id as usize];
        for row in [open.request_row, open.task_row] {
            self.seen.at(row).watch.retain(|watched| *watched != id);
            self.seen.count_reference(row, false);
        }
        let share = self.share.at(open.share_row);
        share.reserved = share.reserved.wrapping_sub(open.waiting);
        self.share.count_reference(open.share_row, false);
        let queue = self.queue.at(open.queue_row);
        queue.reserved = queue.reserved.wrapping_sub(open.waiting);
        self.queue.count_reference(open.queue_row, false);
        let level = self.levels.at(open.level_row);
        level.reserved = level.reserved.wrapping_sub(open.waiting);
        self.levels.count_reference(open.level_row, false);
        self.reserve_for_owner(&open, 0);
        self.count_owner_rows([open.owner_row, open.user_row], false);
        self.open_reservations.free.push(id);
        Name(self.share.key(open.share_row)[0])
    }
}

/// Whether a reservation is over by its lifetime: `clock` is the job-state clock's reading now.
pub fn is_over(reservation: &Reservation, clock: Millis, lifetime: Millis) -> bool {
    clock.saturating_sub(reservation.clock) >= lifetime
}
