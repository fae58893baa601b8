//! A schema registry: what the numbers in records of Confluent framing stand for.
//!
//! A registry that cannot be reached means waiting, never dead letters: [`FramedLog`] holds back
//! the records whose number is not known yet, lane by lane, while threads ask with growing
//! pauses, and everything else goes on.

mod client;
mod fetch;
mod folder;
mod foreign;
mod framing;
mod inline;
mod log;
mod ours;
mod questions;

pub use client::{RegistryClient, RegistryError, Schema};
pub use fetch::Desk;
pub use foreign::ForeignDesk;
pub use framing::Framing;
pub use log::FramedLog;
pub use ours::{Finding, Ours, examine, register};
pub use questions::RegistryAnswer;
