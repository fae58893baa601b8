//! The loop, and the two ports it needs. It meets the world through [`port::Log`] and
//! [`port::Store`] alone, so the crash and simulation tests need no Kafka.

pub mod fold;
pub mod port;
