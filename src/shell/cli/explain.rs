//! `explain`: a task's decisions, and throttles, as text.

use crate::core::cut::{Cut, Topic};
use crate::core::event::Event;
use crate::core::explain::{Context, explain, explain_fates, explain_throttle, join, throttle_of};
use crate::core::id::hash;
use crate::core::output::Output;
use crate::core::output::decision::Decision;
use crate::core::output::progress::Progress;
use crate::core::output::throttle::Throttle;
use crate::core::policy::{Flavour, PolicySpec, kind, kinds};
use crate::core::unit::Millis;
use crate::drive::epoch_config::EpochConfig;
use crate::drive::port::{Batch, Log};
use crate::shell::cli::Ended;
use crate::shell::cli::log_args::{LogArgs, Read};
use crate::shell::dirlog::Mode;
use crate::wire::avro::{Arena, Codec, unframed};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

/// Explains why a task's work went where it went, or why it waits: counts per filter, the best
/// candidates with every factor of their weight, what a deferral waits for. Of a throttle (of a
/// user, a working group, a task) it shows the rule, what was measured, since when, until when, and
/// what lifts it; of a task's owner too, where its task waits for that. Read from the decisions and
/// throttles in the log; where several have the same subject, attempt and ordinal, copies and those
/// that are no output of the cycle they claim are passed over. Exits 1 when there is none of that
/// name.
///
/// Examples:
///   yardmaster explain 12345 --dir yard
///   yardmaster explain 12345/3 --all --fates --bootstrap-server kafka:9092
///   yardmaster explain "Jane Physicist" --bootstrap-server kafka:9092
///   yardmaster explain group/phys-higgs --bootstrap-server kafka:9092
#[derive(Args)]
pub struct Explain {
    /// Task, subject (task/chunk), user or working group; user/NAME, group/NAME and task/NAME state
    /// which.
    name: String,
    #[command(flatten)]
    log_args: LogArgs,
    /// Every decision and every throttle record, not only the last one.
    #[arg(long)]
    all: bool,
    /// What became of each queue that was not chosen, too: the filter that objected, its figures.
    #[arg(long)]
    fates: bool,
}

