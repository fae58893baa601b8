//! Tasks and their chunks: they ask, are answered, make jobs, and end.

use super::Grid;
use super::agenda::GridStep;
use super::pool::Handle;
use super::work::Arrival;
use crate::dice::Dice;
use std::collections::BTreeMap;
use yardmaster_core::event::{
    ChunkKind, DecisionOutcome, OutcomeAbout, OutcomeKind, Task, TaskPhase,
};
use yardmaster_core::output::decision::{self, Decision, Ranked, request_name};
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// A task that has not ended.
pub struct LiveTask {
    pub arrival: Arrival,
    /// Part of its jobs that fail.
    pub fail_rate: f64,
    /// Of what becomes of its chunks and jobs: the same whatever is decided.
    pub dice: Dice,
    /// Chunks that live, and the number of the next.
    left: u32,
    next: u32,
    /// Chunks that wait for the scouts.
    held: Vec<(ChunkKind, u32)>,
    /// Jobs of it that are over.
    done: u32,
}

/// A chunk that has not ended.
#[derive(Clone)]
pub struct Chunk {
    pub task: Handle,
    /// Its request, as last published.
    pub request: Task,
    /// Name of that request: what its jobs carry.
    pub request_name: String,
    /// When its jobs were first asked for.
    pub first_asked: Millis,
    /// Whether the request as last published has an answer.
    has_answer: bool,
    stage: Stage,
    /// Jobs that are not over.
    pub left: u32,
    /// How often its work was given to each queue before, and taken back from there.
    pub given: TimesGiven,
}

/// How often work was given to each queue.
pub type TimesGiven = BTreeMap<u32, u32>;

#[derive(Clone)]
enum Stage {
    /// Has not asked yet, or not again.
    Silent,
    /// Waits for an answer.
    Asking,
    /// Has an answer that is not carried out yet.
    Answered(Box<Decision>),
    /// Has jobs.
    Working,
}

/// Part of all assignments that are not carried out.
const REFUSED: f64 = 0.01;
/// An assignment is carried out after so long.
const CARRYING_OUT: (Millis, Millis) = (5 * SECOND, 90 * SECOND);
/// Time after which a chunk whose assignment was refused asks again.
const AGAIN: (Millis, Millis) = (2 * MINUTE, 10 * MINUTE);
/// Chunks of a task follow each other by up to this.
const APART: Millis = 3 * MINUTE;
/// Part of the jobs of a task that fail, from..to (published: 3-10 %).
const FAILING: (f64, f64) = (0.03, 0.10);

impl Grid {
    pub(super) fn task_arrives(&mut self) {
        let arrival = self.workload.next(self.now);
        let seconds = arrival.work_hs06s / self.queues.power_hs06 / self.load();
        let gap = (self.workload.gap() * seconds * 1_000.0) as Millis;
        if self.now.saturating_add(gap) < self.end {
            self.after(gap.max(1), GridStep::TaskArrives);
        }
        self.count.tasks.0 += 1;
        let mut chunks = arrival.chunks.clone();
        let scouted = chunks.first().is_some_and(|(kind, _)| *kind == ChunkKind::Scout);
        let held = if scouted { chunks.split_off(1) } else { Vec::new() };
        let mut dice = Dice::new(self.seed, &arrival.request.task);
        let fail_rate = dice.within(FAILING.0, FAILING.1);
        let task = LiveTask { arrival, fail_rate, dice, left: 0, next: 1, held, done: 0 };
        let task = self.tasks.insert(task);
        for (kind, jobs) in chunks {
            self.add_chunk(task, (kind, jobs), TimesGiven::new());
        }
    }

