//! Bodies of blocks that were read and stay at hand: curves are asked for again and again.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// They take so much; bytes.
const AT_HAND: usize = 32 << 20;

/// Bodies that were read, by where they lie; the one that was read first goes first.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    bodies: BTreeMap<(Arc<Path>, u64), Arc<Vec<u8>>>,
    order: VecDeque<(Arc<Path>, u64)>,
    bytes: usize,
}

impl AtHand {
    /// The body of a block, if it is at hand.
    pub fn get(&self, at: &(Arc<Path>, u64)) -> Option<Arc<Vec<u8>>> {
        self.bodies.get(at).cloned()
    }

    /// Keeps the body of a block at hand; those that were read first make room.
    pub fn put(&mut self, at: (Arc<Path>, u64), body: Arc<Vec<u8>>) {
        self.bytes += body.len();
        if let Some(before) = self.bodies.insert(at.clone(), body) {
            self.bytes -= before.len();
        } else {
            self.order.push_back(at);
        }
        while self.bytes > AT_HAND
            && let Some(first) = self.order.pop_front()
        {
            self.bytes -= self.bodies.remove(&first).map_or(0, |body| body.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_first_makes_room() {
        let mut at_hand = AtHand::default();
        let at = |offset| (Arc::from(Path::new("x")), offset);
        for offset in 0..5 {
            at_hand.put(at(offset), Arc::new(vec![0; AT_HAND / 4]));
        }
        assert!(at_hand.get(&at(0)).is_none() && at_hand.get(&at(1)).is_some());
        assert_eq!((at_hand.bodies.len(), at_hand.bytes), (4, AT_HAND));
    }
}
