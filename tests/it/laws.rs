//! The laws of knowing (docs/design/laws.md): that the state is a function of what was published and
//! of the cycles, and that every counter is what a recount would give. Each was seen to fail once.

mod bound;
mod commute;
mod counters;
mod hostile;
mod kept;
mod lifetimes;
mod negative;
mod order;
mod owners;
mod pool;
pub mod random;
mod recount;
mod redelivery;
mod sites;
mod snapshot;
mod throttles;
mod twin;
