//! How requests of ATLAS are judged: queues and nuclei with their figures, the configuration as
//! judging them wants it, and the way from a task or chunk to its answer.

mod assign;
pub(crate) mod caches;
mod choose;
mod elsewhere;
pub mod gather;
mod input_availability;
mod nuclei;
mod partial_copies;
mod task_class;
pub(crate) mod work;
pub mod world;
