//! Decayed usage of users: the arithmetic is [`crate::core::math::decay`]'s.

pub use crate::core::math::decay::*;
