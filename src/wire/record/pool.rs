//! `grant`, and what a pool of slots has in `site`, `task`, `job-state` and `decision`.
//!
//! Figures are read as they are stated: rules of the pool say which of them cannot be, and what
//! becomes of a job or a site that states such (spec cms-nordugrid C-07, C-08, C-26).

use super::{Layout, count, list, option, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Band, Class, ExtraBlock, FailureClass, Grant, GrantScopeKind, PrincipalKind, Requirements,
    SiteStatus, SlotQuota, WorkflowFacts,
};
use yardmaster_core::output::matched::Matched;

impl Layout for Grant {
    fn read(at: &mut Cursor<'_>) -> Result<Grant, Fault> {
        Ok(Grant {
            name: text(at)?,
            changed_at: at.long()?,
            principal_kind: symbol(at, &PrincipalKind::ALL)?,
            principal: text(at)?,
            only_with_group: text(at)?,
            scope_kind: symbol(at, &GrantScopeKind::ALL)?,
            scope: text(at)?,
            level: at.long()?,
            cap_weight_milli: option(at, Cursor::long)?,
            valid_from: at.long()?,
            valid_to: at.long()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Grant);
        sink.string(&self.name);
        sink.long(self.changed_at);
        sink.index(self.principal_kind as usize);
        sink.string(&self.principal);
        sink.string(&self.only_with_group);
        sink.index(self.scope_kind as usize);
        sink.string(&self.scope);
        sink.long(self.level);
        sink.option(self.cap_weight_milli, Sink::long);
        sink.long(self.valid_from);
        sink.long(self.valid_to);
    }
}

pub(super) fn read_quota(at: &mut Cursor<'_>) -> Result<SlotQuota, Fault> {
    Ok(SlotQuota {
        revision: at.long()?,
        tier: text(at)?,
        status: symbol(at, &SiteStatus::ALL)?,
        region: option(at, text)?,
        pledged_slots: at.long()?,
        central_permille: at.long()?,
        central_slots: option(at, Cursor::long)?,
        extra_blocks: list(at, read_block)?,
        overflow_slots: at.long()?,
        high_io_slots: at.long()?,
        corepower_mhs06: at.long()?,
        surplus_central: option(at, Cursor::boolean)?,
        surplus_analysis: option(at, Cursor::boolean)?,
    })
}

fn read_block(at: &mut Cursor<'_>) -> Result<ExtraBlock, Fault> {
    Ok(ExtraBlock {
        label: option(at, text)?,
        slots: at.long()?,
        central_slots: option(at, Cursor::long)?,
        restricted_group: option(at, text)?,
        priority_group: option(at, text)?,
        class_only: option(at, |at| symbol(at, &Class::ALL))?,
    })
}

pub(super) fn write_quota(sink: &mut Sink<'_>, quota: &SlotQuota) {
    sink.long(quota.revision);
    sink.string(&quota.tier);
    sink.index(quota.status as usize);
    say_text(sink, quota.region.as_deref());
    sink.long(quota.pledged_slots);
    sink.long(quota.central_permille);
    sink.option(quota.central_slots, Sink::long);
    sink.array(&quota.extra_blocks, write_block);
    sink.long(quota.overflow_slots);
    sink.long(quota.high_io_slots);
    sink.long(quota.corepower_mhs06);
    sink.option(quota.surplus_central, Sink::boolean);
    sink.option(quota.surplus_analysis, Sink::boolean);
}

fn write_block(sink: &mut Sink<'_>, block: &ExtraBlock) {
    say_text(sink, block.label.as_deref());
    sink.long(block.slots);
    sink.option(block.central_slots, Sink::long);
    say_text(sink, block.restricted_group.as_deref());
    say_text(sink, block.priority_group.as_deref());
    say_class(sink, block.class_only);
}

pub(super) fn read_workflow(at: &mut Cursor<'_>) -> Result<WorkflowFacts, Fault> {
    Ok(WorkflowFacts {
        class: symbol(at, &Class::ALL)?,
        priority: at.long()?,
        priority_revision: at.long()?,
        override_tail: at.boolean()?,
        total_jobs: option(at, Cursor::long)?,
        allow_overflow: at.boolean()?,
        overflow_sites: option(at, |at| list(at, text))?,
        max_overflow_sites: option(at, Cursor::long)?,
        test_jobs: option(at, Cursor::long)?,
        tail_permille: option(at, Cursor::long)?,
        site_test: at.boolean()?,
    })
}

pub(super) fn write_workflow(sink: &mut Sink<'_>, workflow: &WorkflowFacts) {
    sink.index(workflow.class as usize);
    sink.long(workflow.priority);
    sink.long(workflow.priority_revision);
    sink.boolean(workflow.override_tail);
    sink.option(workflow.total_jobs, Sink::long);
    sink.boolean(workflow.allow_overflow);
    sink.option(workflow.overflow_sites.as_deref(), texts);
    sink.option(workflow.max_overflow_sites, Sink::long);
    sink.option(workflow.test_jobs, Sink::long);
    sink.option(workflow.tail_permille, Sink::long);
    sink.boolean(workflow.site_test);
}

/// Reads them where they lie. Apart from the other fields of a job, so that a job that is in no
/// pool costs a byte and a comparison.
#[cold]
#[inline(never)]
pub(super) fn read_requirements<'a>(at: &mut Cursor<'a>) -> Result<Requirements<&'a str>, Fault> {
    Ok(Requirements {
        seq: at.long()?,
        class: option(at, |at| symbol(at, &Class::ALL))?,
        site_whitelist: option(at, Cursor::string)?,
        allow_overflow: option(at, Cursor::boolean)?,
        high_io: at.boolean()?,
        system_job: at.boolean()?,
        whole_node: at.boolean()?,
        cores_min: at.long()?,
        cores_max: option(at, Cursor::long)?,
        all_cores: at.boolean()?,
        base_cores: option(at, Cursor::long)?,
        max_wall_time_s: option(at, Cursor::long)?,
        max_rss_mb: option(at, Cursor::long)?,
        user_priority: at.long()?,
        last_failure: option(at, |at| symbol(at, &FailureClass::ALL))?,
        failure: option(at, |at| symbol(at, &FailureClass::ALL))?,
        last_attempt: at.boolean()?,
        used_rss_mb: at.long()?,
    })
}

