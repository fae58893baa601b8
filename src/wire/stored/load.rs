//! From what a store kept to a state.

use super::job::Memo;
use super::{Head, Kind, fact, job, read_head, request};
use crate::avro::{Cursor, Fault};
use yardmaster_core::event::Status;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::record::Decode;
use yardmaster_core::state::job::Job;
use yardmaster_core::state::record::TransferState;
use yardmaster_core::state::timer::NodePart;
use yardmaster_core::state::{Keyed, State, Table};

/// A state that is being filled with what was kept: the head, then deltas newest first, then base
/// pages. Of a slot that comes more than once the first counts, and no other is looked at. Records
/// come back into their slots; everything derived is made again.
pub struct Restore {
    state: State,
    head: Head,
    filled: Filled,
    memo: Memo,
    requests: request::QueueListMemo,
}

/// The slots that came: by the number of their kind a bit for each.
#[derive(Default)]
struct Filled(Vec<Vec<u64>>);

impl Filled {
    /// Notes a slot; whether it is the first time.
    fn insert(&mut self, kind: Kind, slot: u32) -> bool {
        let (kind, word, bit) = (usize::from(kind.number()), slot as usize / 64, 1 << (slot % 64));
        if self.0.len() <= kind {
            self.0.resize(kind + 1, Vec::new());
        }
        let words = &mut self.0[kind];
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        is_new
    }
}

impl Restore {
    /// Begins with an empty state and the head.
    pub fn begin(mut state: State, head: &[u8]) -> Result<Restore, Fault> {
        let head = read_head(head, &mut state)?;
        Ok(Restore {
            state,
            head,
            filled: Filled::default(),
            memo: Memo::default(),
            requests: request::QueueListMemo::default(),
        })
    }

    /// Takes in a delta or a base page.
    pub fn chunk(&mut self, chunk: &[u8]) -> Result<(), Fault> {
        let mut at = Cursor::new(chunk);
        while !at.rest().is_empty() {
            let kind = Kind::from_number(at.take(1)?[0]).ok_or(Fault::Malformed)?;
            let slot = super::count(&mut at)?;
            let bytes = at.bytes()?;
            if self.filled.insert(kind, slot) {
                let memos = (&mut self.memo, &mut self.requests);
                record(&mut self.state, memos, kind, slot, bytes)?;
            }
        }
        Ok(())
    }

    /// The state, once all is in.
    pub fn end(mut self) -> (State, Head) {
        settle(&mut self.state);
        (self.state, self.head)
    }
}

fn record(
    state: &mut State,
    (memo, requests): (&mut Memo, &mut request::QueueListMemo),
    kind: Kind,
    slot: u32,
    bytes: &[u8],
) -> Result<(), Fault> {
    let mut at = Cursor::new(bytes);
    let at = &mut at;
    let some = !bytes.is_empty();
    macro_rules! put {
        ($slab:expr, $read:expr) => {{
            let record = if some { Some($read) } else { None };
            $slab.place(slot, record);
        }};
    }
    match kind {
        Kind::Job => put!(state.jobs.slab, job::read_job(at, state, memo)?),
        Kind::Transfer => put!(state.transfers.slab, job::read_transfer(at, state)?),
        Kind::Node => put!(state.nodes.slab, job::read_node(at, state)?),
        Kind::Workers => put!(state.workers.slab, job::read_workers(at, state)?),
        Kind::Request => {
            put!(state.requests.slab, request::read(at, requests, &mut state.blockers)?)
        }
        Kind::Configuration(topic) => {
            fact::place(&mut state.facts, topic, slot, some.then_some(&mut *at))?;
        }
        Kind::Throttle => put!(state.throttles.slab, Decode::decode(at)?),
        Kind::Answered => put!(state.answered.table.slab, Decode::decode(at)?),
        Kind::Command => put!(state.commands.table.slab, Decode::decode(at)?),
        Kind::HeldBack => put!(state.commands.held.slab, Decode::decode(at)?),
        Kind::PoolJob => put!(state.pool.jobs.slab, Decode::decode(at)?),
        Kind::PoolWorkflow => put!(state.pool.workflows.slab, Decode::decode(at)?),
        Kind::PoolOffer => put!(state.pool.offers.slab, Decode::decode(at)?),
        Kind::PoolUser => put!(state.pool.users.slab, Decode::decode(at)?),
        Kind::PoolNode => put!(state.pool.nodes.slab, Decode::decode(at)?),
    }
    at.end()
}

