//! Knowing and judging together: who waits, who is woken, who is judged, in which order.
//!
//! A request is judged when it arrives, when its deadline passes, when another policy came, and as
//! soon as an objection it hung on falls. Waking is evaluated once a cycle, at its cut, on levels:
//! whether a waiting request wakes depends on what is known now, not on how it came to be. What is
//! remembered here beside the state only says which of them need not be looked at again.

use crate::core::judge::assign::check_of;
use crate::core::judge::work::WorkBook;
use crate::core::judge::world::World;
use crate::core::output::Output;
use crate::core::output::throttle::Throttle;
use crate::core::policy::{Case, Policy, Preassigned, Resolved};
use crate::core::request::admit::{Refusal, is_open};
use crate::core::request::holding::Holding;
use crate::core::request::touch::{Kinds, TouchLog, kinds};
use crate::core::request::waiting::{QueueBlockers, Turn, Waiting, WaitingList};
use crate::core::state::State;
use crate::core::state::record::Ask;
use crate::core::unit::Millis;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// State and policies.
pub struct Engine {
    /// All that is known.
    pub state: State,
    pub(crate) policies: Vec<Policy>,
    pub(crate) world: World,
    pub(crate) resolved: ReadyTable,
    /// To be judged whatever else is so: new, due, or under another policy.
    ready: BTreeSet<Turn>,
    /// The turns in `ready`, by subject: a priority may change while one waits.
    ready_at: BTreeMap<String, Turn>,
    /// Deferred subjects among those in `ready`: their deferral is due, or its policy changed.
    ready_again: BTreeSet<String>,
    /// Deferred, by subject.
    pub(crate) waiting: WaitingList,
    /// When what blockers read last changed.
    pub(crate) touch_log: TouchLog,
    /// By policy, what each of its filters reads.
    pub(crate) reads: Vec<Vec<Kinds>>,
    /// For so many cycles more some waiting requests have not had their turn since everything
    /// changed or the budget was short.
    turns_left: u64,
    /// In how many parts waiting requests take turns in this cycle.
    pub(crate) parts: u64,
    /// Nothing derived is up to date: after loading, after folding without judging.
    is_cold: bool,
    /// What is left to be judged in this cycle, first last.
    queue: Vec<Turn>,
    /// Judgements made in this cycle.
    judged: u32,
    /// About what the decisions of this cycle take; bytes.
    decision_bytes: usize,
    /// Some found no room in the budget of this cycle.
    is_crowded: bool,
    /// Up to when slot figures that ran out were looked for.
    slots_seen: Millis,
    /// By place of a policy: the dry run of job brokerage, for one whose candidates are nuclei.
    pub(crate) checks: Vec<Option<Policy>>,
    /// Work that remains at nuclei; kept where a policy judges nuclei.
    pub(crate) work: WorkBook,
    /// Whom throttles may be said of in this cycle.
    pub(crate) holding: Holding,
    /// Throttles of this cycle that were not handed out yet; `None` before its last decision.
    throttles_left: Option<VecDeque<Throttle>>,
}

/// A policy made ready for a share. It holds until a queue, a site or a parameter changes.
pub(crate) struct Ready {
    /// Its parameters.
    pub(crate) resolved: Resolved,
    /// Places of the queues on the candidate list of tasks that name none.
    pub(crate) list: Vec<u32>,
    /// Parameters of the dry run of job brokerage, for a policy whose candidates are nuclei.
    pub(crate) check: Option<Resolved>,
}

/// What policies need for each share, by index of the policy.
#[derive(Default)]
pub(crate) struct ReadyTable(Vec<BTreeMap<String, Ready>>);

impl ReadyTable {
    /// What a policy needs for a share, if it was resolved.
    pub(crate) fn get(&self, policy: usize, gshare: &str) -> Option<&Ready> {
        self.0.get(policy)?.get(gshare)
    }

