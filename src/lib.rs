//! Yardmaster: event-sourced brokerage for grid computing over Kafka. See ARCHITECTURE.md for the
//! map of the rooms and the laws that hold in them.

pub mod core;
pub mod drive;
#[cfg(feature = "shell")]
pub mod shell;
pub mod sim;
pub mod wire;
