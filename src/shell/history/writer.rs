//! The thread that writes the history: outputs, counters, the figures of curves, changes.

use super::block::{BlockKind, Head, put};
use super::changed;
use super::figures::{SeriesTotals, lines};
use super::files::Files;
use super::look::Inner;
use super::message::{Message, Snapshot};
use super::{CYCLE_SHIFT, VIEW, code, sequence};
use crate::changes::ChangeView;
use crate::view::View;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Event;
use yardmaster_core::id::hash;
use yardmaster_core::state::counters::counters;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::counter::to_json;

/// How often the thread looks whether it is time to write.
const LOOK: Duration = Duration::from_secs(5);
/// How often a disk that fails is reported.
const COMPLAINT: Duration = Duration::from_secs(60);

/// The thread's side.
pub(super) struct HistoryWriter {
    inner: Arc<Inner>,
    codec: Codec,
    arena: Arena,
    /// Hashes of the counters of the last snapshot, by key.
    last: BTreeMap<String, u64>,
    /// The hour of the last whole snapshot.
    full_hour: Option<Millis>,
    /// Up to this cycle nothing is missing but the gaps.
    cycle: u64,
    now: Millis,
    /// Since when what was to be written is lost, and until when at least.
    lost_since: Option<Millis>,
    lost_until: Millis,
    complained: Option<Instant>,
    /// Starts and ends of jobs, counted from one snapshot to the next.
    totals: SeriesTotals,
}

impl HistoryWriter {
    pub fn new(inner: Arc<Inner>) -> HistoryWriter {
        HistoryWriter {
            inner,
            codec: Codec::default(),
            arena: Arena::default(),
            last: BTreeMap::new(),
            full_hour: None,
            cycle: 0,
            now: 0,
            lost_since: None,
            lost_until: Millis::MIN,
            complained: None,
            totals: SeriesTotals::default(),
        }
    }

    /// Goes on after a cycle: what lies between is a gap.
    pub fn begin(&mut self, cycle: u64, now: Millis) {
        let (covered, covered_at) = self.inner.covered();
        (self.cycle, self.now) = (covered.max(cycle), now.max(covered_at));
        if let Some((raw, at)) = self.inner.last_figures() {
            self.totals = SeriesTotals::after(&raw, at);
        }
        if covered > 0 && covered < cycle {
            self.lost_since = Some(covered_at);
            let inner = Arc::clone(&self.inner);
            if let Err(error) = self.write_gap(&mut inner.files(), now, cycle) {
                self.complain(&error);
            }
        }
    }

