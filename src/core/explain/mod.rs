//! A decision as text an operator can read: what was answered, why there, why not elsewhere, and
//! what it waits for; which job got an offered place; and what a throttle is for, and until when.

mod command;
mod comparison;
mod held;
mod job;
mod join;
mod offer;
mod pool_job;
mod pool_wait;
mod rank;
mod standing;
mod target;
mod throttle;
mod why;

pub use command::{asked_of_pool, explain_command};
pub use comparison::{explain_comparison, side_name};
pub use job::{JobStanding, explain_job};
pub use join::join;
pub use offer::{match_sentence, nothing_fits};
pub use pool_wait::{SITES_SHOWN, blocked_sentence, objection_sentence, site_sentence};
pub use standing::{NameStanding, RequestStanding};
pub use throttle::{explain_throttle, throttle_of};
pub use why::{FilterStep, Rejected, WaitConditions, Why, headline, why};

use crate::limits::Limits;
use crate::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use crate::policy::note::Note;
use crate::policy::phrase::{limit, phrase};
use crate::policy::{Filter, Flavour, Policy};
use crate::state::admit::remedy;
use crate::unit::{Millis, SECOND};
use std::fmt::Write;

/// Queues shown of an assignment.
const RANKED_SHOWN: usize = 10;
/// Objections shown of a deferral.
const WAITS_SHOWN: usize = 5;

/// Sources of the texts and figures that the explanation of a decision quotes.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Filters are explained by the texts of the first of these that has them; one that none has
    /// (another version gave the decision) is shown by its name alone.
    pub kinds: &'a [&'a Flavour],
    /// The limits in force when it was made; `None`: not known, so no text shows one.
    pub limits: Option<&'a Limits>,
    /// The policy it was made by; `None`: not known, so no text shows its parameters.
    pub policy: Option<&'a Policy>,
}

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
    let line =
        |fate: &&Fate| format!("  {}: {}: {}\n", fate.queue, fate.filter, context.sentence(fate));
    let lines: String = fates.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("not chosen:\n{lines}") }
}

/// A moment as `2025-10-15T12:00:00.000Z`; as a number of ms if it is beyond the year 9999.
pub fn iso(at: Millis) -> String {
    match jiff::Timestamp::from_millisecond(at) {
        Ok(moment) => format!("{moment:.3}"),
        Err(_) => format!("{at} ms since 1970"),
    }
}

impl Context<'_> {
    /// The same where nothing is known of what was in force.
    pub fn of_kinds<'a>(kinds: &'a [&'a Flavour]) -> Context<'a> {
        Context { kinds, limits: None, policy: None }
    }

    /// Whether a decision is about a pool of slots: it answers an offer, or its policy, whose kind
    /// is the first, does so.
    fn is_of_pool(&self, decision: &Decision) -> bool {
        decision.answers_offer() || self.kinds.first().is_some_and(|kind| kind.judges_offers())
    }

    fn filter(&self, name: &str) -> Option<&'static Filter> {
        self.kinds.iter().find_map(|kind| kind.filter(name))
    }

    /// A fate as a sentence.
    fn sentence(&self, fate: &Fate) -> String {
        let known = self
            .filter(&fate.filter)
            .and_then(|filter| filter.reasons.iter().find(|reason| reason.name == fate.reason));
        let (measured, limit) = (number(fate.measured), number(fate.limit));
        let figure = |name: &str| match name {
            "measured" => Some(measured.clone()),
            "limit" => Some(limit.clone()),
            _ => self.figure(&fate.filter, name),
        };
        match known {
            Some(reason) => phrase(reason.sentence, &figure),
            None => format!("{}: measured {measured}, limit {limit}", fate.reason),
        }
    }

    /// A filter's objection on one line, with the figures in force where they are known.
    fn help(&self, filter: &Filter) -> String {
        phrase(filter.help, &|name| self.figure(filter.name, name))
    }

    /// A parameter of a filter or a limit, as it was in force.
    fn figure(&self, filter: &str, name: &str) -> Option<String> {
        let parameter = self.policy.and_then(|policy| policy.stated_value(filter, name));
        parameter.or_else(|| limit(self.limits?, name))
    }
}

type Written = std::fmt::Result;

fn write(text: &mut String, decision: &Decision, context: &Context<'_>) -> Written {
    if context.is_of_pool(decision) {
        return offer::write(text, decision, context);
    }
    header(text, decision)?;
    let heading = "rejected by filter (each candidate by the first that objected)";
    counts_of(text, heading, &decision.counts, context)?;
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            assignment(text, &decision.factor_names, ranked)?;
            if let (Some(placed), Some(chosen)) = (&decision.placed, ranked.first()) {
                target::write(text, decision, chosen, placed, context)?;
            }
        }
        Outcome::Defer { .. } => waits(text, decision, context)?,
        Outcome::Reject { reason } => {
            if let Some(remedy) = remedy(reason) {
                writeln!(text, "what to do: {remedy}")?;
            }
        }
    }
    held::write(text, decision, context)?;
    for note in &decision.notes {
        writeln!(text, "note: {note}")?;
    }
    Ok(())
}

