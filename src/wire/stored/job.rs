//! Jobs, transfers, nodes, worker reports. Names are written as text: numbers of names are
//! internal.

use super::{count, word};
use crate::avro::{Cursor, Fault, Sink};
use std::convert::Infallible;
use yardmaster_core::event::{Status, TransferStatus};
use yardmaster_core::id::{Key, Name, hash, stir};
use yardmaster_core::state::State;
use yardmaster_core::state::job::{
    AtCluster, Job, JobNumbers, LastHeartbeat, Sample, counts_closed,
};
use yardmaster_core::state::record::{Node, TransferState, Workers};
use yardmaster_core::state::reserve::seen_row;
use yardmaster_core::unit::Millis;

pub(super) fn write_job(sink: &mut Sink<'_>, state: &State, job: &Job) {
    sink.long(job.key.0 as i64);
    if !job.key.is_decimal() {
        sink.string(&state.job_name(job.key));
    }
    let LastHeartbeat { attempt, at, events, cpu_s, disk_io_kbps, rss_mb } = job.heartbeat;
    sink.long(at);
    for number in [attempt, events, cpu_s, disk_io_kbps, rss_mb] {
        sink.count(number);
    }
    sink.long(job.status.map_or(-1, |status| status as i64));
    if job.status.is_none() {
        return;
    }
    sink.index(job.sample as usize);
    let mut listed = *job;
    let Ok(()) = listed.each_number(sink);
    let nothing = AtCluster::default();
    let at = state.at_clusters.get(&job.key).unwrap_or(&nothing);
    sink.count(at.cpu_time_s);
    sink.count(at.wall_time_s);
    sink.string(&at.cluster_job);
    for name in job.names.into_iter().chain(listed.texts().map(|name| *name)) {
        sink.string(state.names.text(name));
    }
}

impl JobNumbers for Sink<'_> {
    type Fault = Infallible;

    fn long(&mut self, number: &mut i64) -> Result<(), Infallible> {
        Sink::long(self, *number);
        Ok(())
    }

    /// Its distance, which is short.
    fn near(&mut self, moment: &mut Millis, changed_at: Millis) -> Result<(), Infallible> {
        let distance = if *moment == 0 { i64::MIN } else { moment.wrapping_sub(changed_at) };
        Sink::long(self, distance);
        Ok(())
    }

    fn word(&mut self, word: &mut u64) -> Result<(), Infallible> {
        Sink::long(self, *word as i64);
        Ok(())
    }

    fn count(&mut self, count: &mut u32) -> Result<(), Infallible> {
        Sink::count(self, *count);
        Ok(())
    }

    fn int(&mut self, number: &mut i32) -> Result<(), Infallible> {
        Sink::int(self, *number);
        Ok(())
    }
}

impl JobNumbers for Cursor<'_> {
    type Fault = Fault;

    fn long(&mut self, number: &mut i64) -> Result<(), Fault> {
        *number = Cursor::long(self)?;
        Ok(())
    }

    fn near(&mut self, moment: &mut Millis, changed_at: Millis) -> Result<(), Fault> {
        let distance = Cursor::long(self)?;
        *moment = if distance == i64::MIN { 0 } else { changed_at.wrapping_add(distance) };
        Ok(())
    }

    fn word(&mut self, to: &mut u64) -> Result<(), Fault> {
        *to = word(self)?;
        Ok(())
    }

    fn count(&mut self, to: &mut u32) -> Result<(), Fault> {
        *to = count(self)?;
        Ok(())
    }

    fn int(&mut self, number: &mut i32) -> Result<(), Fault> {
        *number = Cursor::int(self)?;
        Ok(())
    }
}

/// Numbers that the names of jobs read before were given: most jobs share theirs with many others,
/// and one look at their bytes is quicker than one for each name and each row. Holds only while
/// rows stay.
pub(super) struct Memo {
    /// By request, task, and the names from queue to nucleus.
    rows: Recent<JobRows>,
    /// By its texts.
    tails: Recent<[Name; Job::TEXTS]>,
}

impl Default for Memo {
    fn default() -> Self {
        Memo { rows: Recent::new(1 << 16), tails: Recent::new(1 << 10) }
    }
}

/// The rows a job counts in; see [`Job`].
#[derive(Clone, Copy, Default)]
struct JobRows {
    names: [Name; 6],
    /// As [`yardmaster_core::state::ledger::Ledger::job_rows`] gives them.
    rows: [u32; 4],
    seen: u32,
}

/// Values by three numbers and the bytes they were read from; of two that have the same place the
/// later is kept.
struct Recent<V> {
    places: Vec<([u64; 3], Vec<u8>, V)>,
}

impl<V: Copy + Default> Recent<V> {
    /// So many places; a power of two.
    fn new(places: usize) -> Recent<V> {
        Recent { places: vec![([0; 3], Vec::new(), V::default()); places] }
    }

    /// The value, made if it is not at hand.
    fn of(
        &mut self,
        numbers: [u64; 3],
        bytes: &[u8],
        make: impl FnOnce() -> Result<V, Fault>,
    ) -> Result<V, Fault> {
        let place = hash(bytes) ^ stir(numbers[0] ^ numbers[1].rotate_left(32) ^ numbers[2]);
        let place = place as usize & (self.places.len() - 1);
        let (known_numbers, known, value) = &mut self.places[place];
        // Even empty strings have bytes, so a place without any is a free one.
        if known != bytes || *known_numbers != numbers {
            *value = make()?;
            *known_numbers = numbers;
            known.clear();
            known.extend_from_slice(bytes);
        }
        Ok(*value)
    }
}

