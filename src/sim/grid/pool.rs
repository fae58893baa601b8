//! Where what lives by the thousand is kept: numbered places that are used again.

/// A place, and whose: a place that was given to another is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    at: u32,
    generation: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    items: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Gives a thing a place.
    pub fn insert(&mut self, item: T) -> Place {
        match self.free.pop() {
            Some(at) => {
                let held = &mut self.items[at as usize];
                held.1 = Some(item);
                Place { at, generation: held.0 }
            }
            None => {
                self.items.push((0, Some(item)));
                Place { at: self.items.len() as u32 - 1, generation: 0 }
            }
        }
    }

    /// What stands there, if it is still the same.
    pub fn get(&self, place: Place) -> Option<&T> {
        let (generation, item) = self.items.get(place.at as usize)?;
        item.as_ref().filter(|_| *generation == place.generation)
    }

    /// See [`Pool::get`].
    pub fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        let (generation, item) = self.items.get_mut(place.at as usize)?;
        item.as_mut().filter(|_| *generation == place.generation)
    }

    /// Takes a thing away, for good.
    pub fn remove(&mut self, place: Place) -> Option<T> {
        let (generation, item) = self.items.get_mut(place.at as usize)?;
        if *generation != place.generation {
            return None;
        }
        let taken = item.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(place.at);
        Some(taken)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_given_again_is_not_the_same() {
        let mut pool = Pool::default();
        let (a, b) = (pool.insert('a'), pool.insert('b'));
        assert_eq!(pool.remove(a), Some('a'));
        let c = pool.insert('c');
        assert_eq!((pool.get(a), pool.get(b), pool.get(c)), (None, Some(&'b'), Some(&'c')));
        assert_eq!(pool.get_mut(a), None);
        assert_eq!((pool.remove(a), pool.len()), (None, 2));
    }
}
