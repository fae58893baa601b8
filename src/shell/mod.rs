//! Everything that touches the world: Kafka, disk, clock, HTTP, command line.

pub mod answers;
pub mod ask;
pub mod cli;
pub mod clock;
pub mod commit;
pub mod dirlog;
pub mod fetch;
pub mod http;
pub mod intake;
pub mod kafka;
pub mod metrics;
pub mod pages;
pub mod ports;
pub mod read_ahead;
pub mod registry;
pub mod rivals;
pub mod scan;
pub mod serve;
pub mod stale;
pub mod status;
pub mod store;
pub mod stuck;
pub mod unseen;
