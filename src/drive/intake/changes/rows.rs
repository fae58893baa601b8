//! The records that are made of each row.

use super::job::{Order, Signs, Tracked};
use super::partition::{Gone, Turn};
use super::position::Position;
use super::snapshot::{Snapshot, is_in};
use super::{Changes, Shared};
use crate::intake::counts::Noted;
use crate::intake::{Intake, Origin, Records, Taken, decimal, share};
use std::sync::Arc;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{FieldName, Heartbeat, JobState, Oversize, Pilot, Status};
use yardmaster_core::id::Key;
use yardmaster_core::unit::Millis;
use yardmaster_wire::dialect::TaskMessage;
use yardmaster_wire::dialect::change::{
    Change, JobRow, NodesRow, Row, RowOperation, Snapshot as Read, WorkerKey,
};
use yardmaster_wire::record;

impl Intake {
    /// Notes where a change stands, whatever it is of, and closes the transaction before it.
    pub(super) fn note_change(
        &mut self,
        index: usize,
        change: &Change<'_>,
        origin: Origin<'_>,
        records: &mut Records,
    ) {
        let Some(partition) = self.changes.partitions.get_mut(index) else { return };
        let is_restored = partition.is_restored(change);
        match partition.turn(change) {
            Turn::Same => {}
            Turn::Back if !is_restored => partition.forget(),
            Turn::Next | Turn::Back => self.close_transaction(index, records),
        }
        if is_restored {
            let why = "the commits step back to an older place of its log, at a later time";
            self.restored(index, why);
        }
        let changes = &mut self.changes;
        let Some(partition) = changes.partitions.get_mut(index) else { return };
        partition.note(change, origin.appended_at);
        match change.snapshot {
            Read::No => {
                changes.committed_at = changes.committed_at.max(change.committed_at);
                if change.op != RowOperation::Read
                    && let Some(position) = Position::new(partition.era, change.position)
                {
                    partition.streamed = partition.streamed.max(position);
                    changes.streamed = changes.streamed.max(position);
                }
            }
            Read::Yes => {}
            Read::Last => changes.complete = changes.complete.max(Some(change.position)),
        }
    }

    /// The database was restored, as a partition shows.
    fn restored(&mut self, index: usize, why: &str) {
        self.counts.note(Noted::Restored, 1);
        self.changes.begin_era(index, why);
    }

    /// Takes the row of a change in.
    pub(super) fn rows(
        &mut self,
        index: usize,
        change: &Change<'_>,
        origin: Origin<'_>,
        records: &mut Records,
    ) -> Taken {
        let before = records.len();
        match &change.row {
            Row::Job(row) => {
                self.snapshot_row(index, change, origin);
                self.job_row(index, change, row, origin, records);
            }
            Row::JobGone { job } => self.job_gone(index, change, *job, origin),
            Row::Task(row) => {
                let (task, ended, at) = (row.task, row.is_ended, row.changed_at);
                if !self.publish_task(TaskMessage { task, ended, at }, records) {
                    return Taken::Ignored;
                }
            }
            Row::Worker(row) => {
                self.workers_row(index, origin, records, |report, at| report.add(row, at));
            }
            Row::WorkerGone(key) => {
                self.workers_row(index, origin, records, |report, at| report.gone(key, at));
            }
            Row::Nodes(row) => nodes(row, change, records),
            Row::Fact(_) | Row::FactGone { .. } | Row::Other => return Taken::Ignored,
        }
        if records.len() > before { Taken::Published } else { Taken::Known }
    }

    /// A row of a snapshot of the tables of jobs: from its first on, a partition is read again
    /// until the snapshot is complete.
    fn snapshot_row(&mut self, index: usize, change: &Change<'_>, origin: Origin<'_>) {
        if change.snapshot == Read::No {
            return;
        }
        let changes = &mut self.changes;
        let Some(partition) = changes.partitions.get_mut(index) else { return };
        let is = |it: &Snapshot| it.topic == partition.topic;
        let known = changes.snapshots.iter_mut().find(|it| is(it));
        // A snapshot is a beginning for all partitions alike.
        partition.era = partition.era.max(changes.era);
        let Some(position) = Position::new(partition.era, change.position) else { return };
        match known {
            // Of the rows of one snapshot some show that the database was restored.
            Some(held) if held.position.place() == change.position => {
                held.position = held.position.max(position);
                held.count(change.table);
            }
            Some(held) if held.position > position => return,
            known => {
                let mut new = Snapshot::new(&partition.topic, position, change.committed_at);
                new.count(change.table);
                match known {
                    // Another was begun: what the one before had read is in it, or is over.
                    Some(held) => *held = new,
                    None if changes.completed < position => changes.snapshots.push(new),
                    None => return,
                }
            }
        }
        partition.snapshot.get_or_insert(origin.offset);
    }

