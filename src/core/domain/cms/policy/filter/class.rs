//! Whether the site takes jobs of the class (C-28, C-48; A.13 6).

use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::facts::Band;
use crate::domain::cms::policy::look::{Look, Pending};
use crate::domain::cms::policy::pools::{Charge, charge};
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const NOT_AT_ALL: Reason = Reason::new(
    "class_not_admitted",
    "the site has no quota for the job's class, and takes no surplus of it",
);
const TOO_MUCH: Reason = Reason::new(
    "class_over_quota",
    "with the job, its class would use {measured:milli} of the {limit:milli} cores by power that \
     it may use at the site",
);

pub(super) const NOT_ADMITTED: JobFilter = job_filter!(
    "class_not_admitted",
    "cms-nordugrid C-28, C-48",
    "a class without quota runs only where its surplus is accepted; system jobs always do",
    &NOT_AT_ALL,
    not_admitted,
);

fn not_admitted(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let class = pending.class();
    let takes = look.terms.is_some_and(|terms| terms.accept_surplus.of(class));
    let is_admitted = look.comparison.quota.of(class) > 0 || takes;
    match pending.band(look) == Band::System || is_admitted {
        true => Verdict::Pass,
        false => object(&NOT_AT_ALL, 0.0, 1.0),
    }
}

pub(super) const OVER_QUOTA: JobFilter = job_filter!(
    "class_over_quota",
    "cms-nordugrid C-28, A.13 6",
    "a class at its quota goes on only where its surplus is accepted, and never onto blocks that \
     are for the other class alone",
    &TOO_MUCH,
    over_quota,
);

fn over_quota(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let class = pending.class();
    let Some(terms) = look.terms else { return Verdict::Pass };
    let (used, quota) = (look.counters.used.of(class), look.comparison.quota.of(class));
    let is_over = quota > 0 && used >= quota && !terms.accept_surplus.of(class);
    let weight = pending.weight_milli(look);
    if pending.band(look) == Band::Normal && is_over {
        return object(&TOO_MUCH, used.saturating_add(weight) as f64, quota as f64);
    }
    let Some(ceiling) = terms.ceiling.of(class) else { return Verdict::Pass };
    let outside = used.saturating_sub(look.counters.pooled.of(class));
    let outside = outside.saturating_add(weight);
    match outside <= ceiling || matches!(charge(look, pending), Charge::Pool(..)) {
        true => Verdict::Pass,
        false => object(&TOO_MUCH, outside as f64, ceiling as f64),
    }
}
