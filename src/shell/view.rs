//! The grid at a glance as answers of the API, and as the history keeps it beside the counters.

use crate::described::described;
use serde::{Deserialize, Serialize};
use yardmaster_core::engine::Engine;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::{self, ShareGlance, ViewRow};

/// The grid as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Requests that wait for an answer or for a better one; of a pool, its idle jobs. `None`: not
    /// known.
    pub requests_open: Option<u64>,
    /// The rows' kind in this domain, in the plural.
    pub of: &'static str,
    /// Every queue, or site of a pool, that a fact or a job names, by name.
    pub queues: Vec<QueueView>,
    /// Leaf shares, by name.
    pub shares: Vec<ShareView>,
}

impl View {
    /// The grid as the last cycle left it.
    pub fn of(engine: &Engine) -> View {
        let view::View { now, cycle, requests_open, of, rows, shares } = view::View::of(engine);
        View {
            now,
            cycle,
            requests_open,
            of: of.noun(),
            queues: rows.into_iter().map(QueueView::from).collect(),
            shares: shares.into_iter().map(ShareView::from).collect(),
        }
    }
}

described! {
    /// A queue, or a site of a pool.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct QueueView {
        /// Name under which its jobs are counted.
        pub queue: String,
        /// Its site, or cluster; empty where no fact names one.
        pub site: String,
        /// It is shown among others of it: ATLAS's cloud, else the site; a pool's tier; a cluster's
        /// country; empty where that is not known.
        pub group: String,
        /// Status in the domain's own word; empty where there is no fact about it. Of a pool it is
        /// that of the slot quota; of a cluster's queue it is as published, or `silent` if the
        /// cluster did not answer or its facts are too old to be used.
        pub status: String,
        /// Jobs that run.
        pub running: u64,
        /// Jobs that have not begun to run: from pending to starting.
        pub queued: u64,
        /// Of these, jobs that nothing can start yet, as their input is on its way: of a cluster,
        /// those before its batch system.
        pub assigned: u64,
        /// Jobs whose output is on its way.
        pub transferring: u64,
        /// Cores of jobs that run.
        pub running_cores: u64,
        /// Cores of jobs that have not begun to run.
        pub queued_cores: u64,
        /// Workers that run.
        pub pilots_running: u64,
        /// Workers that were submitted and do not run.
        pub pilots_submitted: u64,
        /// Slots to fill, where they were reported and hold.
        pub slots: Option<u64>,
        /// Jobs that decisions send there and that were not seen yet.
        pub reserved: u64,
        /// Newest pilot report; ms since 1970.
        pub last_pilot_at: Option<Millis>,
        /// Newest start of a job; ms since 1970.
        pub last_start_at: Option<Millis>,
        /// Cores that it gives: the pledge of a site of a pool, the CPUs that a cluster publishes;
        /// null elsewhere.
        pub pledged_cores: Option<u64>,
        /// Cores that are free: left of a site's live offers, or published as free by a cluster;
        /// null elsewhere.
        pub free_cores: Option<u64>,
        /// Live offers of a site with cores left; null elsewhere.
        pub offers: Option<u64>,
        /// Newest offer of a site, as far as that is remembered; ms since 1970.
        pub last_offer_at: Option<Millis>,
        /// Whether the cluster answered when it was last asked; null where there is no cluster.
        pub answered: Option<bool>,
        /// When the newest facts of a cluster's queue were true; ms since 1970.
        pub as_of: Option<Millis>,
        /// When the record that configures it last changed, so that its status is not younger; ms
        /// since 1970; null where there is none, or where it is published again and again.
        pub changed_at: Option<Millis>,
        /// Jobs of the grid that a cluster publishes as queued; null elsewhere.
        pub grid_queued: Option<u64>,
        /// Jobs of others that a cluster publishes as queued; null elsewhere.
        pub local_queued: Option<u64>,
        /// Bytes on disk that a job may take at a cluster's queue, of the user that has the most;
        /// null where they are not published.
        pub disk_free_bytes: Option<u64>,
        /// Bytes that a cluster's cache has room for; null where it has none or publishes none.
        pub cache_free_bytes: Option<u64>,
    }
}

/// Words of a queue that takes no jobs at present, by domain: of ATLAS, of a pool, of NorduGrid.
const CLOSED: [&str; 4] = ["offline", "brokeroff", "drain", "inactive"];
/// The word of a cluster that does not answer.
const SILENT: &str = "silent";

impl QueueView {
    /// Whether its status, before a remark, is that of a queue which takes no jobs at present.
    pub fn is_closed(&self) -> bool {
        let word = self.status.split([',', ' ']).next().unwrap_or_default();
        CLOSED.contains(&word) || self.is_silent()
    }

    /// Whether its cluster does not answer.
    pub fn is_silent(&self) -> bool {
        self.status == SILENT
    }
}

described! {
    /// A leaf share.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct ShareView {
        /// Its name.
        pub gshare: String,
        /// Its part of the running power, from 0 to 1.
        pub r#use: f64,
        /// Its part by the tree of shares, from 0 to 1.
        pub target: f64,
    }
}

impl From<ViewRow> for QueueView {
    fn from(row: ViewRow) -> QueueView {
        QueueView {
            queue: row.name,
            site: row.site,
            group: row.group,
            status: row.status,
            running: row.running,
            queued: row.queued,
            assigned: row.assigned,
            transferring: row.transferring,
            running_cores: row.running_cores,
            queued_cores: row.queued_cores,
            pilots_running: row.pilots_running,
            pilots_submitted: row.pilots_submitted,
            slots: row.slots,
            reserved: row.reserved,
            last_pilot_at: row.last_pilot_at,
            last_start_at: row.last_start_at,
            pledged_cores: row.pledged_cores,
            free_cores: row.free_cores,
            offers: row.offers,
            last_offer_at: row.last_offer_at,
            answered: row.answered,
            as_of: row.as_of,
            changed_at: row.changed_at.filter(|at| *at > 0),
            grid_queued: row.grid_queued,
            local_queued: row.local_queued,
            disk_free_bytes: row.disk_free_bytes,
            cache_free_bytes: row.cache_free_bytes,
        }
    }
}

impl From<ShareGlance> for ShareView {
    fn from(ShareGlance { gshare, part, target }: ShareGlance) -> ShareView {
        ShareView { gshare, r#use: part, target }
    }
}