    /// A chunk of a task, which will ask soon. `given`: how often its work was given to each queue
    /// and taken back.
    pub(super) fn add_chunk(
        &mut self,
        handle: Handle,
        (kind, jobs): (ChunkKind, u32),
        given: TimesGiven,
    ) {
        let Some(task) = self.tasks.get_mut(handle) else { return };
        let request = task.arrival.request(task.next, kind, jobs, self.now);
        task.next += 1;
        task.left += 1;
        let subject = request.subject.clone();
        let (request_name, first_asked) = (String::new(), Millis::MAX);
        let (stage, has_answer) = (Stage::Silent, false);
        let (task, left) = (handle, 0);
        let chunk =
            Chunk { task, request, request_name, first_asked, has_answer, stage, left, given };
        let chunk = self.chunks.insert(chunk);
        self.by_subject.insert(subject, chunk);
        self.after_sooner(0, APART, GridStep::ChunkAsks(chunk));
    }

    pub(super) fn chunk_asks(&mut self, handle: Handle) {
        let Some(chunk) = self.chunks.get_mut(handle) else { return };
        chunk.stage = Stage::Asking;
        chunk.has_answer = false;
        chunk.request.asked_at = self.now;
        chunk.request.changed_at = self.now;
        if let Some(task) = self.tasks.get(chunk.task) {
            let options = &mut chunk.request.options;
            let jobs: u32 = task.arrival.chunks.iter().map(|(_, jobs)| jobs).sum();
            let events = chunk.request.atom_events;
            options.events_per_job = Some(events);
            options.remaining_events = events * u64::from(jobs.saturating_sub(task.done));
        }
        chunk.request_name = request_name(&chunk.request.subject, chunk.request.attempt);
        if chunk.first_asked == Millis::MAX {
            chunk.first_asked = self.now;
            self.count.chunks += 1;
        }
        self.count.requests += 1;
        self.count.chunks_waiting += 1;
        self.publisher.task(&chunk.request);
    }

    /// A chunk without jobs that has asked asks as if it never had: an answer that is not carried
    /// out yet is forgotten.
    pub(super) fn asks_again(&mut self, handle: Handle) {
        let Some(chunk) = self.chunks.get_mut(handle) else { return };
        match chunk.stage {
            Stage::Answered(_) => self.count.chunks_waiting += 1,
            Stage::Asking => {}
            Stage::Silent | Stage::Working => return,
        }
        chunk.stage = Stage::Asking;
        chunk.has_answer = false;
        chunk.first_asked = self.now;
        chunk.request.asked_at = self.now;
        chunk.request.changed_at = self.now;
        self.publisher.task(&chunk.request);
    }

    /// An answer, if it is to what is asked.
    pub(super) fn hear(&mut self, decision: &Decision) {
        let Some(&handle) = self.by_subject.get(&decision.subject) else { return };
        let Some(chunk) = self.chunks.get_mut(handle) else { return };
        let asked = matches!(chunk.stage, Stage::Asking);
        let ours = decision.domain == self.domain && decision.attempt == chunk.request.attempt;
        if !asked || !ours {
            return;
        }
        if !std::mem::replace(&mut chunk.has_answer, true) {
            self.answers.add(self.now - chunk.request.asked_at);
        }
        match &decision.outcome {
            decision::Outcome::Defer { .. } => self.count.deferrals += 1,
            decision::Outcome::Reject { .. } => {
                self.count.rejected += 1;
                self.count.chunks_waiting -= 1;
                self.chunk_ends(handle);
            }
            decision::Outcome::Assign(_) => {
                self.count.chunks_waiting -= 1;
                let jobs = u64::from(chunk.request.jobs);
                self.assignments.add_times(self.now - chunk.first_asked, jobs);
                chunk.stage = Stage::Answered(Box::new(decision.clone()));
                self.after_sooner(CARRYING_OUT.0, CARRYING_OUT.1, GridStep::Answered(handle));
            }
        }
    }