impl Explain {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        let Looked { decisions, throttles, epoch_config, now, strays } = self.look(&read)?;
        if strays > 0 {
            eprintln!(
                "passed over {strays} records that are copies, or no outputs of the cycles they \
                 claim: no leader published them"
            );
        }
        if decisions.is_empty() && throttles.is_empty() {
            eprintln!(
                "no decision about and no throttle of {:?} in the log; give a task, task/chunk, a \
                 user or a working group",
                self.name
            );
            return Ok(ExitCode::FAILURE);
        }
        for (at, decision) in decisions.iter().enumerate() {
            let next = decisions.get(at + 1);
            let is_last = next.is_none_or(|next| {
                (&next.subject, next.attempt) != (&decision.subject, decision.attempt)
            });
            if self.all || is_last {
                let kinds = kinds_of(&decision.policy, &read.topology.policies);
                let epoch_config = epoch_config.get(&decision.epoch);
                let policies = epoch_config.iter().flat_map(|epoch_config| &epoch_config.policies);
                let context = Context {
                    kinds: &kinds,
                    limits: epoch_config.map(|epoch_config| &epoch_config.setting.limits),
                    policy: policies.into_iter().find(|it| it.hash() == decision.policy_hash),
                };
                let fates = match self.fates {
                    true => explain_fates(decision, &context),
                    false => String::new(),
                };
                println!("{}{fates}", explain(decision, &context));
            }
        }
        for words in throttles.into_values() {
            let shown = if self.all { 0 } else { words.len().saturating_sub(1) };
            words[shown..].iter().for_each(|it| println!("{}", explain_throttle(it, now)));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Decisions about what is named, in order; throttles of it, and of those that its
    /// decisions name, by (rule, subject) and in order.
    fn look(&self, read: &Read) -> anyhow::Result<Looked> {
        let mut log = self.log_args.log(&read.topology, Mode::Read)?;
        let found = outputs(&mut log, Topic::Decision, |event| match event {
            Event::Output(Output::Decision(it))
                if it.task == self.name || it.subject == self.name =>
            {
                Some(*it)
            }
            _ => None,
        })?;
        let key = |it: &Decision| (it.subject.clone(), u64::from(it.attempt), it.ordinal);
        let (mut found, mut strays) = without_strays(&mut log, found, key, |it| it.cycle)?;
        join(&mut found);
        let notes = found.iter().flat_map(|decision| &decision.notes);
        let named: BTreeSet<(&str, &str)> = notes.filter_map(|note| throttle_of(note)).collect();
        let words = outputs(&mut log, Topic::Throttle, |event| {
            let Event::Output(Output::Throttle(throttle)) = event else { return None };
            let key = throttle.key();
            let is_asked = throttle.subject == self.name || key == self.name;
            let is_named = named.contains(&(throttle.rule.as_str(), key.as_str()));
            (is_asked || is_named).then_some(*throttle)
        })?;
        let key = |it: &Throttle| (it.name(), it.cycle, it.ordinal);
        let (words, more) = without_strays(&mut log, words, key, |it| it.cycle)?;
        strays += more;
        let mut throttles = Throttles::new();
        for throttle in words {
            throttles.entry(throttle.name()).or_default().push(throttle);
        }
        let newest = newest(&mut log)?;
        let now = newest.as_ref().map_or(0, |progress| progress.now);
        let epochs = found.iter().map(|decision| decision.epoch).collect();
        let epoch_config = epoch_configs_of(&mut log, read, newest, epochs)?;
        Ok(Looked { decisions: found, throttles, epoch_config, now, strays })
    }
}

/// What the log has of a name.
struct Looked {
    decisions: Vec<Decision>,
    throttles: Throttles,
    /// By epoch of a decision, the topology that was in force, where the log has it.
    epoch_config: BTreeMap<u64, EpochConfig>,
    /// The `now` of the last cycle.
    now: Millis,
    /// How many records were passed over.
    strays: usize,
}

/// Throttles by (rule, subject).
type Throttles = BTreeMap<String, Vec<Throttle>>;

/// The kinds that explain a policy's filters: its own first, then all there are.
fn kinds_of(policy: &str, policies: &[PolicySpec]) -> Vec<&'static Flavour> {
    let own = policies.iter().find(|spec| spec.name == policy).and_then(|spec| kind(&spec.kind));
    own.into_iter().chain(kinds().iter().copied()).collect()
}

