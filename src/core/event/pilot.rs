//! Reports on pilots, workers and slots.

use super::pool::SlotOffer;
use crate::unit::Millis;

/// A report about the capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pilot<'a> {
    /// A worker node asked for a job.
    AskedJob {
        /// Queue.
        queue: &'a str,
        /// Node.
        node: &'a str,
        /// When.
        at: Millis,
    },
    /// A worker node updated a job.
    UpdatedJob {
        /// Queue.
        queue: &'a str,
        /// Node.
        node: &'a str,
        /// When.
        at: Millis,
    },
    /// How many workers a harvester has at a queue for a resource type: replaces its last report.
    Workers {
        /// Queue.
        queue: &'a str,
        /// Harvester instance.
        harvester: &'a str,
        /// Resource type.
        resource_type: &'a str,
        /// Workers submitted to the batch system and not yet running.
        submitted: u32,
        /// Workers running.
        running: u32,
        /// When.
        at: Millis,
    },
    /// Slots to fill at a queue, whatever runs there now: replaces the last figure.
    Slots {
        /// Queue.
        queue: &'a str,
        /// Share it is for; empty for any.
        gshare: &'a str,
        /// Resource type it is for; empty for any.
        resource_type: &'a str,
        /// Slots. 0 asks that starting jobs count instead; negative figures are ignored.
        slots: i64,
        /// Until when the figure holds; 0 for ever.
        expires_at: Millis,
        /// When it was reported.
        at: Millis,
    },
    /// A pilot has free slots (spec cms-nordugrid A.2): replaces an earlier offer of its name.
    SlotOffer {
        /// Site.
        queue: &'a str,
        /// The offer.
        offer: SlotOffer<&'a str>,
        /// When.
        at: Millis,
    },
    /// A pilot takes its offer back.
    SlotWithdrawn {
        /// Site.
        queue: &'a str,
        /// Name of the offer.
        offer: &'a str,
        /// Which announcement it takes back, and all before it.
        attempt: u32,
        /// When.
        at: Millis,
    },
}

impl Pilot<'_> {
    /// When the report was made, by its own clock.
    pub fn at(&self) -> Millis {
        match *self {
            Pilot::AskedJob { at, .. }
            | Pilot::UpdatedJob { at, .. }
            | Pilot::Workers { at, .. }
            | Pilot::Slots { at, .. }
            | Pilot::SlotOffer { at, .. }
            | Pilot::SlotWithdrawn { at, .. } => at,
        }
    }

    /// The queue it is about.
    pub fn queue(&self) -> &str {
        match *self {
            Pilot::AskedJob { queue, .. }
            | Pilot::UpdatedJob { queue, .. }
            | Pilot::Workers { queue, .. }
            | Pilot::Slots { queue, .. }
            | Pilot::SlotOffer { queue, .. }
            | Pilot::SlotWithdrawn { queue, .. } => queue,
        }
    }
}
