//! Conditions that hold for every match, checked against the simulation's own data.

use super::Cms;
use super::jobs::{CmsJob, CmsStage};
use super::nodes::Node;
use super::sites::Site;
use super::workflows::Workflow;
use crate::grid::Handle;
use yardmaster_core::domain::cms::output::Matched;
use yardmaster_core::event::{Class, FailureClass, SiteStatus};
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::{Millis, SECOND};

/// How long a job waits before it overflows, in whole seconds (CD-08).
const OVERFLOW_IDLE_S: i64 = 1_200;
/// A job ends so long before a drain is over (C-56).
const MARGIN: Millis = 300 * SECOND;
/// Most sites that a central workflow overflows to (C-40).
const OVERFLOW_SITES: i64 = 5;

/// A match, with all that is known of it.
struct Case<'a> {
    node: &'a Node,
    site: &'a Site,
    job: &'a CmsJob,
    workflow: &'a Workflow,
    matched: &'a Matched,
}

impl Cms {
    /// Conditions that a match breaks.
    pub(super) fn complaints(
        &self,
        node: u32,
        handle: Handle,
        decision: &Decision,
        matched: &Matched,
    ) -> Vec<&'static str> {
        let node = &self.nodes[node as usize];
        let site = &self.sites[node.site as usize];
        let job = self.jobs.get(handle);
        let workflow = job.and_then(|job| self.workflows.get(job.workflow?));
        let (Some(job), Some(workflow)) = (job, workflow) else {
            return vec!["a bad job matched"];
        };
        let case = Case { node, site, job, workflow, matched };
        let user = &self.users[workflow.user];
        let is_booked = decision.task == workflow.name
            && decision.user == user.name
            && matched.class == workflow.facts.class
            && matched.weight_milli == matched.cores * site.kappa_milli();
        let is_own =
            matched.charged_group.is_empty() || user.groups.contains(&matched.charged_group);
        let labelled = site.group_of_block(&node.block);
        let checks = [
            (is_booked, "accounting"),
            (case.is_status_good(), "site status"),
            (workflow.is_known && !workflow.is_killed, "workflow"),
            (case.fits(), "cores, time or memory"),
            (self.respects_drain(&case, decision.cycle), "draining node"),
            (case.is_listed_or_overflows(), "whitelist or overflow"),
            (self.may_overflow(&case), "right to overflow"),
            (self.is_host_good(&case), "overflow of a host"),
            (case.is_overflow_bounded(), "sites of overflow"),
            (self.is_high_io_good(&case), "HighIO"),
            (is_own, "restricted pool"),
            (labelled.is_none_or(|it| user.groups.iter().any(|own| own == it)), "labelled block"),
            (case.is_pool_good(&user.groups), "restricted pool"),
            (case.is_ceiling_good(), "class_only"),
        ];
        checks.iter().filter(|(holds, _)| !holds).map(|(_, what)| *what).collect()
    }

    /// One that overflows may, and waited for long enough (C-35, C-36, C-41).
    fn may_overflow(&self, case: &Case<'_>) -> bool {
        let Case { job, workflow, .. } = case;
        let wanted = &job.wanted;
        !case.overflows()
            || wanted.allow_overflow.unwrap_or(workflow.facts.allow_overflow)
                && !wanted.system_job
                && !wanted.high_io
                && seconds(self.now) - seconds(job.created_at) >= OVERFLOW_IDLE_S
                && job.last_failure != Some(FailureClass::RemoteOpen)
    }

    /// The site that serves the data has slots for overflow left (C-38, C-39).
    fn is_host_good(&self, case: &Case<'_>) -> bool {
        let source = self.site_by_name.get(&case.matched.overflow_source);
        !case.overflows()
            || source.is_some_and(|it| {
                let host = &self.sites[*it as usize];
                case.job.wanted.sites.iter().any(|hosts| hosts.contains(it))
                    && host.held.overflow < host.quota.overflow_slots
            })
    }

    /// On a node that is drained it ends in time, or is what the node is drained for; a node is
    /// kept free for a job that waits (C-55, C-56).
    fn respects_drain(&self, case: &Case<'_>, cycle: u64) -> bool {
        case.node.drain.as_ref().filter(|drain| drain.cycle < cycle).is_none_or(|drain| {
            let ends_at = self.now + case.matched.wall_time_s * SECOND;
            let large = self.job_by_name.get(&drain.job).and_then(|it| self.jobs.get(*it));
            let waits = large.is_some_and(|job| job.stage == CmsStage::Waiting);
            drain.job == case.job.name || ends_at <= drain.until - MARGIN || !waits
        })
    }

    /// Its storage serves one more HighIO job (C-44).
    fn is_high_io_good(&self, case: &Case<'_>) -> bool {
        if !case.job.wanted.high_io {
            return case.matched.io_source.is_empty();
        }
        let source = self.site_by_name.get(&case.matched.io_source);
        source.is_some_and(|it| {
            let of = &self.sites[*it as usize];
            of.held.high_io < of.quota.high_io_slots
        })
    }
}