    /// An assignment is carried out, or not.
    pub(super) fn answered(&mut self, handle: Handle) {
        let Some(chunk) = self.chunks.get_mut(handle) else { return };
        if !matches!(chunk.stage, Stage::Answered(_)) {
            return;
        }
        let Stage::Answered(decision) = std::mem::replace(&mut chunk.stage, Stage::Working) else {
            return;
        };
        let decision::Outcome::Assign(ranked) = &decision.outcome else { return };
        let task = chunk.task;
        let refused = self.tasks.get_mut(task).is_some_and(|task| task.dice.chance(REFUSED));
        let refusal = match self.assigned(ranked) {
            Err(reason) => Some((OutcomeKind::Failed, reason)),
            Ok(_) if refused => {
                Some((OutcomeKind::Refused, "the task was changed meanwhile".to_owned()))
            }
            Ok(assigned) => {
                self.generate(handle, &assigned);
                None
            }
        };
        let refused = refusal.is_some();
        let (kind, reason) = refusal.unwrap_or((OutcomeKind::Accepted, String::new()));
        let subject = decision.subject.clone();
        let (decision, at) = (decision.id, self.now);
        let about = OutcomeAbout::Decision;
        self.publisher.outcome(&DecisionOutcome { subject, decision, about, kind, at, reason });
        if !refused {
            self.count.accepted += 1;
            return;
        }
        self.count.refused += 1;
        if let Some(chunk) = self.chunks.get_mut(handle) {
            chunk.stage = Stage::Silent;
            chunk.request.attempt += 1;
        }
        self.after_sooner(AGAIN.0, AGAIN.1, GridStep::ChunkAsks(handle));
    }

    /// Where an assignment sends how many jobs: queue, slot, jobs.
    fn assigned(&self, ranked: &[Ranked]) -> Result<Vec<(u32, u16, u32)>, String> {
        let mut assigned = Vec::new();
        for it in ranked.iter().filter(|it| it.jobs > 0) {
            let Some((queue, slot)) = self.queues.find(&it.queue) else {
                return Err(format!("queue {} takes no jobs here", it.queue));
            };
            assigned.push((queue, slot, it.jobs));
        }
        if assigned.is_empty() { Err("no jobs were assigned".to_owned()) } else { Ok(assigned) }
    }

    fn generate(&mut self, handle: Handle, assigned: &[(u32, u16, u32)]) {
        let jobs = assigned.iter().map(|(_, _, jobs)| jobs).sum();
        if let Some(chunk) = self.chunks.get_mut(handle) {
            chunk.left = jobs;
            for (queue, _, jobs) in assigned {
                let before = chunk.given.get(queue).copied().unwrap_or(0);
                self.count.given_most = self.count.given_most.max(before + 1);
                self.count.given_again += if before > 0 { u64::from(*jobs) } else { 0 };
            }
        }
        for &(queue, slot, jobs) in assigned {
            for _ in 0..jobs {
                self.new_job(handle, queue, slot);
            }
        }
    }

    /// One of a chunk's jobs is over.
    pub(super) fn job_over(&mut self, handle: Handle) {
        let Some(chunk) = self.chunks.get_mut(handle) else { return };
        chunk.left -= 1;
        let (task, is_last) = (chunk.task, chunk.left == 0);
        if let Some(task) = self.tasks.get_mut(task) {
            task.done += 1;
        }
        if is_last {
            self.chunk_ends(handle);
        }
    }

    fn chunk_ends(&mut self, handle: Handle) {
        let Some(chunk) = self.chunks.remove(handle) else { return };
        self.by_subject.remove(&chunk.request.subject);
        let mut request = chunk.request;
        request.phase = TaskPhase::Ended;
        request.changed_at = self.now;
        self.publisher.task(&request);
        let Some(task) = self.tasks.get_mut(chunk.task) else { return };
        task.left -= 1;
        let held = std::mem::take(&mut task.held);
        let over = task.left == 0 && held.is_empty();
        for (kind, jobs) in held {
            self.add_chunk(chunk.task, (kind, jobs), TimesGiven::new());
        }
        if over {
            if let Some(task) = self.tasks.remove(chunk.task) {
                self.task_ends.add(self.now - task.arrival.request.asked_at);
            }
            self.count.tasks.1 += 1;
            request.subject = request.task.clone();
            request.attempt = 0;
            request.jobs = 0;
            self.publisher.task(&request);
        }
    }
}
