//! Which of two versions of a part of a record is newer, and what follows from a record alone.

use super::{
    PoolEnd, PoolJob, PoolJobState, PoolNode, PoolOffer, PoolRecords, PoolWorkflow,
    PoolWorkflowRecord,
};
use crate::content::{Content, content_of};
use crate::domain::cms::output::Matched;
use crate::event::{OwnRequirements, OwnSlotOffer, Status};
use crate::unit::{HOUR, Millis, SECOND};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Ends of one pilot, as its offers state them, lie less apart.
const PILOTS_APART: Millis = HOUR;

impl PoolRecords {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
            && self.workflows.is_empty()
            && self.offers.is_empty()
            && self.users.is_empty()
            && self.nodes.is_empty()
    }

    /// The record of a job, made if there is none; to be changed.
    pub(crate) fn job_at(&mut self, job: &str) -> Option<&mut PoolJob> {
        self.touched.jobs.insert(job.to_owned());
        self.unsettled.jobs.insert(job.to_owned());
        self.jobs.at(job, || PoolJob { job: job.to_owned(), ..PoolJob::default() })
    }

    /// The record of a workflow, made if there is none; to be changed.
    pub(crate) fn workflow_at(&mut self, workflow: &str) -> Option<&mut PoolWorkflow> {
        self.touched.workflows.insert(workflow.to_owned());
        let make = || PoolWorkflow { workflow: workflow.to_owned(), ..PoolWorkflow::default() };
        self.workflows.at(workflow, make)
    }

    /// The record of an offer, made if there is none; to be changed.
    pub(crate) fn offer_at(&mut self, offer: &str) -> Option<&mut PoolOffer> {
        self.touched.offers.insert(offer.to_owned());
        let named = OwnSlotOffer { offer: offer.to_owned(), ..OwnSlotOffer::default() };
        self.offers.at(offer, || PoolOffer { offer: named, ..PoolOffer::default() })
    }

    /// The record of a node, made if there is none; to be changed.
    pub(crate) fn node_at(&mut self, node: &str) -> Option<&mut PoolNode> {
        self.touched.nodes.insert(node.to_owned());
        self.nodes.at(node, || PoolNode { node: node.to_owned(), ..PoolNode::default() })
    }

    /// A job is not barred from an announcement of an offer any more.
    pub(crate) fn unbar(&mut self, offer: &str, job: &str) {
        if let Some(jobs) = self.barred.get_mut(offer) {
            jobs.remove(job);
            if jobs.is_empty() {
                self.barred.remove(offer);
            }
        }
    }

    /// Joins the state of a job, and what it wants, if that is stated.
    pub(crate) fn join_job(
        &mut self,
        job: &str,
        state: PoolJobState,
        requirements: Option<OwnRequirements>,
    ) {
        if state.status.is_ended() {
            self.join_end(
                job,
                PoolEnd { state: state.clone(), requirements: requirements.clone() },
            );
        }
        let Some(held) = self.job_at(job) else { return };
        if state.created_at > 0 && (held.created_at == 0 || state.created_at < held.created_at) {
            held.created_at = state.created_at;
        }
        if let Some(new) = requirements {
            let order = (state.attempt, state.changed_at, state.revision);
            let known = held.requirements.as_ref();
            let is_newer = known.is_none_or(|(attempt, changed_at, revision, known)| {
                let content = || content_of(&new).cmp(&content_of(known));
                order.cmp(&(*attempt, *changed_at, *revision)).then_with(content)
                    == Ordering::Greater
            });
            if is_newer {
                held.requirements = Some((order.0, order.1, order.2, new));
            }
        }
        if held.state.as_ref().is_some_and(|known| !state.is_newer(known)) {
            return;
        }
        let (now_in, was_in) = (state.workflow.clone(), held.state.replace(state));
        let was_in = was_in.map(|old| old.workflow);
        if was_in.as_ref() != Some(&now_in) {
            self.count_job(&now_in, true);
            was_in.iter().for_each(|workflow| self.count_job(workflow, false));
        }
    }

    /// Keeps the newest report of the end of an attempt until the cycle's end.
    fn join_end(&mut self, job: &str, end: PoolEnd) {
        let name = (job.to_owned(), end.state.attempt);
        let order = |end: &PoolEnd| content_of(&end.requirements);
        match self.unsettled.ends.get_mut(&name) {
            Some(known) => {
                let newer = end.state.order(&known.state);
                if newer.then_with(|| order(&end).cmp(&order(known))) == Ordering::Greater {
                    *known = end;
                }
            }
            None => _ = self.unsettled.ends.insert(name, end),
        }
    }

    /// Counts a job of a workflow, or counts it no more.
    pub(crate) fn count_job(&mut self, workflow: &str, more: bool) {
        match (self.jobs_of.get_mut(workflow), more) {
            (Some(count), true) => *count += 1,
            (None, true) => _ = self.jobs_of.insert(workflow.to_owned(), 1),
            (Some(count), false) if *count > 1 => *count -= 1,
            (_, false) => _ = self.jobs_of.remove(workflow),
        }
    }
}

