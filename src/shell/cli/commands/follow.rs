//! Commands as they are published.

use super::command_log::{CommandLog, News};
use super::list::{Found, table};
use super::listed::{Form, Listed, State, Widths, head};
use super::{Stop, Wants};
use crate::core::cut::Topic;
use crate::core::output::command::Command;
use crate::shell::cli::Ended;
use crate::shell::cli::log_args::LogArgs;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

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
    pub state: Vec<State>,
    pub form: Form,
}

impl Follow {
    /// Runs the verb until it is stopped.
    pub fn run(&self, stop: &Stop) -> Ended {
        let topology = self.log_args.read()?.topology;
        let log = self.log_args.log_of(&topology, &TOPICS)?;
        let mut log = CommandLog::open(log, &topology, &FOLLOWED)?;
        let found = Found::read(log.log(), &self.wants)?;
        let listed = found.listed(&self.state);
        let widths = match self.form {
            Form::Json => {
                listed.iter().try_for_each(|it| print_line(&it.json().to_string()))?;
                Widths::USUAL
            }
            Form::Table if listed.is_empty() => {
                Widths::USUAL.print(&mut io::stdout().lock(), &head())?;
                Widths::USUAL
            }
            Form::Table => table(&mut io::stdout().lock(), &listed)?.or(Widths::USUAL),
        };
        io::stdout().flush()?;
        // Read already, and perhaps again from where the log ended a moment before.
        let place = |it: &Command| (it.cycle, it.number, it.id);
        let mut shown: BTreeSet<_> = found.commands().iter().map(place).collect();
        log.follow()?;
        while stop.goes_on() {
            for news in log.take(LOOK)? {
                let News::Published(command) = news else { continue };
                if self.wants.wants(&command) && !shown.remove(&place(&command)) {
                    self.print(&command, &widths, log.now())?;
                }
            }
            log.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, command: &Command, widths: &Widths, now: i64) -> io::Result<()> {
        let Some(state) = State::of(command, None, now) else { return Ok(()) };
        if !self.state.contains(&State::All) && !self.state.contains(&state) {
            return Ok(());
        }
        let listed = Listed { state, command, answer: None };
        match self.form {
            Form::Json => print_line(&listed.json().to_string()),
            Form::Table => widths.print(&mut io::stdout().lock(), &listed.row()),
        }
    }
}

fn print_line(line: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}
