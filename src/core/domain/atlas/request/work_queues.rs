//! The work queues whose throttles are evaluated at a cut (spec atlas 10.5).

use super::throttles::{ThrottleEvaluation, Throttler};
use crate::event::ChunkKind;
use crate::judge::judging::JudgingInputs;
use crate::output::throttle::{Subject, SubjectKind, Throttle, share_and_type, work_queue};
use crate::policy::rule::Rule;
use crate::request::requests::Requests;
use std::collections::BTreeMap;

impl ThrottleEvaluation {
    /// The work queues that are evaluated, each with the index of its policy and whether a request
    /// of it waits: those with a waiting request that was judged in this cycle; from time to time
    /// all that are throttled, and those of requests that wait as a whole. Where two policies make
    /// jobs for one, that of the first request is evaluated.
    pub(super) fn work_queues(
        &self,
        judging: JudgingInputs<'_>,
        requests: &Requests,
    ) -> Vec<(usize, Subject, bool)> {
        let state = judging.view.state;
        let all = judging.policies.all().iter().enumerate();
        let is_on = all.map(|(at, policy)| {
            let ready = || judging.policies.ready(at, "", judging.view);
            policy.throttling().is_some() && policy.throttler(&ready().resolved).is_some()
        });
        let is_on: Vec<bool> = is_on.collect();
        let mut found: BTreeMap<Subject, (usize, bool)> = BTreeMap::new();
        let mut add = |subject: &str| {
            let task = state.requests.of(subject).and_then(|request| request.task.as_ref());
            if let Some(task) = task.filter(|task| task.chunk != ChunkKind::Merge)
                && let Some(at) = judging.policies.index(&task.policy).filter(|at| is_on[*at])
            {
                let gshare = judging.view.share_of(task);
                found.entry(work_queue(&gshare, &task.resource_type)).or_insert((at, true));
            }
        };
        self.judged.iter().filter(|subject| requests.waits(subject)).for_each(|it| add(it));
        if self.with_held || requests.parts() > 1 {
            requests.whole_waits_in_turn(state.number).for_each(&mut add);
            let stands = state.throttles.iter().filter(|(_, it)| it.stands(state.now));
            for (_, throttle) in stands.filter(|(_, it)| it.kind == SubjectKind::Share) {
                if let Some(at) = judging.policies.index(&throttle.policy) {
                    let subject = (SubjectKind::Share, throttle.subject.clone());
                    found.entry(subject).or_insert((at, false));
                }
            }
        }
        found.into_iter().map(|(subject, (at, asks))| (at, subject, asks)).collect()
    }
}

impl Throttler<'_> {
    /// Throttle records of a work queue, one per rule at most; `asks`: whether a request of it
    /// waits.
    pub(super) fn of_work_queue(&self, subject: &Subject, asks: bool) -> Vec<Throttle> {
        let view = self.judging.view;
        let (gshare, resource_type) = share_and_type(&subject.1);
        let ready = self.judging.policies.ready(self.at, gshare, view);
        let own = &ready.resolved.own;
        let work = self
            .policy
            .throttler(&ready.resolved)
            .and_then(|component| view.work_queue(component, (gshare, resource_type)));
        let gauges = work.map_or_else(Vec::new, |work| (self.throttling.of_work_queue)(&work, own));
        let throttle = |rule: Rule| {
            let gauge = gauges.iter().find(|gauge| gauge.rule == rule);
            self.throttle(subject, rule, gauge, asks)
        };
        Rule::OF_WORK_QUEUES.into_iter().filter_map(throttle).collect()
    }
}
