//! Where records live: slots in numbered pages, and an index from key to slot.
//!
//! A slot keeps its number as long as its record lives, so that a store can keep the same pages;
//! which slot a record got is internal and in no digest.

use crate::copy::{InPortions, SlotCopy, TakeCopy, UnderWay};
use crate::id::stir;

/// Records in numbered slots, with a note of which slots changed since the store last asked.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    /// Runs of [`RUN`] slots, filled as far as slots were used.
    runs: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
    len: usize,
    /// One past the highest slot ever used.
    top: u32,
    dirty: Vec<u32>,
    is_dirty: Vec<u64>,
    copying: UnderWay<SlabCopy<T>>,
}

/// A copy under way.
#[derive(Debug)]
struct SlabCopy<T> {
    slots: SlotCopy<Option<T>>,
    /// How many records there were when it began.
    len: usize,
}

/// A record of which a [`Slab`] can be copied in portions.
pub trait Copied: Clone {
    /// How many small records it costs as much as.
    const COST: usize = 1;

    /// The record as a copy holds it.
    #[inline]
    fn copied(&self) -> Self {
        self.clone()
    }
}

/// Slots in a page: what a store rewrites in one piece.
pub const PAGE: u32 = 256;

/// Slots that lie together; many, so that the list of runs stays small and near.
const RUN: u32 = 256 * PAGE;

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            runs: Vec::new(),
            free: Vec::new(),
            len: 0,
            top: 0,
            dirty: Vec::new(),
            is_dirty: Vec::new(),
            copying: UnderWay::default(),
        }
    }
}

impl<T> Slab<T> {
    /// Puts a record in a free slot.
    pub fn insert(&mut self, record: T) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = self.top;
                self.reach(slot);
                slot
            }
        };
        self.save(slot);
        self.runs[(slot / RUN) as usize][(slot % RUN) as usize] = Some(record);
        self.len += 1;
        self.touch(slot);
        slot
    }

    /// Puts a record where it was when it was stored. Used while loading only; [`Slab::settle`]
    /// follows.
    pub fn place(&mut self, slot: u32, record: Option<T>) {
        self.reach(slot);
        self.save(slot);
        let held = &mut self.runs[(slot / RUN) as usize][(slot % RUN) as usize];
        self.len -= usize::from(held.is_some());
        self.len += usize::from(record.is_some());
        *held = record;
    }

    /// Finds the free slots again after loading.
    pub fn settle(&mut self) {
        self.free = (0..self.top).rev().filter(|slot| self.get(*slot).is_none()).collect();
    }

    fn reach(&mut self, slot: u32) {
        while self.top <= slot {
            if self.top.is_multiple_of(RUN) {
                // The first run grows with what is in it: most tables are small.
                let room = if self.top == 0 { 0 } else { RUN as usize };
                self.runs.push(Vec::with_capacity(room));
            }
            self.runs[(self.top / RUN) as usize].push(None);
            self.top += 1;
        }
        self.is_dirty.resize(self.top.div_ceil(64) as usize, 0);
    }

    /// Takes a record out.
    pub fn remove(&mut self, slot: u32) -> Option<T> {
        self.save(slot);
        let held = self.runs.get_mut((slot / RUN) as usize)?.get_mut((slot % RUN) as usize)?;
        let record = held.take()?;
        self.len -= 1;
        self.free.push(slot);
        self.touch(slot);
        Some(record)
    }

    /// The record in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.runs.get((slot / RUN) as usize)?.get((slot % RUN) as usize)?.as_ref()
    }

    /// The record in a slot, to be changed; the change is noted.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.save(slot);
        self.touch(slot);
        self.runs.get_mut((slot / RUN) as usize)?.get_mut((slot % RUN) as usize)?.as_mut()
    }

    /// The record in a slot, to change what is derived in it: nothing that is stored.
    #[inline]
    pub fn get_derived(&mut self, slot: u32) -> Option<&mut T> {
        self.save(slot);
        self.runs.get_mut((slot / RUN) as usize)?.get_mut((slot % RUN) as usize)?.as_mut()
    }

    /// Looks at the note of changes of a slot, so that it is near when the slot changes.
    #[inline]
    pub fn peek(&self, slot: u32) -> u64 {
        self.is_dirty.get((slot / 64) as usize).copied().unwrap_or(0)
    }

    /// Saves a slot for the copy under way, before it changes.
    #[inline]
    fn save(&mut self, slot: u32) {
        if self.copying.0.is_some() {
            self.save_for_copy(slot);
        }
    }

    #[cold]
    #[inline(never)]
    fn save_for_copy(&mut self, slot: u32) {
        if let Some(copying) = &mut self.copying.0
            && let Some(held) = self.runs.get((slot / RUN) as usize)
            && let Some(held) = held.get((slot % RUN) as usize)
        {
            copying.slots.save(slot, held);
        }
    }

    #[inline]
    fn touch(&mut self, slot: u32) {
        let (word, bit) = ((slot / 64) as usize, 1u64 << (slot % 64));
        if let Some(word) = self.is_dirty.get_mut(word)
            && *word & bit == 0
        {
            *word |= bit;
            self.dirty.push(slot);
        }
    }

    /// Live records with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.runs.iter().enumerate().flat_map(|(run, slots)| {
            slots.iter().enumerate().filter_map(move |(at, held)| {
                held.as_ref().map(|record| (run as u32 * RUN + at as u32, record))
            })
        })
    }

    /// How many records live here.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing lives here.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Pages in use, full or not.
    pub fn pages(&self) -> u32 {
        self.top.div_ceil(PAGE)
    }

    /// The slots changed since this was last asked; the note is cleared.
    pub fn take_dirty(&mut self) -> Vec<u32> {
        for slot in &self.dirty {
            self.is_dirty[(*slot / 64) as usize] = 0;
        }
        std::mem::take(&mut self.dirty)
    }

    /// How many slots changed since the note was last taken.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }
}

