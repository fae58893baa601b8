//! Change messages of PanDA's tables to records of ours: what remembers jobs, transactions and
//! snapshots.
//!
//! It rests on the order that one connector keeps: all changes of a job lie in one partition, as
//! they were committed. Sent again after a crash they have positions that were passed. What is not
//! known yet (whether a deleted row moved, whether a report or a snapshot is whole) is not
//! remembered anywhere but in the source: the committed offset does not pass it.

mod ends;
mod job;
mod missing;
mod nodes;
mod partition;
mod placing;
mod position;
mod report;
mod rows;
mod snapshot;

pub use ends::Reach;

use super::facts::Facts;
use super::jobs::Jobs;
use super::{Intake, Origin, Records, Taken};
use job::{Signs, Tracked};
use partition::Partition;
use position::Position;
use snapshot::Snapshot;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use yardmaster_core::unit::Millis;
use yardmaster_wire::dialect::change::{self, FactRow, Message, Row, Table};

/// Memory of change messages: jobs, transactions and snapshots.
#[derive(Default)]
pub(super) struct Changes {
    pub jobs: Jobs<Tracked>,
    partitions: Vec<Partition>,
    /// The partition of the last message: mostly that of the next one too.
    last: usize,
    /// The highest era.
    era: u64,
    snapshots: Vec<Snapshot>,
    /// Snapshots of which the last row was read: the position of the newest.
    complete: Option<u64>,
    /// The newest snapshot that was done with.
    completed: Position,
    /// The highest change that is of no snapshot, and the latest commit.
    streamed: Position,
    committed_at: Millis,
    /// Jobs that are to be published again, since they got a request.
    pub again: VecDeque<u64>,
    nodes: nodes::Nodes,
    facts: Shared,
    /// Columns that rows lack, as far as they were named.
    missing: BTreeSet<(Table, &'static str)>,
    notices: Vec<String>,
}

/// Facts that many jobs share.
#[derive(Default)]
pub(super) struct Shared {
    facts: HashSet<Arc<Facts>>,
    /// At so many those that nobody has any more are forgotten.
    most: usize,
}

impl Changes {
    /// The partition of a message.
    fn partition(&mut self, origin: Origin<'_>) -> usize {
        let is = |it: &Partition| it.number == origin.partition && *it.topic == *origin.topic;
        if !self.partitions.get(self.last).is_some_and(is) {
            self.last = self.partitions.iter().position(is).unwrap_or(self.partitions.len());
            if self.last == self.partitions.len() {
                let era = self.era.max(1);
                self.partitions.push(Partition::new(origin.topic, origin.partition, era));
            }
        }
        self.last
    }

    /// The signs in a row of a job that the job survived a snapshot.
    fn signs(&self, index: usize, change: &change::Change<'_>) -> Signs {
        if change.snapshot != change::Snapshot::No {
            return Signs { snapshot: change.position, committed_at: 0 };
        }
        let partition = self.partitions.get(index).filter(|it| it.snapshot.is_some());
        let open = partition.and_then(|of| self.snapshots.iter().find(|it| it.topic == of.topic));
        let snapshot = open.map_or(0, |it| it.position.place());
        Signs { snapshot, committed_at: change.committed_at }
    }

    /// The database was restored, as a partition shows.
    fn begin_era(&mut self, index: usize, why: &str) {
        let Some(partition) = self.partitions.get_mut(index) else { return };
        partition.begin_era(self.era);
        self.era = self.era.max(partition.era);
        self.notices.push(format!(
            "{}[{}]: the database was restored or replaced ({why}): changes that follow count as \
             newer than all before (era {}). States that the database forgot stay as they were \
             published until their jobs change or a snapshot reads them",
            partition.topic, partition.number, partition.era
        ));
    }
}

impl Intake {
    /// The offset that the committed one of a partition of a source must not pass: what follows it
    /// has to be read again by another life.
    pub fn held(&self, topic: &str, partition: u32) -> Option<u64> {
        let is = |it: &&Partition| it.number == partition && *it.topic == *topic;
        let of_changes = self.changes.partitions.iter().find(is).and_then(Partition::held);
        let of_tables = self.tables.held(topic, partition);
        of_changes.into_iter().chain(of_tables).min()
    }

    /// How many partitions of sources have such an offset.
    pub fn held_partitions(&self) -> usize {
        self.changes.partitions.iter().filter(|it| it.held().is_some()).count()
    }

    /// How many jobs have a row that was deleted, and may have moved.
    pub fn gone(&self) -> usize {
        self.changes.partitions.iter().map(|it| it.gone.len()).sum()
    }

    /// Notices for a person since this was last asked.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.changes.notices)
    }

    /// Takes a change message in.
    pub(super) fn take_change(
        &mut self,
        origin: Origin<'_>,
        key: Option<&[u8]>,
        value: &[u8],
        records: &mut Records,
    ) -> Result<Taken, String> {
        let message = change::read(key, Some(value))?;
        let Message::Change(mut change) = message else { return Ok(Taken::Ignored) };
        self.note_missing(&mut change);
        rows::check(&change, self.limits.name_bytes)?;
        let index = self.changes.partition(origin);
        self.note_change(index, &change, origin, records);
        match &change.row {
            Row::Fact(row) => self.table_row(row, change.committed_at, origin),
            Row::FactGone { table, key } => {
                self.tables.note_place(origin.topic, origin.partition, origin.offset);
                let is_new = self.tables.remove(*table, key, change.committed_at);
                Ok(if is_new { Taken::Published } else { Taken::Known })
            }
            _ => Ok(self.rows(index, &change, origin, records)),
        }
    }

    /// A row of a configuration table. What it changes is published when the batch is settled.
    fn table_row(
        &mut self,
        row: &FactRow,
        at: Millis,
        origin: Origin<'_>,
    ) -> Result<Taken, String> {
        self.tables.note_place(origin.topic, origin.partition, origin.offset);
        Ok(if self.tables.put(row, at)? { Taken::Published } else { Taken::Known })
    }
}
