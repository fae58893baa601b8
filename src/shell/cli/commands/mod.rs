//! `commands`: what was commanded, what became of it, and what is held back; and a program that
//! carries it out.

mod answer;
mod command_log;
mod exec;
mod follow;
mod list;
mod listed;
mod program;
mod switch;

use crate::cli::log_args::LogArgs;
use crate::cli::stop::Stop;
use crate::cli::table::{TableArgs, terminal_width};
use crate::cli::{Ended, Usage};
use clap::Args;
use exec::Exec;
use follow::Follow;
use listed::{CommandState, USUAL, columns};
use program::Program;
use std::sync::Arc;
use std::time::Duration;
use yardmaster_core::output::command::Command;

/// Text of `--help` below the flags.
const HELP: &str = "\
Lists commands: those that are open, and what the governor holds back; with --state others too.
They are read from the topics `command` and `outcome`, so no process need run. Copies, and records
that no leader published, are passed over. With --follow it goes on with what is published.

With --exec each open command is handed to a program as JSON on stdin, one line, as --json prints
it; its id and kind also stand in YARDMASTER_COMMAND_ID and YARDMASTER_COMMAND_KIND. What became of
it is published on topic `outcome`:
  exit code 0       accepted
  exit code 3       refused: never to be tried again
  any other end     failed (also: a signal, or longer than --timeout); the leader repeats the
                    command later, under the same id
The reason is the last line of stderr, else of stdout. Nothing is begun while the kill switch is on.
SIGINT and SIGTERM: programs under way are waited for, and their outcomes published.

At least once: if this process dies before an outcome is acknowledged, the next one hands the
command over again. The program must be idempotent by the id.

Examples:
  yardmaster commands --dir yard
  yardmaster commands --state all --rule T9 --bootstrap-server kafka:9092
  yardmaster commands --state dry-run --json --bootstrap-server kafka:9092
  yardmaster commands --follow --bootstrap-server kafka:9092
  yardmaster commands --follow --bootstrap-server kafka:9092 --exec ./obey.py";

/// Commands: listed, followed, carried out.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Commands {
    #[command(flatten)]
    log_args: LogArgs,
    /// In which state; several separated by commas. With --follow open, held-back, dry-run or all.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["open", "held-back"])]
    state: Vec<CommandState>,
    /// Only commands of this rule (T9, fast_rebrokerage ...).
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Only commands about jobs of this queue.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only the N that were published last.
    #[arg(long, value_name = "N", help_heading = "Output", conflicts_with = "follow")]
    last: Option<usize>,
    #[command(flatten)]
    table: TableArgs,
    /// Go on with commands as they are published, until SIGINT or SIGTERM.
    #[arg(long)]
    follow: bool,
    /// A process does not list them.
    #[arg(long, value_name = "HOST:PORT", hide = true)]
    http: Option<String>,
    /// Hand each open command to this program, and publish what became of it. The last flag: all
    /// that follows are arguments of the program.
    #[arg(
        long,
        value_names = ["PROGRAM", "ARG"],
        num_args = 1..,
        allow_hyphen_values = true,
        requires = "follow",
        conflicts_with = "state"
    )]
    exec: Vec<String>,
    /// How long the program may take for a command; s. After that it is ended with all processes of
    /// its group, and the outcome is failed.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=86_400),
        requires = "exec"
    )]
    timeout: u64,
    /// How many commands are carried out side by side. Those about one subject never are.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u64).range(1..=64),
        requires = "exec"
    )]
    parallel: u64,
}

impl Commands {
    /// Whether commands are handed to a program.
    pub fn is_exec(&self) -> bool {
        !self.exec.is_empty()
    }

    /// Runs the verb.
    pub fn run(self) -> Ended {
        if let Some(address) = &self.http {
            return Err(Usage(format!(
                "--http {address}: what became of commands is in the log: give --dir DIR or \
                 --bootstrap-server HOST:PORT; `attention --http {address}` shows what is held \
                 back, `explain JOB --http {address}` the commands about a job"
            ))
            .into());
        }
        let wants = Wants { rule: self.rule, queue: self.queue };
        let all = columns();
        self.table.check(all.iter().map(|it| it.name.as_str()))?;
        if let Some((path, args)) = self.exec.split_first() {
            let timeout = Duration::from_secs(self.timeout);
            let program = Arc::new(Program::find(path, args, timeout)?);
            let parallel = usize::try_from(self.parallel).unwrap_or(1);
            let sheet = self.table.sheet(all, terminal_width()).at_least(&USUAL);
            let layout = (!self.table.json).then(|| sheet.layout(&[]));
            let exec = Exec { log_args: self.log_args, wants, layout, program, parallel };
            return exec.run(&Stop::on_signals()?);
        }
        if !self.follow {
            return list::list(&self.log_args, &wants, &self.state, self.last, &self.table);
        }
        let mut later = self.state.iter().filter(|state| state.comes_later());
        if let Some(state) = later.next() {
            return Err(Usage(format!(
                "--follow --state {}: a command is shown when it is published, and becomes that \
                 later; give open, held-back, dry-run or all",
                state.name()
            ))
            .into());
        }
        let Commands { log_args, state, table, .. } = self;
        Follow { log_args, wants, state, table }.run(&Stop::on_signals()?)
    }
}

/// Which commands are looked at.
struct Wants {
    rule: Option<String>,
    queue: Option<String>,
}

impl Wants {
    /// Whether a command is looked at.
    fn wants(&self, command: &Command) -> bool {
        self.rule.as_ref().is_none_or(|rule| *rule == command.rule)
            && self.queue.as_ref().is_none_or(|queue| *queue == command.queue)
    }
}
