//! `commands`: what was commanded, what became of it, and what is held back.

use crate::core::event::OutcomeKind;
use crate::core::explain::iso;
use crate::core::output::command::Command;
use crate::core::state::commands::CommandAnswer;
use crate::core::unit::Millis;
use crate::shell::cli::Ended;
use crate::shell::cli::log_args::LogArgs;
use crate::shell::cli::outputs::{ReadCommands, newest, read_commands};
use crate::shell::dirlog::Mode;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

/// Lists commands: those that are open, and what the governor holds back; with --state others too.
/// Read from the topics `command` and `outcome` in the log, so no process need run. Copies, and
/// records that no leader published, are passed over.
///
/// Examples:
///   yardmaster commands --dir yard
///   yardmaster commands --state all --rule T9 --bootstrap-server kafka:9092
///   yardmaster commands --state dry-run --json --bootstrap-server kafka:9092
#[derive(Args)]
pub struct Commands {
    #[command(flatten)]
    log_args: LogArgs,
    /// In which state; several separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["open", "held-back"])]
    state: Vec<State>,
    /// Only commands of this rule (T9, fast_rebrokerage ...).
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Only commands about jobs of this queue.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// One JSON object for each command instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum State {
    /// Every one.
    All,
    /// To be carried out, and not answered yet, or tried in vain.
    Open,
    /// Reports of what a rule is due for and does not command.
    HeldBack,
    /// Carried out.
    Done,
    /// Refused on purpose.
    Refused,
    /// Not answered in time.
    Expired,
    /// For people to see, not to be carried out.
    DryRun,
}

impl State {
    /// Its name, as the command line has it.
    const fn name(self) -> &'static str {
        match self {
            State::All => "all",
            State::Open => "open",
            State::HeldBack => "held-back",
            State::Done => "done",
            State::Refused => "refused",
            State::Expired => "expired",
            State::DryRun => "dry-run",
        }
    }

    /// The state of a command; `None` for a report that nothing is held back any more.
    fn of(command: &Command, answer: Option<&CommandAnswer>, now: Millis) -> Option<State> {
        Some(match (command.held_back(), command.dry_run, answer.map(|it| it.kind)) {
            (Some(_), ..) if command.amount == 0 => return None,
            (Some(_), ..) => State::HeldBack,
            (None, true, _) => State::DryRun,
            (None, false, Some(OutcomeKind::Accepted)) => State::Done,
            (None, false, Some(OutcomeKind::Refused)) => State::Refused,
            (None, false, _) if command.expires_at <= now => State::Expired,
            (None, false, _) => State::Open,
        })
    }
}

/// A command as it is listed.
struct Listed<'a> {
    state: State,
    command: &'a Command,
    answer: Option<&'a CommandAnswer>,
}

impl Commands {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        let mut log = self.log_args.log(&read.topology, Mode::Read)?;
        let wants = |it: &Command| {
            self.rule.as_ref().is_none_or(|rule| *rule == it.rule)
                && self.queue.as_ref().is_none_or(|queue| *queue == it.queue)
        };
        let ReadCommands { commands, answers, strays } = read_commands(&mut log, wants)?;
        let now = newest(&mut log)?.map_or(0, |progress| progress.now);
        if strays > 0 {
            eprintln!("passed over {strays} records that are copies, or that no leader published");
        }
        let mut listed: Vec<Listed<'_>> = newest_of(&commands)
            .filter_map(|command| {
                let answer = answers.get(&command.id.0);
                let state = State::of(command, answer, now)?;
                let is_wanted = self.state.contains(&State::All) || self.state.contains(&state);
                is_wanted.then_some(Listed { state, command, answer })
            })
            .collect();
        listed.sort_by_key(|it| (it.command.now, it.command.cycle, it.command.number));
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.json {
            true => listed.iter().try_for_each(|it| writeln!(out, "{}", json_of(it)))?,
            false => table(&mut out, &listed)?,
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The newest record of each id; of the reports about one rule and queue the newest one.
fn newest_of(commands: &[Command]) -> impl Iterator<Item = &Command> {
    let mut newest: BTreeMap<(String, String, String), &Command> = BTreeMap::new();
    for command in commands {
        let key = match command.held_back() {
            Some(_) => (String::new(), command.rule.clone(), command.queue.clone()),
            None => (command.id.to_string(), String::new(), String::new()),
        };
        let held = newest.entry(key).or_insert(command);
        if (command.cycle, command.number) >= (held.cycle, held.number) {
            *held = command;
        }
    }
    newest.into_values()
}

const HEAD: [&str; 8] = ["published", "state", "kind", "rule", "subject", "queue", "jobs", "why"];

fn table(out: &mut impl Write, listed: &[Listed<'_>]) -> io::Result<()> {
    let rows: Vec<[String; 8]> = listed.iter().map(row).collect();
    let head = HEAD.map(str::to_owned);
    let mut widths = [0; 8];
    for row in rows.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let all = if rows.is_empty() { None } else { Some(&head) };
    for row in all.into_iter().chain(&rows) {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    let mut states: BTreeMap<State, u64> = BTreeMap::new();
    listed.iter().for_each(|it| *states.entry(it.state).or_default() += 1);
    let each: Vec<String> =
        states.iter().map(|(state, count)| format!("{count} {}", state.name())).collect();
    let colon = if each.is_empty() { "" } else { ": " };
    writeln!(out, "{} commands{colon}{}", listed.len(), each.join(", "))
}

fn row(listed: &Listed<'_>) -> [String; 8] {
    let Listed { state, command, answer } = listed;
    let why = match (command.held_back(), answer) {
        (Some(why), _) => why.to_owned(),
        (None, Some(answer)) if !answer.reason.is_empty() => answer.reason.clone(),
        (None, _) => format!("{} {}", command.clock, command.clock_at.map_or("".into(), iso)),
    };
    let repeats = match command.repeat {
        repeat if repeat > 0 && *state == State::Open => format!(", repeated {repeat}"),
        _ => String::new(),
    };
    [
        iso(command.now),
        format!("{}{repeats}", state.name()),
        command.kind.name().to_owned(),
        command.rule.clone(),
        command.subject.clone(),
        command.queue.clone(),
        command.amount.to_string(),
        why,
    ]
}

fn json_of(listed: &Listed<'_>) -> Value {
    let Listed { state, command, answer } = listed;
    let outcome = answer.map(|it| {
        let kind = match it.kind {
            OutcomeKind::Accepted => "accepted",
            OutcomeKind::Refused => "refused",
            OutcomeKind::Failed => "failed",
            OutcomeKind::Expired => "expired",
        };
        json!({ "kind": kind, "at": it.at, "reason": it.reason })
    });
    json!({
        "id": command.id.to_string(),
        "state": state.name(),
        "repeat": command.repeat,
        "domain": command.domain,
        "kind": command.kind.name(),
        "rule": command.rule,
        "subject": command.subject,
        "attempt": command.attempt,
        "queue": command.queue,
        "gshare": command.gshare,
        "jobs": command.about(),
        "amount": command.amount,
        "clock": command.clock,
        "clock_at": command.clock_at,
        "measured": command.measured,
        "limit": command.limit,
        "unit": command.unit,
        "expires_at": command.expires_at,
        "epoch": command.epoch,
        "cycle": command.cycle,
        "number": command.number,
        "now": command.now,
        "dry_run": command.dry_run,
        "held_back": command.held_back(),
        "notes": command.notes,
        "outcome": outcome,
    })
}
