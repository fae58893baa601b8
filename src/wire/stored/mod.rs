//! The shape of records in a store. Ours alone: a store is a cache, so a change here raises
//! [`FORMAT`] and what an older version wrote is rebuilt from the log.
//!
//! A store record is one record of the state under (kind, slot); a chunk is a run of them: kind
//! (one byte), slot, length and bytes each; length 0 means that the slot is empty.

mod fact;
mod head;
mod job;
mod key;
mod left;
mod load;
mod notes;
mod request;
mod writers;

pub use head::{Head, OwnLaneOffsets, policies_of, read_head, write_head};
pub use key::{KEY_PAGE, read_key, write_key};
pub use load::Restore;
pub use notes::{NOTES_PAGE, read_notes, write_notes};
pub use writers::{WRITERS_PAGE, read_writers, write_writers};

use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Configuration;
use yardmaster_core::record::Encode;
use yardmaster_core::state::State;
use yardmaster_core::state::slab::{PAGE, Slab};

/// Version of everything in this room.
pub const FORMAT: u32 = 27;

/// Chunks are cut once they are this long; bytes.
pub const CHUNK: usize = 32 * 1024;

/// Kinds of records. Their numbers are persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Jobs.
    Job,
    /// Transfers.
    Transfer,
    /// Nodes.
    Node,
    /// Worker reports.
    Workers,
    /// Requests and answers.
    Request,
    /// The newest throttle of each subject and rule.
    Throttle,
    /// Answers whose requests were forgotten.
    Answered,
    /// Commands and what became of them.
    Command,
    /// Newest report on the jobs that each rule holds back at each queue.
    HeldBack,
    /// Jobs of a pool of slots.
    PoolJob,
    /// Workflows of a pool.
    PoolWorkflow,
    /// Offers of slots.
    PoolOffer,
    /// Users of a pool.
    PoolUser,
    /// Nodes of a pool.
    PoolNode,
    /// Configuration records of a topic.
    Configuration(Topic),
}

/// Added to the number of a topic, the number of the kind of its configuration records.
const CONFIGURATION: u8 = 64;

impl Kind {
    /// All kinds, in the order in which they are written.
    pub fn all() -> impl Iterator<Item = Kind> {
        let records = [Kind::Job, Kind::Transfer, Kind::Node, Kind::Workers, Kind::Request];
        let topics = Configuration::TOPICS.iter().copied().map(Kind::Configuration);
        records.into_iter().chain(topics).chain([
            Kind::Throttle,
            Kind::Answered,
            Kind::Command,
            Kind::HeldBack,
            Kind::PoolJob,
            Kind::PoolWorkflow,
            Kind::PoolOffer,
            Kind::PoolUser,
            Kind::PoolNode,
        ])
    }

    /// The number it is kept under.
    pub fn number(self) -> u8 {
        match self {
            Kind::Job => 1,
            Kind::Transfer => 2,
            Kind::Node => 3,
            Kind::Workers => 4,
            Kind::Request => 5,
            Kind::Throttle => 15,
            Kind::Answered => 16,
            Kind::Command => 17,
            Kind::HeldBack => 18,
            Kind::PoolJob => 19,
            Kind::PoolWorkflow => 20,
            Kind::PoolOffer => 21,
            Kind::PoolUser => 22,
            Kind::PoolNode => 23,
            Kind::Configuration(topic) => CONFIGURATION + topic as u8,
        }
    }

    /// The kind of a number.
    pub fn from_number(number: u8) -> Option<Kind> {
        Kind::all().find(|kind| kind.number() == number)
    }
}

/// Writes records into chunks of about [`CHUNK`] bytes.
#[derive(Default)]
struct Chunks {
    done: Vec<Vec<u8>>,
    open: Vec<u8>,
    record: Vec<u8>,
}

