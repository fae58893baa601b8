//! How one case is judged: candidates with their figures, the configuration as judging wants it,
//! and the way from a request to its answer. It may name the state and policies.

pub(in crate::core) mod alternative;
mod assign;
pub(in crate::core) mod caches;
mod decide;
pub(in crate::core) mod evaluation;
pub mod gather;
mod input_availability;
pub(in crate::core) mod inputs;
pub(in crate::core) mod judging;
pub(in crate::core) mod notes;
pub mod nuclei;
mod partial_copies;
mod place;
pub(in crate::core) mod policies;
pub(in crate::core) mod pool;
pub mod share;
pub(in crate::core) mod size;
mod tag;
pub(in crate::core) mod targets;
mod task_class;
pub mod view;
pub(in crate::core) mod work;
pub mod world;