impl PoolJobState {
    /// Whether its payload started.
    pub fn is_started(&self) -> bool {
        self.status.is_under_way() || (self.started_at != 0 && self.status != Status::Held)
    }

    /// When it ended, for forgetting: its payload's end, else the state's time.
    pub fn over_at(&self) -> Millis {
        if self.ended_at != 0 { self.ended_at } else { self.changed_at }
    }

    /// By attempt, ended or not, time, revision, rank, content. Of two ends of an attempt the first
    /// is final (C-09).
    fn order(&self, other: &PoolJobState) -> Ordering {
        let rank = |it: &PoolJobState| (it.attempt, it.status.is_ended());
        let later = |it: &PoolJobState| (it.changed_at, it.revision, it.status);
        let later =
            later(self).cmp(&later(other)).then_with(|| content_of(self).cmp(&content_of(other)));
        let is_end = self.status.is_ended() && other.status.is_ended();
        rank(self).cmp(&rank(other)).then(if is_end { later.reverse() } else { later })
    }

    fn is_newer(&self, known: &PoolJobState) -> bool {
        self.order(known) == Ordering::Greater
    }
}

impl PoolJob {
    /// Whether it waits for a place: it neither started nor ended nor is held, and was neither
    /// matched nor refused in its attempt.
    pub fn waits(&self) -> bool {
        let Some(state) = &self.state else { return false };
        let is_matched = |it: &super::PoolMatch| it.matched.job_attempt >= state.attempt;
        !state.status.is_ended()
            && state.status != Status::Held
            && !state.is_started()
            && !self.matched.as_ref().is_some_and(is_matched)
            && self.refused.is_none_or(|refused| refused < state.attempt)
    }

    /// Whether its payload started in the attempt that is known.
    pub(crate) fn has_run(&self) -> bool {
        self.state.as_ref().is_some_and(|it| it.is_started() || it.started_at != 0)
    }

    /// Whether it has a place: it was matched, or started and has not ended.
    pub fn held(&self) -> bool {
        let runs = |state: &PoolJobState| state.is_started() && !state.status.is_ended();
        self.matched.is_some() || self.state.as_ref().is_some_and(runs)
    }
}

impl PoolWorkflowRecord {
    /// By time, revision, content.
    pub(crate) fn is_newer(&self, known: &PoolWorkflowRecord) -> bool {
        let rank = |it: &PoolWorkflowRecord| (it.changed_at, it.revision);
        let content = || content_of(self).cmp(&content_of(known));
        rank(self).cmp(&rank(known)).then_with(content) == Ordering::Greater
    }
}

impl PoolOffer {
    /// Order of two announcements: attempt, time, whether it is taken back, content.
    fn order(&self) -> (u32, Millis, bool, Content) {
        let content = content_of(&(&self.offer, self.site.as_str()));
        (self.offer.attempt, self.changed_at, self.withdrawn, content)
    }

    /// Joins an announcement; whether it is news. What was taken is of one announcement: an attempt
    /// more begins without.
    pub(crate) fn join(&mut self, new: PoolOffer) -> bool {
        self.kept_until = self.kept_until.max(new.kept_until);
        let is_newer = new.order() > self.order();
        if is_newer {
            self.reach(new.offer.attempt);
            (self.offer, self.site) = (new.offer, new.site);
            (self.changed_at, self.withdrawn) = (new.changed_at, new.withdrawn);
        }
        is_newer
    }

