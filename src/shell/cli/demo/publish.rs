//! A grid's records on their way to a Kafka. Each carries a header that states which demo
//! published it.

use crate::kafka::{KafkaConf, KafkaWriter};
use crate::registry::{Ours, RegistryError};
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_drive::port::LogError;
use yardmaster_sim::grid::Record;
use yardmaster_wire::topology::Topology;

/// Header of all records of a demo, with the number of its series.
pub(super) const DEMO: &str = "yardmaster-demo";
/// How long the client tries to publish a record before it reports that it cannot; ms.
const PUBLISH_MS: &str = "30000";

/// Topics that a grid publishes on.
pub(super) const TOPICS: [Topic; 13] = [
    Topic::JobState,
    Topic::Heartbeat,
    Topic::Transfer,
    Topic::Pilot,
    Topic::Task,
    Topic::Outcome,
    Topic::Queue,
    Topic::Site,
    Topic::Storage,
    Topic::Link,
    Topic::Release,
    Topic::Share,
    Topic::Parameter,
];

/// Publishes records under the names of a topology, with the header of a demo.
pub(super) struct DemoPublisher {
    writer: KafkaWriter,
    ours: Ours,
    names: BTreeMap<Topic, String>,
    headers: [(String, Vec<u8>); 1],
}

impl DemoPublisher {
    /// By a topology, for the demo of a series.
    pub fn open(
        mut conf: KafkaConf,
        topology: &Topology,
        series: u64,
    ) -> Result<DemoPublisher, LogError> {
        conf.properties.entry("message.timeout.ms".into()).or_insert_with(|| PUBLISH_MS.into());
        let name = |topic: Topic| (topic, topology.topic(topic).name.clone());
        Ok(DemoPublisher {
            writer: KafkaWriter::open(&conf)?,
            ours: ours(topology)?,
            names: TOPICS.into_iter().map(name).collect(),
            headers: [(DEMO.to_owned(), series.to_string().into_bytes())],
        })
    }

    /// Publishes records; all of them are durable when it returns. After an error some of them may
    /// be, and all can be published again.
    pub fn publish(&self, records: &[Record]) -> Result<(), LogError> {
        for Record { topic, key, value, at } in records {
            let Some(name) = self.names.get(topic) else { continue };
            let value = value.as_ref().map(|value| self.ours.frame(*topic, value.clone()));
            let (key, at) = (Some(key.as_slice()), Some(*at));
            self.writer.append(name, None, key, value.as_deref(), &self.headers, at)?;
        }
        self.writer.flush()
    }
}

/// The framing of the topics that a grid publishes on.
pub(super) fn ours(topology: &Topology) -> Result<Ours, LogError> {
    Ours::find(topology, &TOPICS).map_err(|error| match error {
        RegistryError::Unanswered(why) | RegistryError::Lacking(why) => LogError::Unanswered(why),
        RegistryError::Refused(_) | RegistryError::Setting(_) => LogError::Stop(error.to_string()),
    })
}
