//! A demo of NorduGrid.

use super::commands::span;
use super::played::Played;
use super::totals::Totals;
use super::{Demo, START};
use crate::cli::Usage;
use crate::cli::log_args::Read;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::policy::{Flavour, PolicySpec, kind};
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_sim::grid::Record;
use yardmaster_sim::nordugrid::{NorduGrid, NordugridPlan, NordugridSummary};

/// The policy of a topology that places jobs at targets; `None` if it has none.
pub(super) fn policy(read: &Read) -> Option<&str> {
    let policies = &read.topology.policies;
    let places = |it: &&PolicySpec| kind(&it.kind).is_some_and(Flavour::judges_targets);
    policies.iter().find(places).map(|it| it.name.as_str())
}

impl Demo {
    /// The simulated NorduGrid, for a policy.
    pub(super) fn nordugrid(&self, read: &Read, policy: &str) -> anyhow::Result<NorduGrid> {
        self.refuse_what_is_of_atlas(read, &format!("{policy} for NorduGrid"))?;
        let plan = NordugridPlan {
            seed: self.seed,
            scale: self.scale,
            start: START,
            hours: self.hours(),
            domain: read.topology.domain.clone(),
            policy: policy.to_owned(),
            speed: self.speed,
        };
        NorduGrid::new(plan).map_err(|unfit| Usage(unfit.to_string()).into())
    }
}

impl Played for NorduGrid {
    fn start(&self) -> Millis {
        self.start()
    }

    /// No rule gives commands about jobs at targets.
    fn obey(&mut self, _: &[Command], _: &mut Vec<Record>) {}

    fn advance(&mut self, to: Millis, decisions: &[Decision], out: &mut Vec<Record>) {
        self.advance(to, decisions, out);
    }

    fn progress(&self) -> String {
        let summary = self.summary();
        format!(
            "{:>7} running  {:>3.0} % of CPUs busy  {} waiting",
            summary.running,
            100.0 * summary.cpus_busy as f64 / summary.cpus.max(1) as f64,
            summary.waiting,
        )
    }

    fn print(&self, totals: &Totals) {
        let summary = self.summary();
        print_jobs(&summary);
        print_input(&summary);
        totals.print_decisions();
        totals.print_rejected();
    }
}

fn print_jobs(summary: &NordugridSummary) {
    let NordugridSummary { submitted, placed, waiting, refused, unanswered, .. } = summary;
    println!(
        "jobs: {submitted} submitted, {placed} placed, {waiting} wait for a target (the oldest for \
         {} s); {} rejected",
        summary.oldest_waiting / SECOND,
        summary.rejected.values().sum::<u64>()
    );
    println!(
        "at clusters: {} queued, {} running, {} finished, {} failed, {} killed; {} were lost",
        summary.queued,
        summary.running,
        summary.finished,
        summary.failed,
        summary.killed,
        summary.lost
    );
    let numbered = summary.attempts.iter().zip(1..).filter(|(jobs, _)| **jobs > 0);
    let attempts: Vec<String> = numbered.map(|(jobs, at)| format!("{jobs} at {at}")).collect();
    println!(
        "placed by attempt: {}; {refused} refusals, {unanswered} clusters did not answer",
        attempts.join(", ")
    );
    println!(
        "wait from submission to a cluster: median {}, longest {} s; to the start: median {}, \
         p95 {}",
        span(summary.place_median),
        summary.place_longest / SECOND,
        span(summary.start_median),
        span(summary.start_p95)
    );
    let reasons: Vec<String> =
        summary.rejected.iter().map(|(reason, jobs)| format!("{reason} {jobs}")).collect();
    println!(
        "jobs rejected by: {}; {} of them although a cluster in service could run them",
        reasons.join(", "),
        summary.rejected_with_target
    );
    let (cpus, busy) = (summary.cpus, 100.0 * summary.cpu_use);
    println!("grid: {cpus} CPUs, {busy:.1} % of them busy over the run");
}

fn print_input(summary: &NordugridSummary) {
    let terabytes = |bytes: u64| bytes as f64 / 1e12;
    println!(
        "input: {:.2} TB from far away, {:.2} TB from close by, {:.2} TB cached; {:.1} % of the \
         files that may be cached were",
        terabytes(summary.remote_bytes),
        terabytes(summary.local_bytes),
        terabytes(summary.cached_bytes),
        100.0 * summary.hit_rate()
    );
}
