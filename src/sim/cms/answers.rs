//! Decisions are heard: jobs get what they were given, or are rejected.

use super::Cms;
use super::held::Holding;
use super::jobs::CmsStage;
use yardmaster_core::domain::cms::output::Matched;
use yardmaster_core::event::Status;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::unit::{MINUTE, Millis};

/// Within this a job that is held is known to be.
const HELD_IS_READ: Millis = 2 * MINUTE;

impl Cms {
    /// Hears a decision.
    pub(super) fn hear(&mut self, decision: &Decision) {
        if decision.dry_run || decision.domain != self.domain {
            return;
        }
        match (&decision.outcome, &decision.matched) {
            (Outcome::Assign(_), Some(matched)) => self.hear_match(decision, matched),
            (Outcome::Assign(_), None) => self.violated("an assignment without a match"),
            (Outcome::Reject { reason }, _) => self.hear_rejection(&decision.subject, reason),
            (Outcome::Defer { .. }, _) => self.count.deferrals += 1,
        }
    }

    /// A job got slots of an offer, if both are still there.
    fn hear_match(&mut self, decision: &Decision, matched: &Matched) {
        let node = self.node_by_offer.get(&decision.subject).copied();
        let is_newest = |node: &u32| {
            let of = &self.nodes[*node as usize];
            of.is_offered && u64::from(of.announced) == decision.attempt + 1
        };
        let handle = self.job_by_name.get(&matched.job).copied();
        let waits = self.jobs_wait(handle, matched.job_attempt);
        let (Some(node), Some(handle)) = (node.filter(is_newest), handle.filter(|_| waits)) else {
            self.count.stale += 1;
            // The match may have been made before that was read.
            let is_held = |since: Millis| self.now - since > HELD_IS_READ;
            let job = handle.and_then(|it| self.jobs.get(it));
            if job.is_some_and(|it| matches!(it.stage, CmsStage::Held(since) if is_held(since))) {
                self.violated("a held job matched");
            }
            return;
        };
        for what in self.complaints(node, handle, decision, matched) {
            self.violated(what);
        }
        let Some(holding) = self.holding(node, handle, matched) else { return };
        let (class, band) = (holding.class.name(), holding.band.name());
        *self.count.matched.entry((class, band)).or_default() += 1;
        for rule in &matched.relaxed {
            *self.count.relaxed.entry(rule.clone()).or_default() += 1;
        }
        if !matched.overflow_source.is_empty() {
            let host = matched.overflow_source.clone();
            *self.count.overflow.entry(host).or_default() += 1;
        }
        self.count.high_io += u64::from(!matched.io_source.is_empty());
        self.count.charged += u64::from(!matched.charged_group.is_empty());
        if let Some(source) = holding.io_source {
            let of = &self.sites[source as usize];
            let part = (of.held.high_io + 1, of.quota.high_io_slots);
            self.count.high_io_most = self.count.high_io_most.max(part);
        }
        self.hold(handle, holding);
        if let Some(job) = self.jobs.get_mut(handle) {
            job.matched = Some((decision.subject.clone(), decision.attempt, decision.id));
        }
        self.is_matched(handle);
    }

    fn jobs_wait(&self, handle: Option<crate::grid::Handle>, attempt: u32) -> bool {
        let job = handle.and_then(|it| self.jobs.get(it));
        job.is_some_and(|job| job.stage == CmsStage::Waiting && job.attempt == attempt)
    }

    /// Resources that a job holds by its match.
    fn holding(
        &self,
        node: u32,
        handle: crate::grid::Handle,
        matched: &Matched,
    ) -> Option<Holding> {
        let job = self.jobs.get(handle)?;
        let user = job.workflow.and_then(|it| self.workflows.get(it)).map_or(0, |it| it.user);
        let of = &self.nodes[node as usize];
        let groups = &self.users[user].groups;
        let restricted = self.sites[of.site as usize].restricted_groups();
        Some(Holding {
            node,
            pilot: of.pilot,
            site: of.site,
            class: matched.class,
            band: matched.band,
            user,
            cores: matched.cores,
            rss_mb: matched.rss_mb,
            weight_milli: matched.weight_milli,
            overflow_source: self.site_by_name.get(&matched.overflow_source).copied(),
            io_source: self.site_by_name.get(&matched.io_source).copied(),
            groups: restricted.into_iter().filter(|group| groups.contains(group)).collect(),
            is_charged: !matched.charged_group.is_empty(),
            counts_from: None,
        })
    }

    /// A job is rejected: it is taken away. Only those that cannot be are, each by its code.
    fn hear_rejection(&mut self, subject: &str, reason: &str) {
        let Some(&handle) = self.job_by_name.get(subject) else { return };
        let Some(job) = self.jobs.get(handle).filter(|it| it.stage == CmsStage::Waiting) else {
            return;
        };
        match job.bad.as_ref().map(|bad| bad.code) {
            Some(code) if code == reason => {
                *self.count.rejected.entry(code.to_owned()).or_default() += 1;
            }
            Some(_) => self.violated("rejected by another code"),
            None => self.violated("a good job rejected"),
        }
        self.over(handle, Status::Closed, None);
    }

    /// Something does not hold.
    pub(super) fn violated(&mut self, what: &'static str) {
        *self.count.violations.entry(what).or_default() += 1;
    }
}
