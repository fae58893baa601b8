//! A copy of the state as of the end of a cycle, made in portions while folding goes on, so that no
//! cycle waits for it. It holds what counters and their recount are made of, and nothing else.

use crate::copy::{CopyFor, InPortions, TakeCopy};
use crate::event::Task;
use crate::state::State;
use crate::state::blockers::Blockers;
use crate::state::job::Job;
use crate::state::record::{Answer, Node, RequestState, TransferState, Workers};
use crate::state::slab::{Copied, Index};

impl State {
    /// Begins a copy as of now; one that was under way is dropped.
    pub fn begin_copy(&mut self, copy_for: CopyFor) {
        let mut rest = State {
            epoch: self.epoch,
            number: self.number,
            now: self.now,
            before: self.before,
            known_since: self.known_since,
            times: self.times.clone(),
            slots: self.slots.clone(),
            marks: self.marks.clone(),
            ledger: self.ledger.without_tables(),
            ..State::new(self.setting.clone())
        };
        if copy_for == CopyFor::Audit {
            rest.jobs.index = Index::counted(self.jobs.index.len());
            rest.transfers.index = Index::counted(self.transfers.index.len());
            rest.nodes.index = Index::counted(self.nodes.index.len());
            rest.workers.index = Index::counted(self.workers.index.len());
        }
        self.tables(copy_for).into_iter().for_each(InPortions::begin_copy);
        self.copying.begin((copy_for, rest));
    }

    /// Purpose of the copy under way; `None`: there is none.
    pub fn copying_for(&self) -> Option<CopyFor> {
        self.copying.0.as_ref().map(|copying| copying.0)
    }

    /// Copies a portion that costs as much as `most` small records at most. Hands the copy over
    /// once nothing is left to copy.
    pub fn copy_more(&mut self, most: usize) -> Option<Box<CopiedState>> {
        let copy_for = self.copying_for()?;
        let mut left = most;
        for table in self.tables(copy_for) {
            left = left.saturating_sub(table.copy_more(left));
            if left == 0 {
                return None;
            }
        }
        let (_, mut rest) = *self.copying.0.take()?;
        rest.names = self.names.take_copy();
        self.ledger.take_copies(&mut rest.ledger);
        if matches!(copy_for, CopyFor::Audit | CopyFor::Jobs) {
            rest.jobs.slab = self.jobs.slab.take_copy();
            rest.requests.slab = self.requests.slab.take_copy();
        }
        if copy_for == CopyFor::Audit {
            rest.transfers.slab = self.transfers.slab.take_copy();
            rest.nodes.slab = self.nodes.slab.take_copy();
            rest.workers.slab = self.workers.slab.take_copy();
            rest.job_names = self.job_names.take_copy();
            rest.chunks = self.chunks.take_copy();
            rest.stubs = self.stubs.take_copy();
            rest.opened = self.opened.take_copy();
        }
        Some(Box::new(CopiedState { copy_for, state: rest }))
    }

    fn tables(&mut self, copy_for: CopyFor) -> Vec<&mut dyn InPortions> {
        let mut tables: Vec<&mut dyn InPortions> = vec![&mut self.names];
        tables.extend(self.ledger.tables());
        if matches!(copy_for, CopyFor::Audit | CopyFor::Jobs) {
            tables.push(&mut self.jobs.slab);
            tables.push(&mut self.requests.slab);
        }
        if copy_for == CopyFor::Audit {
            let records: [&mut dyn InPortions; 7] = [
                &mut self.transfers.slab,
                &mut self.nodes.slab,
                &mut self.workers.slab,
                &mut self.job_names,
                &mut self.chunks,
                &mut self.stubs,
                &mut self.opened,
            ];
            tables.extend(records);
        }
        tables
    }
}

/// A copy of which every portion was handed over.
#[derive(Debug)]
pub struct CopiedState {
    copy_for: CopyFor,
    state: State,
}

impl CopiedState {
    /// The state as of the end of the cycle at which the copy began, as far as it was copied. This
    /// takes time, but not the loop's.
    pub fn finish(self) -> State {
        let CopiedState { copy_for, mut state } = self;
        state.tables(copy_for).into_iter().for_each(InPortions::finish_copy);
        state.requests.settle(|request| &request.subject);
        state
    }
}

impl Copied for Job {}
impl Copied for TransferState {}
impl Copied for Node {}
impl Copied for Workers {}

/// Without what neither a recount nor an estimate reads: most of a request is text.
impl Copied for RequestState {
    const COST: usize = 8;

    fn copied(&self) -> Self {
        let task = |task: &Task| Task {
            task: task.task.clone(),
            attempt: task.attempt,
            phase: task.phase,
            asked_at: task.asked_at,
            gshare: task.gshare.clone(),
            ..Task::default()
        };
        let answer = |answer: &Answer| Answer {
            policy_hash: String::new(),
            nucleus: String::new(),
            blockers: Blockers::default(),
            ..*answer
        };
        RequestState {
            subject: self.subject.clone(),
            task: self.task.as_ref().map(task),
            passed: self.passed.clone(),
            answer: self.answer.as_ref().map(answer),
            reservations: self.reservations.clone(),
            ..RequestState::default()
        }
    }
}
