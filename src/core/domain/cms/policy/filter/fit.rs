//! Whether a job fits what is left of an offer (C-52..C-54, C-56, F-6).

use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::label;
use crate::domain::cms::policy::look::{Look, Pending};
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const TOO_FEW: Reason =
    Reason::new("cores", "the offer has {measured} cores left, the job takes {limit} at least");
const TOO_SHORT: Reason =
    Reason::new("wall", "the offer lasts {measured:s}, the job takes {limit:s}");
const TOO_SMALL: Reason =
    Reason::new("mem", "the offer has {measured} MB left, the job takes {limit} MB");
const DRAINING: Reason = Reason::new(
    "draining_node",
    "the node is drained: jobs end within {measured:s}, this one takes {limit:s}",
);

const NO_RESOURCE: Reason = Reason::new(
    "resources",
    "the offer has {measured} left of a named resource, the job takes {limit}",
);
const NO_LABEL: Reason = Reason::new("labels", "the offer has not a label that the job needs");
const GIVEN_BACK: Reason =
    Reason::new("not_again", "the job was matched to this offer and did not start there");

pub(super) const CORES: JobFilter = job_filter!(
    "cores",
    "cms-nordugrid C-52, C-53, C-54",
    "the offer has the fewest cores that the job uses; a whole node must be free",
    &TOO_FEW,
    cores,
);

fn cores(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let (signature, left) = (&pending.cluster.signature, look.offer.cores_left());
    let total = look.offer.offer.cores_total;
    let least = match signature.whole_node {
        true => signature.cores_min.max(total),
        false => signature.cores_min,
    };
    if left >= least { Verdict::Pass } else { object(&TOO_FEW, left as f64, least as f64) }
}

pub(super) const WALL: JobFilter = job_filter!(
    "wall",
    "cms-nordugrid C-22, F-6",
    "the job ends before the offer does, with the cores it would get",
    &TOO_SHORT,
    wall,
);

fn wall(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let (left, wanted) = (look.wall_left_s, pending.allocation(look).wall_s);
    if wanted <= left { Verdict::Pass } else { object(&TOO_SHORT, left as f64, wanted as f64) }
}

pub(super) const MEM: JobFilter = job_filter!(
    "mem",
    "cms-nordugrid C-22, F-6",
    "the offer has the memory left that the job takes, with the cores it would get",
    &TOO_SMALL,
    mem,
);

fn mem(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let (left, wanted) = (look.offer.mem_left_mb(), pending.allocation(look).rss_mb);
    if wanted <= left { Verdict::Pass } else { object(&TOO_SMALL, left as f64, wanted as f64) }
}

pub(super) const RESOURCES: JobFilter = job_filter!(
    "resources",
    "cms-nordugrid A.2, C-22",
    "the offer has left of each named resource what the job takes; of one that it does not name it \
     has none",
    &NO_RESOURCE,
    resources,
);

fn resources(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    match label::scarce(look, pending) {
        None => Verdict::Pass,
        Some((wanted, left)) => object(&NO_RESOURCE, left as f64, wanted.amount as f64),
    }
}

pub(super) const LABELS: JobFilter = job_filter!(
    "labels",
    "cms-nordugrid A.2, C-22",
    "the offer has each label that the job needs, with one of its values, or a version as new",
    &NO_LABEL,
    labels,
);

fn labels(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    match label::missing(look, pending) {
        None => Verdict::Pass,
        Some(_) => object(&NO_LABEL, 0.0, 1.0),
    }
}

pub(super) const NOT_AGAIN: JobFilter = job_filter!(
    "not_again",
    "cms-nordugrid C-58",
    "a job whose match was not carried out does not get the same announcement again",
    &GIVEN_BACK,
    not_again,
);

fn not_again(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let barred = &pending.cluster.signature.barred;
    let offer = &look.offer.offer;
    let is_this = |it: &(String, u32)| it.1 == offer.attempt && it.0 == offer.offer;
    if barred.iter().any(is_this) { object(&GIVEN_BACK, 0.0, 1.0) } else { Verdict::Pass }
}

pub(super) const DRAINING_NODE: JobFilter = job_filter!(
    "draining_node",
    "cms-nordugrid C-56",
    "on a node that is drained, jobs must end before it is expected to be ready",
    &DRAINING,
    draining_node,
);

fn draining_node(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let Some(drain) = look.drain.filter(|_| !pending.is_drained_for) else { return Verdict::Pass };
    let margin_s = look.pool.settings().backfill_margin_s;
    let left = drain.until_s.saturating_sub(margin_s).saturating_sub(look.now_s);
    let wanted = pending.allocation(look).wall_s;
    if wanted <= left { Verdict::Pass } else { object(&DRAINING, left as f64, wanted as f64) }
}
