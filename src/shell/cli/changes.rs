//! `changes`: what changed, read from the log.

use crate::ask::{Ask, in_query};
use crate::changes::{
    CHANGE_KINDS, ChangeView, KINDS, of_lead, of_record, of_throttle, of_topology,
};
use crate::changes::{is_watched, together};
use crate::cli::http_args::HttpArgs;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::names::Sought;
use crate::cli::outputs::{outputs, read_to_end, records, without_strays};
use crate::cli::{Ended, Usage, units};
use crate::ports::AnyLog;
use crate::when::{When, when};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{Configuration, Event};
use yardmaster_core::explain::iso;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::plain::plain_lines;
use yardmaster_core::unit::{DAY, Millis};
use yardmaster_drive::port::{LaneSpan, Log};
use yardmaster_wire::avro::{Arena, Codec};

/// Changes that a process is asked for at once: as many as it answers with.
const ASKED_MAX: u64 = 1_000;

/// Prints what changed, a line each, the oldest first: statuses of queues, sites and clusters;
/// limits, parameters and shares; other facts of queues, sites, storage and users; limits, policies
/// and rules of the topology; who leads; throttles set and lifted.
///
/// It is read from the topics of configuration, from `progress` and `throttle`, so no process need
/// run. A topic that is compacted keeps only the last record of each name: stderr names topics of
/// which records are gone. What is measured again and again (free space, use, links, replicas) is
/// left out. With --http a running process is asked, which answers from its history.
///
/// Examples:
///   yardmaster changes --bootstrap-server kafka:9092 --from 24h
///   yardmaster changes --dir yard --kind status,limit
///   yardmaster changes --http leader:9187 --from 2h
///   yardmaster changes --dir yard --from 2025-10-14T00:00:00Z --name CERN-PROD
#[derive(Args)]
#[command(verbatim_doc_comment)]
#[command(mut_arg("http", |http| http.conflicts_with_all(["dir", "bootstrap_server"])))]
pub struct ListChanges {
    #[command(flatten)]
    log_args: LogArgs,
    #[command(flatten)]
    http_args: HttpArgs,
    /// Since then: an age before the last cycle (90s, 30m, 2h, 7d), a moment
    /// (2026-05-01T12:00:00Z), or ms since 1970. Without it the last day of the log.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    from: Option<When>,
    /// Until then, likewise.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    to: Option<When>,
    /// Only these kinds; several separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(CHANGE_KINDS)
    )]
    kind: Vec<String>,
    /// Only those of a queue, site, user ... of this name, or of a field or rule of this name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// One JSON object for each change instead of text.
    #[arg(long)]
    json: bool,
}

