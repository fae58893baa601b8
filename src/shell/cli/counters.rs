//! `counters`: the counters as last kept, or as they are in a running process.

use crate::shell::ask::Ask;
use crate::shell::cli::http_args::AskArgs;
use crate::shell::cli::log_args::LogArgs;
use crate::shell::cli::names::Sought;
use crate::shell::cli::{Ended, Usage};
use crate::shell::store::SledStore;
use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the counters from the store, a line each; beside a running process (that holds the
/// store), those it has now.
///
/// Examples:
///   yardmaster counters --dir yard --by queue
///   yardmaster counters --dir yard --by user --name alice --json
#[derive(Args)]
pub struct Counters {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where the store lies.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    #[command(flatten)]
    ask_args: AskArgs,
    /// Only counters of this kind.
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Only counters that carry this name (a queue, user, share, site ...).
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// One JSON object per counter instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// All of a queue.
    Queue,
    /// By user and queue.
    User,
    /// By working group and queue.
    Group,
    /// By queue and share.
    Share,
    /// By queue, share and resource type.
    Load,
    /// By nucleus.
    Nucleus,
    /// By task and queue.
    Task,
    /// Transfers by source, destination and activity; by destination; what arrived.
    Link,
}

impl By {
    fn kinds(self) -> &'static [&'static str] {
        match self {
            By::Queue => &["queue", "starts"],
            By::User => &["user"],
            By::Group => &["group"],
            By::Share => &["share"],
            By::Load => &["load"],
            By::Nucleus => &["nucleus"],
            By::Task => &["task"],
            By::Link => &["link", "into", "rate"],
        }
    }
}

impl Counters {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        let dir = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        if self.store.is_none() {
            self.log_args.check()?;
        }
        if !dir.is_dir() {
            let dir = dir.display();
            return Err(Usage(format!("no store at {dir}: give --store DIR or --dir DIR")).into());
        }
        let process = Ask::of_store(&dir, self.ask_args.proof()?);
        let answer = process.map(|process| process.text("/v1/counters")).transpose()?;
        let lines: Vec<String> = match answer.flatten() {
            Some(text) => text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
            None => {
                let kept = SledStore::counters(&dir)?;
                kept.into_iter().filter(|(key, _)| key != "cycle").map(|(_, line)| line).collect()
            }
        };
        let pseudonyms = if self.name.is_some() { read.pseudonyms()? } else { None };
        let sought = self.name.as_deref().map(|name| Sought::new(name, pseudonyms.as_deref()));
        sought.iter().for_each(Sought::note);
        let mut out = std::io::stdout().lock();
        for line in lines {
            let value: Value = serde_json::from_str(&line).context("a counter in the store")?;
            if self.wants(&value, sought.as_ref()) {
                let text = if self.json { line } else { text_of(&value) };
                if writeln!(out, "{text}").is_err() {
                    break;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn wants(&self, counter: &Value, sought: Option<&Sought>) -> bool {
        let kind = counter["counter"].as_str().unwrap_or_default();
        let named = |sought: &Sought| {
            counter.as_object().is_some_and(|object| {
                object.iter().any(|(what, value)| {
                    what != "counter" && value.as_str().is_some_and(|it| sought.is(it))
                })
            })
        };
        self.by.is_none_or(|by| by.kinds().contains(&kind)) && sought.is_none_or(named)
    }
}

/// `queue NORTH: jobs_running 5, cores_running 40`.
fn text_of(counter: &Value) -> String {
    let empty = serde_json::Map::new();
    let object = counter.as_object().unwrap_or(&empty);
    let mut names = Vec::new();
    let mut figures = Vec::new();
    for (what, value) in object.iter().filter(|(what, _)| *what != "counter") {
        match value {
            Value::String(name) => names.push(if name.is_empty() { "-" } else { name }),
            other => figures.push(format!("{what} {other}")),
        }
    }
    let kind = counter["counter"].as_str().unwrap_or_default();
    format!("{kind} {}: {}", names.join(" "), figures.join(", "))
}
