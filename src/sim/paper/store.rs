//! A store on paper that forgets nothing, so that a test can restart from any older state of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use yardmaster_drive::port::{Checkpoint, Kept, Store, StoreError};

/// A store in memory. Clones are the same store.
///
/// A checkpoint is there at once: a late or lost write is made by [`super::faulty::FaultyStore`]
/// and [`PaperStore::older`].
#[derive(Clone, Default)]
pub struct PaperStore {
    history: Arc<Mutex<Vec<Checkpoint>>>,
}

impl PaperStore {
    /// How many checkpoints were ever kept.
    pub fn count(&self) -> usize {
        self.history().len()
    }

    /// A store of its own, as this one was after its first `count` checkpoints; with 0 an empty
    /// one.
    pub fn older(&self, count: usize) -> PaperStore {
        let history = self.history();
        let first = history[..count.min(history.len())].to_vec();
        PaperStore { history: Arc::new(Mutex::new(first)) }
    }

    /// Every checkpoint, oldest first.
    pub fn checkpoints(&self) -> Vec<Checkpoint> {
        self.history().clone()
    }

    fn history(&self) -> MutexGuard<'_, Vec<Checkpoint>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for PaperStore {
    fn load(&mut self) -> Result<Option<Kept>, StoreError> {
        let history = self.history();
        if history.is_empty() {
            return Ok(None);
        }
        let fresh = history.iter().rposition(|checkpoint| checkpoint.fresh).unwrap_or(0);
        let mut kept = Kept::default();
        let mut bases: BTreeMap<u64, &Vec<u8>> = BTreeMap::new();
        for (index, checkpoint) in history.iter().enumerate().skip(fresh) {
            let sequence = index as u64 + 1;
            kept.sequence = sequence;
            kept.deltas.retain(|(kept, _)| kept + checkpoint.useful >= sequence);
            kept.deltas.extend(checkpoint.deltas.iter().map(|delta| (sequence, delta.clone())));
            bases.extend(checkpoint.bases.iter().map(|(page, bytes)| (*page, bytes)));
            if let Some(counters) = &checkpoint.counters {
                kept.counters.clone_from(counters);
            }
        }
        kept.head.clone_from(&history[history.len() - 1].head);
        kept.bases = bases.into_iter().map(|(page, bytes)| (page, bytes.clone())).collect();
        Ok(Some(kept))
    }

    fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
        self.history().push(checkpoint);
        Ok(())
    }

    fn is_busy(&mut self) -> bool {
        false
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(mark: u8, useful: u64) -> Checkpoint {
        Checkpoint {
            head: vec![mark],
            deltas: vec![vec![mark; 2]],
            bases: vec![(u64::from(mark % 2), vec![mark; 3])],
            useful,
            counters: (mark == 2).then(|| vec![(b"k".to_vec(), vec![mark])]),
            fresh: false,
        }
    }

    #[test]
    fn an_older_store_is_the_store_as_it_was() {
        let mut store = PaperStore::default();
        assert_eq!(store.load().unwrap(), None);
        for mark in 1..=4 {
            store.keep(checkpoint(mark, 1)).unwrap();
        }
        let kept = store.load().unwrap().unwrap();
        assert_eq!(kept.head, [4]);
        assert_eq!(kept.bases, [(0, vec![4; 3]), (1, vec![3; 3])]);
        assert_eq!(kept.deltas, [(3, vec![3; 2]), (4, vec![4; 2])]);
        assert_eq!(kept.counters, [(b"k".to_vec(), vec![2])]);
        assert_eq!(kept.sequence, 4);

        let mut older = store.older(2);
        assert_eq!(older.load().unwrap().unwrap().head, [2]);
        older.keep(checkpoint(9, 1)).unwrap();
        assert_eq!(store.count(), 4, "the older store is a store of its own");
        assert_eq!(store.older(0).load().unwrap(), None);
    }

    #[test]
    fn a_fresh_checkpoint_forgets_what_was_before() {
        let mut store = PaperStore::default();
        store.keep(checkpoint(2, 9)).unwrap();
        store.keep(Checkpoint { fresh: true, ..checkpoint(3, 9) }).unwrap();
        let kept = store.load().unwrap().unwrap();
        assert_eq!(kept.deltas, [(2, vec![3; 2])]);
        assert_eq!(kept.bases, [(1, vec![3; 3])]);
        assert!(kept.counters.is_empty());
    }
}
