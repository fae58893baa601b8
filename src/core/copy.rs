//! Copies of large tables as of one moment, made in portions while the tables go on changing.
//!
//! A copy holds what a record was when the copy began. A record that changes before its portion is
//! copied is saved first (copy before write); one that was copied already changes freely.

use std::collections::BTreeMap;
use std::ops::{Bound, Deref};

/// Purpose of a copy; it determines which tables are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFor {
    /// Every counter.
    Counters,
    /// The recount of every counter as well: the records too.
    Audit,
    /// Every counter, for the history.
    History,
    /// Every counter, the jobs and the requests.
    Jobs,
}

/// A table that can be copied in portions. While no copy is under way, a change costs one check.
pub trait InPortions {
    /// Begins a copy as of now; one that was under way is dropped.
    fn begin_copy(&mut self);

    /// Copies a portion that costs as much as `most` small records at most. Returns what it cost;
    /// less than `most` if nothing is left to copy.
    fn copy_more(&mut self, most: usize) -> usize;

    /// Makes the table from what [`take_copy`](TakeCopy::take_copy) handed over: nothing that the
    /// table being copied is needed for.
    fn finish_copy(&mut self);
}

/// A table whose finished copy can be taken out of it.
pub trait TakeCopy: InPortions {
    /// Hands the copied portions over. [`InPortions::finish_copy`] of what is returned follows.
    fn take_copy(&mut self) -> Self;
}

/// A copy that may be under way. The copy of a table that is being copied has none.
#[derive(Debug)]
pub struct UnderWay<C>(pub Option<Box<C>>);

impl<C> Default for UnderWay<C> {
    fn default() -> Self {
        UnderWay(None)
    }
}

impl<C> Clone for UnderWay<C> {
    fn clone(&self) -> Self {
        UnderWay(None)
    }
}

impl<C> UnderWay<C> {
    /// Begins one.
    pub fn begin(&mut self, copy: C) {
        self.0 = Some(Box::new(copy));
    }
}

/// Saved slots that lie together.
const SAVED_BLOCK: usize = 256;

/// A copy of numbered slots that lie in runs of equal length.
#[derive(Debug)]
pub struct SlotCopy<T> {
    /// Slots there were when the copy began.
    end: usize,
    /// Slots in a run.
    run: usize,
    /// Slots below are copied.
    copied: usize,
    runs: Vec<Vec<T>>,
    /// Earlier values of slots that changed before they were copied; in blocks, so that none is
    /// moved when there are more.
    saved: Vec<Vec<(u32, T)>>,
    is_saved: Vec<u64>,
    /// How a slot is copied.
    copy: fn(&T) -> T,
}

impl<T> SlotCopy<T> {
    /// Begins a copy of `end` slots in runs of `run`.
    pub fn new(end: usize, run: usize, copy: fn(&T) -> T) -> SlotCopy<T> {
        let is_saved = vec![0; end.div_ceil(64)];
        SlotCopy { end, run, copied: 0, runs: Vec::new(), saved: Vec::new(), is_saved, copy }
    }

    /// Slots there were when the copy began.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Saves what a slot holds, which is about to change.
    pub fn save(&mut self, slot: u32, held: &T) {
        let at = slot as usize;
        if at < self.copied || at >= self.end {
            return;
        }
        let (word, bit) = (&mut self.is_saved[at / 64], 1u64 << (at % 64));
        if *word & bit == 0 {
            *word |= bit;
            if self.saved.last().is_none_or(|block| block.len() == SAVED_BLOCK) {
                self.saved.push(Vec::with_capacity(SAVED_BLOCK));
            }
            if let Some(block) = self.saved.last_mut() {
                block.push((slot, (self.copy)(held)));
            }
        }
    }

