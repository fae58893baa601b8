//! Assignments of single jobs as text.

mod held;
pub(crate) mod job;
pub(crate) mod moving;
pub(crate) mod note;
mod target;
pub(crate) mod wanted;
