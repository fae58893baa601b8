//! Questions to the loop. What is looked up by a name is answered at once. What walks over all
//! counters or records is answered beside the loop, by a thread that works on a copy of the state
//! as of the end of one cycle.
//!
//! The copy is made in portions, one in each turn of the loop, while folding goes on; so no cycle
//! waits longer for it than a portion takes. There is one copy and one such thread at a time, it
//! answers all questions asked before the copy began, but for those of clients that have gone.
//! Copying takes at most a thirtieth of the time. It is a copy of the live state and not of the
//! store, which holds the records only: a counter that drifted in memory would not be found there.

use crate::copying::Portions;
use crate::estimates::{Estimates, MeasuredEstimate};
use crate::question::{Answer, Asked, Audited, CycleCounters, Question, TaskLook};
use crate::thread;
use crate::whatif::WhatIf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use yardmaster_core::copy::CopyFor;
use yardmaster_core::engine::Engine;
use yardmaster_core::estimate::TaskWaits;
use yardmaster_core::explain::{FilledBy, NameStanding};
use yardmaster_core::state::State;
use yardmaster_core::state::audit::audit;
use yardmaster_core::state::counters::counters;
use yardmaster_core::state::snapshot::CopiedState;

/// How many times as long as copying took passes before the next copy.
const REST: u32 = 30;
/// How often a process recounts by itself.
const SELF_AUDIT: Duration = Duration::from_secs(3_600);

/// The last recount, and when it ended.
type LastAudit = Arc<Mutex<Option<(Instant, Arc<Audited>)>>>;
/// Estimates that wait for their truth, and those that were measured and not fetched yet.
type HeldEstimates = Arc<Mutex<(Estimates, Vec<MeasuredEstimate>)>>;

/// Works out the answer to a question.
type Work = fn(&Asked, &State) -> Answer;

/// Questions that wait for an answer, and the thread that works on one.
pub struct Answers {
    asked: Receiver<Question>,
    waiting: Vec<Question>,
    copying: Option<Copying>,
    worker: Option<JoinHandle<()>>,
    rests_until: Instant,
    /// When the loop may work on what would be again.
    supposes_at: Instant,
    work: Work,
    audited: LastAudit,
    estimates: HeldEstimates,
    /// When the process recounts next if nobody asks before.
    self_audit_at: Instant,
}

/// A copy under way.
struct Copying {
    /// Questions that the copy answers.
    questions: Vec<Question>,
    /// Whether it is also for the recount that the process makes by itself.
    recounts: bool,
    portions: Portions,
}

impl Answers {
    /// Nothing was asked yet.
    pub fn new(asked: Receiver<Question>) -> Answers {
        Answers {
            asked,
            waiting: Vec::new(),
            copying: None,
            worker: None,
            rests_until: Instant::now(),
            supposes_at: Instant::now(),
            work,
            audited: Arc::default(),
            estimates: Arc::default(),
            self_audit_at: Instant::now(),
        }
    }

    /// The last recount, and when it ended.
    pub fn audited(&self) -> Option<(Instant, Arc<Audited>)> {
        self.audited.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How estimates of starts were whose tasks began, since this was last asked.
    pub fn take_measured(&self) -> Vec<MeasuredEstimate> {
        let mut held = self.estimates.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut held.1)
    }

    /// Whether questions wait for a copy of the state to begin or to end.
    pub fn is_waiting(&self) -> bool {
        self.copying.is_some() || !self.waiting.is_empty()
    }

    /// Takes questions up, and begins to answer them if the state is that of a cycle's end; goes on
    /// with a copy under way at any time. Where it `is_settled` (it leads and has caught up, or
    /// follows without a backlog) it recounts by itself from time to time.
    pub fn turn(&mut self, engine: &mut Engine, is_cycle_end: bool, is_settled: bool) {
        self.waiting.extend(self.asked.try_iter());
        self.waiting.retain(|question| !question.is_gone());
        if let Some(copying) = self.copying.take() {
            self.go_on(&mut engine.state, copying);
        }
        if !is_cycle_end {
            return;
        }
        // Copies have no jobs of a pool, and those are fewer.
        let has_pool = !engine.state.pool.jobs.is_empty();
        let is_of_a_name = |it: &mut Question| {
            matches!(it.asked, Asked::Standing(_))
                || has_pool && matches!(it.asked, Asked::Filled(_))
        };
        for question in self.waiting.extract_if(.., is_of_a_name) {
            let answer = match &question.asked {
                Asked::Standing(name) => Answer::Standing(Box::new(NameStanding::of(engine, name))),
                other => (self.work)(other, &engine.state),
            };
            question.answer(answer);
        }
        self.suppose(engine);
        let state = &mut engine.state;
        let is_working = self.worker.as_ref().is_some_and(|worker| !worker.is_finished());
        let is_resting = Instant::now() < self.rests_until;
        if is_working || is_resting || state.copying_for().is_some() {
            return;
        }
        let recounts = is_settled && Instant::now() >= self.self_audit_at;
        let has_others = self.waiting.iter().any(|it| !matches!(it.asked, Asked::WhatIf(_)));
        if has_others || recounts {
            self.begin(state, recounts);
        }
    }

