//! Checkpoints: copied at the end of a cycle, before the next one folds, and handed to the store
//! once that cycle's commit is confirmed.

use crate::Halt;
use crate::epoch_config::EpochConfig;
use crate::load::{Loaded, Loading, readable};
use crate::port::{Checkpoint, Store};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::LastRead;
use yardmaster_core::state::State;
use yardmaster_core::state::changed::ChangeNote;
use yardmaster_core::state::counters::counters_at_most;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::Writer;
use yardmaster_wire::stored::{self, Head, OwnLaneOffsets};

/// How many times as long as writing the counters took passes before they are written again.
const COUNTERS_REST: u64 = 10;
/// How many times as long as a checkpoint took passes before the next: the store is a cache, and
/// what changes again within that time is written once.
const REST: u64 = 20;
/// The longest such time; ns. And the most records that it may bring: a restart reads them again.
const REST_MAX: u64 = 30_000_000_000;
const AHEAD_MAX: u64 = 4_000_000;

/// Decides when to copy, and what of the base pages goes along.
pub struct Checkpointer {
    /// Copied, and its cycle not confirmed yet.
    pending: Option<(u64, Checkpoint)>,
    /// Copied and confirmed.
    ready: Option<Checkpoint>,
    /// The store holds nothing of this state: the next copy is of everything.
    is_fresh: bool,
    /// Checkpoints made so far, in the store's counting.
    sequence: u64,
    /// The page to be rewritten next, as a place in the list of all.
    page: usize,
    /// Sequence numbers at which the current and the last whole pass over the pages began.
    pass_began: u64,
    covered: u64,
    copied_ns: u64,
    counters_ns: u64,
    /// When the store was given what it has not written yet, and whether counters are with it.
    writing: Option<(u64, bool)>,
    /// How long the store took for the last counters; ns.
    counters_took_ns: u64,
    /// How long the last copy took, and the store to write it; ns.
    cost_ns: u64,
    /// How many records there were when the last copy was made, gaps included.
    copied_at: u64,
    stopwatch: fn() -> u64,
    /// Whether anything is stored at all.
    keeps: bool,
    /// Schemas behind the registry's numbers, as far as they were learnt.
    pub writers: Vec<Writer>,
    /// Whether more was learnt since they were last copied.
    has_learnt: bool,
    /// Of the key that users' pseudonyms are made under.
    key_fingerprint: Option<String>,
    /// Counters that fell to 0 and were not published since, as the store last had them.
    pub notes: Vec<ChangeNote>,
    /// Ids of the topics that the state is of.
    pub topic_ids: Vec<(Topic, String)>,
    /// Notices about the store for an operator.
    pub notices: Vec<String>,
    /// How long copies took; ns.
    pub took_ns: Vec<u64>,
}

impl Checkpointer {
    /// The stored state, if it can be used; else a notice says why not.
    pub fn load<S: Store>(
        store: &mut S,
        epoch_config: &EpochConfig,
        stopwatch: fn() -> u64,
        keeps: bool,
    ) -> Result<(Checkpointer, Option<(State, Head)>), Halt> {
        let mut keeper = Checkpointer {
            pending: None,
            ready: None,
            is_fresh: true,
            sequence: 0,
            page: 0,
            pass_began: 0,
            covered: 0,
            copied_ns: stopwatch(),
            counters_ns: 0,
            writing: None,
            counters_took_ns: 0,
            cost_ns: 0,
            copied_at: 0,
            stopwatch,
            keeps,
            writers: Vec::new(),
            has_learnt: false,
            key_fingerprint: epoch_config.key_fingerprint.clone(),
            notes: Vec::new(),
            topic_ids: Vec::new(),
            notices: Vec::new(),
            took_ns: Vec::new(),
        };
        let mut loading = Loading::new(epoch_config);
        if !store.show(&mut |piece| loading.take(piece))? {
            keeper.copied_ns = stopwatch();
            return Ok((keeper, None));
        }
        keeper.sequence = loading.sequence + 1;
        let first_delta = loading.first_delta;
        let loaded = loading.end();
        // What was read just now need not be written at once.
        keeper.copied_ns = stopwatch();
        match loaded {
            Ok(Loaded { state, head, has_counters, writers, notes }) => {
                keeper.writers = writers;
                keeper.notes = notes;
                keeper.is_fresh = false;
                keeper.pass_began = keeper.sequence;
                keeper.covered = first_delta.unwrap_or(keeper.sequence);
                if has_counters {
                    keeper.counters_ns = keeper.copied_ns;
                }
                Ok((keeper, Some((state, head))))
            }
            Err(why) => {
                keeper.refuse(&why);
                Ok((keeper, None))
            }
        }
    }

