//! Counters by name: one row for each combination of names that occurs, found by a number that
//! records keep, so that counting is an addition in an array.

use crate::copy::{InPortions, SlotCopy, TakeCopy, UnderWay};
pub use crate::state::chains::{ByName, ByPlace, Chains, NO_ROW, RowKey};
use crate::state::chains::{Named, mix};
use crate::state::slab::Index;

/// Rows of one kind of counter. A row lives while a record counts in it.
#[derive(Clone, Debug)]
pub struct Rows<V, C = ()> {
    rows: Vec<Row<V>>,
    index: Index,
    chains: C,
    free: Vec<u32>,
    idle: Vec<u32>,
    /// Rows with a note of changes; empty unless changes are watched.
    changed: Vec<u32>,
    /// Rows that the publishing under way has yet to reach, and what had changed when it began.
    publishing: Vec<u32>,
    is_watched: bool,
    copying: UnderWay<SlotCopy<Row<V>>>,
}

#[derive(Clone, Debug)]
struct Row<V> {
    key: RowKey,
    refs: u32,
    live: bool,
    /// Which of its figures changed since that was last asked.
    changed: u16,
    /// Which of them the publishing under way has yet to show.
    publishing: u16,
    value: V,
}

impl<V, C: Default> Default for Rows<V, C> {
    fn default() -> Self {
        Rows {
            rows: Vec::new(),
            index: Index::default(),
            chains: C::default(),
            free: Vec::new(),
            idle: Vec::new(),
            changed: Vec::new(),
            publishing: Vec::new(),
            is_watched: false,
            copying: UnderWay::default(),
        }
    }
}

impl<V: Default> Row<V> {
    fn new(key: RowKey) -> Row<V> {
        Row { key, refs: 0, live: true, changed: 0, publishing: 0, value: V::default() }
    }

    /// Whether nothing counts in it and no change of it is to be published.
    fn can_go(&self) -> bool {
        self.live && self.refs == 0 && self.changed == 0 && self.publishing == 0
    }
}

impl<V: Default, C: Chains> Rows<V, C> {
    /// The row of a key, made now if there is none.
    pub fn row(&mut self, key: RowKey) -> u32 {
        if let Some(row) = self.find(key) {
            return row;
        }
        let fresh = Row::new(key);
        let row = match self.free.pop() {
            Some(row) => {
                self.save(row);
                self.rows[row as usize] = fresh;
                row
            }
            None => {
                self.rows.push(fresh);
                self.rows.len() as u32 - 1
            }
        };
        self.index.insert(mix(key), row);
        self.chains.enter(row, key);
        self.idle.push(row);
        row
    }

    /// The row of a key, if there is one.
    #[inline]
    pub fn find(&self, key: RowKey) -> Option<u32> {
        self.index.find(mix(key), |row| self.rows[row as usize].key == key)
    }

    /// The counters of a row; all zero for a row that is not there.
    #[inline]
    pub fn get(&self, row: u32) -> Option<&V> {
        self.rows.get(row as usize).map(|row| &row.value)
    }

    /// The counters of a key.
    pub fn of(&self, key: RowKey) -> Option<&V> {
        self.find(key).and_then(|row| self.get(row))
    }

    /// The row of a key: the one it was in when it was last found, else where it is now.
    #[inline]
    pub fn refind(&self, last: u32, key: RowKey) -> Option<u32> {
        match self.rows.get(last as usize) {
            Some(row) if row.live && row.key == key => Some(last),
            _ => self.find(key),
        }
    }

    /// The counters of a row, to be changed.
    #[inline]
    pub fn at(&mut self, row: u32) -> &mut V {
        self.save(row);
        &mut self.rows[row as usize].value
    }

    /// The key of a row.
    pub fn key(&self, row: u32) -> RowKey {
        self.rows.get(row as usize).map_or([0; 4], |row| row.key)
    }

    /// One more counts in the row, or one less.
    #[inline]
    pub fn count_reference(&mut self, number: u32, more: bool) {
        self.save(number);
        let row = &mut self.rows[number as usize];
        if more {
            row.refs += 1;
        } else {
            row.refs -= 1;
            if row.refs == 0 {
                self.idle.push(number);
            }
        }
    }

    /// Begins to note which figures of which rows change.
    pub fn watch(&mut self) {
        self.is_watched = true;
    }

    /// All that stand count as changed; `figures` gives those of a row's figures that are not 0.
    pub fn note_all(&mut self, figures: impl Fn(&V) -> u16) {
        for row in 0..self.rows.len() {
            if self.rows[row].live {
                self.note(row as u32, figures(&self.rows[row].value));
            }
        }
    }

    /// Notes that figures of a row change, if anybody wants to know.
    #[inline]
    pub fn note(&mut self, row: u32, figures: u16) {
        if self.is_watched && figures != 0 {
            let held = &mut self.rows[row as usize];
            if held.changed == 0 {
                self.changed.push(row);
            }
            held.changed |= figures;
        }
    }

