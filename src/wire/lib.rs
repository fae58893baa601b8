//! Bytes and what they mean. Core types know nothing of bytes; their shapes on the bus live here.

#![forbid(unsafe_code)]

mod architecture;
pub mod avro;
pub mod counter;
pub mod dialect;
pub mod import;
pub mod json;
mod loose;
pub mod oversize;
pub mod pseudonym;
pub mod record;
pub mod stamp;
pub mod stored;
pub mod topology;
pub mod written;
