//! A decision as text an operator can read: what was answered, why there, why not elsewhere, and
//! what it waits for; which job got an offered place; and what a throttle is for, and until when.

mod command;
mod comparison;
mod context;
mod filled;
mod job;
mod join;
mod nearest;
mod note;
mod open;
mod place;
mod standing;
mod task;
mod text;
mod throttle;
mod whole;
mod why;

pub use command::{asked_of_pool, command_why, explain_command};
pub use comparison::{explain_comparison, side_name};
pub use context::Context;
pub(crate) use context::counts_of;
pub use filled::{FilledBy, FilledOf, HeldJobs};
pub use job::{JobStanding, explain_job, explain_pool_name};
pub use join::join;
pub use nearest::{NearestMiss, moves, nearest_miss};
pub use note::{clock_text, held_back_text, note_text};
pub use open::{OPEN_MAX, each_open};
pub use place::{Accepted, PlaceMiss, PlaceStory, Rejecting};
pub use standing::{NameStanding, RequestStanding, offers_at, waiting_of};
pub use task::{JobsByState, RequestJobs, TaskMoment, TaskStanding};
pub(crate) use text::{dry_run, limit_sentence, milli, number, or_none, with_moments};
pub use text::{iso, span};
pub use throttle::{explain_throttle, throttle_lifted, throttle_of};
pub use why::{FilterStep, Rejected, WaitConditions, Why, headline, why, why_no_jobs};

use crate::domain::cms::explain as cms;
use crate::domain::nordugrid::explain as nordugrid;
use crate::output::decision::{Decision, Fate, Outcome, Ranked};
use crate::state::admit::remedy;
use crate::unit::SECOND;
use std::fmt::Write;
use whole::{WholeWait, whole_wait};

/// Sites that a text lists where not all are asked for.
pub const SITES_SHOWN: usize = 20;
/// Queues shown of an assignment.
const RANKED_SHOWN: usize = 10;
/// Objections shown of a deferral.
const WAITS_SHOWN: usize = 5;

/// The text of a decision.
pub fn explain(decision: &Decision, context: &Context<'_>) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, decision, context);
    text
}

/// Every candidate that was not chosen, in the order of their names: the filter that objected, and
/// what it measured. Empty where there is none, or where the decision lists none.
pub fn explain_fates(decision: &Decision, context: &Context<'_>) -> String {
    let mut fates: Vec<&Fate> =
        decision.fates.iter().filter(|fate| !fate.filter.is_empty()).collect();
    fates.sort_by(|a, b| a.queue.cmp(&b.queue));
    let line = |fate: &&Fate| {
        format!("  {}: {}: {}\n", fate.queue, fate.filter, context.sentence_in(decision, fate))
    };
    let lines: String = fates.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("not chosen:\n{lines}") }
}

type Written = std::fmt::Result;

fn write(text: &mut String, decision: &Decision, context: &Context<'_>) -> Written {
    if context.is_of_pool(decision) {
        return cms::offer::write(text, decision, context);
    }
    if context.is_of_targets(decision) {
        return nordugrid::job::write(text, decision, context);
    }
    header(text, decision)?;
    let heading = "rejected by filter (each candidate by the first that objected)";
    counts_of(text, heading, &decision.counts, context)?;
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            assignment(text, &decision.factor_names, ranked)?;
        }
        Outcome::Defer { .. } => waits(text, decision, context)?,
        Outcome::Reject { reason } => {
            if let Some(remedy) = remedy(reason) {
                writeln!(text, "what to do: {remedy}")?;
            }
        }
    }
    notes(text, decision)
}

/// Notes on the facts that a reader should know.
pub(crate) fn notes(text: &mut String, decision: &Decision) -> Written {
    decision.notes.iter().try_for_each(|note| writeln!(text, "note: {}", note_text(note)))
}

/// When a decision was made, by which policy, and in which cycle.
pub(crate) fn when_made(text: &mut String, decision: &Decision) -> Written {
    writeln!(text, "  when      {}", iso(decision.now))?;
    writeln!(text, "  policy    {} {}", decision.policy, decision.policy_hash)?;
    writeln!(
        text,
        "  cycle     {} of epoch {}, number {} in it, domain {}",
        decision.cycle, decision.epoch, decision.number, decision.domain
    )
}

