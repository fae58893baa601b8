//! In what two answers to one request agree.

use super::record::{AnswerOutcome, Comparison, RejectedQueue, Side, SideAnswer};
use std::collections::{BTreeMap, BTreeSet};

/// In what the two answers of a comparison agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// The same outcome; of two assignments the same queues, and the same one first.
    Same,
    /// Two assignments to other sets of queues, with the same queue first.
    OtherQueues,
    /// Two assignments, each with another queue first, and none that has the weight of the first
    /// on both sides: which of equals comes first is drawn.
    OtherFirst,
    /// Other outcomes: one assigns and one does not, or one waits and one rejects.
    Outcome,
    /// One side, or both, gave no answer in time.
    Absent,
    /// One side, or both, failed.
    Failed,
}

impl Agreement {
    /// Every one, from the closest.
    pub const ALL: [Agreement; 6] = [
        Agreement::Same,
        Agreement::OtherQueues,
        Agreement::OtherFirst,
        Agreement::Outcome,
        Agreement::Absent,
        Agreement::Failed,
    ];

    /// Its name in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Agreement::Same => "same",
            Agreement::OtherQueues => "other_queues",
            Agreement::OtherFirst => "other_first",
            Agreement::Outcome => "outcome",
            Agreement::Absent => "absent",
            Agreement::Failed => "failed",
        }
    }

    /// That of a comparison.
    pub fn of(comparison: &Comparison) -> Agreement {
        let (one, other) = (&comparison.yardmaster, &comparison.other);
        let is_either = |outcome| one.outcome == outcome || other.outcome == outcome;
        if is_either(AnswerOutcome::Failed) {
            Agreement::Failed
        } else if is_either(AnswerOutcome::Absent) {
            Agreement::Absent
        } else if one.outcome != other.outcome {
            Agreement::Outcome
        } else if !is_first_same(one, other) {
            Agreement::OtherFirst
        } else if names(one) != names(other) {
            Agreement::OtherQueues
        } else {
            Agreement::Same
        }
    }

    /// Whether both sides gave an answer.
    pub const fn is_answered(self) -> bool {
        !matches!(self, Agreement::Absent | Agreement::Failed)
    }
}

/// How much two answers must have in common to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// The same outcome.
    Outcome,
    /// And, of two assignments, the same queue first.
    First,
    /// And the same set of queues.
    Queues,
}

impl Measure {
    /// Whether answers of an agreement agree by this measure.
    pub const fn is_met(self, agreement: Agreement) -> bool {
        match agreement {
            Agreement::Same => true,
            Agreement::OtherQueues => matches!(self, Measure::Outcome | Measure::First),
            Agreement::OtherFirst => matches!(self, Measure::Outcome),
            Agreement::Outcome | Agreement::Absent | Agreement::Failed => false,
        }
    }
}

/// Whether the same queue comes first, or could have.
fn is_first_same(one: &SideAnswer, other: &SideAnswer) -> bool {
    one.first() == other.first() || leading(one).any(|queue| leading(other).any(|it| it == queue))
}

/// The first queue, and those behind it of the same weight; a weight of 0 says nothing.
fn leading(answer: &SideAnswer) -> impl Iterator<Item = &str> {
    let best = answer.queues.first().map_or(0.0, |it| it.weight);
    let queues = answer.queues.iter().enumerate();
    let equal = queues.take_while(move |(at, it)| *at == 0 || best > 0.0 && it.weight == best);
    equal.map(|(_, it)| it.queue.as_str())
}

fn names(answer: &SideAnswer) -> BTreeSet<&str> {
    answer.queues.iter().map(|it| it.queue.as_str()).collect()
}

/// The part of a request that goes to each queue; the parts add to 1. By jobs where the side
/// divides them, else by weights, and equal parts where all weights are 0.
fn parts(answer: &SideAnswer) -> BTreeMap<&str, f64> {
    let queues = &answer.queues;
    let is_divided = queues.iter().any(|it| it.jobs > 0);
    let has_weight = queues.iter().any(|it| it.weight > 0.0);
    let share = |it: &super::ChosenQueue| match (is_divided, has_weight) {
        (true, _) => it.jobs as f64,
        (false, true) => it.weight.max(0.0),
        (false, false) => 1.0,
    };
    let sum: f64 = queues.iter().map(share).sum();
    let mut parts = BTreeMap::new();
    for it in queues {
        *parts.entry(it.queue.as_str()).or_insert(0.0) += share(it) / sum;
    }
    parts
}

/// How much of a request both sides send to the same queues, from 0 to 1: the sum over queues of
/// the smaller of the two parts. `None` unless both assign.
pub fn overlap(comparison: &Comparison) -> Option<f64> {
    let (one, other) = (&comparison.yardmaster, &comparison.other);
    let assigns = |it: &SideAnswer| it.outcome == AnswerOutcome::Assign && !it.queues.is_empty();
    if !assigns(one) || !assigns(other) {
        return None;
    }
    let theirs = parts(other);
    let common = |(queue, part): (&str, f64)| part.min(theirs.get(queue).copied().unwrap_or(0.0));
    let sum: f64 = parts(one).into_iter().map(common).sum();
    Some(sum.min(1.0))
}

/// A queue that one side chose and the other did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRefusal<'a> {
    /// The side that did not choose it.
    pub by: Side,
    /// The queue.
    pub queue: &'a str,
    /// That side's rejection of the queue; `None`: the queue is not among the rejections that it
    /// lists, so it was kept and not chosen, or is not known to that side.
    pub fate: Option<&'a RejectedQueue>,
}

/// The queues that one side chose and the other did not, where both gave an answer.
pub fn refusals(comparison: &Comparison) -> Vec<QueueRefusal<'_>> {
    if !Agreement::of(comparison).is_answered() {
        return Vec::new();
    }
    let (one, other) = (&comparison.yardmaster, &comparison.other);
    let sides = [(Side::Yardmaster, one, other), (Side::Other, other, one)];
    let missed = sides.into_iter().flat_map(|(by, mine, theirs)| {
        let queues = names(theirs).into_iter().filter(|queue| !mine.chose(queue));
        queues.map(move |queue| {
            let fate = mine.fates.iter().find(|it| it.queue == queue);
            QueueRefusal { by, queue, fate }
        })
    });
    missed.collect()
}
