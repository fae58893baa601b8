//! Rows of PanDA's tables, as far as records of ours are made of them.

use super::fact::{FactRow, FactTable};
use std::borrow::Cow;
use yardmaster_core::event::Status;
use yardmaster_core::unit::{Bytes, Cores, Millis};

/// Operation of a change on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOperation {
    /// The row was inserted.
    Create,
    /// It was updated.
    Update,
    /// A snapshot read it: it was there before the changes that follow.
    Read,
    /// It was deleted. It may have moved to another table in the same transaction.
    Delete,
}

/// Where a message stands in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// In none. Rows of an incremental snapshot too: they stand among the changes.
    No,
    /// In a snapshot, and more rows of it follow.
    Yes,
    /// The last row of a snapshot over all its tables.
    Last,
}

/// The tables whose rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// `jobswaiting4`.
    JobsWaiting,
    /// `jobsdefined4`.
    JobsDefined,
    /// `jobsactive4`.
    JobsActive,
    /// `jobsarchived4`.
    JobsArchived,
    /// `jedi_tasks`.
    Tasks,
    /// `harvester_worker_stats`.
    WorkerStats,
    /// `sitedata`.
    SiteData,
    /// A configuration table.
    Facts(FactTable),
    /// Any other.
    Other,
}

/// Names of the tables, but for those of facts.
const NAMED: [(&str, Table); 7] = [
    ("jobsactive4", Table::JobsActive),
    ("jobsdefined4", Table::JobsDefined),
    ("jobsarchived4", Table::JobsArchived),
    ("jobswaiting4", Table::JobsWaiting),
    ("jedi_tasks", Table::Tasks),
    ("harvester_worker_stats", Table::WorkerStats),
    ("sitedata", Table::SiteData),
];

impl Table {
    /// Its name; empty for one that is not read.
    pub fn name(self) -> &'static str {
        match self {
            Table::Facts(table) => table.name(),
            _ => NAMED.iter().find(|(_, table)| *table == self).map_or("", |(name, _)| name),
        }
    }

    /// The table of a name, in either case.
    pub fn from_name(name: &str) -> Table {
        let found = NAMED.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let facts = || FactTable::from_name(name).map(Table::Facts);
        found.map(|(_, table)| table).or_else(facts).unwrap_or(Table::Other)
    }

    /// Whether its rows are jobs.
    pub const fn is_of_jobs(self) -> bool {
        matches!(
            self,
            Table::JobsWaiting | Table::JobsDefined | Table::JobsActive | Table::JobsArchived
        )
    }
}

/// A change of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Change<'a> {
    /// Operation on the row.
    pub op: RowOperation,
    /// Whether a snapshot read it.
    pub snapshot: Snapshot,
    /// Where it stands in the database's log: `source.lsn` (PostgreSQL) or `source.scn` (Oracle).
    /// Rises with every change of a row; in a snapshot all rows have the snapshot's.
    pub position: u64,
    /// Where the commit before it stands (`source.sequence`), or its own (`commit_scn`); `None` in
    /// a snapshot.
    pub commit_position: Option<u64>,
    /// Transaction: equal for all changes of one, and for no two that follow each other. Debezium's
    /// `transaction.id` ends with the position of the change in it, so `source.txId` is taken.
    /// `None` if the message names none.
    pub transaction: Option<u64>,
    /// When it was committed, or when the snapshot was taken (`source.ts_ms`); ms since 1970.
    pub committed_at: Millis,
    /// Table.
    pub table: Table,
    /// The row after the change; of a delete, its key.
    pub row: Row<'a>,
    /// Columns that are read and that the row does not have, null or not: they were renamed or
    /// dropped in the database, or are not captured.
    pub missing: Vec<&'static str>,
}