    fn job_row(
        &mut self,
        index: usize,
        change: &Change<'_>,
        row: &JobRow<'_>,
        origin: Origin<'_>,
        records: &mut Records,
    ) {
        if change.op == RowOperation::Create
            && let Some(partition) = self.changes.partitions.get_mut(index)
        {
            partition.gone.remove(&row.job);
            partition.keep_open(origin.offset);
        }
        let mut position = self.changes.position(index, change);
        let order = self.changes.jobs.held.get(&row.job).map(|job| job.order(row, position));
        if order == Some(Order::Restored) {
            self.restored(index, "a row that is newer than its job has an older place in its log");
            position = self.changes.position(index, change);
        }
        let signs = self.changes.signs(index, change);
        if order.is_none() {
            self.new_job(row, position, change, signs, records);
        } else if order == Some(Order::Repeated) {
            self.counts.note(Noted::Repeated, 1);
            if let Some(job) = self.changes.jobs.held.get_mut(&row.job) {
                job.signs.join(signs);
            }
        } else {
            if order != Some(Order::Next) {
                self.begin_again(row, position);
            }
            self.next_row(row, position, change, signs, records);
        }
    }

    /// Another life of a job begins with a row.
    fn begin_again(&mut self, row: &JobRow<'_>, position: Position) {
        let Some(job) = self.changes.jobs.held.get_mut(&row.job) else { return };
        let was_over = job.status.is_ended();
        job.begin_again(row, position);
        if was_over && !row.status.is_ended() {
            self.counts.note(Noted::Returned, 1);
        }
    }

    /// The first row that is seen of a job.
    fn new_job(
        &mut self,
        row: &JobRow<'_>,
        position: Position,
        change: &Change<'_>,
        signs: Signs,
        records: &mut Records,
    ) {
        let request = self.give_up(row.job);
        let queue = share(&mut self.queues, &row.queue, self.limits.names_max);
        let facts = self.changes.facts.of(super::Facts::of_row(row));
        let mut job = Tracked::of_row(row, position, queue, facts);
        (job.is_of_snapshot, job.signs) = (change.snapshot != Read::No, signs);
        if let Some((request, before)) = request {
            if before != job.queue {
                self.places.leave(&request, &before);
                self.places.hold(&request, &job.queue);
            }
            job.request = Some(request);
        }
        self.meet_tracked(row.job, job);
        self.place_tracked(row.job, None);
        self.publish_tracked(row.job, records);
        self.heartbeat(row, records);
    }

    /// A row that follows what is known of its job.
    fn next_row(
        &mut self,
        row: &JobRow<'_>,
        position: Position,
        change: &Change<'_>,
        signs: Signs,
        records: &mut Records,
    ) {
        let Changes { jobs, facts, .. } = &mut self.changes;
        let Some(job) = jobs.held.get_mut(&row.job) else { return };
        job.signs.join(signs);
        let is_of_snapshot = change.snapshot != Read::No;
        match position.cmp(&job.position) {
            std::cmp::Ordering::Greater => {
                (job.position, job.is_of_snapshot) = (position, is_of_snapshot);
            }
            std::cmp::Ordering::Equal => job.is_of_snapshot |= is_of_snapshot,
            // The snapshot did not see it.
            std::cmp::Ordering::Less => job.position = job.position.after(),
        }
        let is_alive = row.modified_at > job.modified_at;
        job.modified_at = row.modified_at.max(job.modified_at);
        if job.outranks(row.status, row.attempt) {
            return self.counts.note(Noted::Overtaken, 1);
        }
        let was_over = job.status.is_ended();
        let before = job.queue.clone();
        let (queues, most) = (&mut self.queues, self.limits.names_max);
        let is_news = job.take(row, |queue| share(queues, queue, most), |new| facts.of(new));
        let is_over = job.status.is_ended();
        if is_over && !was_over {
            jobs.note_end(row.job);
        }
        if is_news {
            self.place_tracked(row.job, Some(&before));
            self.publish_tracked(row.job, records);
        }
        if is_alive {
            self.heartbeat(row, records);
        } else if !is_news {
            self.counts.note(Noted::Equal, 1);
        }
    }

