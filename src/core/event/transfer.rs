//! File transfers.

use crate::record::{record, symbols};
use crate::unit::{Bytes, Millis};

/// The state of a transfer. The numbers are persisted and are its rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TransferStatus {
    /// Asked for; in the queue of its link.
    #[default]
    Queued = 0,
    /// Given to a transfer service; still in the queue of its link.
    Submitted = 1,
    /// Arrived.
    Done = 2,
    /// Given up.
    Failed = 3,
}

impl TransferStatus {
    /// Every state, in order of their numbers.
    pub const ALL: [TransferStatus; 4] = [
        TransferStatus::Queued,
        TransferStatus::Submitted,
        TransferStatus::Done,
        TransferStatus::Failed,
    ];

    /// Whether nothing follows.
    pub const fn is_ended(self) -> bool {
        self as u8 >= TransferStatus::Done as u8
    }

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            TransferStatus::Queued => "queued",
            TransferStatus::Submitted => "submitted",
            TransferStatus::Done => "done",
            TransferStatus::Failed => "failed",
        }
    }
}

/// A file or dataset on its way from one site to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer<'a> {
    /// Name of the transfer request.
    pub request: &'a str,
    /// Its state.
    pub state: TransferStatus,
    /// When it reached that state, by its own clock.
    pub changed_at: Millis,
    /// Raised when the same state is published again with more known.
    pub revision: u32,
    /// Its activity (`Production Output`, `Express`, `Analysis Input` ...).
    pub activity: &'a str,
    /// Source site; empty until one is chosen.
    pub source: &'a str,
    /// Destination site.
    pub destination: &'a str,
    /// Size.
    pub bytes: Bytes,
    /// Number of files it stands for; 0 counts as 1.
    pub files: u32,
    /// Error text of a failed one.
    pub error: &'a str,
    /// Key of the `replica` record that it is to make (`scope:name|endpoint`): a later request for
    /// the same stands in its place. Empty: not known.
    pub replica: &'a str,
}

symbols!(TransferStatus);
record!(Transfer<'a> {
    request,
    state,
    changed_at,
    revision;
    activity,
    source,
    destination;
    bytes,
    files,
    error,
    replica,
});
