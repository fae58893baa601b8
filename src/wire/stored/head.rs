//! The head of a checkpoint: which cycle it is of, how far each lane was read, and what is small.

use super::{FORMAT, count, left, text, word};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::{LaneFlags, LastRead};
use yardmaster_core::state::crowded::Crowded;
use yardmaster_core::state::gaps::Gaps;
use yardmaster_core::state::record::Slots;
use yardmaster_core::state::signs::QueueSigns;
use yardmaster_core::state::time::{LaneState, TopicTime};
use yardmaster_core::state::{Marks, State};

/// Where our own records of later cycles begin, at the earliest: per own lane an offset.
pub type Bounds = Vec<(Lane, u64)>;

/// What a head has beside the state itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The resolved topology of the epoch, as in `progress`.
    pub policies: String,
    /// See [`Bounds`].
    pub bounds: Bounds,
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
    sink.count(FORMAT);
    sink.string(&state.setting.domain);
    sink.string(&head.policies);
    sink.index(head.bounds.len());
    for (lane, offset) in &head.bounds {
        write_lane(sink, *lane);
        sink.amount(*offset);
    }
    sink.index(head.topic_ids.len());
    for (topic, id) in &head.topic_ids {
        sink.index(*topic as usize);
        sink.string(id);
    }
    sink.index(head.last_read.len());
    for (lane, last) in &head.last_read {
        write_lane(sink, *lane);
        sink.amount(last.offset);
        sink.long(last.check as i64);
    }
    sink.amount(state.epoch);
    sink.amount(state.number);
    for time in [state.now, state.known_since, state.transfers_swept, state.ledger.now] {
        sink.long(time);
    }
    write_times(sink, state);
    write_small(sink, state);
    left::write(sink, state);
    out
}

fn write_lane(sink: &mut Sink<'_>, lane: Lane) {
    sink.index(lane.topic as usize);
    sink.count(lane.partition);
}

fn read_lane(at: &mut Cursor<'_>) -> Result<Lane, Fault> {
    Ok(Lane::new(read_topic(at)?, count(at)?))
}

fn read_topic(at: &mut Cursor<'_>) -> Result<Topic, Fault> {
    let topic = u8::try_from(at.index()?).ok().and_then(Topic::from_number);
    topic.ok_or(Fault::Malformed)
}

fn write_times(sink: &mut Sink<'_>, state: &State) {
    sink.index(state.times.lanes.iter().count());
    for (lane, held) in state.times.lanes.iter() {
        write_lane(sink, lane);
        sink.amount(held.next);
        sink.long(held.newest);
        sink.boolean(held.flags.at_end);
        sink.boolean(held.flags.unreadable);
        sink.option(held.flags.blocked_at, Sink::long);
    }
    for topic in &state.times.topics {
        sink.long(topic.time);
        sink.long(topic.clock);
        sink.long(topic.rests_until);
        sink.boolean(topic.is_fresh);
        sink.option(topic.stale_since, Sink::long);
    }
    state.times.gaps.iter().for_each(|gaps| write_gaps(sink, gaps));
}

fn write_gaps(sink: &mut Sink<'_>, gaps: &Gaps) {
    sink.index(gaps.spans().len());
    for (from, until) in gaps.spans() {
        sink.long(*from);
        sink.long(*until);
    }
}

fn read_gaps(at: &mut Cursor<'_>) -> Result<Gaps, Fault> {
    let mut spans = Vec::new();
    for _ in 0..at.index()? {
        spans.push((at.long()?, at.long()?));
    }
    Ok(Gaps::of(spans))
}

fn write_small(sink: &mut Sink<'_>, state: &State) {
    sink.index(state.slots.len());
    for slots in state.slots.values() {
        for name in [slots.queue, slots.gshare, slots.resource_type] {
            sink.string(state.names.text(name));
        }
        for number in [slots.at, slots.slots, slots.expires_at] {
            sink.long(number);
        }
    }
    sink.index(state.marks.len());
    for (queue, marks) in &state.marks {
        sink.string(state.names.text(*queue));
        sink.long(marks.pilot);
        sink.long(marks.start);
        sink.long(marks.heartbeat);
    }
    sink.index(state.queue_signs.len());
    for (queue, signs) in &state.queue_signs {
        sink.string(state.names.text(*queue));
        sink.long(signs.at);
        write_gaps(sink, &signs.gaps);
    }
    sink.index(state.crowded.len());
    for ((queue, gshare), crowded) in &state.crowded {
        sink.string(state.names.text(*queue));
        sink.string(state.names.text(*gshare));
        sink.long(crowded.since);
    }
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
    let mut head = Head { policies: text(at)?, ..Head::default() };
    for _ in 0..at.index()? {
        head.bounds.push((read_lane(at)?, word(at)?));
    }
    for _ in 0..at.index()? {
        head.topic_ids.push((read_topic(at)?, text(at)?));
    }
    for _ in 0..at.index()? {
        let lane = read_lane(at)?;
        head.last_read.push((lane, LastRead { offset: word(at)?, check: at.long()? as u64 }));
    }
    state.epoch = word(at)?;
    state.number = word(at)?;
    state.now = at.long()?;
    state.known_since = at.long()?;
    state.transfers_swept = at.long()?;
    state.ledger.now = at.long()?;
    read_times(at, state)?;
    read_small(at, state)?;
    left::read(at, state)?;
    at.end()?;
    Ok(head)
}

fn read_times(at: &mut Cursor<'_>, state: &mut State) -> Result<(), Fault> {
    for _ in 0..at.index()? {
        let lane = read_lane(at)?;
        let held = LaneState {
            next: word(at)?,
            newest: at.long()?,
            flags: LaneFlags {
                at_end: at.boolean()?,
                unreadable: at.boolean()?,
                blocked_at: if at.index()? == 1 { Some(at.long()?) } else { None },
            },
        };
        *state.times.lanes.at(lane) = held;
    }
    for topic in &mut state.times.topics {
        *topic = TopicTime {
            time: at.long()?,
            clock: at.long()?,
            rests_until: at.long()?,
            is_fresh: at.boolean()?,
            stale_since: if at.index()? == 1 { Some(at.long()?) } else { None },
        };
    }
    for gaps in &mut state.times.gaps {
        *gaps = read_gaps(at)?;
    }
    Ok(())
}

fn read_small(at: &mut Cursor<'_>, state: &mut State) -> Result<(), Fault> {
    for _ in 0..at.index()? {
        let slots = Slots {
            queue: state.names.intern(at.string()?),
            gshare: state.names.intern(at.string()?),
            resource_type: state.names.intern(at.string()?),
            at: at.long()?,
            slots: at.long()?,
            expires_at: at.long()?,
        };
        state.slots.insert((slots.queue, slots.gshare, slots.resource_type), slots);
    }
    for _ in 0..at.index()? {
        let queue = state.names.intern(at.string()?);
        let marks = Marks { pilot: at.long()?, start: at.long()?, heartbeat: at.long()? };
        state.marks.insert(queue, marks);
    }
    for _ in 0..at.index()? {
        let queue = state.names.intern(at.string()?);
        let signs = QueueSigns { at: at.long()?, gaps: read_gaps(at)? };
        state.queue_signs.insert(queue, signs);
    }
    for _ in 0..at.index()? {
        let queue = state.names.intern(at.string()?);
        let gshare = state.names.intern(at.string()?);
        state.crowded.insert((queue, gshare), Crowded { since: at.long()? });
    }
    Ok(())
}
