//! How one case is judged: candidates with their figures, the configuration as judging wants it,
//! and the way from a request to its answer. It may name the state and policies.

pub(in crate::core) mod assign;
pub mod decide;
pub mod gather;
pub mod nuclei;
pub mod share;
pub(in crate::core) mod stock;
pub(in crate::core) mod work;
pub mod world;
