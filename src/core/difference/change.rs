//! How one answer differs from another to the same request.

use crate::output::decision::{Decision, Outcome};
use std::collections::BTreeMap;

/// How an answer differs from the recorded one; the gravest difference last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The same outcome, and the same queues with the same jobs.
    Same,
    /// The same first queue, and other queues after it or other numbers of jobs.
    Spread,
    /// Another first queue, nucleus or target; of an offer of slots, another job.
    First,
    /// Another outcome: assigned, deferred, rejected for another reason, or not answered.
    Outcome,
}

impl Change {
    /// All of them, the gravest first.
    pub const ALL: [Change; 4] = [Change::Outcome, Change::First, Change::Spread, Change::Same];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "same",
            Change::Spread => "spread",
            Change::First => "first_queue",
            Change::Outcome => "outcome",
        }
    }
}

/// How an answer differs from the one in the log. Weights, factors, notes, and when a deferral ends
/// are not compared.
pub fn change(recorded: &Decision, other: Option<&Decision>) -> Change {
    let Some(other) = other else { return Change::Outcome };
    match (&recorded.outcome, &other.outcome) {
        (Outcome::Defer { .. }, Outcome::Defer { .. }) => Change::Same,
        (Outcome::Reject { reason }, Outcome::Reject { reason: others }) => {
            if code(reason) == code(others) { Change::Same } else { Change::Outcome }
        }
        (Outcome::Assign(_), Outcome::Assign(_)) => {
            if first(recorded) != first(other) {
                Change::First
            } else if spread(recorded) != spread(other) {
                Change::Spread
            } else {
                Change::Same
            }
        }
        _ => Change::Outcome,
    }
}

/// A reason without its figures.
fn code(reason: &str) -> &str {
    reason.split('(').next().unwrap_or(reason)
}

/// The first queue, the nucleus, and the job that gets offered slots.
fn first(decision: &Decision) -> [&str; 3] {
    let Outcome::Assign(ranked) = &decision.outcome else { return [""; 3] };
    let queue = ranked.first().map_or("", |it| it.queue.as_str());
    let job = decision.matched.as_ref().map_or("", |it| it.job.as_str());
    [queue, &decision.nucleus, job]
}

/// Jobs by queue.
fn spread(decision: &Decision) -> BTreeMap<&str, u64> {
    let mut spread = BTreeMap::new();
    if let Outcome::Assign(ranked) = &decision.outcome {
        for it in ranked {
            *spread.entry(it.queue.as_str()).or_default() += u64::from(it.jobs);
        }
    }
    spread
}
