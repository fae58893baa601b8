//! Resources for one group alone, and what is left for all others (C-30).

use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::look::{Look, Pending};
use crate::domain::cms::policy::pools::{Charge, charge};
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const NO_ROOM: Reason = Reason::new(
    "restricted_pool",
    "the offer is for another group, or neither a pool of the user's groups nor what all \
     share has room for the job: {measured:milli} of {limit:milli} cores by power of that are \
     used",
);

pub(super) const POOL: JobFilter = job_filter!(
    "restricted_pool",
    "cms-nordugrid C-30",
    "a job is charged to its group's pool while that has room, else to what all share",
    &NO_ROOM,
    pool,
);

fn pool(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    match charge(look, pending) {
        Charge::Free | Charge::Pool(..) | Charge::Shared => Verdict::Pass,
        Charge::NoRoom => {
            let shared = look.terms.map_or(0, |terms| terms.shared_milli);
            object(&NO_ROOM, look.shared_used as f64, shared as f64)
        }
    }
}
