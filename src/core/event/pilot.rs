//! Reports on pilots, workers and slots.

use crate::domain::cms::event::pool::{Label, Resource, SlotOffer};
use crate::record::{Attempt, Decode, Decoder, Encode, Encoder, record, symbols};
use crate::unit::Millis;

/// A report about the capacity of a queue.
#[derive(Clone, Debug, PartialEq)]
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
    /// How many distinct nodes contacted the workload system for a queue within the node window, as
    /// it counts them itself: replaces its last counts, and what single reports of nodes add up to.
    Nodes {
        /// Queue.
        queue: &'a str,
        /// Nodes that asked for a job.
        nodes_asked: u32,
        /// Nodes that updated a job.
        nodes_updated: u32,
        /// When they were counted.
        at: Millis,
    },
    /// How many workers a harvester has at a queue for a resource type: replaces its last report.
    Workers {
        /// Queue.
        queue: &'a str,
        /// Harvester instance.
        harvester: &'a str,
        /// Resource type; empty for all together.
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
        offer: Box<SlotOffer<&'a str>>,
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
            | Pilot::Nodes { at, .. }
            | Pilot::Workers { at, .. }
            | Pilot::Slots { at, .. }
            | Pilot::SlotOffer { at, .. }
            | Pilot::SlotWithdrawn { at, .. } => at,
        }
    }

    /// Its record's key: queue, who reports, and node or resource type; of an offer its name.
    pub fn key(&self) -> String {
        match self {
            Pilot::AskedJob { queue, node, .. } => format!("{queue}/pilot/{node}"),
            Pilot::UpdatedJob { queue, node, .. } => format!("{queue}/job/{node}"),
            Pilot::Nodes { queue, .. } => format!("{queue}//nodes"),
            Pilot::Workers { queue, harvester, resource_type: "", .. } => {
                format!("{queue}/{harvester}")
            }
            Pilot::Workers { queue, harvester, resource_type, .. } => {
                format!("{queue}/{harvester}/{resource_type}")
            }
            Pilot::Slots { queue, gshare, resource_type, .. } => {
                format!("{queue}/slots/{gshare}/{resource_type}")
            }
            Pilot::SlotOffer { offer, .. } => offer.offer.to_owned(),
            Pilot::SlotWithdrawn { offer, .. } => (*offer).to_owned(),
        }
    }

    /// The queue it is about.
    pub fn queue(&self) -> &str {
        match *self {
            Pilot::AskedJob { queue, .. }
            | Pilot::UpdatedJob { queue, .. }
            | Pilot::Nodes { queue, .. }
            | Pilot::Workers { queue, .. }
            | Pilot::Slots { queue, .. }
            | Pilot::SlotOffer { queue, .. }
            | Pilot::SlotWithdrawn { queue, .. } => queue,
        }
    }
}

/// The kind of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PilotKind {
    /// [`Pilot::AskedJob`].
    AskedJob = 0,
    /// [`Pilot::UpdatedJob`].
    UpdatedJob = 1,
    /// [`Pilot::Workers`].
    Workers = 2,
    /// [`Pilot::Slots`].
    Slots = 3,
    /// [`Pilot::SlotOffer`].
    SlotOffer = 4,
    /// [`Pilot::SlotWithdrawn`].
    SlotWithdrawn = 5,
    /// [`Pilot::Nodes`].
    Nodes = 6,
}

/// The record, which has the fields of all kinds. Those that a kind does not state have their
/// defaults.
struct Row<'a> {
    kind: PilotKind,
    queue: &'a str,
    at: Millis,
    node: &'a str,
    harvester: &'a str,
    resource_type: &'a str,
    submitted: u32,
    running: u32,
    gshare: &'a str,
    slots: i64,
    expires_at: Millis,
    offer: &'a str,
    attempt: u32,
    cores_free: i64,
    cores_total: i64,
    wall_left_s: i64,
    mem_free_mb: i64,
    block: &'a str,
    corepower_mhs06: Option<i64>,
    resources: Vec<Resource<&'a str>>,
    labels: Vec<Label<&'a str>>,
    nodes_asked: u32,
    nodes_updated: u32,
}