    /// A row of a job was deleted. Whether that ends it shows when its transaction is whole.
    fn job_gone(&mut self, index: usize, change: &Change<'_>, number: u64, origin: Origin<'_>) {
        let position = self.changes.position(index, change);
        let Changes { jobs, partitions, .. } = &mut self.changes;
        let Some(job) = jobs.held.get(&number) else { return };
        // The archive is cleaned of jobs that ended long ago. A row that is deleted after another
        // was inserted is the one that the job has left.
        if job.status.is_ended() || !is_in(job.status, change.table) {
            return;
        }
        if position < job.position {
            self.counts.note(Noted::Repeated, 1);
            return;
        }
        if let Some(partition) = partitions.get_mut(index) {
            partition.gone.insert(number, Gone { position, at: change.committed_at });
            partition.keep_open(origin.offset);
        }
    }

    /// A row of a report, which is published when its transaction is whole.
    fn workers_row(
        &mut self,
        index: usize,
        origin: Origin<'_>,
        records: &mut Records,
        add: impl FnOnce(&mut super::report::TransactionReport, Millis),
    ) {
        let Some(partition) = self.changes.partitions.get_mut(index) else { return };
        if partition.report.is_full() {
            partition.report.publish(records);
        }
        partition.keep_open(origin.offset);
        add(&mut partition.report, partition.committed_at);
    }

    /// A job lives, and a node works for a queue.
    fn heartbeat(&mut self, row: &JobRow<'_>, records: &mut Records) {
        let is_with_pilot = |job: &Tracked| job.is_with_pilot();
        if row.modified_at <= 0 || !self.changes.jobs.held.get(&row.job).is_some_and(is_with_pilot)
        {
            return;
        }
        let (mut digits, at) = ([0; 20], row.modified_at);
        let job = decimal(row.job, &mut digits);
        let beat = Heartbeat {
            job,
            at,
            attempt: row.attempt,
            cpu_s: row.cpu_s,
            disk_io_kbps: row.disk_io_kbps,
            rss_mb: row.rss_mb,
            events: row.events,
        };
        records.push(Topic::Heartbeat, job.as_bytes(), |out| record::write(out, &beat));
        let (queue, node) = (&*row.queue, row.node());
        let (kind, pilot) = match row.status {
            Status::Running => ("job", Pilot::UpdatedJob { queue, node, at }),
            Status::Sent => ("pilot", Pilot::AskedJob { queue, node, at }),
            _ => return,
        };
        if !queue.is_empty() && !node.is_empty() && self.changes.nodes.is_due(kind, queue, node, at)
        {
            self.tables.state_uncounted(&self.domain, at, records);
            let key = format!("{queue}/{kind}/{node}");
            records.push(Topic::Pilot, key.as_bytes(), |out| record::write(out, &pilot));
        }
    }

    /// Remembers a job, and forgets another where there are more than the limit.
    fn meet_tracked(&mut self, number: u64, job: Tracked) {
        let jobs = &mut self.changes.jobs;
        let is_over = job.status.is_ended();
        jobs.meet(number, job);
        if is_over {
            jobs.note_end(number);
        }
        if let Some((_, job)) = jobs.forget(self.limits.intake_jobs_max, |it| it.status.is_ended())
            && !job.status.is_ended()
        {
            self.counts.dropped += 1;
        }
    }

    /// The job is known of its rows from now on, not of PanDA's messages: its request and the queue
    /// at which it has a place.
    fn give_up(&mut self, number: u64) -> Option<(Arc<str>, Arc<str>)> {
        let job = self.jobs.held.remove(&number)?;
        if job.waits {
            self.leave(job.task, number);
        }
        Some((job.request?, job.queue))
    }

    pub(super) fn publish_tracked(&self, number: u64, records: &mut Records) {
        let Some(job) = self.changes.jobs.held.get(&number) else { return };
        let mut digits = ([0; 20], [0; 20]);
        let name = decimal(number, &mut digits.0);
        let task = if job.task == 0 { "" } else { decimal(job.task, &mut digits.1) };
        let state = job.record(name, task);
        records.push(Topic::JobState, name.as_bytes(), |out| record::write(out, &state));
    }

