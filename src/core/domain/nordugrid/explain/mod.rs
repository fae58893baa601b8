//! Assignments of single jobs as text.

mod held;
pub(crate) mod job;
mod target;
pub(crate) mod wanted;
