//! The command line: one file per verb.

mod archive;
mod audit;
#[cfg(feature = "simulation")]
mod bench;
mod changes;
mod commands;
mod compare;
mod complaints;
#[cfg(feature = "simulation")]
mod conformance;
mod counters;
mod cycles;
#[cfg(feature = "simulation")]
mod demo;
mod explain;
mod health;
mod help;
mod http_args;
mod import;
mod intake;
mod json_file;
mod judge;
mod letters;
mod log_args;
mod log_topology;
mod meaning;
mod moment;
mod names;
mod outputs;
mod panda;
mod pause;
mod progress;
mod publish;
mod rebuild;
mod record_publisher;
mod repair;
mod replay;
mod run;
mod schemas;
mod secret;
mod shift;
mod stop;
mod submit;
mod supposed;
mod table;
mod tail;
mod top;
mod topology;
mod units;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::process::ExitCode;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use yardmaster_core::policy::{Flavour, register};

/// Brokers grid jobs from events on a bus: counters that are right, decisions that can be made
/// again.
#[derive(Parser)]
#[command(name = "yardmaster", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Level of messages on stderr: error, warn, info, debug; TARGET=LEVEL for one part, with
    /// commas.
    #[arg(
        long,
        global = true,
        default_value = "info",
        env = "YARDMASTER_LOG",
        value_name = "LEVEL"
    )]
    log: String,
    /// Form of messages on stderr: text, or json: an object a line, for programs that gather logs.
    #[arg(long, global = true, value_name = "FORM", value_enum, default_value_t = LogFormat::Text)]
    #[arg(env = "YARDMASTER_LOG_FORMAT")]
    log_format: LogFormat,
}

/// The form of messages on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// The verbs. Each has its line in the list of `--help` here; its own help is that of its type.
#[derive(Subcommand)]
enum Verb {
    #[command(about = "Fold what happens, judge what is asked, publish the answers")]
    Run(run::Run),
    #[command(about = "Ask for a cluster's queue for a job that xRSL describes")]
    Submit(submit::Submit),
    #[command(about = "Check records in JSON and publish them")]
    Publish(publish::Publish),
    #[cfg(feature = "simulation")]
    #[command(about = "A simulated grid in a closed loop; needs nothing else")]
    Demo(demo::Demo),
    #[command(about = "Rebuild the state from the log; prints its digest")]
    Replay(replay::Replay),
    #[command(about = "Why is this pending, why there, why not elsewhere")]
    Explain(explain::Explain),
    #[command(about = "What a request would be answered now, without asking")]
    Judge(judge::Judge),
    #[command(about = "Commands to act on jobs: open, carried out, held back")]
    Commands(commands::Commands),
    #[command(about = "How often another broker's answers agree with ours, and why not")]
    Compare(compare::Compare),
    #[command(about = "Decisions, throttles and commands as they are published")]
    Tail(tail::Tail),
    #[command(about = "A live view of a running process: queues, shares, decisions")]
    Top(top::Top),
    #[command(about = "Things that need a person, the most urgent first; sites")]
    Attention(shift::attention::AttentionVerb),
    #[command(about = "Requests that wait: why, since when, what would let them go")]
    Waiting(shift::waiting::WaitingVerb),
    #[command(about = "Who is throttled, since when, until when, what lifts it")]
    Throttles(shift::throttles::Throttles),
    #[command(about = "Who uses how much: shares against their targets, users, groups")]
    Usage(shift::usage::UsageVerb),
    #[command(about = "Recount everything and compare with the counters")]
    Audit(audit::Audit),
    #[command(about = "Copy all topics of a Kafka to a directory log")]
    Archive(archive::Archive),
    #[command(about = "What changed: statuses, limits, facts, policies, lead, throttles")]
    Changes(changes::ListChanges),
    #[command(about = "The counters as they are, or as they were at a moment")]
    Counters(counters::Counters),
    #[command(about = "JSON of other systems becomes records: queues, links, shares ...")]
    Import(import::Import),
    #[command(about = "JSON of PanDA, Rucio and Harvester on a Kafka becomes records")]
    Intake(intake::Intake),
    #[command(about = "Records that could not be read: list, show, publish again")]
    DeadLetters(Box<letters::DeadLetters>),
    #[command(about = "Mend a log that no process can go on with")]
    Repair(repair::Repair),
    #[command(about = "Describe, check, apply the topology")]
    Topology(topology::Topology),
    #[command(about = "Check what PanDA's database needs so that its changes come")]
    Panda(panda::Panda),
    #[cfg(feature = "simulation")]
    #[command(about = "Recorded cases of PanDA's brokers, judged by our policies")]
    Conformance(conformance::Conformance),
    #[command(about = "Is a running process ready: exit code 0 or 1, for health checks")]
    Health(health::Health),
    #[cfg(feature = "simulation")]
    #[command(about = "Measure this machine")]
    Bench(bench::Bench),
    #[command(about = "What a shell completes verbs and flags by")]
    Completions(help::Completions),
    #[command(about = "Man pages")]
    Man(help::Man),
}