/// Finds everything again, counts everything again, sets every deadline again.
fn settle(state: &mut State) {
    index(&mut state.jobs);
    index(&mut state.transfers);
    index(&mut state.nodes);
    index(&mut state.workers);
    state.requests.settle(|request| &request.subject);
    fact::settle(&mut state.facts);
    state.answered.settle();
    settle_jobs(state);
    settle_others(state);
    settle_requests(state);
    settle_throttles(state);
    state.settle_commands();
    state.settle_replicas();
    state.settle_pool();
    state.ledger.sweep();
}

fn index<T: Keyed>(table: &mut Table<T>) {
    table.slab.settle();
    table.index.reserve(table.slab.len());
    for (slot, record) in table.slab.iter() {
        table.index.insert(record.key().0, slot);
    }
}

fn settle_jobs(state: &mut State) {
    let lifetime = state.setting.limits.ended_job_lifetime_ms;
    let jobs: Vec<u32> = state.jobs.slab.iter().map(|(slot, _)| slot).collect();
    for slot in jobs {
        let Some(job) = state.jobs.slab.get(slot).copied() else { continue };
        match job.status {
            None => {
                state.stubs.insert((job.heartbeat.at, job.key), ());
            }
            Some(status) => count(state, &job, status, lifetime),
        }
    }
}

fn count(state: &mut State, job: &Job, status: Status, lifetime: i64) {
    state.ledger.job(job, 1);
    if status.is_ended() {
        state.timers.jobs.set(job.over_at().saturating_add(lifetime), job.key);
    }
}

fn settle_others(state: &mut State) {
    let limits = &state.setting.limits;
    for (_, record) in state.transfers.slab.iter() {
        state.ledger.transfer(record, 1);
        if record.state.is_ended() {
            let over = record.changed_at.saturating_add(limits.transfer_ended_lifetime_ms);
            state.timers.transfers.set(over, record.key);
        }
        if record.replica != TransferState::NO_REPLICA {
            state.replica_requests.insert((record.replica, record.key));
        }
    }
    for (_, node) in state.nodes.slab.iter() {
        state.ledger.node(node, 1);
        for (at, part) in [(node.asked_at, NodePart::Asked), (node.updated_at, NodePart::Updated)] {
            if at != 0 {
                let over = at.saturating_add(limits.node_window_ms);
                state.timers.nodes.set(over, (node.key, part));
            }
        }
    }
    for (_, report) in state.workers.slab.iter() {
        state.ledger.workers(report, 1);
        state.timers.workers.set(report.over_at(limits), report.key);
    }
}

fn settle_throttles(state: &mut State) {
    state.throttles.slab.settle();
    let throttles: Vec<(u32, Throttle)> =
        state.throttles.slab.iter().map(|(slot, throttle)| (slot, throttle.clone())).collect();
    for (slot, throttle) in throttles {
        state.throttles.by_name.insert(throttle.name(), slot);
        state.settle_throttle(&throttle);
    }
}

fn settle_requests(state: &mut State) {
    let subjects: Vec<String> = state.requests.by_name.keys().cloned().collect();
    for subject in &subjects {
        let Some(request) = state.requests.of(subject) else { continue };
        if let Some(task) = &request.task {
            state.chunks.at(task.task.clone()).insert(subject.clone());
        }
        if let Some(answer) = request.answer.as_ref().filter(|answer| !answer.is_final) {
            state.timers.deferrals.set(answer.until, subject);
        }
        let reservations = request.reservations.clone();
        reservations.iter().for_each(|reservation| state.open_reservation(subject, reservation));
    }
    subjects.into_iter().for_each(|subject| state.arm_subject(subject));
}
