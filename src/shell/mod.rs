//! Hands: everything that touches the world.

pub mod dirlog;
pub mod http;
pub mod metrics;
pub mod status;
pub mod store;
