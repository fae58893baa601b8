//! How the answers of two sets of rules differ: those of a log, and those that other rules give at
//! the same cuts. Counts, and the first requests that differ with both answers.

mod change;
mod fates;

pub use change::{Change, change};

use crate::id::Key;
use crate::output::decision::{Decision, Outcome, request_name};
use fates::first_difference;
use std::collections::BTreeMap;

/// A figure under the log's rules and under the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both {
    /// Under the rules of the log.
    pub recorded: u64,
    /// Under the other rules.
    pub other: u64,
}

/// Requests and jobs that a queue, a nucleus or a site gets, in the log and by the other rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignedShare {
    /// Requests, or offers of slots, that give it something; each once.
    pub requests: Both,
    /// Jobs; 0 where a task gets a nucleus.
    pub jobs: Both,
}

/// An answer that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedAnswer {
    /// How it differs.
    pub change: Change,
    /// The answer in the log; `None`: the log has none in this cycle.
    pub recorded: Option<Decision>,
    /// The answer by the other rules; `None`: they give none.
    pub other: Option<Decision>,
}

/// Counts of the answers that differ between a log and other rules, and the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// Answers of the log that were compared.
    pub answers: u64,
    /// By how they differ: answers.
    pub changed: BTreeMap<Change, u64>,
    /// By outcome in the log and under the other rules (`none`: no answer): answers.
    pub outcomes: BTreeMap<[&'static str; 2], u64>,
    /// Requests that the log does not answer in a cycle, and the other rules would assign. Each
    /// once for each answer before.
    pub earlier: u64,
    /// Answers that differ, and that the log's own rules do not give either: something else than
    /// the rules differs. They count nowhere else.
    pub not_made_again: u64,
    /// By filter: candidates that it rejected.
    pub filters: BTreeMap<String, Both>,
    /// By filter of the log and of the other rules (empty: not rejected) of the first candidate
    /// that fared otherwise: answers.
    pub fates: BTreeMap<[String; 2], u64>,
    /// By queue.
    pub queues: BTreeMap<String, AssignedShare>,
    /// The first requests that differ.
    pub first: Vec<ChangedAnswer>,
    /// Most of those that are kept.
    first_max: usize,
    requests: BTreeMap<Key, Seen>,
}

/// Gravest difference of a request's answers so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    /// The gravest difference of its answers.
    change: Change,
    /// The other rules have assigned it.
    is_assigned: bool,
}

impl Differences {
    /// Nothing was compared yet; the first so many requests that differ are kept.
    pub fn new(first_max: usize) -> Differences {
        Differences { first_max, ..Differences::default() }
    }

    /// Counts an answer of the log, and what the other rules answer at the same cut.
    pub fn note(&mut self, recorded: Decision, other: Option<Decision>) {
        let change = change(&recorded, other.as_ref());
        self.answers += 1;
        *self.changed.entry(change).or_default() += 1;
        let name = other.as_ref().map_or("none", |it| it.outcome.name());
        *self.outcomes.entry([recorded.outcome.name(), name]).or_default() += 1;
        for count in &recorded.counts {
            self.filters.entry(count.filter.clone()).or_default().recorded +=
                u64::from(count.rejected);
        }
        for count in other.iter().flat_map(|it| &it.counts) {
            self.filters.entry(count.filter.clone()).or_default().other +=
                u64::from(count.rejected);
        }
        if let Some(differs) = other.as_ref().and_then(|other| first_difference(&recorded, other)) {
            *self.fates.entry(differs).or_default() += 1;
        }
        self.share(&recorded, |both| &mut both.recorded);
        self.note_request(change, Some(recorded), other);
    }

    /// Counts a request that the log does not answer in a cycle, and that the other rules assign.
    pub fn note_earlier(&mut self, other: Decision) {
        self.earlier += 1;
        self.note_request(Change::Outcome, None, Some(other));
    }

    /// Counts an answer that differs for another reason than the rules.
    pub fn note_not_made_again(&mut self) {
        self.not_made_again += 1;
    }

    /// How many requests were compared; of a pool of slots, offers and refused jobs.
    pub fn requests(&self) -> u64 {
        self.requests.len() as u64
    }

    /// Of these, how many differ so, each counted with the gravest difference of its answers.
    pub fn requests_with(&self, change: Change) -> u64 {
        self.requests.values().filter(|seen| seen.change == change).count() as u64
    }

    /// The share of the requests that differ; 0 to 1.
    pub fn changed_share(&self) -> f64 {
        let (all, same) = (self.requests(), self.requests_with(Change::Same));
        if all == 0 { 0.0 } else { (all - same) as f64 / all as f64 }
    }

    /// Counts in what becomes of a request, and keeps the first that differ.
    fn note_request(
        &mut self,
        change: Change,
        recorded: Option<Decision>,
        other: Option<Decision>,
    ) {
        let Some(asked) = recorded.as_ref().or(other.as_ref()) else { return };
        let key = Key::of(request_name(&asked.subject, asked.attempt).as_bytes());
        let unseen = Seen { change: Change::Same, is_assigned: false };
        let seen = self.requests.entry(key).or_insert(unseen);
        let is_first_change = seen.change == Change::Same && change != Change::Same;
        seen.change = seen.change.max(change);
        if let Some(other) = &other
            && matches!(other.outcome, Outcome::Assign(_))
        {
            // A request is assigned once; an offer has room for several jobs.
            let counts = !seen.is_assigned || other.matched.is_some();
            seen.is_assigned = true;
            if counts {
                self.share(other, |both| &mut both.other);
            }
        }
        if is_first_change && self.first.len() < self.first_max {
            self.first.push(ChangedAnswer { change, recorded, other });
        }
    }

    /// Counts what an assignment gives to each queue.
    fn share(&mut self, decision: &Decision, side: impl Fn(&mut Both) -> &mut u64) {
        let Outcome::Assign(ranked) = &decision.outcome else { return };
        let is_used = |jobs: u32| jobs > 0 || ranked.iter().all(|it| it.jobs == 0);
        for it in ranked.iter().filter(|it| is_used(it.jobs)) {
            let share = self.queues.entry(it.queue.clone()).or_default();
            *side(&mut share.requests) += 1;
            *side(&mut share.jobs) += u64::from(it.jobs);
        }
    }
}

#[cfg(test)]
mod tests;
