//! Our own schemas in a registry: their numbers, whether they are there, and putting them there.

use super::client::{RegistryClient, RegistryError};
use std::collections::BTreeMap;
use std::sync::Arc;
use yardmaster_core::cut::Topic;
use yardmaster_wire::avro::{Codec, Writer, numbered, schema, schema_text};
use yardmaster_wire::topology::{Framing, Topology};

/// The topics in Confluent framing, with the subject of our schema of each.
pub(super) fn subjects(topology: &Topology) -> BTreeMap<Topic, String> {
    let Some(registry) = &topology.registry else { return BTreeMap::new() };
    let framed = topology.topics.iter().filter(|(_, it)| it.framing == Framing::Confluent);
    framed
        .map(|(topic, settings)| {
            let record = schema(*topic).name().map_or_else(String::new, |it| it.fullname(None));
            (*topic, registry.strategy.subject(&settings.name, &record))
        })
        .collect()
}

/// The number of our schema of a topic; none is an error that names the remedy.
pub(super) fn number(
    client: &RegistryClient,
    topic: Topic,
    subject: &str,
) -> Result<u32, RegistryError> {
    client.find(subject, schema_text(topic))?.ok_or_else(|| {
        let topic = topic.name();
        RegistryError::Setting(format!(
            "our schema of {topic} is not in the schema registry under subject {subject}: \
             `topology check` says why, `topology apply` puts it there"
        ))
    })
}

/// Frames records of ours as their topics are framed.
#[derive(Default)]
pub struct Ours {
    numbers: BTreeMap<Topic, u32>,
}

impl Ours {
    /// Finds the numbers of our schemas of those of some topics that are in Confluent framing.
    pub fn find(topology: &Topology, topics: &[Topic]) -> Result<Ours, RegistryError> {
        let mut ours = Ours::default();
        let Some(registry) = &topology.registry else { return Ok(ours) };
        let client = RegistryClient::new(registry)?;
        for (topic, subject) in subjects(topology) {
            if topics.contains(&topic) {
                ours.numbers.insert(topic, number(&client, topic, &subject)?);
            }
        }
        Ok(ours)
    }

    /// A record of a topic, made in single-object encoding, in the topic's framing.
    pub fn frame(&self, topic: Topic, record: Vec<u8>) -> Vec<u8> {
        match self.numbers.get(&topic) {
            Some(id) => numbered(&record, *id),
            None => record,
        }
    }

    /// Notes the number of our schema of a topic.
    pub(super) fn note(&mut self, topic: Topic, id: u32) {
        self.numbers.insert(topic, id);
    }
}

/// State of a topic in Confluent framing in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Our schema, under this number.
    Registered(u32),
    /// Not our schema, and nothing that stands against it.
    Absent,
    /// Not our schema, and the registry would not take it; why.
    Incompatible(String),
    /// A foreign schema for a topic that others write; why ours cannot read it, if so.
    Theirs {
        /// Its number.
        id: u32,
        /// Its version under the subject.
        version: u32,
        /// Why its records would be dead letters.
        unreadable: Option<String>,
    },
}

impl Finding {
    /// Whether nothing is to be done.
    pub fn is_right(&self) -> bool {
        matches!(self, Finding::Registered(_) | Finding::Theirs { unreadable: None, .. })
    }
}

/// State of each topic in Confluent framing in the registry, with its subject.
pub fn examine(
    client: &RegistryClient,
    topology: &Topology,
) -> Result<Vec<(Topic, String, Finding)>, RegistryError> {
    let mut found = Vec::new();
    for (topic, subject) in subjects(topology) {
        let finding = look(client, topic, &subject)?;
        found.push((topic, subject, finding));
    }
    Ok(found)
}

fn look(client: &RegistryClient, topic: Topic, subject: &str) -> Result<Finding, RegistryError> {
    let text = schema_text(topic);
    if let Some(id) = client.find(subject, text)? {
        return Ok(Finding::Registered(id));
    }
    let Some(latest) = client.latest(subject)? else { return Ok(Finding::Absent) };
    if topic.is_own() {
        let objection = client.objection(subject, text)?;
        return Ok(objection.map_or(Finding::Absent, Finding::Incompatible));
    }
    let writer = Writer { topic, id: latest.id, schema: Some(Arc::from(latest.text)) };
    let unreadable = Codec::default().learn_number(&writer).err().map(|why| why.to_string());
    Ok(Finding::Theirs { id: latest.id, version: latest.version, unreadable })
}

/// Puts our schema of a topic under its subject; gives its number.
pub fn register(
    client: &RegistryClient,
    topic: Topic,
    subject: &str,
) -> Result<u32, RegistryError> {
    client.register(subject, schema_text(topic))
}
