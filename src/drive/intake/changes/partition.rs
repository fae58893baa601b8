//! The open transaction of a partition: the one that its last change belongs to.
//!
//! The changes of a transaction stand together, so a change of another one shows that no more
//! follow. Until then it is not known whether a row that was deleted moved to another table, or
//! whether a report is whole. What is open is kept nowhere: the offset of its first message is not
//! passed by the committed one, so that another life reads it again.

use super::position::{Position, next_era};
use super::report::TransactionReport;
use crate::intake::number::ByNumber;
use std::sync::Arc;
use yardmaster_core::unit::{HOUR, Millis, SECOND};
use yardmaster_wire::dialect::change::{Change, Snapshot};

/// A commit must be later by so much than all that were seen, to be none of them.
const LATER: Millis = SECOND;
/// Numbers of transactions have 32 bits and begin again. Within so long no database uses up half of
/// them, so that it shows which of two is the older.
const NUMBERED: Millis = 24 * HOUR;
/// A transaction of changes is open while fewer others than this begin.
const OPEN_MAX: u32 = 10_000_000;

/// A row that was deleted in the open transaction.
#[derive(Clone, Copy)]
pub struct Gone {
    pub position: Position,
    pub at: Millis,
}

/// A transaction, as its changes name it.
#[derive(Clone, Copy)]
struct Transaction {
    id: u64,
    is_snapshot: bool,
    /// The commit before it, where known, and its last change.
    commit: Option<u64>,
    position: u64,
}

/// Order of a change relative to the open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It belongs to it.
    Same,
    /// It follows: the open one is whole.
    Next,
    /// It was before it, and is sent again, or a snapshot is taken: whether the open one is whole
    /// does not show, and what it did comes once more.
    Back,
}

/// A partition of a source.
pub struct Partition {
    pub topic: Arc<str>,
    pub number: u32,
    pub era: u64,
    /// Place and time of the latest commit.
    high: Option<(u64, Millis)>,
    /// Number (PostgreSQL's `xid`) and time of the last transaction that had one.
    numbered: Option<(u32, Millis)>,
    /// The open transaction.
    transaction: Option<Transaction>,
    /// Offset of the first message of the open transaction that has to be read again.
    open: Option<u64>,
    /// Jobs whose row was deleted in it.
    pub gone: ByNumber<Gone>,
    pub report: TransactionReport,
    /// Offset of the first row of a snapshot that is not complete.
    pub snapshot: Option<u64>,
    /// The highest change that is of no snapshot.
    pub streamed: Position,
    /// When the last message was appended, and when what it has was committed.
    pub appended_at: Millis,
    pub committed_at: Millis,
}

impl Partition {
    /// One of which nothing was read yet.
    pub fn new(topic: &str, number: u32, era: u64) -> Partition {
        Partition {
            topic: topic.into(),
            number,
            era,
            high: None,
            numbered: None,
            transaction: None,
            open: None,
            gone: ByNumber::default(),
            report: TransactionReport::default(),
            snapshot: None,
            streamed: Position::default(),
            appended_at: 0,
            committed_at: 0,
        }
    }

    /// Order of a change relative to the open transaction.
    pub fn turn(&self, change: &Change<'_>) -> Turn {
        let Some(open) = self.transaction else { return Turn::Same };
        let is_snapshot = change.snapshot != Snapshot::No;
        if open.id == transaction(change) && open.is_snapshot == is_snapshot {
            return Turn::Same;
        }
        let is_later = match (open.commit, change.commit_position) {
            _ if is_snapshot => false,
            _ if open.is_snapshot => true,
            (Some(open), Some(new)) if open != new => new > open,
            _ => change.position > open.position,
        };
        if is_later { Turn::Next } else { Turn::Back }
    }

    /// Forgets the content of the open transaction: its messages come once more, and must not be
    /// gathered twice. The offset stays held.
    pub fn forget(&mut self) {
        self.gone.clear();
        self.report = TransactionReport::default();
        self.transaction = None;
    }

    /// Whether a change shows that the database was restored or replaced: its commit is later than
    /// all before it, and has a place that was passed, or a number that was given long ago. The
    /// second shows a copy whose log is longer than the original's.
    pub fn is_restored(&self, change: &Change<'_>) -> bool {
        let (Some(place), Some((high, latest))) = (place(change), self.high) else { return false };
        let is_later = change.committed_at > latest.saturating_add(LATER);
        is_later && (place < high || self.steps_back(change))
    }

    fn steps_back(&self, change: &Change<'_>) -> bool {
        let (Some(new), Some((last, at))) = (number(change), self.numbered) else { return false };
        let back = last.wrapping_sub(new);
        (OPEN_MAX..u32::MAX / 2).contains(&back) && change.committed_at - at < NUMBERED
    }

    /// Notes a change as the last.
    pub fn note(&mut self, change: &Change<'_>, appended_at: Millis) {
        let id = transaction(change);
        let before = self.transaction.filter(|open| open.id == id);
        self.transaction = Some(Transaction {
            id,
            is_snapshot: change.snapshot != Snapshot::No,
            commit: change.commit_position.or(before.and_then(|open| open.commit)),
            position: before.map_or(0, |open| open.position).max(change.position),
        });
        self.appended_at = self.appended_at.max(appended_at);
        self.committed_at = self.committed_at.max(change.committed_at);
        if let Some(number) = number(change) {
            self.numbered = Some((number, change.committed_at));
        }
        if let Some(place) = place(change) {
            let (high, latest) = self.high.unwrap_or_default();
            self.high = Some((place.max(high), change.committed_at.max(latest)));
        }
    }

    /// The database was restored: what follows is of another era.
    pub fn begin_era(&mut self, latest: u64) {
        self.era = if self.era < latest { latest } else { next_era(self.era) };
        (self.high, self.numbered) = (None, None);
        self.streamed = Position::default();
    }

    /// The message at an offset has to be read again as long as its transaction is open.
    pub fn keep_open(&mut self, offset: u64) {
        self.open.get_or_insert(offset);
    }

    /// Whether anything is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The transaction is whole: nothing of it is to be read again.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The offset that a committed one must not pass.
    pub fn held(&self) -> Option<u64> {
        self.open.into_iter().chain(self.snapshot).min()
    }
}

/// Where the commit of a change, or the snapshot that read it, stands.
fn place(change: &Change<'_>) -> Option<u64> {
    let is_snapshot = change.snapshot != Snapshot::No;
    change.commit_position.or(is_snapshot.then_some(change.position))
}

/// The number that PostgreSQL gave the transaction: other databases, and a standby's snapshot, have
/// none of 32 bits.
fn number(change: &Change<'_>) -> Option<u32> {
    change.transaction.and_then(|id| u32::try_from(id).ok()).filter(|number| *number > 0)
}

/// The transaction of a change. All rows of a snapshot are of one.
fn transaction(change: &Change<'_>) -> u64 {
    match change.snapshot {
        Snapshot::No => change.transaction.unwrap_or(change.committed_at.unsigned_abs()),
        Snapshot::Yes | Snapshot::Last => change.position,
    }
}
