//! Hands: everything that touches the world.

pub mod dirlog;
pub mod kafka;
pub mod store;
