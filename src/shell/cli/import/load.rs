//! From other systems' JSON to rows that can be published.

use super::fact::Fact;
use crate::cli::progress::Bar;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Configuration;
use yardmaster_core::limits::Limits;
use yardmaster_core::unit::Millis;
use yardmaster_wire::import::{self, Imported, Parents, Sites};
use yardmaster_wire::oversize::{left_out, oversize};
use yardmaster_wire::record;

/// Kind of the JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportKind {
    /// CRIC's queues.
    Cric,
    /// The network matrix.
    Netmetrics,
    /// Space and status of storage endpoints.
    Storage,
    /// Nuclei, or a CRIC dump of which they are taken.
    Nuclei,
    /// The tree of global shares.
    Shares,
    /// Run-time parameters.
    Gdpconfig,
    /// Quotas on storage.
    Quotas,
    /// Software and hardware.
    Releases,
    /// Where datasets lie.
    Replicas,
    /// Slot figures.
    Slots,
    /// Sites of a pool.
    PoolSites,
    /// Members of a virtual organisation.
    Members,
    /// Things of a domain that a program of its own brings.
    DomainRecords,
}

impl ImportKind {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ImportKind::Cric => "cric",
            ImportKind::Netmetrics => "netmetrics",
            ImportKind::Storage => "storage",
            ImportKind::Nuclei => "nuclei",
            ImportKind::Shares => "shares",
            ImportKind::Gdpconfig => "gdpconfig",
            ImportKind::Quotas => "quotas",
            ImportKind::Releases => "releases",
            ImportKind::Replicas => "replicas",
            ImportKind::Slots => "slots",
            ImportKind::PoolSites => "pool-sites",
            ImportKind::Members => "members",
            ImportKind::DomainRecords => "domain-records",
        }
    }

    /// The topic its records are published on.
    pub const fn topic(self) -> Topic {
        match self {
            ImportKind::Cric => Topic::Queue,
            ImportKind::Netmetrics => Topic::Link,
            ImportKind::Storage => Topic::Storage,
            ImportKind::Nuclei => Topic::Site,
            ImportKind::Shares => Topic::Share,
            ImportKind::Gdpconfig => Topic::Parameter,
            ImportKind::Quotas => Topic::Quota,
            ImportKind::Releases => Topic::Release,
            ImportKind::Replicas => Topic::Replica,
            ImportKind::Slots => Topic::Pilot,
            ImportKind::PoolSites => Topic::Site,
            ImportKind::Members => Topic::User,
            ImportKind::DomainRecords => Topic::DomainRecord,
        }
    }
}

/// A record to publish.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its key.
    pub key: String,
    /// Its bytes, in single-object encoding.
    pub value: Vec<u8>,
    /// Hash of its facts: the same in two imports if nothing changed between them. The time of an
    /// import is no part of it, times that the source states are.
    pub content: String,
}

/// Content of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// Records, one for a key.
    pub rows: Vec<Row>,
    /// Missing and wrong values, each with the thing and the field.
    pub complaints: Vec<String>,
    /// Notes for the operator.
    pub notes: Vec<String>,
    /// Things with a wrong value, which were left out.
    pub unreadable: usize,
    /// Those of them whose key is not known either: nothing is known to be gone.
    pub unnamed: usize,
    /// Keys that the sources name and say too little of: what was published under them holds.
    pub left_out: BTreeSet<String>,
    /// Sources that could not be read, and what follows from it; the others are used.
    pub silent: Vec<String>,
    /// As of when they hold: the newest time that the source states, `now` if it states none.
    pub as_of: Millis,
}

impl Row {
    /// The row of a fact. `is_timed`: whether its time is part of what it states.
    pub fn new(fact: &Fact, is_timed: bool) -> Row {
        let (key, value) = (fact.key(), fact.bytes());
        let content = match is_timed {
            true => content(&value),
            false => content(&fact.as_of(0).bytes()),
        };
        Row { key, value, content }
    }
}

impl Loaded {
    /// Whether there were things in the sources and none of them could be used: then they are of
    /// another kind.
    pub fn is_of_no_use(&self) -> bool {
        self.rows.is_empty() && !self.complaints.is_empty()
    }

    /// Leaves out the records that the engine would not read by these limits: what was published
    /// under their keys before still holds.
    pub fn leave_out_oversized(&mut self, topic: Topic, limits: &Limits) {
        for row in std::mem::take(&mut self.rows) {
            let Some(why) = oversize(topic, &row.value, limits) else {
                self.rows.push(row);
                continue;
            };
            self.complaints.push(left_out(topic, &row.key, &why));
            self.unreadable += 1;
            self.left_out.insert(row.key);
        }
    }
}

