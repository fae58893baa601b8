//! The requests that are open at a cut: which are to be judged, and which are deferred and wait.

use crate::domain::atlas::judge::world::World;
use crate::domain::atlas::request::touch::{Kinds, TouchLog, kinds};
use crate::judge::judging::JudgingInputs;
use crate::judge::policies::Policies;
use crate::request::waiting::{QueueBlockers, Turn, Waiting, WaitingList};
use crate::state::State;
use crate::state::admit::{Refusal, asked_attempt, is_open};
use crate::state::record::RequestState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Open requests: those to be judged, those that wait, and what their blockers read. Derived from
/// the state, but for `is_crowded` and for which waiting requests need not be evaluated.
pub(crate) struct Requests {
    /// To be judged in any case: new, due, or under another policy.
    ready: BTreeSet<Turn>,
    /// The turns in `ready`, by subject: a priority may change while one waits.
    ready_at: BTreeMap<String, Turn>,
    /// Deferred subjects among those in `ready`: their deferral is due, or its policy changed.
    ready_again: BTreeSet<String>,
    /// Deferred, by subject.
    pub(super) waiting: WaitingList,
    /// When what blockers read last changed.
    pub(crate) touch_log: TouchLog,
    /// By index of the policy, what each of its filters reads.
    pub(crate) reads: Vec<Vec<Kinds>>,
    /// For so many cycles more some waiting requests have not had their turn since everything
    /// changed or the budget was short.
    turns_left: u64,
    /// In how many parts waiting requests take turns in this cycle.
    pub(super) parts: u64,
    /// Nothing here is up to date: after loading, after folding without judging.
    is_cold: bool,
    /// Some found no room in the budget of this cycle.
    is_crowded: bool,
}

/// Where a subject stands.
enum Standing {
    /// Nothing is wanted, or the final answer was given.
    Closed,
    /// To be judged now.
    Ready,
    /// Deferred.
    Waiting,
}

impl Requests {
    /// Nothing is known yet.
    pub(crate) fn new(policies: &Policies) -> Requests {
        Requests {
            ready: BTreeSet::new(),
            ready_at: BTreeMap::new(),
            ready_again: BTreeSet::new(),
            waiting: WaitingList::default(),
            touch_log: TouchLog::default(),
            reads: policies.all().iter().map(kinds).collect(),
            turns_left: 0,
            parts: 1,
            is_cold: true,
            is_crowded: false,
        }
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.waiting.len()
    }