impl<T: Copied> InPortions for Slab<T> {
    fn begin_copy(&mut self) {
        let copy = |held: &Option<T>| held.as_ref().map(T::copied);
        let slots = SlotCopy::new(self.top as usize, RUN as usize, copy);
        self.copying.begin(SlabCopy { slots, len: self.len });
    }

    fn copy_more(&mut self, most: usize) -> usize {
        let Slab { runs, copying, .. } = self;
        let Some(copying) = &mut copying.0 else { return 0 };
        let copy = |held: &Option<T>| held.as_ref().map(T::copied);
        let most = most.div_ceil(T::COST);
        copying.slots.copy_more(most, |run| runs[run].as_slice(), copy) * T::COST
    }

    fn finish_copy(&mut self) {
        let Some(copy) = self.copying.0.take() else { return };
        (self.top, self.len) = (copy.slots.end() as u32, copy.len);
        self.is_dirty = vec![0; self.top.div_ceil(64) as usize];
        self.runs = copy.slots.finish();
        self.settle();
    }
}

impl<T: Copied> TakeCopy for Slab<T> {
    fn take_copy(&mut self) -> Self {
        Slab { copying: std::mem::take(&mut self.copying), ..Slab::default() }
    }
}

/// From a 64-bit key to a slot: open addressing, linear probing, eight bytes an entry.
#[derive(Clone, Debug)]
pub struct Index {
    /// (low half of the stirred key, slot + 1); slot 0 marks a free entry.
    entries: Vec<(u32, u32)>,
    len: usize,
}

impl Default for Index {
    fn default() -> Self {
        Index { entries: vec![(0, 0); 64], len: 0 }
    }
}

