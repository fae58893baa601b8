//! How many HighIO jobs a storage serves (C-44, C-46).

use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::look::{Look, Pending};
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const FULL: Reason =
    Reason::new("highio_limit", "the storage serves {measured} HighIO jobs, {limit} at most");

pub(super) const LIMIT: JobFilter = job_filter!(
    "highio_limit",
    "cms-nordugrid C-44, C-45, C-46",
    "the storage of the run site, or of the host where a job overflows, serves one more HighIO job",
    &FULL,
    limit,
);

fn limit(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    if !pending.cluster.signature.high_io {
        return Verdict::Pass;
    }
    let storage = pending.source(look).map_or(look.site, |source| source.site);
    let served = look.pool.counters().site(storage).high_io;
    let most = look.pool.site(storage).map_or(0, |terms| terms.high_io_slots);
    if served < most { Verdict::Pass } else { object(&FULL, served as f64, most as f64) }
}
