//! Where a change stands: its position in the database's log, under the era of the database.
//!
//! A database that was restored goes on from an older place of its log: what it writes then has
//! positions that were given before. Each restore begins another era, so that what follows is newer
//! than all before it. Eras begin with 1: no other writer has revisions that large.
//!
//! As a revision it has one bit more, the lowest: a record with the job's request is newer than the
//! same without.

/// Where the era begins; bits.
const ERA: u32 = 56;
/// Bits of a position; 2^55 bytes are 32 PiB of log.
const POSITION: u32 = 55;
/// The largest era; a revision has 63 bits.
const ERA_MAX: u64 = 127;

/// An era and a position in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// A position of the log in an era; `None` when it is too large.
    pub fn new(era: u64, position: u64) -> Option<Position> {
        (position >> POSITION == 0)
            .then_some(Position(era.clamp(1, ERA_MAX) << ERA | position << 1))
    }

    /// That of a record; `None` when its revision is another writer's.
    pub fn of_revision(revision: u64) -> Option<Position> {
        (revision >> ERA > 0).then_some(Position(revision & !1))
    }

    /// As the revision of a record, with the job's request or without.
    pub fn revision(self, has_request: bool) -> u64 {
        self.0 | u64::from(has_request)
    }

    /// Its era.
    pub fn era(self) -> u64 {
        self.0 >> ERA
    }

    /// The place in the log.
    pub fn place(self) -> u64 {
        (self.0 & ((1 << ERA) - 1)) >> 1
    }

    /// The next one.
    pub fn after(self) -> Position {
        Position(self.0.saturating_add(2).min(i64::MAX as u64 & !1))
    }
}

/// The era that follows. After the last one all stay in it.
pub fn next_era(era: u64) -> u64 {
    (era + 1).min(ERA_MAX)
}

#[cfg(test)]
mod tests {
    use super::{Position, next_era};

    #[test]
    fn an_era_is_above_all_positions_before_it() {
        let at = |era, position| Position::new(era, position).unwrap();
        assert!(at(2, 0) > at(1, (1 << 55) - 1));
        assert!(at(1, 8) > at(1, 7));
        assert_eq!(Position::new(1, 1 << 55), None);
        assert_eq!(at(3, 9).era(), 3);
        assert_eq!((at(3, 9).place(), at(127, (1 << 55) - 1).place()), (9, (1 << 55) - 1));
        for has_request in [false, true] {
            assert_eq!(Position::of_revision(at(1, 5).revision(has_request)), Some(at(1, 5)));
        }
        assert!(at(1, 5).revision(true) > at(1, 5).revision(false));
        assert!(at(1, 5).after().revision(false) > at(1, 5).revision(true));
        assert_eq!(Position::of_revision(15 << 23), None, "another writer's");
        let last = at(127, (1 << 55) - 1);
        assert_eq!(last.revision(true), i64::MAX as u64);
        assert_eq!((next_era(127), last.after()), (127, last));
    }
}
