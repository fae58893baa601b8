//! `share`, `quota`, `user`.

use super::{Layout, amount, count, list, number, option, say_number, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Quota, QuotaKind, Share, User, UserKind};

const QUOTAS: [QuotaKind; 2] = [QuotaKind::User, QuotaKind::Group];
const USERS: [UserKind; 2] = [UserKind::User, UserKind::Group];

impl Layout for Share {
    fn read(at: &mut Cursor<'_>) -> Result<Share, Fault> {
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

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Share);
        sink.string(&self.name);
        sink.long(self.changed_at);
        sink.string(&self.parent);
        say_number(&mut sink, self.value);
        sink.count(self.position);
        for expression in [
            &self.label,
            &self.working_group,
            &self.campaign,
            &self.processing_type,
            &self.trans_path,
            &self.resource_type,
        ] {
            sink.option(expression.as_deref(), |sink, text| sink.string(text));
        }
        sink.string(&self.vo);
        sink.amount(self.queue_id);
        sink.boolean(self.throttled);
    }
}

impl Layout for Quota {
    fn read(at: &mut Cursor<'_>) -> Result<Quota, Fault> {
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

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Quota);
        sink.index(self.kind as usize);
        sink.string(&self.subject);
        sink.string(&self.expression);
        sink.long(self.changed_at);
        sink.option(self.limit_bytes, Sink::amount);
        sink.amount(self.used_bytes);
        sink.amount(self.used_files);
    }
}

impl Layout for User {
    fn read(at: &mut Cursor<'_>) -> Result<User, Fault> {
        Ok(User {
            kind: symbol(at, &USERS)?,
            name: text(at)?,
            changed_at: at.long()?,
            groups: list(at, text)?,
            country: text(at)?,
            cap_running_jobs: option(at, amount)?,
            cap_running_cores: option(at, amount)?,
            roles: list(at, text)?,
            past_usage_milli: at.long()?,
            past_usage_at: at.long()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::User);
        sink.index(self.kind as usize);
        sink.string(&self.name);
        sink.long(self.changed_at);
        texts(&mut sink, &self.groups);
        sink.string(&self.country);
        sink.option(self.cap_running_jobs, Sink::amount);
        sink.option(self.cap_running_cores, Sink::amount);
        texts(&mut sink, &self.roles);
        sink.long(self.past_usage_milli);
        sink.long(self.past_usage_at);
    }
}
