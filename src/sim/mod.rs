//! Stand-ins for the world: ports on paper, and faults at will. Nothing here touches a disk, a
//! clock or a network.

pub mod paper;
