//! Who waits, what for, who wakes, and in which order requests are judged. It may name the state
//! and policies.

pub mod admit;
pub mod blockers;
pub(in crate::core) mod doubts;
pub(in crate::core) mod holding;
pub(in crate::core) mod touch;
pub(in crate::core) mod waiting;
pub mod wake;
