//! Revisions of records that are made of somebody else's messages: a function of what a record
//! says, so that they do not depend on the order in which that became known. Stamps are whole
//! seconds, so within one the revision alone tells which record is the newer.

use crate::core::event::{JobState, Status, TransferState};
use crate::core::unit::Millis;

/// Where a job's stamps come from: a higher grade is a better source, 0 is none. The earlier of two
/// states that stand for the same moment is the better one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grades {
    created: u8,
    started: u8,
    ended: u8,
}

/// What a table or another writer says of a job's times is taken as it is.
const BEST: Grades = Grades { created: 2, started: 1, ended: 4 };

impl Grades {
    /// Those of stamps (created, started, ended) that somebody knew for sure; 0 is not known.
    pub fn sure(stamps: [Millis; 3]) -> Grades {
        let grade = |which: usize, best: u8| if stamps[which] > 0 { best } else { 0 };
        Grades {
            created: grade(0, BEST.created),
            started: grade(1, BEST.started),
            ended: grade(2, BEST.ended),
        }
    }

    /// Those of a record, from its revision if that is one of these.
    pub fn of_record(job: &JobState<'_>) -> Grades {
        if job.revision >> 7 != job.status.index() as u32 {
            return Grades::sure([job.created_at, job.started_at, job.ended_at]);
        }
        let bits = |from: u32, mask: u32| (job.revision >> from & mask) as u8;
        Grades { created: bits(1, 3), started: bits(3, 1), ended: bits(4, 7) }
    }

    /// Takes the time of a state for the stamp that it stands for (0 created, 1 started, 2 ended):
    /// whether it is the best source so far. A state that ends a job whose payload did not run says
    /// nothing of the payload's end.
    pub fn improve(&mut self, status: Status) -> Option<usize> {
        let (which, grade) = match status {
            Status::Pending => (0, 2),
            Status::Defined => (0, 1),
            Status::Running => (1, 1),
            Status::Holding => (2, 4),
            Status::Merging => (2, 3),
            Status::Transferring => (2, 2),
            Status::Finished | Status::Failed => (2, 1),
            Status::Assigned
            | Status::Throttled
            | Status::Activated
            | Status::Sent
            | Status::Starting
            | Status::Cancelled
            | Status::Closed => return None,
        };
        let known = [&mut self.created, &mut self.started, &mut self.ended];
        let known = known.into_iter().nth(which)?;
        (grade > *known).then(|| {
            *known = grade;
            which
        })
    }
}

/// The revision of a job's record. Of states within the same second the later in a job's life is
/// the newer; within a state, the record that knows more. It is odd when the job's user, share and
/// the like are in it, and even while the job waits for its task to be known.
pub fn revision(status: Status, grades: Grades, knows_task: bool) -> u32 {
    let Grades { created, started, ended } = grades;
    let stamps = u32::from(created) | u32::from(started) << 2 | u32::from(ended) << 3;
    (status.index() as u32) << 7 | stamps << 1 | u32::from(knows_task)
}

/// The revision of a transfer's record: its rank.
pub fn transfer_revision(state: TransferState) -> u32 {
    state as u32
}
