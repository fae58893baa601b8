//! Offsets that are held back: what follows them has to be read again by another life.

use std::collections::BTreeMap;

/// Number of a source, and partition.
pub(super) type Lane = (usize, i32);

/// Where committed offsets are behind what was read.
#[derive(Default)]
pub(super) struct Held {
    committed: BTreeMap<Lane, u64>,
}

/// Offsets that one transaction commits.
pub(super) struct Commit {
    /// By partition, the next offset.
    pub offsets: BTreeMap<Lane, u64>,
    /// Those that stay behind, with those that were committed before.
    behind: BTreeMap<Lane, u64>,
}

impl Held {
    /// Offsets to be committed: where partitions that `moved` were read to, or where they are held
    /// by `hold`. One that is held where it was before is left out, unless `is_all`. `read` is how
    /// far a partition was read.
    pub fn commit(
        &self,
        moved: &BTreeMap<Lane, u64>,
        read: impl Fn(Lane) -> Option<u64>,
        hold: impl Fn(Lane) -> Option<u64>,
        is_all: bool,
    ) -> Commit {
        let (mut offsets, mut behind) = (BTreeMap::new(), BTreeMap::new());
        let held = self.committed.keys().filter(|lane| !moved.contains_key(lane));
        let held = held.filter_map(|lane| Some((*lane, read(*lane)?)));
        for (lane, next) in moved.iter().map(|(lane, next)| (*lane, *next)).chain(held) {
            let at = hold(lane).map_or(next, |hold| hold.min(next));
            if is_all || self.committed.get(&lane) != Some(&at) {
                offsets.insert(lane, at);
            }
            if at < next {
                behind.insert(lane, at);
            }
        }
        Commit { offsets, behind }
    }

    /// It was committed.
    pub fn committed(&mut self, commit: Commit) {
        self.committed = commit.behind;
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, Held};

    #[test]
    fn a_held_offset_is_committed_once_and_again_when_it_is_let_go() {
        let (one, two) = ((0, 0), (0, 1));
        let mut held = Held::default();
        let mut step = |moved: &[((usize, i32), u64)], hold: Option<u64>, is_all: bool| {
            let moved: BTreeMap<_, _> = moved.iter().copied().collect();
            let hold = |lane| (lane == one).then_some(hold).flatten();
            let commit = held.commit(&moved, |lane| (lane == one).then_some(9), hold, is_all);
            let offsets = commit.offsets.clone();
            held.committed(commit);
            offsets.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(step(&[(one, 5), (two, 3)], Some(4), false), [(one, 4), (two, 3)]);
        assert_eq!(step(&[(one, 8)], Some(4), false), [], "held where it was");
        assert_eq!(step(&[], Some(4), true), [(one, 4)], "lest the broker forgets it");
        assert_eq!(step(&[(one, 9)], Some(6), false), [(one, 6)]);
        assert_eq!(step(&[], None, false), [(one, 9)], "let go though nothing came");
        assert_eq!(step(&[], None, false), []);
        assert_eq!(step(&[(one, 9)], Some(12), false), [(one, 9)], "never beyond what was read");
    }
}
