//! What the explanation of a decision quotes: texts of filters, and figures where they are known.

use super::text::number;
use crate::domain::nordugrid::explain::wanted::wanted;
use crate::limits::Limits;
use crate::output::decision::{Decision, Fate, FilterCount};
use crate::policy::phrase::{limit, objection_figure, phrase};
use crate::policy::verdict::BEYOND_THE_BEST;
use crate::policy::{Filter, Flavour, Policy, Reason};
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

    /// The declared reason of a fate, if it is known.
    pub(super) fn reason(&self, fate: &Fate) -> Option<&'static Reason> {
        let reasons = self.filter(&fate.filter)?.reasons.iter();
        reasons.copied().find(|reason| reason.name == fate.reason)
    }

    /// A fate of a decision as a sentence, with what the decision notes of it.
    pub(super) fn sentence_in(&self, decision: &Decision, fate: &Fate) -> String {
        let sentence = self.sentence(fate);
        let has_figures = self.reason(fate).is_some_and(|reason| reason.limit(0.0).is_some());
        match wanted(decision, fate).filter(|_| !has_figures) {
            Some(wanted) => format!("{sentence}: {wanted}"),
            None => sentence,
        }
    }

    /// A fate as a sentence.
    pub(super) fn sentence(&self, fate: &Fate) -> String {
        let (measured, limit) = (fate.measured, fate.limit);
        let figure = |name: &str| {
            objection_figure(name, measured, limit).or_else(|| self.figure(&fate.filter, name))
        };
        let (measured, limit) = (number(measured), number(limit));
        match (self.reason(fate), &*fate.reason) {
            (Some(reason), _) => phrase(reason.sentence, &figure),
            (None, "not_drawn") => {
                format!("it passed, and another was drawn: its weight is {measured}, of {limit}")
            }
            (None, "beyond_the_best") => phrase(BEYOND_THE_BEST.sentence, &figure),
            (None, reason) => format!("{reason}: measured {measured}, limit {limit}"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::decision::Fate;
    use crate::policy::kinds;

    /// Walks over every reason of every filter of every domain: its sentence has its figures in
    /// place, in units that a person reads, and what it does not quote is no figure for anybody.
    #[test]
    fn every_reason_is_a_sentence_and_its_codes_are_no_figures() {
        let mut seen = 0;
        for kind in kinds() {
            let own = [*kind];
            let context = Context::of_kinds(&own);
            for filter in kind.filters() {
                for reason in filter.reasons {
                    let fate = Fate {
                        queue: "Q".into(),
                        filter: filter.name.into(),
                        reason: reason.name.into(),
                        measured: 86_400_000.0,
                        limit: 0.0,
                    };
                    let text = context.sentence(&fate);
                    let name = filter.name;
                    for odd in ["{", "}", "thousandths", "closeness", "measured", "(0: none)"] {
                        assert!(!text.contains(odd), "{name}: {odd} is in: {text}");
                    }
                    let in_seconds = ["86400000 s ", "86400000 s,", "86400000 s;"];
                    let is_raw = in_seconds.iter().any(|it| text.contains(it));
                    assert!(!is_raw && !text.ends_with("86400000 s"), "{name}: {text}");
                    let is_quoted = text.contains("86400000") || text.contains("1000 d");
                    let is_quoted = is_quoted || text.contains("86400 cores");
                    let is_quoted =
                        is_quoted || text.contains("86400 of") || text.contains("86.4 MB");
                    let has_figure = reason.measured(86_400_000.0).is_some();
                    assert!(has_figure || !is_quoted, "{name}: {text}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 100, "{seen} reasons");
    }
}
