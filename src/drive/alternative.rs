//! Other rules beside those of a log that is followed: at each recorded cycle the recorded outputs
//! are folded, and each request that the cycle answers is judged by the other rules too, each on
//! its own against the state that the log had then. Nothing is published.

use crate::Drive;
use crate::port::{Log, Store};
use crate::read_back::ReadOutput;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::difference::{Change, Differences, change};
use yardmaster_core::engine::{Again, Engine, RuleChoice};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::output::progress::Progress;
use yardmaster_core::policy::Policy;
use yardmaster_core::state::supposed::Supposed;
use yardmaster_core::unit::{MINUTE, Millis};

/// How long after it was looked at a request that waits is judged again by the other rules, unless
/// the log answers it before; ms.
const LOOK_AGAIN: Millis = 10 * MINUTE;

/// Which cycles are judged by other rules, and what was found.
pub struct Alternative {
    policies: Vec<Policy>,
    /// Configuration records that are supposed to be others.
    supposed: Vec<Supposed>,
    /// The first `now` of a cycle that is compared, and the last; ms since 1970.
    pub during: [Millis; 2],
    /// Cycles that were compared.
    pub cycles: u64,
    /// Answers in cycles that were counted at another time than they were made at.
    pub repaired: u64,
    /// Answers that differ from those of the log.
    pub differences: Differences,
    /// Requests and offers that wait, by when each is judged again.
    due: Due,
    is_begun: bool,
}

impl Alternative {
    /// Compares cycles with a `now` between two moments, both included, and keeps the first so many
    /// requests that differ.
    pub fn new(policies: Vec<Policy>, from: Millis, to: Millis, first_max: usize) -> Alternative {
        Alternative {
            policies,
            supposed: Vec::new(),
            during: [from, to],
            cycles: 0,
            repaired: 0,
            differences: Differences::new(first_max),
            due: Due::default(),
            is_begun: false,
        }
    }

    /// The same, by configuration records that are supposed to be others.
    pub fn suppose(self, supposed: Vec<Supposed>) -> Alternative {
        Alternative { supposed, ..self }
    }

    /// Tells an engine the rules that are asked.
    pub(super) fn set_in(&self, engine: &mut Engine) {
        engine.set_alternative(self.policies.clone(), self.supposed.clone());
    }

    fn covers(&self, now: Millis) -> bool {
        (self.during[0]..=self.during[1]).contains(&now)
    }
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Judges by other rules too from here on.
    pub fn set_alternative(&mut self, alternative: Alternative) {
        alternative.set_in(&mut self.engine);
        self.alternative = Some(Box::new(alternative));
    }

    /// Takes out the comparison with the other rules, and ends it.
    pub fn take_alternative(&mut self) -> Option<Alternative> {
        self.alternative.take().map(|alternative| *alternative)
    }

    /// Folds the outputs of a cycle that was closed, and judges what they answer by other rules
    /// too. Gives the outputs back if there are no other rules, or none for this cycle.
    pub(super) fn judge_beside(
        &mut self,
        progress: &Progress,
        published: Vec<ReadOutput>,
    ) -> Option<Vec<ReadOutput>> {
        let now = self.engine.state.now;
        let is_asked = |it: &mut Box<Alternative>| it.covers(now) && !progress.quiet;
        let Some(mut alternative) = self.alternative.take_if(is_asked) else {
            return Some(published);
        };
        // Made at another `now` than it is counted at: the cases are others.
        if self.repairs.covers(progress.number) {
            alternative.repaired += published.len() as u64;
            self.alternative = Some(alternative);
            return Some(published);
        }
        self.engine.settle();
        if !std::mem::replace(&mut alternative.is_begun, true) {
            for waiting in self.engine.waiting_requests() {
                alternative.due.insert(waiting, now);
            }
        }
        alternative.cycles += 1;
        for published in published {
            if let Output::Decision(_) = published.output
                && let Some(Output::Decision(recorded)) = self.whole(&published)
            {
                let again = self.engine.answered(&recorded);
                self.judge_answered(&mut alternative.differences, &again, *recorded);
                // A request that is deferred rests; an offer may have room for one more job.
                let is_request = matches!(again, Again::Request(_));
                alternative.due.insert(again, if is_request { now + LOOK_AGAIN } else { now });
            }
            self.take_output(published);
        }
        self.judge_waiting(&mut alternative);
        self.alternative = Some(alternative);
        None
    }

    /// Judges by the other rules what a recorded decision answers, before it is folded. An answer
    /// that differs counts only if the log's own rules give the recorded one.
    fn judge_answered(&mut self, found: &mut Differences, again: &Again, recorded: Decision) {
        let number = recorded.number;
        let other = self.engine.judge_again(again, number, RuleChoice::Alternative);
        if change(&recorded, other.as_ref()) != Change::Same {
            let own = self.engine.judge_again(again, number, RuleChoice::Own);
            if change(&recorded, own.as_ref()) != Change::Same {
                return found.note_not_made_again();
            }
        }
        found.note(recorded, other);
    }

    /// Judges by the other rules what waits still, where that is due. What the log's own rules
    /// would assign too only waits for its turn.
    fn judge_waiting(&mut self, alternative: &mut Alternative) {
        let now = self.engine.state.now;
        let number = u32::MAX;
        for again in alternative.due.take(now) {
            if !self.engine.is_open(&again) {
                continue;
            }
            let mut assigned = |rules| {
                let answer = self.engine.judge_again(&again, number, rules);
                answer.filter(|it| matches!(it.outcome, Outcome::Assign(_)))
            };
            let other = assigned(RuleChoice::Alternative);
            match other.filter(|_| assigned(RuleChoice::Own).is_none()) {
                Some(other) => alternative.differences.note_earlier(other),
                None => alternative.due.insert(again, now + LOOK_AGAIN),
            }
        }
    }
}

/// Requests and offers that wait, each with the moment at which it is looked at next.
#[derive(Default)]
struct Due {
    at: BTreeMap<Again, Millis>,
    order: BTreeSet<(Millis, Again)>,
}

impl Due {
    /// Sets when something is looked at next.
    fn insert(&mut self, again: Again, at: Millis) {
        if let Some(before) = self.at.insert(again.clone(), at) {
            self.order.remove(&(before, again.clone()));
        }
        self.order.insert((at, again));
    }

    /// Takes out all that is due, in order.
    fn take(&mut self, now: Millis) -> Vec<Again> {
        let mut due = Vec::new();
        while self.order.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, again)) = self.order.pop_first()
        {
            self.at.remove(&again);
            due.push(again);
        }
        due
    }
}
