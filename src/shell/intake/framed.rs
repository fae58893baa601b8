//! Sources in Confluent framing: each message becomes JSON before intake reads it. A message whose
//! schema is not known yet stops its partition there, until the registry answers; other partitions
//! go on. Nothing is kept of those that wait: they are read again.

use crate::kafka::{ForeignRecord, KafkaIntake};
use crate::registry::{ForeignDesk, RegistryError};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_drive::port::LogError;
use yardmaster_wire::topology::Topology;

/// After how long a partition that waits is reported.
const REPORT: Duration = Duration::from_secs(10);

/// Form of a message after decoding.
pub(super) enum Decoded {
    /// As it came.
    Plain,
    /// Key and value are in the buffers.
    Json,
    /// It cannot be read.
    Wrong(String),
    /// It, or one before it in its partition, waits for its schema.
    Waits,
}

/// A message that waits.
struct Waiting {
    offset: u64,
    key: Option<Vec<u8>>,
    value: Vec<u8>,
    since: Instant,
    is_stopped: bool,
    is_reported: bool,
}

/// Reads the sources in Confluent framing.
pub(super) struct FramedSources {
    desk: Option<ForeignDesk>,
    /// Of each source: its name, and whether it is framed.
    sources: Vec<(String, bool)>,
    waiting: BTreeMap<(usize, u32), Waiting>,
    /// JSON of the last message's key and value.
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

impl FramedSources {
    /// By the topology, whose sources are numbered in the order of their names.
    pub fn of(topology: &Topology) -> Result<FramedSources, LogError> {
        let desk = ForeignDesk::of(topology).map_err(|error| match error {
            RegistryError::Unanswered(why) | RegistryError::Lacking(why) => {
                LogError::Unanswered(why)
            }
            error => LogError::Stop(error.to_string()),
        })?;
        let settings = &topology.intake;
        let names = settings.sources.keys();
        let sources = names.map(|name| (name.clone(), settings.framed.contains(name)));
        Ok(FramedSources {
            desk,
            sources: sources.collect(),
            waiting: BTreeMap::new(),
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    /// Makes JSON of a message.
    pub fn decode(&mut self, it: &ForeignRecord<'_>) -> Decoded {
        let lane = (it.source, it.partition);
        if self.waiting.contains_key(&lane) {
            return Decoded::Waits;
        }
        let is_framed = self.sources.get(it.source).is_some_and(|(_, is_framed)| *is_framed);
        let (true, Some(value)) = (is_framed, it.value) else { return Decoded::Plain };
        match self.read(it.key, value) {
            Ok(true) => Decoded::Json,
            Ok(false) => {
                self.waiting.insert(
                    lane,
                    Waiting {
                        offset: it.offset,
                        key: it.key.map(<[u8]>::to_vec),
                        value: value.to_vec(),
                        since: Instant::now(),
                        is_stopped: false,
                        is_reported: false,
                    },
                );
                Decoded::Waits
            }
            Err(why) => Decoded::Wrong(why),
        }
    }

    fn read(&mut self, key: Option<&[u8]>, value: &[u8]) -> Result<bool, String> {
        let Some(desk) = &mut self.desk else { return Ok(false) };
        self.key.clear();
        self.value.clear();
        // Both are asked for at once.
        let is_key_known = match key {
            Some(key) => desk.json_of_key(key, &mut self.key)?,
            None => true,
        };
        Ok(desk.json(value, &mut self.value)? && is_key_known)
    }

    /// Stops the partitions that wait, and lets those go on whose schemas are known by now.
    pub fn settle(&mut self, producer: &mut KafkaIntake) -> Result<(), LogError> {
        let lanes: Vec<(usize, u32)> = self.waiting.keys().copied().collect();
        for (source, partition) in lanes {
            let Some(mut it) = self.waiting.remove(&(source, partition)) else { continue };
            if !it.is_stopped {
                producer.stop_at(source, partition, it.offset)?;
                it.is_stopped = true;
            }
            // One that cannot be read becomes a dead letter when it comes again.
            if !matches!(self.read(it.key.as_deref(), &it.value), Ok(false)) {
                producer.go_on(source, partition)?;
                continue;
            }
            if !it.is_reported && it.since.elapsed() >= REPORT {
                it.is_reported = true;
                let name = self.sources.get(source).map_or("", |(name, _)| name);
                let trouble = self.desk.as_ref().and_then(ForeignDesk::trouble);
                let trouble = trouble.unwrap_or_else(|| "no answer yet".to_owned());
                let offset = it.offset;
                tracing::warn!(
                    "intake: {name}[{partition}] waits at {offset} for the schema registry: \
                     {trouble}"
                );
            }
            self.waiting.insert((source, partition), it);
        }
        Ok(())
    }
}
