//! Configuration records. Within a lane the newest content since the last null holds; across lanes
//! the newest of those. "Newest" is by the record's revision, if its kind has one, then by its own
//! time, then by its content. A record that states a later time than the log's stamp has the stamp
//! as its time, and of two of one time it is the newer one in its lane. One that [is obeyed as
//! written](Configured::is_as_written) has the stamp in any case, and the last in a lane holds.

use crate::cut::{Lane, Topic};
use crate::event::{
    Configuration, Configured, Task, TaskPhase, Touches, each_configuration, is_newer,
};
use crate::oddity::Oddity;
use crate::state::record::Fact;
use crate::state::{NamedTable, Setting, State};
use crate::unit::Millis;

fn are_of_a_time<T: Configured>(one: &T, other: &T) -> bool {
    (one.revision(), one.changed_at()) == (other.revision(), other.changed_at())
}

/// Where and when a record was written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Its lane.
    pub lane: Lane,
    /// The log's stamp; ms since 1970.
    pub at: Millis,
}

impl Written {
    /// Whether a record counts as of the log's stamp: it states a later time, or none that matters.
    fn stamps<T: Configured>(&self, record: &T) -> bool {
        record.is_as_written() || record.changed_at() > self.at
    }
}

/// Joins a record with what a lane held of its name.
fn join<T: Configured>(
    table: &mut NamedTable<Fact<T>>,
    name: &str,
    written: &Written,
    new: &T,
) -> Option<Oddity> {
    let make = || Fact { name: name.to_owned(), held: Vec::new() };
    join_fact(table.at(name, make)?, written, new)
}

/// Joins a record with what its lane held of it.
pub fn join_fact<T: Configured>(fact: &mut Fact<T>, written: &Written, new: &T) -> Option<Oddity> {
    let (lane, is_stamped) = (written.lane, written.stamps(new));
    let new = &new.changed(if is_stamped { written.at } else { new.changed_at() });
    match fact.held.iter_mut().find(|(held, _)| *held == lane) {
        None => {
            fact.held.push((lane, new.clone()));
            fact.held.sort_by_key(|(lane, _)| *lane);
            None
        }
        Some((_, old)) if old == new => Some(Oddity::Repeated),
        Some((_, old))
            if new.is_as_written()
                || is_newer(new, old)
                || is_stamped && are_of_a_time(new, old) =>
        {
            *old = new.clone();
            None
        }
        Some(_) => Some(Oddity::Stale),
    }
}

/// Removes what a lane held of a name.
fn remove<T: Configured>(table: &mut NamedTable<Fact<T>>, name: &str, lane: Lane) -> Touches {
    if table.of(name).is_some() {
        let make = || Fact { name: name.to_owned(), held: Vec::new() };
        let is_empty = table.at(name, make).is_some_and(|fact| {
            fact.held.retain(|(held, _)| *held != lane);
            fact.held.is_empty()
        });
        if is_empty {
            table.remove(name);
        }
    }
    T::removed(name)
}

/// Whether a record lists a file in the cache of a queue, `cluster/queue`: a cache is the cluster's
/// (spec cms-nordugrid B.11), and no cluster has such a name.
fn names_target_as_cache(event: &Configuration) -> bool {
    let Configuration::Replica(replica) = event else { return false };
    replica.locations.iter().any(|location| location.cache && location.endpoint.contains('/'))
}

impl State {
    pub(super) fn fold_configuration(&mut self, at: &Written, event: &Configuration) {
        let name = event.name();
        let is_replica = event.topic() == Topic::Replica;
        let before = is_replica.then(|| self.begin_replica(&name));
        macro_rules! joined {
            ($($kind:ident $field:ident,)*) => {
                match event {
                    $(Configuration::$kind(event) => {
                        (join(&mut self.facts.$field, &name, at, event), event.touches())
                    })*
                }
            };
        }
        let (oddity, touches) = each_configuration!(joined);
        if event.revision() < 0 || self.setting.judges_targets && names_target_as_cache(event) {
            self.odd(event.topic(), Oddity::BadValue);
        }
        if let Some(before) = before {
            self.end_replica(&name, before);
        }
        match oddity {
            Some(oddity) => self.odd(event.topic(), oddity),
            None => self.touch(event.topic(), &name, touches),
        }
        if event.topic() == Topic::DomainRecord && oddity.is_none() {
            self.ask_for_domain(&name, at.at);
        }
    }

