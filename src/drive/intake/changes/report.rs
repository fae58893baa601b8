//! Numbers of workers, gathered: PanDA replaces those of a harvester at a queue in one transaction,
//! and the rows of one transaction are one report.

use crate::intake::Records;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Pilot;
use yardmaster_core::unit::Millis;
use yardmaster_wire::dialect::change::{WorkerKey, WorkerRow};
use yardmaster_wire::record;

/// Most entries of one report; a transaction with more is published in parts.
const ENTRIES_MAX: usize = 100_000;

/// Queue, harvester, resource type.
type Of = (Box<str>, Box<str>, Box<str>);

/// The rows of a transaction so far.
#[derive(Default)]
pub struct TransactionReport {
    counts: BTreeMap<Of, Count>,
}

#[derive(Clone, Default)]
struct Count {
    /// By state of the workers and type of their jobs: a row that is sent again counts once.
    rows: BTreeMap<(Box<str>, Box<str>), u32>,
    at: Millis,
}

impl Count {
    /// Workers of a state.
    fn of(&self, status: &str) -> u32 {
        let of_status = self.rows.iter().filter(|((of, _), _)| **of == *status);
        of_status.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

impl TransactionReport {
    /// Whether there are as many as a report may have.
    pub fn is_full(&self) -> bool {
        self.counts.len() >= ENTRIES_MAX
    }

    /// Takes a row in. Workers in other states than submitted and running are not counted.
    pub fn add(&mut self, row: &WorkerRow<'_>, committed_at: Millis) {
        let count = self.of(&row.key, if row.at > 0 { row.at } else { committed_at });
        if matches!(&*row.key.status, "submitted" | "running") {
            let of = ((&*row.key.status).into(), (&*row.key.job_type).into());
            count.rows.insert(of, row.count);
        }
    }

    /// A row was deleted: if no other follows, there are none.
    pub fn gone(&mut self, key: &WorkerKey<'_>, committed_at: Millis) {
        let of = ((&*key.status).into(), (&*key.job_type).into());
        self.of(key, committed_at).rows.remove(&of);
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
            let (submitted, running, at) = (count.of("submitted"), count.of("running"), count.at);
            let (queue, harvester, resource_type) = (&*queue, &*harvester, &*resource_type);
            let pilot = Pilot::Workers { queue, harvester, resource_type, submitted, running, at };
            records.push(Topic::Pilot, key.as_bytes(), |out| record::write(out, &pilot));
        }
    }
}