    /// A record that was made of a row, read back. Whether it is one.
    pub(in crate::intake) fn learn_tracked(&mut self, record: &JobState<'_>) -> bool {
        let number = Key::of(record.job.as_bytes());
        let Some(position) = Position::of_revision(record.revision) else {
            // Another writer's record of a job that has rows: the rows count.
            return number.is_decimal() && self.changes.jobs.held.contains_key(&number.0);
        };
        if !number.is_decimal() {
            return true;
        }
        self.changes.era = self.changes.era.max(position.era());
        self.give_up(number.0);
        let known = self.changes.jobs.held.get(&number.0);
        if known.is_some_and(|known| known.position > position) {
            return true;
        }
        let is_known = known.is_some();
        let task = Key::of(record.task.as_bytes());
        let task = if task.is_decimal() { task.0 } else { 0 };
        let queue = share(&mut self.queues, record.queue, self.limits.names_max);
        let facts = self.changes.facts.of(super::Facts::of_record(record));
        let job = Tracked::of_record(record, position, task, queue, facts);
        if is_known {
            let jobs = &mut self.changes.jobs;
            if job.status.is_ended() {
                jobs.note_end(number.0);
            }
            jobs.held.insert(number.0, job);
        } else {
            self.meet_tracked(number.0, job);
        }
        true
    }
}

impl Changes {
    /// Where a change of a partition stands. It was checked that the position fits.
    fn position(&self, index: usize, change: &Change<'_>) -> Position {
        let era = self.partitions.get(index).map_or(1, |partition| partition.era);
        Position::new(era, change.position).unwrap_or_default()
    }
}

impl Shared {
    /// One for all that have the same.
    pub(super) fn of(&mut self, facts: super::Facts) -> std::sync::Arc<super::Facts> {
        if let Some(known) = self.facts.get(&facts) {
            return known.clone();
        }
        if self.facts.len() >= self.most {
            self.facts.retain(|facts| std::sync::Arc::strong_count(facts) > 1);
            self.most = (2 * self.facts.len()).max(65_536);
        }
        let new = std::sync::Arc::new(facts);
        self.facts.insert(new.clone());
        new
    }
}

/// Refuses a change that no record of ours can be made of.
pub(super) fn check(change: &Change<'_>, name_bytes: usize) -> Result<(), String> {
    let position = change.position;
    if Position::new(1, position).is_none() {
        return Err(format!(
            "field `source.lsn` or `source.scn`: found {position}, wants a position below 2^55"
        ));
    }
    let longest = match &change.row {
        Row::Job(row) => longest_name(row),
        Row::Worker(row) => longest_of_key(&row.key),
        Row::WorkerGone(key) => longest_of_key(key),
        Row::Nodes(row) => FieldName { field: "site", text: &row.queue },
        Row::Fact(row) => FieldName { field: "key", text: &row.key },
        Row::JobGone { .. } | Row::Task(_) | Row::FactGone { .. } | Row::Other => {
            FieldName::default()
        }
    };
    Oversize::of_name(longest, name_bytes).map_or(Ok(()), |why| Err(why.to_string()))
}

/// PanDA sets counts of old to 0 and leaves their time as it was, so a change is of its commit. A
/// row that a snapshot reads may be old.
fn nodes(row: &NodesRow<'_>, change: &Change<'_>, records: &mut Records) {
    let (queue, nodes_asked, nodes_updated) = (&*row.queue, row.asked, row.updated);
    let at = match change.snapshot {
        Read::No => change.committed_at,
        Read::Yes | Read::Last => row.at,
    };
    let pilot = Pilot::Nodes { queue, nodes_asked, nodes_updated, at };
    let key = pilot.key();
    records.push(Topic::Pilot, key.as_bytes(), |out| record::write(out, &pilot));
}

/// The longest name of a row of workers.
fn longest_of_key<'k>(key: &'k WorkerKey<'_>) -> FieldName<'k> {
    FieldName::longest([
        ("computingsite", &*key.queue),
        ("harvester_id", &key.harvester),
        ("resourcetype", &key.resource_type),
    ])
}

/// The longest name of a job's row.
fn longest_name<'r>(row: &'r JobRow<'_>) -> FieldName<'r> {
    FieldName::longest([
        ("computingsite", &*row.queue),
        ("produsername", &row.user),
        ("workinggroup", &row.group),
        ("gshare", &row.gshare),
        ("resource_type", &row.resource_type),
        ("nucleus", &row.nucleus),
        ("prodsourcelabel", &row.label),
        ("processingtype", &row.processing_type),
        ("jobsubstatus", &row.sub_status),
        ("modificationhost", &row.host),
    ])
}
