//! Targets, indexed for judging: facts, jobs in front, tags of files. Derived from the state,
//! brought up to date by what it notes as touched.

mod aliases;

use crate::domain::nordugrid::policy::grid_facts::GridFacts;
use crate::draw::cut_id;
use crate::event::{Configured, Replica, UserKind, is_newer, user_name};
use crate::id::Key;
use crate::state::State;
use crate::state::record::Fact;
use crate::topic::Topic;
use crate::unit::Millis;
use aliases::Aliases;
use std::collections::{BTreeMap, BTreeSet};

/// Facts about targets, with the names and times that are needed to update them.
#[derive(Default)]
pub struct KeptTargets {
    /// The facts that the policy reads.
    pub facts: GridFacts,
    /// Name of the cut, for draws (spec cms-nordugrid S-02).
    pub cut_id: String,
    /// Jobs that are known under several names.
    aliases: Aliases,
    /// Names of jobs that have a record.
    jobs: BTreeMap<Key, String>,
    /// Assignments by the time at which they hold nothing any more if nothing is heard of the job,
    /// with its name.
    expiring: BTreeSet<(Millis, String)>,
    /// Facts that went since all was made: their names are still known.
    gone: usize,
}

/// So many facts may go before all is made again, or as many as there are.
const GONE_MIN: usize = 10_000;

impl KeptTargets {
    /// Brings everything up to date with a cut that was just closed; all of it where `everything`.
    pub(crate) fn update(&mut self, state: &mut State, everything: bool) {
        if !state.setting.judges_targets {
            return;
        }
        let facts = std::mem::take(&mut state.touched.facts);
        let jobs = std::mem::take(&mut state.touched.jobs);
        self.gone += facts.iter().filter(|(topic, name)| is_gone(state, *topic, name)).count();
        if everything || self.gone > GONE_MIN.max(facts_count(state)) {
            self.make(state);
        } else {
            facts.iter().for_each(|(topic, name)| self.put_fact(state, *topic, name));
            let subjects = state.touched.subjects.iter();
            let mut names: BTreeSet<String> = subjects.cloned().collect();
            for key in jobs {
                names.insert(self.job_name(state, key));
            }
            names.extend(self.take_expired(state.times.of(Topic::JobState).time));
            names.iter().for_each(|name| self.put_job(state, name));
        }
        self.cut_id = input_cut_id(state);
    }

    /// Makes all of it from the state.
    fn make(&mut self, state: &State) {
        *self = KeptTargets::default();
        for (topic, names) in [
            (Topic::Registration, names(&state.facts.registrations)),
            (Topic::Site, names(&state.facts.sites)),
            (Topic::Queue, names(&state.facts.queues)),
            (Topic::UserShare, names(&state.facts.user_shares)),
            (Topic::User, names(&state.facts.users)),
            (Topic::Replica, names(&state.facts.replicas)),
        ] {
            names.iter().for_each(|name| self.put_fact(state, topic, name));
        }
        let mut subjects: BTreeSet<String> = state.requests.by_name.keys().cloned().collect();
        for (_, job) in state.jobs.slab.iter().filter(|(_, job)| job.status.is_some()) {
            subjects.insert(self.job_name(state, job.key));
        }
        subjects.iter().for_each(|name| self.put_job(state, name));
    }

    /// The name of a job; of one that was forgotten since the last update as well.
    fn job_name(&mut self, state: &State, key: Key) -> String {
        if state.jobs.of(key).is_none() {
            return self.jobs.remove(&key).unwrap_or_else(|| state.job_name(key));
        }
        self.jobs.entry(key).or_insert_with(|| state.job_name(key)).clone()
    }

