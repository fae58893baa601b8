//! Decayed usage of users: the arithmetic is [`crate::math::decay`]'s.

pub use crate::math::decay::*;