    /// Adds what a policy needs for a share.
    pub(crate) fn insert(&mut self, policy: usize, gshare: &str, ready: Ready) {
        if self.0.len() <= policy {
            self.0.resize_with(policy + 1, BTreeMap::new);
        }
        self.0[policy].insert(gshare.to_owned(), ready);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Where a subject stands.
enum Standing {
    /// Nothing is wanted, or the last word was said.
    Quiet,
    /// To be judged now.
    Ready,
    /// Deferred.
    Waiting,
}

impl Ready {
    /// The candidate list of a case: places of queues, in order of their names.
    pub(crate) fn list(&self, policy: &Policy, world: &World, case: &Case<'_>) -> Cow<'_, [u32]> {
        if case.preassigned == Preassigned::No {
            return Cow::Borrowed(&self.list);
        }
        world.admitted(policy, case, &self.resolved).into()
    }
}

impl Engine {
    /// Joins a state with the policies that answer from now on.
    pub fn new(state: State, policies: Vec<Policy>) -> Engine {
        let checks = policies.iter().map(|policy| check_of(policy, &policies)).collect();
        let reads = policies.iter().map(kinds).collect();
        Engine {
            state,
            checks,
            work: WorkBook::default(),
            policies,
            world: World::default(),
            resolved: ReadyTable::default(),
            ready: BTreeSet::new(),
            ready_at: BTreeMap::new(),
            ready_again: BTreeSet::new(),
            waiting: WaitingList::default(),
            touch_log: TouchLog::default(),
            reads,
            turns_left: 0,
            parts: 1,
            is_cold: true,
            queue: Vec::new(),
            judged: 0,
            decision_bytes: 0,
            is_crowded: false,
            slots_seen: 0,
            holding: Holding::default(),
            throttles_left: None,
        }
    }

    /// The policies.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// How many requests wait for an answer or for a better one.
    pub fn waiting(&self) -> usize {
        self.ready.len() + self.waiting.len()
    }

    /// Why one more request cannot be deferred, if so many are. It depends on the state alone: each
    /// deferred request waits, or is ready to be judged again.
    pub(crate) fn no_room(&self) -> Option<Refusal> {
        let most = self.state.setting.limits.open_requests_max;
        let deferred = self.waiting.len() + self.ready_again.len();
        (deferred >= most).then_some(Refusal::NoRoom { most })
    }

    /// Whether a request could be judged at the next cut without anything new being read.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty() || self.is_crowded || self.turns_left > 0
    }

    /// The earliest moment at which a deferral is due.
    pub fn next_due(&self) -> Option<Millis> {
        self.state.timers.deferrals.next()
    }

    /// The next output of this cycle: decisions in the order of judgement, then throttles. Each is
    /// to be folded before the next is asked for.
    pub fn next_output(&mut self) -> Option<Output> {
        if self.throttles_left.is_none() {
            if let Some(decision) = self.next_decision() {
                return Some(decision.into());
            }
            self.throttles_left = Some(self.throttles().into());
        }
        Some(self.throttles_left.as_mut()?.pop_front()?.into())
    }

    /// Folds an output of this cycle, or of one that was read back.
    pub fn fold_output(&mut self, output: &Output) {
        match output {
            Output::Decision(decision) => self.said(decision),
            Output::Throttle(throttle) => self.throttled(throttle),
        }
    }

    /// Notes that a cycle was folded without judging: nothing derived is kept up to date, and what
    /// was touched is forgotten.
    pub fn pass(&mut self) {
        self.is_cold = true;
        self.state.touched = Default::default();
        self.holding = Holding::default();
        self.throttles_left = None;
        self.take_due();
    }

    /// Forgets everything derived, so that the next cycle evaluates all waiting requests in their
    /// turns. The answers are the same: derived knowledge only tells what need not be evaluated.
    pub fn forget_derived(&mut self) {
        self.is_cold = true;
    }

    /// Takes up what changed up to the cut that was just closed: who is ready, who wakes. `next`
    /// then gives the judgements in order.
    pub fn settle(&mut self) {
        let is_cold = std::mem::take(&mut self.is_cold);
        self.work.begin_cycle();
        let everything = is_cold || self.state.touched.queues || self.state.touched.settings;
        self.world.update(&mut self.state, is_cold);
        if everything {
            self.resolved.clear();
            self.waiting.cool();
            self.touch_log.begin(&self.world);
            self.turns_left = u64::MAX;
        }
        self.settle_holding(is_cold);
        self.settle_subjects(is_cold);
        self.settle_due();
        self.settle_slots();
        let woken = self.woken();
        self.state.touched = Default::default();
        let mut queue: Vec<Turn> = self.ready.iter().cloned().chain(woken).collect();
        queue.sort_unstable();
        queue.dedup();
        let budget = self.state.setting.limits.judgements_per_cycle;
        self.is_crowded = queue.len() > budget;
        for (_, _, subject) in queue.drain(budget.min(queue.len())..) {
            self.postpone(&subject);
        }
        queue.reverse();
        self.queue = queue;
        self.judged = 0;
        self.decision_bytes = 0;
        self.throttles_left = None;
    }

    /// A request that woke and found no room in this cycle is evaluated again when it is its turn.
    fn postpone(&mut self, subject: &str) {
        if let Some(waiting) = self.waiting.get_mut(subject) {
            waiting.is_cold = true;
        }
    }

    /// Counts the bytes of a decision of this cycle.
    pub(crate) fn count_bytes(&mut self, bytes: usize) {
        self.decision_bytes = self.decision_bytes.saturating_add(bytes);
    }

    /// Which subject is to be judged next in this cycle, and the number of that judgement.
    pub(crate) fn turn(&mut self) -> Option<(String, u32)> {
        if self.decision_bytes >= self.state.setting.limits.decision_bytes_per_cycle {
            for (_, _, subject) in std::mem::take(&mut self.queue) {
                self.is_crowded = true;
                self.postpone(&subject);
            }
        }
        let (_, _, subject) = self.queue.pop()?;
        let number = self.judged;
        self.judged += 1;
        self.holding.judged(&subject);
        Some((subject, number))
    }

    /// A subject's standing changed by our own word: at once, not at the next cut. While nothing
    /// derived is kept up to date it is placed with all others, when judging begins.
    pub(crate) fn answered(&mut self, subject: &str) {
        self.state.touched.subjects.remove(subject);
        if !self.is_cold {
            self.place(subject);
        }
    }

    fn settle_subjects(&mut self, everything: bool) {
        let touched = std::mem::take(&mut self.state.touched.subjects);
        if everything {
            self.ready.clear();
            self.ready_at.clear();
            self.ready_again.clear();
            self.waiting = WaitingList::default();
            self.work = WorkBook::default();
            let all: Vec<String> = self.state.asks.by_name.keys().cloned().collect();
            all.iter().for_each(|subject| self.place(subject));
        } else {
            touched.iter().for_each(|subject| self.place(subject));
        }
    }

    /// Puts a subject where it belongs.
    fn place(&mut self, subject: &str) {
        self.waiting.remove(subject);
        if let Some(turn) = self.ready_at.remove(subject) {
            self.ready.remove(&turn);
        }
        self.ready_again.remove(subject);
        self.note_request(subject);
        let Some(ask) = self.state.asks.of(subject) else { return };
        let Some(turn) = turn_of(ask) else { return };
        match self.standing(ask) {
            Standing::Quiet => {}
            Standing::Ready => {
                if ask.answer.as_ref().is_some_and(|answer| !answer.is_final) {
                    self.ready_again.insert(subject.to_owned());
                }
                self.ready_at.insert(subject.to_owned(), turn.clone());
                self.ready.insert(turn);
            }
            Standing::Waiting => {
                let waiting = self.wait(ask, turn);
                self.waiting.insert(waiting);
            }
        }
    }

    /// Notes that a request changed: the work at its nucleus, and what depends on its task.
    fn note_request(&mut self, subject: &str) {
        if !self.policies.iter().any(|policy| policy.flavour.judges_nuclei()) {
            return;
        }
        let task = self.state.asks.of(subject).and_then(|ask| ask.task.as_ref());
        self.waiting.cool_children(subject);
        if let Some(task) = task.filter(|task| task.task != subject) {
            self.waiting.cool_children(&task.task);
        }
        self.work.note(&self.state, subject);
    }

    fn standing(&self, ask: &Ask) -> Standing {
        let Some(task) = ask.task.as_ref().filter(|_| is_open(ask)) else {
            return Standing::Quiet;
        };
        if self.state.refusal(ask).is_some() {
            return Standing::Ready;
        }
        match &ask.answer {
            None => Standing::Ready,
            Some(answer) if answer.attempt < task.attempt => Standing::Ready,
            Some(answer) if answer.until <= self.state.now => Standing::Ready,
            Some(answer) => match self.policy(&task.policy) {
                Some(at) if self.policies[at].hash() == answer.policy_hash => Standing::Waiting,
                _ => Standing::Ready,
            },
        }
    }

    /// The place of a policy.
    pub(crate) fn policy(&self, name: &str) -> Option<usize> {
        self.policies.iter().position(|policy| policy.spec.name == name)
    }

    fn wait(&self, ask: &Ask, turn: Turn) -> Waiting {
        let answer = ask.answer.as_ref();
        let index = ask.task.as_ref().and_then(|task| self.policy(&task.policy));
        let policy = index.map(|at| &self.policies[at]);
        let dwell = policy.map_or(0, |policy| policy.spec.dwell);
        Waiting {
            turn,
            slot: self.state.asks.slot(&ask.subject),
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
                .and(ask.task.as_ref())
                .map_or_else(String::new, |task| task.options.parent_task.clone()),
            is_held: answer.is_some_and(|answer| answer.blockers.is_empty()),
            prepared: None,
            first_pass: None,
        }
    }

    /// A part of the waiting requests had its turn, of `parts`. The next cycles are made soon until
    /// all have had theirs.
    pub(crate) fn note_turns(&mut self, parts: u64) {
        self.turns_left = self.turns_left.min(parts).saturating_sub(1);
    }

    fn settle_due(&mut self) {
        self.take_due().iter().for_each(|subject| self.place(subject));
    }

    /// Slot figures that ran out: what holds in their place may be more.
    fn settle_slots(&mut self) {
        let (from, until) = (self.slots_seen, self.state.now);
        self.slots_seen = until;
        for slots in self.state.slots.values() {
            if slots.expires_at > from && slots.expires_at <= until {
                self.state.touched.pilot.add(slots.queue);
            }
        }
    }

    /// Deferrals whose time has come.
    fn take_due(&mut self) -> Vec<String> {
        let due = self.state.timers.deferrals.take(self.state.now).into_iter();
        due.filter(|subject| self.state.asks.of(subject).is_some()).collect()
    }
}

fn turn_of(ask: &Ask) -> Option<Turn> {
    let task = ask.task.as_ref()?;
    Some((Reverse(task.priority), task.asked_at, ask.subject.clone()))
}