    /// Rows with a note of changes, which of their figures changed, and what they are now. Those
    /// that the publishing under way has yet to show are among them.
    pub fn changed(&self) -> impl Iterator<Item = (RowKey, u16, &V)> {
        let all = self.changed.iter().chain(&self.publishing);
        let rows = all.map(|row| &self.rows[*row as usize]);
        rows.map(|row| (row.key, row.changed | row.publishing, &row.value))
    }

    /// Begins to publish what is noted so far; what an earlier publishing did not reach is
    /// included.
    pub fn begin_publishing(&mut self) {
        for row in self.changed.drain(..) {
            let held = &mut self.rows[row as usize];
            if held.publishing == 0 {
                self.publishing.push(row);
            }
            held.publishing |= std::mem::take(&mut held.changed);
        }
    }

    /// Shows rows of the publishing under way with their figures as they are now, until at least
    /// `most` figures were shown or no row is left. Returns how many were. A row in which nothing
    /// counts any more is shown too, and can go at the next sweep.
    pub fn publish(&mut self, most: usize, mut show: impl FnMut(RowKey, u16, &V)) -> usize {
        let mut shown = 0;
        while shown < most
            && let Some(row) = self.publishing.pop()
        {
            let held = &mut self.rows[row as usize];
            let figures = std::mem::take(&mut held.publishing);
            shown += figures.count_ones() as usize;
            show(held.key, figures, &held.value);
            if held.can_go() {
                self.idle.push(row);
            }
        }
        shown
    }

    /// Whether the publishing under way has rows left.
    pub fn is_publishing(&self) -> bool {
        !self.publishing.is_empty()
    }

    /// Shows every row with a note of changes, and clears the notes. A row in which nothing counts
    /// any more is shown too, and can go at the next sweep.
    pub fn publish_all(&mut self, mut show: impl FnMut(RowKey, u16, &V)) {
        for row in self.changed.drain(..) {
            let held = &mut self.rows[row as usize];
            show(held.key, std::mem::take(&mut held.changed), &held.value);
            if held.can_go() {
                self.idle.push(row);
            }
        }
    }

    /// Gives back the rows in which nothing counts.
    pub fn sweep(&mut self) {
        for row in std::mem::take(&mut self.idle) {
            if self.rows[row as usize].can_go() {
                self.save(row);
                let held = &mut self.rows[row as usize];
                held.live = false;
                held.value = V::default();
                let key = held.key;
                self.index.remove(mix(key), row);
                self.chains.leave(row, key);
                self.free.push(row);
            }
        }
    }

    /// Live rows with how many records count in each.
    pub fn referenced(&self) -> impl Iterator<Item = (RowKey, u32)> {
        self.rows.iter().filter(|row| row.live && row.refs > 0).map(|row| (row.key, row.refs))
    }

    /// Changes every live row; one for which `change` holds has one contribution less.
    pub fn change_each(&mut self, mut change: impl FnMut(&mut V) -> bool) {
        for at in 0..self.rows.len() {
            self.save(at as u32);
            if self.rows[at].live && change(&mut self.rows[at].value) {
                self.count_reference(at as u32, false);
            }
        }
    }

    /// Live rows with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (RowKey, &V)> {
        self.rows.iter().filter(|row| row.live).map(|row| (row.key, &row.value))
    }

    /// How many rows live.
    pub fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Whether no row lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V, C> Rows<V, C> {
    /// Saves a row for the copy under way, before it changes.
    #[inline]
    fn save(&mut self, row: u32) {
        if self.copying.0.is_some() {
            self.save_for_copy(row);
        }
    }

    #[cold]
    #[inline(never)]
    fn save_for_copy(&mut self, row: u32) {
        if let Some(copying) = &mut self.copying.0
            && let Some(held) = self.rows.get(row as usize)
        {
            copying.save(row, held);
        }
    }
}

impl<V: Clone + Default, C: Chains> InPortions for Rows<V, C> {
    fn begin_copy(&mut self) {
        self.copying.begin(SlotCopy::new(self.rows.len(), usize::MAX, Row::clone));
    }

    fn copy_more(&mut self, most: usize) -> usize {
        let Rows { rows, copying, .. } = self;
        let Some(copying) = &mut copying.0 else { return 0 };
        copying.copy_more(most, |_| rows.as_slice(), Row::clone)
    }

    fn finish_copy(&mut self) {
        let Some(copy) = self.copying.0.take() else { return };
        self.rows = copy.finish().pop().unwrap_or_default();
        self.index.reserve(self.rows.len());
        for (number, row) in (0u32..).zip(&mut self.rows) {
            (row.changed, row.publishing) = (0, 0);
            if row.live {
                self.index.insert(mix(row.key), number);
                self.chains.enter(number, row.key);
            } else {
                self.free.push(number);
            }
        }
    }
}

