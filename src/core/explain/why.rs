//! A decision's reasons as data: what its text shows, for programs and pictures.

use super::whole::{WholeWait, whole_wait};
use super::{Context, distance, iso, jobs_text, number, with_moments};
use crate::domain::cms::explain::{match_sentence, nothing_fits};
use crate::output::decision::{Decision, Fate, Outcome, Ranked};
use crate::policy::{Filter, Reads, Reason};
use crate::state::admit::remedy;
use crate::unit::Millis;

/// Most of the nearest objections of a deferral that are named.
const NEAREST_MAX: usize = 5;
/// Most queues that a sentence names.
const NAMED_MAX: usize = 3;

/// A decision's reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// One sentence: what was answered, and why.
    pub headline: String,
    /// Candidates that were looked at: those that a filter rejected, and those listed. Candidates
    /// that passed and found no place in the answer's list are not known.
    pub candidates: u64,
    /// The filters that rejected, in the order in which they are asked.
    pub steps: Vec<FilterStep>,
    /// Every rejected candidate with the filter and its figures, in the order of their names.
    pub rejected: Vec<Rejected>,
    /// Wake-up conditions and deadline of a deferral; `None` for other outcomes.
    pub waits: Option<WaitConditions>,
    /// Remedy of a final rejection; empty for other outcomes.
    pub remedy: &'static str,
}

/// A filter's part in a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterStep {
    /// Filter.
    pub filter: String,
    /// The condition that it objects to, with the figures in force where they are known.
    pub help: String,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// Candidates that it was the first to reject.
    pub rejected: u64,
    /// Candidates that were left behind it.
    pub left: u64,
}

/// A candidate that was rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Queue or nucleus.
    pub queue: String,
    /// Filter that objected first.
    pub filter: String,
    /// Its reason as a sentence.
    pub reason: String,
    /// Measured value, in the unit; `None`: the filter measures nothing, its reason states all.
    pub measured: Option<f64>,
    /// Value that would have passed, in the unit; `None` likewise.
    pub limit: Option<f64>,
    /// Unit of both; empty: they have none.
    pub unit: &'static str,
}

/// Deadline and wake-up conditions of a deferral.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitConditions {
    /// It is judged again then at the latest.
    pub judged_again_at: Millis,
    /// Changes that would let the request be assigned: the nearest objections, or the reason why it
    /// waits as a whole.
    pub would_change: Vec<String>,
    /// Kinds of facts that wake it before, by the names of their subjects.
    pub wakes: Vec<&'static str>,
}

/// The reasons of a decision.
pub fn why(decision: &Decision, context: &Context<'_>) -> Why {
    let rejected: u64 = decision.counts.iter().map(|count| u64::from(count.rejected)).sum();
    let listed = match &decision.outcome {
        Outcome::Assign(ranked) => ranked.len() as u64,
        Outcome::Defer { .. } | Outcome::Reject { .. } => 0,
    };
    let candidates = rejected + listed;
    Why {
        headline: headline(decision),
        candidates,
        steps: steps(decision, context, candidates),
        rejected: objections(decision, context),
        waits: match decision.outcome {
            Outcome::Defer { until } => Some(waits(decision, context, until)),
            Outcome::Assign(_) | Outcome::Reject { .. } => None,
        },
        remedy: match &decision.outcome {
            Outcome::Reject { reason } => remedy(reason).unwrap_or(""),
            Outcome::Assign(_) | Outcome::Defer { .. } => "",
        },
    }
}

/// One sentence on what was answered, and why.
pub fn headline(decision: &Decision) -> String {
    if let Some(matched) = &decision.matched {
        return format!("Matched: {}", match_sentence(decision, matched));
    }
    if let (Some(placed), Outcome::Assign(ranked)) = (&decision.placed, &decision.outcome) {
        let target = ranked.first().map_or("none", |it| it.queue.as_str());
        return format!("Placed at {target} by {}", placed.rule);
    }
    let rejected: u64 = decision.counts.iter().map(|count| u64::from(count.rejected)).sum();
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            let jobs: u64 = ranked.iter().map(|ranked| u64::from(ranked.jobs)).sum();
            let chosen = || ranked.iter().filter(|ranked| ranked.jobs > 0);
            let names: Vec<&str> = chosen().take(NAMED_MAX).map(|it| it.queue.as_str()).collect();
            let more = chosen().count().saturating_sub(names.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            match (names.is_empty(), decision.nucleus.as_str()) {
                (true, "") => format!("Assigned; {rejected} candidates rejected"),
                (true, nucleus) => format!("Assigned to nucleus {nucleus}"),
                (false, _) => {
                    format!("Assigned: {} to {}{more}", jobs_text(jobs), names.join(", "))
                }
            }
        }
        Outcome::Defer { .. } if decision.answers_offer() => {
            format!("Nothing fits: {}", nothing_fits(decision))
        }
        Outcome::Defer { .. } => match (whole_wait(decision), most_rejecting(decision)) {
            (Some(wait), _) => format!("Pending as a whole: {}", wait.sentence),
            (None, Some((filter, count))) => format!(
                "Pending: all {rejected} candidates were rejected, {count} of them by {filter}"
            ),
            (None, None) => "Pending: there was no candidate".to_owned(),
        },
        Outcome::Reject { reason } => format!("Rejected for good: {}", with_moments(reason)),
    }
}

