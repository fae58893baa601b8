//! Snapshots. After a gap (a lost slot, a long stop) the connector reads the whole tables. What
//! left them meanwhile is in no message: a job that lived before and is not in the snapshot is
//! over.
//!
//! A snapshot is complete when its last row was read, of whatever table, or a change that follows
//! it; and each partition of the topic is past it: it has a change that follows, or ends and stays
//! quiet. One that is never completed ends nothing.

use super::position::Position;
use std::sync::Arc;
use yardmaster_core::event::Status;
use yardmaster_core::unit::Millis;
use yardmaster_wire::dialect::change::Table;

/// A snapshot of the tables of jobs, in one topic.
pub struct Snapshot {
    pub topic: Arc<str>,
    /// Where it was taken; all its rows have this position.
    pub position: Position,
    pub taken_at: Millis,
    /// Its rows of each of [`TABLES`].
    pub rows: [u64; 2],
    /// Since when it is known that no row follows.
    pub over_since: Option<Millis>,
    /// By table as `rows`: whether jobs that are not in it end; decided when it is complete.
    pub verdict: Option<[bool; 2]>,
}

impl Snapshot {
    /// One of which the first row is read.
    pub fn new(topic: &Arc<str>, position: Position, taken_at: Millis) -> Snapshot {
        Snapshot {
            topic: Arc::clone(topic),
            position,
            taken_at,
            rows: [0; 2],
            over_since: None,
            verdict: None,
        }
    }

    /// Counts a row of a table.
    pub fn count(&mut self, table: Table) {
        match table {
            Table::JobsDefined => self.rows[0] += 1,
            Table::JobsActive => self.rows[1] += 1,
            _ => {}
        }
    }

    /// Whether absent jobs end, by table. A table of which there was no row was empty or was not in
    /// the snapshot: the first is believed only while few of its jobs are absent, and never of both
    /// tables.
    pub fn judge(&self, absent: [u64; 2], most: u64) -> [bool; 2] {
        let has_rows = self.rows != [0, 0];
        [0, 1].map(|table| self.rows[table] > 0 || (has_rows && absent[table] <= most))
    }
}

/// The table in which jobs of a state are, as an index of `rows`.
pub fn table_of(status: Status) -> usize {
    usize::from(status >= Status::Throttled)
}

/// Whether jobs of a state are in this table.
pub fn is_in(status: Status, table: Table) -> bool {
    table == [Table::JobsDefined, Table::JobsActive][table_of(status)]
}

/// Names of the tables, by the same index.
pub const TABLES: [&str; 2] = ["jobsdefined4", "jobsactive4"];
