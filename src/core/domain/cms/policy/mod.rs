//! The CMS global queue: a pilot offers slots, and the pending jobs are the candidates (spec
//! cms-nordugrid, Part A). System jobs go first, then test jobs, then the class that is further
//! below its quota.
//!
//! Records of events and of the state come in (`records`, `admission`; jobs with what the rules
//! derive of them: `facts`), the pool keeps them indexed (`pool`, `autocluster`, `counters`,
//! `quota`), an offer is looked at (`look`, `level`, `pools`), filters and rank keys judge the jobs
//! before it (`filter`, `rank`, `judge`), and a cut puts it together (`cut`, `tail`, `verdict`,
//! `drain`). Decisions are facts (`decision`): folding them changes the pool, making them does not.

pub mod admission;
pub mod autocluster;
pub mod bounds;
pub mod counters;
pub mod cut;
pub mod decision;
mod declare;
pub mod drain;
mod drain_plan;
pub mod effective;
pub mod entry;
pub mod exit_codes;
pub mod facts;
pub mod filter;
pub mod idle;
pub mod judge;
pub mod key;
mod kind;
pub mod label;
mod level;
mod listing;
pub mod look;
pub mod moment;
mod node;
mod offers;
pub mod pool;
mod pools;
pub mod quota;
pub mod rank;
pub mod records;
pub mod scaling;
pub mod settings;
pub mod shapes;
mod tail;
pub mod verdict;
pub mod why;

#[cfg(test)]
mod tests;

pub use declare::Jobs;
pub use kind::CMS;
