//! The state and the policies that answer: what is judged in a cycle, and what is published of it.
//!
//! A request is judged when it arrives, when its deadline passes, when another policy came, and as
//! soon as one of its blockers disappears. Waking is evaluated once a cycle, at its cut, on levels:
//! whether a waiting request wakes depends on the state at the cut, not on how that came to be.
//! Data kept here beside the state only tells which evaluations need not be repeated.

mod again;

pub use again::{Again, RuleChoice};

use crate::budget::{CycleLoop, Exceeded};
use crate::cut::{Lane, Topic};
use crate::domain::atlas::judge::work::WorkTable;
use crate::domain::atlas::policy::throttling::Gauge;
use crate::domain::atlas::request::throttles::{ThrottleEvaluation, gauges_of_users};
use crate::domain::cms::judge::{IdleJobs, PoolJudging};
use crate::domain::cms::policy::cut::Step;
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::judge::Explained;
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::why::PoolWait;
use crate::event::{Event, Task};
use crate::govern::CommandEvaluation;
use crate::id::Name;
use crate::judge::alternative::AlternativeRules;
use crate::judge::judging::JudgingInputs;
use crate::judge::policies::Policies;
use crate::judge::size::bytes_of;
use crate::judge::view::Grid;
use crate::output::Output;
use crate::output::command::Command;
use crate::output::decision::Decision;
use crate::output::throttle::Throttle;
use crate::policy::{DomainFacts, DomainTile, Policy};
use crate::request::cycle::CycleQueue;
use crate::request::requests::Requests;
use crate::state::State;
use crate::state::record::RequestState;
use crate::unit::Millis;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// State, policies and everything derived from them; judges the requests of each cycle.
pub struct Engine {
    /// All that is known.
    pub state: State,
    policies: Policies,
    grid: Grid,
    /// Judges slot offers, if a policy answers them.
    pool: Option<PoolJudging>,
    /// Rules that are asked beside the policies, where there are any.
    alternative: Option<AlternativeRules>,
    /// Work that remains at nuclei; kept where a policy judges nuclei.
    work: WorkTable,
    requests: Requests,
    cycle: CycleQueue,
    throttle_evaluation: ThrottleEvaluation,
    /// Throttles of this cycle that were not handed out yet; `None` before its last decision.
    throttles: Option<VecDeque<Throttle>>,
    command_evaluation: CommandEvaluation,
    /// Commands of this cycle likewise; `None` before its last throttle.
    commands: Option<VecDeque<Command>>,
    /// Up to when slot figures that ran out were looked for.
    slots_seen: Millis,
    /// Decisions by the class of their task and by outcome, since this was last asked for.
    classed: BTreeMap<[&'static str; 2], u64>,
    /// How often budgets left work, since this was last asked for.
    exceeded: Exceeded,
}

impl Engine {
    /// Joins a state with the policies that answer from now on.
    pub fn new(state: State, policies: Vec<Policy>) -> Engine {
        let policies = Policies::new(policies);
        Engine {
            state,
            requests: Requests::new(&policies),
            pool: PoolJudging::of(&policies),
            alternative: None,
            policies,
            grid: Grid::default(),
            work: WorkTable::default(),
            cycle: CycleQueue::default(),
            throttle_evaluation: ThrottleEvaluation::default(),
            throttles: None,
            command_evaluation: CommandEvaluation::default(),
            commands: None,
            slots_seen: 0,
            classed: BTreeMap::new(),
            exceeded: Exceeded::default(),
        }
    }

    /// The policies.
    pub fn policies(&self) -> &[Policy] {
        self.policies.all()
    }

    /// Why a job of a pool waits, as the rules would judge it now; `None`: no such job waits, or no
    /// policy answers offers.
    pub fn why_waits(&self, job: &str) -> Option<PoolWait> {
        self.pool.as_ref()?.why(&self.state, &self.policies, job)
    }

    /// The pool as of the last cut, or else made of the state; `None`: no policy answers offers.
    pub fn pool_at(&self) -> Option<Cow<'_, Pool>> {
        self.pool.as_ref()?.pool_at(&self.state, &self.policies)
    }

