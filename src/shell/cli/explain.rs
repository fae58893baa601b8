//! `explain`: a task's decisions, throttles, and commands about a job, as text.

mod place;
mod process;

use crate::api::{TaskParts, task_text};
use crate::ask::{Ask, in_query};
use crate::cli::Ended;
use crate::cli::compare::{AskedPeriod, comparisons};
use crate::cli::http_args::HttpArgs;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::moment::{AsOf, rebuild_at};
use crate::cli::names::Sought;
use crate::cli::outputs::{ReadCommands, newest, outputs, read_commands, texts_of, without_strays};
use crate::cli::rebuild::{Until, rebuild};
use crate::dirlog::Mode;
use crate::named::{owner_text, waits_text};
use crate::ports::AnyStore;
use crate::question::TaskLook;
use crate::waiting::Waiting;
use crate::when::{When, when};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use place::place_text;
use process::{job_in, other_in};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::comparison::Comparison;
use yardmaster_core::cut::Topic;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::explain::{
    Context, NameStanding, SITES_SHOWN, explain, explain_command, explain_comparison,
    explain_fates, explain_job, explain_pool_name, explain_throttle, join, throttle_of,
};
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::output::throttle::{SubjectKind, Throttle};
use yardmaster_core::plain::{Plain, plain_lines};
use yardmaster_core::policy::{Flavour, PolicySpec, kind, kinds};
use yardmaster_core::unit::Millis;
use yardmaster_core::view::PoolGlance;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_drive::port::Log;

/// Explains why a task's work went where it went, or why it waits: first where its jobs are, if a
/// process runs (or with --at), then the decisions: counts per filter, the best
/// candidates with every factor of their weight, what a deferral waits for. Of a throttle (of a
/// user, a working group, a task, a share) it shows the rule, what was measured, since when, until
/// when, and what lifts it; of a task's owner too, where its task waits for that. Of a job it shows
/// the commands about it (the rule, the clock that ran out, what became of it), and how it stands:
/// when each rule is due for it, and what holds that back. Of a queue, site or cluster it shows
/// what it has, which filters refused it in the newest 500 decisions that name it, with their
/// figures, and what was sent there; of a share its part and who uses it. Of a request that its
/// client answered by a broker of its own as well it shows both answers. Read from the decisions,
/// throttles, commands and comparisons in the log; where several have the same subject, attempt and
/// ordinal, copies and those that are no output of the cycle they claim are passed over. Exits 1
/// when there is none of that name.
///
/// Examples:
///   yardmaster explain 12345 --dir yard
///   yardmaster explain 12345/3 --all --fates --bootstrap-server kafka:9092
///   yardmaster explain "Jane Physicist" --bootstrap-server kafka:9092
///   yardmaster explain group/phys-higgs --bootstrap-server kafka:9092
///   yardmaster explain 6500000123 --dir yard
///   yardmaster explain queue/CERN-PROD_UCORE --dir yard
///   yardmaster explain 'share/MC Default' --dir yard
///   yardmaster explain 12345 --dir yard --at 2026-05-01T12:00:00Z
#[derive(Args)]
#[command(verbatim_doc_comment)]
#[command(mut_arg("http", |http| http.conflicts_with_all(["dir", "bootstrap_server"])))]
pub struct Explain {
    /// Task, workflow, subject (task/chunk), job, slot offer, user, working group, queue, site,
    /// cluster or share; user/NAME, group/NAME, task/NAME, queue/NAME, site/NAME and share/NAME
    /// state which.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    log_args: LogArgs,
    /// Every decision and every throttle record, not only the last one.
    #[arg(long)]
    all: bool,
    /// Where the store lies: a running process, whose address is there, is asked how a job stands.
    #[arg(long, value_name = "DIR", help_heading = "Store", conflicts_with = "http")]
    store: Option<PathBuf>,
    #[command(flatten)]
    http_args: HttpArgs,
    /// As it was at the end of the last cycle whose `now` is no later than this: a moment
    /// (2026-05-01T12:00:00Z), an age before the last cycle (30m, 2h, 7d), or ms since 1970.
    /// From the log, and exact.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "store")]
    at: Option<When>,
    /// Show each queue that was not chosen, too: the filter that objected, its figures. Of a job of
    /// a pool that waits: every site, not only the first 20.
    #[arg(long)]
    fates: bool,
}

