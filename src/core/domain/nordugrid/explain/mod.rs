//! Assignments of single jobs as text.

pub(crate) mod held;
pub(crate) mod target;
