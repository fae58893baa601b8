//! Effects of the records of a pool of slots: jobs with what they want, workflows, offers, and our
//! own answers and commands about them.

use crate::cut::Topic;
use crate::domain::cms::output::Matched;
use crate::domain::cms::state::{
    PoolDrain, PoolJobState, PoolMatch, PoolNode, PoolOffer, PoolPriority, PoolWorkflowRecord,
};
use crate::event::{
    DecisionOutcome, JobState, OutcomeKind, OwnSlotOffer, Pilot, Requirements, SlotOffer, Task,
    TaskPhase, WorkflowFacts,
};
use crate::oddity::Oddity;
use crate::output::command::{Command, CommandKind};
use crate::output::decision::{Decision, Outcome};
use crate::state::State;
use crate::unit::{Millis, SECOND};

impl State {
    /// A job's state as its pool sees it.
    pub(crate) fn fold_pool_job(&mut self, event: &JobState<'_>, bound: Millis) {
        if self.setting.pool.is_none() {
            return;
        }
        let state = PoolJobState {
            attempt: event.attempt,
            status: event.status,
            changed_at: event.changed_at.min(bound),
            revision: event.revision,
            workflow: event.task.to_owned(),
            user: event.user.to_owned(),
            site: event.queue.to_owned(),
            cores: event.cores,
            created_at: event.created_at.min(bound),
            started_at: event.started_at.min(bound),
            ended_at: event.ended_at.min(bound),
        };
        let requirements = event.requirements.as_deref().map(Requirements::to_own);
        self.pool.join_job(event.job, state, requirements);
    }

    /// A workflow: no request, so nothing answers it.
    pub(crate) fn fold_workflow(&mut self, event: &Task, stated: &WorkflowFacts, bound: Millis) {
        if self.setting.pool.is_none() {
            return self.odd(Topic::Task, Oddity::OtherDomain);
        }
        let priority = PoolPriority {
            revision: stated.priority_revision,
            changed_at: event.changed_at.min(bound),
            priority: stated.priority,
            override_tail: stated.override_tail,
        };
        let mut facts = stated.clone();
        (facts.priority_revision, facts.priority, facts.override_tail) = Default::default();
        let record = PoolWorkflowRecord {
            changed_at: event.changed_at.min(bound),
            revision: event.revision,
            closed: event.phase == TaskPhase::Ended,
            user: event.user.clone(),
            working_group: event.working_group.clone(),
            injected_at: event.asked_at.min(bound),
            facts,
        };
        let Some(held) = self.pool.workflow_at(&event.task) else { return };
        let is_raise = held.priority.is_none_or(|known| known < priority);
        if is_raise {
            held.priority = Some(priority);
        }
        let is_newer = held.record.as_ref().is_none_or(|known| record.is_newer(known));
        let is_same = held.record.as_ref() == Some(&record);
        if is_newer {
            held.record = Some(record);
        }
        match (is_newer || is_raise, is_same) {
            (true, _) => _ = self.pool.unsettled.workflows.insert(event.task.clone()),
            (false, true) => self.odd(Topic::Task, Oddity::Repeated),
            (false, false) => self.odd(Topic::Task, Oddity::Stale),
        }
    }

    /// A decision was not carried out, whose match may have given a place to a job: that is settled
    /// at the cycle's end, when all is read that the job itself says.
    pub(crate) fn fold_match_outcome(&mut self, event: &DecisionOutcome) {
        if self.setting.pool.is_some() && event.kind != OutcomeKind::Accepted {
            self.pool.unsettled.not_done.insert(event.decision);
        }
    }

