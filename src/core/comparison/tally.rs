//! Many comparisons summed up.

use super::agreement::{Agreement, Measure, QueueRefusal, overlap, refusals};
use super::figures::{FiguresSeen, figures_of, gaps};
use super::record::{AnswerOutcome, Comparison, InCharge, Side};
use super::times::AnswerTimes;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// So many different reasons, or queues, are counted by name; those beyond as [`OTHER`].
const NAMES_MAX: usize = 10_000;
/// Stands for what is beyond a bound.
const OTHER: &str = "other";

/// Answers by side and outcome.
pub type PerAnswer = BTreeMap<(Side, AnswerOutcome), u64>;

/// Sums over a group of comparisons: agreements, outcomes, overlaps and answer times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// By agreement, how many.
    agreements: BTreeMap<Agreement, u64>,
    /// By side and outcome, how many answers.
    pub answers: PerAnswer,
    /// Sum of the overlaps, and of how many comparisons.
    overlap: (f64, u64),
    /// By side, how long its answers took.
    pub times: BTreeMap<Side, AnswerTimes>,
}

impl Group {
    fn add(&mut self, comparison: &Comparison, agreement: Agreement) {
        *self.agreements.entry(agreement).or_default() += 1;
        for side in Side::ALL {
            let answer = comparison.of(side);
            *self.answers.entry((side, answer.outcome)).or_default() += 1;
            if answer.outcome.is_answer() {
                self.times.entry(side).or_default().push(answer.took_ms);
            }
        }
        if let Some(overlap) = overlap(comparison) {
            self.overlap = (self.overlap.0 + overlap, self.overlap.1 + 1);
        }
    }

    /// How many comparisons have an agreement.
    pub fn count(&self, agreement: Agreement) -> u64 {
        self.agreements.get(&agreement).copied().unwrap_or(0)
    }

    /// How many comparisons there are.
    pub fn all(&self) -> u64 {
        self.agreements.values().sum()
    }

    /// In how many both sides gave an answer.
    pub fn answered(&self) -> u64 {
        let answered = self.agreements.iter().filter(|(it, _)| it.is_answered());
        answered.map(|(_, count)| count).sum()
    }

    /// In how many of those the two answers agree.
    pub fn agreed(&self, measure: Measure) -> u64 {
        let agreed = self.agreements.iter().filter(|(it, _)| measure.is_met(**it));
        agreed.map(|(_, count)| count).sum()
    }

    /// The part of those with two answers that agree, from 0 to 1; `None` if there are none.
    pub fn agreement(&self, measure: Measure) -> Option<f64> {
        let answered = self.answered();
        (answered > 0).then(|| self.agreed(measure) as f64 / answered as f64)
    }

    /// The mean overlap of those that both sides assign; `None` if there are none.
    pub fn overlap(&self) -> Option<f64> {
        let (sum, count) = self.overlap;
        (count > 0).then(|| sum / count as f64)
    }

    /// A side's answers with an outcome.
    pub fn answers(&self, side: Side, outcome: AnswerOutcome) -> u64 {
        self.answers.get(&(side, outcome)).copied().unwrap_or(0)
    }
}

/// Why a queue was not chosen by one side, though the other chose it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByReason {
    /// The side that did not choose it.
    pub by: Side,
    /// Its filter; `None`: it lists no rejection of the queue.
    pub filter: Option<String>,
    /// Its reason, figures left out.
    pub reason: String,
}

/// The outcomes of both sides, where they differ, with the reasons of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutcomePair {
    /// Yardmaster's outcome, and its reason, figures left out.
    pub yardmaster: (AnswerOutcome, String),
    /// The other's.
    pub other: (AnswerOutcome, String),
}

/// Pairs of outcomes, and how many comparisons have them.
pub type Outcomes = BTreeMap<OutcomePair, u64>;

/// Comparisons with two assignments, by whether the first queue and the set of queues are the same,
/// and by what is known of the figures.
pub type FiguresCount = BTreeMap<(bool, FiguresSeen), u64>;

/// The figures of one queue, over all comparisons in which the choice differs by it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GapSum {
    /// How many.
    pub comparisons: u64,
    /// In how many a figure differs by more than `DIFFERS_BEYOND`.
    pub wide: u64,
    /// Sums of Yardmaster's running jobs, of the other's, and of how many comparisons.
    pub running: (u64, u64, u64),
    /// The same of jobs that wait there to run.
    pub queued: (u64, u64, u64),
}

