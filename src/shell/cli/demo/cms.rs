//! A demo of a pool of slots, as CMS has it.

use super::commands::span;
use super::played::Played;
use super::totals::Totals;
use super::{Demo, START};
use crate::cli::Usage;
use crate::cli::log_args::Read;
use std::collections::BTreeMap;
use std::fmt::Display;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::policy::{Flavour, PolicySpec, kind};
use yardmaster_core::unit::Millis;
use yardmaster_sim::cms::{Chosen, Cms, CmsPlan, CmsSummary};
use yardmaster_sim::grid::Record;

/// The policy of a topology that answers slot offers; `None` if it has none.
pub(super) fn policy(read: &Read) -> Option<&str> {
    let policies = &read.topology.policies;
    let answers = |it: &&PolicySpec| kind(&it.kind).is_some_and(Flavour::judges_offers);
    policies.iter().find(answers).map(|it| it.name.as_str())
}

impl Demo {
    /// The simulated pool, for a policy.
    pub(super) fn cms(&self, read: &Read, policy: &str) -> anyhow::Result<Cms> {
        self.refuse_what_is_of_atlas(read, &format!("{policy} for a pool of slots"))?;
        let plan = CmsPlan {
            seed: self.seed,
            scale: self.scale,
            start: START,
            hours: self.hours(),
            domain: read.topology.domain.clone(),
            policy: policy.to_owned(),
            speed: self.speed,
        };
        Cms::new(plan).map_err(|unfit| Usage(unfit.to_string()).into())
    }
}

impl Played for Cms {
    fn start(&self) -> Millis {
        self.start()
    }

    fn obey(&mut self, commands: &[Command], out: &mut Vec<Record>) {
        self.obey(commands, out);
    }

    fn advance(&mut self, to: Millis, decisions: &[Decision], out: &mut Vec<Record>) {
        self.advance(to, decisions, out);
    }

    fn progress(&self) -> String {
        let now = self.now();
        format!(
            "{:>7} running  {:>3.0} % of cores used  {} waiting",
            now.running,
            100.0 * now.cores_used as f64 / now.cores_offered.max(1) as f64,
            now.waiting,
        )
    }

    fn print(&self, totals: &Totals) {
        let summary = self.summary();
        print_jobs(&summary);
        print_waits(&summary);
        print_use(&summary);
        print_rules(&summary);
        totals.print_decisions();
        totals.print_rejected();
        print_violations(&summary);
    }

    /// Whether the pool's own checks found every match right.
    fn is_well(&self) -> bool {
        self.now().violations.is_empty()
    }
}

/// Counts with their names, several of them.
fn listed<K: Display>(counts: impl IntoIterator<Item = (K, u64)>) -> String {
    let all: Vec<String> =
        counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Counts by class and band.
fn chosen(counts: &BTreeMap<Chosen, u64>) -> String {
    listed(counts.iter().map(|((class, band), count)| (format!("{class} {band}"), *count)))
}

fn print_jobs(summary: &CmsSummary) {
    let [sites, nodes, users, steady] = summary.sizes;
    println!(
        "pool: {sites} sites, {nodes} nodes, {} cores; {users} users, {steady} of them with \
         steady demand",
        summary.cores_offered
    );
    println!(
        "jobs: {} submitted in {} workflows, {} matched, {} finished, {} cancelled, {} running, \
         {} wait",
        summary.submitted,
        summary.workflows,
        summary.matched.values().sum::<u64>(),
        summary.finished(),
        summary.cancelled,
        summary.running,
        summary.waiting
    );
    println!("finished by class and band: {}", chosen(&summary.done));
    println!(
        "failed attempts: {}; {} of programs that always fail; {} tried again",
        listed(summary.failed.iter().map(|(how, count)| (*how, *count))),
        summary.failed_broken,
        summary.retries
    );
}

fn print_waits(summary: &CmsSummary) {
    let class = |at: usize| {
        let ((median, p95), longest) = (summary.waits[at], summary.longest[at]);
        format!("median {}, p95 {}, longest {}", span(median), span(p95), span(longest))
    };
    println!("wait to the first start, central: {}; analysis: {}", class(0), class(1));
    println!(
        "fair share of users with steady demand: {:.1} cores each; off by {:.1} % on average, \
         {:.1} % at most",
        summary.share_milli as f64 / 1_000.0,
        100.0 * summary.share_error.0,
        100.0 * summary.share_error.1
    );
    let [workflows, users] = summary.starved;
    println!(
        "starved: {workflows} workflows, {users} users; jobs that waited for long, by kind of work: {}",
        listed(summary.late.iter().map(|(kind, jobs)| (*kind, *jobs)))
    );
}

fn print_use(summary: &CmsSummary) {
    println!(
        "slots: {:.1} % of the core time of pilots used; {} offers, {} taken back; {} pilots lost",
        100.0 * summary.core_use,
        summary.offers,
        summary.withdrawn,
        summary.pilots_lost
    );
    println!(
        "matches: {} not taken up, {} of their jobs held back, {} of what was gone; by relaxed \
         rule: {}",
        summary.not_taken_up,
        summary.held,
        summary.stale,
        listed(summary.relaxed.iter().map(|(rule, count)| (rule, *count)))
    );
    let (most, limit) = summary.high_io_most;
    println!(
        "HighIO: {} jobs, {most} at once on one storage of {limit} at most; {} jobs on slots of \
         one group alone",
        summary.high_io, summary.charged
    );
    println!(
        "overflow by host: {}",
        listed(summary.overflow.iter().map(|(host, count)| (host, *count)))
    );
}

fn print_rules(summary: &CmsSummary) {
    println!(
        "commands carried out: {}; {} waiting jobs of killed workflows removed",
        listed(summary.commands.iter().map(|(kind, count)| (*kind, *count))),
        summary.killed_waiting
    );
    println!(
        "operations: {} priorities changed, {} times a site out of service, {} times one failing; \
         {} workflows ended by their users",
        summary.priority_changes, summary.sites_out, summary.sites_failing, summary.killed_by_users
    );
    println!(
        "jobs that cannot be: {} submitted, rejected by: {}",
        summary.bad_jobs,
        listed(summary.rejected.iter().map(|(code, count)| (code, *count)))
    );
}

fn print_violations(summary: &CmsSummary) {
    match summary.violations.is_empty() {
        true => println!("the pool's own checks: every match holds"),
        false => println!(
            "the pool's own checks: does not hold: {}",
            listed(summary.violations.iter().map(|(what, count)| (*what, *count)))
        ),
    }
}
