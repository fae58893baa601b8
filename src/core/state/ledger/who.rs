//! Contributions of jobs to whose they are: users and working groups, queue by queue and share by
//! share, and on the whole grid; and how many users have jobs at a queue.

use super::{Count, Ledger, bit};
use crate::event::Status;
use crate::id::Name;
use crate::state::rows::{ByPlace, NO_ROW, RowKey, Rows};

/// Rows of users: jobs of no working group. The third part of a key of [`Ledger::who`].
pub const USER: u32 = 0;
/// Rows of working groups.
pub const GROUP: u32 = 1;
/// Rows of users again: their jobs for working groups. Those count for the group where caps are
/// concerned, and for the user all the same (spec atlas 8.1).
pub const USER_FOR_GROUP: u32 = 2;
/// Added to the number of a user's rows for jobs that merge output. They count where caps are
/// concerned, but neither in slots nor in the stabilizer (spec atlas 8.1.1, 8.5).
pub const MERGE: u32 = 4;

/// Jobs and cores of an owner on the whole grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Jobs running.
    pub running_jobs: u64,
    /// Jobs queued: defined, assigned, activated, starting, throttled.
    pub queued_jobs: u64,
    /// Cores of jobs running.
    pub running_cores: u64,
    /// Cores of jobs queued.
    pub queued_cores: u64,
    /// Jobs reserved by decisions and not yet seen; derived, see `reserve`.
    pub reserved_jobs: u64,
    /// Cores of jobs reserved.
    pub reserved_cores: u64,
}

/// Whether a job counts as running or as queued for its owner's caps (spec atlas 8.1).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Running,
    Queued,
    Neither,
}

fn side(status: Status) -> Side {
    match status {
        Status::Running => Side::Running,
        Status::Defined
        | Status::Assigned
        | Status::Activated
        | Status::Starting
        | Status::Throttled => Side::Queued,
        _ => Side::Neither,
    }
}

impl Totals {
    /// Jobs of which `before` were reserved and not yet seen, now `waiting`.
    pub(in crate::state) fn reserve(&mut self, before: u32, waiting: u32, cores: u32) {
        let change = i64::from(waiting) - i64::from(before);
        self.reserved_jobs = self.reserved_jobs.wrapping_add_signed(change);
        let cores = change * i64::from(cores);
        self.reserved_cores = self.reserved_cores.wrapping_add_signed(cores);
    }

    #[inline]
    fn add(&mut self, side: Side, cores: u32, sign: i32) {
        let (jobs, held) = match side {
            Side::Running => (&mut self.running_jobs, &mut self.running_cores),
            Side::Queued => (&mut self.queued_jobs, &mut self.queued_cores),
            Side::Neither => return,
        };
        *jobs = jobs.wrapping_add_signed(i64::from(sign));
        *held = held.wrapping_add_signed(i64::from(sign) * i64::from(cores));
    }
}

/// The rows of a job's user and working group, made when they are new; `is_merge`: whether the job
/// merges output.
pub(super) fn rows(
    who: &mut Rows<Count, ByPlace>,
    [user, group, queue, gshare]: [Name; 4],
    is_merge: bool,
) -> (u32, u32) {
    let mut row = |name: Name, kind: u32| match name {
        Name::NONE => NO_ROW,
        name => who.row([name.0, queue.0, kind, gshare.0]),
    };
    let kind = if group == Name::NONE { USER } else { USER_FOR_GROUP };
    let kind = if is_merge { kind | MERGE } else { kind };
    (row(user, kind), row(group, GROUP))
}

impl Ledger {
    /// A job's count in a row of `who`, where only state or cores differ; `share` is its row of
    /// (queue, gshare).
    #[inline]
    pub(super) fn shift_who(
        &mut self,
        row: u32,
        share: u32,
        from: (Status, u32),
        to: (Status, u32),
    ) {
        if row == NO_ROW {
            return;
        }
        self.who.note(row, bit(from.0) | bit(to.0));
        self.shift_owner(row, from, to);
        let count = self.who.at(row);
        if from.0.is_ended() == to.0.is_ended() {
            return count.shift(from, to);
        }
        let was_active = count.is_active();
        count.shift(from, to);
        self.see_user(row, share, was_active);
    }

