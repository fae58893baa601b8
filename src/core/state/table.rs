//! Records of one kind, found by number or by name.

use crate::id::Key;
use crate::state::job::Job;
use crate::state::prefetch::Sought;
use crate::state::record::{Node, TransferState, Workers};
use crate::state::slab::{Index, Slab};
use std::collections::BTreeMap;

/// Records of one kind, found by number.
#[derive(Clone, Debug)]
pub struct Table<T> {
    /// The records.
    pub slab: Slab<T>,
    /// Where each is.
    pub index: Index,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { slab: Slab::default(), index: Index::default() }
    }
}

/// A record that knows its number.
pub trait Keyed {
    /// Its number.
    fn key(&self) -> Key;
}

impl<T: Keyed> Table<T> {
    /// The slot of a record.
    #[inline]
    pub fn find(&self, key: Key) -> Option<u32> {
        self.index.find(key.0, |slot| self.slab.get(slot).is_some_and(|wait| wait.key() == key))
    }

    /// The same, where a look ahead may have seen the slot.
    #[inline]
    pub fn find_sought(&self, sought: Sought) -> Option<u32> {
        match self.slab.get(sought.slot) {
            Some(held) if held.key() == sought.key => Some(sought.slot),
            _ => self.find(sought.key),
        }
    }

    /// Puts in a record whose number is not there yet.
    pub fn insert(&mut self, record: T) -> u32 {
        let key = record.key();
        let slot = self.slab.insert(record);
        self.index.insert(key.0, slot);
        slot
    }

    /// Takes a record out.
    pub fn remove(&mut self, slot: u32) -> Option<T> {
        let record = self.slab.remove(slot)?;
        self.index.remove(record.key().0, slot);
        Some(record)
    }

    /// The record of a number.
    pub fn of(&self, key: Key) -> Option<&T> {
        self.find(key).and_then(|slot| self.slab.get(slot))
    }
}

impl Keyed for Job {
    fn key(&self) -> Key {
        self.key
    }
}
impl Keyed for TransferState {
    fn key(&self) -> Key {
        self.key
    }
}
impl Keyed for Node {
    fn key(&self) -> Key {
        self.key
    }
}
impl Keyed for Workers {
    fn key(&self) -> Key {
        self.key
    }
}

/// Records of one kind, found by name.
#[derive(Clone, Debug)]
pub struct NamedTable<T> {
    /// The records.
    pub slab: Slab<T>,
    /// Where each is, in order of names.
    pub by_name: BTreeMap<String, u32>,
}

impl<T> Default for NamedTable<T> {
    fn default() -> Self {
        NamedTable { slab: Slab::default(), by_name: BTreeMap::new() }
    }
}

impl<T> NamedTable<T> {
    /// The record of a name.
    pub fn of(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).and_then(|slot| self.slab.get(*slot))
    }

    /// Finds all records by name again, after they were put in by slot.
    pub fn settle(&mut self, name: impl Fn(&T) -> &String) {
        self.slab.settle();
        for (slot, record) in self.slab.iter() {
            self.by_name.insert(name(record).clone(), slot);
        }
    }

    /// Where the record of a name is; `u32::MAX` when there is none.
    pub fn slot(&self, name: &str) -> u32 {
        self.by_name.get(name).copied().unwrap_or(u32::MAX)
    }

    /// The record of a name, made by `make` when there is none; to be changed.
    pub fn at(&mut self, name: &str, make: impl FnOnce() -> T) -> Option<&mut T> {
        let slot = match self.by_name.get(name) {
            Some(slot) => *slot,
            None => {
                let slot = self.slab.insert(make());
                self.by_name.insert(name.to_owned(), slot);
                slot
            }
        };
        self.slab.get_mut(slot)
    }

    /// The record of a name, to be changed.
    pub fn at_known(&mut self, name: &str) -> Option<&mut T> {
        let slot = *self.by_name.get(name)?;
        self.slab.get_mut(slot)
    }

    /// Takes a record out.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        let slot = self.by_name.remove(name)?;
        self.slab.remove(slot)
    }

    /// Records in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.by_name
            .iter()
            .filter_map(|(name, slot)| self.slab.get(*slot).map(|held| (name.as_str(), held)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}
