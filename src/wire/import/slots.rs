//! Slot figures: rows of PanDA's HARVESTER_SLOTS (spec atlas 2.5.1).

use super::field::Fields;
use super::{Imported, list, lower};
use crate::{loose, record, stamp};
use serde_json::Value;
use std::collections::BTreeSet;
use yardmaster_core::event::Pilot;
use yardmaster_core::unit::{Millis, SECOND};

/// How many slots are to be filled at a queue, for a share and a resource type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// Queue.
    pub queue: String,
    /// Share it is for; empty for any.
    pub gshare: String,
    /// Resource type it is for; empty for any.
    pub resource_type: String,
    /// Slots. 0 asks that starting jobs count instead; negative figures are ignored.
    pub slots: i64,
    /// Until when the figure holds, ms since 1970; 0 for ever.
    pub expires_at: Millis,
    /// When it was stated.
    pub at: Millis,
}

/// Between queue and share in a record's key.
const SLOTS: &str = "/slots/";

impl SlotRow {
    /// The key of its record.
    pub fn key(&self) -> String {
        format!("{}{SLOTS}{}/{}", self.queue, self.gshare, self.resource_type)
    }

    /// Its record on the topic `pilot`.
    pub fn record(&self) -> Vec<u8> {
        let SlotRow { queue, gshare, resource_type, slots, expires_at, at } = self;
        let (slots, expires_at, at) = (*slots, *expires_at, *at);
        let mut bytes = Vec::new();
        record::write(
            &mut bytes,
            &Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at },
        );
        bytes
    }

    /// The row that takes back the one of a key, as of `now`: a figure that is ignored. `None` if
    /// no row has such a key.
    pub fn withdrawn(key: &str, now: Millis) -> Option<SlotRow> {
        let (queue, rest) = key.split_once(SLOTS)?;
        let (gshare, resource_type) = rest.rsplit_once('/')?;
        let [queue, gshare, resource_type] = [queue, gshare, resource_type].map(str::to_owned);
        Some(SlotRow { queue, gshare, resource_type, slots: -1, expires_at: now, at: now })
    }
}

/// Slot rows from a JSON list, columns in any case: pandaqueuename, gshare, resourcetype (null for
/// any), numslots, expirationtime (null for ever), modificationtime; times in UTC, as text or as
/// seconds or milliseconds since 1970.
pub fn slots(text: &str, now: Millis) -> Result<(Vec<SlotRow>, Imported), String> {
    let rows = list("slots", text)?;
    let (mut imported, mut seen, mut read) = (Imported::default(), BTreeSet::new(), Vec::new());
    for (at, row) in rows.iter().map(lower).enumerate() {
        let name = row["pandaqueuename"].as_str().unwrap_or("");
        let thing = match name {
            "" => format!("slot row number {}", at + 1),
            name => format!("slots of {name}"),
        };
        let Some(mut fields) = Fields::of(thing, None, &row, &mut imported) else { continue };
        let slots = fields.whole_if_set("numslots", i64::MIN..=i64::MAX);
        if slots.is_none() && !fields.has_wrong() {
            fields.wrong("numslots", &row["numslots"], "a whole number");
        }
        let slot = SlotRow {
            queue: fields.needed("pandaqueuename").to_owned(),
            gshare: fields.text_if_set("gshare").unwrap_or_default(),
            resource_type: fields.text_if_set("resourcetype").unwrap_or_default(),
            slots: slots.unwrap_or(-1),
            expires_at: time(&mut fields, "expirationtime").unwrap_or(0),
            at: time(&mut fields, "modificationtime").unwrap_or(now),
        };
        if fields.is_left_out_by(|| slot.key()) {
            continue;
        }
        if !seen.insert(slot.key()) {
            let found = Value::from(slot.queue.as_str());
            fields.wrong("pandaqueuename", &found, "one row for a queue, share and resource type");
            continue;
        }
        read.push(slot);
    }
    read.sort_by_key(SlotRow::key);
    imported.notes.push(format!("{} of {} slot rows", read.len(), rows.len()));
    Ok((read, imported))
}

/// A time that need not be there; a wrong one is named.
fn time(fields: &mut Fields<'_>, field: &str) -> Option<Millis> {
    /// Seconds since 1970 are below it until the year 5138, milliseconds above it since 1973.
    const SECONDS_MAX: i64 = 100_000_000_000;
    let value = fields.deep(&[field])?;
    let at = match value {
        Value::String(text) if loose::whole(text).is_none() => stamp::parse(text),
        number => {
            loose::whole_in(number).filter(|number| *number >= 0).map(|number| match number {
                0..SECONDS_MAX => number * SECOND,
                number => number,
            })
        }
    };
    if at.is_none() {
        fields.wrong(field, value, "a time as 2025-03-20 20:15:43 in UTC, or a number");
    }
    at
}
