//! The state at a cut: records, counters, windows, times, and the end of a cycle. The module may
//! name events and published outputs, not policies and not waiting requests.

pub mod admit;
pub mod answered;
pub mod audit;
pub mod blockers;
mod chains;
pub mod changed;
pub mod close;
pub mod commands;
pub mod counters;
pub mod crowded;
pub mod digest;
pub mod facts_age;
pub mod gaps;
pub mod job;
pub mod ledger;
pub mod looks;
mod model;
pub mod prefetch;
pub mod record;
pub(crate) mod replica_index;
mod replicas;
pub mod reservation;
pub mod reserve;
pub mod rows;
pub mod signs;
pub mod slab;
mod slots;
pub mod snapshot;
mod superseded;
pub mod supposed;
mod table;
pub mod time;
pub mod timer;
pub mod window;

pub use model::*;
pub use table::{Keyed, NamedTable, Table};
