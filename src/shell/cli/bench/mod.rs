//! `bench`: what this machine does.

mod deadlines;
mod fold;
mod judge;
mod latency;
mod peers;
mod replay;
mod restart;
mod serving;
mod waiting;
mod world;

use crate::cli::Ended;
use crate::cli::log_args::LogArgs;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_sim::load::Load;

/// Live jobs unless others are asked for.
const JOBS: u64 = 1_000_000;

/// Measures on this machine what the line does: folding, judging, replay, restart; with
/// --bootstrap-server also event to committed decision on that Kafka (it makes topics of its own,
/// named `bench.PID`...).
///
/// Examples:
///   yardmaster bench
///   yardmaster bench --only fold --json
///   yardmaster bench --only restart --jobs 20000000 --users 100000
///   yardmaster bench --only latency --bootstrap-server localhost:9092
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Bench {
    #[command(flatten)]
    log_args: LogArgs,
    /// Only these.
    #[arg(long, value_enum)]
    only: Vec<What>,
    /// Live jobs in fold and restart [default: 1000000, and in fold 10,000 and 5,000,000 too].
    #[arg(long)]
    jobs: Option<u64>,
    /// Queues in fold, restart, judge and waiting [default: 230, 230, 300 and 1000, 700].
    #[arg(long)]
    queues: Option<usize>,
    /// Users in fold and restart.
    #[arg(long, default_value_t = 2_000)]
    users: u64,
    /// Requests in waiting [default: 30000 and 100000].
    #[arg(long)]
    requests: Option<usize>,
    /// Rounds of each measurement; the median is shown.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Simulated hours of the log that is replayed.
    #[arg(long, default_value_t = 6)]
    hours: u32,
    /// Events a second, and for how many seconds, in latency.
    #[arg(long, default_value_t = 5_000)]
    rate: u32,
    /// See --rate.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Where logs and stores to be measured are made; cleared afterwards.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// One object of figure name to value instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Decode and fold from memory.
    Fold,
    /// One decision over 300 and over 1000 queues.
    Judge,
    /// Replay of a simulated directory log, or of --dir.
    Replay,
    /// From the start of the process to its first decision, with live jobs in the store.
    Restart,
    /// Decode and fold with and without rules that give commands, each cycle settled as a leader
    /// does it, in turns; only when asked for by name.
    Deadlines,
    /// Folding with and without ten watchers of the page, in turns, over 700 queues; how long their
    /// answers take; only when asked for by name.
    Serving,
    /// 30,000 and 100,000 deferred requests over 700 queues: memory, store, cycles, a restart. It
    /// takes some minutes and up to 2 GB, and runs only when asked for by name.
    Waiting,
    /// Event to committed decision on a Kafka.
    Latency,
    /// A fold other stream engines are measured by, by the PEER_ variables of the environment; runs
    /// until it is stopped, and only when asked for by name. Changed counters are published at
    /// every commit (PEER_COMMIT_MS), or every PEER_TELL_MS milliseconds.
    Peers,
}

/// Figures by name, units in the names.
pub(crate) type Figures = BTreeMap<String, f64>;

impl Bench {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let wants = |what| self.only.is_empty() || self.only.contains(&what);
        let read = self.log_args.read()?;
        if self.only.contains(&What::Peers) {
            peers::run(&self.log_args, &read)?;
            return Ok(ExitCode::SUCCESS);
        }
        let scratch = self.scratch.clone().unwrap_or_else(|| {
            std::env::temp_dir().join(format!("yardmaster-bench-{}", std::process::id()))
        });
        let mut figures = Figures::new();
        let jobs = self.jobs.unwrap_or(JOBS);
        let over = |load: Load| load.over(self.queues.unwrap_or(230) as u64, self.users);
        if wants(What::Fold) {
            let sizes = self.jobs.map_or(vec![10_000, JOBS, 5_000_000], |jobs| vec![jobs]);
            fold::measure(&read, &sizes, &over, self.rounds, &mut figures)?;
        }
        if wants(What::Judge) {
            let sizes = self.queues.map_or(vec![300, 1000], |queues| vec![queues]);
            judge::measure(&read, &sizes, self.rounds, &mut figures)?;
        }
        if self.only.contains(&What::Deadlines) {
            deadlines::measure(&read, jobs, self.rounds, &mut figures)?;
        }
        if self.only.contains(&What::Serving) {
            serving::measure(&read, &scratch, jobs, self.rounds, &mut figures)?;
        }
        if self.only.contains(&What::Waiting) {
            let sizes = self.requests.map_or(vec![30_000, 100_000], |requests| vec![requests]);
            let queues = self.queues.unwrap_or(700);
            waiting::measure(&read, (&sizes, queues), self.rounds, &mut figures)?;
        }
        if wants(What::Replay) {
            replay::measure(
                &self.log_args,
                &read,
                &scratch,
                self.hours,
                self.rounds,
                &mut figures,
            )?;
        }
        if wants(What::Restart) {
            restart::measure(&read, &scratch, (jobs, &over), &mut figures)?;
        }
        if self.log_args.bootstrap_server.is_some() && wants(What::Latency) {
            latency::measure(&self.log_args, &read, self.rate, self.seconds, &mut figures)?;
        }
        if scratch.is_dir() {
            std::fs::remove_dir_all(&scratch)?;
        }
        if self.json {
            println!("{}", serde_json::to_string(&figures)?);
        } else {
            figures.iter().for_each(|(name, value)| println!("{name:<44} {value:>14.3}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// CPU time of this thread; s.
pub(crate) fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec to the place given, which lives throughout it.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed != 0 { 0.0 } else { time.tv_sec as f64 + time.tv_nsec as f64 / 1e9 }
}

/// Resident memory of this process; bytes.
pub(crate) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
