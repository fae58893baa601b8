//! ATLAS production tasks: which nucleus a task's output is gathered at (spec atlas 1, 7).
//!
//! Here nuclei are judged, not queues. Filters and weights are declared as those of queues are, so
//! that topology files, explanations and metrics show them alike; a filter sees all nuclei that are
//! left, since its verdict on one may depend on the others.

mod case;
mod chain;
mod choice;
mod declare;
mod input;
mod kind;
mod locality;
mod space;
mod token;
mod usable;
mod weight;

#[cfg(test)]
mod tests;

pub use case::{Course, NucleusCandidate, NucleusRow, NucleusRows, Parent, TaskCase};
pub use choice::{NucleusChoice, Passed};
pub use declare::Nuclei;
pub use input::{InputAtNucleus, Total, groups, is_whole, total};
pub(crate) use kind::PRODUCTION_TASK;
pub use token::{endpoint, is_distributed};
