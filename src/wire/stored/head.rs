//! The head of a checkpoint: which cycle it is of, how far each lane was read, and what is small.

use super::{FORMAT, count, left};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::id::Name;
use yardmaster_core::output::progress::LastRead;
use yardmaster_core::record::{Decode, Encode};
use yardmaster_core::state::crowded::Crowded;
use yardmaster_core::state::record::SlotFigure;
use yardmaster_core::state::signs::QueueSigns;
use yardmaster_core::state::time::LaneState;
use yardmaster_core::state::{Marks, State};

/// Where our own records of later cycles begin, at the earliest: per own lane an offset.
pub type OwnLaneOffsets = Vec<(Lane, u64)>;

/// The parts of a head beside the state itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The resolved topology of the epoch, as in `progress`.
    pub policies: String,
    /// See [`OwnLaneOffsets`].
    pub bounds: OwnLaneOffsets,
    /// Which topics the bounds are of, as in `progress`.
    pub topic_ids: Vec<(Topic, String)>,
    /// The last record that was read of each input lane.
    pub last_read: Vec<(Lane, LastRead)>,
}

/// Writes a head.
pub fn write_head(state: &State, head: &Head) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = Sink { out: &mut out };
    let sink = &mut sink;
    (FORMAT, state.setting.domain.as_str()).encode(sink);
    (&head.policies, &head.bounds, &head.topic_ids, &head.last_read).encode(sink);
    (state.epoch, state.number).encode(sink);
    (state.now, state.known_since, state.transfers_swept, state.ledger.now).encode(sink);
    let lanes: Vec<_> = state.times.lanes.iter().collect();
    lanes.encode(sink);
    state.times.topics.iter().for_each(|topic| topic.encode(sink));
    state.times.gaps.iter().for_each(|gaps| gaps.encode(sink));
    write_small(sink, state);
    left::write(sink, state);
    out
}

fn write_small(sink: &mut Sink<'_>, state: &State) {
    let text = |name: Name| state.names.text(name);
    let slots = state.slots.values().map(|it| {
        let names = (text(it.queue), text(it.gshare), text(it.resource_type));
        (names, (it.at, it.slots, it.expires_at))
    });
    slots.collect::<Vec<_>>().encode(sink);
    let marks = state.marks.iter().map(|(queue, marks)| (text(*queue), marks));
    marks.collect::<Vec<_>>().encode(sink);
    let signs = state.queue_signs.iter().map(|(queue, signs)| (text(*queue), signs));
    signs.collect::<Vec<_>>().encode(sink);
    let crowded = state.crowded.iter();
    let crowded = crowded.map(|((queue, gshare), it)| ((text(*queue), text(*gshare)), it));
    crowded.collect::<Vec<_>>().encode(sink);
}

/// The resolved topology that the head of a domain has, read before there is a state to read the
/// head into.
pub fn policies_of<'a>(bytes: &'a [u8], domain: &str) -> Result<&'a str, Fault> {
    let mut at = Cursor::new(bytes);
    if count(&mut at)? != FORMAT || at.string()? != domain {
        return Err(Fault::Malformed);
    }
    at.string()
}

/// Reads a head into an empty state of the same domain.
pub fn read_head(bytes: &[u8], state: &mut State) -> Result<Head, Fault> {
    let mut at = Cursor::new(bytes);
    let at = &mut at;
    if count(at)? != FORMAT || at.string()? != state.setting.domain {
        return Err(Fault::Malformed);
    }
    let (policies, bounds, topic_ids, last_read) = Decode::decode(at)?;
    let head = Head { policies, bounds, topic_ids, last_read };
    (state.epoch, state.number) = Decode::decode(at)?;
    (state.now, state.known_since, state.transfers_swept, state.ledger.now) = Decode::decode(at)?;
    for (lane, held) in Vec::<(Lane, LaneState)>::decode(at)? {
        *state.times.lanes.at(lane) = held;
    }
    for topic in &mut state.times.topics {
        *topic = Decode::decode(at)?;
    }
    for gaps in &mut state.times.gaps {
        *gaps = Decode::decode(at)?;
    }
    read_small(at, state)?;
    left::read(at, state)?;
    at.end()?;
    Ok(head)
}

type Names<'a> = (&'a str, &'a str, &'a str);

fn read_small(at: &mut Cursor<'_>, state: &mut State) -> Result<(), Fault> {
    for (names, (at, slots, expires_at)) in Vec::<(Names<'_>, (i64, i64, i64))>::decode(at)? {
        let [queue, gshare, resource_type] =
            [names.0, names.1, names.2].map(|name| state.names.intern(name));
        let slots = SlotFigure { queue, gshare, resource_type, at, slots, expires_at };
        state.slots.insert((queue, gshare, resource_type), slots);
    }
    for (queue, marks) in Vec::<(&str, Marks)>::decode(at)? {
        state.marks.insert(state.names.intern(queue), marks);
    }
    for (queue, signs) in Vec::<(&str, QueueSigns)>::decode(at)? {
        state.queue_signs.insert(state.names.intern(queue), signs);
    }
    for ((queue, gshare), crowded) in Vec::<((&str, &str), Crowded)>::decode(at)? {
        let key = (state.names.intern(queue), state.names.intern(gshare));
        state.crowded.insert(key, crowded);
    }
    Ok(())
}
