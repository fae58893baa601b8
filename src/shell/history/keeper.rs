//! Data that the loop hands to the history, and the thread that writes it.
//!
//! The loop copies counters at a stated interval and passes on what was published. It never waits
//! for the thread: counters are copied less often, and what was published is given up beyond a
//! bound, where the thread does not keep up.

use super::block::{BlockKind, Head, put};
use super::files::{Files, HistoryIdentity, Keeps};
use super::look::{History, Inner};
use super::{CYCLE_SHIFT, VIEW, code, sequence};
use crate::copying::Portions;
use crate::thread;
use crate::view::View;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use yardmaster_core::copy::CopyFor;
use yardmaster_core::cut::Topic;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::id::hash;
use yardmaster_core::state::State;
use yardmaster_core::state::counters::counters;
use yardmaster_core::state::snapshot::CopiedState;
use yardmaster_core::unit::Millis;
use yardmaster_drive::report::Report;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::counter::to_json;

/// Messages that may wait for the thread.
const MESSAGES_MAX: usize = 64;
/// Outputs that may wait for room in the channel; bytes. Beyond it they are given up.
const WAITING_MAX: usize = 64 << 20;
/// While it restores, counters are kept so many times less often.
const RESTORING: Millis = 10;
/// How often the thread looks whether it is time to write.
const LOOK: Duration = Duration::from_secs(5);
/// How often a disk that fails is reported.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Counters and view of one cycle.
struct Snapshot {
    state: CopiedState,
    view: View,
}

enum Message {
    /// Outputs, as they are written; all of a cycle and those before it were sent.
    Written { outputs: Vec<(Topic, Vec<u8>)>, cycle: u64, now: Millis },
    /// Outputs up to a moment were given up.
    Lost { now: Millis, cycle: u64 },
    /// Counters.
    Counters(Box<Snapshot>),
}

/// The loop's side.
pub struct Keeper {
    history: History,
    messages: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    waiting: Vec<(Topic, Vec<u8>)>,
    waiting_bytes: usize,
    confirmed: u64,
    now: Millis,
    is_lost: bool,
    /// The copy of counters that is under way, with the view of its cycle.
    copying: Option<(Portions, View)>,
    /// Copied, and its cycle not confirmed yet or the channel full.
    snapshot: Option<Box<Snapshot>>,
    next_at: Millis,
    interval: Millis,
}

impl Keeper {
    /// Opens the history in a directory, for a process that goes on after a cycle. What was
    /// published between the last cycle of the history and that one is a gap. A history of
    /// something else is begun again.
    ///
    /// # Errors
    /// The directory cannot be made, read or written.
    pub fn open(
        dir: &Path,
        keeps: Keeps,
        of: HistoryIdentity<'_>,
        state: &State,
    ) -> io::Result<Keeper> {
        std::fs::create_dir_all(dir)?;
        Files::forget_others(dir, of)?;
        let files = Files::open(dir, keeps)?;
        let inner = Arc::new(Inner::new(files, keeps.interval));
        let history = History::of(Arc::clone(&inner));
        let mut writer = Writer::new(inner);
        writer.begin(state.number, state.now);
        let (messages, sent) = sync_channel(MESSAGES_MAX);
        let thread = thread::spawn("history", move || writer.run(&sent))?;
        Ok(Keeper {
            history,
            messages: Some(messages),
            thread: Some(thread),
            waiting: Vec::new(),
            waiting_bytes: 0,
            confirmed: 0,
            now: 0,
            is_lost: false,
            copying: None,
            snapshot: None,
            next_at: Millis::MIN,
            interval: keeps.interval,
        })
    }

    /// The history, for questions about the past.
    pub fn history(&self) -> History {
        self.history.clone()
    }

    /// Takes what was published, and begins to copy counters if it is time for that and a cycle was
    /// just closed; goes on with a copy under way at any time.
    pub fn turn(&mut self, report: &mut Report, engine: &mut Engine, at: LoopPosition) {
        let written = std::mem::take(&mut report.written);
        self.waiting_bytes += written.iter().map(|(_, value)| value.len()).sum::<usize>();
        self.waiting.extend(written);
        self.confirmed = report.confirmed.unwrap_or(self.confirmed);
        let state = &engine.state;
        let now = state.now;
        self.now = now;
        let is_time = at.is_cycle_end && now >= self.next_at && state.number > 0;
        let is_free = self.snapshot.is_none() && state.copying_for().is_none();
        if is_time && is_free {
            let view = View::of(engine);
            self.copying = Some((Portions::begin(&mut engine.state, CopyFor::History), view));
            let interval = self.interval * if at.is_restoring { RESTORING } else { 1 };
            self.next_at = now - now.rem_euclid(interval) + interval;
        }
        self.copy(&mut engine.state);
        self.send(now);
    }

