//! Central jobs fill T1 first (C-17).

use crate::domain::cms::policy::autocluster::Autocluster;
use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::facts::{Band, Class, Seconds, SiteStatus, Tier};
use crate::domain::cms::policy::look::{Look, Pending};
use crate::domain::cms::policy::pool::Pool;
use crate::policy::verdict::object_until;
use crate::policy::{Reason, Verdict};
use crate::unit::SECOND;

const T1_FIRST: Reason = Reason::new(
    "t1_first",
    "the job may run at a T1, which it waits for {limit:s}; it has waited {measured:s}",
);

pub(super) const FIRST: JobFilter = job_filter!(
    "t1_first",
    "cms-nordugrid C-17",
    "a central job that may run at a T1 which was offered from lately takes slots elsewhere only after \
     it has waited",
    &T1_FIRST,
    first,
);

fn first(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let wait_s = look.pool.settings().t1_first_s;
    let waited_s = look.now_s.saturating_sub(pending.queued_at_s);
    if waited_s >= wait_s || !waits_for_t1(look, pending) {
        return Verdict::Pass;
    }
    let recheck_at = pending.queued_at_s.saturating_add(wait_s).saturating_mul(SECOND);
    object_until(&T1_FIRST, waited_s as f64, wait_s as f64, Some(recheck_at))
}

/// Whether jobs wait for a T1 before they take slots of an offer elsewhere.
pub fn waits_for_t1(look: &Look<'_>, pending: &Pending<'_>) -> bool {
    let is_elsewhere = look.terms.is_some_and(|terms| terms.tier != Tier::T1);
    let is_central = pending.class() == Class::Central && pending.band(look) == Band::Normal;
    is_elsewhere && is_central && may_run_at_t1(look.pool, pending.cluster, look.now_s)
}

/// Whether jobs may run, without overflow, at a T1 that takes central jobs and was offered from
/// lately.
pub fn may_run_at_t1(pool: &Pool, cluster: &Autocluster, now_s: Seconds) -> bool {
    let wait_s = pool.settings().t1_first_s;
    pool.t1s().iter().any(|(site, offered_s)| {
        now_s.saturating_sub(*offered_s) < wait_s
            && cluster.is_local_to(*site)
            && pool.site(*site).is_some_and(|terms| {
                let takes = terms.quota.central > 0 || terms.accept_surplus.central;
                terms.status == SiteStatus::Online && takes
            })
    })
}
