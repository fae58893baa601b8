//! Where a job may run (C-03, C-34..C-36), and whether its workflow is known (C-02).

use crate::domain::cms::policy::declare::{JobFilter, job_filter};
use crate::domain::cms::policy::facts::SiteStatus;
use crate::domain::cms::policy::look::{Look, Pending};
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const STATUS: Reason = Reason::new("site_status", "the site takes no such jobs: it is not online");
const UNKNOWN: Reason =
    Reason::new("workflow_unknown", "the record of the job's workflow was not seen yet");
const NO_SITE: Reason = Reason::new("no_known_site", "no site of the job's whitelist is known");
const OFF_LIST: Reason =
    Reason::new("whitelist", "the site is not on the job's whitelist, and it may not overflow");

pub(super) const SITE_STATUS: JobFilter = job_filter!(
    "site_status",
    "cms-nordugrid C-36",
    "a site in drain or offline takes no jobs, a site in test those of site tests alone",
    &STATUS,
    site_status,
);

fn site_status(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let takes = look.terms.is_some_and(|terms| match terms.status {
        SiteStatus::Online => true,
        SiteStatus::Test => pending.workflow.is_some_and(|workflow| workflow.facts().site_test),
        SiteStatus::Drain | SiteStatus::Offline => false,
    });
    if takes { Verdict::Pass } else { object(&STATUS, 0.0, 1.0) }
}

pub(super) const WORKFLOW_UNKNOWN: JobFilter = job_filter!(
    "workflow_unknown",
    "cms-nordugrid C-02",
    "a job waits for the record of its workflow",
    &UNKNOWN,
    workflow_unknown,
);

fn workflow_unknown(_: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    match pending.workflow {
        Some(_) => Verdict::Pass,
        None => object(&UNKNOWN, 0.0, 1.0),
    }
}

pub(super) const NO_KNOWN_SITE: JobFilter = job_filter!(
    "no_known_site",
    "cms-nordugrid C-03",
    "a whitelist of unknown sites alone fits nowhere yet",
    &NO_SITE,
    no_known_site,
);

fn no_known_site(look: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    let is_known = |site| look.spare(site).is_some();
    match pending.is_local || pending.cluster.lists_any(is_known) {
        true => Verdict::Pass,
        false => object(&NO_SITE, 0.0, 1.0),
    }
}

pub(super) const WHITELIST: JobFilter = job_filter!(
    "whitelist",
    "cms-nordugrid C-34, C-06",
    "a job with a whitelist runs at these sites, unless it may overflow",
    &OFF_LIST,
    whitelist,
);

fn whitelist(_: &Look<'_>, pending: &Pending<'_>) -> Verdict {
    match pending.is_local || pending.flags_overflow() {
        true => Verdict::Pass,
        false => object(&OFF_LIST, 0.0, 1.0),
    }
}
