//! Settings by which a log reads and writes topics in Confluent framing.

use super::client::{RegistryClient, RegistryError};
use super::folder::Folder;
use super::ours::subjects;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_wire::topology::Topology;

/// Which topics are in Confluent framing, and where the meaning of their numbers comes from.
pub struct Framing {
    pub(super) client: Arc<RegistryClient>,
    pub(super) subjects: BTreeMap<Topic, String>,
    pub(super) unreadable_after: Duration,
    pub(super) longest_pause: Duration,
    pub(super) missing_max: usize,
    pub(super) folder: Option<Folder>,
}

impl Framing {
    /// By the topology; `None` when no topic is in Confluent framing.
    pub fn of(topology: &Topology) -> Result<Option<Framing>, RegistryError> {
        let subjects = subjects(topology);
        let Some(registry) = topology.registry.as_ref().filter(|_| !subjects.is_empty()) else {
            return Ok(None);
        };
        let span = |ms: i64| Duration::from_millis(ms.max(0) as u64);
        Ok(Some(Framing {
            client: Arc::new(RegistryClient::new(registry)?),
            subjects,
            unreadable_after: span(topology.limits.lane_unreadable_ms),
            longest_pause: span(topology.limits.backoff_max_ms),
            missing_max: topology.limits.missing_schemas_max,
            folder: None,
        }))
    }

    /// With the schemas that lie beside a directory log; for writing, further ones are kept there.
    pub fn beside(self, log: &Path, may_write: bool) -> Framing {
        Framing { folder: Some(Folder::of(log, may_write)), ..self }
    }
}