/// A row, by what it is of.
#[derive(Clone, Debug, PartialEq)]
pub enum Row<'a> {
    /// A job.
    Job(Box<JobRow<'a>>),
    /// A row of a job was deleted.
    JobGone {
        /// PandaID.
        job: u64,
    },
    /// A task.
    Task(Box<TaskRow<'a>>),
    /// A number of workers.
    Worker(Box<WorkerRow<'a>>),
    /// A number of workers was deleted.
    WorkerGone(WorkerKey<'a>),
    /// How many nodes contacted PanDA for a queue.
    Nodes(Box<NodesRow<'a>>),
    /// A row of a configuration table.
    Fact(Box<FactRow>),
    /// A row of a configuration table was deleted.
    FactGone {
        /// Its table.
        table: FactTable,
        /// Its key columns, joined as in [`FactRow::key`].
        key: String,
    },
    /// A row without a counterpart: of another table, of a co-jumbo job that is `waiting`, of
    /// counts over other hours or of one server, or a task's or counts that were deleted.
    Other,
}

/// A job, as `jobsdefined4`, `jobsactive4`, `jobsarchived4` have it. Empty text and 0: not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRow<'a> {
    /// PandaID.
    pub job: u64,
    /// jediTaskID; 0 for none.
    pub task: u64,
    /// State.
    pub status: Status,
    /// When it reached that state; `statechangetime`, or where that is null `modificationtime`.
    pub changed_at: Millis,
    /// `attemptnr`.
    pub attempt: u32,
    /// `computingsite`.
    pub queue: Cow<'a, str>,
    /// `produsername`.
    pub user: Cow<'a, str>,
    /// `workinggroup`.
    pub group: Cow<'a, str>,
    /// `gshare`.
    pub gshare: Cow<'a, str>,
    /// `resource_type`.
    pub resource_type: Cow<'a, str>,
    /// `nucleus`.
    pub nucleus: Cow<'a, str>,
    /// `prodsourcelabel`.
    pub label: Cow<'a, str>,
    /// `processingtype`; `pmerge` for merge jobs.
    pub processing_type: Cow<'a, str>,
    /// `jobsubstatus`.
    pub sub_status: Cow<'a, str>,
    /// `actualcorecount`, else `corecount`.
    pub cores: Cores,
    /// `currentpriority`.
    pub priority: i32,
    /// `creationtime`.
    pub created_at: Millis,
    /// `starttime`.
    pub started_at: Millis,
    /// `endtime`.
    pub ended_at: Millis,
    /// `inputfilebytes`.
    pub input_bytes: Bytes,
    /// `outputfilebytes`.
    pub output_bytes: Bytes,
    /// `modificationtime`: moves with every update, so with every heartbeat.
    pub modified_at: Millis,
    /// `modificationhost`: the node (`slot@node`) in sent to running, the PanDA server before and
    /// after.
    pub host: Cow<'a, str>,
    /// `cpuconsumptiontime`; s.
    pub cpu_s: u32,
    /// `diskio`; kB/s.
    pub disk_io_kbps: u32,
    /// `maxpss`, else `maxrss`; MB.
    pub rss_mb: u32,
    /// `nevents`: the pilot's count of events done; before the first heartbeat, all events of the
    /// job.
    pub events: u32,
}

impl JobRow<'_> {
    /// The worker node, which is what follows `@` in `modificationhost`; all of it where there is
    /// no `@`.
    pub fn node(&self) -> &str {
        self.host.rsplit_once('@').map_or(&*self.host, |(_, node)| node)
    }
}

/// A task, as `jedi_tasks` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRow<'a> {
    /// jediTaskID.
    pub task: u64,
    /// `status`.
    pub status: Cow<'a, str>,
    /// Whether JEDI asks for no brokerage after this state, unless the task is retried.
    pub is_ended: bool,
    /// When it reached the state: `statechangetime`, or where that is null `modificationtime`.
    pub changed_at: Millis,
}

/// Group of workers that a row of `harvester_worker_stats` counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerKey<'a> {
    /// `harvester_id`.
    pub harvester: Cow<'a, str>,
    /// `computingsite`.
    pub queue: Cow<'a, str>,
    /// `resourcetype`.
    pub resource_type: Cow<'a, str>,
    /// `status` of the workers (submitted, running ...).
    pub status: Cow<'a, str>,
    /// `jobtype`.
    pub job_type: Cow<'a, str>,
}

/// A number of workers, as `harvester_worker_stats` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow<'a> {
    /// Of which.
    pub key: WorkerKey<'a>,
    /// `n_workers`.
    pub count: u32,
    /// `lastupdate`; 0: not known.
    pub at: Millis,
}

/// Nodes that contacted PanDA for a queue in three hours, over all servers, as `sitedata` has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesRow<'a> {
    /// `site`: the queue.
    pub queue: Cow<'a, str>,
    /// `getjob`: nodes that asked for a job.
    pub asked: u32,
    /// `updatejob`: nodes that updated a job.
    pub updated: u32,
    /// `lastmod`; 0: not known.
    pub at: Millis,
}
