//! Requests, and what became of their answers.

use crate::content::content_of;
use crate::cut::Topic;
use crate::event::{DecisionOutcome, OutcomeAbout, Task};
use crate::oddity::Oddity;
use crate::state::State;
use crate::state::admit::PLAUSIBLE_FROM;
use crate::state::answered::Answered;
use crate::state::record::RequestState;
use crate::unit::Millis;

impl State {
    pub(super) fn fold_task(&mut self, event: &Task, bound: Millis) {
        if event.domain != self.setting.domain {
            return self.odd(Topic::Task, Oddity::OtherDomain);
        }
        if let Some(facts) = &event.workflow {
            return self.fold_workflow(event, facts, bound);
        }
        let mut new = event.clone();
        new.drop_blanks();
        new.changed_at = new.changed_at.min(bound);
        new.asked_at = new.asked_at.min(bound);
        let subject = new.subject.clone();
        let Some(request) = self.request_at(&subject) else { return };
        let is_stale = match &request.task {
            Some(old) if *old == new => return self.odd(Topic::Task, Oddity::Repeated),
            Some(old) => !is_newer(&new, old),
            None => false,
        };
        let before = if is_stale { Some(new) } else { request.task.replace(new) };
        let is_passed = before.as_ref().is_some_and(|older| request.pass_over(older));
        if is_stale {
            if is_passed {
                self.subject_changed(subject);
            }
            return self.odd(Topic::Task, Oddity::Stale);
        }
        if let Some(before) = &before {
            self.replicas.leave_request(before);
        }
        if let Some(before) = before.filter(|before| before.task != event.task) {
            self.forget_chunk(&before.task, &subject);
            self.touched.subjects.insert(before.task);
        }
        self.name_datasets(&subject);
        self.chunks.at(event.task.clone()).insert(subject.clone());
        // The end of a task is the end of its chunks.
        for chunk in self.chunks.get(&subject).cloned().unwrap_or_default() {
            self.subject_changed(chunk);
        }
        self.subject_changed(subject);
    }

    /// Requests of this cycle that state a time ahead of its `now` by more than the limit count
    /// as of `now`: the log's stamp on them lies ahead too, and they want an answer all the same.
    pub(crate) fn bound_requests(&mut self, now: Millis) {
        if now < PLAUSIBLE_FROM {
            // No cycle had a time yet: nothing is known to be ahead of it.
            return;
        }
        let latest = now.saturating_add(self.setting.limits.own_time_ahead_ms);
        self.times.lanes.bound(Topic::Task, latest, now);
        let is_ahead = |subject: &&String| {
            let task = self.requests.of(subject).and_then(|request| request.task.as_ref());
            task.is_some_and(|task| task.changed_at.max(task.asked_at) > latest)
        };
        let ahead: Vec<String> = self.touched.subjects.iter().filter(is_ahead).cloned().collect();
        for subject in ahead {
            let request = self.requests.at(&subject, Default::default);
            if let Some(task) = request.and_then(|request| request.task.as_mut()) {
                for time in [&mut task.changed_at, &mut task.asked_at] {
                    *time = if *time > latest { now } else { *time };
                }
            }
            self.odd(Topic::Task, Oddity::FromTheFuture);
            self.arm_subject(subject);
        }
    }

    pub(super) fn fold_outcome(&mut self, event: &DecisionOutcome, bound: Millis) {
        let at = event.at.min(bound);
        match event.about {
            OutcomeAbout::Decision => self.fold_decision_outcome(event, at),
            OutcomeAbout::Command => self.fold_command_outcome(event, at),
        }
    }

    fn fold_decision_outcome(&mut self, event: &DecisionOutcome, at: Millis) {
        self.fold_match_outcome(event);
        if self.requests.of(&event.subject).is_none()
            && self.answered.table.of(&event.subject).is_none()
        {
            if self.pool.offers.of(&event.subject).is_some() {
                // A match that is carried out is what becomes of its job.
                return;
            }
            self.odd(Topic::Outcome, Oddity::UnknownDecision);
            if self.setting.pool.is_some() {
                return;
            }
        }
        let Some(request) = self.request_at(&event.subject) else { return };
        request.heard_at = request.heard_at.max(at);
        if request.outcomes.get(&event.decision).is_some_and(|known| *known >= event.kind) {
            return self.odd(Topic::Outcome, Oddity::Repeated);
        }
        request.outcomes.insert(event.decision, event.kind);
        let open = request.reservations.len();
        request.reservations.retain(|reservation| reservation.decision != event.decision);
        // An outcome that names another subject's decision ends nothing.
        if request.reservations.len() < open {
            self.close_reservation(event.decision);
        }
        self.subject_changed(event.subject.clone());
    }

    /// The record of a subject, made when there is none. What was kept of an earlier answer is
    /// known again.
    pub(super) fn request_at(&mut self, subject: &str) -> Option<&mut RequestState> {
        let answered = self.answered.remove(subject);
        self.requests.at(subject, || RequestState {
            subject: subject.to_owned(),
            heard_at: answered.as_ref().map_or(0, |answered| answered.now),
            answer: answered.as_ref().map(Answered::answer),
            ..RequestState::default()
        })
    }

    /// A subject is no longer one of a task's.
    pub(crate) fn forget_chunk(&mut self, task: &str, subject: &str) {
        if self.chunks.contains_key(task) {
            let chunks = self.chunks.at(task.to_owned());
            chunks.remove(subject);
            if chunks.is_empty() {
                self.chunks.remove(task);
            }
        }
    }

    /// Notes that a subject is to be looked at, and when it may be forgotten.
    pub(super) fn subject_changed(&mut self, subject: String) {
        self.arm_subject(subject.clone());
        self.touched.subjects.insert(subject);
    }

    /// Sets the deadline at which a subject may be forgotten, or expires.
    pub fn arm_subject(&mut self, subject: String) {
        if let Some(over) = self.subject_over(&subject) {
            self.timers.subjects.set(over, &subject);
        }
    }

    /// When a subject may be forgotten, if it has its final answer by then: its lifetime after the
    /// end of itself or of its task, or after its last record if no end is ever published.
    pub(crate) fn subject_over(&self, subject: &str) -> Option<Millis> {
        let limits = &self.setting.limits;
        let request = self.requests.of(subject)?;
        let Some(task) = request.task.as_ref() else {
            return Some(request.heard_at.saturating_add(limits.request_lifetime_ms));
        };
        Some(match self.ended_at(task) {
            Some(ended) => ended.saturating_add(limits.answered_request_lifetime_ms),
            None => task.changed_at.saturating_add(limits.request_lifetime_ms),
        })
    }
}

/// Which of two records of a subject is newer: attempt, ended or not, time, revision, content.
fn is_newer(one: &Task, other: &Task) -> bool {
    let order = |task: &Task| (task.attempt, task.phase, task.changed_at, task.revision);
    order(one).cmp(&order(other)).then_with(|| content_of(one).cmp(&content_of(other)))
        == std::cmp::Ordering::Greater
}
