//! Names and the small numbers that stand for them, so that what is compared by the thousand in one
//! choice are numbers.

use crate::id::Key;
use std::collections::BTreeMap;

/// Names, each with its number: 0 for the first one seen. Numbers depend on the order of arrival;
/// nothing that decides does.
#[derive(Clone, Debug, Default)]
pub struct NumberedNames {
    names: Vec<String>,
    by_key: BTreeMap<Key, u32>,
    /// Names whose key another name has.
    others: BTreeMap<String, u32>,
}

impl NumberedNames {
    /// The number of a name; a new one if it was not seen.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(found) = self.find(name) {
            return found;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        if *self.by_key.entry(Key::of(name.as_bytes())).or_insert(number) != number {
            self.others.insert(name.to_owned(), number);
        }
        number
    }

    /// The number of a name, if it was seen.
    pub fn find(&self, name: &str) -> Option<u32> {
        let found = *self.by_key.get(&Key::of(name.as_bytes()))?;
        if self.names[found as usize] == name {
            return Some(found);
        }
        self.others.get(name).copied()
    }

    /// The name of a number.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }
}

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers(Vec<u64>);

impl Numbers {
    /// Adds a number.
    pub fn insert(&mut self, number: u32) {
        self.insert_new(number);
    }

    /// Adds a number; whether it was not in the set.
    pub fn insert_new(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Adds all numbers of another set.
    pub fn add(&mut self, other: &Numbers) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Removes a number.
    pub fn remove(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Whether a number is in the set.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// All of them, ascending.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.0.len() as u32 * 64).filter(|number| self.has(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = NumberedNames::default();
        let numbers: Vec<u32> = ["ce-b", "ce-a", "ce-b", "7"].map(|it| names.number(it)).into();
        assert_eq!(numbers, [0, 1, 0, 2]);
        assert_eq!((names.name(1), names.name(9), names.count()), ("ce-a", "", 3));
        assert_eq!((names.find("7"), names.find("ce-c")), (Some(2), None));
    }

    #[test]
    fn a_set_has_what_was_added_and_not_removed() {
        let mut set = Numbers::default();
        assert!(set.insert_new(3) && set.insert_new(200) && !set.insert_new(3));
        let mut more = Numbers::default();
        more.add(&set);
        assert_eq!(more, set);
        set.remove(3);
        set.remove(9_000);
        assert_eq!(set.all().collect::<Vec<_>>(), [200]);
        assert!(!set.has(3) && set.has(200) && !set.has(100_000));
    }
}