impl Index {
    /// The slot of a key; `same` is whether a slot holds that key.
    #[inline]
    pub fn find(&self, key: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = stir(key) as u32;
        let mask = self.entries.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let (held, slot) = self.entries[at];
            if slot == 0 {
                return None;
            }
            if held == tag && same(slot - 1) {
                return Some(slot - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Touches the first entry of a key, so that it is near when `find` comes. Returns something
    /// of what it saw so that the look is not optimised away.
    #[inline]
    pub fn peek(&self, key: u64) -> u32 {
        let tag = stir(key) as u32;
        self.entries[tag as usize & (self.entries.len() - 1)].1
    }

    /// The slot that a key most likely has, by its tag alone: for looking ahead.
    #[inline]
    pub fn guess(&self, key: u64) -> Option<u32> {
        let tag = stir(key) as u32;
        let mask = self.entries.len() - 1;
        let mut at = tag as usize & mask;
        while self.entries[at].1 != 0 {
            if self.entries[at].0 == tag {
                return Some(self.entries[at].1 - 1);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Notes a key that is not there yet.
    pub fn insert(&mut self, key: u64, slot: u32) {
        if (self.len + 1) * 4 > self.entries.len() * 3 {
            self.grow();
        }
        self.put(stir(key) as u32, slot + 1);
        self.len += 1;
    }

    /// Makes room for so many keys more, so that the table need not grow while they come.
    pub fn reserve(&mut self, more: usize) {
        while (self.len + more + 1) * 4 > self.entries.len() * 3 {
            self.grow();
        }
    }

    fn put(&mut self, tag: u32, slot: u32) {
        let mask = self.entries.len() - 1;
        let mut at = tag as usize & mask;
        while self.entries[at].1 != 0 {
            at = (at + 1) & mask;
        }
        self.entries[at] = (tag, slot);
    }

    /// Forgets a key that was in `slot`.
    pub fn remove(&mut self, key: u64, slot: u32) {
        let tag = stir(key) as u32;
        let mask = self.entries.len() - 1;
        let mut at = tag as usize & mask;
        while self.entries[at] != (tag, slot + 1) {
            if self.entries[at].1 == 0 {
                return;
            }
            at = (at + 1) & mask;
        }
        self.len -= 1;
        // Shift back what was pushed past the hole, so that no tombstone is needed.
        let mut hole = at;
        loop {
            at = (at + 1) & mask;
            let (tag, slot) = self.entries[at];
            if slot == 0 {
                break;
            }
            let home = tag as usize & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = (tag, slot);
                hole = at;
            }
        }
        self.entries[hole] = (0, 0);
    }

    fn grow(&mut self) {
        let larger = vec![(0, 0); self.entries.len() * 2];
        let smaller = std::mem::replace(&mut self.entries, larger);
        for (tag, slot) in smaller {
            if slot != 0 {
                self.put(tag, slot);
            }
        }
    }

    /// An index of which only the number of keys is known, as in a copy; it finds nothing.
    pub fn counted(len: usize) -> Index {
        Index { len, ..Index::default() }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The clever table against a plain map, through a long random life.
    #[test]
    fn slab_and_index_agree_with_a_plain_map() {
        let mut slab: Slab<(u64, u64)> = Slab::default();
        let mut index = Index::default();
        let mut plain: BTreeMap<u64, u64> = BTreeMap::new();
        let mut state = 7u64;
        for step in 0..200_000u64 {
            state = stir(state ^ step);
            let key = state % 3000;
            let found = index.find(key, |slot| slab.get(slot).is_some_and(|wait| wait.0 == key));
            assert_eq!(found.is_some(), plain.contains_key(&key));
            match found {
                Some(slot) if state & 1 << 40 == 0 => {
                    index.remove(key, slot);
                    assert_eq!(slab.remove(slot).map(|wait| wait.1), plain.remove(&key));
                }
                Some(slot) => {
                    if let Some(held) = slab.get_mut(slot) {
                        held.1 = step;
                    }
                    plain.insert(key, step);
                }
                None => {
                    let slot = slab.insert((key, step));
                    index.insert(key, slot);
                    plain.insert(key, step);
                }
            }
        }
        let mut all: Vec<(u64, u64)> = slab.iter().map(|(_, held)| *held).collect();
        all.sort_unstable();
        assert_eq!(all, plain.into_iter().collect::<Vec<_>>());
        assert_eq!(slab.len(), index.len());
    }

    #[test]
    fn changed_slots_are_distinguished_once() {
        let mut slab = Slab::default();
        let slots: Vec<u32> = (0..600).map(|value| slab.insert(value)).collect();
        assert_eq!(slab.take_dirty().len(), 600);
        if let Some(held) = slab.get_mut(slots[300]) {
            *held += 1;
        }
        slab.get_mut(slots[300]);
        slab.remove(slots[2]);
        let mut dirty = slab.take_dirty();
        dirty.sort_unstable();
        assert_eq!(dirty, vec![slots[2], slots[300]]);
        assert_eq!(slab.dirty(), 0);
    }
}
