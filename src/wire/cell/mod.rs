//! The shape of records in a store. Ours alone: a store is a cache, so a change here raises
//! [`FORMAT`] and what an older version wrote is rebuilt from the log.
//!
//! A cell is one record under (kind, slot); a chunk is a run of cells: kind (one byte), slot,
//! length and bytes each; length 0 means that the slot is empty.

mod ask;
mod fact;
mod head;
mod job;
mod left;
mod load;
mod notes;
mod throttle;
mod writers;

pub use head::{Bounds, Head, policies_of, read_head, write_head};
pub use load::Restore;
pub use notes::{NOTES_PAGE, read_notes, write_notes};
pub use writers::{WRITERS_PAGE, read_writers, write_writers};

use crate::core::state::State;
use crate::core::state::slab::{PAGE, Slab};
use crate::wire::avro::{Cursor, Fault, Sink};

/// Version of everything in this room.
pub const FORMAT: u32 = 8;

/// Chunks are cut once they are this long; bytes.
pub const CHUNK: usize = 32 * 1024;

/// Kinds of cells. The numbers are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Jobs.
    Job = 1,
    /// Transfers.
    Transfer = 2,
    /// Nodes.
    Node = 3,
    /// Worker reports.
    Workers = 4,
    /// Requests and answers.
    Ask = 5,
    /// Queues.
    Queue = 6,
    /// Sites.
    Site = 7,
    /// Storage endpoints.
    Storage = 8,
    /// Links.
    Link = 9,
    /// Parameters.
    Parameter = 10,
    /// Published software.
    Release = 11,
    /// Nodes of the share tree.
    Share = 12,
    /// Quotas.
    Quota = 13,
    /// Users and groups.
    User = 14,
    /// The newest word on each throttle.
    Throttle = 15,
    /// Answers whose requests were forgotten.
    Answered = 16,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 16] = [
        Kind::Job,
        Kind::Transfer,
        Kind::Node,
        Kind::Workers,
        Kind::Ask,
        Kind::Queue,
        Kind::Site,
        Kind::Storage,
        Kind::Link,
        Kind::Parameter,
        Kind::Release,
        Kind::Share,
        Kind::Quota,
        Kind::User,
        Kind::Throttle,
        Kind::Answered,
    ];
}

/// Writes cells into chunks of about [`CHUNK`] bytes.
#[derive(Default)]
struct Chunks {
    done: Vec<Vec<u8>>,
    open: Vec<u8>,
    cell: Vec<u8>,
}

