//! Keeps full chains at nuclei for full chains, and other work off those for full chains alone.

use super::place::each;
use super::{Course, NucleusRow, Parent, TaskCase, object};
use crate::core::event::FullChain;
use crate::core::policy::{Args, Bare, Filter, Judge, Param, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "full_chain",
    spec: "atlas N9, 7, DIFF-34, DIFF-35",
    help: "a full chain goes to a nucleus that takes full chains, and stays where its parent is; \
           other work goes to no nucleus for full chains alone",
    reasons: &[
        ("full_chain", "the nucleus does not take this part of a full chain"),
        ("not_full_chain", "the nucleus is for full chains alone"),
        ("parent", "the task it was made of is at another nucleus for full chains"),
    ],
    params: &[Param::word("only", &["only", "any"], "only", "any").help(
        "which nuclei take a task with fullChain=only: those for full chains alone, or all that \
         take full chains (DIFF-34)",
    )],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(judge),
};

fn judge(case: &TaskCase<'_>, rows: &mut [NucleusRow<'_>], _: &mut Course, args: &Args) {
    let chain = case.task.options.full_chain;
    each(rows, |nucleus| {
        let takes = match chain {
            FullChain::No => nucleus.bare != Bare::Only,
            FullChain::Capable => true,
            FullChain::Require => nucleus.bare != Bare::No,
            FullChain::Only if args.word(0) == 0 => nucleus.bare == Bare::Only,
            FullChain::Only => nucleus.bare != Bare::No,
        };
        if !takes {
            let reason = if chain == FullChain::No { "not_full_chain" } else { "full_chain" };
            return object(reason, 0.0, 1.0);
        }
        match case.parent {
            Parent::At(name) if chain != FullChain::No && name != nucleus.name => {
                object("parent", 0.0, 1.0)
            }
            _ => Verdict::Pass,
        }
    });
}