    pub(super) fn fold_removed(&mut self, lane: Lane, topic: Topic, name: &str) {
        macro_rules! removed {
            ($($kind:ident $field:ident,)*) => {
                match topic {
                    $(Topic::$kind => remove(&mut self.facts.$field, name, lane),)*
                    _ => return self.odd(topic, Oddity::Garbled),
                }
            };
        }
        let before = (topic == Topic::Replica).then(|| self.begin_replica(name));
        let touches = each_configuration!(removed);
        if let Some(before) = before {
            self.end_replica(name, before);
        }
        self.touch(topic, name, touches);
        if topic == Topic::DomainRecord {
            self.ask_for_domain(name, self.times.of(topic).time);
        }
    }

    /// The request that a domain's record makes, or no longer makes (there is none, or it asks
    /// nothing), is folded like one of `task`.
    fn ask_for_domain(&mut self, name: &str, at: Millis) {
        let Some(asks) = &self.setting.domain_requests else { return };
        let Some(subject) = name.strip_prefix(asks.kind).and_then(|it| it.strip_prefix('|')) else {
            return;
        };
        let record = self.facts.domain_records.of(name).and_then(|fact| fact.current(is_newer));
        let known = self.requests.of(subject).and_then(|request| request.task.as_ref());
        let task = match (record.and_then(asks.request), known) {
            (Some(task), _) => Task {
                subject: subject.to_owned(),
                task: subject.to_owned(),
                domain: self.setting.domain.clone(),
                policy: asks.policy.clone(),
                ..task
            },
            (None, Some(known)) => {
                let changed_at = at.max(known.changed_at);
                Task { phase: TaskPhase::Ended, changed_at, ..known.clone() }
            }
            (None, None) => return,
        };
        if known != Some(&task) {
            let bound = at.max(task.changed_at);
            self.fold_task(&task, bound);
        }
    }

    /// Notes what a changed or removed record is part of.
    fn touch(&mut self, topic: Topic, name: &str, touches: Touches) {
        let Setting { judges_targets, pool, domain_requests, .. } = &self.setting;
        if *judges_targets || pool.is_some() || domain_requests.is_some() {
            self.touched.facts.insert((topic, name.to_owned()));
        }
        match touches {
            Touches::Queues => self.touched.queues = true,
            Touches::Settings => self.touched.settings = true,
            Touches::Storage => {
                self.touched.storages.insert(name.to_owned());
            }
            Touches::Link => {
                if let Some((source, destination)) = name.split_once(':') {
                    let (source, destination) = (self.name(source), self.name(destination));
                    self.touched.from.add(source);
                    self.touched.into.add(destination);
                    self.touched.links.insert(name.to_owned());
                }
            }
            Touches::Owner(kind, owner) => {
                self.touched.accounts.insert((kind, owner));
            }
            Touches::AllOwners => self.touched.everyone = true,
            // Noted where the index of replicas is brought up to date.
            Touches::Locations | Touches::Targets | Touches::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Storage;

    /// By a clock that is fast, within the limit or beyond it, by more or by less than before.
    #[test]
    fn what_is_written_after_a_record_of_a_fast_clock_holds() {
        let lane = Lane::new(Topic::Storage, 0);
        let mut fact = Fact { name: "S".to_owned(), held: Vec::new() };
        let writes = [(0, 299_000), (0, 299_500), (60_000, 301_000), (61_000, 500), (62_000, 0)];
        for (number, (at, ahead)) in writes.into_iter().enumerate() {
            let changed_at = at + ahead;
            let free_bytes = 1_000 - number as u64;
            let record = Storage { changed_at, free_bytes, ..Storage::default() };
            assert_eq!(join_fact(&mut fact, &Written { lane, at }, &record), None, "{at} {ahead}");
            assert_eq!(fact.current(is_newer).map(|it| it.free_bytes), Some(free_bytes));
        }
        // One that states an earlier time is late.
        let record = Storage { changed_at: 61_999, ..Storage::default() };
        let late = join_fact(&mut fact, &Written { lane, at: 63_000 }, &record);
        assert_eq!(late, Some(Oddity::Stale));
    }
}
