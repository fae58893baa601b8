//! How one case is judged: what judging reads at a cut, and the way from a request to its answer.
//! Candidates with their figures are in `domain/*/judge`. It may name the state and policies.

pub(crate) mod alternative;
mod decide;
#[cfg(test)]
pub(crate) mod draws;
pub(crate) mod evaluation;
pub(crate) mod inputs;
pub(crate) mod judging;
pub(crate) mod notes;
pub(crate) mod policies;
pub mod share;
pub(crate) mod size;
mod tag;
pub mod view;
