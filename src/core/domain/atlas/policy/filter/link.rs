//! Sends nothing over a link to the nucleus that is blocked or full.

use super::bound::Boundary;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::BLOCKED;
use crate::policy::typed::params;
use crate::policy::verdict::{object, object_until};
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

const LINK_UNUSABLE: Reason =
    Reason::new("link_unusable", "the link to the nucleus is blocked, not usable");

params! {
    /// Whether the nucleus itself decides before its links.
    NucleusFirst {
        nucleus_cap: f64 = Param::int("NQUEUED_NUC_CAP_FOR_JOBS", 10_000, 10_000)
            .unit(Unit::Files)
            .gdp("jobbroker/NQUEUED_NUC_CAP_FOR_JOBS")
            .help("files queued to the nucleus at which it is full"),
        nucleus_first: bool = Param::flag("nucleus_first", false, true).help(
            "whether nothing is asked of a link to a nucleus that is full or cannot be written from \
             afar: one chain of conditions, of which the first that holds gives the reason",
        ),
    }
}

impl NucleusFirst {
    /// Whether the nucleus is closed, which is the reason in place of what is wrong with a link.
    fn hides_links(&self, case: &Case<'_>) -> bool {
        let is_full = case.queued_to_nucleus as f64 >= self.nucleus_cap;
        self.nucleus_first && (!case.nucleus.write_wan || is_full)
    }
}

pub(super) const BLOCKED_LINK: QueueFilter = queue_filter!(NucleusFirst {
    name: "link_blocked",
    spec: "atlas F3 rules 1, 4, 5",
    help: "the link from the queue's storage site to the nucleus is not blocked; a queue at the \
           nucleus needs none, and an unknown link is let through",
    reasons: &[&LINK_UNUSABLE],
    // A closed nucleus only changes which filter objects: it is blocked by that one then.
    reads: &[Reads::Link],
    temporary: false,
    applies: When(blocked_applies),
    judge: Before(blocked),
});

params! {
    /// Parameters of `link`.
    Link {
        cap: f64 = Param::int("NQUEUED_SAT_CAP", 150, 150)
            .unit(Unit::Files)
            .gdp("jobbroker/NQUEUED_SAT_CAP")
            .help("files queued on one link"),
        boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
            .help("objects above the limit, or at it already (DIFF-11)"),
        destination: bool = Param::flag("destination", false, true).help(
            "whether the nucleus's default output endpoint must be open to writing from afar",
        ),
        first: NucleusFirst,
    }
}

const DEST_BLACKLISTED: Reason =
    Reason::new("dest_blacklisted", "the nucleus cannot be written from afar");
const LINK_FULL: Reason = Reason::new(
    "link_full",
    "{measured} files are queued on the link to the nucleus; limit {limit}",
);

pub(super) const FILTER: QueueFilter = queue_filter!(Link {
    name: "link",
    spec: "atlas F3 rules 1, 2, 4, 6, DIFF-11",
    help: "the link from the queue's storage site to the nucleus is not too full; \
           a queue at the nucleus needs none, and an unknown link is let through",
    reasons: &[&DEST_BLACKLISTED, &LINK_FULL],
    reads: &[Reads::Link, Reads::Storage],
    temporary: true,
    applies: When(applies),
    judge: Before(judge),
});

fn blocked_applies(case: &Case<'_>, params: &NucleusFirst) -> bool {
    !case.task.nucleus.is_empty() && case.has_blocked_links && !params.hides_links(case)
}

fn blocked(_: &Case<'_>, candidate: &Candidate<'_>, _: &NucleusFirst) -> Verdict {
    let link = &candidate.link;
    let needs_one = !candidate.at_nucleus && link.source_known;
    if needs_one && link.closeness == Some(BLOCKED) {
        return object(&LINK_UNUSABLE, f64::from(BLOCKED), 0.0);
    }
    Verdict::Pass
}

fn applies(case: &Case<'_>, _: &Link) -> bool {
    !case.task.nucleus.is_empty()
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Link) -> Verdict {
    let link = &candidate.link;
    if candidate.at_nucleus {
        return Verdict::Pass;
    }
    if params.destination && !case.nucleus.write_wan {
        return object(&DEST_BLACKLISTED, 0.0, 1.0);
    }
    if !link.source_known || params.first.hides_links(case) {
        return Verdict::Pass;
    }
    let queued = link.queued_files.unwrap_or(0) as f64;
    if params.boundary.is_beyond(queued, params.cap) {
        return object_until(&LINK_FULL, queued, params.cap, link.until);
    }
    Verdict::Pass
}
