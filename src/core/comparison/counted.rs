//! Figures that are counted of each comparison as it is read: few, since many comparisons may come.

use super::agreement::{Agreement, overlap, refusals};
use super::figures::{FiguresSeen, figures_of, gaps};
use super::record::{AnswerOutcome, Comparison, Side};
use std::collections::BTreeSet;

/// The counted part of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// `production` or `analysis`; empty: not known.
    pub queue_type: String,
    /// Leaf share of the task.
    pub gshare: String,
    /// In what the answers agree.
    pub agreement: Agreement,
    /// By side its outcome, and how long its answer took; ms.
    pub answers: [(Side, AnswerOutcome, u64); 2],
    /// How much goes to the same queues, where both assign.
    pub overlap: Option<f64>,
    /// The sides and filters by which what the other chose was rejected; `None`: the side lists no
    /// rejection of the queue.
    pub filters: BTreeSet<(Side, Option<String>)>,
    /// Whether the figures of both sides differ, where both assign.
    pub figures: Option<FiguresSeen>,
}

impl Counted {
    /// Of a comparison.
    pub fn of(comparison: &Comparison) -> Counted {
        let answer = |side| {
            let answer = comparison.of(side);
            (side, answer.outcome, answer.took_ms)
        };
        let answers = Side::ALL.map(answer);
        let are_assigned = answers.iter().all(|(_, it, _)| *it == AnswerOutcome::Assign);
        let filters = refusals(comparison);
        Counted {
            queue_type: comparison.queue_type.clone(),
            gshare: comparison.gshare.clone(),
            agreement: Agreement::of(comparison),
            answers,
            overlap: overlap(comparison),
            filters: filters
                .iter()
                .map(|it| (it.by, it.fate.map(|fate| fate.filter.clone())))
                .collect(),
            figures: are_assigned.then(|| figures_of(&gaps(comparison))),
        }
    }
}
