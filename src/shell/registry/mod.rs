//! A schema registry: what the numbers in records of Confluent framing stand for.
//!
//! A registry that cannot be reached means waiting, never dead letters: [`FramedLog`] holds back
//! the records whose number is not known yet, lane by lane, while a thread asks with growing
//! pauses, and everything else goes on.

mod client;
mod fetch;
mod folder;
mod inline;
mod log;
mod ours;

pub use client::{Client, RegistryError, Schema};
pub use fetch::{Answer, Desk};
pub use log::{FramedLog, Framing};
pub use ours::{Finding, Ours, examine, register};
