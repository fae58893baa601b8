//! How one case is judged: candidates with their figures, the configuration as judging wants it,
//! and the way from a request to its answer. It may name the state and policies.

pub(crate) mod alternative;
mod assign;
pub(crate) mod caches;
mod decide;
mod domain;
#[cfg(test)]
pub(crate) mod draws;
pub(crate) mod evaluation;
pub mod gather;
mod input_availability;
pub(crate) mod inputs;
pub(crate) mod judging;
mod kept_view;
pub(crate) mod notes;
pub(crate) mod nuclei;
mod partial_copies;
pub(crate) mod place;
pub(crate) mod policies;
pub(crate) mod pool;
pub mod share;
pub(crate) mod size;
mod tag;
pub(crate) mod targets;
mod task_class;
pub mod view;
pub(crate) mod work;
pub mod world;
