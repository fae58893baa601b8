//! Messages from the loop to the thread that writes.

use super::figures::WaitingCounts;
use crate::changes::ChangeView;
use crate::view::View;
use yardmaster_core::cut::Topic;
use yardmaster_core::state::snapshot::CopiedState;
use yardmaster_core::unit::Millis;

/// Counters, view, and requests that wait, of one cycle.
pub(super) struct Snapshot {
    pub state: CopiedState,
    pub view: View,
    pub waiting: WaitingCounts,
}

pub(super) enum Message {
    /// Changes, and a cycle up to which there are no others.
    Changed { changes: Vec<ChangeView>, cycle: u64 },
    /// Outputs, as they are written; all of a cycle and those before it were sent.
    Written { outputs: Vec<(Topic, Vec<u8>)>, cycle: u64, now: Millis },
    /// Outputs up to a moment were given up.
    Lost { now: Millis, cycle: u64 },
    /// Counters.
    Counters(Box<Snapshot>),
}
