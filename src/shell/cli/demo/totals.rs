//! Counts of a demo for its summary, and the summary.

use super::commands::{self, span};
use super::limits::Limits;
use std::collections::BTreeMap;
use yardmaster_core::output::decision::Decision;
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
}

impl Totals {
    /// Counts decisions.
    pub fn count<'a>(&mut self, decisions: impl Iterator<Item = &'a Decision>) {
        for decision in decisions {
            self.limits.count([decision].into_iter());
            *self.outcomes.entry(decision.outcome.name()).or_default() += 1;
            for count in &decision.counts {
                *self.rejected.entry(count.filter.clone()).or_default() +=
                    u64::from(count.rejected);
            }
        }
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
