//! Counts of a demo for its summary, and the summary.

use super::commands::{self, span};
use super::limits::Limits;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::output::throttle::Throttle;
use yardmaster_sim::grid::GridSummary;

/// Counts of the demo for its summary.
#[derive(Default)]
pub(super) struct Totals {
    pub events: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    rejected: BTreeMap<String, u64>,
    /// Throttles: by rule, set and lifted.
    throttles: BTreeMap<String, [u64; 2]>,
    pub commands: commands::CommandTotals,
    pub limits: Limits,
    /// Requests that wait, at most [`WAITING_MAX`] of them.
    waiting: BTreeSet<String>,
    /// The job or request that was answered last.
    answered: Option<String>,
}

/// Most requests that wait of which the names are kept.
const WAITING_MAX: usize = 1_000;

impl Totals {
    /// Counts decisions.
    pub fn count<'a>(&mut self, decisions: impl Iterator<Item = &'a Decision>) {
        for decision in decisions {
            self.limits.count([decision].into_iter());
            self.note_name(decision);
            *self.outcomes.entry(decision.outcome.name()).or_default() += 1;
            for count in &decision.counts {
                *self.rejected.entry(count.filter.clone()).or_default() +=
                    u64::from(count.rejected);
            }
        }
    }

    /// Keeps the name that is worth an explanation at the end.
    fn note_name(&mut self, decision: &Decision) {
        let subject = &decision.subject;
        if decision.answers_offer() {
            // An offer is gone soon; the job that got it is not.
            let job = decision.matched.as_ref().map(|it| it.job.clone());
            self.answered = job.filter(|job| !job.is_empty()).or(self.answered.take());
            return;
        }
        match &decision.outcome {
            Outcome::Defer { .. } if self.waiting.len() < WAITING_MAX => {
                self.waiting.insert(subject.clone());
            }
            Outcome::Defer { .. } => {}
            Outcome::Assign(_) | Outcome::Reject { .. } => {
                self.waiting.remove(subject);
                self.answered = Some(subject.clone());
            }
        }
    }

    /// A name to explain: a request that waits, or else the last one that was answered.
    pub fn worth_explaining(&self) -> Option<&str> {
        self.waiting.first().or(self.answered.as_ref()).map(String::as_str)
    }

    /// Counts throttles.
    pub fn count_throttles<'a>(&mut self, throttles: impl Iterator<Item = &'a Throttle>) {
        for throttle in throttles {
            let by_action = self.throttles.entry(throttle.rule.clone()).or_default();
            by_action[throttle.action as usize] += 1;
        }
    }

    /// Prints the summary.
    pub fn print(&self, summary: &GridSummary) {
        println!(
            "jobs: {} finished, {} failed, {} cancelled, {} closed, {} live, {} fell silent",
            summary.finished,
            summary.failed,
            summary.cancelled,
            summary.closed,
            summary.live,
            summary.silent
        );
        println!(
            "grid: {} cores, {:.1} % of them busy over the run; share error {:.1} %",
            summary.cores,
            100.0 * summary.cpu_use,
            100.0 * summary.share_error
        );
        println!(
            "wait from generation to start: median {}, p95 {}",
            span(summary.wait_median),
            span(summary.wait_p95)
        );
        self.print_decisions();
        let throttles = self.throttles.iter();
        let throttles: Vec<String> = throttles
            .map(|(rule, [set, lift])| format!("{rule} set {set} times, lifted {lift}"))
            .collect();
        if !throttles.is_empty() {
            println!("throttles: {}", throttles.join("; "));
        }
        self.commands.print(summary);
        self.print_rejected();
    }

    /// Prints decisions by what they say.
    pub fn print_decisions(&self) {
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(name, count)| format!("{count} {name}")).collect();
        println!("decisions: {}", outcomes.join(", "));
    }

    /// Prints the filters that rejected most queues.
    pub fn print_rejected(&self) {
        let mut rejected: Vec<_> = self.rejected.iter().collect();
        rejected.sort_by(|a, b| b.1.cmp(a.1));
        let top: Vec<String> =
            rejected.iter().take(6).map(|(filter, count)| format!("{filter} {count}")).collect();
        println!("queues rejected by: {}", top.join(", "));
    }
}
