//! `job-state` and `heartbeat`.

use super::{amount, count, symbol};
use crate::core::cut::Topic;
use crate::core::event::{Heartbeat, JobState, Status};
use crate::wire::avro::{Cursor, Fault, Sink};

#[inline(always)]
pub(super) fn read_state<'a>(at: &mut Cursor<'a>) -> Result<JobState<'a>, Fault> {
    let job = at.string()?;
    let status = symbol(at, &Status::ALL)?;
    let changed_at = at.long()?;
    let revision = count(at)?;
    let attempt = count(at)?;
    let [
        task,
        request,
        queue,
        user,
        group,
        gshare,
        resource_type,
        nucleus,
        workflow,
        label,
        sub_status,
    ] = at.strings()?;
    Ok(JobState {
        job,
        status,
        changed_at,
        revision,
        attempt,
        task,
        request,
        queue,
        user,
        group,
        gshare,
        resource_type,
        nucleus,
        workflow,
        label,
        sub_status,
        cores: count(at)?,
        priority: at.int()?,
        created_at: at.long()?,
        started_at: at.long()?,
        ended_at: at.long()?,
        input_bytes: amount(at)?,
        output_bytes: amount(at)?,
    })
}

/// Appends a job's state.
pub fn write_job_state(out: &mut Vec<u8>, job: &JobState<'_>) {
    let mut sink = Sink::begin(out, Topic::JobState);
    sink.string(job.job);
    sink.index(job.status.index());
    sink.long(job.changed_at);
    sink.count(job.revision);
    sink.count(job.attempt);
    sink.string(job.task);
    sink.string(job.request);
    sink.string(job.queue);
    sink.string(job.user);
    sink.string(job.group);
    sink.string(job.gshare);
    sink.string(job.resource_type);
    sink.string(job.nucleus);
    sink.string(job.workflow);
    sink.string(job.label);
    sink.string(job.sub_status);
    sink.count(job.cores);
    sink.int(job.priority);
    sink.long(job.created_at);
    sink.long(job.started_at);
    sink.long(job.ended_at);
    sink.amount(job.input_bytes);
    sink.amount(job.output_bytes);
}

#[inline(always)]
pub(super) fn read_heartbeat<'a>(at: &mut Cursor<'a>) -> Result<Heartbeat<'a>, Fault> {
    Ok(Heartbeat {
        job: at.string()?,
        at: at.long()?,
        attempt: count(at)?,
        cpu_s: count(at)?,
        disk_io_kbps: count(at)?,
        rss_mb: count(at)?,
        events: count(at)?,
    })
}

/// Appends a job's sign of life.
pub fn write_heartbeat(out: &mut Vec<u8>, beat: &Heartbeat<'_>) {
    let mut sink = Sink::begin(out, Topic::Heartbeat);
    sink.string(beat.job);
    sink.long(beat.at);
    sink.count(beat.attempt);
    sink.count(beat.cpu_s);
    sink.count(beat.disk_io_kbps);
    sink.count(beat.rss_mb);
    sink.count(beat.events);
}
