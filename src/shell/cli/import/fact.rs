//! A record that an import publishes, and the time that it states.

use yardmaster_core::event::{Configuration, Event, Pilot};
use yardmaster_core::unit::Millis;
use yardmaster_wire::import::SlotRow;
use yardmaster_wire::import::arc::ArcJob;
use yardmaster_wire::record;

/// Content of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// Of a topic of configuration.
    Configuration(Box<Configuration>),
    /// A slot figure, on the topic `pilot`.
    Slots(SlotRow),
    /// A job at a cluster, on the topic `job-state`.
    Job(ArcJob),
}

impl Fact {
    /// What a record was read as; `None`: no import publishes such.
    pub fn of(event: Event<'_>) -> Option<Fact> {
        match event {
            Event::Configuration(it) => Some(Fact::Configuration(it)),
            Event::Pilot(Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at }) => {
                let [queue, gshare, resource_type] =
                    [queue, gshare, resource_type].map(str::to_owned);
                Some(Fact::Slots(SlotRow { queue, gshare, resource_type, slots, expires_at, at }))
            }
            Event::JobState(state) => ArcJob::of(&state).map(Fact::Job),
            _ => None,
        }
    }

    /// Its key.
    pub fn key(&self) -> String {
        match self {
            Fact::Configuration(it) => it.name(),
            Fact::Slots(it) => it.key(),
            Fact::Job(it) => it.key(),
        }
    }

    /// The time that it states; ms since 1970.
    pub fn at(&self) -> Millis {
        match self {
            Fact::Configuration(it) => it.changed_at(),
            Fact::Slots(it) => it.at,
            Fact::Job(it) => it.changed_at,
        }
    }

    /// The same with another time.
    pub fn as_of(&self, at: Millis) -> Fact {
        match self {
            Fact::Configuration(it) => Fact::Configuration(Box::new(it.changed(at))),
            Fact::Slots(it) => Fact::Slots(SlotRow { at, ..it.clone() }),
            Fact::Job(it) => Fact::Job(ArcJob { changed_at: at, ..it.clone() }),
        }
    }

    /// Its bytes, in single-object encoding.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Fact::Configuration(it) => {
                let mut bytes = Vec::new();
                record::write_configuration(&mut bytes, it);
                bytes
            }
            Fact::Slots(it) => it.record(),
            Fact::Job(it) => it.record(),
        }
    }
}
