//! Outputs: decisions, throttles, commands, the progress of a cycle. The module may name identities
//! and events, nothing that is known or judged.

pub mod command;
pub mod decision;
mod folded;
pub mod id;
pub mod limit_use;
pub mod progress;
pub mod repair;
pub mod throttle;

pub use folded::{About, Folded, Output, each_output};