impl Explain {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        if let Some(process) = self.http_args.process()? {
            return self.of_process(&process);
        }
        let read = self.log_args.read_log()?;
        let Looked { decisions, throttles, commands, epoch_config, now, until, strays } =
            self.look(&read)?;
        if strays > 0 {
            eprintln!(
                "passed over {strays} records that are copies, or no outputs of the cycles they \
                 claim: no leader published them"
            );
        }
        // What is no task, user or group may be a job. A workflow of a pool stands somehow whatever
        // was decided of its jobs.
        let is_of_pool = decisions.iter().any(|it| it.answers_offer() && it.task == self.name);
        // A throttle of a share is of it and a resource type, which together are no place.
        let is_apart = |it: &Throttle| [SubjectKind::Task, SubjectKind::Share].contains(&it.kind);
        let is_apart = throttles.values().flatten().any(is_apart);
        let job = match is_of_pool || decisions.is_empty() && !is_apart {
            true => self.standing(&read)?,
            false => None,
        };
        let is_known = job.is_some() || !commands.commands.is_empty();
        let compared = self.comparisons(&read, until);
        if decisions.is_empty() && throttles.is_empty() && compared.is_empty() && !is_known {
            eprintln!(
                "no decision about, no throttle of and no command about {:?} in the log; give a \
                 task, task/chunk, a job, a user, a working group, a queue, a site, a share or \
                 share/NAME/RESOURCE TYPE",
                self.name
            );
            return Ok(ExitCode::FAILURE);
        }
        if let Some(text) = self.task(&read, &decisions, &commands)? {
            println!("{}", plain_lines(&text));
        }
        let shown = self.shown(&decisions);
        let left_out = decisions.len() - shown.len();
        if left_out > 0 && shown.iter().any(|it| it.answers_offer()) {
            eprintln!("{left_out} earlier answers are left out; --all shows them");
        }
        for decision in shown {
            println!("{}", self.text(decision, &read, epoch_config.get(&decision.epoch)));
        }
        for words in throttles.into_values() {
            let shown = if self.all { 0 } else { words.len().saturating_sub(1) };
            let words = words[shown..].iter().map(|it| it.clone().plain());
            words.for_each(|it| println!("{}", explain_throttle(&it, now)));
        }
        if let Some(job) = job {
            println!("{}", plain_lines(&job));
        }
        let ReadCommands { commands, answers, .. } = commands;
        for (at, command) in commands.iter().enumerate() {
            let is_last = commands.get(at + 1).is_none_or(|next| next.id != command.id);
            if self.all || is_last {
                let answer = answers.get(&command.id.0);
                let text = explain_command(&command.clone().plain(), answer, now);
                println!("{}", plain_lines(&text));
            }
        }
        compared.iter().for_each(|it| println!("{}", plain_lines(&explain_comparison(it))));
        Ok(ExitCode::SUCCESS)
    }

    /// Requests that were answered by another broker as well: all, or of each attempt the last.
    /// Where their topic cannot be read they are left out, and it is reported why.
    fn comparisons(&self, read: &Read, until: Option<Millis>) -> Vec<Comparison> {
        let found = self.log_args.comparison_log(&read.topology).and_then(|log| {
            let Some(mut log) = log else { return Ok(Vec::new()) };
            let asked = AskedPeriod { from: None, until };
            let mut found = Vec::new();
            comparisons(&mut log, &read.topology.domain, asked, |it| {
                if it.is_about(&self.name) {
                    found.push(it);
                }
            })?;
            Ok(found)
        });
        let mut found = found.unwrap_or_else(|error| {
            eprintln!("comparisons with another broker are left out: {error:#}");
            Vec::new()
        });
        found.sort_by(|a, b| b.place().cmp(&a.place()));
        if !self.all {
            found.dedup_by(|a, b| (&a.subject, a.attempt) == (&b.subject, b.attempt));
        }
        found.reverse();
        found
    }

    /// Which decisions are shown: all, or of each request the last. Answers to offers are each
    /// about another job: of an offer, and of a job, all are; of a workflow the last alone.
    fn shown<'a>(&self, decisions: &'a [Decision]) -> Vec<&'a Decision> {
        let is_shown = |(at, decision): &(usize, &Decision)| {
            let next = decisions.get(at + 1);
            if decision.answers_offer() {
                let is_matched = decision.matched.as_ref().is_some_and(|it| it.job == self.name);
                return decision.subject == self.name || is_matched || next.is_none();
            }
            next.is_none_or(|next| {
                (&next.subject, next.attempt) != (&decision.subject, decision.attempt)
            })
        };
        let decisions = decisions.iter().enumerate();
        decisions.filter(|it| self.all || is_shown(it)).map(|(_, decision)| decision).collect()
    }

    /// A decision as text, by what was in force in its epoch.
    fn text(&self, decision: &Decision, read: &Read, in_force: Option<&EpochConfig>) -> String {
        let kinds = kinds_of(&decision.policy, &read.topology.policies);
        let context = Context {
            kinds: &kinds,
            limits: in_force.map(|it| &it.setting.limits),
            policy: in_force
                .and_then(|it| it.policies.iter().find(|it| it.hash() == decision.policy_hash)),
        };
        let decision = &decision.clone().plain();
        let fates = match self.fates {
            true => explain_fates(decision, &context),
            false => String::new(),
        };
        plain_lines(&format!("{}{fates}", explain(decision, &context))).into_owned()
    }

    /// How a job, queue, site or share stands: asked of the running process; without one, as of the
    /// end of the log, which is replayed for that.
    fn standing(&self, read: &Read) -> anyhow::Result<Option<String>> {
        if let Some(when) = self.at {
            let rebuilt = rebuild_at(&self.log_args, read, when)?;
            return self.standing_in(rebuilt.drive.engine(), read);
        }
        let dir = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        if dir.is_dir()
            && let Some(process) = Ask::of_store(&dir, self.http_args.proof()?)
        {
            let name = in_query(&self.name);
            let as_job = format!("/api/v1/explain?kind=job&name={name}");
            let as_any = format!("/api/v1/explain?name={name}");
            // A process that is gone answers nothing; one that knows no such job is asked for a
            // place of the name.
            if let Some(answer) = process.known(&as_job)? {
                let pool = answer["pool"].as_str().map(str::to_owned);
                return Ok(job_in(&answer["job"], self.fates)
                    .or(pool)
                    .or(other_in(&process, &as_any)?));
            }
        }
        let rebuilt = rebuild(&self.log_args, read, AnyStore::Nothing, false, Until::End, |_| ())?;
        self.standing_in(rebuilt.drive.engine(), read)
    }

    /// How a job, place or owner stands in a state that was rebuilt.
    fn standing_in(&self, engine: &Engine, read: &Read) -> anyhow::Result<Option<String>> {
        match self.job_of(engine) {
            Some(job) => Ok(Some(job)),
            None => match place_text(&self.log_args, read, engine, &self.name)? {
                None => self.owner_of(engine, read),
                place => Ok(place),
            },
        }
    }

    /// Where the jobs of a task are, what its requests waited for, and what was commanded: asked of
    /// the running process, or from the log with --at.
    fn task(
        &self,
        read: &Read,
        decisions: &[Decision],
        commands: &ReadCommands,
    ) -> anyhow::Result<Option<String>> {
        let of_task: Vec<&Decision> = decisions.iter().filter(|it| it.task == self.name).collect();
        if of_task.is_empty() {
            return Ok(None);
        }
        if let Some(when) = self.at {
            let rebuilt = rebuild_at(&self.log_args, read, when)?;
            let engine = rebuilt.drive.engine();
            let look = TaskLook::of(&engine.state, &self.name);
            return Ok(Some(task_text(&TaskParts {
                task: &self.name,
                standing: &NameStanding::of(engine, &self.name),
                look: &look,
                decisions: of_task,
                commands: commands.commands.iter().rev().collect(),
            })));
        }
        let dir = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        let process = Ask::of_store(&dir, self.http_args.proof()?);
        let path = format!("/api/v1/task?name={}", in_query(&self.name));
        let reply = process.as_ref().map(|process| process.get(&path)).transpose()?.flatten();
        match (reply, process) {
            (Some(reply), _) if reply.status == 200 => {
                let answer: Value = serde_json::from_str(&reply.text())?;
                return Ok(answer["text"].as_str().map(str::to_owned));
            }
            // The process knows no such task, or is one of before.
            (Some(reply), _) if reply.status == 404 => {}
            (Some(reply), Some(process)) => {
                eprintln!("where its jobs are is left out: {}", process.refused(&path, &reply));
            }
            _ => eprintln!(
                "where its jobs are is left out: no process answers at {}; give --at 0s, and it is \
                 read from the log, as of its end",
                dir.display()
            ),
        }
        Ok(None)
    }

    /// How a job, or a workflow or user of a pool, stands in a state that was rebuilt.
    fn job_of(&self, engine: &Engine) -> Option<String> {
        let sites_max = if self.fates { usize::MAX } else { SITES_SHOWN };
        if let Some(job) = explain_job(engine, &self.name, sites_max) {
            return Some(job.text);
        }
        let mut text = explain_pool_name(engine, &self.name)?;
        let waiting = Waiting::of(engine, PoolGlance::of(engine).as_ref());
        let row = waiting.rows.iter().find(|row| row.task == self.name);
        text.extend(row.map(|row| waits_text(row, waiting.now)));
        Some(text)
    }

    /// A user or working group in a state that was rebuilt.
    fn owner_of(&self, engine: &Engine, read: &Read) -> anyhow::Result<Option<String>> {
        let pseudonyms = read.pseudonyms()?;
        let stated = ["user/", "group/"].iter().find_map(|kind| self.name.strip_prefix(kind));
        let name = stated.unwrap_or(&self.name);
        let pseudonym = pseudonyms.map(|pseudonyms| pseudonyms.of(name));
        let names = [Some(name), pseudonym.as_deref()].into_iter().flatten();
        let text = |name| owner_text(&NameStanding::of(engine, name), name);
        Ok(names.filter_map(text).next())
    }

    /// Decisions about what is named, in order; throttles of it, and of those that its
    /// decisions name, by (rule, subject) and in order.
    fn look(&self, read: &Read) -> anyhow::Result<Looked> {
        let sought = Sought::new(&self.name, read.pseudonyms()?.as_deref());
        sought.note();
        let mut log = self.log_args.log(&read.topology, Mode::Read)?;
        let as_of = match self.at {
            Some(when) => Some(AsOf::find(&mut log, &read.topology.domain, when)?),
            None => None,
        };
        let until = as_of.map_or(u64::MAX, |it| it.cycle);
        let found = outputs(&mut log, Topic::Decision, |event| {
            let Event::Output(Output::Decision(it)) = event else { return None };
            let is_matched = it.matched.as_ref().is_some_and(|it| it.job == self.name);
            let is_asked = it.task == self.name || it.subject == self.name || is_matched;
            (is_asked && it.cycle <= until).then_some(*it)
        })?;
        let key = |it: &Decision| (it.subject.clone(), it.attempt, it.ordinal);
        let (mut found, mut strays) = without_strays(&mut log, found, key, |it| it.cycle)?;
        join(&mut found);
        // Answers to several offers, and rejections of jobs, in the order in which they were made.
        if found.iter().any(Decision::answers_offer) {
            found.sort_by_key(|it| (it.cycle, it.number));
        }
        let notes = found.iter().flat_map(|decision| &decision.notes);
        let named: BTreeSet<(&str, &str)> = notes.filter_map(|note| throttle_of(note)).collect();
        let words = outputs(&mut log, Topic::Throttle, |event| {
            let Event::Output(Output::Throttle(throttle)) = event else { return None };
            let key = throttle.key();
            let is_asked = sought.is(&throttle.subject) || sought.is(&key);
            let is_named = named.contains(&(throttle.rule.as_str(), key.as_str()));
            (throttle.cycle <= until && (is_asked || is_named)).then_some(*throttle)
        })?;
        let key = |it: &Throttle| (it.name(), it.cycle, it.ordinal);
        let (words, more) = without_strays(&mut log, words, key, |it| it.cycle)?;
        strays += more;
        let mut throttles = Throttles::new();
        for throttle in words {
            throttles.entry(throttle.name()).or_default().push(throttle);
        }
        let is_about = |it: &Command| it.subject == self.name || it.about().contains(&self.name);
        let wants = |it: &Command| it.cycle <= until && is_about(it);
        let answered = as_of.map_or(Millis::MAX, |it| it.now);
        let commands = read_commands(&mut log, answered, wants)?;
        strays += commands.strays;
        let newest = newest(&mut log)?;
        let last = newest.as_ref().map_or(0, |progress| progress.now);
        let now = as_of.map_or(last, |it| it.now);
        let epochs = found.iter().map(|decision| decision.epoch).collect();
        let epoch_config = epoch_configs_of(&mut log, read, newest, epochs)?;
        if let Some(as_of) = as_of {
            as_of.report("as of");
        }
        let until = as_of.map(|it| it.asked.saturating_add(1));
        Ok(Looked { decisions: found, throttles, commands, epoch_config, now, until, strays })
    }
}

