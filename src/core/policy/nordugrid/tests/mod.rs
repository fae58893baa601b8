//! The scenarios of spec cms-nordugrid B.14 that concern the rules themselves, and the laws that
//! hold over them.

mod choosing;
mod discovering;
mod free_slots;
mod input_files;
mod laws;
mod matching;
mod prechecks;
mod retrying;
mod world;
