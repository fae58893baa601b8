//! Numbers of workers, gathered: PanDA replaces those of a harvester at a queue in one transaction,
//! and the rows of one transaction are one report.

use crate::core::cut::Topic;
use crate::core::event::Pilot;
use crate::core::unit::Millis;
use crate::drive::intake::Records;
use crate::wire::dialect::change::{WorkerKey, WorkerRow};
use crate::wire::record;
use std::collections::BTreeMap;

/// Most entries of one report; a transaction with more is published in parts.
const ENTRIES_MAX: usize = 100_000;

/// Queue, harvester, resource type.
type Of = (Box<str>, Box<str>, Box<str>);

/// The rows of a transaction so far.
#[derive(Default)]
pub struct Report {
    counts: BTreeMap<Of, Count>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    submitted: u32,
    running: u32,
    at: Millis,
}

impl Report {
    /// Whether there are as many as a report may have.
    pub fn is_full(&self) -> bool {
        self.counts.len() >= ENTRIES_MAX
    }

    /// Takes a row in. Workers in other states than submitted and running are not counted.
    pub fn add(&mut self, row: &WorkerRow<'_>, committed_at: Millis) {
        let count = self.of(&row.key, if row.at > 0 { row.at } else { committed_at });
        match &*row.key.status {
            "submitted" => count.submitted = count.submitted.saturating_add(row.count),
            "running" => count.running = count.running.saturating_add(row.count),
            _ => {}
        }
    }

    /// A row was deleted: if no other follows, there are none.
    pub fn gone(&mut self, key: &WorkerKey<'_>, committed_at: Millis) {
        self.of(key, committed_at);
    }

    /// The stamp is the latest of all.
    fn of(&mut self, key: &WorkerKey<'_>, at: Millis) -> &mut Count {
        let of = ((&*key.queue).into(), (&*key.harvester).into(), (&*key.resource_type).into());
        let count = self.counts.entry(of).or_default();
        count.at = count.at.max(at);
        count
    }

    /// Publishes the report, and forgets it.
    pub fn publish(&mut self, records: &mut Records) {
        for ((queue, harvester, resource_type), count) in std::mem::take(&mut self.counts) {
            let key = format!("{queue}/{harvester}/{resource_type}");
            let Count { submitted, running, at } = count;
            let (queue, harvester, resource_type) = (&*queue, &*harvester, &*resource_type);
            let pilot = Pilot::Workers { queue, harvester, resource_type, submitted, running, at };
            records.push(Topic::Pilot, key.as_bytes(), |out| record::write_pilot(out, &pilot));
        }
    }
}
