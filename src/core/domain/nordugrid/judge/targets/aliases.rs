//! Jobs that several publish records of: their submitter under their names in the domain, and the
//! cluster's importer under the ids that the cluster gave them. Each is one job, and counts once.

use crate::domain::nordugrid::policy::KnownJob;
use crate::domain::nordugrid::policy::grid_facts::split_target;
use crate::domain::nordugrid::policy::job_state::{ClusterJobState, JobRecord};
use crate::id::Key;
use crate::state::State;
use crate::topic::Topic;
use std::collections::{BTreeMap, BTreeSet};

/// Most names, beside the id itself, under which one job is known; others that state the id are
/// jobs of their own.
const NAMES_MAX: usize = 8;

/// Jobs whose records state an id that is not their name. A job that states none has its name as
/// id; jobs of one id at one cluster are one job.
#[derive(Default)]
pub(super) struct Aliases {
    /// By the id, at whatever cluster.
    names: BTreeMap<String, BTreeSet<String>>,
    ids: BTreeMap<String, String>,
}

impl Aliases {
    /// Takes what the record of a job states. All jobs that are or were known by its id, itself
    /// among them, and the first that is not: it takes the place of one that leaves.
    pub(super) fn put(&mut self, state: &State, name: &str) -> BTreeSet<String> {
        let mut affected = self.first_of_id(name, NAMES_MAX + 1);
        affected.insert(name.to_owned());
        let stated = stated_id(state, name);
        if self.ids.get(name) != stated {
            if let Some(before) = self.ids.remove(name)
                && let Some(names) = self.names.get_mut(&before)
            {
                names.remove(name);
                if names.is_empty() {
                    self.names.remove(&before);
                }
            }
            if let Some(id) = stated {
                self.names.entry(id.clone()).or_default().insert(name.to_owned());
                self.ids.insert(name.to_owned(), id.clone());
            }
            affected.append(&mut self.first_of_id(name, NAMES_MAX + 1));
        }
        affected
    }

    /// Names of the jobs that have the id of a job, at whatever cluster, up to [`NAMES_MAX`].
    fn of_id(&self, name: &str) -> BTreeSet<String> {
        self.first_of_id(name, NAMES_MAX)
    }

    fn first_of_id(&self, name: &str, most: usize) -> BTreeSet<String> {
        let id = self.ids.get(name).map_or(name, String::as_str);
        let stating = self.names.get(id).into_iter().flatten();
        let mut names: BTreeSet<String> = stating.take(most).cloned().collect();
        if !self.ids.contains_key(id) {
            names.insert(id.to_owned());
        }
        names
    }

    /// Names under which a job is known, its own among them.
    fn group(&self, state: &State, name: &str) -> BTreeSet<String> {
        let mut group = BTreeSet::from([name.to_owned()]);
        if let Some(cluster) = cluster_of(state, name)
            && self.names.contains_key(self.ids.get(name).map_or(name, String::as_str))
        {
            let names = self.of_id(name);
            if names.contains(name) {
                let is_there = |other: &String| cluster_of(state, other) == Some(cluster);
                group.extend(names.into_iter().filter(is_there));
            }
        }
        group
    }

    /// All that is known of the job of a name. Of several names it is known under the one that was
    /// placed, else the first; nothing is known under the others. The newest record counts.
    pub(super) fn known<'s>(&self, state: &'s State, name: &'s str) -> KnownJob<'s> {
        let group = self.group(state, name);
        let request = state.requests.of(name);
        let record = record(state, name);
        let (time, lifetime) =
            (state.times.of(Topic::JobState).time, state.setting.limits.reservation_lifetime_ms);
        let known = KnownJob { name, record, request, time, lifetime };
        if group.len() == 1 {
            return known;
        }
        let is_placed = |name: &&String| {
            state.requests.of(name).is_some_and(|request| !request.placements.is_empty())
        };
        let first = group.iter().find(is_placed).or(group.first());
        if first.is_none_or(|first| first != name) {
            return KnownJob { record: None, request: None, ..known };
        }
        KnownJob { record: newest(state, &group), ..known }
    }
}

/// The newest record of several: one of the end before others, then by time.
fn newest<'s>(state: &'s State, group: &BTreeSet<String>) -> Option<(&'s str, JobRecord)> {
    let records: Vec<(&str, JobRecord)> =
        group.iter().filter_map(|name| record(state, name)).collect();
    let rank = |it: &JobRecord| (it.state == ClusterJobState::Ended, it.changed_at, it.state);
    let (target, newest) = *records.iter().max_by_key(|(_, it)| rank(it))?;
    let reached = records.iter().filter_map(|(_, it)| it.reached_batch_at).max();
    let merged = JobRecord {
        reached_batch_at: newest.reached_batch_at.or(reached),
        time_s: newest.time_s.or(records.iter().find_map(|(_, it)| it.time_s)),
        is_staged: records.iter().any(|(_, it)| it.is_staged),
        ..newest
    };
    Some((target, merged))
}

fn record<'s>(state: &'s State, name: &str) -> Option<(&'s str, JobRecord)> {
    JobRecord::of(state, state.jobs.of(Key::of(name.as_bytes()))?)
}

/// The cluster that a job is at.
fn cluster_of<'s>(state: &'s State, name: &str) -> Option<&'s str> {
    record(state, name).map(|(target, _)| split_target(target).0)
}

/// The id that the record of a job at a cluster states, if it is not its name.
fn stated_id<'s>(state: &'s State, name: &str) -> Option<&'s String> {
    cluster_of(state, name)?;
    let at = state.at_clusters.get(&Key::of(name.as_bytes()))?;
    Some(&at.cluster_job).filter(|id| !id.is_empty() && *id != name)
}
