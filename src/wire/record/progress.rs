//! `progress`: the record of a cycle.

use super::{amount, count, list, option, text};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::{LaneFlags, LastRead, Progress};
use yardmaster_core::output::repair::NowRepair;

/// Reads the datum of a cycle's record.
pub(crate) fn read(datum: &[u8]) -> Result<Progress, Fault> {
    let mut at = Cursor::new(datum);
    let at = &mut at;
    let progress = Progress {
        domain: text(at)?,
        epoch: amount(at)?,
        number: amount(at)?,
        now: at.long()?,
        instance: text(at)?,
        lanes: list(at, |at| Ok((read_lane(at)?, amount(at)?)))?,
        full: at.boolean()?,
        flags: list(at, |at| Ok((read_lane(at)?, read_flags(at)?)))?,
        garbled: list(at, |at| Ok((read_lane(at)?, amount(at)?)))?,
        outputs: list(at, |at| Ok((read_lane(at)?, count(at)?)))?,
        policies: option(at, text)?,
        policy_hash: text(at)?,
        engine: count(at)?,
        quiet: at.boolean()?,
        farewell: at.boolean()?,
        output_hashes: list(at, |at| Ok(at.long()? as u64))?,
        counters_continue: at.boolean()?,
        counters_follow: at.boolean()?,
        now_repairs: list(at, read_repair)?,
        topic_ids: list(at, |at| Ok((read_topic(at)?, text(at)?)))?,
        last_read: list(at, |at| Ok((read_lane(at)?, read_last(at)?)))?,
    };
    at.end()?;
    Ok(progress)
}

/// A lane of a topic that is not known cannot be read past: nothing would be known of it.
fn read_lane(at: &mut Cursor<'_>) -> Result<Lane, Fault> {
    let topic = read_topic(at)?;
    let partition = u32::try_from(at.int()?).map_err(|_| Fault::Malformed)?;
    Ok(Lane { topic, partition })
}

fn read_topic(at: &mut Cursor<'_>) -> Result<Topic, Fault> {
    Topic::from_name(at.string()?).ok_or(Fault::Malformed)
}

fn read_repair(at: &mut Cursor<'_>) -> Result<NowRepair, Fault> {
    Ok(NowRepair { from_cycle: amount(at)?, until_cycle: amount(at)?, now: at.long()? })
}

fn read_last(at: &mut Cursor<'_>) -> Result<LastRead, Fault> {
    Ok(LastRead { offset: amount(at)?, check: at.long()? as u64 })
}

fn read_flags(at: &mut Cursor<'_>) -> Result<LaneFlags, Fault> {
    Ok(LaneFlags {
        at_end: at.boolean()?,
        unreadable: at.boolean()?,
        blocked_at: option(at, Cursor::long)?,
    })
}

/// Appends the record of a cycle.
pub fn write_progress(out: &mut Vec<u8>, progress: &Progress) {
    let mut sink = Sink::begin(out, Topic::Progress);
    sink.string(&progress.domain);
    sink.amount(progress.epoch);
    sink.amount(progress.number);
    sink.long(progress.now);
    sink.string(&progress.instance);
    sink.array(&progress.lanes, |sink, (lane, next)| {
        write_lane(sink, *lane);
        sink.amount(*next);
    });
    sink.boolean(progress.full);
    sink.array(&progress.flags, |sink, (lane, flags)| {
        write_lane(sink, *lane);
        sink.boolean(flags.at_end);
        sink.boolean(flags.unreadable);
        sink.option(flags.blocked_at, Sink::long);
    });
    sink.array(&progress.garbled, |sink, (lane, offset)| {
        write_lane(sink, *lane);
        sink.amount(*offset);
    });
    sink.array(&progress.outputs, |sink, (lane, records)| {
        write_lane(sink, *lane);
        sink.count(*records);
    });
    sink.option(progress.policies.as_deref(), Sink::string);
    sink.string(&progress.policy_hash);
    sink.count(progress.engine);
    sink.boolean(progress.quiet);
    sink.boolean(progress.farewell);
    sink.array(&progress.output_hashes, |sink, hash| sink.long(*hash as i64));
    sink.boolean(progress.counters_continue);
    sink.boolean(progress.counters_follow);
    sink.array(&progress.now_repairs, |sink, repair| {
        sink.amount(repair.from_cycle);
        sink.amount(repair.until_cycle);
        sink.long(repair.now);
    });
    sink.array(&progress.topic_ids, |sink, (topic, id)| {
        sink.string(topic.name());
        sink.string(id);
    });
    sink.array(&progress.last_read, |sink, (lane, last)| {
        write_lane(sink, *lane);
        sink.amount(last.offset);
        sink.long(last.check as i64);
    });
}

/// Kafka counts partitions in 31 bits.
fn write_lane(sink: &mut Sink<'_>, lane: Lane) {
    sink.string(lane.topic.name());
    sink.int(i32::try_from(lane.partition).unwrap_or(i32::MAX));
}
