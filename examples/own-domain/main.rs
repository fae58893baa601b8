//! A program with a domain of its own beside those built in: partitions of Slurm. Copy this folder to
//! begin one; `docs/own-domain.md` explains it.
//!
//! Pending jobs ask for a partition. Of those that a job names, each that is up, lets its account in
//! and has the nodes for it is a candidate; the one with the most free cores is chosen, less what is
//! reserved for jobs before. Users with the higher fair share are served first.
//!
//! * `capture.rs`: what Slurm's own tools print (`scontrol show jobs --json` ...) becomes records.
//! * `facts.rs`: what the rules need of these records.
//! * `rules.rs`: the filters and the key of the rank.
//! * `view.rs`: order, answer, command and tile.

mod capture;
mod facts;
mod rules;
mod view;

use rules::{FILTERS, KEYS};
use std::process::ExitCode;
use view::SlurmView;
use yardmaster::core::event::{DomainRecord, Task};
use yardmaster::core::policy::{Domain, Flavour, RuleBook, Style};

/// Sends pending jobs of Slurm to a partition.
static SLURM: Flavour = Flavour {
    name: "slurm",
    spec: "docs/own-domain.md",
    help: "the partition of a pending job of Slurm: the one with the most free cores that takes it",
    params: &[],
    defer: 10 * 60_000,
    style: Style::Domain(Domain {
        asks: "job",
        request,
        rules: &RuleBook { filters: FILTERS, weights: KEYS },
        view: |facts| Box::new(SlurmView::of(facts)),
    }),
};

/// A job's record is published while it is pending: each time it is, that is asked again.
fn request(job: &DomainRecord) -> Option<Task> {
    let text = |name| job.text(name).unwrap_or("").to_owned();
    Some(Task {
        attempt: u64::try_from(job.changed_at).ok()?,
        asked_at: job.changed_at,
        changed_at: job.changed_at,
        jobs: 1,
        user: text("user"),
        working_group: text("account"),
        ..Task::default()
    })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        // Beside the verbs of the library one of its own: records of what Slurm's tools printed.
        Some("capture") => capture::main(&words[2..]),
        _ => yardmaster::shell::cli::main_with(&[&SLURM]),
    }
}
