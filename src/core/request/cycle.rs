//! Requests to be judged in a cycle: which, in which order, and how many.

use crate::judge::evaluation::Evaluation;
use crate::limits::Limits;
use crate::output::decision::{Decision, Outcome};
use crate::request::waiting::Turn;
use std::collections::BTreeMap;

/// Most evaluations of woken requests that are kept for their judgement. They are of use only
/// until the first request is assigned, so those that are judged first are kept.
const EVALUATIONS_MAX: usize = 32;

/// Requests that are left to be judged in a cycle, and the amount that was judged.
#[derive(Default)]
pub(crate) struct CycleQueue {
    /// Requests left to be judged, the first at the end.
    turns: Vec<Turn>,
    /// How many were judged.
    judged: u32,
    /// About what the decisions take; bytes.
    bytes: usize,
    /// By subject: candidates that were judged when it was found that the request wakes.
    evaluations: BTreeMap<String, Evaluation>,
}

/// Requests that woke, and how their candidates were judged where that was found out.
#[derive(Default)]
pub(crate) struct Woken {
    turns: Vec<Turn>,
    evaluations: BTreeMap<Turn, Evaluation>,
}

impl Woken {
    /// Adds a request.
    pub(crate) fn push(&mut self, turn: Turn, evaluation: Option<Evaluation>) {
        if let Some(evaluation) = evaluation {
            self.evaluations.insert(turn.clone(), evaluation);
            if self.evaluations.len() > EVALUATIONS_MAX {
                self.evaluations.pop_last();
            }
        }
        self.turns.push(turn);
    }
}

impl CycleQueue {
    /// Begins a cycle with the requests that are ready, in the order of their turns, and those that
    /// woke. Gives back of the latter those for which it has no room, and whether there is one of
    /// either. Of many that are ready only those are looked at that have their turn.
    #[must_use]
    pub(crate) fn begin<'a>(
        &mut self,
        ready: impl Iterator<Item = &'a Turn>,
        woken: Woken,
        limits: &Limits,
    ) -> (Vec<Turn>, bool) {
        let mut woke = woken.turns;
        woke.sort_unstable();
        let (mut ready, mut woke) = (ready.peekable(), woke.into_iter().peekable());
        let mut turns = Vec::new();
        while turns.len() < limits.judgements_per_cycle {
            let is_ready = match (ready.peek(), woke.peek()) {
                (None, None) => break,
                (Some(one), Some(other)) => *one <= other,
                (one, _) => one.is_some(),
            };
            let next = if is_ready { ready.next().cloned() } else { woke.next() };
            turns.extend(next.filter(|next| turns.last() != Some(next)));
        }
        turns.reverse();
        let beyond: Vec<Turn> = woke.filter(|turn| turns.first() != Some(turn)).collect();
        let is_beyond = ready.next().is_some() || !beyond.is_empty();
        let evaluations = woken.evaluations.into_iter();
        let evaluations = evaluations.map(|((_, _, subject), it)| (subject, it)).collect();
        *self = CycleQueue { turns, evaluations, ..CycleQueue::default() };
        (beyond, is_beyond)
    }

    /// Gives back all that is left if the decisions of the cycle are too large for more.
    #[must_use]
    pub(crate) fn cut_off(&mut self, limits: &Limits) -> Vec<Turn> {
        match self.bytes >= limits.decision_bytes_per_cycle {
            true => std::mem::take(&mut self.turns),
            false => Vec::new(),
        }
    }

    /// The subject that is judged next, the number of that judgement, and how its candidates were
    /// judged at this cut, if that still holds.
    pub(crate) fn next(&mut self) -> Option<(String, u32, Option<Evaluation>)> {
        let (_, _, subject) = self.turns.pop()?;
        let number = self.judged;
        self.judged += 1;
        let evaluation = self.evaluations.remove(&subject);
        Some((subject, number, evaluation))
    }

    /// The number of the next decision that answers no request.
    pub(crate) fn number(&self) -> u32 {
        self.judged
    }

    /// Counts a decision that answers no request.
    pub(crate) fn note_made(&mut self) {
        self.judged += 1;
    }

    /// Counts a decision that was made; it takes so many bytes.
    pub(crate) fn note_size(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Notes that a decision was folded. Only a deferral leaves all counters as they were.
    pub(crate) fn note_folded(&mut self, decision: &Decision) {
        match decision.outcome {
            Outcome::Defer { .. } => {}
            Outcome::Assign(_) | Outcome::Reject { .. } => self.evaluations.clear(),
        }
    }
}
