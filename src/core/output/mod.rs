//! Outputs: decisions, throttles, commands, the progress of a cycle. The module may name identities
//! and events, nothing that is known or judged.

pub mod command;
mod common;
pub mod decision;
mod folded;
pub mod id;
pub mod limit_use;
pub mod progress;
pub mod repair;
pub mod throttle;

pub use common::{About, Folded};
pub use folded::{Output, each_output};
