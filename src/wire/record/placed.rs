//! The part of a decision that says what one job takes at its target, and the limits that hold.

use super::{amount, count, list, option, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::output::placed::{Draw, DrawWeight, LimitUse, Placed};

pub(crate) fn read(at: &mut Cursor<'_>) -> Result<Placed, Fault> {
    Ok(Placed {
        alternative: count(at)?,
        count: amount(at)?,
        time_s: option(at, amount)?,
        disk_bytes: amount(at)?,
        cache_bytes: amount(at)?,
        tags: list(at, text)?,
        rule: text(at)?,
        draw: option(at, read_draw)?,
    })
}

fn read_draw(at: &mut Cursor<'_>) -> Result<Draw, Fault> {
    Ok(Draw {
        algorithm: text(at)?,
        cut_id: text(at)?,
        round: count(at)?,
        digest: text(at)?,
        x: amount(at)?,
        weights: list(at, |at| Ok(DrawWeight { name: text(at)?, weight: amount(at)? }))?,
    })
}

pub(crate) fn write(sink: &mut Sink<'_>, placed: &Placed) {
    sink.count(placed.alternative);
    sink.amount(placed.count);
    sink.option(placed.time_s, Sink::amount);
    sink.amount(placed.disk_bytes);
    sink.amount(placed.cache_bytes);
    texts(sink, &placed.tags);
    sink.string(&placed.rule);
    sink.option(placed.draw.as_ref(), write_draw);
}

fn write_draw(sink: &mut Sink<'_>, draw: &Draw) {
    sink.string(&draw.algorithm);
    sink.string(&draw.cut_id);
    sink.count(draw.round);
    sink.string(&draw.digest);
    sink.amount(draw.x);
    sink.array(&draw.weights, |sink, it| {
        sink.string(&it.name);
        sink.amount(it.weight);
    });
}

pub(super) fn read_limit(at: &mut Cursor<'_>) -> Result<LimitUse, Fault> {
    Ok(LimitUse {
        name: text(at)?,
        of: text(at)?,
        before: amount(at)?,
        after: amount(at)?,
        max: amount(at)?,
    })
}

pub(super) fn write_limit(sink: &mut Sink<'_>, limit: &LimitUse) {
    sink.string(&limit.name);
    sink.string(&limit.of);
    sink.amount(limit.before);
    sink.amount(limit.after);
    sink.amount(limit.max);
}
