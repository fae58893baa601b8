//! Which deferred requests wake: those for which a blocker disappeared and no other took its place.
//!
//! A request is evaluated if something changed that its blockers read. If more candidates wait
//! than one cycle may evaluate, the requests take turns by the number of the cycle: which part has
//! its turn depends on what was published, never on what a process remembers.

use crate::domain::atlas::policy::Times;
use crate::domain::atlas::request::look::EvaluationInputs;
use crate::domain::atlas::request::touch;
use crate::event::Task;
use crate::judge::judging::JudgingInputs;
use crate::policy::Wake;
use crate::request::cycle::Woken;
use crate::request::requests::Requests;
use crate::request::waiting::Waiting;
use crate::request::wake_finding::WakeFinding;
use crate::request::whole_waits::evaluates_whole_waits;
use crate::state::State;
use crate::turns::parts;

impl Requests {
    /// The requests that wake at this cut. Those that rest are evaluated when their rest is over.
    pub(crate) fn woken(&mut self, judging: JudgingInputs<'_>) -> Woken {
        let (state, world) = (judging.view.state, judging.view.world);
        let worked = judging.work.take_changed(state);
        self.touch_log.note(state, world, &worked);
        let most = state.setting.limits.wake_candidates_per_cycle;
        let candidates = judging.view.domain.map_or(world.queues.len(), |_| 1);
        let parts = parts(self.waiting.len(), candidates, most);
        self.parts = parts;
        // Where requests take turns, those that are held are evaluated in their turn.
        let with_held = parts > 1 || evaluates_whole_waits(state);
        let mut woken = Woken::default();
        let mut list = std::mem::take(&mut self.waiting);
        for slot in list.part(state.number, parts) {
            let Some(waiting) = list.in_slot(slot) else { continue };
            if waiting.rests_until <= state.now
                && (with_held || !waiting.waits_as_whole)
                && let Some(WakeFinding::Wakes(evaluation)) = self.evaluate(waiting, judging)
            {
                woken.push(waiting.turn.clone(), evaluation);
            }
        }
        self.waiting = list;
        self.note_turns(parts);
        woken
    }

    /// Evaluates a waiting request; `None`: its policy does not wake it, or it is gone.
    fn evaluate(
        &mut self,
        waiting: &mut Waiting,
        judging: JudgingInputs<'_>,
    ) -> Option<WakeFinding> {
        let (at, state) = (waiting.policy, judging.view.state);
        let policy = judging.policies.at(at);
        if policy.spec.wake == Wake::Timer {
            return None;
        }
        let tagged = judging.view.tagged(task_of(judging, waiting)?);
        let task = &*tagged;
        if policy.flavour.judges_nuclei() {
            return Some(self.evaluate_nuclei(task, waiting, judging));
        }
        if policy.flavour.domain().is_some() {
            // Made cold by a change of the facts; time alone is what its deferral waits for.
            if !std::mem::take(&mut waiting.is_cold) {
                return Some(WakeFinding::Blocked);
            }
            waiting.evaluated_in = state.number;
            let answer = judging.ask_domain(at, task)?;
            return Some(match answer.chosen {
                Some(_) => WakeFinding::Wakes(None),
                None => WakeFinding::Blocked,
            });
        }
        waiting.is_cold |= waiting.turns_at.is_some_and(|at| at <= state.now);
        let [stirred, stirred_first] = self.stirred(task, waiting, state)?;
        let is_joint = policy.flavour.plan().is_some();
        // Where the input may be read decides of each candidate.
        let has_input =
            is_joint && touch::has_storage(self.touch_log.of_all(None, waiting.evaluated_in));
        let is_stirred = !stirred.is_empty() || !stirred_first.is_empty() || has_input;
        if !waiting.is_cold && !waiting.waits_as_whole && !is_stirred {
            waiting.evaluated_in = state.number;
            // No blocker is left whose objection expires.
            waiting.recheck_at = waiting.recheck_at.filter(|at| *at > state.now);
            return Some(WakeFinding::Blocked);
        }
        let ready = judging.policies.ready(at, &task.gshare, judging.view);
        let first_answered_at = judging.view.first_answered_at(task);
        let times = Times { now: state.now, first_answered_at };
        waiting.turns_at = policy.turns_at(task, times, &ready.resolved);
        // What was folded since it was held may let other queues in.
        waiting.is_cold |= waiting.waits_as_whole;
        let (case, survey) = judging.view.case(policy, &ready.resolved, task);
        // One that is held by now gets a decision that says so where a throttle may be the cause.
        if (waiting.waits_as_whole || !is_joint) && policy.waits(&case, &ready.resolved) {
            return Some(WakeFinding::Blocked);
        }
        let view = judging.view;
        let look = EvaluationInputs { view, policy, ready: &ready, case: &case, survey: &survey };
        Some(look.evaluate(waiting, &stirred, &stirred_first))
    }

    /// The queues whose blockers read what changed since the request was last evaluated; then the
    /// same for the blockers of its first pass, if there were two.
    fn stirred(&mut self, task: &Task, waiting: &Waiting, state: &State) -> Option<[Vec<u32>; 2]> {
        if waiting.is_cold {
            return Some(Default::default());
        }
        let nucleus = match task.nucleus.as_str() {
            "" => None,
            nucleus => state.known_name(nucleus),
        };
        let of_all = self.touch_log.of_all(nucleus, waiting.evaluated_in)
            | touch::time_bit(waiting.recheck_at, state.now);
        let reads = self.reads.get(waiting.policy)?;
        let first = waiting.first_pass.as_ref().map(|first| &first.queues);
        Some([Some(&waiting.queues), first].map(|queues| {
            let stirred =
                |queues| self.touch_log.stirred(queues, reads, waiting.evaluated_in, of_all);
            queues.map_or_else(Vec::new, stirred)
        }))
    }
}

/// The task record of a deferred request.
fn task_of<'a>(judging: JudgingInputs<'a>, waiting: &Waiting) -> Option<&'a Task> {
    let view = judging.view;
    let request = view
        .state
        .requests
        .slab
        .get(waiting.slot)
        .filter(|request| request.subject == waiting.turn.2);
    view.task_of(request?)
}