    /// Copies up to `most` slots; `slots` gives the slots of a run. Returns how many were copied.
    pub fn copy_more<'a>(
        &mut self,
        most: usize,
        slots: impl Fn(usize) -> &'a [T],
        copy: impl Fn(&T) -> T,
    ) -> usize
    where
        T: 'a,
    {
        let until = self.end.min(self.copied.saturating_add(most));
        let before = self.copied;
        while self.copied < until {
            let (run, from) = (self.copied / self.run, self.copied % self.run);
            let to = self.run.min(from + until - self.copied);
            if from == 0 {
                self.runs.push(Vec::with_capacity(self.run.min(self.end - self.copied)));
            }
            self.runs[run].extend(slots(run)[from..to].iter().map(&copy));
            self.copied += to - from;
        }
        self.copied - before
    }

    /// The slots as they were when the copy began, in their runs. All were copied.
    pub fn finish(mut self) -> Vec<Vec<T>> {
        for (slot, held) in self.saved.into_iter().flatten() {
            let at = slot as usize;
            self.runs[at / self.run][at % self.run] = held;
        }
        self.runs
    }
}

/// A map that is copied in portions in order of its keys.
#[derive(Clone, Debug)]
pub struct PortionMap<K, V> {
    map: BTreeMap<K, V>,
    copying: UnderWay<MapCopy<K, V>>,
}

#[derive(Debug)]
struct MapCopy<K, V> {
    copied: Vec<(K, V)>,
    /// Values that keys had before they changed and were not copied yet; `None`: there was none.
    saved: BTreeMap<K, Option<V>>,
    is_done: bool,
}

impl<K, V> Default for PortionMap<K, V> {
    fn default() -> Self {
        PortionMap { map: BTreeMap::new(), copying: UnderWay::default() }
    }
}

impl<K, V> Deref for PortionMap<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.map
    }
}

impl<K: Ord + Clone, V: Clone> PortionMap<K, V> {
    fn save(&mut self, key: &K) {
        let Some(copying) = &mut self.copying.0 else { return };
        let is_copied = copying.copied.last().is_some_and(|(last, _)| key <= last);
        if !copying.is_done && !is_copied && !copying.saved.contains_key(key) {
            copying.saved.insert(key.clone(), self.map.get(key).cloned());
        }
    }

    /// Puts a value in; returns the one that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.save(&key);
        self.map.insert(key, value)
    }

    /// Takes a value out.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        if self.copying.0.is_some()
            && let Some((key, _)) = self.map.get_key_value(key)
        {
            let key = key.clone();
            self.save(&key);
        }
        self.map.remove(key)
    }

    /// Takes the first value out.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let key = self.map.first_key_value()?.0.clone();
        self.save(&key);
        self.map.pop_first()
    }

    /// The value of a key, made now if there is none; to be changed.
    pub fn at(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.save(&key);
        self.map.entry(key).or_default()
    }
}

impl<K: Ord + Clone, V: Clone> InPortions for PortionMap<K, V> {
    fn begin_copy(&mut self) {
        let (copied, saved) = (Vec::new(), BTreeMap::new());
        self.copying.begin(MapCopy { copied, saved, is_done: false });
    }

    fn copy_more(&mut self, most: usize) -> usize {
        let Some(copying) = self.copying.0.as_mut().filter(|it| !it.is_done) else { return 0 };
        let after = match copying.copied.last() {
            Some((key, _)) => Bound::Excluded(key.clone()),
            None => Bound::Unbounded,
        };
        let before = copying.copied.len();
        let left = self.map.range((after, Bound::Unbounded)).take(most);
        copying.copied.extend(left.map(|(key, value)| (key.clone(), value.clone())));
        let copied = copying.copied.len() - before;
        copying.is_done = copied < most;
        copied
    }

    fn finish_copy(&mut self) {
        let Some(copy) = self.copying.0.take() else { return };
        self.map = copy.copied.into_iter().collect();
        for (key, held) in copy.saved {
            match held {
                Some(value) => _ = self.map.insert(key, value),
                None => _ = self.map.remove(&key),
            }
        }
    }
}

impl<K: Ord + Clone, V: Clone> TakeCopy for PortionMap<K, V> {
    fn take_copy(&mut self) -> Self {
        PortionMap { map: BTreeMap::new(), copying: std::mem::take(&mut self.copying) }
    }
}