/// What `pick` makes of a topic's records, each with the hash that `progress` lists of it.
fn outputs<T>(
    log: &mut impl Log,
    topic: Topic,
    pick: impl Fn(Event<'_>) -> Option<T>,
) -> anyhow::Result<Vec<(u64, T)>> {
    let mut found = Vec::new();
    records(log, topic, u64::MAX, |codec, value| {
        let mut arena = Arena::default();
        if let Some(it) = pick(codec.read(topic, None, value, &mut arena)) {
            found.push((hash(unframed(value.unwrap_or_default())), it));
        }
    })?;
    Ok(found)
}

/// Those found, each once and in the order of their keys, and how many were passed over. Where
/// several claim one key, the one that `progress` lists is taken, or the first if none is listed
/// any more. The log's cycles are read only if there is such a key.
fn without_strays<T>(
    log: &mut impl Log,
    mut found: Vec<(u64, T)>,
    key: impl Fn(&T) -> (String, u64, u32),
    cycle: impl Fn(&T) -> u64,
) -> anyhow::Result<(Vec<T>, usize)> {
    found.sort_by_key(|(_, it)| key(it));
    let is_same = |a: &(u64, T), b: &(u64, T)| key(&a.1) == key(&b.1);
    let contested = found.chunk_by(is_same).filter(|group| group.len() > 1);
    let cycles: BTreeSet<u64> = contested.flatten().map(|(_, it)| cycle(it)).collect();
    let mut listed = BTreeSet::new();
    if !cycles.is_empty() {
        records(log, Topic::Progress, u64::MAX, |codec, value| {
            let progress = value.and_then(|value| codec.read_progress(value).ok());
            if let Some(it) = progress.filter(|it| cycles.contains(&it.number)) {
                listed.extend(it.output_hashes.iter().map(|hash| (it.number, *hash)));
            }
        })?;
    }
    // Of those of one key the listed one comes first.
    found.sort_by_key(|(hash, it)| (key(it), !listed.contains(&(cycle(it), *hash))));
    let count = found.len();
    found.dedup_by(|later, first| key(&later.1) == key(&first.1));
    let strays = count - found.len();
    Ok((found.into_iter().map(|(_, it)| it).collect(), strays))
}

/// The last cycle in a log; `None` when there is none.
fn newest(log: &mut impl Log) -> anyhow::Result<Option<Progress>> {
    let mut newest: Option<Progress> = None;
    records(log, Topic::Progress, TAIL, |codec, value| {
        let progress = value.and_then(|value| codec.read_progress(value).ok());
        let now = newest.as_ref().map(|newest| newest.now);
        newest = progress.filter(|it| now.is_none_or(|now| now <= it.now)).or(newest.take());
    })?;
    Ok(newest)
}

/// The topologies that were in force in some epochs. The one given is that of the newest epoch
/// where its hash is the published one; all others are read from the first cycles of their epochs.
/// One that cannot be read is left out: nothing in a text is taken from it then.
fn epoch_configs_of(
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
    if epochs.is_empty() {
        return Ok(epoch_config);
    }
    records(log, Topic::Progress, u64::MAX, |codec, value| {
        let progress = value.and_then(|value| codec.read_progress(value).ok());
        let Some(progress) = progress.filter(|it| epochs.contains(&it.epoch)) else { return };
        let text = progress.policies.as_deref();
        let published = text.and_then(|text| EpochConfig::of("progress", text).ok());
        if let Some(published) = published.filter(|it| it.hash == progress.policy_hash) {
            epoch_config.entry(progress.epoch).or_insert(published);
        }
    })?;
    Ok(epoch_config)
}

/// How far before its end `progress` is read to find its newest record: markers lie between.
const TAIL: u64 = 256;

/// Shows the values of a topic's records, of each lane the last so many offsets.
fn records(
    log: &mut impl Log,
    topic: Topic,
    most: u64,
    mut show: impl FnMut(&Codec, Option<&[u8]>),
) -> anyhow::Result<()> {
    let spans = log.lanes()?;
    let mut cut = Cut::default();
    let mut open = BTreeSet::new();
    for span in spans.iter().filter(|span| span.lane.topic == topic) {
        cut.advance(span.lane, span.stable_end.saturating_sub(most).max(span.first));
        if span.first < span.stable_end {
            open.insert(span.lane);
        }
    }
    log.assign(&cut)?;
    let mut codec = Codec::default();
    let mut batch = Batch::default();
    while !open.is_empty() {
        batch.clear();
        log.take(&mut batch, 10_000, Duration::from_millis(500))?;
        for writer in &batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = codec.learn_number(writer);
        }
        for raw in &batch.records {
            show(&codec, batch.value(raw));
            let end = spans.iter().find(|span| span.lane == raw.lane).map(|span| span.stable_end);
            if end.is_none_or(|end| raw.offset + 1 >= end) {
                open.remove(&raw.lane);
            }
        }
        for mark in &batch.marks {
            let end = spans.iter().find(|span| span.lane == mark.lane).map(|span| span.stable_end);
            if end.is_none_or(|end| mark.position >= end) {
                open.remove(&mark.lane);
            }
        }
    }
    Ok(())
}
