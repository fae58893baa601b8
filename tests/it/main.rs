//! One binary for all tests that use the crate from outside.

mod contract;
mod logs;
#[cfg(feature = "shell")]
mod store;
mod topology;
