//! The keys that rank jobs before an offer, in the order of comparison, smaller first (C-11..C-23).
//! A key that does not apply to a job is absent; jobs that differ in this differ in a key before.

use super::declare::{JobRankKey, job_key};
use super::facts::{Band, Class, seconds};
use super::key::RankKeyValue;
use super::look::{Bid, Look};

/// All of them, in order.
pub const KEYS: &[&JobRankKey] = &[
    &BAND,
    &INJECTED_AT,
    &CLASS_ORDER,
    &GROUP_ORDER,
    &MINUS_LEVEL,
    &FAIR_SHARE,
    &USER,
    &MINUS_USER_PRIORITY,
    &MINUS_PRIORITY,
    &OVERFLOW,
    &BUCKET,
    &WALL_GAP,
    &MEM_GAP,
    &QUEUED_AT,
    &WORKFLOW,
    &SEQ,
];

fn number(value: i64) -> Option<RankKeyValue<'static>> {
    Some(RankKeyValue::Number(value))
}

fn is_normal(look: &Look<'_>, bid: &Bid<'_>) -> bool {
    bid.pending.band(look) == Band::Normal
}

/// Whether the keys of analysis rank a job (C-18), else those of central jobs (C-13).
fn is_shared(look: &Look<'_>, bid: &Bid<'_>) -> bool {
    is_normal(look, bid) && bid.pending.class() == Class::Analysis
}

const BAND: JobRankKey = job_key!(
    "band",
    "cms-nordugrid C-11",
    "system jobs, then test jobs, then all others",
    |look, bid| { number(bid.pending.band(look).number()) },
);

const INJECTED_AT: JobRankKey = job_key!(
    "injected_at_s",
    "cms-nordugrid C-48",
    "test jobs: of the workflow that was injected first",
    |look, bid| {
        let injected =
            bid.pending.workflow.map_or(0, |workflow| seconds(workflow.record.injected_at));
        (bid.pending.band(look) == Band::Test).then_some(RankKeyValue::Number(injected))
    },
);

const CLASS_ORDER: JobRankKey = job_key!(
    "class_order",
    "cms-nordugrid C-27, C-28",
    "the class that has the lower ratio of use to quota, then the other",
    |look, bid| {
        let is_other = bid.pending.class() != look.comparison.preferred;
        is_normal(look, bid).then_some(RankKeyValue::Number(i64::from(is_other)))
    },
);

const GROUP_ORDER: JobRankKey = job_key!(
    "group_order",
    "cms-nordugrid C-13, C-18",
    "the working group that comes first in the parameter of this name",
    |look, bid| {
        let order = &look.pool.settings().group_order;
        if order.is_empty() || !is_normal(look, bid) {
            return None;
        }
        let group = bid.pending.entry.and_then(|entry| entry.group);
        let group = group.map_or("", |group| look.pool.text(group));
        let place = order.iter().position(|it| it == group).unwrap_or(order.len());
        number(i64::try_from(place).unwrap_or(i64::MAX))
    },
);

const MINUS_LEVEL: JobRankKey = job_key!(
    "minus_level",
    "cms-nordugrid C-18, C-19",
    "analysis: the highest level",
    |look, bid| {
        is_shared(look, bid).then_some(RankKeyValue::Number(bid.level.saturating_neg()))
    },
);

const FAIR_SHARE: JobRankKey = job_key!(
    "fair_share_milli",
    "cms-nordugrid C-18, C-20",
    "analysis: the user with the least decayed usage and weight held",
    |look, bid| is_shared(look, bid).then_some(RankKeyValue::Share(bid.share, look.growth)),
);

const USER: JobRankKey =
    job_key!("user", "cms-nordugrid C-18", "analysis: the user's name", |look, bid| is_shared(
        look, bid
    )
    .then(|| RankKeyValue::Text(look.pool.text(bid.pending.user()))),);

const MINUS_USER_PRIORITY: JobRankKey = job_key!(
    "minus_user_priority",
    "cms-nordugrid C-21",
    "analysis: the highest priority among the user's own jobs",
    |look, bid| {
        let priority = bid.pending.cluster.signature.user_priority;
        is_shared(look, bid).then_some(RankKeyValue::Number(priority.saturating_neg()))
    },
);

const MINUS_PRIORITY: JobRankKey = job_key!(
    "minus_priority",
    "cms-nordugrid C-13, C-14, C-16",
    "central: the highest effective priority of the workflow",
    |look, bid| (is_normal(look, bid) && !is_shared(look, bid))
        .then_some(RankKeyValue::Number(bid.priority.saturating_neg())),
);

const OVERFLOW: JobRankKey = job_key!(
    "overflow",
    "cms-nordugrid C-13, C-21, C-41",
    "jobs that run where their input is, then those that overflow",
    |look, bid| is_normal(look, bid)
        .then_some(RankKeyValue::Number(i64::from(!bid.pending.is_local))),
);

/// Whether closeness counts: not where first come is first served (C-23).
fn counts_closeness(look: &Look<'_>, bid: &Bid<'_>) -> bool {
    is_normal(look, bid) && look.pool.settings().fifo_bucket_s > 0
}

const BUCKET: JobRankKey = job_key!(
    "bucket",
    "cms-nordugrid C-23",
    "the earlier span of time in which it was queued",
    |look, bid| {
        let bucket = look.pool.settings().fifo_bucket_s.max(1);
        let number = bid.place.queued_at_s.div_euclid(bucket);
        counts_closeness(look, bid).then_some(RankKeyValue::Number(number))
    },
);

const WALL_GAP: JobRankKey =
    job_key!("wall_gap_s", "cms-nordugrid C-22", "the least time left over", |look, bid| {
        let gap = look.wall_left_s.saturating_sub(bid.pending.allocation(look).wall_s);
        counts_closeness(look, bid).then_some(RankKeyValue::Number(gap))
    },);

const MEM_GAP: JobRankKey =
    job_key!("mem_gap_mb", "cms-nordugrid C-22", "the least memory left over", |look, bid| {
        let gap = look.offer.mem_left_mb().saturating_sub(bid.pending.allocation(look).rss_mb);
        counts_closeness(look, bid).then_some(RankKeyValue::Number(gap))
    },);

const QUEUED_AT: JobRankKey = job_key!(
    "queued_at_s",
    "cms-nordugrid C-12, C-23, C-61",
    "the job that was queued first",
    |look, bid| (bid.pending.band(look) != Band::Test)
        .then_some(RankKeyValue::Number(bid.place.queued_at_s)),
);

const WORKFLOW: JobRankKey = job_key!(
    "workflow",
    "cms-nordugrid C-12, C-23, C-48",
    "the workflow's name",
    |look, bid| Some(RankKeyValue::Text(look.pool.text(bid.pending.workflow_name))),
);

const SEQ: JobRankKey = job_key!(
    "seq",
    "cms-nordugrid C-12, C-23, C-48",
    "the place in the workflow",
    |_, bid| number(bid.place.seq),
);