impl<V: Clone + Default, C: Chains> TakeCopy for Rows<V, C> {
    fn take_copy(&mut self) -> Self {
        Rows { copying: std::mem::take(&mut self.copying), ..Rows::default() }
    }
}

impl<V, C: Named> Rows<V, C> {
    /// The live rows of a name, in no order.
    pub fn of_name(&self, name: u32) -> impl Iterator<Item = (RowKey, &V)> {
        let mut at = self.chains.names().first_of(name);
        std::iter::from_fn(move || {
            let row = self.rows.get(at as usize)?;
            at = self.chains.names().next(at);
            Some((row.key, &row.value))
        })
    }
}

impl<V: Default> Rows<V, ByPlace> {
    /// Shows places of the publishing under way, as [`Rows::publish`] shows rows: the key of one of
    /// their rows, the figures that changed in any, and the counters of all.
    pub fn publish_places(
        &mut self,
        most: usize,
        mut show: impl FnMut(RowKey, u16, &mut dyn Iterator<Item = &V>),
    ) -> usize {
        let mut shown = 0;
        while shown < most
            && let Some(row) = self.publishing.pop()
        {
            let key = self.rows[row as usize].key;
            let place = ByPlace::place(key);
            let mut figures = 0;
            for row in self.chains.rows(place) {
                let held = &mut self.rows[row as usize];
                if held.publishing != 0 {
                    figures |= std::mem::take(&mut held.publishing);
                    if held.can_go() {
                        self.idle.push(row);
                    }
                }
            }
            // It was shown with another row of its place.
            if figures == 0 {
                continue;
            }
            shown += figures.count_ones() as usize;
            let mut values = self.chains.rows(place).map(|row| &self.rows[row as usize].value);
            show(key, figures, &mut values);
        }
        // What is left of them was shown with others: nothing of it is to come.
        while self.publishing.pop_if(|row| self.rows[*row as usize].publishing == 0).is_some() {}
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::stir;
    use std::collections::{BTreeMap, BTreeSet};

    /// What is shown of a place is what its rows have together, once; rows come and go meanwhile.
    #[test]
    fn the_rows_of_a_place_are_shown_together() {
        let mut rows: Rows<u32, ByPlace> = Rows::default();
        rows.watch();
        let mut expected: BTreeMap<RowKey, u32> = BTreeMap::new();
        for step in 0..4_000u64 {
            let drawn = stir(step);
            let key = [(drawn % 3) as u32, (drawn >> 8) as u32 % 4, (drawn >> 16) as u32 % 3, 0];
            let key = [key[0], key[1], key[2], (drawn >> 24) as u32 % 3];
            let row = rows.row(key);
            let is_there = expected.remove(&key).is_some();
            rows.count_reference(row, !is_there);
            rows.note(row, 1 << (step % 3));
            *rows.at(row) = if is_there { 0 } else { step as u32 };
            if !is_there {
                expected.insert(key, step as u32);
            }
            if step % 7 != 0 {
                continue;
            }
            rows.begin_publishing();
            let mut shown = BTreeMap::new();
            rows.publish_places(usize::MAX, |key, figures, values| {
                let before = shown.insert(ByPlace::place(key), (figures, values.sum::<u32>()));
                assert_eq!(before, None, "step {step}: {key:?} twice");
            });
            rows.sweep();
            for (place, (figures, sum)) in shown {
                let of = expected.iter().filter(|(key, _)| ByPlace::place(**key) == place);
                assert_eq!(sum, of.map(|(_, value)| value).sum::<u32>(), "step {step}");
                assert_ne!(figures, 0);
            }
            assert!(!rows.is_publishing());
        }
    }

    /// Rows of some names come and go in any order; each is found by its name as long as it lives.
    #[test]
    fn the_rows_of_a_name_are_those_that_live() {
        let mut rows: Rows<u32, ByName> = Rows::default();
        let mut expected: BTreeSet<RowKey> = BTreeSet::new();
        for step in 0..2_000u64 {
            let drawn = stir(step);
            let key = [(drawn % 5) as u32, (drawn >> 8) as u32 % 40, 0, 0];
            let row = rows.row(key);
            match expected.remove(&key) {
                false => {
                    rows.count_reference(row, true);
                    expected.insert(key);
                }
                true => rows.count_reference(row, false),
            }
            if step % 3 == 0 {
                rows.sweep();
                for name in 0..6 {
                    let found: Vec<RowKey> = rows.of_name(name).map(|(key, _)| key).collect();
                    let wanted = expected.iter().filter(|key| key[0] == name).count();
                    assert_eq!(found.len(), wanted, "step {step}, name {name}");
                    assert!(found.iter().all(|key| expected.contains(key)), "step {step}");
                }
            }
        }
    }
}
