//! Outputs and cycles as they were read back.

use yardmaster_core::cut::Lane;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::unit::Millis;

/// An output as it was published.
pub(super) struct ReadOutput {
    pub lane: Lane,
    pub offset: u64,
    /// Hash of the bytes without their framing.
    pub hash: u64,
    pub output: Output,
    pub bytes: Vec<u8>,
}

/// A cycle as it was published.
pub(super) struct Cycle {
    pub progress: Progress,
    pub appended_at: Millis,
}
