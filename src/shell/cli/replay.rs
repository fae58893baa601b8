//! `replay`: the state made again from the log.

mod other_rules;
mod report;

use crate::cli::Ended;
use crate::cli::log_args::{LogArgs, open_store};
use crate::cli::rebuild::{Until, rebuild};
use crate::ports::AnyStore;
use clap::Args;
use other_rules::OtherRules;
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::state::digest::digest;

/// Rebuilds the state, cycle by cycle, and prints the digest it reached. With --verify makes every
/// recorded decision and throttle again and exits 1 if one differs. With --with-topology reports
/// what other policies would have answered: each request on its own, against the state that the
/// recorded decisions led to. With --set it reports what would have been answered if a queue, a
/// link, a share or a parameter were another: who wins, who loses. Nothing is published.
///
/// Examples:
///   yardmaster replay --dir yard
///   yardmaster replay --bootstrap-server kafka:9092 --verify
///   yardmaster replay --dir yard --with-topology new.toml --from 2026-05-01T00:00:00Z
///     --max-changed 1%
///   yardmaster replay --dir yard --set queue.CERN-PROD_UCORE.status=offline
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Replay {
    #[command(flatten)]
    log_args: LogArgs,
    /// Make every recorded decision and throttle again from its cycle, and compare byte for byte.
    #[arg(long, conflicts_with_all = ["with_topology", "set"])]
    verify: bool,
    /// Begin with what the store kept instead of the beginning of the log.
    #[arg(long, conflicts_with = "verify")]
    from_store: bool,
    /// Where the store lies, with --from-store.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
    #[command(flatten)]
    other: OtherRules,
}

impl Replay {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read_log()?;
        let alternative = self.other.alternative(&self.log_args, &read)?;
        let store = match self.from_store {
            true => open_store(&self.log_args.store(self.store.as_deref(), &read.topology.domain))?,
            false => AnyStore::Nothing,
        };
        if let Some(alternative) = alternative {
            return self.other.run(&self.log_args, &read, store, alternative);
        }
        let mut rebuilt = rebuild(&self.log_args, &read, store, self.verify, Until::End, |_| ())?;
        let state = rebuilt.drive.state();
        println!("cycles {}", state.number);
        println!("events {}", rebuilt.events);
        println!("decisions {}", rebuilt.decisions);
        println!("throttles {}", rebuilt.throttles);
        println!("jobs {}", state.jobs.slab.len());
        println!("events/s {:.0}", rebuilt.events as f64 / rebuilt.seconds.max(1e-9));
        println!("digest {}", digest(state));
        if rebuilt.strays > 0 {
            println!("strays {}", rebuilt.strays);
        }
        if !self.verify {
            return Ok(ExitCode::SUCCESS);
        }
        let [same, different, other] = rebuilt.verified;
        println!("verified {same} same, {different} different, {other} not verifiable");
        if rebuilt.unread > 0 {
            let unread = rebuilt.unread;
            println!(
                "  {unread} not verifiable: made under a configuration this version cannot read"
            );
        }
        for difference in rebuilt.differences.drain(..) {
            println!("  {difference}");
        }
        Ok(if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