    pub fn run(mut self, sent: &Receiver<Message>) {
        loop {
            match sent.recv_timeout(LOOK) {
                Ok(Message::Written { outputs, cycle, now }) => {
                    outputs.into_iter().for_each(|(topic, value)| self.take(topic, &value));
                    (self.cycle, self.now) = (cycle, now);
                }
                Ok(Message::Lost { now, cycle }) => {
                    self.flush();
                    self.lose(self.now, now);
                    (self.cycle, self.now) = (cycle, now);
                }
                Ok(Message::Counters(snapshot)) => {
                    self.count(*snapshot);
                    self.inner.counting.fetch_sub(1, Ordering::Relaxed);
                }
                Ok(Message::Changed { changes, cycle }) => self.note(&changes, cycle),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.inner.open().is_full() {
                self.flush();
            }
        }
        self.flush();
        self.cover();
    }

    /// States that nothing is missing up to the last cycle, of which there may be no outputs.
    fn cover(&mut self) {
        if self.lost_since.is_some() || self.inner.covered().0 >= self.cycle {
            return;
        }
        let head = Head::new(BlockKind::Outputs, self.now, self.cycle);
        if let Err(error) = self.write(head, &[], &[]) {
            self.complain(&error);
        }
    }

    fn take(&mut self, topic: Topic, value: &[u8]) {
        let Event::Output(output) = self.codec.read(topic, None, Some(value), &mut self.arena)
        else {
            return;
        };
        let inner = Arc::clone(&self.inner);
        let mut open = inner.open();
        if sequence(&output) <= open.newest {
            // Read back again after a restart.
            return;
        }
        let mut piece = Vec::with_capacity(1 + value.len());
        piece.push(code(topic));
        piece.extend_from_slice(value);
        open.newest = sequence(&output);
        open.add(&output, piece);
    }

    /// Writes the outputs that are not in a file yet.
    fn flush(&mut self) {
        // They can be found in one of both places at any moment.
        let inner = Arc::clone(&self.inner);
        let mut open = inner.open();
        let cycle = self.cycle.max(open.newest >> CYCLE_SHIFT);
        let Some((head, names, raw)) = open.block(cycle) else { return };
        let written = self.write(head, &names, &raw);
        if let Err(error) = written {
            self.lose(head.first_at, head.last_at);
            self.complain(&error);
        }
        open.clear();
    }

    fn count(&mut self, snapshot: Snapshot) {
        // Its head states that nothing is missing up to its cycle, and a kill may follow.
        self.flush();
        let Snapshot { state, view: View { now, cycle, queues, .. }, waiting } = snapshot;
        let state = state.finish();
        let figures = lines(&state, &queues, waiting, &mut self.totals);
        self.draw(&figures, now, cycle);
        let mut lines: BTreeMap<String, String> =
            counters(&state).iter().map(|it| (it.key(), to_json(it))).collect();
        for queue in &queues {
            // A struct of numbers and texts always has a JSON.
            let json = serde_json::to_string(queue).unwrap_or_default();
            lines.insert(format!("{VIEW}{}", queue.queue), json);
        }
        let hour = now.div_euclid(yardmaster_core::unit::HOUR);
        let is_full = self.full_hour != Some(hour);
        if is_full {
            self.last.clear();
        }
        let mut raw = Vec::new();
        for (key, json) in &lines {
            let hash = hash(json.as_bytes());
            if self.last.insert(key.clone(), hash) != Some(hash) {
                put(&mut raw, key.as_bytes());
                put(&mut raw, json.as_bytes());
            }
        }
        let gone: Vec<String> =
            self.last.keys().filter(|key| !lines.contains_key(*key)).cloned().collect();
        for key in gone {
            self.last.remove(&key);
            put(&mut raw, key.as_bytes());
            put(&mut raw, b"");
        }
        let kind = if is_full { BlockKind::Full } else { BlockKind::Changes };
        match self.write(Head::new(kind, now, cycle), &[], &raw) {
            Ok(()) => self.full_hour = Some(hour),
            Err(error) => {
                // The next one begins again with all.
                self.full_hour = None;
                self.complain(&error);
            }
        }
    }

    /// Writes the figures of curves.
    fn draw(&mut self, lines: &[String], now: Millis, cycle: u64) {
        let mut raw = Vec::new();
        lines.iter().for_each(|line| put(&mut raw, line.as_bytes()));
        // One that is missing is a point less in a curve; the next has the totals again.
        if let Err(error) = self.write(Head::new(BlockKind::Figures, now, cycle), &[], &raw) {
            self.complain(&error);
        }
    }

    /// Writes changes, which are no later than a cycle.
    fn note(&mut self, changes: &[ChangeView], cycle: u64) {
        self.flush();
        let moments = || changes.iter().map(|change| change.at);
        let (Some(first_at), Some(last_at)) = (moments().min(), moments().max()) else { return };
        let head = Head { last_at, ..Head::new(BlockKind::Facts, first_at, cycle) };
        if let Err(error) = self.write(head, &[], &changed::body(changes)) {
            self.lose(first_at, last_at);
            self.complain(&error);
        }
    }

    fn write(&mut self, head: Head, names: &[&str], raw: &[u8]) -> io::Result<()> {
        let inner = Arc::clone(&self.inner);
        let mut files = inner.files();
        self.write_gap(&mut files, head.first_at, head.cycle)?;
        files.append(head, names, raw)
    }

    /// Outputs between two moments are lost.
    fn lose(&mut self, since: Millis, until: Millis) {
        self.lost_since.get_or_insert(since);
        self.lost_until = self.lost_until.max(until);
    }

    /// Writes what is lost up to a moment, if anything is.
    fn write_gap(&mut self, files: &mut Files, until: Millis, cycle: u64) -> io::Result<()> {
        if let Some(since) = self.lost_since {
            let last_at = until.max(self.lost_until);
            let gap = Head { last_at, ..Head::new(BlockKind::Gap, since, cycle) };
            files.append(gap, &[], &[])?;
            (self.lost_since, self.lost_until) = (None, Millis::MIN);
        }
        Ok(())
    }

    fn complain(&mut self, error: &io::Error) {
        if self.complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            self.complained = Some(Instant::now());
            tracing::warn!(
                "history: cannot write: {error}; looks back have a gap until the disk has room, \
                 nothing else is lost"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::Keeps;
    use super::super::look::History;
    use super::*;
    use std::path::Path;
    use std::sync::mpsc::sync_channel;
    use tempfile::TempDir;

    /// A process that goes on after a cycle, learns of cycles without outputs, and ends in order.
    fn live(dir: &Path, begins: (u64, Millis), until: (u64, Millis)) -> Vec<(Millis, Millis)> {
        let keeps = Keeps { interval: 60_000, span: 1 << 40, bytes: 1 << 30 };
        let inner = Arc::new(Inner::new(Files::open(dir, keeps).unwrap(), keeps.interval));
        let history = History::of(Arc::clone(&inner));
        let mut writer = HistoryWriter::new(inner);
        writer.begin(begins.0, begins.1);
        let (messages, sent) = sync_channel(1);
        let (cycle, now) = until;
        messages.send(Message::Written { outputs: Vec::new(), cycle, now }).unwrap();
        drop(messages);
        writer.run(&sent);
        history.reach().gaps
    }

    #[test]
    fn a_gap_reaches_as_far_as_what_was_lost_whatever_is_written_next() {
        let dir = TempDir::new().unwrap();
        let keeps = Keeps { interval: 60_000, span: 1 << 40, bytes: 1 << 30 };
        let inner = Arc::new(Inner::new(Files::open(dir.path(), keeps).unwrap(), keeps.interval));
        let history = History::of(Arc::clone(&inner));
        let mut writer = HistoryWriter::new(inner);
        writer.lose(1_000, 9_000);
        // Counters are copied in portions: those written next may be of a cycle before.
        writer.write(Head::new(BlockKind::Full, 5_000, 8), &[], b"").unwrap();
        assert_eq!(history.reach().gaps, [(1_000, 9_000)]);
        writer.write(Head::new(BlockKind::Outputs, 10_000, 13), &[], b"").unwrap();
        assert_eq!(history.reach().gaps.len(), 1);
    }

    #[test]
    fn an_orderly_end_leaves_no_gap_and_what_came_without_us_is_one() {
        let dir = TempDir::new().unwrap();
        assert_eq!(live(dir.path(), (0, 0), (7, 1_000)), []);
        assert_eq!(live(dir.path(), (7, 2_000), (9, 3_000)), []);
        assert_eq!(live(dir.path(), (11, 4_000), (12, 5_000)), [(3_000, 4_000)]);
    }
}
