//! Commands: which rules there are, when each is due, and the governor that bounds them (spec atlas
//! 5 and 6).
//!
//! A rule is due by a clock of a job, or by the counters of a queue and share. What is published at
//! a cut depends on the state at it alone: what is remembered beside it only shows which jobs
//! cannot be due.

pub mod rule;
pub mod setting;

pub use rule::{CommandRule, Mode};
pub use setting::{CommandSetting, Governor, RuleSetting};