    /// Takes up an attempt; whether it is the newest now. Nothing is known of a new one.
    pub(crate) fn reach(&mut self, attempt: u32) -> bool {
        if self.offer.attempt < attempt {
            let offer = std::mem::take(&mut self.offer.offer);
            let kept_until = self.kept_until;
            let named = OwnSlotOffer { offer, attempt, ..OwnSlotOffer::default() };
            *self = PoolOffer { offer: named, kept_until, ..PoolOffer::default() };
        }
        self.offer.attempt == attempt
    }

    /// Cores that nobody has of it.
    pub fn cores_left(&self) -> i64 {
        self.offer.cores_free.saturating_sub(self.cores_taken)
    }

    /// Memory that nobody has of it, MB.
    pub fn mem_left_mb(&self) -> i64 {
        self.offer.mem_free_mb.saturating_sub(self.mem_taken_mb)
    }

    /// An amount of a named resource that nobody has of it; 0 of one that it does not name.
    pub fn resource_left(&self, name: &str) -> i64 {
        let offered = self.offer.resources.iter().find(|it| it.name == name);
        let taken = self.resources_taken.get(name).copied().unwrap_or(0);
        offered.map_or(0, |it| it.amount.saturating_sub(taken))
    }

    /// A match takes its place, or gives it back: `sign` is 1 or -1.
    pub(crate) fn take(&mut self, matched: &Matched, sign: i64) {
        let add = |to: &mut i64, amount: i64| *to = to.saturating_add(sign.saturating_mul(amount));
        add(&mut self.cores_taken, matched.cores);
        add(&mut self.mem_taken_mb, matched.rss_mb);
        for it in &matched.resources {
            let taken = self.resources_taken.entry(it.name.clone()).or_default();
            add(taken, it.amount);
            if *taken == 0 {
                self.resources_taken.remove(&it.name);
            }
        }
    }

    /// Time that its pilot has left at a moment, s.
    pub fn wall_left_s(&self, now: Millis) -> i64 {
        let passed_s = now.saturating_sub(self.changed_at).div_euclid(SECOND).max(0);
        self.offer.wall_left_s.saturating_sub(passed_s)
    }

    /// Whether it holds at a moment.
    pub fn is_live(&self, now: Millis) -> bool {
        self.changed_at != 0 && !self.withdrawn && now < self.offer.expires_at
    }
}

impl PoolNode {
    /// Joins what an offer states of it.
    pub(crate) fn join(&mut self, at: Millis, offer: &OwnSlotOffer, site: &str) {
        self.wall_most_s = self.wall_most_s.max(offer.wall_left_s);
        let ends_at = at.saturating_add(offer.wall_left_s.saturating_mul(SECOND));
        // What the pilot before had on the node is gone with it: the next one ends later.
        let is_next = self.seen_at != 0 && ends_at.saturating_sub(self.ends_at) > PILOTS_APART;
        let is_before = self.ends_at.saturating_sub(ends_at) > PILOTS_APART;
        let is_newer = at > self.seen_at;
        if is_next && is_newer {
            (self.mem_most_mb, self.resources_most) = (0, BTreeMap::new());
        }
        if is_newer || !(is_next || is_before) {
            self.mem_most_mb = self.mem_most_mb.max(offer.mem_free_mb);
            for it in &offer.resources {
                let most = self.resources_most.entry(it.name.clone()).or_default();
                *most = (*most).max(it.amount);
            }
        }
        let known = (self.seen_at, self.cores_total, self.site.as_str(), self.mem_free_mb);
        let known = (known, self.ends_at, self.block.as_str(), self.corepower_mhs06, &self.labels);
        let new = (at, offer.cores_total, site, offer.mem_free_mb);
        if (new, ends_at, offer.block.as_str(), offer.corepower_mhs06, &offer.labels) <= known {
            return;
        }
        self.labels.clone_from(&offer.labels);
        (self.seen_at, self.cores_total, self.site) = (at, offer.cores_total, site.to_owned());
        (self.mem_free_mb, self.ends_at) = (offer.mem_free_mb, ends_at);
        (self.block, self.corepower_mhs06) = (offer.block.clone(), offer.corepower_mhs06);
    }
}