symbols!(PilotKind: [AskedJob, UpdatedJob, Workers, Slots, SlotOffer, SlotWithdrawn, Nodes]);
record!(Row<'a> {
    kind,
    queue,
    at;
    node,
    harvester,
    resource_type;
    submitted,
    running,
    gshare,
    slots,
    expires_at,
    offer,
    attempt as Attempt,
    cores_free,
    cores_total,
    wall_left_s,
    mem_free_mb,
    block,
    corepower_mhs06,
    resources,
    labels,
    nodes_asked,
    nodes_updated,
});

impl<'a> Row<'a> {
    fn new(kind: PilotKind, queue: &'a str, at: Millis) -> Row<'a> {
        Row {
            kind,
            queue,
            at,
            node: "",
            harvester: "",
            resource_type: "",
            submitted: 0,
            running: 0,
            gshare: "",
            slots: 0,
            expires_at: 0,
            offer: "",
            attempt: 0,
            cores_free: 0,
            cores_total: 0,
            wall_left_s: 0,
            mem_free_mb: 0,
            block: "",
            corepower_mhs06: None,
            resources: Vec::new(),
            labels: Vec::new(),
            nodes_asked: 0,
            nodes_updated: 0,
        }
    }
}

impl Encode for Pilot<'_> {
    fn encode<E: Encoder>(&self, to: &mut E) {
        let row = |kind| Row::new(kind, self.queue(), self.at());
        let row = match *self {
            Pilot::AskedJob { node, .. } => Row { node, ..row(PilotKind::AskedJob) },
            Pilot::UpdatedJob { node, .. } => Row { node, ..row(PilotKind::UpdatedJob) },
            Pilot::Nodes { nodes_asked, nodes_updated, .. } => {
                Row { nodes_asked, nodes_updated, ..row(PilotKind::Nodes) }
            }
            Pilot::Workers { harvester, resource_type, submitted, running, .. } => {
                let none = row(PilotKind::Workers);
                Row { harvester, resource_type, submitted, running, ..none }
            }
            Pilot::Slots { gshare, resource_type, slots, expires_at, .. } => {
                Row { gshare, resource_type, slots, expires_at, ..row(PilotKind::Slots) }
            }
            Pilot::SlotOffer { ref offer, .. } => Row {
                node: offer.node,
                expires_at: offer.expires_at,
                offer: offer.offer,
                attempt: offer.attempt,
                cores_free: offer.cores_free,
                cores_total: offer.cores_total,
                wall_left_s: offer.wall_left_s,
                mem_free_mb: offer.mem_free_mb,
                block: offer.block,
                corepower_mhs06: offer.corepower_mhs06,
                resources: offer.resources.clone(),
                labels: offer.labels.clone(),
                ..row(PilotKind::SlotOffer)
            },
            Pilot::SlotWithdrawn { offer, attempt, .. } => {
                Row { offer, attempt, ..row(PilotKind::SlotWithdrawn) }
            }
        };
        row.encode(to);
    }
}

impl<'a> Decode<'a> for Pilot<'a> {
    #[inline(always)]
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Pilot<'a>, D::Fault> {
        let row = Row::decode(from)?;
        let Row { kind, queue, at, node, resource_type, expires_at, offer, attempt, .. } = row;
        Ok(match kind {
            PilotKind::AskedJob => Pilot::AskedJob { queue, node, at },
            PilotKind::UpdatedJob => Pilot::UpdatedJob { queue, node, at },
            PilotKind::Workers => {
                let Row { harvester, submitted, running, .. } = row;
                Pilot::Workers { queue, harvester, resource_type, submitted, running, at }
            }
            PilotKind::Slots => {
                let Row { gshare, slots, .. } = row;
                Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at }
            }
            PilotKind::SlotOffer => {
                let offer = SlotOffer {
                    offer,
                    attempt,
                    cores_free: row.cores_free,
                    cores_total: row.cores_total,
                    wall_left_s: row.wall_left_s,
                    mem_free_mb: row.mem_free_mb,
                    block: row.block,
                    node,
                    corepower_mhs06: row.corepower_mhs06,
                    expires_at,
                    resources: row.resources,
                    labels: row.labels,
                };
                Pilot::SlotOffer { queue, offer: Box::new(offer), at }
            }
            PilotKind::Nodes => {
                let Row { nodes_asked, nodes_updated, .. } = row;
                Pilot::Nodes { queue, nodes_asked, nodes_updated, at }
            }
            PilotKind::SlotWithdrawn => Pilot::SlotWithdrawn { queue, offer, attempt, at },
        })
    }
}
