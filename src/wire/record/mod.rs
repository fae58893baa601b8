//! Records in the layout of their topics: fields in the order of our schemas, as core lists them.
//! They agree with `schemas/*.avsc`, and a test holds them to it.

mod counter;
mod figures;
mod person;

pub use counter::write_counter;
pub(crate) use figures::impossible;
pub(crate) use person::person;

use crate::architecture;
use crate::avro::{Cursor, Fault, Sink, schema};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Configuration, DecisionOutcome, DomainRecord, Event, Garbled, Grant, Heartbeat, JobState, Link,
    Parameter, Pilot, PilotKind, Queue, Quota, Registration, Release, Replica, Share, Site,
    Storage, Task, Transfer, User, UserShare, each_configuration,
};
use yardmaster_core::id::Key;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::output::{Output, each_output};
use yardmaster_core::record::{Decode, Published};

/// The event in a datum of a topic's current schema. Never fails: bytes that cannot be read are
/// an event too. `corrected` is set if a figure that cannot be was read as the nearest that can. An
/// event is large, so it is made where it is returned.
#[inline]
pub(crate) fn event<'a>(topic: Topic, datum: &'a [u8], corrected: &mut bool) -> Event<'a> {
    let mut at = Cursor::new(datum);
    let event = event_at(topic, &mut at);
    *corrected = at.is_corrected();
    event
}

/// Appends a record, framed.
pub fn write<T: Published>(out: &mut Vec<u8>, record: &T) {
    record.encode(&mut Sink::begin(out, T::TOPIC));
}

/// Appends a configuration record of any kind.
pub fn write_configuration(out: &mut Vec<u8>, record: &Configuration) {
    macro_rules! written {
        ($($kind:ident $field:ident,)*) => {
            match record { $(Configuration::$kind(record) => write(out, record),)* }
        };
    }
    each_configuration!(written);
}

/// Appends an output that is folded.
pub fn write_output(out: &mut Vec<u8>, output: &Output) {
    macro_rules! written {
        ($($kind:ident,)*) => { match output { $(Output::$kind(record) => write(out, record),)* } };
    }
    each_output!(written);
}

#[inline(always)]
fn event_at<'a>(topic: Topic, at: &mut Cursor<'a>) -> Event<'a> {
    macro_rules! read {
        ($($kind:ident $field:ident,)*) => {
            match topic {
                $(Topic::$kind => whole::<$kind>(at, Event::from),)*
                _ => Event::Garbled(Garbled::WrongSchema),
            }
        };
    }
    match topic {
        Topic::JobState => whole::<JobState<'_>>(at, Event::JobState),
        Topic::Heartbeat => whole::<Heartbeat<'_>>(at, Event::Heartbeat),
        Topic::Transfer => whole::<Transfer<'_>>(at, Event::Transfer),
        Topic::Pilot => whole::<Pilot<'_>>(at, Event::Pilot),
        Topic::Task => task(at),
        Topic::Outcome => whole::<DecisionOutcome>(at, Event::Outcome),
        Topic::Decision => whole::<Decision>(at, |it| Event::Output(it.into())),
        Topic::Throttle => whole::<Throttle>(at, |it| Event::Output(it.into())),
        Topic::Command => whole::<Command>(at, |it| Event::Output(it.into())),
        _ => each_configuration!(read),
    }
}

/// A request, with the names of its figures that cannot be, and its architecture as a text.
fn task<'a>(at: &mut Cursor<'a>) -> Event<'a> {
    let start = at.clone();
    let mut event = whole(at, |task: Task| Event::Task(Box::new(task)));
    if let Event::Task(task) = &mut event {
        task.options.architecture =
            architecture::plain(std::mem::take(&mut task.options.architecture));
        if at.is_corrected() {
            task.impossible = impossible(schema(Topic::Task), start);
        }
    }
    event
}

/// Number of the thing that a datum is about, as [`Sought::of`] gives it for the event, without
/// reading the rest. [`Key::NONE`] where none is needed; of a datum that turns out to be
/// unreadable it may be anything.
///
/// [`Sought::of`]: yardmaster_core::state::prefetch::Sought::of
#[inline]
pub fn sought(topic: Topic, datum: &[u8]) -> Key {
    let mut at = Cursor::new(datum);
    match topic {
        Topic::JobState | Topic::Heartbeat | Topic::Transfer => at.bytes().map(Key::of),
        Topic::Pilot => sought_by_pilot(&mut at),
        _ => Ok(Key::NONE),
    }
    .unwrap_or(Key::NONE)
}

/// Queue and node, or queue, harvester and resource type.
fn sought_by_pilot(at: &mut Cursor<'_>) -> Result<Key, Fault> {
    let kind = PilotKind::decode(at)?;
    let queue = at.bytes()?;
    at.long()?;
    let node = at.bytes()?;
    Ok(match kind {
        PilotKind::AskedJob | PilotKind::UpdatedJob => Key::joint(&[queue, node]),
        PilotKind::Nodes => Key::joint(&[queue, b"nodes"]),
        PilotKind::Workers => Key::joint(&[queue, at.bytes()?, at.bytes()?]),
        PilotKind::Slots | PilotKind::SlotOffer | PilotKind::SlotWithdrawn => Key::NONE,
    })
}

/// Reads a record that is all of a datum, for callers that take an unreadable one as an error.
pub(crate) fn read<'a, T: Decode<'a>>(datum: &'a [u8]) -> Result<T, Fault> {
    let mut at = Cursor::new(datum);
    let record = T::decode(&mut at)?;
    at.end()?;
    Ok(record)
}

/// Reads what later judgements need of a decision: of a final one not what became of those that
/// were rejected, which is most of its bytes.
pub(crate) fn read_answer(datum: &[u8]) -> Result<Decision, Fault> {
    let mut at = Cursor::brief(datum);
    let decision = Decision::decode(&mut at)?;
    at.end()?;
    Ok(decision)
}

/// Reads a record that is all of a datum.
#[inline(always)]
fn whole<'a, T: Decode<'a>>(at: &mut Cursor<'a>, make: impl FnOnce(T) -> Event<'a>) -> Event<'a> {
    match T::decode(at) {
        Ok(value) if at.rest().is_empty() => make(value),
        Ok(_) => Event::Garbled(Garbled::Malformed),
        Err(fault) => Event::Garbled(fault.into()),
    }
}
