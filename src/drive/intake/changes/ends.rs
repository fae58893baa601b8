//! Ends without a message of their own: jobs whose row is gone, and jobs that a snapshot does not
//! have. Both show only when a transaction or a snapshot is whole.

use super::partition::{Gone, Partition};
use super::snapshot::{Snapshot, TABLES, table_of};
use super::{Changes, position::Position};
use crate::intake::counts::Noted;
use crate::intake::{Intake, Records};
use yardmaster_core::unit::Millis;

/// Where no later commit was seen anywhere, a transaction counts as whole after so many settle
/// times. A connector that died in the middle of it is started again meanwhile.
const QUIET: Millis = 30;

/// How far a partition of a source was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach<'a> {
    /// Name of its topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: u32,
    /// Whether it was read to its end.
    pub is_at_end: bool,
}

impl Intake {
    /// Whether something waits for the end of partitions: then `settle` is to be called.
    pub fn is_unsettled(&self) -> bool {
        let Changes { partitions, snapshots, .. } = &self.changes;
        !snapshots.is_empty()
            || partitions.iter().any(Partition::is_open)
            || self.tables.is_unsettled()
    }

    /// Closes what is whole since its partition was read to its end and stayed quiet. `reach` are
    /// all partitions of all sources, `now` is ms since 1970, by a clock like the broker's.
    pub fn settle(&mut self, now: Millis, reach: &[Reach<'_>], records: &mut Records) {
        let places = reach.iter().map(|it| (it.topic, it.partition, it.is_at_end));
        let refused = self.tables.settle((&self.domain, &self.limits), now, places, records);
        self.changes.notices.extend(refused);
        let settle = self.limits.intake_settle_ms;
        for index in 0..self.changes.partitions.len() {
            let Some(it) = self.changes.partitions.get(index) else { continue };
            if !it.is_open() || !reach.iter().any(|reach| is_end_of(reach, it)) {
                continue;
            }
            let is_passed = self.changes.committed_at > it.committed_at;
            let patience = if is_passed { settle } else { settle.saturating_mul(QUIET) };
            if now.saturating_sub(it.appended_at) >= patience {
                self.close_transaction(index, records);
            }
        }
        let mut snapshots = std::mem::take(&mut self.changes.snapshots);
        snapshots.retain_mut(|it| !self.finish(it, now, reach, records));
        self.changes.snapshots = snapshots;
    }

    /// No change follows in the transaction that is open in a partition: rows that were deleted and
    /// not inserted again end their jobs, a report is whole.
    pub(super) fn close_transaction(&mut self, index: usize, records: &mut Records) {
        let Some(partition) = self.changes.partitions.get_mut(index) else { return };
        partition.close();
        partition.report.publish(records);
        if partition.gone.is_empty() {
            return;
        }
        let mut gone: Vec<(u64, Gone)> = std::mem::take(&mut partition.gone).into_iter().collect();
        gone.sort_unstable_by_key(|(number, gone)| (gone.position, *number));
        for (number, Gone { position, at }) in gone {
            if self.end_job(number, position, at, records) {
                self.counts.note(Noted::EndedByDelete, 1);
            }
        }
    }

    /// Ends a job whose row is gone. Whether it lived.
    fn end_job(
        &mut self,
        number: u64,
        position: Position,
        at: Millis,
        records: &mut Records,
    ) -> bool {
        let Changes { jobs, facts, .. } = &mut self.changes;
        let Some(job) = jobs.held.get_mut(&number) else { return false };
        if job.status.is_ended() {
            return false;
        }
        job.end(position, at, |new| facts.of(new));
        jobs.note_end(number);
        self.publish_tracked(number, records);
        true
    }

    /// Ends the jobs that a snapshot does not have, once it is complete; no more at a time than a
    /// transaction takes. Whether all is done.
    fn finish(
        &mut self,
        snapshot: &mut Snapshot,
        now: Millis,
        reach: &[Reach<'_>],
        records: &mut Records,
    ) -> bool {
        if !self.changes.is_complete(snapshot, now, reach, self.limits.intake_settle_ms) {
            return false;
        }
        let mut absent: Vec<(u64, usize)> = Vec::new();
        let mut counts = [0; 2];
        for (number, job) in &self.changes.jobs.held {
            // A change below the snapshot's place may have been committed after it was taken.
            let is_later = job.signs.committed_at.max(job.changed_at) >= snapshot.taken_at;
            let is_seen = is_later || job.signs.snapshot == snapshot.position.place();
            if !job.status.is_ended() && job.position < snapshot.position && !is_seen {
                let table = table_of(job.status);
                counts[table] += 1;
                absent.push((*number, table));
            }
        }
        let verdict = match snapshot.verdict {
            Some(verdict) => verdict,
            None => self.judge(snapshot, counts),
        };
        absent.retain(|(_, table)| verdict[*table]);
        absent.sort_unstable();
        let most = self.limits.intake_batch_records;
        let is_all = absent.len() <= most;
        for (number, _) in absent.into_iter().take(most) {
            if self.end_job(number, snapshot.position, snapshot.taken_at, records) {
                self.counts.note(Noted::EndedBySnapshot, 1);
            }
        }
        if is_all {
            self.changes.release(snapshot);
        }
        is_all
    }

    fn judge(&mut self, snapshot: &mut Snapshot, absent: [u64; 2]) -> [bool; 2] {
        let verdict = snapshot.judge(absent, self.limits.intake_absent_max);
        snapshot.verdict = Some(verdict);
        let rows: u64 = snapshot.rows.iter().sum();
        let ends: u64 = (0..2).filter(|table| verdict[*table]).map(|table| absent[table]).sum();
        let mut notice = format!(
            "{}: a snapshot with {rows} rows is complete: {ends} jobs that are not in it end",
            snapshot.topic
        );
        for table in (0..2).filter(|table| !verdict[*table]) {
            self.counts.note(Noted::KeptAfterSnapshot, absent[table]);
            notice.push_str(&format!(
                "; it has no row of {}, of which {} jobs are known: they stay as they are. If the \
                 table is not empty, add it to snapshot.include.collection.list and take a \
                 snapshot; if it is, raise intake_absent_max and take one",
                TABLES[table], absent[table]
            ));
        }
        self.changes.notices.push(notice);
        verdict
    }
}

impl Changes {
    /// Whether all rows of a snapshot were read.
    fn is_complete(
        &self,
        snapshot: &mut Snapshot,
        now: Millis,
        reach: &[Reach<'_>],
        settle: Millis,
    ) -> bool {
        let has_last = self.complete.is_some_and(|last| {
            Position::new(snapshot.position.era(), last) == Some(snapshot.position)
        });
        if !has_last && self.streamed <= snapshot.position {
            return false;
        }
        let since = *snapshot.over_since.get_or_insert(now);
        let mut of_topic = reach.iter().filter(|it| *it.topic == *snapshot.topic).peekable();
        // A topic of which nothing is known is not at its end.
        of_topic.peek().is_some()
            && of_topic.all(|reach| {
                let known = self.partitions.iter().find(|it| is_of(reach, it));
                let appended_at = known.map_or(0, |it| it.appended_at);
                known.is_some_and(|it| it.streamed > snapshot.position)
                    || (reach.is_at_end && now.saturating_sub(since.max(appended_at)) >= settle)
            })
    }

    /// A snapshot is done with: its rows need not be read again.
    fn release(&mut self, snapshot: &Snapshot) {
        self.completed = self.completed.max(snapshot.position);
        for partition in self.partitions.iter_mut().filter(|it| it.topic == snapshot.topic) {
            partition.snapshot = None;
        }
    }
}

fn is_of(reach: &Reach<'_>, partition: &Partition) -> bool {
    reach.partition == partition.number && *reach.topic == *partition.topic
}

fn is_end_of(reach: &Reach<'_>, partition: &Partition) -> bool {
    reach.is_at_end && is_of(reach, partition)
}
