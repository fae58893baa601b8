//! `link`: network measurements from one site to another.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::record::{Quantity, record};
use crate::unit::{Bytes, Millis};

/// Files and bytes waiting on a link for one activity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkQueued {
    /// Activity.
    pub activity: String,
    /// Files waiting.
    pub files: u64,
    /// Bytes waiting.
    pub bytes: Bytes,
}

/// Closeness of a link that must not be used.
pub const BLOCKED: i32 = -1;

/// Network measurements from one site to another (spec atlas 4.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Source site.
    pub source: String,
    /// Destination site.
    pub destination: String,
    /// When it was measured.
    pub changed_at: Millis,
    /// 0 best to 11 worst; -1 blocked.
    pub closeness: Option<i32>,
    /// Throughput over the last hour; MB/s.
    pub mbps_1h: Option<f64>,
    /// Throughput over the last day; MB/s.
    pub mbps_1d: Option<f64>,
    /// Throughput over the last week; MB/s.
    pub mbps_1w: Option<f64>,
    /// Files that wait on it, per activity; empty when the service does not publish it.
    pub queued: Vec<LinkQueued>,
    /// Whether `queued` is published at all (an empty list then means nothing waits).
    pub queued_known: bool,
}

record!(LinkQueued { activity, files, bytes });
record!(Link {
    source,
    destination,
    changed_at,
    closeness,
    mbps_1h as Quantity,
    mbps_1d as Quantity,
    mbps_1w as Quantity,
    queued,
    queued_known,
});

/// Name of a link.
pub fn link_name(source: &str, destination: &str) -> String {
    format!("{source}:{destination}")
}

impl Configured for Link {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        link_name(&self.source, &self.destination)
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Link {
        Link { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        let activities = self.queued.iter().map(|queued| queued.activity.as_str());
        longest!(self: source, destination).or_in("queued", activities)
    }

    fn touches(&self) -> Touches {
        Touches::Link
    }

    fn removed(_: &str) -> Touches {
        Touches::Link
    }
}
