//! Which requests are open, what blocks them, which wake, in which order they are judged, and which
//! owners are throttled. It may name the state, policies and judging.

pub mod admit;
pub mod blockers;
pub(in crate::core) mod cycle;
pub(in crate::core) mod requests;
pub(in crate::core) mod throttles;
pub(in crate::core) mod touch;
pub(in crate::core) mod waiting;
mod wake;
mod whole_waits;
