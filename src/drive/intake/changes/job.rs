//! A job as its row was last seen, and what a newer row of it changes.
//!
//! All changes of a job lie in one partition, in the order in which they were committed. So the
//! last row counts, with two exceptions that the fold makes: within an attempt a job that ended
//! stays ended, and an older attempt is no news. Neither holds for a row of a job that was over
//! since it had none, nor for another job under its id: with it another life begins.

use super::position::{LIFE_MAX, Position, life_of_revision};
use crate::intake::facts::Facts;
use std::sync::Arc;
use yardmaster_core::event::{JobState, Status};
use yardmaster_core::unit::{Bytes, Millis, SECOND};
use yardmaster_wire::dialect::change::JobRow;

/// Sub-state of a job whose row is gone.
pub const ROW_GONE: &str = "row_gone";

/// A job that was created later by more than this is another one: clocks of two servers differ.
const ANOTHER: Millis = SECOND;

/// A job.
#[derive(Clone, Debug)]
pub struct Tracked {
    pub status: Status,
    pub attempt: u32,
    /// The latest of its rows in this attempt: two servers' clocks may differ, the order of the
    /// rows does not.
    pub changed_at: Millis,
    /// Created, started, ended; 0 when not known.
    pub stamps: [Millis; 3],
    /// When a pilot could first take it in this attempt; 0 when not known.
    pub activated_at: Millis,
    pub task: u64,
    pub queue: Arc<str>,
    pub bytes: (Bytes, Bytes),
    pub facts: Arc<Facts>,
    /// The request that placed it; `None` while not known. It keeps it in all attempts.
    pub request: Option<Arc<str>>,
    /// The highest that was seen.
    pub position: Position,
    /// How often it was there again in the era of the position, after it was over.
    pub life: u8,
    /// `modificationtime` of the last row; 0 when not known, as after a restart.
    pub modified_at: Millis,
    pub signs: Signs,
    /// The position is that of a snapshot: changes of transactions that it did not see may be below
    /// it.
    pub is_of_snapshot: bool,
}

/// Signs in the rows of a job that it survived a snapshot that has no row of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    /// Place of the newest snapshot that has it, or whose rows a change of it followed; 0 for none.
    pub snapshot: u64,
    /// When the last change of its row was committed; 0 for rows of snapshots, and when not known,
    /// as after a restart.
    pub committed_at: Millis,
}

impl Signs {
    /// Takes in those of a further row.
    pub fn join(&mut self, other: Signs) {
        self.snapshot = self.snapshot.max(other.snapshot);
        self.committed_at = self.committed_at.max(other.committed_at);
    }
}

/// Order of a row relative to the known row of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It was seen before: sent again after a crash.
    Repeated,
    /// It has a position that was given before, and is newer all the same: the database was
    /// restored.
    Restored,
    /// The job had no row any more, its id was given again, or the database was restored: another
    /// life begins.
    Returned,
    /// It follows.
    Next,
}

impl Tracked {
    /// The job of a record that was read back.
    pub fn of_record(
        record: &JobState<'_>,
        position: Position,
        task: u64,
        queue: Arc<str>,
        facts: Arc<Facts>,
    ) -> Tracked {
        Tracked {
            status: record.status,
            attempt: record.attempt,
            changed_at: record.changed_at,
            stamps: [record.created_at, record.started_at, record.ended_at],
            activated_at: record.ready_at(),
            task,
            queue,
            bytes: (record.input_bytes, record.output_bytes),
            facts,
            request: (!record.request.is_empty()).then(|| record.request.into()),
            position,
            life: life_of_revision(record.revision),
            modified_at: 0,
            signs: Signs::default(),
            is_of_snapshot: false,
        }
    }

    /// The job of the first row that is seen of it.
    pub fn of_row(
        row: &JobRow<'_>,
        position: Position,
        queue: Arc<str>,
        facts: Arc<Facts>,
    ) -> Tracked {
        Tracked {
            status: row.status,
            attempt: row.attempt,
            changed_at: row.changed_at,
            stamps: stamps(row),
            activated_at: if row.status == Status::Activated { row.changed_at } else { 0 },
            task: row.task,
            queue,
            bytes: (row.input_bytes, row.output_bytes),
            facts,
            request: None,
            position,
            life: 0,
            modified_at: row.modified_at,
            signs: Signs::default(),
            is_of_snapshot: false,
        }
    }

    /// Whether a row at a position follows what is known. Within what was seen, a row that is newer
    /// by its own clock shows that the position means another place: after a snapshot, that the
    /// snapshot did not see the row's transaction; else, that the database was restored.
    pub fn order(&self, row: &JobRow<'_>, position: Position) -> Order {
        if position >= self.position {
            let is_back = self.is_gone() && position > self.position;
            let is_again = position.era() > self.position.era() || is_back || self.is_another(row);
            return if is_again { Order::Returned } else { Order::Next };
        }
        if self.is_of_snapshot && self.modified_at > 0 {
            let is_unseen = row.modified_at > self.modified_at;
            return if is_unseen { Order::Next } else { Order::Repeated };
        }
        // Of a job that ended, rows that came too late are passed over and not remembered.
        let is_newer = row.attempt > self.attempt
            || self.is_another(row)
            || (row.attempt == self.attempt
                && !self.status.is_ended()
                && row.changed_at > self.changed_at);
        if is_newer { Order::Restored } else { Order::Repeated }
    }

    /// Whether it is over since it had no row any more.
    fn is_gone(&self) -> bool {
        self.status.is_ended() && *self.facts.sub_status == *ROW_GONE
    }

