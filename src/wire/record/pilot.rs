//! `pilot`: four kinds of report in one record, which has the fields of all.

use super::{count, symbol};
use crate::core::cut::Topic;
use crate::core::event::Pilot;
use crate::core::id::Key;
use crate::core::unit::Millis;
use crate::wire::avro::{Cursor, Fault, Sink};

/// The symbols of `kind`, in the schema's order.
#[derive(Clone, Copy)]
enum Kind {
    AskedJob,
    UpdatedJob,
    Workers,
    Slots,
}

const KINDS: [Kind; 4] = [Kind::AskedJob, Kind::UpdatedJob, Kind::Workers, Kind::Slots];

/// The record as it is laid out. What a kind does not state has its default.
#[derive(Default)]
struct Row<'a> {
    queue: &'a str,
    at: Millis,
    node: &'a str,
    harvester: &'a str,
    resource_type: &'a str,
    submitted: u32,
    running: u32,
    gshare: &'a str,
    slots: i64,
    expires_at: Millis,
}

#[inline(always)]
pub(super) fn read<'a>(at: &mut Cursor<'a>) -> Result<Pilot<'a>, Fault> {
    let kind = symbol(at, &KINDS)?;
    let queue = at.string()?;
    let stated_at = at.long()?;
    let [node, harvester, resource_type] = at.strings()?;
    let submitted = count(at)?;
    let running = count(at)?;
    let gshare = at.string()?;
    let slots = at.long()?;
    let expires_at = at.long()?;
    let at = stated_at;
    Ok(match kind {
        Kind::AskedJob => Pilot::AskedJob { queue, node, at },
        Kind::UpdatedJob => Pilot::UpdatedJob { queue, node, at },
        Kind::Workers => Pilot::Workers { queue, harvester, resource_type, submitted, running, at },
        Kind::Slots => Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at },
    })
}

/// Number of what a report is about: queue and node, or queue, harvester and resource type.
pub(super) fn sought(at: &mut Cursor<'_>) -> Result<Key, Fault> {
    let kind = symbol(at, &KINDS)?;
    let queue = at.bytes()?;
    at.long()?;
    let node = at.bytes()?;
    Ok(match kind {
        Kind::AskedJob | Kind::UpdatedJob => Key::joint(&[queue, node]),
        Kind::Workers => Key::joint(&[queue, at.bytes()?, at.bytes()?]),
        Kind::Slots => Key::NONE,
    })
}

/// Appends a report.
pub fn write_pilot(out: &mut Vec<u8>, pilot: &Pilot<'_>) {
    let none = Row::default();
    let (kind, row) = match *pilot {
        Pilot::AskedJob { queue, node, at } => (Kind::AskedJob, Row { queue, node, at, ..none }),
        Pilot::UpdatedJob { queue, node, at } => {
            (Kind::UpdatedJob, Row { queue, node, at, ..none })
        }
        Pilot::Workers { queue, harvester, resource_type, submitted, running, at } => {
            let row = Row { queue, harvester, resource_type, submitted, running, at, ..none };
            (Kind::Workers, row)
        }
        Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at } => {
            let row = Row { queue, gshare, resource_type, slots, expires_at, at, ..none };
            (Kind::Slots, row)
        }
    };
    let mut sink = Sink::begin(out, Topic::Pilot);
    sink.index(kind as usize);
    sink.string(row.queue);
    sink.long(row.at);
    sink.string(row.node);
    sink.string(row.harvester);
    sink.string(row.resource_type);
    sink.count(row.submitted);
    sink.count(row.running);
    sink.string(row.gshare);
    sink.long(row.slots);
    sink.long(row.expires_at);
}
