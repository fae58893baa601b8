//! The layout of each record: our schemas' fields in order, one function to read and one to write
//! per kind. They agree with `schemas/*.avsc`, and a test holds them to it.
//!
//! Reading trusts nothing: amounts below 0 are 0, counts beyond their type are its largest, a
//! number that is not finite, or a quantity below 0, is absent or 0; the caller learns that one was
//! corrected. A request carries the names of such figures. What is no symbol of an enum is
//! malformed.

mod account;
mod cluster;
mod command;
pub(crate) mod comparison;
mod config;
mod counter;
pub(crate) mod decision;
mod detail;
mod figures;
mod job;
mod outcome;
mod person;
mod pilot;
mod placed;
mod pool;
pub(crate) mod progress;
mod replica;
mod software;
mod task;
mod throttle;
mod transfer;

pub use command::write_command;
pub use comparison::write_comparison;
pub use counter::write_counter;
pub use decision::write_decision;
pub use job::{write_heartbeat, write_job_state};
pub use outcome::write_outcome;
pub(crate) use person::person;
pub use pilot::write_pilot;
pub(crate) use placed::{read as read_placed, write as write_placed};
pub use progress::write_progress;
pub use task::write_task;
pub use throttle::write_throttle;
pub use transfer::write_transfer;

use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Configuration, Configured, Event, Garbled, Grant, Link, Parameter, Queue, Quota, Registration,
    Release, Replica, Share, Site, Storage, User, UserShare, each_configuration,
};
use yardmaster_core::id::Key;
use yardmaster_core::output::Output;

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

/// The layout of a configuration record.
pub trait Layout: Configured {
    /// Reads its fields.
    fn read(at: &mut Cursor<'_>) -> Result<Self, Fault>;

    /// Appends its fields, framed.
    fn write(&self, out: &mut Vec<u8>);
}

/// Appends a configuration record.
pub fn write<T: Layout>(out: &mut Vec<u8>, record: &T) {
    record.write(out);
}

/// Appends a configuration record of any kind.
pub fn write_configuration(out: &mut Vec<u8>, record: &Configuration) {
    macro_rules! written {
        ($($kind:ident $field:ident,)*) => {
            match record { $(Configuration::$kind(record) => record.write(out),)* }
        };
    }
    each_configuration!(written);
}

/// Appends an output that is folded.
pub fn write_output(out: &mut Vec<u8>, output: &Output) {
    match output {
        Output::Decision(decision) => write_decision(out, decision),
        Output::Throttle(throttle) => write_throttle(out, throttle),
        Output::Command(command) => write_command(out, command),
    }
}

/// Reads a configuration record.
fn configuration<'a, T: Layout>(at: &mut Cursor<'a>) -> Event<'a>
where
    Event<'a>: From<T>,
{
    whole(at, T::read, Event::from)
}

#[inline(always)]
fn event_at<'a>(topic: Topic, at: &mut Cursor<'a>) -> Event<'a> {
    macro_rules! read {
        ($($kind:ident $field:ident,)*) => {
            match topic {
                $(Topic::$kind => configuration::<$kind>(at),)*
                _ => Event::Garbled(Garbled::WrongSchema),
            }
        };
    }
    match topic {
        Topic::JobState => whole(at, job::read_state, Event::JobState),
        Topic::Heartbeat => whole(at, job::read_heartbeat, Event::Heartbeat),
        Topic::Transfer => whole(at, transfer::read, Event::Transfer),
        Topic::Pilot => whole(at, pilot::read, Event::Pilot),
        Topic::Task => whole(at, task::read, |task| Event::Task(Box::new(task))),
        Topic::Outcome => whole(at, outcome::read, Event::Outcome),
        Topic::Decision => whole(at, decision::read, |it| Event::Output(it.into())),
        Topic::Throttle => whole(at, throttle::read, |it| Event::Output(it.into())),
        Topic::Command => whole(at, command::read, |it| Event::Output(it.into())),
        _ => each_configuration!(read),
    }
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
        Topic::Pilot => pilot::sought(&mut at),
        _ => Ok(Key::NONE),
    }
    .unwrap_or(Key::NONE)
}

