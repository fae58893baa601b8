//! The kind of policy of ATLAS production tasks.

use super::{chain, locality, space, usable, weight};
use crate::domain::atlas::policy::filter::TASK_DRY_RUN;
use crate::policy::Param;
use crate::policy::declare::RuleBook;
use crate::policy::flavour::{Flavour, NucleusStyle, Style};
use crate::policy::typed::{params, words};
use crate::unit::MINUTE;

words! {
    /// Which nucleus is drawn when all weights are 0.
    AllZero {
        Uniform = "uniform",
        First = "first",
    }
}

params! {
    /// Parameters of the kind.
    Own {
        remote_source: bool = Param::flag("remote_source", false, true).help(
            "whether a task waits until every input has a whole copy that can be read from afar \
             (spec atlas N1)",
        ),
        wait_for_parent: bool = Param::flag("wait_for_parent", false, true)
            .help("whether a part of a full chain waits while nothing is known of its parent task"),
        all_zero: AllZero = AllZero::param("all_zero", AllZero::Uniform, AllZero::First)
            .help("which nucleus is drawn when all weights are 0"),
    }
}

/// Brokerage of ATLAS production tasks.
pub(crate) static PRODUCTION_TASK: Flavour = Flavour {
    name: "atlas-production-task",
    spec: "atlas 1, 7",
    help: "the nucleus of an ATLAS production task",
    params: Own::DECLARED,
    defer: 30 * MINUTE,
    style: Style::Nuclei(NucleusStyle {
        rules: RuleBook {
            filters: &[
                &usable::STATUS,
                &usable::BACKLOG,
                &usable::STORAGE,
                &usable::BLACKLIST,
                &space::FILTER,
                &usable::JOB,
                &locality::FILTER,
                &chain::FILTER,
            ],
            weights: &[
                &weight::WORK,
                &weight::LOCAL_INPUT,
                &weight::TAPE,
                &weight::SPACE,
                &weight::DISK,
            ],
        },
        dry_run: TASK_DRY_RUN,
    }),
};
