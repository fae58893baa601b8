//! Storage endpoints that lie at a cluster: those below the addresses that it lists (`localse`).

use super::fact::Fact;
use super::tail::{TailRecord, TopicTail};
use crate::cli::log_args::LogArgs;
use std::collections::BTreeSet;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{ClusterFacts, Configuration};
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::topology::Topology;

/// Most endpoints that are remembered, and that one cluster is given.
const ENDPOINTS_MAX: usize = 20_000;

/// Endpoints that copies of files were published at.
#[derive(Default)]
pub struct CopyEndpoints {
    tail: TopicTail,
    codec: Codec,
    endpoints: BTreeSet<String>,
}

impl CopyEndpoints {
    /// Reads what was published of copies since the last time.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read_on(&mut self, log_args: &LogArgs, topology: &Topology) -> anyhow::Result<()> {
        let CopyEndpoints { tail, codec, endpoints } = self;
        let mut arena = Arena::default();
        tail.read(log_args, topology, Topic::Replica, &mut |found| {
            let TailRecord::Record(record) = found else { return endpoints.clear() };
            let event = codec.read(Topic::Replica, record.key, record.value, &mut arena);
            if let Some(Fact::Configuration(it)) = Fact::of(event)
                && let Configuration::Replica(replica) = *it
            {
                let copies = replica.locations.into_iter().filter(|copy| !copy.cache);
                let left = ENDPOINTS_MAX.saturating_sub(endpoints.len());
                endpoints.extend(copies.map(|copy| copy.endpoint).take(left));
            }
            arena.clear();
        })
    }

    /// Adds to what a cluster lists as local the endpoints that begin with it: a decision compares
    /// whole names, and what ARC publishes is the beginning of an address (N-16).
    pub fn complete(&self, facts: &mut ClusterFacts) {
        let mut local: BTreeSet<String> = BTreeSet::new();
        for listed in &facts.local_storage {
            let listed = listed.trim_end_matches('/');
            let below = self.endpoints.range(listed.to_owned()..);
            let below = below.take_while(|endpoint| endpoint.starts_with(listed));
            let is_part = |endpoint: &&String| {
                endpoint[listed.len()..].starts_with('/') || endpoint.len() == listed.len()
            };
            local.extend(below.filter(is_part).cloned());
        }
        local.retain(|endpoint| !facts.local_storage.contains(endpoint));
        facts.local_storage.extend(local);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_below_what_a_cluster_lists_is_local() {
        let names = ["http://se/data/a", "http://se/data", "http://se/database", "http://other/x"];
        let endpoints = names.map(str::to_owned).into_iter().collect();
        let known = CopyEndpoints { endpoints, ..CopyEndpoints::default() };
        let completed = |listed: &[&str]| {
            let local_storage = listed.iter().map(|it| (*it).to_owned()).collect();
            let mut facts = ClusterFacts { local_storage, ..ClusterFacts::default() };
            known.complete(&mut facts);
            facts.local_storage
        };
        assert_eq!(completed(&["http://se/data"]), ["http://se/data", "http://se/data/a"]);
        assert_eq!(
            completed(&["http://se/data/"]),
            ["http://se/data/", "http://se/data", "http://se/data/a"]
        );
        assert_eq!(completed(&[]), [""; 0]);
        assert_eq!(completed(&["http://se/d"]), ["http://se/d"]);
    }
}
