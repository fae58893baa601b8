//! `share`, `quota`, `user`.

use super::{amount, count, list, number, option, say_number, symbol, text, texts};
use crate::core::cut::Topic;
use crate::core::event::{Quota, QuotaKind, Share, User, UserKind};
use crate::wire::avro::{Cursor, Fault, Sink};

const QUOTAS: [QuotaKind; 2] = [QuotaKind::User, QuotaKind::Group];
const USERS: [UserKind; 2] = [UserKind::User, UserKind::Group];

pub(super) fn read_share(at: &mut Cursor<'_>) -> Result<Share, Fault> {
    Ok(Share {
        name: text(at)?,
        changed_at: at.long()?,
        parent: text(at)?,
        value: number(at)?,
        position: count(at)?,
        label: option(at, text)?,
        working_group: option(at, text)?,
        campaign: option(at, text)?,
        processing_type: option(at, text)?,
        trans_path: option(at, text)?,
        resource_type: option(at, text)?,
        vo: text(at)?,
        queue_id: amount(at)?,
        throttled: at.boolean()?,
    })
}

/// Appends a node of the share tree.
pub fn write_share(out: &mut Vec<u8>, share: &Share) {
    let mut sink = Sink::begin(out, Topic::Share);
    sink.string(&share.name);
    sink.long(share.changed_at);
    sink.string(&share.parent);
    say_number(&mut sink, share.value);
    sink.count(share.position);
    for expression in [
        &share.label,
        &share.working_group,
        &share.campaign,
        &share.processing_type,
        &share.trans_path,
        &share.resource_type,
    ] {
        sink.option(expression.as_deref(), |sink, text| sink.string(text));
    }
    sink.string(&share.vo);
    sink.amount(share.queue_id);
    sink.boolean(share.throttled);
}

pub(super) fn read_quota(at: &mut Cursor<'_>) -> Result<Quota, Fault> {
    Ok(Quota {
        kind: symbol(at, &QUOTAS)?,
        subject: text(at)?,
        expression: text(at)?,
        changed_at: at.long()?,
        limit_bytes: option(at, amount)?,
        used_bytes: amount(at)?,
        used_files: amount(at)?,
    })
}

/// Appends a quota.
pub fn write_quota(out: &mut Vec<u8>, quota: &Quota) {
    let mut sink = Sink::begin(out, Topic::Quota);
    sink.index(quota.kind as usize);
    sink.string(&quota.subject);
    sink.string(&quota.expression);
    sink.long(quota.changed_at);
    sink.option(quota.limit_bytes, Sink::amount);
    sink.amount(quota.used_bytes);
    sink.amount(quota.used_files);
}

pub(super) fn read_user(at: &mut Cursor<'_>) -> Result<User, Fault> {
    Ok(User {
        kind: symbol(at, &USERS)?,
        name: text(at)?,
        changed_at: at.long()?,
        active: at.boolean()?,
        groups: list(at, text)?,
        country: text(at)?,
        cap_running_jobs: option(at, amount)?,
        cap_running_cores: option(at, amount)?,
        priority_offset: option(at, Cursor::int)?,
    })
}

/// Appends a user or group.
pub fn write_user(out: &mut Vec<u8>, user: &User) {
    let mut sink = Sink::begin(out, Topic::User);
    sink.index(user.kind as usize);
    sink.string(&user.name);
    sink.long(user.changed_at);
    sink.boolean(user.active);
    texts(&mut sink, &user.groups);
    sink.string(&user.country);
    sink.option(user.cap_running_jobs, Sink::amount);
    sink.option(user.cap_running_cores, Sink::amount);
    sink.option(user.priority_offset, Sink::int);
}
