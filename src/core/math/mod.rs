//! Pure functions without our subject: powers, decay, Student's t, patterns. They may name nothing
//! else of the core.

pub mod decay;
pub mod pattern;
pub mod power;
pub mod student;