    /// The content of the store is of no use: the next copy is of everything.
    pub fn refuse(&mut self, why: &str) {
        self.begin_again();
        self.notices.push(format!("{why}; it is rebuilt from the log"));
    }

    /// The store is of another log, and so perhaps of another registry: nothing of it is of use.
    pub fn forget(&mut self, why: &str) {
        self.refuse(why);
        self.writers.clear();
        self.notes.clear();
    }

    /// Checkpoints made so far, in the store's counting.
    pub fn made(&self) -> u64 {
        self.sequence
    }

    /// Slots have changed: the next copy is of everything.
    pub fn begin_again(&mut self) {
        self.is_fresh = true;
    }

    /// Stores what a registry's number stands for. That it stands for nothing is not stored.
    pub fn learn(&mut self, writer: Writer) {
        if writer.schema.is_none() {
            return;
        }
        let place = |known: &Writer| (known.topic, known.id).cmp(&(writer.topic, writer.id));
        match self.writers.binary_search_by(place) {
            Ok(at) if self.writers[at] == writer => return,
            Ok(at) => self.writers[at] = writer,
            Err(at) => self.writers.insert(at, writer),
        }
        self.has_learnt = true;
    }

    /// Copies what changed, if it is time and nothing copied still waits.
    pub fn copy(
        &mut self,
        state: &mut State,
        policies: &str,
        read: impl FnOnce() -> (OwnLaneOffsets, Vec<(Lane, LastRead)>),
        is_last: bool,
    ) {
        let now = (self.stopwatch)();
        let due = |last: u64, span: Millis| now.saturating_sub(last) >= span as u64 * 1_000_000;
        let limits = &state.setting.limits;
        let offsets = state.times.lanes.iter().map(|(_, lane)| lane.next);
        let records = offsets.fold(0, u64::saturating_add);
        // Of cycles in which nothing changed only the head is new.
        let is_idle = !self.is_fresh && stored::dirty(state) == 0;
        let rest = if is_idle { REST_MAX } else { (REST * self.cost_ns).min(REST_MAX) };
        let has_rested = now.saturating_sub(self.copied_ns) >= rest
            || records.saturating_sub(self.copied_at) >= AHEAD_MAX;
        let is_due = has_rested && due(self.copied_ns, limits.checkpoint_interval_ms);
        let is_due = self.keeps && (is_last || is_due);
        let is_busy = self.ready.is_some() || self.writing.is_some();
        if !is_due || self.pending.is_some() || is_busy && !is_last {
            return;
        }
        // Each is a record of its own: a great many of them must not keep the store writing all the
        // time.
        let has_rested =
            now.saturating_sub(self.counters_ns) >= COUNTERS_REST * self.counters_took_ns;
        let is_due = due(self.counters_ns, limits.counters_interval_ms);
        let with_counters = is_last || is_due && has_rested;
        (self.copied_ns, self.copied_at) = (now, records);
        let (policies, topic_ids) = (policies.to_owned(), self.topic_ids.clone());
        let (bounds, last_read) = read();
        let head = Head { policies, bounds, topic_ids, last_read };
        let head = stored::write_head(state, &head);
        let counters = with_counters.then(|| {
            self.counters_ns = now;
            // What the store had is cleared then.
            let has_room = counters_at_most(state) <= limits.stored_counters_max;
            if has_room { readable(state) } else { Vec::new() }
        });
        let fresh = std::mem::take(&mut self.is_fresh);
        // Each change is written twice, in a delta and in its turn in a page: where so much
        // changed, all pages at once are less.
        let is_whole = fresh || 2 * stored::dirty(state) >= stored::slots_at_most(state);
        let deltas = if is_whole { stored::forget_dirty(state) } else { stored::deltas(state) };
        let mut bases = self.bases(state, &deltas, is_whole);
        if std::mem::take(&mut self.has_learnt) || fresh && !self.writers.is_empty() {
            bases.push((stored::WRITERS_PAGE, stored::write_writers(&self.writers)));
        }
        if let Some(fingerprint) = self.key_fingerprint.as_deref().filter(|_| fresh) {
            bases.push((stored::KEY_PAGE, stored::write_key(fingerprint)));
        }
        let notes = state.notes_of_zero();
        if notes != self.notes || fresh && !notes.is_empty() {
            bases.push((stored::NOTES_PAGE, stored::write_notes(&notes)));
            self.notes = notes;
        }
        let useful = self.sequence.saturating_sub(self.covered);
        self.sequence += 1;
        let copied = Checkpoint { head, deltas, bases, useful, counters, fresh };
        self.pending = Some((state.number, copied));
        self.cost_ns = (self.stopwatch)() - now;
        self.took_ns.push(self.cost_ns);
    }

