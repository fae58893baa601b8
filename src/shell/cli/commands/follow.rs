//! Commands as they are published.

use super::command_log::{CommandLog, NewRecord};
use super::list::FoundCommands;
use super::listed::{CommandState, Listed, USUAL, columns};
use super::{Stop, Wants};
use crate::cli::Ended;
use crate::cli::log_args::LogArgs;
use crate::cli::table::{Printer, TableArgs, terminal_width};
use std::collections::BTreeSet;
use std::io;
use std::process::ExitCode;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::command::Command;
use yardmaster_core::unit::Millis;

/// Topics that are read.
const TOPICS: [Topic; 3] = [Topic::Command, Topic::Outcome, Topic::Progress];
/// Those of them that are followed.
const FOLLOWED: [Topic; 2] = [Topic::Command, Topic::Progress];
/// How long one look at the log may wait, and so a signal.
const LOOK: Duration = Duration::from_millis(100);

/// Lists what is there, as without --follow, then what is published.
pub(super) struct Follow {
    pub log_args: LogArgs,
    pub wants: Wants,
    pub state: Vec<CommandState>,
    pub table: TableArgs,
}

impl Follow {
    /// Runs the verb until it is stopped.
    pub fn run(&self, stop: &Stop) -> Ended {
        let topology = self.log_args.read_log()?.topology;
        let log = self.log_args.log_of(&topology, &TOPICS)?;
        let mut log = CommandLog::open(log, &topology, &FOLLOWED)?;
        let found = FoundCommands::read(log.log(), &self.wants)?;
        let sheet = self.table.sheet(columns(), terminal_width()).at_least(&USUAL);
        let mut printer = sheet.printer(io::stdout());
        for it in found.listed(&self.state) {
            self.print(&mut printer, &it, found.now)?;
        }
        if !self.table.json {
            printer.begin()?;
        }
        printer.flush()?;
        // Read already, and perhaps again from where the log ended a moment before.
        let place = |it: &Command| (it.cycle, it.number, it.id);
        let mut shown: BTreeSet<_> = found.commands().iter().map(place).collect();
        log.follow()?;
        while stop.goes_on() {
            for news in log.take(LOOK)? {
                let NewRecord::Published(command) = news else { continue };
                if self.wants.wants(&command) && !shown.remove(&place(&command)) {
                    self.publish(&mut printer, &command, log.now())?;
                }
            }
            log.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn publish(
        &self,
        printer: &mut Printer<io::Stdout>,
        command: &Command,
        now: Millis,
    ) -> io::Result<()> {
        let Some(state) = CommandState::of(command, None, now) else { return Ok(()) };
        if !self.state.contains(&CommandState::All) && !self.state.contains(&state) {
            return Ok(());
        }
        self.print(printer, &Listed { state, command, answer: None }, now)?;
        printer.flush()
    }

    fn print(
        &self,
        printer: &mut Printer<io::Stdout>,
        listed: &Listed<'_>,
        now: Millis,
    ) -> io::Result<()> {
        match self.table.json {
            true => printer.line(&listed.json().to_string()),
            false => printer.push(listed.row(now)),
        }
    }
}
