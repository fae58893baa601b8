//! Overflow: running where the input is not, reading it from afar (C-37..C-43, C-45).

use crate::domain::cms::policy::admission::max_overflow_sites;
use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::look::{Look, Pending};
use crate::policy::verdict::{object, object_until};
use crate::policy::{Reason, Verdict};

const IS_OFF: Reason =
    Reason::new("overflow_off", "system and HighIO jobs do not overflow, whatever their flag");
const NO_SLOTS: Reason = Reason::new(
    "overflow_limit",
    "the hosts of the job's input have {measured} overflow slots left, it takes {limit}",
);
const TOO_MANY: Reason = Reason::new(
    "overflow_max_sites",
    "the workflow overflows to {measured} sites, {limit} at most, and this is none of them",
);
const TOO_EARLY: Reason = Reason::new(
    "overflow_idle",
    "the job waited {measured:s}, a job that overflows waits {limit:s} first",
);
const FAILED: Reason = Reason::new(
    "overflow_failed_before",
    "the last attempt of the job failed on opening remote data",
);

pub(super) const OFF: JobFilter = job_filter!(
    "overflow_off",
    "cms-nordugrid C-06, C-45",
    "system jobs and HighIO jobs do not overflow unless the parameters allow it",
    &IS_OFF,
    off,
);

fn off(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let (signature, settings) = (&pending.cluster.signature, look.pool.settings());
    let is_off = signature.system_job && !settings.system_overflow
        || signature.high_io && !settings.high_io_overflow;
    if !pending.is_local && is_off { object(&IS_OFF, 0.0, 1.0) } else { Verdict::Pass }
}

pub(super) const LIMIT: JobFilter = job_filter!(
    "overflow_limit",
    "cms-nordugrid C-38, C-39, C-43",
    "the hosts of the input have overflow slots left in sum, and the one that is booked has",
    &NO_SLOTS,
    limit,
);

fn limit(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    if pending.is_local {
        return Verdict::Pass;
    }
    let Some(source) = pending.source(look) else { return object(&NO_SLOTS, 0.0, 1.0) };
    let left = source.spare.min(source.spare_of_all);
    match left >= source.cost {
        true => Verdict::Pass,
        false => object(&NO_SLOTS, left as f64, source.cost as f64),
    }
}

pub(super) const MAX_SITES: JobFilter = job_filter!(
    "overflow_max_sites",
    "cms-nordugrid C-40",
    "a workflow overflows to the sites of its list, else to so many sites at most",
    &TOO_MANY,
    max_sites,
);

fn max_sites(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let (Some(entry), false) = (pending.entry, pending.is_local) else { return Verdict::Pass };
    if let Some(list) = &entry.overflow_list {
        return match list.contains(&look.site) {
            true => Verdict::Pass,
            false => object(&TOO_MANY, list.len() as f64, list.len() as f64),
        };
    }
    let settings = look.pool.settings();
    let most = pending.workflow.and_then(|workflow| max_overflow_sites(workflow.facts(), settings));
    let Some(most) = most else { return Verdict::Pass };
    let live = &look.pool.counters().workflow(pending.workflow_name).overflow_sites;
    let used = &entry.overflow_used;
    if used.contains(&look.site) || live.contains_key(&look.site) {
        return Verdict::Pass;
    }
    let count = used.len() + live.keys().filter(|site| !used.contains(site)).count();
    match (count as i64) < most {
        true => Verdict::Pass,
        false => object(&TOO_MANY, count as f64, most as f64),
    }
}

pub(super) const IDLE: JobFilter = job_filter!(
    "overflow_idle",
    "cms-nordugrid C-41",
    "a job overflows only after it has waited",
    &TOO_EARLY,
    idle,
);

fn idle(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let waited = look.now_s.saturating_sub(pending.queued_at_s);
    let wait = look.pool.settings().overflow_idle_s;
    if pending.is_local || wait == 0 || waited >= wait {
        return Verdict::Pass;
    }
    let recheck_at = pending.queued_at_s.saturating_add(wait).saturating_mul(1000);
    object_until(&TOO_EARLY, waited as f64, wait as f64, Some(recheck_at))
}

pub(super) const FAILED_BEFORE: JobFilter = job_filter!(
    "overflow_failed_before",
    "cms-nordugrid C-42",
    "a job that failed on opening remote data does not overflow again",
    &FAILED,
    failed_before,
);

fn failed_before(_: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    match !pending.is_local && pending.cluster.signature.remote_open_failed {
        true => object(&FAILED, 1.0, 0.0),
        false => Verdict::Pass,
    }
}