    /// Base pages in turn: about as much of them as there is of deltas, so that after one pass over
    /// all pages the deltas from before it are not needed. All of them the first time.
    fn bases(&mut self, state: &State, deltas: &[Vec<u8>], all: bool) -> Vec<(u64, Vec<u8>)> {
        let pages = stored::pages(state);
        if all {
            self.covered = self.sequence;
            self.pass_began = self.sequence;
            self.page = 0;
        }
        let bytes: usize = deltas.iter().map(Vec::len).sum();
        let (mut bases, mut written) = (Vec::new(), 0);
        while !pages.is_empty() && (all || written <= bytes) {
            if self.page >= pages.len() {
                self.page = 0;
                self.covered = self.pass_began;
                self.pass_began = self.sequence;
                if all || !bases.is_empty() && bases.len() >= pages.len() {
                    break;
                }
            }
            let (kind, page) = pages[self.page];
            let content = stored::page(state, kind, page);
            written += content.len();
            bases.push((stored::page_number(kind, page), content));
            self.page += 1;
            if bases.len() >= pages.len() {
                break;
            }
        }
        bases
    }

    /// A cycle is confirmed: what was copied at it may be stored.
    pub fn confirm(&mut self, number: u64) {
        if self.pending.as_ref().is_some_and(|(copied, _)| *copied <= number) {
            self.ready = self.pending.take().map(|(_, checkpoint)| checkpoint);
        }
    }

