//! Records that were read ahead and not handed on yet.

use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::Lane;
use yardmaster_drive::port::{Batch, LogError, Mark};

/// The most memory of a batch that is used again; bytes.
const SPARE_BYTES: usize = 32 << 20;

/// Records of one look at a log, and how it ended.
pub struct Look {
    batch: Batch,
    /// How many of the records were handed on.
    gone: usize,
    /// Whether there were as many records as were asked for, or as many bytes as a batch takes:
    /// then there may be more.
    pub is_full: bool,
    end: Result<(), LogError>,
}

impl Look {
    /// A look that brought a batch, of at most `max` records, and how it ended.
    pub fn new(batch: Batch, max: usize, end: Result<(), LogError>) -> Look {
        Look { is_full: !batch.has_room(max), gone: 0, batch, end }
    }
}

/// Keeps what was read ahead until it may be handed on: in the order it was read, nothing twice and
/// nothing left out, and of lanes that are paused nothing until they are resumed.
#[derive(Default)]
pub struct Shelf {
    /// A look of which part was handed on.
    front: Option<Look>,
    /// Records that were read of lanes before these were paused.
    aside: BTreeMap<Lane, Aside>,
    paused: BTreeSet<Lane>,
    /// Memory for further looks.
    spare: Vec<Batch>,
}

/// Records of a lane that wait until it is let go, and the last that is known of its end.
#[derive(Default)]
struct Aside {
    batch: Batch,
    gone: usize,
    mark: Option<Mark>,
}

impl Shelf {
    /// Memory for a look.
    pub fn spare(&mut self) -> Batch {
        let is_small = |batch: &Batch| batch.bytes.capacity() <= SPARE_BYTES;
        let mut batch = self.spare.pop().filter(is_small).unwrap_or_default();
        batch.clear();
        batch
    }

    /// A look of which part was handed on, to be gone on with before any other.
    pub fn front(&mut self) -> Option<Look> {
        self.front.take()
    }

    /// Whether there is one.
    pub fn has_front(&self) -> bool {
        self.front.is_some()
    }

    /// Holds lanes back or lets them go.
    pub fn set_paused(&mut self, lanes: &[Lane], paused: bool) {
        for lane in lanes {
            if paused {
                self.paused.insert(*lane);
            } else {
                self.paused.remove(lane);
            }
        }
    }

    /// Reading begins again elsewhere: nothing is paused, and what was read counts no more.
    pub fn clear(&mut self) {
        self.front = None;
        self.aside.clear();
        self.paused.clear();
    }

    /// Hands on what a look brought, until the batch holds `full` records. An error counts once
    /// all before it was handed on.
    pub fn hand_on(
        &mut self,
        mut look: Look,
        batch: &mut Batch,
        full: usize,
    ) -> Result<(), LogError> {
        let is_free = look.gone == 0 && batch.records.is_empty() && batch.marks.is_empty();
        let lanes = || {
            let records = look.batch.records.iter().map(|raw| raw.lane);
            records.chain(look.batch.marks.iter().map(|mark| mark.lane))
        };
        if is_free
            && batch.writers.is_empty()
            && look.batch.records.len() <= full
            && (self.paused.is_empty() || !lanes().any(|lane| self.paused.contains(&lane)))
        {
            // In one piece; what it was to be put into serves for a further look.
            std::mem::swap(batch, &mut look.batch);
            self.spare.push(look.batch);
            return look.end;
        }
        batch.writers.append(&mut look.batch.writers);
        while let Some(raw) = look.batch.records.get(look.gone) {
            let to = if self.paused.contains(&raw.lane) {
                &mut self.aside.entry(raw.lane).or_default().batch
            } else if batch.has_room(full) {
                &mut *batch
            } else {
                self.front = Some(look);
                return Ok(());
            };
            let (key, value) = (look.batch.key(raw), look.batch.value(raw));
            to.push(raw.lane, raw.offset, raw.appended_at, key, value);
            look.gone += 1;
        }
        for mark in look.batch.marks.drain(..) {
            if self.paused.contains(&mark.lane) {
                self.aside.entry(mark.lane).or_default().mark = Some(mark);
            } else {
                batch.marks.push(mark);
            }
        }
        self.spare.push(look.batch);
        look.end
    }

    /// Hands on what lies aside of lanes that are resumed, until the batch holds `full` records.
    pub fn hand_aside_on(&mut self, batch: &mut Batch, full: usize) {
        let paused = &self.paused;
        self.aside.retain(|lane, aside| {
            if paused.contains(lane) {
                return true;
            }
            while let Some(raw) = aside.batch.records.get(aside.gone) {
                if !batch.has_room(full) {
                    return true;
                }
                let (key, value) = (aside.batch.key(raw), aside.batch.value(raw));
                batch.push(*lane, raw.offset, raw.appended_at, key, value);
                aside.gone += 1;
            }
            batch.marks.extend(aside.mark);
            false
        });
    }
}