    /// A job's count in a row of `who`.
    pub(super) fn add_who(
        &mut self,
        row: u32,
        share: u32,
        (status, cores): (Status, u32),
        sign: i32,
    ) {
        if row == NO_ROW {
            return;
        }
        self.who.count_reference(row, sign > 0);
        self.who.note(row, bit(status));
        self.add_owner(row, (status, cores), sign);
        let count = self.who.at(row);
        let was_active = count.is_active();
        count.add(status, cores, sign);
        self.see_user(row, share, was_active);
    }

    /// The owner a row of `who` counts for where caps are concerned; `None`: another row does.
    #[inline]
    fn owner_key(&self, row: u32) -> Option<RowKey> {
        let [name, _, kind, _] = self.who.key(row);
        (kind & USER_FOR_GROUP == 0).then_some([name, kind & GROUP, 0, 0])
    }

    /// A job's count for its owner, where only state or cores differ. Most changes are no news.
    #[inline]
    fn shift_owner(&mut self, row: u32, from: (Status, u32), to: (Status, u32)) {
        let (before, now) = (side(from.0), side(to.0));
        if before == now && (from.1 == to.1 || now == Side::Neither) {
            return;
        }
        if let Some(owner) = self.owner_key(row).and_then(|key| self.owner.find(key)) {
            self.owner.note(owner, 1);
            let totals = self.owner.at(owner);
            totals.add(before, from.1, -1);
            totals.add(now, to.1, 1);
        }
    }

    /// A job's count for its owner.
    fn add_owner(&mut self, row: u32, (status, cores): (Status, u32), sign: i32) {
        let Some(key) = self.owner_key(row) else { return };
        let owner = self.owner.row(key);
        self.owner.count_reference(owner, sign > 0);
        self.owner.note(owner, 1);
        self.owner.at(owner).add(side(status), cores, sign);
    }

    /// Running and queued jobs and cores of a user by itself, or of a working group ([`USER`],
    /// [`GROUP`]).
    pub fn totals(&self, name: Option<Name>, kind: u32) -> Totals {
        let totals = name.and_then(|name| self.owner.of([name.0, kind, 0, 0]));
        totals.copied().unwrap_or_default()
    }

    /// The same as a reader counts them: jobs that are pending or sent have not begun to run
    /// either. Caps leave them out (spec atlas 8.1). It walks over the owner's rows.
    pub fn totals_shown(&self, name: Name, kind: u32) -> Totals {
        let mut totals = self.totals(Some(name), kind);
        let rows = self.who.of_name(name.0).filter(|([_, _, of, _], _)| of & !MERGE == kind);
        for waits in rows.flat_map(|(_, count)| {
            [Status::Pending, Status::Sent].map(|status| count.by[status.index()])
        }) {
            totals.queued_jobs += u64::from(waits.jobs);
            totals.queued_cores += u64::from(waits.cores);
        }
        totals
    }

    /// A user is one of those at (queue, gshare) while any job there is not over, be it for a
    /// working group or not. Jobs that merge output do not count.
    fn see_user(&mut self, row: u32, share: u32, was_active: bool) {
        let is_active = self.who.at(row).is_active();
        let [name, queue, kind, gshare] = self.who.key(row);
        let other = match kind {
            USER => USER_FOR_GROUP,
            USER_FOR_GROUP => USER,
            _ => return,
        };
        if was_active == is_active
            || self.who.of([name, queue, other, gshare]).is_some_and(Count::is_active)
        {
            return;
        }
        let users = &mut self.share.at(share).users;
        *users = if is_active { users.wrapping_add(1) } else { users.wrapping_sub(1) };
    }

    /// Jobs of a user in a share, queue by queue, be they for a working group or not, without those
    /// that merge output; in no order, and a queue may be there twice.
    pub fn of_user(&self, user: Name, gshare: Name) -> impl Iterator<Item = (Name, &Count)> {
        let rows = self.who.of_name(user.0);
        rows.filter_map(move |([_, queue, kind, share], count)| {
            let is_meant = matches!(kind, USER | USER_FOR_GROUP) && share == gshare.0;
            is_meant.then_some((Name(queue), count))
        })
    }
}
