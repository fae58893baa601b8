//! Harvester: the calls it makes to PanDA, as messages: `{method, harvester_id, ...}`.
//!
//! `report_worker_statistics` counts the workers of a queue by job type and resource type, and from
//! their sum a queue's capacity is read: each report replaces the one before it, types that it no
//! longer names with it. `update_workers` reports workers one by one: of those
//! that run it is known that a node works for the queue. They are not counted up, since a message
//! names only those that changed.

use super::scalar::Scalar;
use super::{Foreign, json};
use crate::loose;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use yardmaster_core::unit::Millis;

/// Workers one by one.
#[derive(Clone, Debug, PartialEq)]
pub struct Workers<'a> {
    /// When it was sent; `None` when the message has no stamp.
    pub at: Option<Millis>,
    /// Those that run on a node that is named.
    pub running: Vec<Worker<'a>>,
}

/// A worker that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker<'a> {
    /// Queue.
    pub queue: Cow<'a, str>,
    /// Node.
    pub node: Cow<'a, str>,
}

/// How many workers a harvester has at a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarvesterReport {
    /// Queue.
    pub queue: String,
    /// Harvester instance.
    pub harvester: String,
    /// When it was sent; `None` when the message has no stamp.
    pub at: Option<Millis>,
    /// Workers submitted, over all job types and resource types.
    pub submitted: u32,
    /// Workers running.
    pub running: u32,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    method: Scalar<'a>,
    #[serde(borrow, default)]
    harvester_id: Scalar<'a>,
    #[serde(borrow, default)]
    panda_queue: Scalar<'a>,
    #[serde(borrow, default)]
    timestamp: Scalar<'a>,
    #[serde(default)]
    statistics: Value,
    #[serde(borrow, default)]
    workers: Option<Vec<RawWorker<'a>>>,
}

/// The fields of Harvester's `work_spec`. `computingSite` is the queue, `queueName` the same unless
/// the harvester calls it otherwise.
#[derive(Deserialize)]
struct RawWorker<'a> {
    #[serde(borrow, default, rename = "computingSite")]
    computing_site: Scalar<'a>,
    #[serde(borrow, default, rename = "queueName")]
    queue_name: Scalar<'a>,
    #[serde(borrow, default)]
    status: Scalar<'a>,
    #[serde(borrow, default, rename = "nodeID")]
    node_id: Scalar<'a>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Foreign<'_>, String> {
    let raw: Raw<'_> = json(bytes)?;
    match raw.method.kind("method")? {
        "update_workers" => {
            let at = raw.timestamp.time("timestamp")?;
            let missing = || "field `workers` is missing, wants a list of objects".to_owned();
            let workers = raw.workers.ok_or_else(missing)?.into_iter();
            let running: Result<Vec<_>, String> =
                workers.filter_map(|it| it.read().transpose()).collect();
            Ok(Foreign::Workers(Workers { at, running: running? }))
        }
        "report_worker_statistics" => {
            let (submitted, running) = counts(raw.statistics)?;
            Ok(Foreign::Report(HarvesterReport {
                queue: raw.panda_queue.needed("panda_queue")?.into_owned(),
                harvester: raw.harvester_id.needed("harvester_id")?.into_owned(),
                at: raw.timestamp.time("timestamp")?,
                submitted,
                running,
            }))
        }
        _ => Ok(Foreign::Other),
    }
}

impl<'a> RawWorker<'a> {
    /// Queue and node of a worker that runs on a node; `None` for any other.
    fn read(self) -> Result<Option<Worker<'a>>, String> {
        if &*self.status.needed("workers.status")? != "running" {
            return Ok(None);
        }
        let node = self.node_id.text("workers.nodeID")?;
        let queue = match self.computing_site.text("workers.computingSite")? {
            site if site.is_empty() => self.queue_name.needed("workers.computingSite")?,
            site => site,
        };
        Ok((!node.is_empty()).then_some(Worker { queue, node }))
    }
}

/// Workers submitted and running in `{job type: {resource type: {submitted, running, ...}}}`, as an
/// object or as its text. `Undefined` and `ANY` are no resource types: PanDA drops the one, and the
/// other has what Harvester would submit. A count below 0 is none.
fn counts(statistics: Value) -> Result<(u32, u32), String> {
    let statistics = match statistics {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    let wrong = |place: &str| {
        format!(
            "field `statistics{place}`: wants {{job type: {{resource type: {{submitted, running}}}}}}"
        )
    };
    let mut sums = (0u32, 0u32);
    for (kind, by_type) in statistics.as_object().ok_or_else(|| wrong(""))? {
        let place = format!(".{kind}");
        for (resource_type, states) in by_type.as_object().ok_or_else(|| wrong(&place))? {
            let place = format!("{place}.{resource_type}");
            let states = states.as_object().ok_or_else(|| wrong(&place))?;
            if matches!(&**resource_type, "Undefined" | "ANY") {
                continue;
            }
            let count = |state: &str| match states.get(state) {
                None | Some(Value::Null) => Ok(0),
                Some(found) => loose::whole_in(found)
                    .and_then(|count| u32::try_from(count.max(0)).ok())
                    .ok_or_else(|| wrong(&format!("{place}.{state}"))),
            };
            sums.0 = sums.0.saturating_add(count("submitted")?);
            sums.1 = sums.1.saturating_add(count("running")?);
        }
    }
    Ok(sums)
}