    /// An offer of free slots, or that it is taken back.
    pub(crate) fn fold_offer(&mut self, event: &Pilot<'_>, at: Millis) {
        if self.setting.pool.is_none() {
            return;
        }
        let latest = at.saturating_add(self.setting.limits.slot_offer_lifetime_ms);
        let (announced, withdrawn) = match event {
            Pilot::SlotOffer { offer, .. } => (offer.to_own(), false),
            &Pilot::SlotWithdrawn { offer, attempt, .. } => {
                (SlotOffer { offer, attempt, ..SlotOffer::default() }.to_own(), true)
            }
            _ => return,
        };
        let expires_at = match announced.expires_at {
            0 => latest,
            stated => stated.min(latest),
        };
        let offer = OwnSlotOffer { expires_at, ..announced };
        let site = event.queue().to_owned();
        if !offer.node.is_empty()
            && let Some(node) = self.pool.node_at(&offer.node)
        {
            node.join(at, &offer, &site);
            let name = offer.node.clone();
            self.arm_node(&name);
        }
        let (name, kept_until) = (offer.offer.clone(), latest);
        let new = PoolOffer {
            offer,
            site,
            changed_at: at,
            kept_until,
            withdrawn,
            ..PoolOffer::default()
        };
        let Some(held) = self.pool.offer_at(&name) else { return };
        if !held.join(new) {
            self.odd(Topic::Pilot, Oddity::Stale);
        }
        self.arm_offer(&name);
    }

    /// One of our answers; whether it is about a pool. Such an answer makes no request.
    pub(crate) fn fold_pool_decision(&mut self, decision: &Decision) -> bool {
        let is_request =
            || self.requests.of(&decision.subject).is_some() || self.is_answered(&decision.subject);
        match (&decision.outcome, &decision.matched) {
            _ if self.setting.pool.is_none() => return false,
            (Outcome::Assign(ranked), Some(matched)) => {
                let site = ranked.first().map_or("", |ranked| ranked.queue.as_str());
                self.fold_match(decision, matched, site);
            }
            _ if is_request() => return false,
            (Outcome::Defer { .. }, _) => self.fold_deferral(decision),
            // What was too large to be published as an assignment: the offer was answered.
            (Outcome::Reject { .. }, _) if self.is_offer(&decision.subject) => {
                self.fold_deferral(decision);
            }
            (Outcome::Reject { .. }, _) => self.fold_refusal(decision),
            (Outcome::Assign(_), None) => return false,
        }
        true
    }

    fn is_offer(&self, subject: &str) -> bool {
        self.pool.jobs.of(subject).is_none() && self.pool.offers.of(subject).is_some()
    }

    fn is_answered(&self, subject: &str) -> bool {
        self.answered.table.of(subject).is_some()
    }

    /// A job got a place of an offer. What is only published takes nothing.
    fn fold_match(&mut self, decision: &Decision, matched: &Matched, site: &str) {
        let clock = self.pool_clock(decision.now);
        if self.note_answer(decision)
            && !decision.dry_run
            && let Some(offer) = self.pool.offer_at(&decision.subject)
        {
            offer.take(matched, 1);
        }
        if decision.dry_run {
            return;
        }
        let Some(job) = self.pool.job_at(&matched.job) else { return };
        let newest = Some((matched.job_attempt, decision.now, decision.cycle));
        if job.last_match >= newest {
            return;
        }
        job.last_match = newest;
        let before = job.matched.replace(PoolMatch {
            decision: decision.id,
            offer: decision.subject.clone(),
            // An announcement has no number beyond 32 bits.
            announced: u32::try_from(decision.attempt).unwrap_or(u32::MAX),
            at: decision.now,
            clock,
            site: site.to_owned(),
            user: decision.user.clone(),
            workflow: decision.task.clone(),
            matched: matched.clone(),
        });
        before.iter().for_each(|it| _ = self.pool.matches.remove(&it.decision));
        self.pool.matches.insert(decision.id, matched.job.clone());
    }

    fn fold_deferral(&mut self, decision: &Decision) {
        if self.note_answer(decision)
            && let Some(offer) = self.pool.offer_at(&decision.subject)
        {
            offer.deferred_at = decision.now;
        }
    }