    /// Answers one question about what would be; the next one after a rest, since the loop works on
    /// it itself.
    fn suppose(&mut self, engine: &mut Engine) {
        if Instant::now() < self.supposes_at {
            return;
        }
        let asks = |it: &Question| matches!(it.asked, Asked::WhatIf(_));
        let Some(at) = self.waiting.iter().position(asks) else { return };
        let question = self.waiting.remove(at);
        if let Asked::WhatIf(asked) = &question.asked {
            let began = Instant::now();
            let found = WhatIf::of(engine, asked);
            self.supposes_at = Instant::now() + began.elapsed() * REST;
            question.answer(Answer::WhatIf(Arc::new(found)));
        }
    }

    fn begin(&mut self, state: &mut State, recounts: bool) {
        let is_beside = |it: &mut Question| !matches!(it.asked, Asked::WhatIf(_));
        let questions: Vec<Question> = self.waiting.extract_if(.., is_beside).collect();
        // What is asked for most decides: each copy holds all that the ones before it do.
        let is_audit = recounts || questions.iter().any(|it| it.asked == Asked::Audit);
        let is_task = questions.iter().any(|it| matches!(it.asked, Asked::Task(_)));
        let copy_for = match (is_audit, is_task) {
            (true, _) => CopyFor::Audit,
            (false, true) => CopyFor::Jobs,
            (false, false) => CopyFor::Counters,
        };
        let portions = Portions::begin(state, copy_for);
        self.go_on(state, Copying { questions, recounts, portions });
    }

    /// Copies a portion, and begins to work once that was the last one.
    fn go_on(&mut self, state: &mut State, mut copying: Copying) {
        if !copying.portions.is_of(state) {
            self.waiting.append(&mut copying.questions);
            return;
        }
        match copying.portions.copy(state) {
            Some(copied) => self.work_on(copied, copying),
            None => self.copying = Some(copying),
        }
    }

    fn work_on(&mut self, copied: Box<CopiedState>, copying: Copying) {
        let Copying { questions, recounts, portions } = copying;
        let took = portions.took();
        self.rests_until = Instant::now() + took * REST;
        tracing::debug!("copied the state to answer questions, which took {took:?} in all");
        if portions.copy_for() == CopyFor::Audit {
            self.self_audit_at = Instant::now() + SELF_AUDIT;
        }
        let (work, audited) = (self.work, Arc::clone(&self.audited));
        let estimates = Arc::clone(&self.estimates);
        let worker = thread::spawn("answers", move || {
            let state = copied.finish();
            answer_all(questions, &state, work, recounts, &audited);
            if recounts {
                look_at_starts(&state, &estimates);
            }
        });
        // Without a thread no question is answered: the clients get an error.
        self.worker = worker
            .map_err(|error| tracing::error!("cannot start the thread that answers: {error}"))
            .ok();
    }
}

fn answer_all(
    mut questions: Vec<Question>,
    state: &State,
    work: Work,
    recounts: bool,
    audited: &LastAudit,
) {
    let mut all = vec![Asked::Counters, Asked::Audit];
    for question in &questions {
        if !all.contains(&question.asked) {
            all.push(question.asked.clone());
        }
    }
    for asked in all {
        let (these, others): (Vec<Question>, Vec<Question>) =
            questions.into_iter().partition(|question| question.asked == asked);
        questions = others;
        let is_for_us = recounts && asked == Asked::Audit;
        if these.iter().all(Question::is_gone) && !is_for_us {
            continue;
        }
        let answer = work(&asked, state);
        if let Answer::Audit(found) = &answer {
            for drift in &found.drifts {
                let (counter, kept, recount) = (&drift.counter, &drift.kept, &drift.recount);
                tracing::error!("audit: {counter} is {kept}, a recount gives {recount}");
            }
            *audited.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((Instant::now(), Arc::clone(found)));
        }
        these.into_iter().for_each(|question| question.answer(answer.clone()));
    }
}

/// With each recount of its own the process holds its estimates of starts against what came.
fn look_at_starts(state: &State, estimates: &HeldEstimates) {
    let waits = TaskWaits::of(state);
    let mut held = estimates.lock().unwrap_or_else(PoisonError::into_inner);
    let (estimates, measured) = &mut *held;
    measured.extend(estimates.look(&waits, state.now));
}

