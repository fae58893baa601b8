//! Where a change stands: its position in the database's log, under the era of the database.
//!
//! A database that was restored goes on from an older place of its log: what it writes then has
//! positions that were given before. Each restore begins another era, so that what follows is newer
//! than all before it. Eras begin with 1: no other writer has revisions that large.
//!
//! As a revision it has the life of the job below the era, which is raised when the job is there
//! again after it was over; and the lowest bit: a record with the job's request is newer than the
//! same without.

use yardmaster_core::event::REVISION_ERA;

/// Bits of a position; 2^51 bytes are 2 PiB of log.
const POSITION: u32 = 51;
/// Bits of a job's life.
const LIFE: u32 = 4;
/// Where the era begins; bits.
const ERA: u32 = REVISION_ERA + LIFE;
/// The largest era; a revision has 63 bits.
const ERA_MAX: u64 = 127;
/// The latest life.
pub const LIFE_MAX: u8 = (1 << LIFE) - 1;

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
        let life = u64::from(LIFE_MAX) << REVISION_ERA;
        (revision >> ERA > 0).then_some(Position(revision & !life & !1))
    }

    /// As the revision of a record in a life of its job, with the job's request or without.
    pub fn revision(self, life: u8, has_request: bool) -> u64 {
        self.0 | u64::from(life) << REVISION_ERA | u64::from(has_request)
    }

    /// Its era.
    pub fn era(self) -> u64 {
        self.0 >> ERA
    }

    /// The place in the log.
    pub fn place(self) -> u64 {
        (self.0 & ((1 << REVISION_ERA) - 1)) >> 1
    }

    /// The next one.
    pub fn after(self) -> Position {
        Position::new(self.era(), self.place() + 1).unwrap_or(self)
    }
}

/// The life of the job in a record's revision.
pub fn life_of_revision(revision: u64) -> u8 {
    (revision >> REVISION_ERA) as u8 & LIFE_MAX
}

/// The era that follows. After the last one all stay in it.
pub fn next_era(era: u64) -> u64 {
    (era + 1).min(ERA_MAX)
}

#[cfg(test)]
mod tests {
    use super::{LIFE_MAX, Position, life_of_revision, next_era};

    #[test]
    fn an_era_is_above_all_positions_before_it() {
        let at = |era, position| Position::new(era, position).unwrap();
        assert!(at(2, 0) > at(1, (1 << 51) - 1));
        assert!(at(1, 8) > at(1, 7));
        assert_eq!(Position::new(1, 1 << 51), None);
        assert_eq!(at(3, 9).era(), 3);
        assert_eq!((at(3, 9).place(), at(127, (1 << 51) - 1).place()), (9, (1 << 51) - 1));
        for (has_request, life) in [(false, 0), (true, 7), (true, LIFE_MAX)] {
            let revision = at(1, 5).revision(life, has_request);
            assert_eq!(Position::of_revision(revision), Some(at(1, 5)));
            assert_eq!(life_of_revision(revision), life);
        }
        assert!(at(1, 5).revision(0, true) > at(1, 5).revision(0, false));
        assert!(at(1, 5).after().revision(0, false) > at(1, 5).revision(0, true));
        assert!(at(1, 5).revision(1, false) > at(1, (1 << 51) - 1).revision(0, true));
        assert!(at(2, 5).revision(0, false) > at(1, 5).revision(LIFE_MAX, true));
        assert_eq!(Position::of_revision(15 << 23), None, "another writer's");
        let last = at(127, (1 << 51) - 1);
        assert_eq!(last.revision(LIFE_MAX, true), i64::MAX as u64);
        assert_eq!((next_era(127), last.after()), (127, last));
    }
}