/// Why one of the queues of an assignment gets no jobs; `None`: it gets some, or none does, as
/// where a task gets a nucleus.
pub fn why_no_jobs(all: &[Ranked], one: &Ranked) -> Option<String> {
    let got = |it: &&Ranked| it.jobs > 0;
    if one.jobs > 0 || !all.iter().any(|it| got(&it)) {
        return None;
    }
    let total: f64 = all.iter().map(|it| it.weight).sum();
    let part = match total > 0.0 {
        true => format!(
            "; its part of all weights is {} %",
            number((one.weight / total * 1e3).round() / 10.0)
        ),
        false => String::new(),
    };
    Some(format!(
        "each bunch of jobs goes to a queue that is drawn by weight, of those below their cap and \
         with room, and none was drawn for this one{part}"
    ))
}

/// The filter that rejected most candidates, of equals the first by name.
fn most_rejecting(decision: &Decision) -> Option<(&str, u32)> {
    let most = decision
        .counts
        .iter()
        .max_by(|a, b| a.rejected.cmp(&b.rejected).then_with(|| b.filter.cmp(&a.filter)))?;
    Some((&most.filter, most.rejected))
}

fn steps(decision: &Decision, context: &Context<'_>, candidates: u64) -> Vec<FilterStep> {
    let mut counts: Vec<_> = decision.counts.iter().filter(|count| count.rejected > 0).collect();
    counts.sort_by_key(|count| (context.position(&count.filter), count.filter.clone()));
    let mut left = candidates;
    counts
        .into_iter()
        .map(|count| {
            let rejected = u64::from(count.rejected);
            left = left.saturating_sub(rejected);
            let known = context.filter(&count.filter);
            FilterStep {
                filter: count.filter.clone(),
                help: known.map(|filter| context.help(filter)).unwrap_or_default(),
                spec: known.map_or("", |filter| filter.spec),
                rejected,
                left,
            }
        })
        .collect()
}

fn objections(decision: &Decision, context: &Context<'_>) -> Vec<Rejected> {
    let fates = decision.fates.iter().filter(|fate| !fate.filter.is_empty());
    let mut rejected: Vec<Rejected> = fates
        .map(|fate| {
            let reason = context.reason(fate);
            Rejected {
                queue: fate.queue.to_string(),
                filter: fate.filter.to_string(),
                reason: context.sentence_in(decision, fate),
                measured: reason.and_then(|reason| reason.measured(fate.measured)),
                limit: reason.and_then(|reason| reason.limit(fate.limit)),
                unit: reason.map_or("", Reason::unit),
            }
        })
        .collect();
    rejected.sort_by(|a, b| a.queue.cmp(&b.queue));
    rejected
}