impl Chunks {
    fn record(&mut self, kind: Kind, slot: u32, write: impl FnOnce(&mut Sink<'_>)) {
        self.record.clear();
        write(&mut Sink { out: &mut self.record });
        self.open.push(kind.number());
        let mut sink = Sink { out: &mut self.open };
        sink.count(slot);
        sink.bytes(&self.record);
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
    Kind::all().filter_map(|kind| slots(state, kind)).map(Slots::dirty).sum()
}

/// How many slots there are, used or not, at most a page of each kind more.
pub fn slots_at_most(state: &State) -> usize {
    pages(state).len() * PAGE as usize
}

/// Nothing counts as changed any more; gives no chunks.
pub fn forget_dirty(state: &mut State) -> Vec<Vec<u8>> {
    for kind in Kind::all() {
        slots_mut(state, kind).map_or_else(Vec::new, Slots::take_dirty);
    }
    Vec::new()
}

/// The records that changed since this was last asked, in chunks.
pub fn deltas(state: &mut State) -> Vec<Vec<u8>> {
    let mut chunks = Chunks::default();
    for kind in Kind::all() {
        for slot in slots_mut(state, kind).map_or_else(Vec::new, Slots::take_dirty) {
            chunks.record(kind, slot, |sink| write_record(sink, state, kind, slot));
        }
    }
    chunks.end()
}

/// Where the records of a kind are.
trait Slots {
    /// How many slots changed since they were last taken.
    fn dirty(&self) -> usize;
    /// How many pages there are.
    fn pages(&self) -> u32;
    /// Takes the slots that changed since this was last asked.
    fn take_dirty(&mut self) -> Vec<u32>;
}

impl<T> Slots for Slab<T> {
    fn dirty(&self) -> usize {
        Slab::dirty(self)
    }

    fn pages(&self) -> u32 {
        Slab::pages(self)
    }

    fn take_dirty(&mut self) -> Vec<u32> {
        Slab::take_dirty(self)
    }
}

/// Where the records of a kind are; `None` for a topic without configuration records.
fn slots(state: &State, kind: Kind) -> Option<&dyn Slots> {
    Some(match kind {
        Kind::Job => &state.jobs.slab,
        Kind::Transfer => &state.transfers.slab,
        Kind::Node => &state.nodes.slab,
        Kind::Workers => &state.workers.slab,
        Kind::Request => &state.requests.slab,
        Kind::Throttle => &state.throttles.slab,
        Kind::Answered => &state.answered.table.slab,
        Kind::Command => &state.commands.table.slab,
        Kind::HeldBack => &state.commands.held.slab,
        Kind::PoolJob => &state.pool.jobs.slab,
        Kind::PoolWorkflow => &state.pool.workflows.slab,
        Kind::PoolOffer => &state.pool.offers.slab,
        Kind::PoolUser => &state.pool.users.slab,
        Kind::PoolNode => &state.pool.nodes.slab,
        Kind::Configuration(topic) => return fact::slots(&state.facts, topic),
    })
}

fn slots_mut(state: &mut State, kind: Kind) -> Option<&mut dyn Slots> {
    Some(match kind {
        Kind::Job => &mut state.jobs.slab,
        Kind::Transfer => &mut state.transfers.slab,
        Kind::Node => &mut state.nodes.slab,
        Kind::Workers => &mut state.workers.slab,
        Kind::Request => &mut state.requests.slab,
        Kind::Throttle => &mut state.throttles.slab,
        Kind::Answered => &mut state.answered.table.slab,
        Kind::Command => &mut state.commands.table.slab,
        Kind::HeldBack => &mut state.commands.held.slab,
        Kind::PoolJob => &mut state.pool.jobs.slab,
        Kind::PoolWorkflow => &mut state.pool.workflows.slab,
        Kind::PoolOffer => &mut state.pool.offers.slab,
        Kind::PoolUser => &mut state.pool.users.slab,
        Kind::PoolNode => &mut state.pool.nodes.slab,
        Kind::Configuration(topic) => return fact::slots_mut(&mut state.facts, topic),
    })
}

/// Pages of records, in a fixed order: kind by kind, page by page.
pub fn pages(state: &State) -> Vec<(Kind, u32)> {
    let count = |kind| slots(state, kind).map_or(0, Slots::pages);
    Kind::all().flat_map(|kind| (0..count(kind)).map(move |page| (kind, page))).collect()
}

/// The number a page is kept under.
pub fn page_number(kind: Kind, page: u32) -> u64 {
    u64::from(kind.number()) << 32 | u64::from(page)
}

/// A whole page: every slot of it, the empty ones too.
pub fn page(state: &State, kind: Kind, page: u32) -> Vec<u8> {
    let mut chunks = Chunks::default();
    for slot in page * PAGE..(page + 1) * PAGE {
        chunks.record(kind, slot, |sink| write_record(sink, state, kind, slot));
    }
    let mut chunks = chunks.end();
    if chunks.len() == 1 { chunks.remove(0) } else { chunks.concat() }
}

fn write_record(sink: &mut Sink<'_>, state: &State, kind: Kind, slot: u32) {
    match kind {
        Kind::Job => each(sink, &state.jobs.slab, slot, |s, it| job::write_job(s, state, it)),
        Kind::Transfer => {
            each(sink, &state.transfers.slab, slot, |s, it| job::write_transfer(s, state, it));
        }
        Kind::Node => each(sink, &state.nodes.slab, slot, |s, it| job::write_node(s, state, it)),
        Kind::Workers => {
            each(sink, &state.workers.slab, slot, |s, it| job::write_workers(s, state, it));
        }
        Kind::Request => each(sink, &state.requests.slab, slot, request::write),
        Kind::Throttle => each(sink, &state.throttles.slab, slot, put),
        Kind::Answered => each(sink, &state.answered.table.slab, slot, put),
        Kind::Command => each(sink, &state.commands.table.slab, slot, put),
        Kind::HeldBack => each(sink, &state.commands.held.slab, slot, put),
        Kind::PoolJob => each(sink, &state.pool.jobs.slab, slot, put),
        Kind::PoolWorkflow => each(sink, &state.pool.workflows.slab, slot, put),
        Kind::PoolOffer => each(sink, &state.pool.offers.slab, slot, put),
        Kind::PoolUser => each(sink, &state.pool.users.slab, slot, put),
        Kind::PoolNode => each(sink, &state.pool.nodes.slab, slot, put),
        Kind::Configuration(topic) => fact::write_slot(sink, &state.facts, topic, slot),
    }
}

fn each<T>(sink: &mut Sink<'_>, slab: &Slab<T>, slot: u32, write: impl Fn(&mut Sink<'_>, &T)) {
    if let Some(record) = slab.get(slot) {
        write(sink, record);
    }
}

/// Writes a record as core lists its fields.
fn put<T: Encode>(sink: &mut Sink<'_>, record: &T) {
    record.encode(sink);
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
