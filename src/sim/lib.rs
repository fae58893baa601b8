//! Stand-ins for the world: a grid in a box, ports on paper, and faults at will. Nothing here
//! touches a disk, a clock or a network.

#![forbid(unsafe_code)]

mod agenda;
pub mod cms;
pub mod conform;
pub mod detour;
pub mod dice;
pub mod grid;
pub mod load;
pub mod nordugrid;
pub mod paper;
mod publisher;
pub mod scenario;