/// So many strings as they lie, not looked at.
fn strings<'a>(at: &mut Cursor<'a>, count: usize) -> Result<&'a [u8], Fault> {
    let from = at.rest();
    for _ in 0..count {
        at.bytes()?;
    }
    Ok(&from[..from.len() - at.rest().len()])
}

/// The rows of a job, from the names in its record.
fn rows(state: &mut State, job: &Job, names: &[u8]) -> Result<JobRows, Fault> {
    let names = Cursor::new(names).strings::<6>()?;
    let names = names.map(|text| state.names.intern(text));
    let rows = state.ledger.job_rows(names, job.sample.is_merge());
    let seen = seen_row(&mut state.ledger, job.request, job.task, names[0]);
    Ok(JobRows { names, rows, seen })
}

pub(super) fn read_job(
    at: &mut Cursor<'_>,
    state: &mut State,
    memo: &mut Memo,
) -> Result<Job, Fault> {
    let key = Key(word(at)?);
    if !key.is_decimal() {
        let name = at.string()?.to_owned();
        state.job_names.insert(key, name);
    }
    let heartbeat = LastHeartbeat {
        at: at.long()?,
        attempt: count(at)?,
        events: count(at)?,
        cpu_s: count(at)?,
        disk_io_kbps: count(at)?,
        rss_mb: count(at)?,
    };
    let mut job = Job { heartbeat, ..Job::stub(key) };
    let status = at.long()?;
    if status < 0 {
        return Ok(job);
    }
    job.status = u8::try_from(status).ok().and_then(Status::from_number);
    if job.status.is_none() {
        return Err(Fault::Malformed);
    }
    job.sample = *Sample::ALL.get(at.index()?).ok_or(Fault::Malformed)?;
    job.each_number(at)?;
    let (cpu_time_s, wall_time_s) = (count(at)?, count(at)?);
    let stated = AtCluster { cpu_time_s, wall_time_s, cluster_job: at.string()?.to_owned() };
    match stated.is_nothing() {
        true => _ = state.at_clusters.remove(&key),
        false => _ = state.at_clusters.insert(key, stated),
    }
    let names = strings(at, 6)?;
    let numbers = [job.request.0, job.task.0, u64::from(job.sample.is_merge())];
    let rows = memo.rows.of(numbers, names, || rows(state, &job, names))?;
    (job.names, job.seen) = (rows.names, rows.seen);
    [job.load, job.user, job.group, job.nucleus] = rows.rows;
    let names = strings(at, Job::TEXTS)?;
    let texts = memo.tails.of([0; 3], names, || {
        let texts = Cursor::new(names).strings::<{ Job::TEXTS }>()?;
        Ok(texts.map(|text| state.names.intern(text)))
    })?;
    job.texts().into_iter().zip(texts).for_each(|(name, text)| *name = text);
    job.counts_closed = counts_closed(state.names.text(job.sub_status));
    Ok(job)
}

pub(super) fn write_transfer(sink: &mut Sink<'_>, state: &State, record: &TransferState) {
    sink.long(record.key.0 as i64);
    sink.index(record.state as usize);
    sink.long(record.changed_at);
    sink.count(record.revision);
    sink.count(record.files);
    sink.long(record.bytes as i64);
    let flow = state.ledger.flow.key(record.flow);
    flow[..3].iter().for_each(|name| sink.string(state.names.text(Name(*name))));
    sink.long(record.replica.0 as i64);
    sink.long(record.first_at);
    sink.index(usize::from(record.superseded));
}

pub(super) fn read_transfer(
    at: &mut Cursor<'_>,
    state: &mut State,
) -> Result<TransferState, Fault> {
    let key = Key(word(at)?);
    let reached = *TransferStatus::ALL.get(at.index()?).ok_or(Fault::Malformed)?;
    let changed_at = at.long()?;
    let revision = count(at)?;
    let files = count(at)?;
    let bytes = word(at)?;
    let mut names = [0u32; 4];
    for name in &mut names[..3] {
        *name = state.names.intern(at.string()?).0;
    }
    let flow = state.ledger.flow.row(names);
    let (replica, first_at, superseded) = (Key(word(at)?), at.long()?, at.index()? != 0);
    Ok(TransferState {
        key,
        state: reached,
        changed_at,
        revision,
        files,
        bytes,
        flow,
        replica,
        first_at,
        superseded,
    })
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
    sink.long(workers.are_nodes.into());
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
        are_nodes: at.long()? != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_a_place_is_not_mixed_up() {
        let mut recent = Recent::new(1);
        let keys: [([u64; 3], &[u8]); 4] = [
            ([1, 2, 0], b"\x02a"),
            ([2, 1, 0], b"\x02a"),
            ([1, 2, 0], b"\x02b"),
            ([0, 0, 1], b"\x00"),
        ];
        for round in 0..3u32 {
            for (at, (numbers, bytes)) in (0u32..).zip(keys) {
                let value = 10 * round + at;
                assert_eq!(recent.of(numbers, bytes, || Ok(value)), Ok(value));
                assert_eq!(recent.of(numbers, bytes, || Err(Fault::Malformed)), Ok(value));
            }
            let failed = recent.of([9, 9, 9], b"\x02c", || Err(Fault::Malformed));
            assert_eq!(failed, Err(Fault::Malformed));
        }
    }
}