pub(super) fn write_requirements(sink: &mut Sink<'_>, wants: &Requirements<&str>) {
    sink.long(wants.seq);
    say_class(sink, wants.class);
    say_text(sink, wants.site_whitelist);
    sink.option(wants.allow_overflow, Sink::boolean);
    sink.boolean(wants.high_io);
    sink.boolean(wants.system_job);
    sink.boolean(wants.whole_node);
    sink.long(wants.cores_min);
    sink.option(wants.cores_max, Sink::long);
    sink.boolean(wants.all_cores);
    sink.option(wants.base_cores, Sink::long);
    sink.option(wants.max_wall_time_s, Sink::long);
    sink.option(wants.max_rss_mb, Sink::long);
    sink.long(wants.user_priority);
    say_failure(sink, wants.last_failure);
    say_failure(sink, wants.failure);
    sink.boolean(wants.last_attempt);
    sink.long(wants.used_rss_mb);
}

pub(super) fn read_matched(at: &mut Cursor<'_>) -> Result<Matched, Fault> {
    Ok(Matched {
        job: text(at)?,
        job_attempt: count(at)?,
        class: symbol(at, &Class::ALL)?,
        band: symbol(at, &Band::ALL)?,
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
        relaxed: list(at, text)?,
    })
}

pub(super) fn write_matched(sink: &mut Sink<'_>, matched: &Matched) {
    sink.string(&matched.job);
    sink.count(matched.job_attempt);
    sink.index(matched.class as usize);
    sink.index(matched.band as usize);
    sink.string(&matched.node);
    sink.long(matched.cores);
    sink.long(matched.weight_milli);
    sink.long(matched.usage_milli);
    sink.long(matched.wall_time_s);
    sink.long(matched.rss_mb);
    sink.string(&matched.overflow_source);
    sink.long(matched.overflow_cost);
    sink.string(&matched.charged_group);
    sink.string(&matched.io_source);
    texts(sink, &matched.relaxed);
}

fn say_text(sink: &mut Sink<'_>, text: Option<&str>) {
    sink.option(text, Sink::string);
}

fn say_class(sink: &mut Sink<'_>, class: Option<Class>) {
    sink.option(class, |sink, class| sink.index(class as usize));
}

fn say_failure(sink: &mut Sink<'_>, failure: Option<FailureClass>) {
    sink.option(failure, |sink, failure| sink.index(failure as usize));
}
