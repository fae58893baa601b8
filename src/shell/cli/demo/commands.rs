//! Commands in a demo: the mode of the rules, and what its summary shows.

use crate::cli::log_args::Read;
use std::collections::BTreeMap;
use yardmaster_core::output::command::Command;
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};
use yardmaster_sim::grid::GridSummary;

/// Counts of commands in a demo.
#[derive(Default)]
pub(super) struct CommandTotals {
    /// By rule: to be carried out, repeats of these, for people to see.
    given: BTreeMap<String, [u64; 3]>,
    /// By rule and reason: the most jobs that were held back at one time at one queue.
    held: BTreeMap<(String, String), u64>,
}

impl CommandTotals {
    /// Counts what was published.
    pub(super) fn count<'a>(&mut self, commands: impl Iterator<Item = &'a Command>) {
        for command in commands {
            if let Some(why) = command.held_back() {
                if command.amount > 0 {
                    let why = why.split([',', '(']).next().unwrap_or(why).to_owned();
                    let held = self.held.entry((command.rule.clone(), why)).or_default();
                    *held = (*held).max(command.amount);
                }
                continue;
            }
            let given = self.given.entry(command.rule.clone()).or_default();
            match (command.dry_run, command.repeat) {
                (true, _) => given[2] += command.amount,
                (false, 0) => given[0] += command.amount,
                (false, _) => given[1] += 1,
            }
        }
    }

    /// Prints it.
    pub(super) fn print(&self, summary: &GridSummary) {
        let given = self.given.iter().map(|(rule, [jobs, repeats, dry])| {
            let parts = [(*jobs, "jobs"), (*repeats, "repeats"), (*dry, "jobs dry run")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
            format!("{rule} {}", parts.join(", "))
        });
        let given: Vec<String> = given.collect();
        if !given.is_empty() {
            println!("commands: {}", given.join("; "));
        }
        let held = self.held.iter();
        let held: Vec<String> = held
            .map(|((rule, why), jobs)| format!("{rule} {why} (at most {jobs} jobs of a queue)"))
            .collect();
        if !held.is_empty() {
            println!("held back: {}", held.join("; "));
        }
        let GridSummary { commanded_moved, commanded_ended, commanded_wrong, .. } = summary;
        if commanded_moved + commanded_ended + commanded_wrong > 0 {
            println!(
                "carried out: {commanded_moved} jobs moved, {commanded_ended} ended; \
                 {commanded_wrong} of them wrongly: they were alive, or in another state"
            );
            println!(
                "given to a queue from which they were taken back: {} jobs; the same work to one \
                 queue at most {} times",
                summary.given_again, summary.given_most
            );
        }
        println!(
            "arrival of a task to its last job: median {}, p95 {}",
            span(summary.task_end_median),
            span(summary.task_end_p95)
        );
    }
}

/// The topology with another mode of all its rules.
pub(super) fn with_mode(read: &Read, mode: &str) -> anyhow::Result<Read> {
    changed(read, &format!("commands {mode}"), |file| {
        let rules = file.get_mut("rule").and_then(toml::Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
            rule.insert("mode".to_owned(), mode.into());
        }
    })
}

/// The topology with a change, and with that in its name.
pub(super) fn changed(
    read: &Read,
    what: &str,
    change: impl FnOnce(&mut toml::Table),
) -> anyhow::Result<Read> {
    let mut file: toml::Table = read.text.parse()?;
    change(&mut file);
    let (name, text) = (format!("{}, {what}", read.name), file.to_string());
    Read::parse(name, text)
}

/// A span of time for people.
pub(super) fn span(millis: Millis) -> String {
    match millis {
        short if short < MINUTE => format!("{} s", short / SECOND),
        middle if middle < HOUR => format!("{} min", middle / MINUTE),
        long => format!("{:.1} h", long as f64 / HOUR as f64),
    }
}
