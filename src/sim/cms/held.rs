//! Resources that jobs hold: slots of nodes, weight at sites, places at storages, and the use of
//! users.

use super::Cms;
use crate::grid::Handle;
use yardmaster_core::event::{Band, Class};
use yardmaster_core::unit::Millis;

/// Resources that a job holds.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Node, by number.
    pub node: u32,
    /// The pilot.
    pub pilot: u64,
    /// Site, by number.
    pub site: u32,
    /// Class.
    pub class: Class,
    /// The band in which it was chosen.
    pub band: Band,
    /// User, by number.
    pub user: usize,
    /// Cores.
    pub cores: i64,
    /// Memory, MB.
    pub rss_mb: i64,
    /// Weight, thousandths.
    pub weight_milli: i64,
    /// The site whose storage serves it, where it overflows.
    pub overflow_source: Option<u32>,
    /// The site whose storage it reads heavily.
    pub io_source: Option<u32>,
    /// Restricted groups of the site that its user is in.
    pub groups: Vec<String>,
    /// Whether it is charged to one of them.
    pub is_charged: bool,
    /// When it started; `None`: it did not.
    pub counts_from: Option<Millis>,
}

impl Cms {
    /// Books what a job holds, or gives it back.
    fn book(&mut self, holding: &Holding, sign: i64) {
        let Holding { site, class, weight_milli, .. } = *holding;
        let held = &mut self.sites[site as usize].held;
        held.weight += sign * weight_milli;
        if !holding.is_charged {
            held.open[class as usize] += sign * weight_milli;
        }
        for group in &holding.groups {
            *held.members.entry(group.clone()).or_default() += sign * weight_milli;
        }
        if let Some(source) = holding.overflow_source {
            self.sites[source as usize].held.overflow += sign;
        }
        if let Some(source) = holding.io_source {
            self.sites[source as usize].held.high_io += sign;
        }
    }

    /// A job holds something from now on.
    pub(super) fn hold(&mut self, handle: Handle, holding: Holding) {
        self.settle_use();
        self.count.cores_used += holding.cores as u64;
        self.book(&holding, 1);
        let node = &mut self.nodes[holding.node as usize];
        node.cores_free -= holding.cores;
        node.memory_free_mb -= holding.rss_mb;
        node.left.0 -= holding.cores;
        node.left.1 -= holding.rss_mb;
        let Some(job) = self.jobs.get_mut(handle) else { return };
        let workflow = job.workflow.and_then(|it| self.workflows.get_mut(it));
        if let Some(workflow) = workflow.filter(|_| holding.overflow_source.is_some()) {
            *workflow.overflow_sites.entry(holding.site).or_default() += 1;
        }
        job.holding = Some(holding);
    }

    /// A job gives back what it holds; the pilot announces it, if it is still there.
    pub(super) fn let_go(&mut self, handle: Handle, has_run: bool) {
        let Some(job) = self.jobs.get_mut(handle) else { return };
        let Some(holding) = job.holding.take() else { return };
        let workflow = job.workflow.and_then(|it| self.workflows.get_mut(it));
        if let Some(workflow) = workflow.filter(|_| holding.overflow_source.is_some() && !has_run) {
            // A site where no job ran does not count (C-40).
            let jobs = workflow.overflow_sites.entry(holding.site).or_default();
            *jobs -= 1;
            if *jobs == 0 {
                workflow.overflow_sites.remove(&holding.site);
            }
        }
        self.settle_use();
        self.count.cores_used -= holding.cores as u64;
        self.book(&holding, -1);
        if let Some(from) = holding.counts_from {
            self.usage.ends(holding.user, holding.weight_milli, (from, self.now));
        }
        let node = &mut self.nodes[holding.node as usize];
        if node.pilot == holding.pilot && node.pilot != 0 {
            node.cores_free += holding.cores;
            node.memory_free_mb += holding.rss_mb;
            self.announce_soon(holding.node);
        }
    }

    /// The use of a user begins with a job that starts.
    pub(super) fn usage_begins(&mut self, handle: Handle) {
        let Some(holding) = self.jobs.get(handle).and_then(|job| job.holding.as_ref()) else {
            return;
        };
        self.usage.begins(holding.user, holding.weight_milli);
    }
}