    /// Notes which answer to an announcement it is; whether it is a new one of the newest
    /// announcement.
    fn note_answer(&mut self, decision: &Decision) -> bool {
        let Some(offer) = self.pool.offer_at(&decision.subject) else { return false };
        // An announcement has no number beyond 32 bits: such an answer is to none.
        let is_newest = u32::try_from(decision.attempt).is_ok_and(|attempt| offer.reach(attempt));
        let is_news = is_newest && offer.answers < decision.ordinal;
        if is_news {
            offer.answers = decision.ordinal;
        } else {
            self.odd(Topic::Decision, Oddity::Repeated);
        }
        self.arm_offer(&decision.subject);
        is_news
    }

    fn fold_refusal(&mut self, decision: &Decision) {
        let Some(job) = self.pool.job_at(&decision.subject) else { return };
        // A job has no attempt beyond 32 bits: such a refusal is of none.
        let refused = u32::try_from(decision.attempt).ok();
        let is_news = job.refused < refused;
        job.refused = job.refused.max(refused);
        if !is_news {
            self.odd(Topic::Decision, Oddity::Repeated);
        }
    }

    /// The time on the clock of the job-state lanes when a decision was made: as long ago as the
    /// decision is.
    fn pool_clock(&self, then: Millis) -> Millis {
        let age = self.now.saturating_sub(then);
        self.times.of(Topic::JobState).clock.saturating_sub(age)
    }

    /// A command about a workflow or a node that is to be carried out.
    pub(crate) fn fold_pool_command(&mut self, command: &Command) {
        let Command { kind, subject, now, .. } = command;
        if self.setting.pool.is_none() || !command.is_order() {
            return;
        }
        match kind {
            CommandKind::Boost
            | CommandKind::KillWorkflow
            | CommandKind::Alert
            | CommandKind::Profile => {
                let Some(workflow) = self.pool.workflow_at(subject) else { return };
                let profile = (command.measured as i64, command.limit as i64);
                match kind {
                    CommandKind::Boost => workflow.boosted = true,
                    CommandKind::KillWorkflow => workflow.killed = true,
                    CommandKind::Alert => workflow.alerted = true,
                    _ => workflow.profile = workflow.profile.max(Some(profile)),
                }
                workflow.used_at = workflow.used_at.max(*now);
                self.arm_workflow(subject);
            }
            CommandKind::Drain | CommandKind::Undrain => {
                let Some(node) = self.pool.node_at(subject) else { return };
                let since = command.clock_at.unwrap_or(*now);
                match kind {
                    CommandKind::Drain => begin_drain(node, command, since),
                    _ => end_drain(node, since),
                }
                self.arm_node(subject);
            }
            CommandKind::Rebroker
            | CommandKind::Reassign
            | CommandKind::Kill
            | CommandKind::Fail => {}
        }
    }
}

/// A node is kept free for a job; one begun earlier, or known to be over, has no effect.
fn begin_drain(node: &mut PoolNode, command: &Command, since: Millis) {
    if node.site.is_empty() {
        node.site = command.queue.clone();
    }
    let start = since.min(command.now);
    if let Err(at) = node.drain_starts.binary_search(&start) {
        node.drain_starts.insert(at, start);
    }
    let job = command.jobs.first().cloned().unwrap_or_default();
    let until_s = since.div_euclid(SECOND).saturating_add(command.measured as i64);
    let is_newer = node.drain.as_ref().is_none_or(|known| known.since < since);
    if since > node.ended_drain && is_newer {
        node.drain = Some(PoolDrain { job, until_s, since });
    }
}

/// A node is kept free no longer: neither for what was begun then, nor for what was before.
fn end_drain(node: &mut PoolNode, since: Millis) {
    node.ended_drain = node.ended_drain.max(since);
    if node.drain.as_ref().is_some_and(|drain| drain.since <= since) {
        node.drain = None;
    }
}
