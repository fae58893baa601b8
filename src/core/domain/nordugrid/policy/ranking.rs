//! The keys of a target's rank (N-20 to N-24): the least is the best.

use super::declared::{TargetKey, rank_weight};
use crate::domain::nordugrid::policy::rank::RankKey;

pub(super) static NOT_FREE: TargetKey = rank_weight(
    "not_free",
    "cms-nordugrid N-20",
    "0 for a target with enough free CPUs for the job, else 1",
    |target| RankKey::whole(u64::from(!target.is_free)),
);

pub(super) static REMOTE_BYTES: TargetKey = rank_weight(
    "remote_bytes",
    "cms-nordugrid N-21",
    "bytes from far away, among targets with enough free CPUs",
    |target| RankKey::whole(if target.is_free { target.remote_bytes } else { 0 }),
);

pub(super) static LOCAL_BYTES: TargetKey = rank_weight(
    "local_bytes",
    "cms-nordugrid N-22",
    "bytes from close by, among targets with enough free CPUs",
    |target| RankKey::whole(if target.is_free { target.local_bytes } else { 0 }),
);

pub(super) static QUEUE_RATIO: TargetKey = rank_weight(
    "queue_ratio",
    "cms-nordugrid N-24",
    "queued jobs by CPUs, if no target has enough free CPUs",
    |target| match target.is_free {
        true => RankKey::whole(0),
        false => RankKey::ratio(target.queued_jobs, target.total_slots),
    },
);
