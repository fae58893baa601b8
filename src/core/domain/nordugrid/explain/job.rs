//! A decision on a single job as text: which target it got and why that one, or why none.

use super::{held, target};
use crate::explain::{
    Context, counts_of, dry_run, iso, notes, number, or_none, when_made, with_moments,
};
use crate::output::decision::{Decision, Outcome, Ranked};
use crate::policy::phrase::bytes;
use crate::state::admit::remedy;
use std::fmt::{self, Write};

/// Writes it.
pub(crate) fn write(text: &mut String, decision: &Decision, context: &Context<'_>) -> fmt::Result {
    header(text, decision)?;
    counts_of(text, "rejected by filter (each by the first)", &decision.counts, context)?;
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            targets(text, &decision.factor_names, ranked)?;
            if let (Some(placed), Some(chosen)) = (&decision.placed, ranked.first()) {
                target::write(text, decision, chosen, placed, context)?;
            }
        }
        Outcome::Defer { until } => writeln!(text, "asked again by {}", iso(*until))?,
        Outcome::Reject { reason } => {
            if let Some(remedy) = remedy(reason) {
                writeln!(text, "what to do: {remedy}")?;
            }
        }
    }
    held::write(text, decision, context)?;
    notes(text, decision)
}

fn header(text: &mut String, decision: &Decision) -> fmt::Result {
    let Decision { subject, attempt, ordinal, .. } = decision;
    writeln!(text, "decision {}{}", decision.id, dry_run(decision.dry_run))?;
    writeln!(text, "  job       {subject}, attempt {attempt}, answer {ordinal}")?;
    writeln!(text, "  user      {}", or_none(&decision.user))?;
    when_made(text, decision)?;
    let rejected: u64 = decision.counts.iter().map(|count| u64::from(count.rejected)).sum();
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            let chosen = ranked.first().map_or("none", |it| it.queue.as_str());
            let passed = ranked.len();
            writeln!(text, "placed at {chosen}: {passed} targets listed, {rejected} rejected")
        }
        Outcome::Defer { .. } => writeln!(text, "not answered yet"),
        Outcome::Reject { reason } => {
            writeln!(text, "rejected for good: {}", with_moments(reason))
        }
    }
}

/// The targets that passed, with their ranks.
fn targets(text: &mut String, names: &[String], ranked: &[Ranked]) -> fmt::Result {
    writeln!(text, "targets, best first:")?;
    for (at, Ranked { queue, weight, factors, .. }) in ranked.iter().enumerate() {
        let figure = |(name, value): (&String, &f64)| match name.ends_with("_bytes") {
            true => format!("{name} {}", bytes(*value)),
            false => format!("{name} {}", number(*value)),
        };
        let figures: Vec<String> = names.iter().zip(factors).map(figure).collect();
        writeln!(text, "  {:>2}. {queue}: {} CPUs in a draw", at + 1, number(*weight))?;
        writeln!(text, "        {}", figures.join(", "))?;
    }
    Ok(())
}
