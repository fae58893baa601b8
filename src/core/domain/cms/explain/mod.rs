//! Answers to offers, and jobs of a pool, as text.

pub(crate) mod job;
pub(crate) mod name;
pub(crate) mod note;
pub(crate) mod offer;
mod rank;
pub(crate) mod wait;

pub use offer::{match_sentence, nothing_fits};
pub use wait::{blocked_sentence, no_node_sentence, objection_sentence, site_sentence};
