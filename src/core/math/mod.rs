//! Pure functions without our subject: powers, Student's t, patterns. They may name nothing else of
//! the core.

pub mod pattern;
pub mod power;
pub mod student;
