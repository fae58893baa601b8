//! Publishes records of a verb that goes on, on a Kafka.

use crate::cli::import::Entry;
use crate::kafka::{KafkaConf, KafkaWriter};
use crate::registry::{Ours, RegistryError};
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_drive::port::LogError;
use yardmaster_wire::topology::Topology;

/// How long the client tries to publish a record before it reports that it cannot; ms.
const PUBLISH_MS: &str = "30000";

/// Publishes records of some topics.
pub(super) struct RecordPublisher {
    conf: KafkaConf,
    names: BTreeMap<Topic, String>,
    ours: Ours,
    writer: KafkaWriter,
}

impl RecordPublisher {
    /// By a topology.
    pub fn open(
        mut conf: KafkaConf,
        topology: &Topology,
        topics: &[Topic],
    ) -> Result<RecordPublisher, LogError> {
        conf.properties.entry("message.timeout.ms".into()).or_insert_with(|| PUBLISH_MS.into());
        let ours = Ours::find(topology, topics).map_err(|error| match error {
            RegistryError::Unanswered(why) | RegistryError::Lacking(why) => {
                LogError::Unanswered(why)
            }
            RegistryError::Refused(_) | RegistryError::Setting(_) => {
                LogError::Stop(error.to_string())
            }
        })?;
        let writer = KafkaWriter::open(&conf)?;
        let names = topics.iter().map(|topic| (*topic, topology.topic(*topic).name.clone()));
        Ok(RecordPublisher { conf, names: names.collect(), ours, writer })
    }

    /// Publishes records; all are acknowledged when it returns. After an error some of them may
    /// be, and all can be published again.
    pub fn publish(&mut self, entries: &[Entry]) -> Result<(), LogError> {
        let appended = entries.iter().try_for_each(|entry| self.append(entry));
        let published = appended.and_then(|()| self.writer.flush());
        if published.is_err() {
            // A client that failed may refuse all that comes after.
            self.writer = KafkaWriter::open(&self.conf)?;
        }
        published
    }

    fn append(&self, entry: &Entry) -> Result<(), LogError> {
        let Entry { topic, key, value, headers } = entry;
        let value = value.clone().map(|value| self.ours.frame(*topic, value));
        let name = self.names.get(topic).ok_or_else(|| {
            LogError::Stop(format!("{} is none of the topics that are written", topic.name()))
        })?;
        self.writer.append(name, None, Some(key.as_bytes()), value.as_deref(), headers, None)
    }
}