    /// Gives the store what is confirmed, unless it is still writing.
    pub fn hand_over<S: Store>(&mut self, store: &mut S, wait: bool) -> Result<(), Halt> {
        if let Some((began, with_counters)) = self.writing
            && !store.is_busy()
        {
            self.writing = None;
            // If it failed that is known at once, and not with the next checkpoint.
            store.flush()?;
            let took = (self.stopwatch)() - began;
            self.cost_ns += took;
            if with_counters {
                self.counters_took_ns = took;
            }
        }
        if self.ready.is_some()
            && (wait || !store.is_busy())
            && let Some(checkpoint) = self.ready.take()
        {
            self.writing = Some(((self.stopwatch)(), checkpoint.counters.is_some()));
            store.keep(checkpoint)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{Kept, StoreError};
    use std::cell::Cell;
    use yardmaster_core::cut::Topic;
    use yardmaster_core::id::Key;
    use yardmaster_core::limits::Limits;
    use yardmaster_core::state::Setting;
    use yardmaster_core::state::job::Job;

    const SECOND: u64 = 1_000_000_000;

    thread_local!(static CLOCK: Cell<u64> = const { Cell::new(SECOND) });

    /// A disk on which counters take so long, and nothing else takes any time.
    struct Disk {
        takes: u64,
        busy_until: u64,
        checkpoints: u32,
        counters: u32,
    }

    impl Store for Disk {
        fn load(&mut self) -> Result<Option<Kept>, StoreError> {
            Ok(None)
        }

        fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
            self.checkpoints += 1;
            if checkpoint.counters.is_some() {
                self.counters += 1;
                self.busy_until = CLOCK.get() + self.takes;
            }
            Ok(())
        }

        fn is_busy(&mut self) -> bool {
            CLOCK.get() < self.busy_until
        }

        fn flush(&mut self) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn keeper(state: &State) -> Checkpointer {
        let epoch_config = EpochConfig {
            text: String::new(),
            hash: String::new(),
            setting: state.setting.clone(),
            policies: Vec::new(),
            key_fingerprint: None,
            pseudonyms: None,
            compact_after: [None; Topic::ALL.len()],
            attention: Default::default(),
        };
        let mut empty = Disk { takes: 0, busy_until: 0, checkpoints: 0, counters: 0 };
        Checkpointer::load(&mut empty, &epoch_config, || CLOCK.get(), true).unwrap().0
    }

    /// What a disk is given in ten minutes, in which a job changes ten times a second or none does.
    fn ten_minutes(takes: u64, changes: bool) -> Disk {
        let setting = Setting { domain: "atlas".into(), ..Setting::default() };
        let mut state = State::new(setting);
        let mut disk = Disk { takes, busy_until: 0, checkpoints: 0, counters: 0 };
        let mut keeper = keeper(&state);
        for step in 1..=6_000 {
            CLOCK.set(CLOCK.get() + SECOND / 10);
            if changes {
                state.jobs.insert(Job::stub(Key(step)));
            }
            keeper.copy(&mut state, "", Default::default, false);
            keeper.confirm(0);
            keeper.hand_over(&mut disk, false).unwrap();
        }
        disk
    }

    #[test]
    fn more_counters_than_the_limit_are_not_made_for_the_store() {
        for (most, is_made) in [(0, false), (10, true)] {
            let limits = Limits { stored_counters_max: most, ..Limits::default() };
            let mut state =
                State::new(Setting { domain: "atlas".into(), limits, ..Setting::default() });
            state.ledger.queue.row([1, 0, 0, 0]);
            let mut keeper = keeper(&state);
            keeper.copy(&mut state, "", Default::default, true);
            let kept = keeper.pending.and_then(|(_, checkpoint)| checkpoint.counters);
            assert_eq!(kept.map(|lines| !lines.is_empty()), Some(is_made), "at most {most}");
        }
    }

    #[test]
    fn counters_that_take_long_are_written_less_often() {
        let written = |takes| ten_minutes(takes, true).counters;
        assert!((100..=121).contains(&written(0)), "{}", written(0));
        assert!((100..=121).contains(&written(SECOND / 4)), "{}", written(SECOND / 4));
        assert!((15..=20).contains(&written(3 * SECOND)), "{}", written(3 * SECOND));
    }

    /// Every two seconds if the next look, a tenth of a second later, finds it done; after half a
    /// minute at most if it takes long, or if nothing changes.
    #[test]
    fn the_store_rests_by_what_a_checkpoint_took() {
        let made = |takes, changes| ten_minutes(takes, changes).checkpoints;
        assert!((290..=310).contains(&made(0, true)), "{}", made(0, true));
        assert!((20..=60).contains(&made(3 * SECOND, true)), "{}", made(3 * SECOND, true));
        assert!((19..=21).contains(&made(0, false)), "{}", made(0, false));
    }
}