    /// Takes what holds of a fact in the place of what held before; nothing if it is removed, or
    /// says nothing of a target. A name of two parts may be split at several places; all stand for
    /// the one record.
    fn put_fact(&mut self, state: &State, topic: Topic, name: &str) {
        let facts = &state.facts;
        match topic {
            Topic::Registration => {
                for (registry, child) in splits(name, ' ') {
                    self.facts.remove_registration(registry, child);
                }
                if let Some(record) = current(facts.registrations.of(name)) {
                    self.facts.put_registration(record);
                }
            }
            Topic::Site => {
                let site = current(facts.sites.of(name));
                match site.and_then(|site| site.cluster.as_ref()) {
                    Some(cluster) => self.facts.put_cluster(name, cluster),
                    None => self.facts.remove_cluster(name),
                }
            }
            Topic::Queue => {
                self.facts.remove_share(name);
                if let Some(queue) = current(facts.queues.of(name))
                    && let Some(batch) = &queue.batch
                {
                    self.facts.put_share(name, queue.changed_at, batch);
                }
            }
            Topic::UserShare => {
                splits(name, ' ').for_each(|(at, user)| self.facts.remove_user_share(at, user));
                if let Some(record) = current(facts.user_shares.of(name)) {
                    self.facts.put_user_share(record);
                }
            }
            Topic::User => {
                if let Some(name) = name.strip_prefix("user/") {
                    let record = current(facts.users.of(&user_name(UserKind::User, name)));
                    self.facts.put_user(name, record.map_or(&[], |record| &record.vos));
                }
            }
            Topic::Replica => {
                let sources = splits(name, '|').map(|(source, _)| source);
                for source in std::iter::once(name).chain(sources) {
                    self.facts.put_file(source, &replicas(state, source));
                }
            }
            _ => {}
        }
    }

    /// All that is known of one job: its record, and where decisions placed it. The same of the
    /// names under which others publish it.
    pub(crate) fn put_job(&mut self, state: &State, name: &str) {
        for name in self.aliases.put(state, name) {
            self.put_known(state, &name);
        }
    }

    fn put_known(&mut self, state: &State, name: &str) {
        let known = self.aliases.known(state, name);
        let ends = known.placements().iter().map(|placement| known.expires_at(placement));
        for at in ends.filter(|at| *at > known.time) {
            self.expiring.insert((at, name.to_owned()));
        }
        self.facts.put_job(&known);
    }

    /// Jobs with an assignment that expired by a time.
    fn take_expired(&mut self, time: Millis) -> BTreeSet<String> {
        let mut expired = BTreeSet::new();
        while let Some((_, name)) = self.expiring.first().filter(|(at, _)| *at <= time) {
            expired.insert(name.clone());
            self.expiring.pop_first();
        }
        expired
    }
}

/// The records about a file that hold: the one that lists every copy, then those about one
/// endpoint.
fn replicas<'s>(state: &'s State, source: &'s str) -> Vec<&'s Replica> {
    let replicas = &state.facts.replicas;
    let (first, last) = (format!("{source}|"), format!("{source}}}"));
    // The name of another file may begin with this one's and a bar.
    let of_endpoints = replicas.by_name.range(first..last).map(|(name, _)| name.as_str());
    let names = std::iter::once(source).chain(of_endpoints);
    let held = names.filter_map(|name| current(replicas.of(name)));
    held.filter(|replica| replica.name == source).collect()
}

/// The two parts of a name at each place where a sign stands.
fn splits(name: &str, sign: char) -> impl Iterator<Item = (&str, &str)> {
    name.match_indices(sign).map(move |(at, _)| (&name[..at], &name[at + sign.len_utf8()..]))
}

fn names<T>(table: &crate::state::NamedTable<T>) -> Vec<String> {
    table.by_name.keys().cloned().collect()
}

fn current<T: Configured>(fact: Option<&Fact<T>>) -> Option<&T> {
    fact?.current(is_newer)
}

/// Whether a record is no longer there, or no longer says anything of a target.
fn is_gone(state: &State, topic: Topic, name: &str) -> bool {
    let facts = &state.facts;
    match topic {
        Topic::Registration => current(facts.registrations.of(name)).is_none(),
        Topic::UserShare => current(facts.user_shares.of(name)).is_none(),
        Topic::Replica => current(facts.replicas.of(name)).is_none(),
        Topic::Site => current(facts.sites.of(name)).is_none_or(|site| site.cluster.is_none()),
        Topic::Queue => current(facts.queues.of(name)).is_none_or(|queue| queue.batch.is_none()),
        _ => false,
    }
}

/// How many facts may say anything of targets.
fn facts_count(state: &State) -> usize {
    let facts = &state.facts;
    let few = facts.registrations.len() + facts.sites.len() + facts.queues.len();
    few + facts.user_shares.len() + facts.replicas.len()
}

/// Name of the cut by what was read of the topics that others write.
fn input_cut_id(state: &State) -> String {
    let mut positions = Vec::new();
    for topic in Topic::read().filter(|topic| !topic.is_own()) {
        for (lane, held) in state.times.lanes.of(topic) {
            positions.push((topic.name(), lane.partition, held.next));
        }
    }
    cut_id(&positions)
}

#[cfg(test)]
mod tests;
