//! Data that the loop hands to the history.
//!
//! The loop copies counters at a stated interval, looks what changed, and passes on what was
//! published. It never waits for the thread that writes: counters are copied less often, and what
//! was published is given up beyond a bound, where the thread does not keep up.

use super::figures::WaitingCounts;
use super::files::{Files, HistoryIdentity, Keeps};
use super::look::{History, Inner};
use super::message::{Message, Snapshot};
use super::writer::HistoryWriter;
use crate::changes::{ChangeView, FactWatch, Lead};
use crate::copying::Portions;
use crate::thread;
use crate::view::View;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;
use yardmaster_core::copy::CopyFor;
use yardmaster_core::cut::Topic;
use yardmaster_core::engine::Engine;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_drive::report::Report;

/// Messages that may wait for the thread.
const MESSAGES_MAX: usize = 64;
/// Outputs that may wait for room in the channel; bytes. Beyond it they are given up.
const WAITING_MAX: usize = 64 << 20;
/// Cycles whose counters may be with the thread; each is a copy of all counters.
const COUNTING_MAX: usize = 8;
/// Changes that may wait likewise.
const CHANGES_MAX: usize = 100_000;
/// While it restores, and copying took its share of the time, counters are kept so many times less
/// often.
const RESTORING: Millis = 10;
/// That share: how many times as long as copying took passes before it has not.
const REST: u32 = 30;

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
    /// The copy of counters that is under way, with what else is kept of its cycle.
    copying: Option<(Portions, View, WaitingCounts)>,
    /// Copied, and its cycle not confirmed yet or the channel full.
    snapshot: Option<Box<Snapshot>>,
    /// Up to this cycle counters are kept, and no others are before that.
    counted: u64,
    /// The moment of the last look, at which a copy was begun.
    looked_at: Millis,
    /// A copy that is begun before this takes more than its share of the time.
    rests_until: Instant,
    interval: Millis,
    /// Facts and lead at the last look; `None` before the first.
    watch: Option<FactWatch>,
    changes: Vec<ChangeView>,
    /// Up to this cycle changes are kept.
    changed: u64,
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
        let (changed, _) = inner.covered();
        let (counted, looked_at) = inner.counted().unwrap_or((0, Millis::MIN));
        let history = History::of(Arc::clone(&inner));
        let mut writer = HistoryWriter::new(inner);
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
            counted,
            looked_at,
            rests_until: Instant::now(),
            interval: keeps.interval,
            watch: None,
            changes: Vec::new(),
            changed,
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
        // Before any time is known there is none to keep anything under.
        if at.is_cycle_end && now > 0 && self.is_time(now, at.is_restoring) {
            if let Some(watch) = &mut self.watch {
                let changes = watch.facts(state);
                self.keep_changes(changes, state.number);
            }
            self.begin(engine);
        }
        self.copy(&mut engine.state);
        self.send(now);
    }

    /// Looks who leads and by which topology, at a cycle's end. The first look begins with what is
    /// known, which an earlier process has kept.
    pub fn note_lead(&mut self, state: &State, lead: Lead<'_>) {
        let Some(watch) = &mut self.watch else {
            // An earlier process may have kept who led.
            let last = self.history.changes(Millis::MIN, Millis::MAX, |it| it.kind == "lead");
            let last = last.last().and_then(|it| it.after.as_deref());
            let leader = lead.leader.or(last);
            self.watch = Some(FactWatch::new(state, Lead { leader, ..lead }));
            return;
        };
        // Before any time is known there is none to keep it under.
        if state.now > 0 {
            let changes = watch.lead(state.now, lead);
            self.keep_changes(changes, state.number);
        }
    }

    /// Keeps changes that were found at a cycle, unless an earlier process has: it went further
    /// than what was stored.
    fn keep_changes(&mut self, changes: Vec<ChangeView>, cycle: u64) {
        if cycle > self.changed {
            self.changes.extend(changes);
            self.changes.truncate(CHANGES_MAX);
        }
    }

    /// The `now` from which on the interval is over since the last look.
    pub fn next_look(&self) -> Millis {
        self.look_after(self.interval)
    }

    fn look_after(&self, interval: Millis) -> Millis {
        let before = self.looked_at;
        let is_first = before == Millis::MIN;
        if is_first { before } else { before - before.rem_euclid(interval) + interval }
    }

    /// Whether it is time to look. While it restores, cycles come faster than their time goes by:
    /// where copying takes its share of the time, the interval is longer.
    fn is_time(&self, now: Millis, is_restoring: bool) -> bool {
        let rests = is_restoring && Instant::now() < self.rests_until;
        let interval = self.interval * if rests { RESTORING } else { 1 };
        // A `now` before the last look is one of which a wrong clock was repaired.
        now >= self.look_after(interval) || now < self.looked_at
    }

    /// Begins to copy counters, unless they are kept, or the thread has too many to write still.
    fn begin(&mut self, engine: &mut Engine) {
        let is_free = self.snapshot.is_none() && engine.state.copying_for().is_none();
        let has_room = self.history.inner().counting.load(Ordering::Relaxed) < COUNTING_MAX;
        let is_kept = engine.state.number <= self.counted;
        if !is_free || !has_room {
            return;
        }
        self.looked_at = engine.state.now;
        if is_kept {
            return;
        }
        let began = Instant::now();
        let (view, waiting) = (View::of(engine), WaitingCounts::of(engine));
        let portions = Portions::begin(&mut engine.state, CopyFor::History);
        self.copying = Some((portions, view, waiting));
        self.rests_until = Instant::now() + began.elapsed() * REST;
    }

    /// Copies a portion of the counters, if a copy is under way.
    fn copy(&mut self, state: &mut State) {
        let Some((mut portions, view, waiting)) = self.copying.take() else { return };
        if !portions.is_of(state) {
            // Another state has taken its place: that one is copied at the next cycle's end.
            self.looked_at = Millis::MIN;
            return;
        }
        match portions.copy(state) {
            Some(copied) => {
                self.rests_until += portions.took() * REST;
                self.snapshot = Some(Box::new(Snapshot { state: *copied, view, waiting }));
            }
            None => self.copying = Some((portions, view, waiting)),
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
        if !self.changes.is_empty() && self.waiting.is_empty() && !self.is_lost {
            let changes = std::mem::take(&mut self.changes);
            if let Some(Message::Changed { changes, .. }) =
                self.try_send(Message::Changed { changes, cycle })
            {
                self.changes = changes;
            }
        }
        let is_confirmed = |it: &Snapshot| it.view.cycle <= cycle;
        if self.waiting.is_empty()
            && !self.is_lost
            && let Some(snapshot) = self.snapshot.take_if(|it| is_confirmed(it))
        {
            self.history.inner().counting.fetch_add(1, Ordering::Relaxed);
            if let Some(Message::Counters(again)) = self.try_send(Message::Counters(snapshot)) {
                self.history.inner().counting.fetch_sub(1, Ordering::Relaxed);
                self.snapshot = Some(again);
            }
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
            if !self.changes.is_empty() {
                let changes = std::mem::take(&mut self.changes);
                let _ = messages.send(Message::Changed { changes, cycle });
            }
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("history: the thread that writes it had panicked");
        }
    }
}
