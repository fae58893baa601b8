//! What we know and how we judge. Standard library and `sha2` only: no clock, dice, environment,
//! file or network.

mod assign;
pub mod audit;
pub mod changed;
pub mod close;
pub mod counters;
pub mod cut;
pub mod decide;
pub mod decision;
pub mod dice;
pub mod digest;
pub mod engine;
pub mod event;
pub mod explain;
pub mod fold;
pub mod gather;
pub mod id;
pub mod ledger;
pub mod limits;
pub mod nuclei;
pub mod oddity;
pub mod pattern;
pub mod policy;
pub mod progress;
pub mod record;
pub mod reserve;
pub mod rows;
pub mod share;
pub mod slab;
pub mod state;
mod stock;
pub mod time;
pub mod timer;
pub mod unit;
pub mod wake;
pub mod window;
pub mod world;
