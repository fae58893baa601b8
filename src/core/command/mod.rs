//! Commands: which rules there are, when each is due, and the governor that bounds them (spec atlas
//! 5 and 6; cms-nordugrid C-16, C-49, C-50, C-55).
//!
//! A rule is due by a clock of a job, by the counters of a queue and share, or by what a pool of
//! slots finds of its workflows and nodes. What is published at
//! a cut depends on the state at it alone: what is remembered beside it only shows which jobs
//! cannot be due.

pub mod rule;
pub mod setting;

pub use rule::{CommandRule, Mode, Reading};
pub use setting::{CommandSetting, Governor, RuleSetting};