fn header(text: &mut String, decision: &Decision) -> Written {
    let Decision { subject, attempt, ordinal, .. } = decision;
    writeln!(text, "decision {}", decision.id)?;
    writeln!(text, "  request   {subject}, attempt {attempt}, answer {ordinal}")?;
    writeln!(text, "  task      {}, share {}", decision.task, or_none(&decision.gshare))?;
    writeln!(text, "  nucleus   {}", or_none(&decision.nucleus))?;
    writeln!(text, "  when      {} ({})", iso(decision.now), decision.now)?;
    writeln!(text, "  policy    {} {}", decision.policy, decision.policy_hash)?;
    writeln!(
        text,
        "  cycle     {} of epoch {}, number {} in it, domain {}",
        decision.cycle, decision.epoch, decision.number, decision.domain
    )?;
    let rejected: u64 = decision.counts.iter().map(|count| u64::from(count.rejected)).sum();
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            let jobs: u64 = ranked.iter().map(|ranked| u64::from(ranked.jobs)).sum();
            let queues = ranked.iter().filter(|ranked| ranked.jobs > 0).count();
            let listed = ranked.len();
            writeln!(
                text,
                "assigned: {jobs} jobs to {queues} of {listed} queues; {rejected} rejected"
            )
        }
        Outcome::Defer { until } if waits_as_whole(decision) => {
            let until = iso(*until);
            writeln!(text, "deferred as a whole, no queue was looked at; asked again by {until}")
        }
        Outcome::Defer { until } => {
            let wait = until.saturating_sub(decision.now) / SECOND;
            let until = iso(*until);
            writeln!(
                text,
                "deferred: all {rejected} candidates rejected; asked again by {until}, {wait} s on"
            )
        }
        Outcome::Reject { reason } => writeln!(text, "rejected for good: {reason}"),
    }
}

/// How many candidates each filter rejected, most first.
fn counts_of(
    text: &mut String,
    heading: &str,
    counts: &[FilterCount],
    context: &Context<'_>,
) -> Written {
    if counts.is_empty() {
        return Ok(());
    }
    let mut counts: Vec<&FilterCount> = counts.iter().collect();
    counts.sort_by(|a, b| b.rejected.cmp(&a.rejected).then_with(|| a.filter.cmp(&b.filter)));
    writeln!(text, "{heading}:")?;
    for FilterCount { filter, rejected } in counts {
        match context.filter(filter) {
            Some(known) => {
                let (help, spec) = (context.help(known), known.spec);
                writeln!(text, "  {rejected:>6}  {filter}: {help} ({spec})")?;
            }
            None => writeln!(text, "  {rejected:>6}  {filter}")?,
        }
    }
    Ok(())
}

fn assignment(text: &mut String, names: &[String], ranked: &[Ranked]) -> Written {
    writeln!(text, "queues, best first:")?;
    for (at, ranked) in ranked.iter().take(RANKED_SHOWN).enumerate() {
        let Ranked { queue, weight, jobs, platform, .. } = ranked;
        writeln!(text, "  {:>2}. {queue}: weight {}, {jobs} jobs", at + 1, number(*weight))?;
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
    match ranked.len().saturating_sub(RANKED_SHOWN) {
        0 => Ok(()),
        more => writeln!(text, "  and {more} more"),
    }
}

/// Whether no candidate was looked at.
fn waits_as_whole(decision: &Decision) -> bool {
    let waits_as_whole =
        |note: &String| matches!(Note::read(note), Some(Note::Wait(_) | Note::WaitOtherwise(_)));
    decision.counts.is_empty() && decision.notes.iter().any(waits_as_whole)
}

/// The objections nearest to falling: those of filters that read what moves, by how far what was
/// measured is from what would pass.
fn waits(text: &mut String, decision: &Decision, context: &Context<'_>) -> Written {
    if waits_as_whole(decision) {
        return writeln!(text, "waits for: what the note on `held` names to change");
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
        writeln!(text, "  {queue}: {filter}: {}", context.sentence(fate))?;
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

/// A number without digits nobody reads.
fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value}");
    }
    match value.abs() {
        size if !(1e-4..1e15).contains(&size) => format!("{value:e}"),
        _ => {
            let text = format!("{value:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

#[cfg(test)]
pub(super) mod tests;
