//! Which commands are given at a cut: rules that are due, bounded by the governor (spec atlas 5 and
//! 6). Levels, not edges: what is published depends on the state at the cut alone.

mod budget;
mod due;
mod evaluation;
mod facts;
mod found;
mod hold;
pub mod job;
mod make;
mod making;
mod open;
mod rebroker;
mod report;
pub mod timeout;

pub use budget::commanded_by_rule;
pub(crate) use evaluation::CommandEvaluation;
pub use facts::Surroundings;
pub use hold::{Hold, is_kill_switch_on, kill_switch};