/// How a verb ended, when it did not fail.
pub(crate) type Ended = anyhow::Result<ExitCode>;

/// A mistake of the caller: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub String);

/// The program as clap has it.
fn program() -> clap::Command {
    help::with_groups(Cli::command())
}

/// Runs the program with kinds of policy of the caller's beside those built in.
pub fn main_with(own: &[&'static Flavour]) -> ExitCode {
    match register(own) {
        Ok(()) => main(),
        Err(error) => {
            eprintln!("yardmaster: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::from_arg_matches(&program().get_matches()).unwrap_or_else(|error| error.exit());
    if let Err(error) = start_log(&cli.log, cli.log_format) {
        eprintln!("yardmaster: --log {:?}: {error}; give error, warn, info or debug", cli.log);
        return ExitCode::from(2);
    }
    // A program that commands are handed to need not read them, and a process that serves, or that
    // hands jobs over, goes on.
    let goes_on = match &cli.verb {
        Verb::Commands(verb) => verb.is_exec(),
        Verb::Run(verb) => !verb.is_dry_run(),
        Verb::Submit(verb) => verb.is_waiting(),
        _ => false,
    };
    if !goes_on {
        end_with_the_reader();
    }
    let ended = match cli.verb {
        Verb::Run(verb) => verb.run(),
        Verb::Submit(verb) => verb.run(),
        Verb::Publish(verb) => verb.run(),
        #[cfg(feature = "simulation")]
        Verb::Demo(verb) => verb.run(),
        Verb::Replay(verb) => verb.run(),
        Verb::Explain(verb) => verb.run(),
        Verb::Judge(verb) => verb.run(),
        Verb::Commands(verb) => verb.run(),
        Verb::Compare(verb) => verb.run(),
        Verb::Tail(verb) => verb.run(),
        Verb::Top(verb) => verb.run(),
        Verb::Attention(verb) => verb.run(),
        Verb::Waiting(verb) => verb.run(),
        Verb::Throttles(verb) => verb.run(),
        Verb::Usage(verb) => verb.run(),
        Verb::Audit(verb) => verb.run(),
        Verb::Archive(verb) => verb.run(),
        Verb::Changes(verb) => verb.run(),
        Verb::Counters(verb) => verb.run(),
        Verb::Import(verb) => verb.run(),
        Verb::Intake(verb) => verb.run(),
        Verb::DeadLetters(verb) => verb.run(),
        Verb::Repair(verb) => verb.run(),
        Verb::Topology(verb) => verb.run(),
        Verb::Panda(verb) => verb.run(),
        #[cfg(feature = "simulation")]
        Verb::Conformance(verb) => verb.run(),
        Verb::Health(verb) => verb.run(),
        #[cfg(feature = "simulation")]
        Verb::Bench(verb) => verb.run(),
        Verb::Completions(verb) => verb.run(program()),
        Verb::Man(verb) => verb.run(program()),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            eprintln!("yardmaster: {error:#}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// A verb that prints ends quietly when its output is not read on (`| head`), as other programs do.
fn end_with_the_reader() {
    // SAFETY: called once, before any other thread is started; the default action is restored,
    // and no handler of ours is involved.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

fn start_log(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = log_filter(level)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(|| progress::Stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(progress::is_drawn()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    tracing_subscriber::registry().with(lines).with(filter).init();
    Ok(())
}

/// Filter of log messages: a level, or `TARGET=LEVEL` for one part, several separated by commas. A
/// word that is no level is refused: the library takes it for a target, and would then log nothing
/// else.
fn log_filter(text: &str) -> anyhow::Result<Targets> {
    let mut filter = Targets::new();
    for directive in text.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        let (target, level) = match directive.rsplit_once('=') {
            Some((target, level)) => (Some(target), level),
            None => (None, directive),
        };
        // It takes numbers and nothing for levels too.
        let word = level.starts_with(|c: char| c.is_ascii_alphabetic());
        let known = word.then(|| level.parse::<LevelFilter>().ok()).flatten();
        let known = known.ok_or_else(|| anyhow::anyhow!("{level:?} is no level"))?;
        filter = match target {
            Some(target) if target.contains('[') => {
                anyhow::bail!("{target:?} is no target: what is logged is not picked by span")
            }
            Some(target) => filter.with_target(target, known),
            None => filter.with_default(known),
        };
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_log_level_is_refused() {
        for good in ["info", "WARN", "debug,rdkafka=off", "warn, yardmaster_shell::kafka=debug"] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for bad in ["loud", "info,rdkafka", "rdkafka=loud", "inof", "3", "rdkafka=", "run[x]=debug"]
        {
            assert!(log_filter(bad).is_err(), "{bad}");
        }
    }
}
