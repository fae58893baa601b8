//! Jobs, transfers, nodes, worker reports. Names are written as text: numbers of names are
//! internal.

use super::{count, word};
use crate::core::event::{Status, TransferState};
use crate::core::id::{Key, Name};
use crate::core::record::{Beat, Job, Move, Node, Workers};
use crate::core::reserve::seen_row;
use crate::core::rows::NO_ROW;
use crate::core::state::State;
use crate::wire::avro::{Cursor, Fault, Sink};

pub(super) fn write_job(sink: &mut Sink<'_>, state: &State, job: &Job) {
    sink.long(job.key.0 as i64);
    if !job.key.is_decimal() {
        sink.string(&state.job_name(job.key));
    }
    let Beat { attempt, at, events, cpu_s, disk_io_kbps, rss_mb } = job.beat;
    sink.long(at);
    for number in [attempt, events, cpu_s, disk_io_kbps, rss_mb] {
        sink.count(number);
    }
    sink.long(job.status.map_or(-1, |status| status as i64));
    if job.status.is_none() {
        return;
    }
    for number in [job.task.0 as i64, job.request.0 as i64, job.changed_at] {
        sink.long(number);
    }
    // The other times lie near, so their distances are short.
    for time in [job.created_at, job.started_at, job.ended_at] {
        sink.long(if time == 0 { i64::MIN } else { time.wrapping_sub(job.changed_at) });
    }
    sink.long(job.input_bytes as i64);
    sink.long(job.output_bytes as i64);
    for number in [job.attempt, job.revision, job.cores] {
        sink.count(number);
    }
    sink.int(job.priority);
    let ledger = &state.ledger;
    let load = ledger.load.key(job.load);
    let who = |row: u32| match row {
        NO_ROW => Name::NONE,
        row => Name(ledger.who.key(row)[0]),
    };
    let nucleus = match job.nucleus {
        NO_ROW => Name::NONE,
        row => Name(ledger.nucleus.key(row)[0]),
    };
    let names = [Name(load[0]), Name(load[1]), Name(load[2]), who(job.user), who(job.group)];
    for name in names.into_iter().chain([nucleus, job.workflow, job.label, job.sub_status]) {
        sink.string(state.names.text(name));
    }
}

pub(super) fn read_job(at: &mut Cursor<'_>, state: &mut State) -> Result<Job, Fault> {
    let key = Key(word(at)?);
    if !key.is_decimal() {
        let name = at.string()?.to_owned();
        state.job_names.insert(key, name);
    }
    let beat = Beat {
        at: at.long()?,
        attempt: count(at)?,
        events: count(at)?,
        cpu_s: count(at)?,
        disk_io_kbps: count(at)?,
        rss_mb: count(at)?,
    };
    let mut job = Job { beat, ..Job::stub(key) };
    let status = at.long()?;
    if status < 0 {
        return Ok(job);
    }
    job.status = u8::try_from(status).ok().and_then(Status::from_number);
    if job.status.is_none() {
        return Err(Fault::Malformed);
    }
    job.task = Key(word(at)?);
    job.request = Key(word(at)?);
    job.changed_at = at.long()?;
    for time in [&mut job.created_at, &mut job.started_at, &mut job.ended_at] {
        let distance = at.long()?;
        *time = if distance == i64::MIN { 0 } else { job.changed_at.wrapping_add(distance) };
    }
    job.input_bytes = word(at)?;
    job.output_bytes = word(at)?;
    job.attempt = count(at)?;
    job.revision = count(at)?;
    job.cores = count(at)?;
    job.priority = at.int()?;
    let queue = state.names.intern(at.string()?);
    let gshare = state.names.intern(at.string()?);
    let resource_type = state.names.intern(at.string()?);
    job.load = state.ledger.load_row(queue, gshare, resource_type);
    for (row, kind) in [(&mut job.user, 0), (&mut job.group, 1)] {
        let name = state.names.intern(at.string()?);
        *row = match name {
            Name::NONE => NO_ROW,
            name => state.ledger.who.row([name.0, queue.0, kind, 0]),
        };
    }
    let nucleus = state.names.intern(at.string()?);
    job.nucleus = match nucleus {
        Name::NONE => NO_ROW,
        name => state.ledger.nucleus.row([name.0, 0, 0, 0]),
    };
    job.workflow = state.names.intern(at.string()?);
    job.label = state.names.intern(at.string()?);
    job.sub_status = state.names.intern(at.string()?);
    job.seen = seen_row(&mut state.ledger, job.request, job.task, queue);
    Ok(job)
}

pub(super) fn write_transfer(sink: &mut Sink<'_>, state: &State, record: &Move) {
    sink.long(record.key.0 as i64);
    sink.index(record.state as usize);
    sink.long(record.changed_at);
    sink.count(record.revision);
    sink.count(record.files);
    sink.long(record.bytes as i64);
    let flow = state.ledger.flow.key(record.flow);
    flow[..3].iter().for_each(|name| sink.string(state.names.text(Name(*name))));
}

pub(super) fn read_transfer(at: &mut Cursor<'_>, state: &mut State) -> Result<Move, Fault> {
    let key = Key(word(at)?);
    let reached = *TransferState::ALL.get(at.index()?).ok_or(Fault::Malformed)?;
    let changed_at = at.long()?;
    let revision = count(at)?;
    let files = count(at)?;
    let bytes = word(at)?;
    let mut names = [0u32; 4];
    for name in &mut names[..3] {
        *name = state.names.intern(at.string()?).0;
    }
    let flow = state.ledger.flow.row(names);
    Ok(Move { key, state: reached, changed_at, revision, files, bytes, flow })
}

pub(super) fn write_node(sink: &mut Sink<'_>, state: &State, node: &Node) {
    sink.long(node.key.0 as i64);
    sink.string(state.names.text(node.queue));
    sink.long(node.asked_at);
    sink.long(node.updated_at);
}

pub(super) fn read_node(at: &mut Cursor<'_>, state: &mut State) -> Result<Node, Fault> {
    Ok(Node {
        key: Key(word(at)?),
        queue: state.names.intern(at.string()?),
        asked_at: at.long()?,
        updated_at: at.long()?,
    })
}

pub(super) fn write_workers(sink: &mut Sink<'_>, state: &State, workers: &Workers) {
    sink.long(workers.key.0 as i64);
    for name in [workers.queue, workers.harvester, workers.resource_type] {
        sink.string(state.names.text(name));
    }
    sink.long(workers.at);
    sink.count(workers.submitted);
    sink.count(workers.running);
}

pub(super) fn read_workers(at: &mut Cursor<'_>, state: &mut State) -> Result<Workers, Fault> {
    Ok(Workers {
        key: Key(word(at)?),
        queue: state.names.intern(at.string()?),
        harvester: state.names.intern(at.string()?),
        resource_type: state.names.intern(at.string()?),
        at: at.long()?,
        submitted: count(at)?,
        running: count(at)?,
    })
}
