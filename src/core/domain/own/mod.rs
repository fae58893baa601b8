//! A domain that a program brings: its declaration, its records, its answers and its commands.

pub(crate) mod event;
pub(crate) mod govern;
pub(crate) mod judge;
pub mod policy;
pub(crate) mod view;