fn work(asked: &Asked, state: &State) -> Answer {
    match asked {
        Asked::Task(task) => Answer::Task(Arc::new(TaskLook::of(state, task))),
        Asked::Audit => Answer::Audit(Arc::new(Audited {
            cycle: state.number,
            counters: counters(state).len(),
            drifts: audit(state),
        })),
        Asked::Filled(of) => Answer::Filled(FilledBy::of(state, of)),
        Asked::Counters | Asked::Standing(_) | Asked::WhatIf(_) => {
            Answer::Counters(Arc::new(CycleCounters {
                cycle: state.number,
                now: state.now,
                counters: counters(state),
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::mpsc::sync_channel;
    use yardmaster_core::state::Setting;

    static BEGUN: AtomicU32 = AtomicU32::new(0);
    static MAY_END: AtomicBool = AtomicBool::new(false);

    /// An answer that takes as long as the test wants.
    fn slow(_: &Asked, state: &State) -> Answer {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        while !MAY_END.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Answer::Audit(Arc::new(Audited { cycle: state.number, ..Audited::default() }))
    }

    fn cycle(answer: &Answer) -> u64 {
        match answer {
            Answer::Audit(audited) => audited.cycle,
            Answer::Counters(counters) => counters.cycle,
            Answer::Standing(standing) => standing.cycle,
            Answer::Filled(filled) => filled.cycle,
            Answer::Task(task) => task.jobs.cycle,
            Answer::WhatIf(_) => 0,
        }
    }

    fn engine() -> Engine {
        let state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
        Engine::new(state, Vec::new())
    }

    #[test]
    fn the_loop_goes_on_while_one_copy_answers_everybody_who_has_not_gone() {
        let mut engine = engine();
        let (questions, asked) = sync_channel(32);
        let mut answers = Answers { work: slow, ..Answers::new(asked) };
        let ask = |what| {
            let (question, reply) = Question::new(what);
            questions.send(question).unwrap();
            reply
        };
        // A cycle that is half folded is not shown.
        let mut first = ask(Asked::Audit);
        answers.turn(&mut engine, false, false);
        assert!(answers.worker.is_none());
        answers.turn(&mut engine, true, false);
        assert!(answers.worker.is_some(), "a small state is copied in one portion");
        let mut later: Vec<_> = (0..15).map(|_| ask(Asked::Audit)).collect();
        drop(ask(Asked::Audit));
        for number in 1..=100 {
            engine.state.number = number;
            answers.turn(&mut engine, true, false);
        }
        assert!(BEGUN.load(Ordering::SeqCst) <= 1, "one at a time");
        assert_eq!(answers.waiting.len(), 15, "who has gone is not answered");
        // What is looked up by a name does not wait for that.
        let mut named = ask(Asked::Standing("nobody".into()));
        answers.turn(&mut engine, true, false);
        assert_eq!(named.try_recv().map(|it| cycle(&it)), Ok(100));
        MAY_END.store(true, Ordering::SeqCst);
        let mut got = Vec::new();
        while got.len() < later.len() {
            answers.turn(&mut engine, true, false);
            got.extend(later.iter_mut().filter_map(|reply| reply.try_recv().ok()));
            std::thread::yield_now();
        }
        assert_eq!(first.try_recv().map(|it| cycle(&it)), Ok(0));
        assert!(got.iter().all(|got| cycle(got) == 100), "{got:?}");
        assert_eq!(BEGUN.load(Ordering::SeqCst), 2, "those who asked meanwhile share one answer");
    }

    #[test]
    fn it_recounts_by_itself_once_it_is_settled() {
        let mut engine = engine();
        let (_questions, asked) = sync_channel(1);
        let mut answers = Answers::new(asked);
        answers.turn(&mut engine, true, false);
        assert!(answers.worker.is_none(), "not while it catches up");
        answers.turn(&mut engine, true, true);
        answers.worker.take().unwrap().join().unwrap();
        let (_, audited) = answers.audited().unwrap();
        assert!(audited.drifts.is_empty());
        answers.turn(&mut engine, true, true);
        assert!(answers.worker.is_none(), "not again at once");
    }

    #[test]
    fn a_question_whose_state_was_replaced_is_answered_from_the_next_one() {
        let mut before = engine();
        (0..100_000).for_each(|name| _ = before.state.names.intern(&format!("name {name}")));
        let (questions, asked) = sync_channel(1);
        let mut answers = Answers::new(asked);
        let (question, mut reply) = Question::new(Asked::Audit);
        questions.send(question).unwrap();
        answers.turn(&mut before, true, false);
        // In the middle of a cycle the copy goes on.
        answers.turn(&mut before, false, false);
        assert!(answers.is_waiting());
        let mut after = engine();
        after.state.number = 7;
        answers.turn(&mut after, true, false);
        answers.worker.take().unwrap().join().unwrap();
        assert_eq!(reply.try_recv().map(|it| cycle(&it)), Ok(7));
    }
}