    /// The pool whose slots are offered, as of the last cut and the outputs since; `None`: no
    /// policy answers offers, or no cycle was judged.
    pub fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()?.pool()
    }

    /// The pool with its jobs that got no slots, by what they lack; `None`: no policy answers
    /// offers. Where no cycle was judged it is made of the state, which costs as much as that is
    /// large.
    pub fn idle(&self) -> Option<IdleJobs<'_>> {
        self.pool.as_ref()?.idle(&self.state, &self.policies)
    }

    /// How many jobs of a pool wait for slots; `None`: no policy answers offers.
    pub fn idle_jobs(&self) -> Option<u64> {
        Some(self.pool.as_ref()?.idle_jobs(&self.state))
    }

    /// Every job before an offer with what is left of it, with the reason where it does not pass
    /// (spec cms-nordugrid C-60); `None`: no such offer is known, or as for [`Engine::pool`].
    pub fn explain_offer(&self, offer: &str) -> Option<Explained> {
        self.pool.as_ref()?.explain(&self.state, offer)
    }

    /// The candidates of a domain that a program brings, at a glance.
    pub fn domain_tiles(&self) -> Vec<DomainTile> {
        let facts = DomainFacts::of(&self.state);
        self.policies.domain().map_or_else(Vec::new, |domain| (domain.view)(facts).tiles())
    }

    /// How many requests wait for an answer or for a better one.
    pub fn waiting(&self) -> usize {
        self.requests.len()
    }

    /// The requests that wait for an answer or for a better one; `None` while that is not known:
    /// nothing was judged since all was made again.
    pub fn open_requests(&self) -> Option<impl Iterator<Item = &RequestState>> {
        self.requests.open(&self.state)
    }

    /// Whether a request could be judged at the next cut without anything new being read.
    pub fn has_ready(&self) -> bool {
        self.requests.has_ready() || self.pool.as_ref().is_some_and(PoolJudging::is_cut_off)
    }

    /// The earliest moment at which a deferral is due.
    pub fn next_due(&self) -> Option<Millis> {
        self.state.timers.deferrals.next()
    }

    /// Notes that a cycle was folded without judging: nothing derived is kept up to date, and what
    /// was touched is forgotten.
    pub fn pass(&mut self) {
        self.requests.cool();
        self.state.touched = Default::default();
        self.forget_pool();
        self.throttle_evaluation = ThrottleEvaluation::default();
        self.throttles = None;
        self.command_evaluation.forget(&mut self.state);
        self.commands = None;
        self.take_due();
    }

    /// Forgets everything derived, so that the next cycle evaluates all waiting requests in their
    /// turns. The answers are the same: what is derived only shows what need not be evaluated.
    pub fn forget_derived(&mut self) {
        self.requests.cool();
        self.forget_pool();
        self.command_evaluation.forget(&mut self.state);
    }

    fn forget_pool(&mut self) {
        self.state.pool.touched = Default::default();
        if let Some(pool) = &mut self.pool {
            pool.forget();
        }
        if let Some(alternative) = &mut self.alternative {
            alternative.forget();
        }
    }

    /// Takes up what changed up to the cut that was just closed: which requests are ready, which
    /// wake. [`Engine::next_output`] then gives the outputs in order.
    pub fn settle(&mut self) {
        let is_cold = self.requests.take_is_cold();
        let due = self.begin_cut(is_cold);
        self.boost();
        let subjects = std::mem::take(&mut self.state.touched.subjects);
        self.touch_expired_slots();
        let Engine { state, policies, grid, work, requests, cycle, exceeded, .. } = self;
        let judging = JudgingInputs { view: grid.view(state), policies, work };
        // A domain's facts may rank its requests otherwise.
        match is_cold || grid.has_domain_changed() {
            true => requests.update_all(judging),
            false => subjects.iter().for_each(|subject| requests.update(subject, judging)),
        }
        due.iter().for_each(|subject| requests.update(subject, judging));
        let woken = requests.woken(judging);
        let (beyond, is_beyond) = cycle.begin(requests.ready(), woken, &state.setting.limits);
        exceeded.note(CycleLoop::Wakes, requests.parts() > 1);
        exceeded.note(CycleLoop::Judgements, is_beyond);
        requests.postpone(&beyond, true);
        state.touched = Default::default();
        self.throttles = None;
        self.commands = None;
    }

    /// Brings what is derived of the configuration up to date, and finds which owners may have to
    /// be throttled. Gives the subjects whose deferrals are due.
    fn begin_cut(&mut self, is_cold: bool) -> Vec<String> {
        let Engine {
            state,
            policies,
            grid,
            pool,
            alternative,
            work,
            requests,
            throttle_evaluation,
            command_evaluation,
            ..
        } = self;
        if is_cold {
            *work = WorkTable::default();
        }
        work.begin_cycle();
        state.touched.worked.iter().for_each(|task| work.note_finished(*task));
        if state.touched.settings {
            work.note_shares();
        }
        let touched = alternative.as_ref().and_then(|it| it.touched(state));
        grid.update(state, policies.domain(), is_cold);
        let is_configured = is_cold || state.touched.queues || state.touched.settings;
        if let Some(alternative) = alternative {
            alternative.begin_cut(state, touched, (is_configured, is_cold));
        }
        if let Some(pool) = pool {
            pool.begin_cut(state, policies, is_cold);
        }
        if is_configured {
            policies.reset();
            requests.begin_configuration(grid.world());
        }
        let judging = JudgingInputs { view: grid.view(state), policies, work };
        throttle_evaluation.begin_cycle(judging, is_cold);
        command_evaluation.begin_cycle(state, is_cold);
        self.take_due()
    }

    /// Tails of a pool's workflows go first from this cut on; their commands are published after
    /// its decisions (spec cms-nordugrid A.5 step 1).
    fn boost(&mut self) {
        let Engine { state, pool, alternative, command_evaluation, .. } = self;
        let Some(pool) = pool else { return };
        let boosts = pool.actions(state, Step::Boosts);
        let given = command_evaluation.begin(state, &boosts);
        pool.apply(&given);
        if let Some(pool) = alternative.as_mut().and_then(|it| it.pool.as_mut()) {
            pool.apply(&given);
        }
    }

    /// Slot figures that ran out: what holds in their place may be more.
    fn touch_expired_slots(&mut self) {
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
        due.filter(|subject| self.state.requests.of(subject).is_some()).collect()
    }

    /// The next output of this cycle: decisions in the order of judgement, then throttles, then
    /// commands. Each is
    /// to be folded before the next is asked for, since a reservation counts from the moment it is
    /// made.
    pub fn next_output(&mut self) -> Option<Output> {
        if self.throttles.is_none() {
            if let Some(decision) = self.next_decision() {
                return Some(decision.into());
            }
            let Engine { state, policies, grid, work, requests, .. } = self;
            let judging = JudgingInputs { view: grid.view(state), policies, work };
            self.throttles = Some(self.throttle_evaluation.evaluate(judging, requests));
            let is_exceeded = self.throttle_evaluation.is_cut_off();
            self.exceeded.note(CycleLoop::Throttles, is_exceeded);
        }
        if let Some(throttle) = self.throttles.as_mut().and_then(VecDeque::pop_front) {
            return Some(throttle.into());
        }
        if self.commands.is_none() {
            self.commands = Some(self.evaluate_commands());
        }
        Some(self.commands.as_mut()?.pop_front()?.into())
    }

    fn evaluate_commands(&mut self) -> VecDeque<Command> {
        let Engine { state, policies, pool, grid, work, command_evaluation, exceeded, .. } = self;
        let asked = grid.domain_commands(state);
        let elsewhere = |state: &State, task: &str, queue: Name| {
            let judging = JudgingInputs { view: grid.view(state), policies, work };
            judging.goes_elsewhere(task, queue)
        };
        let mut actions = |state: &State, step: Step, given: &[PoolAction]| {
            let Some(pool) = pool else { return Vec::new() };
            pool.apply(given);
            pool.actions(state, step)
        };
        let commands = command_evaluation.evaluate(state, &asked, &elsewhere, &mut actions);
        let most = state.setting.commands.governor.commands_per_cycle;
        exceeded.note(CycleLoop::Rebrokered, command_evaluation.is_cut_off());
        exceeded.note(CycleLoop::Commands, !commands.is_empty() && commands.len() >= most);
        commands
    }

    fn next_decision(&mut self) -> Option<Decision> {
        let Engine {
            state, policies, grid, pool, work, requests, cycle, classed, exceeded, ..
        } = self;
        let judging = JudgingInputs { view: grid.view(state), policies, work };
        loop {
            let beyond = cycle.cut_off(&state.setting.limits);
            exceeded.note(CycleLoop::Bytes, !beyond.is_empty());
            requests.postpone(&beyond, false);
            let Some((subject, number, evaluation)) = cycle.next() else {
                let decision = pool.as_mut()?.next(state, policies, cycle.number())?;
                cycle.note_made();
                return Some(decision);
            };
            self.throttle_evaluation.note_judged(&subject);
            let no_room = requests.no_room(state);
            if let Some(decision) = judging.decide(&subject, number, no_room, evaluation) {
                cycle.note_size(bytes_of(&decision));
                if let Some(class) = judging.class_of(&decision) {
                    *classed.entry([class, decision.outcome.name()]).or_default() += 1;
                }
                return Some(decision);
            }
        }
    }

    /// Answers that requests would get at the present cut, each with those before it answered. They
    /// and their answers are counted in this engine, which is to be dropped after it.
    pub fn preview(mut self, tasks: &[Task]) -> Vec<Decision> {
        let (lane, now) = (Lane::new(Topic::Task, 0), self.state.now);
        for task in tasks {
            let offset = self.state.next(lane);
            self.state.fold(lane, offset, now, &Event::Task(Box::new(task.clone())));
        }
        self.begin_cut(true);
        let mut decisions = Vec::new();
        for (number, task) in (1..).zip(tasks) {
            let Engine { state, policies, grid, work, .. } = &self;
            let judging = JudgingInputs { view: grid.view(state), policies, work };
            let Some(decision) = judging.decide(&task.subject, number, None, None) else {
                continue;
            };
            self.fold_output(&Output::from(decision.clone()));
            decisions.push(decision);
        }
        decisions
    }

    /// How often budgets of cycles left work, since this was last asked.
    pub fn take_exceeded(&mut self) -> Exceeded {
        let mut exceeded = std::mem::take(&mut self.exceeded);
        let of_pool = self.pool.as_mut().map(PoolJudging::take_exceeded);
        exceeded.add(of_pool.unwrap_or_default());
        exceeded
    }

    /// Decisions by the class of their task and by outcome, since this was last asked.
    pub fn take_classed(&mut self) -> BTreeMap<[&'static str; 2], u64> {
        std::mem::take(&mut self.classed)
    }

    /// By user: what the rules that hold owners measure now, and their limits; none without a
    /// policy that throttles. Parameters are looked up once for all users.
    pub fn gauges_of_users(&self) -> impl Fn(&str) -> Vec<Gauge> {
        let Engine { state, policies, grid, .. } = self;
        gauges_of_users(grid.view(state), policies)
    }

    /// Folds an output of this cycle, or of one that was read back.
    pub fn fold_output(&mut self, output: &Output) {
        self.state.fold_output(output);
        if let Some(alternative) = &mut self.alternative {
            alternative.note_output(&mut self.state, output);
        }
        if let Some(pool) = &mut self.pool {
            pool.note_output(&mut self.state);
        }
        let Output::Decision(decision) = output else { return };
        if self.pool.as_ref().is_some_and(|pool| pool.made(&self.policies, decision)) {
            return;
        }
        self.state.touched.subjects.remove(&decision.subject);
        let Engine { state, policies, grid, work, requests, cycle, .. } = self;
        grid.note_answer(state, &decision.subject);
        if decision.placed.is_some() {
            grid.note_placed(state, &decision.subject);
        }
        let judging = JudgingInputs { view: grid.view(state), policies, work };
        judging.note_work(decision);
        requests.note_answer(&decision.subject, judging);
        if decision.outcome.is_final() {
            grid.end_request(&decision.subject);
        }
        cycle.note_folded(decision);
    }
}
