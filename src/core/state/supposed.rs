//! Configuration as it is supposed to be: records in place of those of the log, for an answer to
//! "what if", and given back after it.

use super::State;
use crate::cut::{Lane, Topic};
use crate::event::{Configuration, Configured, each_configuration, is_newer};
use crate::state::record::Fact;
use std::fmt;
use std::sync::Arc;

/// The record that a configuration record is supposed to be; `None`: it stays as it is.
type Change = Arc<dyn Fn(Option<&Configuration>) -> Option<Configuration> + Send + Sync>;

/// Puts back what the lanes of a log hold of a record in whose place another stands.
pub(crate) type Restore = Box<dyn FnOnce(&mut State)>;

/// A configuration record that is supposed to be another.
#[derive(Clone)]
pub struct Supposed {
    /// Its topic.
    pub topic: Topic,
    /// Its name.
    pub name: String,
    /// What it is supposed to be, by what the log has.
    pub change: Change,
}

impl fmt::Debug for Supposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.topic.name(), self.name)
    }
}

macro_rules! supposed {
    ($($kind:ident $field:ident,)*) => {
        impl State {
            /// The configuration record of a name that holds.
            pub fn configuration(&self, topic: Topic, name: &str) -> Option<Configuration> {
                match topic {
                    $(Topic::$kind => {
                        let fact = self.facts.$field.of(name)?;
                        Some(fact.current(is_newer)?.clone().into())
                    })*
                    _ => None,
                }
            }

            /// The names of the configuration records of a topic that hold.
            pub fn configuration_names(&self, topic: Topic) -> Vec<String> {
                match topic {
                    $(Topic::$kind => {
                        let all = self.facts.$field.iter();
                        let holds = all.filter(|(_, fact)| fact.current(is_newer).is_some());
                        holds.map(|(name, _)| name.to_owned()).collect()
                    })*
                    _ => Vec::new(),
                }
            }

            /// Puts a record in the place of all that the lanes hold of its name.
            fn put(&mut self, record: Configuration) -> Option<Restore> {
                match record {
                    $(Configuration::$kind(record) => {
                        let name = record.name();
                        let is_new = self.facts.$field.of(&name).is_none();
                        let make = || Fact { name: name.clone(), held: Vec::new() };
                        let fact = self.facts.$field.at(&name, make)?;
                        let supposed = vec![(Lane::new(Topic::$kind, 0), record)];
                        let held = std::mem::replace(&mut fact.held, supposed);
                        Some(Box::new(move |state: &mut State| {
                            if is_new {
                                state.facts.$field.remove(&name);
                                return;
                            }
                            let make = || Fact { name: name.clone(), held: Vec::new() };
                            if let Some(fact) = state.facts.$field.at(&name, make) {
                                fact.held = held;
                            }
                        }))
                    })*
                }
            }
        }
    };
}
each_configuration!(supposed);

impl State {
    /// Puts supposed records in the places of those of the log. They are to be given back before
    /// the next record is folded.
    pub(crate) fn suppose(&mut self, all: &[Supposed]) -> Vec<Restore> {
        let mut held = Vec::new();
        for it in all {
            let known = self.configuration(it.topic, &it.name);
            let changed = (it.change)(known.as_ref());
            held.extend(changed.and_then(|record| self.put(record)));
        }
        held
    }

    /// Puts the records of the log back, the last one first.
    pub(crate) fn end_supposing(&mut self, held: Vec<Restore>) {
        held.into_iter().rev().for_each(|restore| restore(self));
    }

    /// Puts supposed records in the places of those of the log for good: in a state that nothing is
    /// folded in any more.
    pub fn suppose_for_good(&mut self, all: &[Supposed]) {
        drop(self.suppose(all));
    }
}
