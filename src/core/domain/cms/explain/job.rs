//! A job of a pool of slots as text: what it wants, what it holds, or why it waits no longer.

use crate::domain::cms::policy::label::wish;
use crate::domain::cms::state::{PoolJob, PoolJobState, PoolMatch, PoolWorkflow};
use crate::event::OwnRequirements;
use crate::explain::{iso, milli, or_none, span};
use crate::state::State;
use std::fmt::{self, Write};

/// Adds what a pool knows of a job, if it is one of a pool.
pub(crate) fn write(text: &mut String, state: &State, name: &str) -> fmt::Result {
    let Some(job) = state.pool.jobs.of(name) else { return Ok(()) };
    if let Some(known) = &job.state {
        workflow(text, known, state.pool.workflows.of(&known.workflow))?;
    }
    if let Some((_, _, _, wants)) = &job.requirements {
        wanted(text, wants)?;
    }
    standing(text, state, job)
}

fn workflow(text: &mut String, job: &PoolJobState, known: Option<&PoolWorkflow>) -> fmt::Result {
    let record = known.and_then(|known| known.record.as_ref());
    let what = match (known, record) {
        (_, None) => "no record of it was read".to_owned(),
        (Some(known), Some(_)) if known.killed => "killed: its jobs wait no longer".to_owned(),
        (_, Some(record)) if record.closed => "closed: its jobs wait no longer".to_owned(),
        (Some(known), Some(record)) => {
            let class = record.facts.class.name();
            let priority = known.priority.map_or(0, |stated| stated.priority);
            let boosted = if known.boosted { ", its tail boosted" } else { "" };
            format!("{class}, of {}, priority {priority}{boosted}", or_none(&record.user))
        }
        (None, Some(_)) => String::new(),
    };
    writeln!(text, "  workflow  {}: {what}", or_none(&job.workflow))
}

fn wanted(text: &mut String, wants: &OwnRequirements) -> fmt::Result {
    let cores = match (wants.whole_node, wants.all_cores, wants.cores_max) {
        (true, _, _) => format!("a whole node of {} cores or more", wants.cores_min),
        (false, true, _) => format!("{} cores, and all that are left", wants.cores_min),
        (false, false, Some(most)) if most != wants.cores_min => {
            format!("{} to {most} cores", wants.cores_min)
        }
        (false, false, _) => format!("{} cores", wants.cores_min),
    };
    let time = wants.max_wall_time_s.map_or("a default run time".to_owned(), span);
    let memory = wants.max_rss_mb.map_or("default memory".to_owned(), |mb| format!("{mb} MB"));
    let flags = [
        (wants.system_job, ", a system job"),
        (wants.high_io, ", HighIO"),
        (wants.allow_overflow == Some(true), ", may overflow"),
        (wants.allow_overflow == Some(false), ", may not overflow"),
    ];
    let place = wants.seq.map_or("no place stated".to_owned(), |seq| format!("place {seq}"));
    let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, words)| *words).collect();
    writeln!(text, "  wants     {cores}, {time}, {memory}{flags}; {place}")?;
    for it in &wants.resources {
        writeln!(text, "            {} {}", it.amount, it.name)?;
    }
    for it in &wants.labels {
        writeln!(text, "            {} {}", it.name, wish(it))?;
    }
    match wants.whitelist() {
        None => writeln!(text, "  sites     any"),
        Some(sites) if sites.is_empty() => writeln!(text, "  sites     an empty whitelist"),
        Some(sites) => writeln!(text, "  sites     {}", sites.join(", ")),
    }
}

fn standing(text: &mut String, state: &State, job: &PoolJob) -> fmt::Result {
    let attempt = job.state.as_ref().map_or(0, |known| known.attempt);
    if let Some(matched) = &job.matched {
        return holding(text, state, job, matched);
    }
    match (job.refused, &job.state) {
        (Some(refused), _) if refused >= attempt => {
            writeln!(text, "  pool      attempt {refused} was rejected, or killed: it never runs")
        }
        (_, Some(known)) if known.ended_at > 0 => {
            writeln!(text, "  pool      ended {}", iso(known.ended_at))
        }
        (_, Some(known)) if known.started_at > 0 => {
            writeln!(text, "  pool      runs at {} without a match", or_none(&known.site))
        }
        (_, Some(known)) if known.created_at > 0 => {
            writeln!(text, "  pool      waits for an offer, queued {}", iso(known.created_at))
        }
        (_, Some(_)) => writeln!(text, "  pool      waits for an offer"),
        (_, None) => writeln!(text, "  pool      no state of it was read"),
    }
}

fn holding(text: &mut String, state: &State, job: &PoolJob, it: &PoolMatch) -> fmt::Result {
    let (cores, weight) = (it.matched.cores, milli(it.matched.weight_milli));
    writeln!(
        text,
        "  pool      holds {cores} cores ({weight} by power) of offer {} at {} since {}",
        it.offer,
        or_none(&it.site),
        iso(it.at)
    )?;
    let started = job.state.as_ref().filter(|known| known.attempt == it.matched.job_attempt);
    match (started.map_or(0, |known| known.started_at), state.setting.pool) {
        (0, Some(setting)) => {
            let until = iso(it.at.saturating_add(setting.match_lifetime_ms));
            writeln!(text, "            not started; released {until} if it does not start")
        }
        (0, None) => Ok(()),
        (at, _) => writeln!(text, "            started {}", iso(at)),
    }
}
