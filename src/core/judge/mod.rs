//! How one case is judged: candidates with their figures, the configuration as judging wants it,
//! and the way from a request to its answer. It may name the state and policies.

pub(crate) mod alternative;
mod decide;
mod domain;
#[cfg(test)]
pub(crate) mod draws;
pub(crate) mod evaluation;
pub(crate) mod inputs;
pub(crate) mod judging;
mod kept_view;
pub(crate) mod notes;
pub(crate) mod policies;
pub mod share;
pub(crate) mod size;
mod tag;
pub mod view;
