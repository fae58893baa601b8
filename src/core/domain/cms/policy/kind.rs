//! The kind as a topology file names it.

use super::filter::FILTERS;
use super::rank::KEYS;
use super::settings::PARAMS;
use crate::policy::declare::RuleBook;
use crate::policy::flavour::{Flavour, Style};
use crate::unit::MINUTE;

/// Slot offers, and the pending jobs of the CMS global queue.
pub static CMS: Flavour = Flavour {
    name: "cms",
    spec: "cms Part A",
    help: "slots that pilots offer go to system jobs, test jobs, then by quota: central jobs by \
           priority, analysis by level and fair share",
    params: PARAMS,
    defer: 15 * MINUTE,
    style: Style::Jobs(RuleBook { filters: FILTERS, weights: KEYS }),
};
