//! Keeps full chains at nuclei for full chains, and other work off those for full chains alone.

use super::declare::{NucleusFilter, nucleus_filter};
use super::usable::each;
use super::{NucleusRows, Parent, TaskCase};
use crate::domain::atlas::policy::Bare;
use crate::event::FullChain;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

words! {
    /// Which nuclei take a task that is a full chain alone.
    Takes {
        Only = "only",
        Any = "any",
    }
}

params! {
    /// Parameters of `full_chain` for tasks.
    Chain {
        only: Takes = Takes::param("only", Takes::Only, Takes::Any).help(
            "which nuclei take a task with fullChain=only: those for full chains alone, or all that \
             take full chains (DIFF-34)",
        ),
    }
}

const FULL_CHAIN: Reason =
    Reason::new("full_chain", "the nucleus does not take this part of a full chain");
const NOT_FULL_CHAIN: Reason =
    Reason::new("not_full_chain", "the nucleus is for full chains alone");
const PARENT: Reason =
    Reason::new("parent", "the task it was made of is at another nucleus for full chains");

pub(super) const FILTER: NucleusFilter = nucleus_filter!(Chain {
    name: "full_chain",
    spec: "atlas N9, 7, DIFF-34, DIFF-35",
    help: "a full chain goes to a nucleus that takes full chains, and stays where its parent is; \
           other work goes to no nucleus for full chains alone",
    reasons: &[&FULL_CHAIN, &NOT_FULL_CHAIN, &PARENT],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Whole(judge),
});

fn judge(case: &TaskCase<'_>, rows: &mut NucleusRows<'_>, params: &Chain) {
    let chain = case.task.options.full_chain;
    each(rows, |nucleus| {
        let takes = match chain {
            FullChain::No => nucleus.bare != Bare::Only,
            FullChain::Capable => true,
            FullChain::Require => nucleus.bare != Bare::No,
            FullChain::Only if params.only == Takes::Only => nucleus.bare == Bare::Only,
            FullChain::Only => nucleus.bare != Bare::No,
        };
        if !takes {
            let reason = if chain == FullChain::No { &NOT_FULL_CHAIN } else { &FULL_CHAIN };
            return object(reason, 0.0, 1.0);
        }
        match case.parent {
            Parent::At(name) if chain != FullChain::No && name != nucleus.name => {
                object(&PARENT, 0.0, 1.0)
            }
            _ => Verdict::Pass,
        }
    });
}
