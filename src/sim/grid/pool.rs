//! An arena for what exists by the thousand: numbered slots that are used again.

/// A slot and its generation: a slot that was used again has another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle {
    at: u32,
    generation: u32,
}

/// Numbered slots that are used again.
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
    /// Puts an item into a free slot.
    pub fn insert(&mut self, item: T) -> Handle {
        match self.free.pop() {
            Some(at) => {
                let held = &mut self.items[at as usize];
                held.1 = Some(item);
                Handle { at, generation: held.0 }
            }
            None => {
                self.items.push((0, Some(item)));
                Handle { at: self.items.len() as u32 - 1, generation: 0 }
            }
        }
    }

    /// The item of a handle; `None` if its slot was emptied since.
    pub fn get(&self, handle: Handle) -> Option<&T> {
        let (generation, item) = self.items.get(handle.at as usize)?;
        item.as_ref().filter(|_| *generation == handle.generation)
    }

    /// See [`Pool::get`].
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let (generation, item) = self.items.get_mut(handle.at as usize)?;
        item.as_mut().filter(|_| *generation == handle.generation)
    }

    /// Takes a thing away, for good.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let (generation, item) = self.items.get_mut(handle.at as usize)?;
        if *generation != handle.generation {
            return None;
        }
        let taken = item.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(handle.at);
        Some(taken)
    }

    /// Those that stand there, in order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        let all = self.items.iter().zip(0..);
        all.filter_map(|((generation, item), at)| {
            Some((Handle { at, generation: *generation }, item.as_ref()?))
        })
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
    fn a_slot_that_is_used_again_is_not_the_same() {
        let mut pool = Pool::default();
        let (a, b) = (pool.insert('a'), pool.insert('b'));
        assert_eq!(pool.remove(a), Some('a'));
        let c = pool.insert('c');
        assert_eq!((pool.get(a), pool.get(b), pool.get(c)), (None, Some(&'b'), Some(&'c')));
        assert_eq!(pool.get_mut(a), None);
        assert_eq!((pool.remove(a), pool.len()), (None, 2));
    }
}