impl ListChanges {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let Found { changes, from, to, end } = match self.http_args.process()? {
            Some(process) => self.of_process(&process)?,
            None => self.of_log()?,
        };
        let mut out = io::BufWriter::new(io::stdout().lock());
        for change in &changes {
            match self.json {
                true => writeln!(out, "{}", serde_json::to_string(change)?)?,
                false => {
                    let ChangeView { at, kind, text, .. } = change;
                    writeln!(out, "{}  {kind:<8}  {}", units::moment(*at), plain_lines(text))?;
                }
            }
        }
        out.flush()?;
        if changes.is_empty() {
            let until = iso(to.min(end));
            eprintln!("nothing changed from {} to {until}", iso(from));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Changes as a process has them in its history.
    fn of_process(&self, process: &Ask) -> anyhow::Result<Found> {
        let mut path = format!("/api/v1/changes?limit={ASKED_MAX}&kind={}", self.kind.join(","));
        let [from, to] = process.moments([self.from, self.to])?;
        for (flag, moment) in [("from", from), ("to", to)] {
            path.extend(moment.map(|moment| format!("&{flag}={moment}")));
        }
        if let Some(name) = &self.name {
            path += &format!("&name={}", in_query(name));
        }
        let mut answer = process.json(&path)?;
        let moment = |name: &str| answer[name].as_i64().unwrap_or(0);
        let (from, to) = (moment("from"), moment("to"));
        ordered(from, to)?;
        if answer["complete"] != true {
            eprintln!(
                "the history of the process does not have all of that time; the log has: give \
                 --dir DIR or --bootstrap-server HOST:PORT in place of --http"
            );
        }
        if answer["more"] == true {
            eprintln!("only the newest {ASKED_MAX} are shown; give --to, --kind or --name");
        }
        let mut changes: Vec<ChangeView> = serde_json::from_value(answer["changes"].take())?;
        changes.reverse();
        Ok(Found { changes: together(changes), from, to, end: to })
    }

    /// Changes in the log.
    fn of_log(&self) -> anyhow::Result<Found> {
        let read = self.log_args.read_log()?;
        let pseudonyms = if self.name.is_some() { read.pseudonyms()? } else { None };
        let sought = self.name.as_deref().map(|name| Sought::new(name, pseudonyms.as_deref()));
        sought.iter().for_each(Sought::note);
        let (changes, end) = self.read(&read)?;
        // An age is one before the last cycle: a log may be an old one.
        let from = self.from.unwrap_or(When::Ago(DAY)).before(end);
        let to = self.to.map_or(Millis::MAX, |to| to.before(end));
        ordered(from, to)?;
        let is_wanted = |it: &ChangeView| {
            let is_named = |sought: &Sought| sought.is_one_of(|name| it.is_about(name));
            let is_of_kind = self.kind.is_empty() || self.kind.contains(&it.kind);
            (from..=to).contains(&it.at) && is_of_kind && sought.as_ref().is_none_or(is_named)
        };
        let changes = together(changes.into_iter().filter(is_wanted).collect());
        Ok(Found { changes, from, to, end })
    }

    /// Every change in the log, and the `now` of its last cycle.
    fn read(&self, read: &Read) -> anyhow::Result<(Vec<ChangeView>, Millis)> {
        let topics: Vec<Topic> =
            KINDS.into_iter().chain([Topic::Throttle, Topic::Progress]).collect();
        let known = read.topology.topics.keys();
        let topics: Vec<Topic> = known.copied().filter(|it| topics.contains(it)).collect();
        let mut log = self.log_args.log_of(&read.topology, &topics)?;
        let domain = &read.topology.domain;
        let wants = |kind: &str| self.kind.is_empty() || self.kind.iter().any(|it| it == kind);
        let (mut changes, end) = of_cycles(&mut log, domain)?;
        if ["status", "limit", "fact"].into_iter().any(wants) {
            changes.extend(of_facts(&mut log, read)?);
        }
        if wants("throttle") {
            let found = outputs(&mut log, Topic::Throttle, |event| match event {
                Event::Output(Output::Throttle(it)) if it.domain == *domain => Some(*it),
                _ => None,
            })?;
            let key = |it: &Throttle| (it.name(), it.cycle, it.ordinal);
            let (throttles, strays) = without_strays(&mut log, found, key, |it| it.cycle)?;
            if strays > 0 {
                eprintln!(
                    "passed over {strays} records that are copies, or that no leader published"
                );
            }
            changes.extend(throttles.iter().map(of_throttle));
        }
        Ok((changes, end))
    }
}

/// Changes that are wanted, the oldest first.
struct Found {
    changes: Vec<ChangeView>,
    from: Millis,
    to: Millis,
    /// The `now` of the last cycle.
    end: Millis,
}

fn ordered(from: Millis, to: Millis) -> Result<(), Usage> {
    if from <= to {
        return Ok(());
    }
    let (from, to) = (iso(from), iso(to));
    Err(Usage(format!("--from {from}: it is after --to {to}; give one before")))
}

/// Who led, and by which topology; and the `now` of the last cycle.
fn of_cycles(log: &mut AnyLog, domain: &str) -> anyhow::Result<(Vec<ChangeView>, Millis)> {
    let mut changes = Vec::new();
    let mut last: Option<(u64, String)> = None;
    let (mut topology, mut end) = (String::new(), 0);
    records(log, Topic::Progress, u64::MAX, |codec, value| {
        let progress = value.and_then(|value| codec.read_record::<Progress>(value).ok());
        let Some(progress) = progress.filter(|it| it.domain == domain) else { return };
        end = end.max(progress.now);
        // A new log begins with a cycle before any time is known.
        if let Some(first) = changes.first_mut().filter(|first: &&mut ChangeView| first.at == 0) {
            first.at = progress.now;
        }
        if last.as_ref().is_none_or(|(epoch, _)| *epoch < progress.epoch) {
            let before = last.as_ref().map(|(_, instance)| instance.as_str());
            let after = Some(progress.instance.as_str());
            changes.push(of_lead(progress.now, progress.epoch, before, after));
            last = Some((progress.epoch, progress.instance.clone()));
        }
        if let Some(text) = progress.policies {
            if !topology.is_empty() && topology != text {
                changes.extend(of_topology(progress.now, &topology, &text));
            }
            topology = text;
        }
    })?;
    Ok((changes, end))
}

/// A thing of configuration: its record in each lane, and which is in force.
#[derive(Default)]
struct Held(Vec<(Lane, Configuration)>);

impl Held {
    fn current(&self) -> Option<&Configuration> {
        let rank = |it: &&(Lane, Configuration)| (it.1.revision(), it.1.changed_at());
        self.0.iter().max_by_key(rank).map(|(_, record)| record)
    }

