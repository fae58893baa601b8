//! Configuration records: what stands in each lane, in the layout of their topics.

use super::{Slots, each, text};
use crate::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::record;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{Configured, each_configuration};
use yardmaster_core::record::Decode;
use yardmaster_core::state::Facts;
use yardmaster_core::state::record::Fact;

/// Where the records of a topic are; `None` for a topic of other records.
pub(super) fn slots(facts: &Facts, topic: Topic) -> Option<&dyn Slots> {
    macro_rules! of_topic {
        ($($kind:ident $field:ident,)*) => {
            match topic {
                $(Topic::$kind => Some(&facts.$field.slab),)*
                _ => None,
            }
        };
    }
    each_configuration!(of_topic)
}

/// The same, to be changed.
pub(super) fn slots_mut(facts: &mut Facts, topic: Topic) -> Option<&mut dyn Slots> {
    macro_rules! of_topic {
        ($($kind:ident $field:ident,)*) => {
            match topic {
                $(Topic::$kind => Some(&mut facts.$field.slab),)*
                _ => None,
            }
        };
    }
    each_configuration!(of_topic)
}

/// Writes the record in a slot, if there is one.
pub(super) fn write_slot(sink: &mut Sink<'_>, facts: &Facts, topic: Topic, slot: u32) {
    macro_rules! of_topic {
        ($($kind:ident $field:ident,)*) => {
            match topic {
                $(Topic::$kind => each(sink, &facts.$field.slab, slot, write),)*
                _ => {}
            }
        };
    }
    each_configuration!(of_topic);
}

/// Puts a record back into its slot; `None` empties it.
pub(super) fn place(
    facts: &mut Facts,
    topic: Topic,
    slot: u32,
    record: Option<&mut Cursor<'_>>,
) -> Result<(), Fault> {
    macro_rules! of_topic {
        ($($kind:ident $field:ident,)*) => {
            match topic {
                $(Topic::$kind => facts.$field.slab.place(slot, record.map(read).transpose()?),)*
                _ => return Err(Fault::Malformed),
            }
        };
    }
    each_configuration!(of_topic);
    Ok(())
}

/// Finds every record again after the slots were filled.
pub(super) fn settle(facts: &mut Facts) {
    macro_rules! all {
        ($($kind:ident $field:ident,)*) => {
            $(facts.$field.settle(|fact| &fact.name);)*
        };
    }
    each_configuration!(all);
}

fn write<T: Configured>(sink: &mut Sink<'_>, fact: &Fact<T>) {
    sink.string(&fact.name);
    sink.index(fact.held.len());
    for (lane, content) in &fact.held {
        let mut bytes = Vec::new();
        record::write(&mut bytes, content);
        sink.count(lane.partition);
        sink.bytes(&bytes);
    }
}

fn read<T: Configured + for<'a> Decode<'a>>(at: &mut Cursor<'_>) -> Result<Fact<T>, Fault> {
    let name = text(at)?;
    let mut held = Vec::new();
    for _ in 0..at.index()? {
        let lane = Lane::new(T::TOPIC, super::count(at)?);
        let bytes = at.bytes()?.get(HEADER_BYTES..).ok_or(Fault::Malformed)?;
        held.push((lane, record::read(bytes)?));
    }
    Ok(Fact { name, held })
}
