//! The topology of a log as the log itself has it: of its newest epoch.

use crate::cli::Usage;
use crate::cli::cycles::{are_cycles, cycles_in, open};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::{newest, texts_of};
use crate::kafka::{KafkaLog, TopicMap, topic_names};
use crate::ports::AnyLog;
use std::collections::BTreeSet;
use std::path::Path;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::progress::Progress;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::topology::BUILT_IN;

const CYCLES: Topic = Topic::Progress;
/// Topics that a message names.
const NAMED: usize = 8;

impl LogArgs {
    /// Reads the topology of a verb that reads a log: the one that is given, or else the one that
    /// is in force in the log.
    pub fn read_log(&self) -> anyhow::Result<Read> {
        let read = self.read()?;
        match self.topology.is_empty() && self.check().is_ok() {
            true => in_force(self, read),
            false => Ok(read),
        }
    }
}

/// The topology that is in force in a log: a built-in one if it is that, else the one that was
/// published. `assumed` where the log does not state it: it has no cycle, or is in a framing that a
/// registry is needed for.
///
/// # Errors
/// The log cannot be read; it has cycles of several domains, and none under ATLAS's name.
fn in_force(log_args: &LogArgs, assumed: Read) -> anyhow::Result<Read> {
    let usual = &assumed.topology.topic(CYCLES).name;
    let log = match &log_args.dir {
        Some(dir) => {
            let place = format!("--dir {}", dir.display());
            let name = chosen(&place, cycles_in(dir), usual)?;
            name.map(|name| open(dir, &name)).transpose()?
        }
        None => {
            let mut conf = log_args.kafka(&assumed.topology)?;
            let mut names = topic_names(&conf)?;
            names.retain(|name| are_cycles(name));
            let name = chosen(&format!("--bootstrap-server {}", conf.bootstrap), names, usual)?;
            conf.topics = name.into_iter().map(|name| TopicMap { topic: CYCLES, name }).collect();
            let is_there = !conf.topics.is_empty();
            is_there
                .then(|| KafkaLog::open(conf))
                .transpose()?
                .map(|it| AnyLog::Kafka(Box::new(it)))
        }
    };
    let Some(mut log) = log else { return Ok(assumed) };
    let Some(newest) = newest(&mut log)? else { return Ok(assumed) };
    let is_it =
        |text: &str| EpochConfig::of("", text).is_ok_and(|it| it.hash == newest.policy_hash);
    if is_it(&assumed.text) {
        return Ok(assumed);
    }
    let built_in = BUILT_IN.iter().find(|(name, text)| *name == newest.domain && is_it(text));
    let read = match built_in {
        Some((name, _)) => Read::open(Some(Path::new(name)))?,
        None => match published(&mut log, &newest)? {
            Some(read) => read,
            None => return Ok(assumed),
        },
    };
    if read.topology.domain != assumed.topology.domain {
        eprintln!("no --topology is given: the log's own is taken, {}", read.name);
    }
    Ok(read)
}

/// Of topics of cycles the one that is read: the one of the usual name, or the only one; `None`:
/// there are none.
fn chosen(place: &str, mut names: Vec<String>, usual: &str) -> Result<Option<String>, Usage> {
    if names.len() < 2 {
        return Ok(names.pop());
    }
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let listed = format!("{}{more}", names[..names.len().min(NAMED)].join(", "));
    if names.iter().any(|name| name == usual) {
        eprintln!(
            "{place}: it has cycles of several domains ({listed}), and {usual} is read; give the \
             --topology of another for that"
        );
        return Ok(Some(usual.to_owned()));
    }
    let what = format!("{place}: it has cycles of several domains ({listed})");
    Err(Usage(format!("{what}; give the --topology of one")))
}

/// The topology that was published at the beginning of the newest epoch.
fn published(log: &mut AnyLog, newest: &Progress) -> anyhow::Result<Option<Read>> {
    let (domain, epoch) = (&newest.domain, newest.epoch);
    let text = texts_of(log, domain, BTreeSet::from([epoch]))?.remove(&epoch);
    let Some(text) = text else { return Ok(None) };
    let mut read = Read::parse(format!("{domain} as of epoch {epoch}"), text)?;
    if std::mem::take(&mut read.topology.pseudonyms.users) {
        // The key lies elsewhere, and the published text does not name it.
        eprintln!(
            "users have pseudonyms in this log: to find one by the own name, give the --topology \
             that names the key"
        );
    }
    Ok(Some(read))
}