    /// Copies a portion of the counters, if a copy is under way.
    fn copy(&mut self, state: &mut State) {
        let Some((mut portions, view)) = self.copying.take() else { return };
        if !portions.is_of(state) {
            // Another state has taken its place: that one is copied at the next cycle's end.
            self.next_at = state.now;
            return;
        }
        match portions.copy(state) {
            Some(copied) => self.snapshot = Some(Box::new(Snapshot { state: *copied, view })),
            None => self.copying = Some((portions, view)),
        }
    }

    fn send(&mut self, now: Millis) {
        let cycle = self.confirmed;
        if self.is_lost && self.try_send(Message::Lost { now, cycle }).is_none() {
            self.is_lost = false;
        }
        if !self.waiting.is_empty() && !self.is_lost {
            let outputs = std::mem::take(&mut self.waiting);
            match self.try_send(Message::Written { outputs, cycle, now }) {
                Some(Message::Written { outputs, .. }) => self.waiting = outputs,
                _ => self.waiting_bytes = 0,
            }
        }
        if self.waiting_bytes > WAITING_MAX {
            (self.waiting, self.waiting_bytes, self.is_lost) = (Vec::new(), 0, true);
        }
        let is_confirmed = |it: &Snapshot| it.view.cycle <= cycle;
        if self.waiting.is_empty()
            && !self.is_lost
            && let Some(snapshot) = self.snapshot.take_if(|it| is_confirmed(it))
            && let Some(Message::Counters(again)) = self.try_send(Message::Counters(snapshot))
        {
            self.snapshot = Some(again);
        }
    }

    /// Sends a message; gives it back where there is no room.
    fn try_send(&self, message: Message) -> Option<Message> {
        match self.messages.as_ref()?.try_send(message) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => None,
            Err(TrySendError::Full(message)) => Some(message),
        }
    }
}

/// Where the loop stands.
#[derive(Clone, Copy, Debug)]
pub struct LoopPosition {
    /// A cycle was just closed, and nothing of the next is folded.
    pub is_cycle_end: bool,
    /// Cycles that were published wait to be counted.
    pub is_restoring: bool,
}

impl Drop for Keeper {
    /// Waits for the thread, so that an orderly end leaves no gap.
    fn drop(&mut self) {
        if let Some(messages) = self.messages.take() {
            let (cycle, now) = (self.confirmed, self.now);
            let last = match self.is_lost {
                true => Message::Lost { now, cycle },
                false => {
                    Message::Written { outputs: std::mem::take(&mut self.waiting), cycle, now }
                }
            };
            // An error: the thread is gone, which is reported below.
            let _ = messages.send(last);
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("history: the thread that writes it had panicked");
        }
    }
}

/// The thread's side.
struct Writer {
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
}

impl Writer {
    fn new(inner: Arc<Inner>) -> Writer {
        Writer {
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
        }
    }

    /// Goes on after a cycle: what lies between is a gap.
    fn begin(&mut self, cycle: u64, now: Millis) {
        let (covered, covered_at) = self.inner.covered();
        (self.cycle, self.now) = (covered.max(cycle), now.max(covered_at));
        if covered > 0 && covered < cycle {
            self.lost_since = Some(covered_at);
            let inner = Arc::clone(&self.inner);
            if let Err(error) = self.write_gap(&mut inner.files(), now, cycle) {
                self.complain(&error);
            }
        }
    }

    fn run(mut self, sent: &Receiver<Message>) {
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
                Ok(Message::Counters(snapshot)) => self.count(*snapshot),
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
        let Snapshot { state, view: View { now, cycle, queues, .. } } = snapshot;
        let mut lines: BTreeMap<String, String> =
            counters(&state.finish()).iter().map(|it| (it.key(), to_json(it))).collect();
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
    use super::*;
    use tempfile::TempDir;

    /// A process that goes on after a cycle, learns of cycles without outputs, and ends in order.
    fn live(dir: &Path, begins: (u64, Millis), until: (u64, Millis)) -> Vec<(Millis, Millis)> {
        let keeps = Keeps { interval: 60_000, span: 1 << 40, bytes: 1 << 30 };
        let inner = Arc::new(Inner::new(Files::open(dir, keeps).unwrap(), keeps.interval));
        let history = History::of(Arc::clone(&inner));
        let mut writer = Writer::new(inner);
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
        let mut writer = Writer::new(inner);
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
