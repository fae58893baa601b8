//! What we know and how we judge. Standard library and `sha2` only: no clock, dice, environment,
//! file or network.

pub mod cut;
pub mod decision;
pub mod event;
pub mod id;
pub mod limits;
pub mod policy;
pub mod progress;
pub mod unit;
