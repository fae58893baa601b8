//! Sends nothing over a link to the nucleus that is blocked or full.

use super::{BOUNDARY, beyond, object_until};
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};

pub(super) const BLOCKED_LINK: Filter = Filter {
    name: "link_blocked",
    spec: "atlas F3 rules 1, 4, 5",
    help: "the link from the queue's storage site to the nucleus is not blocked; a queue at the \
           nucleus needs none, and an unknown link is let through",
    reasons: &[("link_unusable", "the link to the nucleus is blocked (closeness {measured})")],
    params: &[],
    reads: &[Reads::Link],
    temporary: false,
    applies: Some(|case, _| !case.task.nucleus.is_empty()),
    judge: Judge::Before(blocked),
};

pub(super) const FILTER: Filter = Filter {
    name: "link",
    spec: "atlas F3 rules 1, 2, 4, 6, DIFF-11",
    help: "the link from the queue's storage site to the nucleus is not too full; \
           a queue at the nucleus needs none, and an unknown link is let through",
    reasons: &[
        ("dest_blacklisted", "the nucleus cannot be written from afar"),
        ("link_full", "{measured} files are queued on the link to the nucleus; limit {limit}"),
    ],
    params: &[
        Param::int("NQUEUED_SAT_CAP", 150, 150)
            .gdp("jobbroker/NQUEUED_SAT_CAP")
            .help("files queued on one link; files"),
        Param::word("boundary", BOUNDARY, "above", "at_least")
            .help("objects above the limit, or at it already (DIFF-11)"),
        Param::flag("destination", false, true).help(
            "whether the nucleus's default output endpoint must be open to writing from afar",
        ),
    ],
    reads: &[Reads::Link, Reads::Storage],
    temporary: true,
    applies: Some(|case, _| !case.task.nucleus.is_empty()),
    judge: Judge::Before(judge),
};

const CAP: usize = 0;
const AT: usize = 1;
const DESTINATION: usize = 2;

/// Closeness that says a link must not be used.
const BLOCKED: i32 = -1;

fn blocked(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    let link = &candidate.link;
    let needs_one = !case.task.nucleus.is_empty() && !candidate.at_nucleus && link.source_known;
    if needs_one && link.closeness == Some(BLOCKED) {
        return object_until("link_unusable", f64::from(BLOCKED), 0.0, link.until);
    }
    Verdict::Pass
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let link = &candidate.link;
    if case.task.nucleus.is_empty() || candidate.at_nucleus {
        return Verdict::Pass;
    }
    if args.flag(DESTINATION) && !case.nucleus.write_wan {
        return object_until("dest_blacklisted", 0.0, 1.0, None);
    }
    if !link.source_known {
        return Verdict::Pass;
    }
    let (queued, cap) = (link.queued_files.unwrap_or(0) as f64, args.number(CAP));
    if beyond(queued, cap, args.word(AT)) {
        return object_until("link_full", queued, cap, link.until);
    }
    Verdict::Pass
}
