//! Revisions of records that are made of foreign messages. Stamps are whole seconds, so
//! within one the revision alone shows which record is the newer.
//!
//! It is a function of a record's content and not of the order in which the source has it. That
//! order is a fact only where all messages of a job lie in one partition and none is sent again;
//! sources are keyed by anything, producers try again, partitions are read in any interleaving,
//! and a table of jobs has no offsets at all. With offsets as revisions a repeated `activated`
//! would win over the `running` of the same second, and two lives of intake would disagree. The
//! price: a job that goes back within one second (starting, then activated again) is published
//! as starting until its next message, since only an order could show it.

use crate::core::event::{JobState, Status, TransferStatus};
use crate::core::unit::Millis;

/// Where a job's stamps come from: a higher grade is a better source, 0 is none. The earlier of two
/// states that stand for the same moment is the better one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grades([u8; 3]);

/// The times of a job from a table or another writer are taken as they are.
const BEST: [u8; 3] = [3, 2, 5];

/// Where the parts of a revision begin; bits. Learned: 16 bits; the grades of created, started,
/// ended: 2, 2 and 3; above them the state's number plus 1, so that no small number of another
/// writer's is taken for one of these.
const GRADES: [(u32, u64); 3] = [(16, 3), (18, 3), (20, 7)];
const STATE: u32 = 23;

/// The job's user, share and the like are its own, as a table or another writer knew them: what is
/// published of its task does not change them.
pub const OWN: u16 = u16::MAX;

impl Grades {
    /// Those of stamps (created, started, ended) that a message stated exactly; 0 is not known.
    pub fn sure(stamps: [Millis; 3]) -> Grades {
        Grades(std::array::from_fn(|which| if stamps[which] > 0 { BEST[which] } else { 0 }))
    }

    /// Those of a record, from its revision if that is one of these.
    pub fn of_record(job: &JobState<'_>) -> Grades {
        if !is_of(job) {
            return Grades::sure([job.created_at, job.started_at, job.ended_at]);
        }
        Grades(GRADES.map(|(from, mask)| (job.revision >> from & mask) as u8))
    }

    /// Takes the time of a state for the stamp that it stands for: whether it is the best so far.
    /// Of equals the later is: a state that was reached again counts from then, and which of two
    /// came first is nothing. A state that ends a job whose payload did not run shows nothing of
    /// the payload's end.
    pub fn improve(&mut self, status: Status, at: Millis, stamps: &mut [Millis; 3]) -> bool {
        const CREATED: usize = 0;
        const STARTED: usize = 1;
        const ENDED: usize = 2;
        let (which, grade) = match status {
            Status::Pending => (CREATED, 2),
            Status::Defined => (CREATED, 1),
            Status::Running => (STARTED, 1),
            Status::Holding => (ENDED, 4),
            Status::Merging => (ENDED, 3),
            Status::Transferring => (ENDED, 2),
            Status::Finished | Status::Failed => (ENDED, 1),
            Status::Assigned
            | Status::Throttled
            | Status::Activated
            | Status::Sent
            | Status::Starting
            | Status::Cancelled
            | Status::Closed => return false,
        };
        self.take(which, grade, at, stamps)
    }

    /// Takes another's stamps where they are better.
    pub fn join(&mut self, other: Grades, theirs: [Millis; 3], stamps: &mut [Millis; 3]) {
        for (which, at) in theirs.into_iter().enumerate() {
            self.take(which, other.0[which], at, stamps);
        }
    }

    fn take(&mut self, which: usize, grade: u8, at: Millis, stamps: &mut [Millis; 3]) -> bool {
        let is_better = (grade, at) > (self.0[which], stamps[which]);
        if is_better {
            (self.0[which], stamps[which]) = (grade, at);
        }
        is_better
    }
}

/// The revision of a job's record. Of states within the same second the later in a job's life is
/// the newer; within a state, the record that knows more: better stamps, then newer facts of its
/// task. `learned` is 0 while the job waits for its task to be known, then how many different facts
/// of it the job was published with, or [`OWN`].
pub fn revision(status: Status, grades: Grades, learned: u16) -> u64 {
    let parts = grades.0.into_iter().zip(GRADES);
    let stamps = parts.fold(0, |all, (grade, (from, _))| all | u64::from(grade) << from);
    (status.index() as u64 + 1) << STATE | stamps | u64::from(learned)
}

/// How often the record's writer learned of the job's task, as in [`revision`]; `None` when the
/// revision is another writer's.
pub fn learned(job: &JobState<'_>) -> Option<u16> {
    is_of(job).then_some(job.revision as u16)
}

fn is_of(job: &JobState<'_>) -> bool {
    job.revision >> STATE == job.status.index() as u64 + 1
}

/// The revision of a transfer's record: its rank.
pub fn transfer_revision(state: TransferStatus) -> u32 {
    state as u32
}
