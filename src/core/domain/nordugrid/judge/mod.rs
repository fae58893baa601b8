//! How a single job that wants a target is judged.

pub(crate) mod place;
pub(crate) mod targets;