/// Text and what it was read from, for messages.
pub struct Text {
    /// File or address.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The rows of texts of one kind that can be read by these limits; `sites`: more texts to learn
/// site names of storage endpoints from; `parents`: those of queues.
///
/// # Errors
/// A text that is not of the expected shape at all.
pub fn load(
    kind: ImportKind,
    texts: &[Text],
    sites: &[Text],
    now: Millis,
    limits: &Limits,
    parents: Parents,
) -> Result<Loaded, String> {
    let mut loaded = match kind {
        ImportKind::Slots => slots(texts, now)?,
        _ => configuration(kind, texts, sites, now, parents)?,
    };
    loaded.leave_out_oversized(kind.topic(), limits);
    Ok(loaded)
}

fn configuration(
    kind: ImportKind,
    texts: &[Text],
    sites: &[Text],
    now: Millis,
    parents: Parents,
) -> Result<Loaded, String> {
    let Imported { records, complaints, notes, unreadable, unnamed, left_out } =
        imported(kind, texts, sites, now, parents)?;
    let as_of = records.iter().map(Configuration::changed_at).max().unwrap_or(now);
    let mut bar = Bar::later("encoding", "records", records.len() as u64);
    let encoded = |(at, record): (usize, Configuration)| {
        bar.at(at as u64);
        row(&Fact::Configuration(Box::new(record)), now)
    };
    let mut rows: Vec<Row> = records.into_iter().enumerate().map(encoded).collect();
    drop(bar);
    last_of_each_key(&mut rows);
    let left_out = left_out.into_iter().collect();
    let silent = Vec::new();
    Ok(Loaded { rows, complaints, notes, unreadable, unnamed, left_out, silent, as_of })
}

fn slots(texts: &[Text], now: Millis) -> Result<Loaded, String> {
    let mut loaded = Loaded { as_of: now, ..Loaded::default() };
    for Text { name, text } in texts {
        let (slots, imported) = import::slots(text, now).map_err(|why| format!("{name}: {why}"))?;
        loaded.complaints.extend(imported.complaints);
        loaded.notes.extend(imported.notes);
        loaded.unreadable += imported.unreadable;
        loaded.unnamed += imported.unnamed;
        loaded.left_out.extend(imported.left_out);
        loaded.rows.extend(slots.into_iter().map(|slot| row(&Fact::Slots(slot), now)));
    }
    last_of_each_key(&mut loaded.rows);
    Ok(loaded)
}

/// Two files may have the same thing: the later one holds, as it does on the topic.
pub fn last_of_each_key(rows: &mut Vec<Row>) {
    rows.reverse();
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    rows.dedup_by(|one, other| one.key == other.key);
}

/// The row of a fact; the time of the import is no part of what it states.
fn row(fact: &Fact, now: Millis) -> Row {
    Row::new(fact, fact.at() != now)
}

/// First 16 hex digits of the SHA-256 of bytes.
fn content(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..8])
}

/// A configuration record: its topic, key and bytes.
pub fn encode(it: &Configuration) -> (Topic, String, Vec<u8>) {
    let mut bytes = Vec::new();
    record::write_configuration(&mut bytes, it);
    (it.topic(), it.name(), bytes)
}

/// The records of texts of one kind; `sites`, `parents`: see [`load`].
///
/// # Errors
/// The text that is of another kind.
pub fn imported(
    kind: ImportKind,
    texts: &[Text],
    sites: &[Text],
    now: Millis,
    parents: Parents,
) -> Result<Imported, String> {
    let mut known = Sites::new();
    for Text { name, text } in sites {
        known.learn(text).map_err(|why| format!("{name}: {why}"))?;
    }
    match kind {
        ImportKind::Storage => {
            return together(texts, |texts| import::storage(texts, now, &known));
        }
        ImportKind::PoolSites => return together(texts, |texts| import::pool_sites(texts, now)),
        ImportKind::Members => return together(texts, |texts| import::members(texts, now)),
        _ => {}
    }
    let mut all = Imported::default();
    let mut kinds: Option<Vec<import::ResourceType<'_>>> = None;
    let is_queues = |text: &&Text| {
        let stated = (kind == ImportKind::Cric).then(|| import::resource_types(&text.text));
        let Some((stated, found)) = stated.flatten() else { return true };
        kinds.get_or_insert_default().extend(stated);
        add(&mut all, found);
        false
    };
    let texts: Vec<&Text> = texts.iter().filter(is_queues).collect();
    if kinds.is_some() && texts.is_empty() {
        all.complaints.push("resource types alone: add CRIC's dump of queues".to_owned());
    }
    let kinds = kinds.as_deref().unwrap_or(&import::RESOURCE_TYPES);
    let bytes = texts.iter().map(|it| it.text.len() as u64);
    let (mut bar, mut parsed) = (Bar::later("parsing", "bytes", bytes.sum()), 0);
    for Text { name, text } in texts {
        bar.at(parsed);
        parsed += text.len() as u64;
        let one = match kind {
            ImportKind::Cric => import::cric_with(text, now, &known, kinds, parents),
            ImportKind::Netmetrics => import::netmetrics(text, now),
            ImportKind::Shares => import::shares(text, now),
            ImportKind::Gdpconfig => import::gdpconfig(text, now),
            ImportKind::Quotas => import::quotas(text, now),
            ImportKind::Releases => import::releases(text, now),
            ImportKind::Replicas => import::replicas(text, now),
            ImportKind::DomainRecords => import::domain_records(text, now),
            // A list of nuclei, or what can be taken for one from a CRIC dump.
            _ if text.trim_start().starts_with('[') => import::nuclei(text, now),
            _ => import::nuclei_from_cric(text, now, &known),
        };
        let one = one.map_err(|why| format!("{name}: {why}"))?;
        add(&mut all, one);
    }
    Ok(all)
}

/// The records of texts that complete each other. An error names the text that is of another kind.
fn together(
    texts: &[Text],
    read: impl Fn(&[&str]) -> Result<Imported, String>,
) -> Result<Imported, String> {
    let all: Vec<&str> = texts.iter().map(|it| it.text.as_str()).collect();
    read(&all).map_err(|why| {
        let broken = texts.iter().find(|text| read(&[text.text.as_str()]).is_err());
        broken.map_or(why.clone(), |text| format!("{}: {why}", text.name))
    })
}

fn add(all: &mut Imported, one: Imported) {
    all.records.extend(one.records);
    all.complaints.extend(one.complaints);
    all.notes.extend(one.notes);
    all.unreadable += one.unreadable;
    all.unnamed += one.unnamed;
    all.left_out.extend(one.left_out);
}