fn seconds(at: Millis) -> i64 {
    at.div_euclid(SECOND)
}

impl Case<'_> {
    fn is_status_good(&self) -> bool {
        match self.site.quota.status {
            SiteStatus::Online => true,
            SiteStatus::Test => self.workflow.facts.site_test,
            SiteStatus::Drain | SiteStatus::Offline => false,
        }
    }

    /// It fits what is left of the offer (C-52..C-54).
    fn fits(&self) -> bool {
        let (wanted, matched, node) = (&self.job.wanted, self.matched, self.node);
        let takes_all = wanted.all_cores || wanted.whole_node;
        let most =
            if takes_all { node.cores } else { wanted.cores_max.unwrap_or(wanted.cores_min) };
        let is_whole = matched.cores == node.cores && node.left.0 == node.cores;
        (wanted.cores_min..=most).contains(&matched.cores)
            && (!wanted.whole_node || is_whole)
            && matched.cores <= node.left.0
            && matched.rss_mb <= node.left.1
            && matched.wall_time_s <= node.wall_left_s
            && matched.node == node.name
    }

    /// Whether it runs where none of its input is.
    fn overflows(&self) -> bool {
        self.job.wanted.sites.as_ref().is_some_and(|hosts| !hosts.contains(&self.node.site))
    }

    /// A match names a source if it overflows, and only then (C-34, C-42).
    fn is_listed_or_overflows(&self) -> bool {
        self.overflows() != self.matched.overflow_source.is_empty()
    }

    /// A central workflow overflows to few sites (C-40).
    fn is_overflow_bounded(&self) -> bool {
        let most = match (self.workflow.facts.max_overflow_sites, self.workflow.facts.class) {
            (Some(most), _) => most,
            (None, Class::Central) => OVERFLOW_SITES,
            (None, Class::Analysis) => i64::MAX,
        };
        let sites = &self.workflow.overflow_sites;
        !self.overflows() || sites.contains_key(&self.node.site) || (sites.len() as i64) < most
    }

    /// Resources for one group alone serve it alone, and the others what is for all (C-30).
    fn is_pool_good(&self, groups: &[String]) -> bool {
        let (site, weight) = (self.site, self.matched.weight_milli);
        let restricted = site.restricted_groups();
        if restricted.is_empty() {
            return self.matched.charged_group.is_empty();
        }
        let kappa = site.kappa_milli();
        let size = |group: &String| site.restricted_slots(group).unwrap_or(0) * kappa;
        let held = |group: &String| site.held.members.get(group).copied().unwrap_or(0);
        let charged = &self.matched.charged_group;
        if !charged.is_empty() {
            return groups.contains(charged) && held(charged) + weight <= size(charged);
        }
        let in_pools: i64 = restricted.iter().map(|group| held(group).min(size(group))).sum();
        site.held.weight - in_pools + weight <= site.shared_slots() * kappa
    }

    /// Blocks for one class alone serve no other (A.13 6).
    fn is_ceiling_good(&self) -> bool {
        let class = self.matched.class;
        let ceiling =
            self.site.ceiling_slots(class).filter(|_| self.matched.charged_group.is_empty());
        ceiling.is_none_or(|slots| {
            let open = self.site.held.open[class as usize];
            open + self.matched.weight_milli <= slots * self.site.kappa_milli()
        })
    }
}