/// Many comparisons summed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// All of them.
    pub all: Group,
    /// By what the caller groups them.
    pub groups: BTreeMap<String, Group>,
    /// When the first and the last of them were asked.
    pub asked: Option<(Millis, Millis)>,
    /// How many were carried out as Yardmaster answered.
    pub led: u64,
    /// Where the outcomes differ.
    pub outcomes: Outcomes,
    /// By side, filter and reason: in how many comparisons, and how many queues.
    pub refusals: BTreeMap<ByReason, (u64, u64)>,
    /// Whether the figures differ.
    pub figures: FiguresCount,
    /// By queue, the figures where the choice differs by it.
    pub gaps: BTreeMap<String, GapSum>,
}

impl Tally {
    /// Adds a comparison, to the groups of these names too.
    pub fn add(&mut self, comparison: &Comparison, groups: &BTreeSet<String>) {
        let agreement = Agreement::of(comparison);
        self.all.add(comparison, agreement);
        for name in groups {
            let name = bounded(&self.groups, name.clone(), OTHER.to_owned());
            self.groups.entry(name).or_default().add(comparison, agreement);
        }
        let at = comparison.asked_at;
        let (first, last) = self.asked.unwrap_or((at, at));
        self.asked = Some((first.min(at), last.max(at)));
        self.led += u64::from(comparison.in_charge == InCharge::Yardmaster);
        if agreement == Agreement::Outcome {
            self.add_outcomes(comparison);
        }
        self.add_refusals(&refusals(comparison));
        let are_assigned = Side::ALL.map(|side| comparison.of(side).outcome);
        if are_assigned == [AnswerOutcome::Assign; 2] {
            self.add_figures(comparison, agreement);
        }
    }

    fn add_outcomes(&mut self, comparison: &Comparison) {
        let of = |side| {
            let answer = comparison.of(side);
            (answer.outcome, plain_reason(&answer.reason))
        };
        let pair = OutcomePair { yardmaster: of(Side::Yardmaster), other: of(Side::Other) };
        let without_reasons = OutcomePair {
            yardmaster: (pair.yardmaster.0, OTHER.to_owned()),
            other: (pair.other.0, OTHER.to_owned()),
        };
        let pair = bounded(&self.outcomes, pair, without_reasons);
        *self.outcomes.entry(pair).or_default() += 1;
    }

    fn add_refusals(&mut self, refusals: &[QueueRefusal<'_>]) {
        let mut counted = BTreeSet::new();
        for QueueRefusal { by, fate, .. } in refusals {
            let filter = fate.map(|it| it.filter.clone());
            let reason = fate.map(|it| plain_reason(&it.reason)).unwrap_or_default();
            let why = ByReason { by: *by, filter, reason };
            let without_reason = ByReason { reason: OTHER.to_owned(), ..why.clone() };
            let why = bounded(&self.refusals, why, without_reason);
            let (comparisons, queues) = self.refusals.entry(why.clone()).or_default();
            *queues += 1;
            *comparisons += u64::from(counted.insert(why));
        }
    }

    fn add_figures(&mut self, comparison: &Comparison, agreement: Agreement) {
        let gaps = gaps(comparison);
        let is_same = agreement == Agreement::Same;
        *self.figures.entry((is_same, figures_of(&gaps))).or_default() += 1;
        for gap in gaps.iter().filter(|_| !is_same) {
            let queue = bounded(&self.gaps, gap.queue.to_owned(), OTHER.to_owned());
            let sum = self.gaps.entry(queue).or_default();
            sum.comparisons += 1;
            sum.wide += u64::from(gap.is_wide());
            for (sum, figures) in [(&mut sum.running, gap.running), (&mut sum.queued, gap.queued)] {
                if let Some((mine, theirs)) = figures {
                    sum.0 = sum.0.saturating_add(mine);
                    sum.1 = sum.1.saturating_add(theirs);
                    sum.2 += 1;
                }
            }
        }
    }
}

/// The name under which something new is counted: its own while there is room for it.
fn bounded<K: Ord, V>(counted: &BTreeMap<K, V>, name: K, beyond: K) -> K {
    if counted.len() < NAMES_MAX || counted.contains_key(&name) { name } else { beyond }
}

/// A reason with `N` in place of each number, so that those that differ in their figures are
/// counted together.
pub fn plain_reason(reason: &str) -> String {
    let mut plain = String::with_capacity(reason.len());
    let mut rest = reason;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number_end(number);
        // Digits of a name, as in T1 or CERN_2, are left.
        let is_of_name =
            before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        plain.push_str(before);
        plain.push_str(if is_of_name { &number[..end] } else { "N" });
        rest = &number[end..];
    }
    plain.push_str(rest);
    plain
}

/// The end of the number with which a text begins: digits, and points between them.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while is_digit(end) || (bytes.get(end) == Some(&b'.') && end > 0 && is_digit(end + 1)) {
        end += 1;
    }
    end
}
