//! Requests, answers, reservations.

use super::{count, text, word};
use crate::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::record;
use yardmaster_core::event::Task;
use yardmaster_core::record::{Decode, Encode};
use yardmaster_core::state::blockers::{BlockerTable, Blockers, QueueList};
use yardmaster_core::state::record::{Answer, RequestState};

pub(super) fn write(sink: &mut Sink<'_>, request: &RequestState) {
    sink.string(&request.subject);
    sink.long(request.heard_at);
    sink.option(request.task.as_ref(), |sink, task| {
        let mut bytes = Vec::new();
        record::write(&mut bytes, task);
        sink.bytes(&bytes);
        sink.index(task.impossible.len());
        task.impossible.iter().for_each(|figure| sink.string(figure));
    });
    sink.index(request.passed.len());
    request.passed.iter().for_each(|attempt| sink.amount(*attempt));
    sink.option(request.answer.as_ref(), write_answer);
    request.reservations.encode(sink);
    request.outcomes.encode(sink);
    request.placements.encode(sink);
}

fn write_answer(sink: &mut Sink<'_>, answer: &Answer) {
    sink.amount(answer.attempt);
    sink.count(answer.ordinal);
    sink.boolean(answer.is_final);
    sink.long(answer.until);
    sink.long(answer.now);
    sink.long(answer.first_answered_at);
    sink.string(&answer.policy_hash);
    sink.string(&answer.nucleus);
    write_blockers(sink, &answer.blockers);
}

/// Queues as one block, each name without what it has in common with the one before it.
fn write_blockers(sink: &mut Sink<'_>, blockers: &Blockers) {
    let mut block = Vec::new();
    let mut names = Sink { out: &mut block };
    let mut before: &str = "";
    for queue in blockers.queues().iter() {
        let common = common_bytes(before, queue);
        names.index(common);
        names.string(queue.get(common..).unwrap_or_default());
        before = queue;
    }
    sink.index(blockers.queues().len());
    sink.bytes(&block);
    sink.index(blockers.causes().len());
    for cause in blockers.causes() {
        sink.string(&cause.filter);
        sink.string(&cause.reason);
    }
    blockers.of_queue().iter().for_each(|cause| sink.index(usize::from(*cause)));
}

/// How many bytes of whole characters two texts begin with alike.
fn common_bytes(one: &str, other: &str) -> usize {
    let alike = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    (0..=alike).rev().find(|at| other.is_char_boundary(*at)).unwrap_or(0)
}

/// The list of queues read last: most requests have the same.
#[derive(Default)]
pub(super) struct QueueListMemo {
    block: Vec<u8>,
    queues: QueueList,
}

pub(super) fn read(
    at: &mut Cursor<'_>,
    memo: &mut QueueListMemo,
    table: &mut BlockerTable,
) -> Result<RequestState, Fault> {
    let mut request =
        RequestState { subject: text(at)?, heard_at: at.long()?, ..RequestState::default() };
    if at.index()? == 1 {
        let bytes = at.bytes()?.get(HEADER_BYTES..).ok_or(Fault::Malformed)?;
        let mut task: Task = record::read(bytes)?;
        for _ in 0..at.index()? {
            task.impossible.push(text(at)?);
        }
        request.task = Some(task);
    }
    for _ in 0..at.index()? {
        request.passed.push(word(at)?);
    }
    if at.index()? == 1 {
        request.answer = Some(read_answer(at, memo, table)?);
    }
    request.reservations = Decode::decode(at)?;
    request.outcomes = Decode::decode(at)?;
    request.placements = Decode::decode(at)?;
    Ok(request)
}

fn read_answer(
    at: &mut Cursor<'_>,
    memo: &mut QueueListMemo,
    table: &mut BlockerTable,
) -> Result<Answer, Fault> {
    let mut answer = Answer {
        attempt: word(at)?,
        ordinal: count(at)?,
        is_final: at.boolean()?,
        until: at.long()?,
        now: at.long()?,
        first_answered_at: at.long()?,
        policy_hash: text(at)?,
        nucleus: text(at)?,
        blockers: Blockers::default(),
    };
    answer.blockers = read_blockers(at, memo, table)?;
    Ok(answer)
}

fn read_blockers(
    at: &mut Cursor<'_>,
    memo: &mut QueueListMemo,
    table: &mut BlockerTable,
) -> Result<Blockers, Fault> {
    let (count, block) = (at.index()?, at.bytes()?);
    if memo.block != block {
        let names = read_queues(count, block)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        memo.queues = table.queue_list(&names);
        memo.block = block.to_vec();
    }
    let mut causes = Vec::new();
    for _ in 0..at.index()? {
        causes.push(table.cause((at.string()?, at.string()?)));
    }
    let mut of_queue = Vec::new();
    for _ in 0..count {
        let cause = at.index()?;
        if cause >= causes.len() {
            return Err(Fault::Malformed);
        }
        of_queue.push(u16::try_from(cause).map_err(|_| Fault::Malformed)?);
    }
    if memo.queues.len() != count {
        return Err(Fault::Malformed);
    }
    Ok(table.join(memo.queues.clone(), causes, of_queue))
}

fn read_queues(count: usize, block: &[u8]) -> Result<Vec<String>, Fault> {
    let (mut at, mut names) = (Cursor::new(block), Vec::new());
    let mut before = String::new();
    for _ in 0..count {
        let common = at.index()?;
        let common = before.get(..common).ok_or(Fault::Malformed)?;
        let name = format!("{common}{}", at.string()?);
        before.clone_from(&name);
        names.push(name);
    }
    at.end()?;
    Ok(names)
}
