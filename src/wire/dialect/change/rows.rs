//! Columns to rows.

use super::super::state::{is_task_ended, job_status};
use super::column::{Column, Columns};
use super::row::{JobRow, NodesRow, Row, Table, TaskRow, WorkerKey, WorkerRow};
use yardmaster_core::unit::Millis;

/// The set of columns that a table is read for. Keys, states and the time of a task's state have
/// errors of their own.
pub(super) const fn wanted(table: Table) -> u64 {
    match table {
        Table::JobsWaiting | Table::JobsDefined | Table::JobsActive | Table::JobsArchived => {
            (Column::NEvents.bit() << 1) - 1
        }
        Table::WorkerStats => {
            Column::JobType.bit() | Column::NWorkers.bit() | Column::LastUpdate.bit()
        }
        Table::SiteData => Column::GetJob.bit() | Column::UpdateJob.bit() | Column::LastMod.bit(),
        Table::Tasks | Table::Facts(_) | Table::Other => 0,
    }
}

/// The row of a table after a change.
pub(super) fn row<'a>(table: Table, columns: &mut Columns<'a>) -> Result<Row<'a>, String> {
    match table {
        Table::JobsWaiting | Table::JobsDefined | Table::JobsActive | Table::JobsArchived => {
            job(columns)
        }
        Table::Tasks => task(columns),
        Table::WorkerStats => worker(columns),
        Table::SiteData => nodes(columns),
        Table::Facts(_) | Table::Other => Ok(Row::Other),
    }
}

/// The row of a table that was deleted, of which the key alone is known.
pub(super) fn gone<'a>(table: Table, columns: &mut Columns<'a>) -> Result<Row<'a>, String> {
    match table {
        Table::JobsWaiting | Table::JobsDefined | Table::JobsActive | Table::JobsArchived => {
            Ok(Row::JobGone { job: columns.id(Column::PandaId)? })
        }
        Table::WorkerStats => Ok(Row::WorkerGone(worker_key(columns)?)),
        Table::Tasks | Table::SiteData | Table::Facts(_) | Table::Other => Ok(Row::Other),
    }
}

fn job<'a>(columns: &mut Columns<'a>) -> Result<Row<'a>, String> {
    let job = columns.id(Column::PandaId)?;
    let Some(status) = job_status("field `jobstatus`", &columns.needed(Column::JobStatus)?)? else {
        return Ok(Row::Other);
    };
    let cores = match columns.small(Column::ActualCoreCount)? {
        0 => columns.small(Column::CoreCount)?,
        actual => actual,
    };
    let rss_kb = match columns.figure(Column::MaxPss)? {
        0 => columns.figure(Column::MaxRss)?,
        pss => pss,
    };
    Ok(Row::Job(Box::new(JobRow {
        job,
        task: columns.id_if_stated(Column::JediTaskId)?,
        status,
        changed_at: changed_at(columns)?,
        attempt: columns.small(Column::AttemptNr)?,
        queue: columns.text(Column::ComputingSite)?,
        user: columns.text(Column::ProdUserName)?,
        group: columns.text(Column::WorkingGroup)?,
        gshare: columns.text(Column::Gshare)?,
        resource_type: columns.text(Column::ResourceType)?,
        nucleus: columns.text(Column::Nucleus)?,
        label: columns.text(Column::ProdSourceLabel)?,
        processing_type: columns.text(Column::ProcessingType)?,
        sub_status: columns.text(Column::JobSubStatus)?,
        cores,
        priority: columns.signed(Column::CurrentPriority)?,
        created_at: columns.time(Column::CreationTime)?,
        started_at: columns.time(Column::StartTime)?,
        ended_at: columns.time(Column::EndTime)?,
        input_bytes: columns.figure(Column::InputFileBytes)?,
        output_bytes: columns.figure(Column::OutputFileBytes)?,
        modified_at: columns.time(Column::ModificationTime)?,
        host: columns.text(Column::ModificationHost)?,
        cpu_s: columns.small(Column::CpuConsumptionTime)?,
        disk_io_kbps: columns.small(Column::DiskIo)?,
        rss_mb: u32::try_from(rss_kb / 1024).unwrap_or(u32::MAX),
        events: columns.small(Column::NEvents)?,
    })))
}

/// When the state was reached. A column that is not captured would make every heartbeat a new
/// state, so it must be there; where it is null, the row did not change since it was made.
fn changed_at(columns: &Columns<'_>) -> Result<Millis, String> {
    if !columns.has(Column::StateChangeTime) {
        return Err("field `statechangetime` is missing, wants a time: capture the column \
                    (column.include.list; on Oracle, supplemental logging of all columns)"
            .to_owned());
    }
    match columns.time(Column::StateChangeTime)? {
        0 => match columns.time(Column::ModificationTime)? {
            0 => Err("fields `statechangetime` and `modificationtime` are not set, wants a time \
                      in one of them"
                .to_owned()),
            at => Ok(at),
        },
        at => Ok(at),
    }
}

fn task<'a>(columns: &mut Columns<'a>) -> Result<Row<'a>, String> {
    let status = columns.needed(Column::Status)?;
    Ok(Row::Task(Box::new(TaskRow {
        task: columns.id(Column::JediTaskId)?,
        is_ended: is_task_ended(&status),
        status,
        changed_at: changed_at(columns)?,
    })))
}

fn worker<'a>(columns: &mut Columns<'a>) -> Result<Row<'a>, String> {
    Ok(Row::Worker(Box::new(WorkerRow {
        key: worker_key(columns)?,
        count: columns.small(Column::NWorkers)?,
        at: columns.time(Column::LastUpdate)?,
    })))
}

/// Hours over which PanDA counts the nodes that its brokers ask for.
const NODE_HOURS: u32 = 3;

/// Counts as PanDA's brokers read them: of `analysis` for queues by names of old, else of
/// `production`. Other rows are of one server, or of another window.
fn nodes<'a>(columns: &mut Columns<'a>) -> Result<Row<'a>, String> {
    let (queue, flag) = (columns.needed(Column::Site)?, columns.needed(Column::Flag)?);
    let read = if queue.starts_with("ANALY_") { "analysis" } else { "production" };
    if flag != read || columns.small(Column::Hours)? != NODE_HOURS {
        return Ok(Row::Other);
    }
    Ok(Row::Nodes(Box::new(NodesRow {
        asked: columns.small(Column::GetJob)?,
        updated: columns.small(Column::UpdateJob)?,
        at: columns.time(Column::LastMod)?,
        queue,
    })))
}

fn worker_key<'a>(columns: &mut Columns<'a>) -> Result<WorkerKey<'a>, String> {
    Ok(WorkerKey {
        harvester: columns.needed(Column::HarvesterId)?,
        queue: columns.needed(Column::ComputingSite)?,
        resource_type: columns.needed(Column::WorkerResourceType)?,
        status: columns.needed(Column::Status)?,
        job_type: columns.text(Column::JobType)?,
    })
}
