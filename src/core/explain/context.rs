//! What the explanation of a decision quotes: texts of filters, and figures where they are known.

use super::text::number;
use crate::limits::Limits;
use crate::output::decision::{Decision, Fate, FilterCount};
use crate::policy::phrase::{limit, phrase};
use crate::policy::{Filter, Flavour, Policy};
use std::fmt::{self, Write};

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

impl Context<'_> {
    /// The same where nothing is known of what was in force.
    pub fn of_kinds<'a>(kinds: &'a [&'a Flavour]) -> Context<'a> {
        Context { kinds, limits: None, policy: None }
    }

    /// Whether a decision is about a pool of slots: it answers an offer, or its policy, whose kind
    /// is the first, does so.
    pub(super) fn is_of_pool(&self, decision: &Decision) -> bool {
        decision.answers_offer() || self.kinds.first().is_some_and(|kind| kind.judges_offers())
    }

    /// Whether a decision is about a single job that wants a target: it gives one, or the kind of
    /// its policy, which is the first, does so.
    pub(super) fn is_of_targets(&self, decision: &Decision) -> bool {
        decision.placed.is_some() || self.kinds.first().is_some_and(|kind| kind.judges_targets())
    }

    pub(super) fn filter(&self, name: &str) -> Option<&'static Filter> {
        self.kinds.iter().find_map(|kind| kind.filter(name))
    }

    /// A fate as a sentence.
    pub(super) fn sentence(&self, fate: &Fate) -> String {
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
    pub(super) fn help(&self, filter: &Filter) -> String {
        phrase(filter.help, &|name| self.figure(filter.name, name))
    }

    /// A parameter of a filter or a limit, as it was in force.
    pub(super) fn figure(&self, filter: &str, name: &str) -> Option<String> {
        let parameter = self.policy.and_then(|policy| policy.stated_value(filter, name));
        parameter.or_else(|| limit(self.limits?, name))
    }
}

/// How many candidates each filter rejected, most first.
pub(crate) fn counts_of(
    text: &mut String,
    heading: &str,
    counts: &[FilterCount],
    context: &Context<'_>,
) -> fmt::Result {
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
