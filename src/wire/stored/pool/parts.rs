//! Parts that records of a pool have in common: what a job wants, what it got, options, lists.

use crate::avro::{Cursor, Fault, Sink};
use crate::stored::{count, text};
use yardmaster_core::event::{Band, Class, FailureClass, OwnRequirements};
use yardmaster_core::output::matched::Matched;

pub(super) fn long(sink: &mut Sink<'_>, value: i64) {
    sink.long(value);
}

pub(super) fn string(sink: &mut Sink<'_>, value: impl AsRef<str>) {
    sink.string(value.as_ref());
}

pub(super) fn option<'a, T>(
    at: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    match at.index()? {
        0 => Ok(None),
        1 => read(at).map(Some),
        _ => Err(Fault::Malformed),
    }
}

pub(super) fn write_list<T>(sink: &mut Sink<'_>, list: &[T], each: impl Fn(&mut Sink<'_>, &T)) {
    sink.index(list.len());
    list.iter().for_each(|item| each(sink, item));
}

pub(super) fn read_list<'a, T>(
    at: &mut Cursor<'a>,
    each: impl Fn(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut list = Vec::new();
    for _ in 0..at.index()? {
        list.push(each(at)?);
    }
    Ok(list)
}

fn write_failure(sink: &mut Sink<'_>, failure: FailureClass) {
    sink.index(failure as usize);
}

pub(super) fn read_failure(at: &mut Cursor<'_>) -> Result<FailureClass, Fault> {
    FailureClass::ALL.get(at.index()?).copied().ok_or(Fault::Malformed)
}

fn read_class(at: &mut Cursor<'_>) -> Result<Class, Fault> {
    Class::ALL.get(at.index()?).copied().ok_or(Fault::Malformed)
}

pub(super) fn write_requirements(sink: &mut Sink<'_>, it: &OwnRequirements) {
    sink.long(it.seq);
    sink.option(it.class, |sink, class| sink.index(class as usize));
    sink.option(it.site_whitelist.as_ref(), string);
    sink.option(it.allow_overflow, Sink::boolean);
    let flags = [it.high_io, it.system_job, it.whole_node, it.all_cores, it.last_attempt];
    flags.into_iter().for_each(|flag| sink.boolean(flag));
    sink.long(it.cores_min);
    sink.option(it.cores_max, long);
    sink.option(it.base_cores, long);
    sink.option(it.max_wall_time_s, long);
    sink.option(it.max_rss_mb, long);
    sink.long(it.user_priority);
    sink.option(it.last_failure, write_failure);
    sink.option(it.failure, write_failure);
    sink.long(it.used_rss_mb);
}

pub(super) fn read_requirements(at: &mut Cursor<'_>) -> Result<OwnRequirements, Fault> {
    Ok(OwnRequirements {
        seq: at.long()?,
        class: option(at, read_class)?,
        site_whitelist: option(at, text)?,
        allow_overflow: option(at, Cursor::boolean)?,
        high_io: at.boolean()?,
        system_job: at.boolean()?,
        whole_node: at.boolean()?,
        all_cores: at.boolean()?,
        last_attempt: at.boolean()?,
        cores_min: at.long()?,
        cores_max: option(at, Cursor::long)?,
        base_cores: option(at, Cursor::long)?,
        max_wall_time_s: option(at, Cursor::long)?,
        max_rss_mb: option(at, Cursor::long)?,
        user_priority: at.long()?,
        last_failure: option(at, read_failure)?,
        failure: option(at, read_failure)?,
        used_rss_mb: at.long()?,
    })
}

pub(super) fn write_matched(sink: &mut Sink<'_>, it: &Matched) {
    sink.string(&it.job);
    sink.count(it.job_attempt);
    sink.index(it.class as usize);
    sink.index(it.band as usize);
    sink.string(&it.node);
    for figure in [it.cores, it.weight_milli, it.usage_milli, it.wall_time_s, it.rss_mb] {
        sink.long(figure);
    }
    sink.string(&it.overflow_source);
    sink.long(it.overflow_cost);
    sink.string(&it.charged_group);
    sink.string(&it.io_source);
    write_list(sink, &it.relaxed, |sink, rule| sink.string(rule));
}

pub(super) fn read_matched(at: &mut Cursor<'_>) -> Result<Matched, Fault> {
    Ok(Matched {
        job: text(at)?,
        job_attempt: count(at)?,
        class: read_class(at)?,
        band: Band::ALL.get(at.index()?).copied().ok_or(Fault::Malformed)?,
        node: text(at)?,
        cores: at.long()?,
        weight_milli: at.long()?,
        usage_milli: at.long()?,
        wall_time_s: at.long()?,
        rss_mb: at.long()?,
        overflow_source: text(at)?,
        overflow_cost: at.long()?,
        charged_group: text(at)?,
        io_source: text(at)?,
        relaxed: read_list(at, text)?,
    })
}
