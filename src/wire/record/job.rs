//! `job-state` and `heartbeat`.

use super::{amount, attempt, count, option, pool, symbol};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Heartbeat, JobState, Status};

#[inline(always)]
pub(super) fn read_state<'a>(at: &mut Cursor<'a>) -> Result<JobState<'a>, Fault> {
    let job = at.string()?;
    let status = symbol(at, &Status::ALL)?;
    let changed_at = at.long()?;
    let revision = amount(at)?;
    let attempt = attempt(at)?;
    let mut run = at.run(12)?;
    let task = run.next()?;
    let request = run.next()?;
    let queue = run.next()?;
    let user = run.next()?;
    let group = run.next()?;
    let gshare = run.next()?;
    let resource_type = run.next()?;
    let nucleus = run.next()?;
    let workflow = run.next()?;
    let label = run.next()?;
    let processing_type = run.next()?;
    let sub_status = run.next()?;
    let cores = count(at)?;
    let priority = at.int()?;
    let created_at = at.long()?;
    let activated_at = at.long()?;
    let started_at = at.long()?;
    let ended_at = at.long()?;
    let input_bytes = amount(at)?;
    let output_bytes = amount(at)?;
    let cpu_time_s = count(at)?;
    let wall_time_s = count(at)?;
    let requirements = option(at, pool::read_requirements)?.map(Box::new);
    at.end()?;
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
        processing_type,
        sub_status,
        cores,
        priority,
        created_at,
        activated_at,
        started_at,
        ended_at,
        input_bytes,
        output_bytes,
        cpu_time_s,
        wall_time_s,
        requirements,
    })
}

/// Appends a job's state.
pub fn write_job_state(out: &mut Vec<u8>, job: &JobState<'_>) {
    let mut sink = Sink::begin(out, Topic::JobState);
    sink.string(job.job);
    sink.index(job.status.index());
    sink.long(job.changed_at);
    sink.amount(job.revision);
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
    sink.string(job.processing_type);
    sink.string(job.sub_status);
    sink.count(job.cores);
    sink.int(job.priority);
    sink.long(job.created_at);
    sink.long(job.activated_at);
    sink.long(job.started_at);
    sink.long(job.ended_at);
    sink.amount(job.input_bytes);
    sink.amount(job.output_bytes);
    sink.count(job.cpu_time_s);
    sink.count(job.wall_time_s);
    sink.option(job.requirements.as_deref(), pool::write_requirements);
}

#[inline(always)]
pub(super) fn read_heartbeat<'a>(at: &mut Cursor<'a>) -> Result<Heartbeat<'a>, Fault> {
    let job = at.string()?;
    let stated_at = at.long()?;
    let attempt = attempt(at)?;
    let cpu_s = count(at)?;
    let disk_io_kbps = count(at)?;
    let rss_mb = count(at)?;
    let events = count(at)?;
    at.end()?;
    Ok(Heartbeat { job, at: stated_at, attempt, cpu_s, disk_io_kbps, rss_mb, events })
}

/// Appends a job's sign of life.
pub fn write_heartbeat(out: &mut Vec<u8>, heartbeat: &Heartbeat<'_>) {
    let mut sink = Sink::begin(out, Topic::Heartbeat);
    sink.string(heartbeat.job);
    sink.long(heartbeat.at);
    sink.count(heartbeat.attempt);
    sink.count(heartbeat.cpu_s);
    sink.count(heartbeat.disk_io_kbps);
    sink.count(heartbeat.rss_mb);
    sink.count(heartbeat.events);
}