    /// Those that are open, the ones to be judged first; `None` while nothing here is up to date.
    pub(crate) fn open<'a>(
        &'a self,
        state: &'a State,
    ) -> Option<impl Iterator<Item = &'a RequestState>> {
        let ready = self.ready.iter().filter_map(|(_, _, subject)| state.requests.of(subject));
        let waiting = self.waiting.iter().filter_map(|waiting| {
            let request = state.requests.slab.get(waiting.slot)?;
            (request.subject == waiting.turn.2).then_some(request)
        });
        (!self.is_cold).then(|| ready.chain(waiting))
    }

    /// Whether a request could be judged at the next cut without anything new being read.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty() || self.is_crowded || self.turns_left > 0
    }

    /// Why one more request cannot be deferred, if so many are. It depends on the state alone: each
    /// deferred request waits, or is ready to be judged again.
    pub(crate) fn no_room(&self, state: &State) -> Option<Refusal> {
        let most = state.setting.limits.open_requests_max;
        let deferred = self.waiting.len() + self.ready_again.len();
        (deferred >= most).then_some(Refusal::NoRoom { most })
    }

    /// Notes that nothing here is up to date.
    pub(crate) fn cool(&mut self) {
        self.is_cold = true;
    }

    /// Whether nothing here was up to date; from now on it is.
    pub(crate) fn take_is_cold(&mut self) -> bool {
        std::mem::take(&mut self.is_cold)
    }

    /// Notes that queues, sites or parameters changed: all waiting requests are evaluated again, in
    /// their turns.
    pub(crate) fn begin_configuration(&mut self, world: &World) {
        self.waiting.cool();
        self.touch_log.begin(world);
        self.turns_left = u64::MAX;
    }

    /// Makes all of it from the state.
    pub(crate) fn update_all(&mut self, judging: JudgingInputs<'_>) {
        self.ready.clear();
        self.ready_at.clear();
        self.ready_again.clear();
        self.waiting = WaitingList::default();
        for subject in judging.view.state.requests.by_name.keys() {
            self.update(subject, judging);
        }
    }

    /// A subject was answered: at once, not at the next cut. While nothing here is up to date it is
    /// placed with all others, when judging begins.
    pub(crate) fn note_answer(&mut self, subject: &str, judging: JudgingInputs<'_>) {
        if !self.is_cold {
            self.update(subject, judging);
        }
    }

    /// Sorts a subject in again: ready, waiting, or neither.
    pub(crate) fn update(&mut self, subject: &str, judging: JudgingInputs<'_>) {
        self.waiting.remove(subject);
        if let Some(turn) = self.ready_at.remove(subject) {
            self.ready.remove(&turn);
        }
        self.ready_again.remove(subject);
        self.note_change(subject, judging);
        let state = judging.view.state;
        let Some(request) = state.requests.of(subject) else { return };
        let Some(turn) = turn_of(request, judging) else { return };
        match standing(request, state, judging.policies) {
            Standing::Closed => {}
            Standing::Ready => {
                if request.answer.as_ref().is_some_and(|answer| !answer.is_final) {
                    self.ready_again.insert(subject.to_owned());
                }
                self.ready_at.insert(subject.to_owned(), turn.clone());
                self.ready.insert(turn);
            }
            Standing::Waiting => self.waiting.insert(waiting(request, turn, judging)),
        }
    }

    /// Notes that a request changed: the work at its nucleus, and what depends on its task.
    fn note_change(&mut self, subject: &str, judging: JudgingInputs<'_>) {
        if !judging.policies.any_judges_nuclei() {
            return;
        }
        let state = judging.view.state;
        let task = state.requests.of(subject).and_then(|request| request.task.as_ref());
        self.waiting.cool_children(subject);
        if let Some(task) = task.filter(|task| task.task != subject) {
            self.waiting.cool_children(&task.task);
        }
        judging.work.note(state, subject);
    }

    /// Those that are to be judged in any case.
    pub(crate) fn ready(&self) -> impl Iterator<Item = &Turn> {
        self.ready.iter()
    }

    /// Notes which requests found no room in a cycle. One that woke is evaluated again when it is
    /// its turn.
    pub(crate) fn postpone(&mut self, turns: &[Turn], is_first: bool) {
        self.is_crowded = !turns.is_empty() || !is_first && self.is_crowded;
        for (_, _, subject) in turns {
            if let Some(waiting) = self.waiting.get_mut(subject) {
                waiting.is_cold = true;
            }
        }
    }

    /// A part of the waiting requests had its turn, of `parts`. The next cycles are made soon until
    /// all have had theirs.
    pub(super) fn note_turns(&mut self, parts: u64) {
        self.turns_left = self.turns_left.min(parts).saturating_sub(1);
    }

    /// Whether a subject is deferred and waits.
    pub(crate) fn waits(&self, subject: &str) -> bool {
        self.waiting.contains(subject)
    }

    /// The waiting requests that have their turn in a cycle and whose candidates were not looked
    /// at: each as a whole must wait.
    pub(crate) fn whole_waits_in_turn(&self, cycle: u64) -> impl Iterator<Item = &str> {
        let held = self.waiting.in_turn(cycle, self.parts).filter(|waiting| waiting.waits_as_whole);
        held.map(|waiting| waiting.turn.2.as_str())
    }

    /// In how many parts waiting requests take turns in this cycle.
    pub(crate) fn parts(&self) -> u64 {
        self.parts
    }
}

fn standing(request: &RequestState, state: &State, policies: &Policies) -> Standing {
    let Some(task) = request.task.as_ref().filter(|_| is_open(request)) else {
        return Standing::Closed;
    };
    if state.refusal(request).is_some() {
        return Standing::Ready;
    }
    match &request.answer {
        None => Standing::Ready,
        Some(answer) if answer.attempt < asked_attempt(request, task) => Standing::Ready,
        Some(answer) if answer.until <= state.now => Standing::Ready,
        Some(answer) => match policies.index(&task.policy) {
            Some(at) if policies.at(at).hash() == answer.policy_hash => Standing::Waiting,
            _ => Standing::Ready,
        },
    }
}

fn waiting(request: &RequestState, turn: Turn, judging: JudgingInputs<'_>) -> Waiting {
    let answer = request.answer.as_ref();
    let index = request.task.as_ref().and_then(|task| judging.policies.index(&task.policy));
    let policy = index.map(|at| judging.policies.at(at));
    let dwell = policy.map_or(0, |policy| policy.spec.dwell);
    Waiting {
        turn,
        slot: judging.view.state.requests.slot(&request.subject),
        policy: index.unwrap_or(0),
        rests_until: answer.map_or(0, |answer| answer.now + dwell),
        queues: QueueBlockers::default(),
        nuclei: Vec::new(),
        is_cold: true,
        evaluated_in: 0,
        recheck_at: None,
        turns_at: None,
        parent: policy
            .filter(|policy| policy.flavour.judges_nuclei())
            .and(request.task.as_ref())
            .map_or_else(String::new, |task| task.options.parent_task.clone()),
        waits_as_whole: answer.is_some_and(|answer| answer.blockers.is_empty()),
        prepared: None,
        first_pass: None,
    }
}

fn turn_of(request: &RequestState, judging: JudgingInputs<'_>) -> Option<Turn> {
    let task = request.task.as_ref()?;
    let rank = judging.view.domain.map_or(task.priority.into(), |domain| domain.rank(task));
    Some((Reverse(rank), task.asked_at, request.subject.clone()))
}
