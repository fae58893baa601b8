//! Commands that are in the log now.

use super::Wants;
use super::listed::{CommandState, Listed, columns};
use crate::cli::Ended;
use crate::cli::log_args::LogArgs;
use crate::cli::outputs::{ReadCommands, newest, read_commands};
use crate::cli::table::{TableArgs, report_left_out, terminal_width};
use crate::dirlog::Mode;
use crate::ports::AnyLog;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::output::command::Command;
use yardmaster_core::unit::Millis;

/// Prints the commands that are in one of the states; `last`: only so many that were published
/// last.
pub(super) fn list(
    log_args: &LogArgs,
    wants: &Wants,
    states: &[CommandState],
    last: Option<usize>,
    table: &TableArgs,
) -> Ended {
    let read = log_args.read_log()?;
    let mut log = log_args.log(&read.topology, Mode::Read)?;
    let found = FoundCommands::read(&mut log, wants)?;
    let listed = found.listed(states);
    let shown = &listed[listed.len().saturating_sub(last.unwrap_or(usize::MAX))..];
    let mut out = io::BufWriter::new(io::stdout().lock());
    if table.json {
        shown.iter().try_for_each(|it| writeln!(out, "{}", it.json()))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut printer = table.sheet(columns(), terminal_width()).printer(&mut out);
    shown.iter().try_for_each(|it| printer.push(it.row(found.now)))?;
    let left_out = printer.end()?;
    total(&mut out, shown)?;
    out.flush()?;
    let others = found.listed(&[CommandState::All]).len() - listed.len();
    if others > 0 {
        eprintln!("{others} in other states: --state all shows them");
    }
    report_left_out(&left_out);
    Ok(ExitCode::SUCCESS)
}

/// Commands and their outcomes in the log.
pub(super) struct FoundCommands {
    read: ReadCommands,
    /// That of the newest cycle.
    pub now: Millis,
}

impl FoundCommands {
    /// Reads it.
    pub fn read(log: &mut AnyLog, wants: &Wants) -> anyhow::Result<FoundCommands> {
        let read = read_commands(log, Millis::MAX, |it| wants.wants(it))?;
        let now = newest(log)?.map_or(0, |progress| progress.now);
        if read.strays > 0 {
            let strays = read.strays;
            eprintln!("passed over {strays} records that are copies, or that no leader published");
        }
        Ok(FoundCommands { read, now })
    }

    /// All records.
    pub fn commands(&self) -> &[Command] {
        &self.read.commands
    }

    /// Those in one of the states, in the order in which they were published.
    pub fn listed(&self, states: &[CommandState]) -> Vec<Listed<'_>> {
        let mut listed: Vec<Listed<'_>> = newest_of(&self.read.commands)
            .filter_map(|command| {
                let answer = self.read.answers.get(&command.id.0);
                let state = CommandState::of(command, answer, self.now)?;
                let is_wanted = states.contains(&CommandState::All) || states.contains(&state);
                is_wanted.then_some(Listed { state, command, answer })
            })
            .collect();
        listed.sort_by_key(|it| (it.command.now, it.command.cycle, it.command.number));
        listed
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

fn total(out: &mut impl Write, listed: &[Listed<'_>]) -> io::Result<()> {
    let mut states: BTreeMap<CommandState, u64> = BTreeMap::new();
    listed.iter().for_each(|it| *states.entry(it.state).or_default() += 1);
    let each: Vec<String> =
        states.iter().map(|(state, count)| format!("{count} {}", state.name())).collect();
    let colon = if each.is_empty() { "" } else { ": " };
    writeln!(out, "{} commands{colon}{}", listed.len(), each.join(", "))
}
