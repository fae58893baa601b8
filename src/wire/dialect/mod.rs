//! Foreign messages in JSON: those of PanDA, Rucio and Harvester, one file a dialect.
//!
//! Bytes to a message, or to the reason why they are none: a text of the dialect, the field,
//! what was found and what is wanted. Text is borrowed from the bytes where JSON allows it. Unknown
//! fields are ignored, and so are messages of kinds that are no concern of ours.

pub mod change;
mod harvester;
mod panda;
mod revision;
mod rucio;
mod scalar;
mod state;

pub use harvester::{HarvesterReport, Worker, Workers};
pub use panda::{JobMessage, TaskMessage};
pub use revision::{Grades, OWN, learned, revision, transfer_revision};
pub use rucio::{DatasetMessage, Everywhere, ReplicaMessage, TransferMessage};
pub(crate) use state::job_status;

use crate::loose;
use yardmaster_core::event::FieldName;

/// Whose messages a topic carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// PanDA's message queue: `job_status` and `task_status`.
    Panda,
    /// Rucio's Hermes: `transfer-queued`, `-submitted`, `-done`, `-failed`; `add-replicas`,
    /// `deletion-done`, `deletion-not-found`, `datasetlock_ok`.
    Rucio,
    /// Harvester's calls: `update_workers` and `report_worker_statistics`.
    Harvester,
    /// Changes of PanDA's tables, as Debezium publishes them; see `change`.
    PandaCdc,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 4] =
        [Dialect::Panda, Dialect::Rucio, Dialect::Harvester, Dialect::PandaCdc];

    /// Its name in the topology file, in headers and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Panda => "panda",
            Dialect::Rucio => "rucio",
            Dialect::Harvester => "harvester",
            Dialect::PandaCdc => "panda-cdc",
        }
    }
}

/// A foreign message. Closed: a new kind of message is a new variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Foreign<'a> {
    /// A job reached a state.
    Job(JobMessage<'a>),
    /// A task reached a state.
    Task(TaskMessage),
    /// A transfer reached a state.
    Transfer(TransferMessage<'a>),
    /// A copy came or went.
    Replica(ReplicaMessage<'a>),
    /// Something became of a dataset at all RSEs.
    Dataset(DatasetMessage),
    /// Workers one by one.
    Workers(Workers<'a>),
    /// How many workers a harvester has at a queue.
    Report(HarvesterReport),
    /// A message of a kind that is no concern of ours.
    Other,
}

impl Foreign<'_> {
    /// The longest name in the message. Names become keys of our records.
    pub fn longest_name(&self) -> FieldName<'_> {
        match self {
            Foreign::Job(job) => FieldName { field: "computingsite", text: &job.queue },
            Foreign::Transfer(it) => {
                let own = FieldName::longest([
                    ("request-id", &*it.request),
                    ("activity", &it.activity),
                    ("src-rse", &it.source),
                    ("dst-rse", &it.destination),
                ]);
                let arrived = it.arrived.as_ref().map(ReplicaMessage::longest_name);
                FieldName::longest([own, arrived.unwrap_or_default()].map(|it| (it.field, it.text)))
            }
            Foreign::Replica(it) => it.longest_name(),
            Foreign::Dataset(it) => FieldName { field: "name", text: &it.name },
            Foreign::Workers(workers) => {
                let queues = workers.running.iter().map(|it| &*it.queue);
                let nodes = workers.running.iter().map(|it| &*it.node);
                FieldName::default().or_in("computingSite", queues).or_in("nodeID", nodes)
            }
            Foreign::Report(it) => {
                FieldName::longest([("panda_queue", &*it.queue), ("harvester_id", &it.harvester)])
            }
            Foreign::Task(_) | Foreign::Other => FieldName::default(),
        }
    }
}

/// Reads a message. The error is the reason, for a person.
pub fn read(dialect: Dialect, bytes: &[u8]) -> Result<Foreign<'_>, String> {
    let read = match dialect {
        Dialect::Panda => panda::read(bytes),
        Dialect::Rucio => rucio::read(bytes),
        Dialect::Harvester => harvester::read(bytes),
        // Its messages need their key, and are no `Foreign`.
        Dialect::PandaCdc => return change::read(None, Some(bytes)).map(|_| Foreign::Other),
    };
    read.map_err(|why| format!("{}: {why}", dialect.name()))
}

/// A message without what Python's `json` writes and JSON does not have: a byte order mark, `NaN`
/// and `Infinity`, which are no values. `None` where it has none of these.
pub fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    loose::mended(bytes)
}

/// Reads a JSON object into the shape of a dialect's messages.
fn json<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    // A list would be taken for the fields in their order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err("no JSON object".to_owned());
    }
    serde_json::from_slice(bytes).map_err(|error| format!("no JSON object as wanted: {error}"))
}
