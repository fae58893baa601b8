//! `pilot`: six kinds of report in one record, which has the fields of all.

use super::{attempt, count, option, symbol};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Pilot, SlotOffer};
use yardmaster_core::id::Key;
use yardmaster_core::unit::Millis;

/// The symbols of `kind`, in the schema's order.
#[derive(Clone, Copy)]
enum Kind {
    AskedJob,
    UpdatedJob,
    Workers,
    Slots,
    SlotOffer,
    SlotWithdrawn,
}

const KINDS: [Kind; 6] = [
    Kind::AskedJob,
    Kind::UpdatedJob,
    Kind::Workers,
    Kind::Slots,
    Kind::SlotOffer,
    Kind::SlotWithdrawn,
];

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
    /// Name and attempt of an offer, and what it offers; its node and its end are in the fields
    /// that have them.
    offer: SlotOffer<&'a str>,
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
    let offer = read_offer(at, node, expires_at)?;
    let at = stated_at;
    Ok(match kind {
        Kind::AskedJob => Pilot::AskedJob { queue, node, at },
        Kind::UpdatedJob => Pilot::UpdatedJob { queue, node, at },
        Kind::Workers => Pilot::Workers { queue, harvester, resource_type, submitted, running, at },
        Kind::Slots => Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at },
        Kind::SlotOffer => Pilot::SlotOffer { queue, offer, at },
        Kind::SlotWithdrawn => {
            Pilot::SlotWithdrawn { queue, offer: offer.offer, attempt: offer.attempt, at }
        }
    })
}

#[inline(always)]
fn read_offer<'a>(
    at: &mut Cursor<'a>,
    node: &'a str,
    expires_at: Millis,
) -> Result<SlotOffer<&'a str>, Fault> {
    Ok(SlotOffer {
        offer: at.string()?,
        attempt: attempt(at)?,
        cores_free: at.long()?,
        cores_total: at.long()?,
        wall_left_s: at.long()?,
        mem_free_mb: at.long()?,
        block: at.string()?,
        node,
        corepower_mhs06: option(at, Cursor::long)?,
        expires_at,
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
        Kind::Slots | Kind::SlotOffer | Kind::SlotWithdrawn => Key::NONE,
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
        Pilot::SlotOffer { queue, offer, at } => {
            let SlotOffer { node, expires_at, .. } = offer;
            (Kind::SlotOffer, Row { queue, node, offer, expires_at, at, ..none })
        }
        Pilot::SlotWithdrawn { queue, offer, attempt, at } => {
            let offer = SlotOffer { offer, attempt, ..none.offer };
            (Kind::SlotWithdrawn, Row { queue, offer, at, ..none })
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
    sink.string(row.offer.offer);
    sink.count(row.offer.attempt);
    sink.long(row.offer.cores_free);
    sink.long(row.offer.cores_total);
    sink.long(row.offer.wall_left_s);
    sink.long(row.offer.mem_free_mb);
    sink.string(row.offer.block);
    sink.option(row.offer.corepower_mhs06, Sink::long);
}
