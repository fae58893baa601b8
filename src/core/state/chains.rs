//! Keys of rows of counters, and which rows belong together: those of a name, and those of a name
//! at a queue.

use crate::id::stir;
use crate::state::slab::Index;

/// Key of a row: up to four numbers (interned names, halves of keys).
pub type RowKey = [u32; 4];

/// No row: what a record holds for a name it has not.
pub const NO_ROW: u32 = u32::MAX;

/// A hash of a key.
pub(in crate::state) fn mix(key: RowKey) -> u64 {
    let low = u64::from(key[0]) | u64::from(key[1]) << 32;
    let high = u64::from(key[2]) | u64::from(key[3]) << 32;
    stir(low) ^ high.rotate_left(17)
}

/// Further indices of the live rows of one kind of counter.
pub trait Chains: Default {
    /// A row that is new.
    fn enter(&mut self, row: u32, key: RowKey);

    /// A row that goes.
    fn leave(&mut self, row: u32, key: RowKey);
}

/// Nothing else does.
impl Chains for () {
    #[inline]
    fn enter(&mut self, _: u32, _: RowKey) {}

    #[inline]
    fn leave(&mut self, _: u32, _: RowKey) {}
}

/// Live rows by the first number of their keys, an interned name.
#[derive(Clone, Debug, Default)]
pub struct ByName {
    /// By name: one of its rows, from which the others are found; [`NO_ROW`] for none.
    first: Vec<u32>,
    /// By row: the ones before and behind it.
    links: Vec<[u32; 2]>,
}

impl ByName {
    /// The first row of a name, [`NO_ROW`] for none.
    pub(in crate::state) fn first_of(&self, name: u32) -> u32 {
        self.first.get(name as usize).copied().unwrap_or(NO_ROW)
    }

    /// The row of the same name behind a row, [`NO_ROW`] for none.
    pub(in crate::state) fn next(&self, row: u32) -> u32 {
        self.links[row as usize][1]
    }

    fn make_room(&mut self, row: usize) {
        if self.links.len() <= row {
            self.links.resize(row + 1, [NO_ROW; 2]);
        }
    }

    /// A row that is new, behind another of the same name.
    fn enter_behind(&mut self, row: u32, other: u32) {
        self.make_room(row as usize);
        let next = std::mem::replace(&mut self.links[other as usize][1], row);
        self.links[row as usize] = [other, next];
        if let Some(next) = self.links.get_mut(next as usize) {
            next[0] = row;
        }
    }
}

impl Chains for ByName {
    fn enter(&mut self, row: u32, key: RowKey) {
        let (name, at) = (key[0] as usize, row as usize);
        if self.first.len() <= name {
            self.first.resize(name + 1, NO_ROW);
        }
        self.make_room(at);
        let next = std::mem::replace(&mut self.first[name], row);
        self.links[at] = [NO_ROW, next];
        if let Some(next) = self.links.get_mut(next as usize) {
            next[0] = row;
        }
    }

    fn leave(&mut self, row: u32, key: RowKey) {
        let [before, next] = self.links[row as usize];
        match self.links.get_mut(before as usize) {
            Some(before) => before[1] = next,
            None => self.first[key[0] as usize] = next,
        }
        if let Some(next) = self.links.get_mut(next as usize) {
            next[0] = before;
        }
    }
}

/// Rows that are found by the first number of their keys.
pub trait Named {
    /// How they are chained.
    fn names(&self) -> &ByName;
}

impl Named for ByName {
    fn names(&self) -> &ByName {
        self
    }
}

impl Named for ByPlace {
    fn names(&self) -> &ByName {
        &self.names
    }
}

/// Live rows by the first number of their keys, and by *place*: rows that agree in it, in the
/// second and in the lowest bit of the third lie side by side.
#[derive(Clone, Debug, Default)]
pub struct ByPlace {
    names: ByName,
    /// By place: the row of it that comes first.
    first: Index,
    /// By row: its place.
    places: Vec<[u32; 3]>,
}

impl ByPlace {
    /// The place of a key.
    pub(in crate::state) fn place(key: RowKey) -> [u32; 3] {
        [key[0], key[1], key[2] & 1]
    }

    fn stirred(place: [u32; 3]) -> u64 {
        mix([place[0], place[1], place[2], 0])
    }

    fn first(&self, place: [u32; 3]) -> Option<u32> {
        self.first.find(Self::stirred(place), |row| self.places[row as usize] == place)
    }

    /// The rows of a place.
    pub(in crate::state) fn rows(&self, place: [u32; 3]) -> impl Iterator<Item = u32> {
        let mut at = self.first(place).unwrap_or(NO_ROW);
        std::iter::from_fn(move || {
            let row = Some(at).filter(|at| self.places.get(*at as usize) == Some(&place))?;
            at = self.names.next(row);
            Some(row)
        })
    }
}

impl Chains for ByPlace {
    fn enter(&mut self, row: u32, key: RowKey) {
        let place = Self::place(key);
        if self.places.len() <= row as usize {
            self.places.resize(row as usize + 1, [NO_ROW; 3]);
        }
        self.places[row as usize] = place;
        match self.first(place) {
            Some(first) => self.names.enter_behind(row, first),
            None => {
                self.names.enter(row, key);
                self.first.insert(Self::stirred(place), row);
            }
        }
    }

    fn leave(&mut self, row: u32, key: RowKey) {
        let place = Self::place(key);
        if self.first(place) == Some(row) {
            let next = self.rows(place).nth(1);
            self.first.remove(Self::stirred(place), row);
            next.into_iter().for_each(|next| self.first.insert(Self::stirred(place), next));
        }
        self.places[row as usize] = [NO_ROW; 3];
        self.names.leave(row, key);
    }
}