fn waits(decision: &Decision, context: &Context<'_>, until: Millis) -> WaitConditions {
    if let Some(WholeWait { sentence, wakes }) = whole_wait(decision) {
        return WaitConditions { judged_again_at: until, would_change: vec![sentence], wakes };
    }
    if decision.answers_offer() {
        let would_change = vec!["a job that fits".to_owned()];
        let wakes = vec!["configuration", "jobs", "nodes", "workflows"];
        return WaitConditions { judged_again_at: until, would_change, wakes };
    }
    let fates = || decision.fates.iter().filter(|fate| !fate.filter.is_empty());
    let reads = |fate: &Fate| context.filter(&fate.filter).map_or(&[][..], |filter| filter.reads);
    let mut wakes: Vec<&'static str> =
        fates().flat_map(|fate| reads(fate).iter().map(|reads| read_name(*reads))).collect();
    wakes.push("configuration");
    wakes.sort_unstable();
    wakes.dedup();
    let moves = |filter: Option<&Filter>| filter.is_none_or(|filter| !filter.reads.is_empty());
    let mut near: Vec<&Fate> = fates().filter(|fate| moves(context.filter(&fate.filter))).collect();
    near.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then_with(|| a.queue.cmp(&b.queue)));
    let sentence = |fate: &&Fate| {
        format!("{}: {}: {}", fate.queue, fate.filter, context.sentence_in(decision, fate))
    };
    let mut would_change: Vec<String> = near.iter().take(NEAREST_MAX).map(sentence).collect();
    let fixed = fates().count() - near.len();
    if fixed > 0 {
        let other = if context.is_of_targets(decision) { "job" } else { "task" };
        would_change.push(format!("{fixed} candidates: another configuration, or another {other}"));
    }
    if would_change.is_empty() {
        would_change.push(format!("the configuration, or its deadline {}", iso(until)));
    }
    WaitConditions { judged_again_at: until, would_change, wakes }
}

/// Name for readers of the facts that a filter reads.
fn read_name(reads: Reads) -> &'static str {
    match reads {
        Reads::Load => "jobs at the queue",
        Reads::Pilot => "pilots and slots of the queue",
        Reads::Link => "the link to the nucleus",
        Reads::Nucleus => "transfers to the nucleus",
        Reads::Storage => "storage",
        Reads::Work => "remaining work at the nucleus",
    }
}

impl Context<'_> {
    /// Where a filter stands among those that are asked.
    pub(super) fn position(&self, name: &str) -> usize {
        let of_policy = self.policy.and_then(|policy| policy.position(name));
        let of_kind = || {
            self.kinds.iter().find_map(|kind| kind.filters().iter().position(|it| it.name == name))
        };
        of_policy.or_else(of_kind).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::tests::decision;
    use crate::output::decision::FilterCount;
    use crate::policy::kinds;

    fn fate(queue: &str, filter: &'static str, measured: f64) -> Fate {
        let (queue, filter, reason) = (queue.into(), filter.into(), "cap".into());
        Fate { queue, filter, reason, measured, limit: 10.0 }
    }

    #[test]
    fn a_deferral_names_its_steps_in_the_order_they_are_asked_and_what_is_near() {
        let fates = vec![fate("B", "cap", 12.0), fate("A", "cap", 11.0), fate("C", "status", 0.0)];
        let count = |filter: &str, rejected| FilterCount { filter: filter.into(), rejected };
        let deferral = Decision {
            counts: vec![count("cap", 2), count("status", 1)],
            ..decision(Outcome::Defer { until: 7_000 }, fates, Vec::new())
        };
        let it = why(&deferral, &Context::of_kinds(kinds()));
        assert_eq!(it.headline, "Pending: all 3 candidates were rejected, 2 of them by cap");
        assert_eq!(it.candidates, 3);
        let steps: Vec<(&str, u64, u64)> =
            it.steps.iter().map(|step| (step.filter.as_str(), step.rejected, step.left)).collect();
        assert_eq!(steps, [("status", 1, 2), ("cap", 2, 0)]);
        assert!(it.steps.iter().all(|step| !step.help.is_empty() && !step.spec.is_empty()));
        let queues: Vec<&str> = it.rejected.iter().map(|it| it.queue.as_str()).collect();
        assert_eq!(queues, ["A", "B", "C"]);
        let waits = it.waits.unwrap();
        assert_eq!(waits.judged_again_at, 7_000);
        assert!(waits.would_change[0].starts_with("A: cap: "), "{:?}", waits.would_change);
        assert!(waits.would_change.iter().any(|it| it.starts_with("1 candidates: another")));
        assert!(waits.wakes.contains(&"jobs at the queue"), "{:?}", waits.wakes);
    }

    #[test]
    fn a_rejection_tells_what_can_be_done() {
        let reason = "expired(whatever)".to_owned();
        let it = why(
            &decision(Outcome::Reject { reason }, Vec::new(), Vec::new()),
            &Context::of_kinds(kinds()),
        );
        assert_eq!(it.headline, "Rejected for good: expired(whatever)");
        assert!(!it.remedy.is_empty() && it.waits.is_none());
        for reason in [
            "site_pattern_fails",
            "unknown_queue_fails",
            "nickname_fails",
            "maxtime_fails",
            "processing_list_fails",
            "unknown_site",
            "files_not_listed",
            "no_queue_fits",
        ] {
            assert!(remedy(reason).is_some(), "{reason}");
        }
    }
}