impl Chunks {
    fn cell(&mut self, kind: Kind, slot: u32, write: impl FnOnce(&mut Sink<'_>)) {
        self.cell.clear();
        write(&mut Sink { out: &mut self.cell });
        self.open.push(kind as u8);
        let mut sink = Sink { out: &mut self.open };
        sink.count(slot);
        sink.bytes(&self.cell);
        if self.open.len() >= CHUNK {
            self.done.push(std::mem::take(&mut self.open));
        }
    }

    fn end(mut self) -> Vec<Vec<u8>> {
        if !self.open.is_empty() {
            self.done.push(self.open);
        }
        self.done
    }
}

/// How many slots changed since they were last taken.
pub fn dirty(state: &State) -> usize {
    state.jobs.slab.dirty()
        + state.transfers.slab.dirty()
        + state.nodes.slab.dirty()
        + state.workers.slab.dirty()
        + state.asks.slab.dirty()
        + state.answered.book.slab.dirty()
        + state.facts.links.slab.dirty()
        + state.facts.storages.slab.dirty()
        + state.facts.queues.slab.dirty()
        + state.throttles.slab.dirty()
}

/// The cells that changed since this was last asked, in chunks.
pub fn deltas(state: &mut State) -> Vec<Vec<u8>> {
    let mut chunks = Chunks::default();
    for kind in Kind::ALL {
        for slot in take_dirty(state, kind) {
            chunks.cell(kind, slot, |sink| write_cell(sink, state, kind, slot));
        }
    }
    chunks.end()
}

fn take_dirty(state: &mut State, kind: Kind) -> Vec<u32> {
    match kind {
        Kind::Job => state.jobs.slab.take_dirty(),
        Kind::Transfer => state.transfers.slab.take_dirty(),
        Kind::Node => state.nodes.slab.take_dirty(),
        Kind::Workers => state.workers.slab.take_dirty(),
        Kind::Ask => state.asks.slab.take_dirty(),
        Kind::Queue => state.facts.queues.slab.take_dirty(),
        Kind::Site => state.facts.sites.slab.take_dirty(),
        Kind::Storage => state.facts.storages.slab.take_dirty(),
        Kind::Link => state.facts.links.slab.take_dirty(),
        Kind::Parameter => state.facts.parameters.slab.take_dirty(),
        Kind::Release => state.facts.releases.slab.take_dirty(),
        Kind::Share => state.facts.shares.slab.take_dirty(),
        Kind::Quota => state.facts.quotas.slab.take_dirty(),
        Kind::User => state.facts.users.slab.take_dirty(),
        Kind::Throttle => state.throttles.slab.take_dirty(),
        Kind::Answered => state.answered.book.slab.take_dirty(),
    }
}

/// Pages of cells, in a fixed order: kind by kind, page by page.
pub fn pages(state: &State) -> Vec<(Kind, u32)> {
    let count = |kind| match kind {
        Kind::Job => state.jobs.slab.pages(),
        Kind::Transfer => state.transfers.slab.pages(),
        Kind::Node => state.nodes.slab.pages(),
        Kind::Workers => state.workers.slab.pages(),
        Kind::Ask => state.asks.slab.pages(),
        Kind::Queue => state.facts.queues.slab.pages(),
        Kind::Site => state.facts.sites.slab.pages(),
        Kind::Storage => state.facts.storages.slab.pages(),
        Kind::Link => state.facts.links.slab.pages(),
        Kind::Parameter => state.facts.parameters.slab.pages(),
        Kind::Release => state.facts.releases.slab.pages(),
        Kind::Share => state.facts.shares.slab.pages(),
        Kind::Quota => state.facts.quotas.slab.pages(),
        Kind::User => state.facts.users.slab.pages(),
        Kind::Throttle => state.throttles.slab.pages(),
        Kind::Answered => state.answered.book.slab.pages(),
    };
    Kind::ALL.into_iter().flat_map(|kind| (0..count(kind)).map(move |page| (kind, page))).collect()
}

/// The number a page is kept under.
pub fn page_number(kind: Kind, page: u32) -> u64 {
    u64::from(kind as u8) << 32 | u64::from(page)
}

/// A whole page: every slot of it, the empty ones too.
pub fn page(state: &State, kind: Kind, page: u32) -> Vec<u8> {
    let mut chunks = Chunks::default();
    for slot in page * PAGE..(page + 1) * PAGE {
        chunks.cell(kind, slot, |sink| write_cell(sink, state, kind, slot));
    }
    chunks.end().concat()
}

fn write_cell(sink: &mut Sink<'_>, state: &State, kind: Kind, slot: u32) {
    let facts = &state.facts;
    match kind {
        Kind::Job => each(sink, &state.jobs.slab, slot, |s, it| job::write_job(s, state, it)),
        Kind::Transfer => {
            each(sink, &state.transfers.slab, slot, |s, it| job::write_transfer(s, state, it));
        }
        Kind::Node => each(sink, &state.nodes.slab, slot, |s, it| job::write_node(s, state, it)),
        Kind::Workers => {
            each(sink, &state.workers.slab, slot, |s, it| job::write_workers(s, state, it));
        }
        Kind::Ask => each(sink, &state.asks.slab, slot, ask::write),
        Kind::Queue => each(sink, &facts.queues.slab, slot, fact::write),
        Kind::Site => each(sink, &facts.sites.slab, slot, fact::write),
        Kind::Storage => each(sink, &facts.storages.slab, slot, fact::write),
        Kind::Link => each(sink, &facts.links.slab, slot, fact::write),
        Kind::Parameter => each(sink, &facts.parameters.slab, slot, fact::write),
        Kind::Release => each(sink, &facts.releases.slab, slot, fact::write),
        Kind::Share => each(sink, &facts.shares.slab, slot, fact::write),
        Kind::Quota => each(sink, &facts.quotas.slab, slot, fact::write),
        Kind::User => each(sink, &facts.users.slab, slot, fact::write),
        Kind::Throttle => each(sink, &state.throttles.slab, slot, throttle::write),
        Kind::Answered => each(sink, &state.answered.book.slab, slot, ask::write_answered),
    }
}

fn each<T>(sink: &mut Sink<'_>, slab: &Slab<T>, slot: u32, write: impl Fn(&mut Sink<'_>, &T)) {
    if let Some(record) = slab.get(slot) {
        write(sink, record);
    }
}

fn text(at: &mut Cursor<'_>) -> Result<String, Fault> {
    at.string().map(str::to_owned)
}

#[inline]
fn count(at: &mut Cursor<'_>) -> Result<u32, Fault> {
    u32::try_from(at.long()?).map_err(|_| Fault::Malformed)
}

/// A number of which all 64 bits matter.
#[inline]
fn word(at: &mut Cursor<'_>) -> Result<u64, Fault> {
    at.long().map(|value| value as u64)
}