    fn put(&mut self, lane: Lane, record: Configuration) {
        match self.0.iter_mut().find(|(of, _)| *of == lane) {
            Some((_, held)) => {
                let rank = |it: &Configuration| (it.revision(), it.changed_at());
                if rank(&record) >= rank(held) {
                    *held = record;
                }
            }
            None => self.0.push((lane, record)),
        }
    }
}

/// Facts that changed, by the log's stamps.
fn of_facts(log: &mut AnyLog, read: &Read) -> anyhow::Result<Vec<ChangeView>> {
    let spans: Vec<LaneSpan> =
        log.lanes()?.into_iter().filter(|span| is_watched(span.lane.topic)).collect();
    let mut held: BTreeMap<(Topic, String), Held> = BTreeMap::new();
    let mut next: BTreeMap<Lane, u64> = spans.iter().map(|span| (span.lane, 0)).collect();
    let mut missing: BTreeMap<Topic, u64> = BTreeMap::new();
    let mut changes = Vec::new();
    let mut codec = Codec::new(read.topology.limits.max_record_bytes);
    read_to_end(log, &spans, |span| span.first, &mut codec, &mut |codec, batch, raw| {
        let topic = raw.lane.topic;
        let expected = next.entry(raw.lane).or_default();
        *missing.entry(topic).or_default() += raw.offset.saturating_sub(*expected);
        *expected = raw.offset + 1;
        let (key, value) = (batch.key(raw), batch.value(raw));
        let mut arena = Arena::default();
        let (name, record) = match codec.read(topic, key, value, &mut arena) {
            Event::Configuration(record) => (record.name(), Some(*record)),
            Event::Removed { name, .. } => (name.to_owned(), None),
            _ => return true,
        };
        let of_name = held.entry((topic, name)).or_default();
        let before = of_name.current().cloned();
        match record {
            Some(record) => of_name.put(raw.lane, record),
            None => of_name.0.retain(|(lane, _)| *lane != raw.lane),
        }
        if before.as_ref() != of_name.current() {
            changes.extend(of_record(raw.appended_at, before.as_ref(), of_name.current()));
        }
        true
    })?;
    for (topic, count) in missing.into_iter().filter(|(_, count)| *count > 0) {
        let name = topic.name();
        eprintln!(
            "{name}: {count} older records are not in the log any more, or were none of a thing: \
             what they changed is not shown"
        );
    }
    Ok(changes)
}
