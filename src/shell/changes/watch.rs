//! The facts of a running process, looked at again and again for what changed.

use super::{ChangeView, of_lead, of_record, of_topology, together};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, Configured, is_newer};
use yardmaster_core::state::record::Fact;
use yardmaster_core::state::{NamedTable, State};
use yardmaster_core::unit::Millis;

/// A topic with more records is not looked at, as each look goes over all of them: that it is not
/// is listed as a change.
const RECORDS_MAX: usize = 20_000;

/// Facts and lead as they were at the last look.
#[derive(Debug, Default)]
pub struct FactWatch {
    known: BTreeMap<Topic, BTreeMap<String, Configuration>>,
    unwatched: BTreeSet<Topic>,
    /// Whether it was not looked at yet: the first look lists topics that are not watched.
    is_new: bool,
    epoch: u64,
    leader: Option<String>,
    topology: String,
}

/// The process that leads, and by which topology.
#[derive(Clone, Copy, Debug)]
pub struct Lead<'a> {
    /// The epoch that the state is in.
    pub epoch: u64,
    /// Who leads, if that is known.
    pub leader: Option<&'a str>,
    /// The text of its topology.
    pub topology: &'a str,
}

impl FactWatch {
    /// Begins with what is known now.
    pub fn new(state: &State, lead: Lead<'_>) -> FactWatch {
        let mut watch = FactWatch {
            epoch: lead.epoch,
            leader: lead.leader.map(str::to_owned),
            topology: lead.topology.to_owned(),
            ..FactWatch::default()
        };
        watch.facts(state);
        watch.is_new = true;
        watch
    }

    /// Looks who leads: a comparison of two numbers, but for a new epoch.
    pub fn lead(&mut self, now: Millis, lead: Lead<'_>) -> Vec<ChangeView> {
        if lead.epoch == self.epoch {
            // After a start it is known only once its next cycle was read.
            if self.leader.is_none() {
                self.leader = lead.leader.map(str::to_owned);
            }
            return Vec::new();
        }
        let mut changes = vec![of_lead(now, lead.epoch, self.leader.as_deref(), lead.leader)];
        if !self.topology.is_empty() && self.topology != lead.topology {
            changes.extend(of_topology(now, &self.topology, lead.topology));
        }
        self.epoch = lead.epoch;
        self.leader = lead.leader.map(str::to_owned);
        lead.topology.clone_into(&mut self.topology);
        changes
    }

    /// Looks at all facts that are watched.
    pub fn facts(&mut self, state: &State) -> Vec<ChangeView> {
        let facts = &state.facts;
        let mut changes = Vec::new();
        self.look(state.now, &facts.queues, &mut changes);
        self.look(state.now, &facts.sites, &mut changes);
        self.look(state.now, &facts.storages, &mut changes);
        self.look(state.now, &facts.parameters, &mut changes);
        self.look(state.now, &facts.shares, &mut changes);
        self.look(state.now, &facts.quotas, &mut changes);
        self.look(state.now, &facts.users, &mut changes);
        self.look(state.now, &facts.grants, &mut changes);
        self.look(state.now, &facts.registrations, &mut changes);
        if std::mem::take(&mut self.is_new) {
            let topics = self.unwatched.iter();
            changes.extend(topics.map(|topic| unwatched(state.now, *topic)));
        }
        together(changes)
    }

    fn look<T>(&mut self, now: Millis, table: &NamedTable<Fact<T>>, changes: &mut Vec<ChangeView>)
    where
        T: Configured + Into<Configuration>,
        for<'a> &'a T: TryFrom<&'a Configuration>,
    {
        let known = self.known.entry(T::TOPIC).or_default();
        if table.len() > RECORDS_MAX {
            known.clear();
            if self.unwatched.insert(T::TOPIC) && !self.is_new {
                changes.push(unwatched(now, T::TOPIC));
            }
            return;
        }
        // What is watched again is new to it, and has not changed.
        let is_new = self.unwatched.remove(&T::TOPIC);
        let mut found = 0;
        for (name, fact) in table.iter() {
            let Some(record) = fact.current(is_newer) else { continue };
            found += 1;
            let before = known.get(name);
            let is_known = before
                .and_then(|before| <&T>::try_from(before).ok())
                .is_some_and(|before| before == record);
            if is_known {
                continue;
            }
            let record: Configuration = record.clone().into();
            if !is_new {
                changes.extend(of_record(now, before, Some(&record)));
            }
            known.insert(name.to_owned(), record);
        }
        if found == known.len() {
            return;
        }
        let is_there = |name: &str| table.of(name).is_some_and(|it| it.current(is_newer).is_some());
        let gone: Vec<String> = known.keys().filter(|name| !is_there(name)).cloned().collect();
        for name in gone {
            changes.extend(of_record(now, known.remove(&name).as_ref(), None));
        }
    }
}

/// The changes of a topic are not looked for from now on.
fn unwatched(at: Millis, topic: Topic) -> ChangeView {
    let of = topic.name();
    ChangeView {
        at,
        kind: "fact".to_owned(),
        of: of.to_owned(),
        text: format!(
            "changes of topic {of} are not listed: it has more than {RECORDS_MAX} records; \
             `yardmaster changes --dir` or `--bootstrap-server` reads them from the log"
        ),
        ..ChangeView::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::Lane;
    use yardmaster_core::event::{Event, User};
    use yardmaster_core::state::Setting;

    #[test]
    fn a_topic_with_too_many_records_is_named_once() {
        let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
        let (lane, mut offset) = (Lane::new(Topic::User, 0), 0);
        let lead = Lead { epoch: 0, leader: None, topology: "" };
        let mut fill = |from: usize, to: usize, changed_at: Millis| {
            for number in from..to {
                let name = format!("u{number}");
                let user = User { name, changed_at, ..User::default() };
                let record = Configuration::User(user);
                let event = Event::Configuration(Box::new(record));
                state.fold(lane, offset, changed_at, &event);
                offset += 1;
            }
            state.clone()
        };
        let mut watch = FactWatch::new(&fill(0, 10, 1), lead);
        assert_eq!(watch.facts(&fill(10, 11, 1)).len(), 1);
        let many = fill(0, RECORDS_MAX + 1, 2);
        let found = watch.facts(&many);
        let [change] = &found[..] else { panic!("{found:?}") };
        assert!(change.text.contains("topic user are not listed"), "{}", change.text);
        assert_eq!(watch.facts(&many), []);
        assert_eq!(FactWatch::new(&many, lead).facts(&many).len(), 1, "after a start too");
    }
}