/// The event in a datum, for callers that take an unreadable datum as an error.
pub(crate) fn read(topic: Topic, datum: &[u8]) -> Result<Event<'_>, Garbled> {
    match event(topic, datum, &mut false) {
        Event::Garbled(garbled) => Err(garbled),
        event => Ok(event),
    }
}

/// Reads a struct that is all of a datum.
#[inline(always)]
fn whole<'a, T>(
    at: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>,
    make: impl FnOnce(T) -> Event<'a>,
) -> Event<'a> {
    match read(at) {
        Ok(value) if at.rest().is_empty() => make(value),
        Ok(_) => Event::Garbled(Garbled::Malformed),
        Err(fault) => Event::Garbled(fault.into()),
    }
}

/// An amount; below 0 is 0.
#[inline(always)]
fn amount(at: &mut Cursor<'_>) -> Result<u64, Fault> {
    let stated = at.long()?;
    let used = stated.max(0);
    at.compare(&stated, &used);
    Ok(used as u64)
}

/// A count; below 0 is 0, too large is the largest.
#[inline(always)]
fn count(at: &mut Cursor<'_>) -> Result<u32, Fault> {
    let stated = at.long()?;
    let used = stated.clamp(0, i64::from(u32::MAX));
    at.compare(&stated, &used);
    Ok(used as u32)
}

/// The attempt of a job or an offer, which 32 bits hold; below 0 is 0. A larger one is refused: it
/// tells one thing from another, and cut it would stand for another.
#[inline(always)]
fn attempt(at: &mut Cursor<'_>) -> Result<u32, Fault> {
    u32::try_from(amount(at)?).map_err(|_| Fault::Malformed)
}

/// A number; what is not finite is 0.
fn number(at: &mut Cursor<'_>) -> Result<f64, Fault> {
    let stated = at.double()?;
    let used = finite(stated);
    at.compare(&Some(stated), &used);
    Ok(used.unwrap_or(0.0))
}

/// A number that cannot be below 0; what is, or is not finite, is 0.
fn quantity(at: &mut Cursor<'_>) -> Result<f64, Fault> {
    let stated = at.double()?;
    let used = finite(stated).filter(|value| *value >= 0.0);
    at.compare(&Some(stated), &used);
    Ok(used.unwrap_or(0.0))
}

/// The same, where it may be absent; what is below 0 or not finite is.
fn quantity_if_known(at: &mut Cursor<'_>) -> Result<Option<f64>, Fault> {
    let stated = option(at, Cursor::double)?;
    let used = stated.and_then(finite).filter(|value| *value >= 0.0);
    at.compare(&stated, &used);
    Ok(used)
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Text to keep.
fn text(at: &mut Cursor<'_>) -> Result<String, Fault> {
    at.string().map(str::to_owned)
}

/// One of an enum's values, by the place of its symbol.
#[inline(always)]
fn symbol<T: Copy>(at: &mut Cursor<'_>, all: &[T]) -> Result<T, Fault> {
    all.get(at.index()?).copied().ok_or(Fault::Malformed)
}

/// A union of null and something, null first.
fn option<'a, T>(
    at: &mut Cursor<'a>,
    each: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    match at.index()? {
        0 => Ok(None),
        1 => each(at).map(Some),
        _ => Err(Fault::Malformed),
    }
}

/// An array. An item takes at least a byte, so a count that lies ends with the bytes; it is not
/// believed when memory is asked for.
fn list<'a, T>(
    at: &mut Cursor<'a>,
    mut each: impl FnMut(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = Vec::new();
    loop {
        let count = at.block()?;
        if count == 0 {
            return Ok(items);
        }
        items.reserve((count as usize).min(at.rest().len()).min(1024));
        for _ in 0..count {
            items.push(each(at)?);
        }
    }
}

/// Writes a list of texts.
fn texts(sink: &mut Sink<'_>, items: &[String]) {
    sink.array(items, |sink, item| sink.string(item));
}

/// Writes a number; what is not finite as 0, so that the bytes are the same for all readers.
fn say_number(sink: &mut Sink<'_>, value: f64) {
    sink.double(finite(value).unwrap_or(0.0));
}

/// Writes a number that may be absent.
fn say_number_if_known(sink: &mut Sink<'_>, value: Option<f64>) {
    sink.option(value.and_then(finite), Sink::double);
}