/// Records of a name in the log.
struct Looked {
    decisions: Vec<Decision>,
    throttles: Throttles,
    commands: ReadCommands,
    /// By epoch of a decision, the topology that was in force, where the log has it.
    epoch_config: BTreeMap<u64, EpochConfig>,
    /// The `now` of the last cycle, or of the one as of which it is explained.
    now: Millis,
    /// With --at, the end of what was asked by then.
    until: Option<Millis>,
    /// How many records were passed over.
    strays: usize,
}

/// Throttles by (rule, subject).
type Throttles = BTreeMap<String, Vec<Throttle>>;

/// The kinds that explain a policy's filters: its own first, then all there are.
pub(super) fn kinds_of(policy: &str, policies: &[PolicySpec]) -> Vec<&'static Flavour> {
    let own = policies.iter().find(|spec| spec.name == policy).and_then(|spec| kind(&spec.kind));
    own.into_iter().chain(kinds().iter().copied()).collect()
}

/// The topologies that were in force in some epochs. The one given is that of the newest epoch
/// where its hash is the published one; all others are read from the first cycles of their epochs.
/// One that cannot be read is left out: nothing in a text is taken from it then.
pub(super) fn epoch_configs_of(
    log: &mut impl Log,
    read: &Read,
    newest: Option<Progress>,
    mut epochs: BTreeSet<u64>,
) -> anyhow::Result<BTreeMap<u64, EpochConfig>> {
    let mut epoch_config = BTreeMap::new();
    if let (Some(newest), Ok(given)) = (newest, read.epoch_config())
        && newest.policy_hash == given.hash
        && epochs.remove(&newest.epoch)
    {
        epoch_config.insert(newest.epoch, given);
    }
    let texts = texts_of(log, &read.topology.domain, epochs)?;
    let published =
        |(epoch, text): (u64, String)| Some((epoch, EpochConfig::of("progress", &text).ok()?));
    epoch_config.extend(texts.into_iter().filter_map(published));
    Ok(epoch_config)
}