    /// Whether a row is of another job, to which a restored database gave the same id.
    fn is_another(&self, row: &JobRow<'_>) -> bool {
        let [created_at, ..] = self.stamps;
        row.attempt <= self.attempt && created_at > 0 && row.created_at > created_at + ANOTHER
    }

    /// Begins another life with a row at a position.
    pub fn begin_again(&mut self, row: &JobRow<'_>, position: Position) {
        self.life = match position.era() > self.position.era() {
            true => 0,
            false => (self.life + 1).min(LIFE_MAX),
        };
        let is_another = self.is_another(row);
        if is_another {
            self.request = None;
        }
        if is_another || row.attempt != self.attempt {
            self.activated_at = 0;
        }
        // Nothing of the life before outranks the row, or is as it is.
        (self.attempt, self.status, self.changed_at) = (row.attempt, Status::Pending, 0);
    }

    /// Whether the fold would leave a state as it is for the one that is known.
    pub fn outranks(&self, status: Status, attempt: u32) -> bool {
        attempt < self.attempt
            || (attempt == self.attempt && self.status.is_ended() && !status.is_ended())
    }

    /// Takes a row that follows: whether anything that is published of it changed. `queue` and
    /// `facts` give the texts that many jobs share.
    pub fn take(
        &mut self,
        row: &JobRow<'_>,
        queue: impl FnOnce(&str) -> Arc<str>,
        facts: impl FnOnce(Facts) -> Arc<Facts>,
    ) -> bool {
        let is_same_attempt = row.attempt == self.attempt;
        let changed_at = match is_same_attempt {
            true => row.changed_at.max(self.changed_at),
            false => row.changed_at,
        };
        let activated_at = match row.status {
            Status::Activated => changed_at,
            _ if is_same_attempt => self.activated_at,
            _ => 0,
        };
        let bytes = (row.input_bytes, row.output_bytes);
        let new = (row.status, row.attempt, changed_at, stamps(row), activated_at, row.task, bytes);
        let old = (
            self.status,
            self.attempt,
            self.changed_at,
            self.stamps,
            self.activated_at,
            self.task,
            self.bytes,
        );
        let mut is_news = new != old;
        (self.status, self.attempt, self.changed_at, self.stamps, ..) = new;
        (self.activated_at, self.task, self.bytes) = (activated_at, row.task, bytes);
        if *self.queue != *row.queue {
            self.queue = queue(&row.queue);
            is_news = true;
        }
        if !is_of(&self.facts, row) {
            self.facts = facts(Facts::of_row(row));
            is_news = true;
        }
        is_news
    }

    /// Ends a job whose row is gone.
    pub fn end(&mut self, position: Position, at: Millis, facts: impl FnOnce(Facts) -> Arc<Facts>) {
        self.status = Status::Closed;
        self.changed_at = self.changed_at.max(at);
        self.position = self.position.max(position);
        self.facts = facts(Facts { sub_status: ROW_GONE.into(), ..(*self.facts).clone() });
    }

    /// Whether a row's update is a sign of life of its pilot.
    pub fn is_with_pilot(&self) -> bool {
        use Status::{Holding, Running, Sent, Starting, Transferring};
        matches!(self.status, Sent | Starting | Running | Holding | Transferring)
    }

    /// The record, under a name and with the name of its task.
    pub fn record<'a>(&'a self, job: &'a str, task: &'a str) -> JobState<'a> {
        let facts = &*self.facts;
        let [created_at, started_at, ended_at] = self.stamps;
        facts.stated_in(JobState {
            job,
            status: self.status,
            changed_at: self.changed_at,
            revision: self.position.revision(self.life, self.request.is_some()),
            attempt: self.attempt,
            task,
            request: self.request.as_deref().unwrap_or(""),
            queue: &self.queue,
            created_at,
            activated_at: self.activated_at,
            started_at,
            ended_at,
            input_bytes: self.bytes.0,
            output_bytes: self.bytes.1,
            ..JobState::default()
        })
    }
}

/// Created, started, ended. PanDA sets `starttime` when a pilot takes the job, and again when the
/// payload starts: before that it is not the payload's.
fn stamps(row: &JobRow<'_>) -> [Millis; 3] {
    let has_started = row.status >= Status::Running;
    [row.created_at, if has_started { row.started_at } else { 0 }, row.ended_at]
}

/// Whether a row has these facts.
fn is_of(facts: &Facts, row: &JobRow<'_>) -> bool {
    facts.cores == row.cores
        && facts.priority == row.priority
        && *facts.sub_status == *row.sub_status
        && *facts.gshare == *row.gshare
        && *facts.user == *row.user
        && *facts.group == *row.group
        && *facts.resource_type == *row.resource_type
        && *facts.nucleus == *row.nucleus
        && *facts.label == *row.label
        && *facts.processing_type == *row.processing_type
}

impl Facts {
    /// Those of a row; the workflow is that of its queue, which the queue's record has.
    pub fn of_row(row: &JobRow<'_>) -> Facts {
        Facts {
            user: (&*row.user).into(),
            group: (&*row.group).into(),
            gshare: (&*row.gshare).into(),
            resource_type: (&*row.resource_type).into(),
            nucleus: (&*row.nucleus).into(),
            workflow: "".into(),
            label: (&*row.label).into(),
            processing_type: (&*row.processing_type).into(),
            sub_status: (&*row.sub_status).into(),
            cores: row.cores,
            priority: row.priority,
        }
    }
}
