//! Which commands are given at a cut: rules that are due, bounded by the governor (spec atlas 5 and
//! 6; cms-nordugrid C-16, C-49, C-50, C-55). Levels, not edges: what is published depends on the
//! state at the cut alone.

mod budget;
pub(crate) mod circles;
mod due;
mod evaluation;
pub(crate) mod facts;
mod found;
pub(crate) mod hold;
pub mod job;
pub(crate) mod make;
pub(crate) mod making;
pub(crate) mod open;
mod report;
pub mod timeout;

pub use budget::commanded_by_rule;
pub(crate) use evaluation::CommandEvaluation;
pub use facts::Surroundings;
pub use hold::{Hold, is_kill_switch_on};
