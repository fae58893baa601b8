//! `repair`: what a person should decide to mend.

use crate::cli::Ended;
use crate::cli::log_args::LogArgs;
use crate::clock;
use crate::dirlog::Mode;
use clap::{Args, Subcommand};
use std::process::ExitCode;
use yardmaster_core::explain::iso;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};
use yardmaster_drive::Halt;
use yardmaster_drive::port::LogError;
use yardmaster_drive::repair::{Answers, ClockRepair, Plan};

/// How often a repair is begun again that another process fenced.
const ATTEMPTS: u32 = 5;

/// Repairs a log that no process can go on with.
#[derive(Args)]
pub struct Repair {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A log whose last `now` has not come yet, since a leader's clock was ahead: no process leads
    /// until then.
    Clock(Clock),
}

/// Shows which cycles were published with a `now` that has not come yet, and what a repair would
/// do. With --execute it fences the leader and publishes the repair: these cycles then count as of
/// the `now` before them, for every process, and the lead is free. Final answers that were given
/// stand. Where there is nothing to repair it says so, and publishes nothing.
///
/// See to it first that the clocks of all hosts are right (NTP), and that no process of an older
/// version runs. A directory must not be in use.
///
/// Examples:
///   yardmaster repair clock --bootstrap-server kafka:9092
///   yardmaster repair clock --bootstrap-server kafka:9092 --execute
#[derive(Args)]
#[command(verbatim_doc_comment)]
struct Clock {
    #[command(flatten)]
    log_args: LogArgs,
    /// Do it.
    #[arg(long)]
    execute: bool,
}

impl Repair {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        match self.what {
            What::Clock(clock) => clock.run(),
        }
    }
}

impl Clock {
    fn run(self) -> Ended {
        let read = self.log_args.read()?;
        self.log_args.check()?;
        let mode = if self.execute { Mode::Write } else { Mode::Read };
        let log = self.log_args.log(&read.topology, mode)?;
        let instance = format!("repair:{}:{}", std::process::id(), clock::now());
        let has_broker = self.log_args.bootstrap_server.is_some();
        let mut repair = ClockRepair::new(log, read.epoch_config()?, instance.clone(), has_broker);
        let Some(plan) = repair.look(clock::now())? else {
            println!("nothing to repair: the now of the last cycle has come");
            return Ok(ExitCode::SUCCESS);
        };
        print(&plan, &repair.answers(&plan)?);
        if !self.execute {
            println!(
                "nothing was done. With --execute: the leader is fenced; a progress record says \
                 that these cycles count as of {}; stores made in them are rebuilt from the \
                 topics; the next process leads at once. Decisions and throttles of these cycles \
                 cannot be verified any more",
                iso(plan.repair.now)
            );
            return Ok(ExitCode::SUCCESS);
        }
        // A standby that finds the lead free fences this repair, then sees that it may not lead.
        let mut attempts = 1..ATTEMPTS;
        let done = loop {
            match repair.execute(&clock::now) {
                Err(Halt::Log(LogError::Fenced(_))) if attempts.next().is_some() => {
                    let log = self.log_args.log(&read.topology, mode)?;
                    repair =
                        ClockRepair::new(log, read.epoch_config()?, instance.clone(), has_broker);
                }
                done => break done?,
            }
        };
        match done {
            Some(done) => println!(
                "repaired: cycles {} to {} count as of {}; the lead is free",
                done.repair.from_cycle,
                done.repair.until_cycle,
                iso(done.repair.now)
            ),
            None => println!("nothing to repair any more: the now of the last cycle has come"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print(plan: &Plan, answers: &Answers) {
    let Plan { repair, epochs, published, real, outputs } = plan;
    println!(
        "cycles {} to {} (epochs {} to {}) were published with a now ahead of real time",
        repair.from_cycle, repair.until_cycle, epochs.0, epochs.1
    );
    println!(
        "the last one has {}, which is {} ahead of {}",
        iso(*published),
        span(published - real),
        iso(*real)
    );
    let finals: u64 = answers.finals.values().sum();
    let kinds: Vec<String> =
        answers.finals.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    println!(
        "they have {outputs} decisions and throttles: {finals} final answers{kinds}, which stand, \
         and {} deferrals",
        answers.deferrals
    );
}

/// A span in its two largest units.
fn span(millis: Millis) -> String {
    let (days, hours) = (millis / DAY, millis % DAY / HOUR);
    let (minutes, seconds) = (millis % HOUR / MINUTE, millis % MINUTE / SECOND);
    match (days, hours, minutes) {
        (1.., ..) => format!("{days} d {hours} h"),
        (_, 1.., _) => format!("{hours} h {minutes} min"),
        (_, _, 1..) => format!("{minutes} min {seconds} s"),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        assert_eq!(span(366 * DAY + 5 * HOUR + 1), "366 d 5 h");
        assert_eq!(span(240_000), "4 min 0 s");
        assert_eq!(span(9_999), "9 s");
    }
}