fn header(text: &mut String, decision: &Decision) -> Written {
    let Decision { subject, attempt, ordinal, .. } = decision;
    writeln!(text, "decision {}{}", decision.id, dry_run(decision.dry_run))?;
    writeln!(text, "  request   {subject}, attempt {attempt}, answer {ordinal}")?;
    writeln!(text, "  task      {}, share {}", decision.task, or_none(&decision.gshare))?;
    writeln!(text, "  nucleus   {}", or_none(&decision.nucleus))?;
    when_made(text, decision)?;
    let rejected: u64 = decision.counts.iter().map(|count| u64::from(count.rejected)).sum();
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            let jobs: u64 = ranked.iter().map(|ranked| u64::from(ranked.jobs)).sum();
            let queues = ranked.iter().filter(|ranked| ranked.jobs > 0).count();
            let listed = ranked.len();
            let jobs = jobs_text(jobs);
            writeln!(text, "assigned: {jobs} to {queues} of {listed} queues; {rejected} rejected")
        }
        Outcome::Defer { until } if whole_wait(decision).is_some() => {
            let until = iso(*until);
            writeln!(text, "deferred as a whole, no queue was looked at; asked again by {until}")
        }
        Outcome::Defer { until } => {
            let wait = span(until.saturating_sub(decision.now) / SECOND);
            let until = iso(*until);
            writeln!(
                text,
                "deferred: all {rejected} candidates rejected; asked again by {until}, {wait} on"
            )
        }
        Outcome::Reject { reason } => {
            writeln!(text, "rejected for good: {}", with_moments(reason))
        }
    }
}

fn assignment(text: &mut String, names: &[String], all: &[Ranked]) -> Written {
    writeln!(text, "queues, best first:")?;
    for (at, ranked) in all.iter().take(RANKED_SHOWN).enumerate() {
        let Ranked { queue, weight, jobs, platform, .. } = ranked;
        let got = jobs_text(u64::from(*jobs));
        writeln!(text, "  {:>2}. {queue}: weight {}, {got}", at + 1, number(*weight))?;
        if let Some(why) = why_no_jobs(all, ranked) {
            writeln!(text, "        no jobs: {why}")?;
        }
        if !platform.is_empty() {
            writeln!(text, "        platform {platform}")?;
        }
        let unnamed = String::from("?");
        let names = names.iter().chain(std::iter::repeat(&unnamed));
        let figures = names.zip(&ranked.factors);
        let figures: Vec<String> =
            figures.map(|(name, value)| format!("{name} {}", number(*value))).collect();
        for line in figures.chunks(6) {
            writeln!(text, "        {}", line.join(", "))?;
        }
    }
    match all.len().saturating_sub(RANKED_SHOWN) {
        0 => Ok(()),
        more => writeln!(text, "  and {more} more"),
    }
}

/// A number of jobs.
pub fn jobs_text(jobs: u64) -> String {
    if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") }
}

/// The objections nearest to falling: those of filters that read what moves, by how far what was
/// measured is from what would pass.
fn waits(text: &mut String, decision: &Decision, context: &Context<'_>) -> Written {
    if let Some(WholeWait { sentence, wakes }) = whole_wait(decision) {
        writeln!(text, "waits: {sentence}")?;
        return match wakes[..] {
            [] => Ok(()),
            _ => writeln!(text, "waits for a change of: {}", wakes.join(", ")),
        };
    }
    let moves = |fate: &&Fate| {
        let filter = context.filter(&fate.filter);
        !fate.filter.is_empty() && filter.is_none_or(|filter| !filter.reads.is_empty())
    };
    let mut near: Vec<&Fate> = decision.fates.iter().filter(moves).collect();
    near.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then_with(|| a.queue.cmp(&b.queue)));
    let fixed = decision.fates.iter().filter(|fate| !fate.filter.is_empty()).count() - near.len();
    match near.is_empty() {
        true => writeln!(text, "waits for: a change of configuration, or its deadline")?,
        false => writeln!(text, "waits for one of these to fall (nearest first):")?,
    }
    for fate in near.iter().take(WAITS_SHOWN) {
        let Fate { queue, filter, .. } = fate;
        writeln!(text, "  {queue}: {filter}: {}", context.sentence_in(decision, fate))?;
    }
    let more = near.len().saturating_sub(WAITS_SHOWN);
    if more > 0 {
        writeln!(text, "  and {more} more")?;
    }
    if fixed > 0 && !near.is_empty() {
        writeln!(text, "  {fixed} candidates would need another configuration or another task")?;
    }
    if !decision.full {
        writeln!(text, "  (only what changed since the answer before is listed)")?;
    }
    if decision.fates_cut > 0 {
        writeln!(text, "  ({} fates were left out for the size limit)", decision.fates_cut)?;
    }
    Ok(())
}

/// How far a measured figure is from its limit, as a part of the larger of both.
fn distance(fate: &Fate) -> f64 {
    let scale = fate.measured.abs().max(fate.limit.abs());
    if scale > 0.0 { (fate.measured / scale - fate.limit / scale).abs() } else { 0.0 }
}

#[cfg(test)]
pub(super) mod tests;
