//! Bounds on the description that is read, so that no text takes much time, memory or stack.

/// Longest text that is read; bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of parentheses that is read; levels.
pub const DEPTH_MAX: usize = 256;
/// Most alternatives of all jobs of a description; alternatives.
pub const ALTERNATIVES_MAX: usize = 4_096;
/// Most memory that a description takes once variables are put in, and again once alternatives are
/// written out; bytes.
pub const EXPANDED_BYTES_MAX: usize = 16 << 20;
