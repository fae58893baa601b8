//! What the rules need of the records: nodes, partitions and jobs.

use std::collections::BTreeMap;
use yardmaster::core::event::DomainRecord;
use yardmaster::core::policy::DomainFacts;

/// A partition, with its nodes that are in service.
pub struct Partition {
    pub record: DomainRecord,
    pub nodes: Vec<DomainRecord>,
    /// Cores that are free, less those reserved; below 0: what waits there.
    pub free: i64,
    /// Jobs that were sent there, and their cores.
    pub sent: (u64, u64),
}

/// A pending job.
pub struct Job<'a> {
    pub record: &'a DomainRecord,
    pub cpus: i64,
    pub nodes: i64,
    pub now: i64,
}

impl<'a> Job<'a> {
    /// A job of a record, as of a moment.
    pub fn of(record: &'a DomainRecord, now: i64) -> Job<'a> {
        let [cpus, nodes] = ["cpus", "nodes"].map(|name| whole(record, name).max(1));
        Job { record, cpus, nodes, now }
    }

    /// Until when it may not begin, if that is still to come; ms since 1970.
    pub fn begins_at(&self) -> Option<i64> {
        self.record.whole("eligible_at").filter(|at| *at > self.now)
    }

    /// Whether a node could run its part if it were idle.
    pub fn fits(&self, node: &DomainRecord) -> bool {
        let record = self.record;
        let cpus = (self.cpus + self.nodes - 1) / self.nodes;
        let mb = whole(record, "mb_per_cpu").saturating_mul(cpus);
        let wanted = record.list("on_nodes");
        let reservation = node.text("reservation");
        whole(node, "cpus") >= cpus
            && whole(node, "mb") >= record.whole("mb_per_node").unwrap_or(mb)
            && whole(node, "gpus") >= whole(record, "gpus")
            && (reservation.is_none() || record.text("reservation") == reservation)
            && (wanted.is_empty() || wanted.contains(&node.name))
    }
}

/// All partitions by name, before anything is reserved.
pub fn partitions(facts: DomainFacts<'_>) -> BTreeMap<String, Partition> {
    let all = facts.records("partition").map(|record| {
        let nodes = record.list("nodes").iter().filter_map(|name| facts.record("node", name));
        let nodes: Vec<DomainRecord> =
            nodes.filter(|node| node.flag("in_service") == Some(true)).cloned().collect();
        let unreserved = nodes.iter().filter(|node| node.text("reservation").is_none());
        let free = unreserved.map(|node| whole(node, "idle")).sum();
        (record.name.clone(), Partition { record: record.clone(), nodes, free, sent: (0, 0) })
    });
    all.collect()
}

/// A number that counts as 0 where it is not stated, and of no more than can be added up.
pub fn whole(record: &DomainRecord, name: &str) -> i64 {
    record.whole(name).unwrap_or(0).clamp(0, 1 << 40)
}
