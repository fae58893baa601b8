//! Where a file is: of the record that lists every copy and those about one endpoint the newest
//! counts, endpoint by endpoint (spec cms-nordugrid S-03).

use crate::event::is_newer;
use crate::event::{Location, Replica, ReplicaState};
use crate::policy::nordugrid::facts::{CacheReport, FileRecord};
use crate::state::State;
use crate::unit::{Bytes, Millis};
use std::collections::BTreeMap;

/// The records about a file that hold: the one that lists every copy, then those about one
/// endpoint.
pub(super) fn records<'s>(state: &'s State, source: &'s str) -> Vec<&'s Replica> {
    let replicas = &state.facts.replicas;
    let (first, last) = (format!("{source}|"), format!("{source}}}"));
    // The name of another file may begin with this one's and a bar.
    let of_endpoints = replicas.by_name.range(first..last).map(|(name, _)| name.as_str());
    let names = std::iter::once(source).chain(of_endpoints);
    let held = names.filter_map(|name| replicas.of(name)?.current(is_newer));
    held.filter(|replica| replica.name == source).collect()
}

/// The size and the copies of a file outside caches. Two records of one time: the one about the
/// endpoint counts.
pub(super) fn file(source: &str, records: &[&Replica]) -> FileRecord {
    let lists = records.iter().filter(|replica| replica.endpoint.is_empty());
    let listed_at = lists.map(|replica| replica.changed_at).max().unwrap_or(Millis::MIN);
    let mut size: Option<(Millis, Bytes)> = None;
    let mut copies: BTreeMap<&str, (Millis, bool)> = BTreeMap::new();
    for replica in records {
        let at = replica.changed_at;
        if replica.bytes > 0 && size.is_none_or(|(newest, _)| newest <= at) {
            size = Some((at, replica.bytes));
        }
        if at < listed_at {
            continue;
        }
        let mut put = |endpoint, is_there| {
            let known = copies.entry(endpoint).or_insert((at, is_there));
            if known.0 <= at {
                *known = (at, is_there);
            }
        };
        if !replica.endpoint.is_empty() {
            put(&replica.endpoint, false);
        }
        for location in replica.locations.iter().filter(|it| !it.cache && is_readable(it)) {
            put(&location.endpoint, true);
        }
    }
    let there = copies.into_iter().filter(|(_, (_, is_there))| *is_there);
    FileRecord {
        source: source.to_owned(),
        size_bytes: size.map(|(_, bytes)| bytes),
        replicas: there.map(|(endpoint, _)| endpoint.to_owned()).collect(),
    }
}

/// Presence of a file in the caches of clusters, by one record. A list of copies says nothing of
/// caches that it does not name: who publishes copies need not know what is in caches.
pub(super) fn cache_reports(source: &str, replica: &Replica) -> Vec<CacheReport> {
    let report = |cluster: &str, is_present| CacheReport {
        cluster: cluster.to_owned(),
        source: source.to_owned(),
        is_present,
        as_of: Some(replica.changed_at),
    };
    if replica.locations.is_empty() && !replica.endpoint.is_empty() {
        return vec![report(&replica.endpoint, false)];
    }
    let in_caches = replica.locations.iter().filter(|location| location.cache);
    in_caches.map(|location| report(&location.endpoint, is_readable(location))).collect()
}

fn is_readable(location: &Location) -> bool {
    location.complete && location.state == ReplicaState::Available
}
