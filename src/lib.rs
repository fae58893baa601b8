//! Yardmaster: event-sourced brokerage for grid computing over Kafka. See ARCHITECTURE.md for the
//! map of the rooms, and docs/design/laws.md for the laws that hold in them.

pub use yardmaster_core as core;
pub use yardmaster_drive as drive;
#[cfg(feature = "shell")]
pub use yardmaster_shell as shell;
#[cfg(feature = "simulation")]
pub use yardmaster_sim as sim;
pub use yardmaster_wire as wire;
