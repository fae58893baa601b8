//! One binary for all tests that use the crate from outside.

mod contract;
mod logs;
mod topology;
#[cfg(feature = "shell")]
mod store;
