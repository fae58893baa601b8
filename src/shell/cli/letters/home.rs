//! Where records stood before they became dead letters: on a lane of ours, or on a topic that
//! intake reads.

use super::letter::Origin;
use crate::cli::Usage;
use crate::cli::log_args::{LogArgs, Read};
use crate::kafka::{KafkaScan, TopicMap};
use crate::registry::RegistryClient;
use crate::scan::Scan;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{Event, Oversize, longest_name};
use yardmaster_core::limits::Limits;
use yardmaster_wire::avro::{Arena, Codec, Writer, number_of};
use yardmaster_wire::dialect;
use yardmaster_wire::topology::Framing;

/// A source is read as a log of one topic; this is what that topic is called there.
const ONLY: Topic = Topic::DeadLetter;

/// A partition that dead letters came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LetterPartition {
    /// Name of a topic that intake reads; `None`: the topic is ours.
    pub source: Option<String>,
    /// The lane; of a source it is the partition alone.
    pub lane: Lane,
}

impl LetterPartition {
    /// The home of a record; what is wrong with its topic, if it is not read here.
    pub fn of(read: &Read, origin: &Origin) -> Result<LetterPartition, Usage> {
        let mut topics = Topic::ALL.iter();
        let ours = topics.find(|topic| {
            topic.name() == origin.topic || read.topology.topic(**topic).name == origin.topic
        });
        match ours {
            Some(topic) if topic.is_read() && !topic.is_own() => {
                Ok(LetterPartition { source: None, lane: Lane::new(*topic, origin.partition) })
            }
            None if read.topology.intake.sources.contains_key(&origin.topic) => {
                Ok(LetterPartition {
                    source: Some(origin.topic.clone()),
                    lane: Lane::new(ONLY, origin.partition),
                })
            }
            _ => Err(Usage(format!(
                "{origin}: {} is no topic that is read; name one that is, or give the topology \
                 that has it as an [[intake.source]]",
                origin.topic
            ))),
        }
    }

    /// A record's place as letters name it.
    pub fn origin(&self, origin: &Origin) -> Origin {
        let ours = || self.lane.topic.name().to_owned();
        Origin { topic: self.source.clone().unwrap_or_else(ours), ..origin.clone() }
    }

    /// Name of the topic on the bus.
    pub fn topic<'a>(&'a self, read: &'a Read) -> &'a str {
        self.source.as_ref().unwrap_or_else(|| &read.topology.topic(self.lane.topic).name)
    }

    /// Whether records of the topic may lack a key.
    pub fn may_lack_key(&self, read: &Read) -> bool {
        self.source.is_some() || !read.topology.topic(self.lane.topic).cleanup.compacts()
    }
}

/// Whether this version, by this topology, can read records today.
pub struct LetterReader<'a> {
    pub read: &'a Read,
    codec: Codec,
    /// Asked of what numbers stand for, once it is needed.
    registry: Option<RegistryClient>,
    /// Numbers that it was asked of.
    known: BTreeSet<(Topic, u32)>,
}

impl LetterReader<'_> {
    /// By a topology.
    pub fn new(read: &Read) -> LetterReader<'_> {
        let codec = Codec::new(read.topology.limits.max_record_bytes);
        LetterReader { read, codec, registry: None, known: BTreeSet::new() }
    }

    /// Reads a record of a home; `Err`: why it still cannot be read.
    pub fn reads(
        &mut self,
        home: &LetterPartition,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), String> {
        let (read, topic) = (self.read, home.lane.topic);
        let Limits { max_record_bytes, name_bytes, .. } = read.topology.limits;
        let Some(name) = &home.source else {
            self.learn(topic, value)?;
            return match self.codec.read(topic, Some(key), value, &mut Arena::default()) {
                Event::Garbled(why) => Err(why.name().to_owned()),
                event => is_short(Oversize::of_name(longest_name(&event), name_bytes)),
            };
        };
        let (Some(dialect), Some(value)) = (read.topology.intake.sources.get(name), value) else {
            return Ok(());
        };
        if let Some(why) = Oversize::of_record(value.len(), max_record_bytes) {
            return Err(why.to_string());
        }
        if read.topology.intake.framed.contains(name) {
            // Intake alone asks the registry; what it cannot read comes back as a dead letter.
            return Ok(());
        }
        dialect::read(*dialect, value)
            .and_then(|message| is_short(Oversize::of_name(message.longest_name(), name_bytes)))
    }

    /// Asks the registry of what the number in a record stands for, if its topic is in Confluent
    /// framing.
    fn learn(&mut self, topic: Topic, value: Option<&[u8]>) -> Result<(), String> {
        let topology = &self.read.topology;
        let is_framed = topology.topic(topic).framing == Framing::Confluent;
        let (Some(registry), Some(id)) = (&topology.registry, value.and_then(number_of)) else {
            return Ok(());
        };
        if !is_framed || self.known.contains(&(topic, id)) {
            return Ok(());
        }
        if self.registry.is_none() {
            self.registry = Some(RegistryClient::new(registry).map_err(|error| error.to_string())?);
        }
        let schema = self.registry.as_ref().map(|client| client.schema(id)).transpose();
        let schema = schema.map_err(|error| format!("the schema of number {id}: {error}"))?;
        let schema = schema.flatten().map(Into::into);
        // What is wrong with it shows when the record is read.
        let _ = self.codec.learn_number(&Writer { topic, id, schema });
        self.known.insert((topic, id));
        Ok(())
    }
}

/// Refuses a record that has a name of more bytes than the topology allows.
fn is_short(oversize: Option<Oversize<'_>>) -> Result<(), String> {
    oversize.map_or(Ok(()), |why| Err(format!("oversized: {why}")))
}

impl fmt::Display for LetterPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(name) => write!(f, "{name}/{}", self.lane.partition),
            None => write!(f, "{}", self.lane),
        }
    }
}

/// The logs that records came from.
pub struct Homes<'a> {
    /// Ours.
    pub log: Scan,
    log_args: &'a LogArgs,
    read: &'a Read,
    sources: BTreeMap<String, Scan>,
}

impl Homes<'_> {
    /// Ours, and sources when they are asked for.
    pub fn new<'a>(log: Scan, log_args: &'a LogArgs, read: &'a Read) -> Homes<'a> {
        Homes { log, log_args, read, sources: BTreeMap::new() }
    }

    /// The log in which a home is a lane.
    pub fn log(&mut self, home: &LetterPartition) -> anyhow::Result<&mut Scan> {
        let Some(name) = &home.source else { return Ok(&mut self.log) };
        if !self.sources.contains_key(name) {
            if self.log_args.dir.is_some() {
                let why = "intake read it from a Kafka, and this is a directory: give \
                           --bootstrap-server HOST:PORT, or leave it out";
                return Err(Usage(format!("{home}: {why}")).into());
            }
            let mut conf = self.log_args.kafka(&self.read.topology)?;
            conf.topics = vec![TopicMap { topic: ONLY, name: name.clone() }];
            let source = KafkaScan::open(conf, &[])?;
            if !source.absent().is_empty() {
                let why = "the broker has no topic of this name any more";
                return Err(Usage(format!("{home}: {why}; leave its dead letters out")).into());
            }
            self.sources.insert(name.clone(), Scan::Kafka(Box::new(source)));
        }
        self.sources.get_mut(name).ok_or_else(|| anyhow::anyhow!("{home}: no log"))
    }
}
