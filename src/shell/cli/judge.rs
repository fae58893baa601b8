//! `judge`: what a request would be answered now, without asking.

mod asked;

use crate::cli::json_file::objects;
use crate::cli::log_args::{LogArgs, Read, open_store};
use crate::cli::moment::rebuild_at;
use crate::cli::rebuild::{Until, rebuild};
use crate::cli::supposed::supposed;
use crate::cli::{Ended, Usage};
use crate::ports::AnyStore;
use crate::suppose::SupposedField;
use crate::when::{When, when};
use asked::{Override, with_overrides};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Task;
use yardmaster_core::explain::{Context, explain, explain_fates, iso};
use yardmaster_core::output::decision::Decision;
use yardmaster_core::plain::{Plain, plain_lines};
use yardmaster_core::policy::kind;
use yardmaster_core::state::supposed::Supposed;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::json::record_json;

/// Judges requests against what is known, as the leader would, and prints the answers as `explain`
/// does. Nothing is published, and nothing changes: each request is judged on its own, as if it
/// were the only one. The rules are those of --topology, so other rules can be tried too.
///
/// A request is a JSON object with the fields of schemas/task.avsc (schemas/examples/task.json has
/// examples). A field that is left out has its default; asked_at and changed_at that of the cycle
/// it is judged at.
///
/// Examples:
///   yardmaster judge task.json --dir yard
///   yardmaster judge task.json --dir yard --set core_count=1 --set 'options.t1_weight=-1'
///   yardmaster judge task.json --dir yard --set queue.CERN-PROD_UCORE.status=offline
///   yardmaster judge - --bootstrap-server kafka:9092 --at 2026-05-01T12:00:00Z --format json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Judge {
    /// File with a request, a list of requests, or one a line; `-`: stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    log_args: LogArgs,
    /// A field that is to have another value, in every request: NAME=VALUE, VALUE in JSON or a word
    /// that stands for itself; `null` gives it its default. TOPIC.KEY.FIELD=VALUE supposes that a
    /// configuration record of the log has another value (queue.CERN-PROD.status=offline), and
    /// parameter.NAME=VALUE a run-time parameter. Repeated for several.
    #[arg(long, value_name = "NAME=VALUE", value_parser = Override::parse)]
    set: Vec<Override>,
    /// As it was at the end of the last cycle whose `now` is no later than this: a moment
    /// (2026-05-01T12:00:00Z), an age before the last cycle (30m, 2h, 7d), or ms since 1970.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "from_store")]
    at: Option<When>,
    /// Show each queue that was not chosen, too: the filter that objected, its figures.
    #[arg(long)]
    fates: bool,
    /// How the answers are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Begin with what the store kept instead of the beginning of the log.
    #[arg(long)]
    from_store: bool,
    /// Where the store lies, with --from-store.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As `explain` prints them.
    Text,
    /// A decision record as JSON, one a line.
    Json,
}

impl Judge {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read_log()?;
        if read.topology.answers_offers() {
            return Err(Usage(format!(
                "{}: its policy answers offers of slots, and no request is judged by itself; \
                 `explain JOB` shows why a job of a pool waits",
                read.name
            ))
            .into());
        }
        let mut requests = objects(&self.file, "request", "task")?;
        requests.iter_mut().try_for_each(|(place, json)| {
            with_overrides(json, &self.set).map_err(|why| Usage(format!("{place}: {why}")))
        })?;
        // Mistakes are named before the log is read: the moment is not known then.
        let domain = &read.topology.domain;
        requests.iter().try_for_each(|it| asked::task(it, domain, 1).map(drop))?;
        let fields: Vec<SupposedField> =
            self.set.iter().filter_map(Override::supposed).cloned().collect();
        let supposed = supposed(&fields, &self.log_args, &read)?;
        let engine = self.engine(&read, &supposed)?;
        if engine.state.number == 0 {
            anyhow::bail!(
                "the log has no cycle, so nothing is known to judge by; start `yardmaster run` on \
                 it first"
            );
        }
        let (number, now) = (engine.state.number, engine.state.now);
        eprintln!("as of cycle {number}, {}; nothing was published", iso(now));
        let tasks = requests.iter().map(|it| asked::task(it, domain, now));
        let tasks: Vec<Task> = tasks.collect::<Result<_, _>>()?;
        let epoch_config = read.epoch_config()?;
        for task in &tasks {
            match engine.judge_task(task) {
                Some(decision) => println!("{}", self.shown(decision, &read, &epoch_config)),
                None => {
                    return Err(Usage(format!(
                        "{}: phase is ended, so nothing is asked; give phase asking, or --set \
                         phase=asking",
                        task.subject
                    ))
                    .into());
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// An engine with the state of the log, by the rules of the topology that was given.
    fn engine(&self, read: &Read, supposed: &[Supposed]) -> anyhow::Result<Engine> {
        let rebuilt = match self.at {
            Some(when) => rebuild_at(&self.log_args, read, when)?,
            None => {
                let store = self.log_args.store(self.store.as_deref(), &read.topology.domain);
                let store = match self.from_store {
                    true => open_store(&store)?,
                    false => AnyStore::Nothing,
                };
                rebuild(&self.log_args, read, store, false, Until::End, |_| ())?
            }
        };
        let policies = read.epoch_config()?.policies;
        let mut engine = Engine::new(rebuilt.drive.into_engine().state, policies);
        engine.state.suppose_for_good(supposed);
        engine.make_ready();
        Ok(engine)
    }

    fn shown(&self, decision: Decision, read: &Read, epoch_config: &EpochConfig) -> String {
        if self.format == Format::Json {
            return record_json(&decision).to_string();
        }
        let decision = decision.plain();
        let specs = &read.topology.policies;
        let spec = specs.iter().find(|spec| spec.name == decision.policy);
        let kinds: Vec<_> = spec.and_then(|spec| kind(&spec.kind)).into_iter().collect();
        let mut policies = epoch_config.policies.iter();
        let context = Context {
            kinds: &kinds,
            limits: Some(&epoch_config.setting.limits),
            policy: policies.find(|it| it.hash() == decision.policy_hash),
        };
        let fates = match self.fates {
            true => explain_fates(&decision, &context),
            false => String::new(),
        };
        plain_lines(&format!("{}{fates}", explain(&decision, &context))).into_owned()
    }
}
