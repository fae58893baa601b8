//! A job as text: where it stands, and how each rule that gives commands stands to it.

use super::note::{clock_text, held_back_text};
use super::{Written, iso, span};
use crate::domain::cms::explain as cms;
use crate::domain::cms::policy::why::PoolWait;
use crate::engine::Engine;
use crate::govern::job::{RuleStanding, standings};
use crate::govern::timeout::{Deadline, TimeoutFinding};
use crate::id::Name;
use crate::state::State;
use crate::state::job::Job;
use crate::unit::SECOND;
use std::fmt::Write;

/// A job as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStanding {
    /// The text of it.
    pub text: String,
    /// Why it waits, if it is a job of a pool that does.
    pub wait: Option<PoolWait>,
}

/// How a job stands; its text lists so many sites at most. `None` if no such job is known.
pub fn explain_job(engine: &Engine, name: &str, sites_max: usize) -> Option<JobStanding> {
    let state = &engine.state;
    let (job, rules) = standings(state, name)?;
    let wait = engine.why_waits(name);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, state, name, (job, &rules), (wait.as_ref(), sites_max));
    Some(JobStanding { text, wait })
}

/// How a workflow or a user of a pool stands, as text; `None`: no such one is known.
pub fn explain_pool_name(engine: &Engine, name: &str) -> Option<String> {
    let state = &engine.state;
    let pool = cms::name::is_known(state, name).then(|| engine.pool_at())??;
    cms::name::text(state, &pool, name)
}

fn write(
    text: &mut String,
    state: &State,
    name: &str,
    (job, rules): (&Job, &[RuleStanding]),
    (wait, sites_max): (Option<&PoolWait>, usize),
) -> Written {
    let named = |name: Name| state.names.text(name);
    let status = job.status.map_or("", |status| status.name());
    writeln!(text, "{name}: {status}, attempt {}, as of {}", job.attempt, iso(state.now))?;
    let [queue, gshare, ..] = job.names.map(named);
    let share = if gshare.is_empty() { String::new() } else { format!(", share {gshare}") };
    writeln!(text, "  queue     {queue}{share}, priority {}", job.priority)?;
    writeln!(text, "  since     {}; created {}", iso(job.changed_at), iso(job.created_at))?;
    match job.heartbeat.at {
        0 => writeln!(text, "  heartbeat none")?,
        at => writeln!(text, "  heartbeat {} of attempt {}", iso(at), job.heartbeat.attempt)?,
    }
    cms::job::write(text, state, name)?;
    if let Some(wait) = wait {
        cms::wait::write(text, wait, sites_max)?;
    }
    for it in rules {
        write_rule(text, state, it)?;
    }
    if rules.is_empty() {
        writeln!(text, "  rules     none that gives commands is about it")?;
    }
    Ok(())
}

fn write_rule(text: &mut String, state: &State, it: &RuleStanding) -> Written {
    let (rule, kind, mode) = (it.rule.name(), it.kind.name(), it.mode.name());
    let what = match it.standing {
        TimeoutFinding::NotConcerned => "is not about it".to_owned(),
        TimeoutFinding::Deadline(deadline) => by(state, &deadline),
    };
    writeln!(text, "  rule      {rule} ({kind}, {mode}): {what}")?;
    if let Some(hold) = &it.hold {
        writeln!(text, "            held back: {}", held_back_text(&hold.to_string()))?;
    }
    Ok(())
}

/// When a rule is due, and by which clock.
fn by(state: &State, deadline: &Deadline) -> String {
    let Deadline { clock, clock_at, limit, due_at } = *deadline;
    let left = due_at.saturating_sub(state.now) / SECOND;
    let due = match left {
        left if left > 0 => format!("due {} (in {})", iso(due_at), span(left)),
        _ => format!("due since {}", iso(due_at)),
    };
    let put_off = due_at.saturating_sub(clock_at.saturating_add(limit)) / SECOND;
    let off = if put_off > 0 { format!(", put off by {}", span(put_off)) } else { String::new() };
    format!("{due}: {} {} and {}{off}", clock_text(clock), iso(clock_at), span(limit / SECOND))
}
