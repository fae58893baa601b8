//! A workflow or a user of a pool as text: its jobs, what its test jobs showed, its fair share.

use crate::domain::cms::policy::facts::seconds;
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::verdict::{TestTally, test_tally};
use crate::domain::cms::state::{PoolWorkflow, PoolWorkflowRecord};
use crate::event::{GrantScopeKind, is_newer};
use crate::explain::{iso, milli, or_none, span};
use crate::id::Name;
use crate::state::State;
use std::fmt::{self, Write};

/// How a workflow, or else a user, of a pool stands; `None`: no such one is known.
pub(crate) fn text(state: &State, pool: &Pool, name: &str) -> Option<String> {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Some(known) = state.pool.workflows.of(name) {
        let _ = workflow(&mut text, state, pool, known);
    }
    if let Some(user) = pool.name(name).filter(|_| is_user(state, name)) {
        let _ = self::user(&mut text, state, pool, (name, user));
    }
    Some(text).filter(|text| !text.is_empty())
}

/// Whether a workflow or user of a pool has a name.
pub(crate) fn is_known(state: &State, name: &str) -> bool {
    state.pool.workflows.of(name).is_some() || is_user(state, name)
}

/// A user has a record, past use, or is that of a workflow.
fn is_user(state: &State, name: &str) -> bool {
    let has_record = state.facts.users.of(name).is_some();
    let of_workflow =
        |known: &PoolWorkflow| known.record.as_ref().is_some_and(|record| record.user == name);
    has_record
        || state.pool.users.of(name).is_some()
        || state.pool.workflows.iter().any(|(_, known)| of_workflow(known))
}

fn workflow(text: &mut String, state: &State, pool: &Pool, known: &PoolWorkflow) -> fmt::Result {
    let name = known.workflow.as_str();
    match &known.record {
        None => writeln!(text, "{name}: a workflow of which no record was read")?,
        Some(record) => stated(text, state, known, record)?,
    }
    let counters = pool.name(name).map(|it| pool.counters().workflow(it));
    let (waiting, held) = counters.map_or((0, 0), |it| (it.pending, it.held));
    let total = known.record.as_ref().and_then(|record| record.facts.total_jobs);
    let total = total.map_or("not stated".to_owned(), |total| total.to_string());
    let on_hold =
        state.on_hold().get(name).map_or(String::new(), |jobs| format!("{jobs} are on hold, "));
    writeln!(
        text,
        "  jobs      {waiting} wait, {on_hold}{held} have slots, {} finished, {} failed for good \
         or were removed; {total} in all",
        known.done, known.failed_final
    )?;
    if let Some(tally) = test_tally(pool, name) {
        let TestTally { members, succeeded, failed, void, open } = tally;
        writeln!(
            text,
            "  tests     of {members} test jobs {succeeded} succeeded, {failed} failed by their \
             program, {void} say nothing (taken away, or failed by a site for the last time), \
             {open} are tried again"
        )?;
    }
    match known.profile {
        None => writeln!(text, "  profile   none was learnt (C-50)"),
        Some((wall_s, rss_mb)) => {
            let time = if wall_s > 0 { span(wall_s) } else { "unknown time".to_owned() };
            let memory =
                if rss_mb > 0 { format!("{rss_mb} MB") } else { "unknown memory".to_owned() };
            writeln!(
                text,
                "  profile   a job needs {time} and {memory}, as its test jobs showed (C-50)"
            )
        }
    }
}

fn stated(
    text: &mut String,
    state: &State,
    known: &PoolWorkflow,
    record: &PoolWorkflowRecord,
) -> fmt::Result {
    let is_over = match (known.killed, record.closed) {
        (true, _) => ", killed",
        (false, true) => ", ended",
        (false, false) => "",
    };
    let class = record.facts.class.name();
    writeln!(text, "{}: a workflow, {class}{is_over}, as of {}", known.workflow, iso(state.now))?;
    writeln!(text, "  user      {}", or_none(&record.user))?;
    let priority = known.priority.unwrap_or_default();
    let boosted = if known.boosted { ", its tail boosted" } else { "" };
    let revision = match priority.revision {
        0 => format!("as of {}", iso(priority.changed_at)),
        revision => format!("revision {revision}"),
    };
    writeln!(text, "  priority  {} ({revision}){boosted}", priority.priority)
}

fn user(text: &mut String, state: &State, pool: &Pool, (name, user): (&str, Name)) -> fmt::Result {
    let growth = pool.decay().growth(seconds(state.now));
    let counters = pool.counters().user(user);
    let narrow = |value: i128| milli(i64::try_from(value).unwrap_or(i64::MAX));
    let (share, decayed) =
        (counters.usage.fair_share_milli(growth), counters.usage.decayed_milli(growth));
    writeln!(text, "{name}: a user of the pool, as of {}", iso(state.now))?;
    writeln!(
        text,
        "  share     {} cores by power: {} of decayed use, {} running, {} matched and not started; \
         of one level the user with the least, times the least factor of its grants, goes first \
         (C-18, C-20)",
        narrow(share),
        narrow(decayed),
        milli(counters.usage.running),
        milli(counters.usage.reserved)
    )?;
    writeln!(
        text,
        "  holds     {} cores by power, {} test jobs, {} system jobs",
        milli(counters.weight),
        counters.test_jobs,
        counters.system_jobs
    )?;
    let groups = pool.user(user).map_or(&[][..], |entry| &entry.groups);
    let groups: Vec<&str> = groups.iter().map(|group| pool.text(*group)).collect();
    if !groups.is_empty() {
        writeln!(text, "  groups    {}", groups.join(", "))?;
    }
    for (_, fact) in state.facts.grants.iter() {
        let Some(grant) = fact.current(is_newer) else { continue };
        if grant.principal == name || groups.contains(&grant.principal.as_str()) {
            let place = match grant.scope_kind {
                GrantScopeKind::Global => "everywhere".to_owned(),
                GrantScopeKind::Region => format!("in region {}", grant.scope),
                GrantScopeKind::Site => format!("at {}", grant.scope),
            };
            let factor = grant.factor_milli.map_or(String::new(), |factor| {
                format!(", its use counts {} times", milli(factor))
            });
            writeln!(text, "  grant     {}: level {}{factor}, {place}", grant.name, grant.level)?;
        }
    }
    Ok(())
}
