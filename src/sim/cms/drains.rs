//! Nodes are drained for jobs, and whether that helps them: by the simulation's own data.

use super::Cms;
use super::agenda::CmsStep;
use super::jobs::{CmsJob, CmsStage};
use super::nodes::{Drain, Node};
use yardmaster_core::output::command::Command;
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// A node is drained for one job so often at most: more would be a circle of drains and matches.
const DRAINS_MAX: u32 = 3;
/// So long after an announcement it was read.
const READ: Millis = 2 * MINUTE;

impl Cms {
    /// A node is kept free until it has the cores that a job needs.
    pub(super) fn drain(&mut self, command: &Command) -> Result<(), &'static str> {
        let node = self.node_named(&command.subject)?;
        let job = command.jobs.first().ok_or("no job is named")?;
        for what in self.complaints_of_drain(node, job, command) {
            self.violated(what);
        }
        let of = &mut self.nodes[node as usize];
        let (job, need) = (job.clone(), command.limit as i64);
        // So many seconds after the second of the cycle.
        let until = command.now / SECOND * SECOND + command.measured as Millis * SECOND;
        let cycle = command.cycle;
        of.drain = Some(Drain { job: job.clone(), need, until, cycle });
        let drains = self.drained.entry((node, job)).or_default();
        *drains += u32::from(command.repeat == 0);
        let is_circle = *drains > DRAINS_MAX;
        let of = &self.nodes[node as usize];
        if of.cores_free < need && !self.sites[of.site as usize].backfills {
            // Not at once: decisions of this cycle are on their way.
            self.after(SECOND, CmsStep::Withdraws(node));
        }
        if is_circle {
            self.violated("a node drained for one job again and again");
        }
        Ok(())
    }

    /// Conditions that a new drain breaks: the job could never run there, or needs no drain (C-55).
    fn complaints_of_drain(&self, node: u32, job: &str, command: &Command) -> Vec<&'static str> {
        let of = &self.nodes[node as usize];
        let job = self.job_by_name.get(job).and_then(|it| self.jobs.get(*it));
        let Some(job) = job.filter(|_| command.repeat == 0) else { return Vec::new() };
        let need = command.limit as i64;
        let is_idle = of.is_offered && of.left.0 >= need && of.announced_at + READ < command.now;
        let listed = job.wanted.sites.as_ref().is_none_or(|sites| sites.contains(&of.site));
        let ready_at = command.now + command.measured as Millis * SECOND;
        let checks = [
            (!is_idle, "an idle node drained"),
            (of.cores >= need && memory_of(job, need) <= of.memory_mb, "a node too small drained"),
            (listed, "a node drained where its job may not run"),
            (of.pilot == 0 || ready_at < of.ends_at, "a node drained whose pilot ends before"),
        ];
        checks.iter().filter(|(holds, _)| !holds).map(|(_, what)| *what).collect()
    }

    /// Whether a node is kept free for a job that waits, which it offers all that it needs.
    pub(super) fn idles_for_nobody(&self, node: &Node) -> bool {
        node.drain.as_ref().is_some_and(|drain| {
            let job = self.job_by_name.get(&drain.job).and_then(|it| self.jobs.get(*it));
            let waits = job.is_some_and(|job| job.stage == CmsStage::Waiting);
            let is_idle = node.is_offered && node.left.0 >= drain.need;
            waits && is_idle && node.announced_at + READ < self.now
        })
    }
}

/// Memory that a job takes on so many cores, MB (F-6).
fn memory_of(job: &CmsJob, cores: i64) -> i64 {
    let stated = job.wanted.max_rss_mb.unwrap_or(0);
    (stated + 500 * (cores - job.wanted.base())).max(0)
}
