//! Which requests are open, what blocks them, which wake, and in which order they are judged. It
//! may name the state, policies and judging.

pub(crate) mod cycle;
pub(crate) mod requests;
pub(crate) mod waiting;
mod wake;
pub(crate) mod wake_finding;
pub(crate) mod whole_waits;
