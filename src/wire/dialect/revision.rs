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

use yardmaster_core::event::{JobState, Status, TransferStatus};
use yardmaster_core::unit::Millis;

/// Where a job's stamps come from: a higher grade is a better source, 0 is none. The earlier of two
/// states that stand for the same moment is the better one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grades([u8; 3]);

/// The times of a job from a table or another writer are taken as they are.
const BEST: [u8; 3] = [3, 2, 5];

/// Where the parts of a revision begin; bits. Whether it has a request: 1 bit; learned: 16 bits;
/// the grades of created, started, ended: 2, 2 and 3; above them the state's number plus 1, so that
/// no small number of another writer's is taken for one of these. Records of older versions lack
/// the lowest bit and have all else one bit lower: of a state published again ours is the newer.
const LEARNED: u32 = 1;
const GRADES: [(u32, u64); 3] = [(17, 3), (19, 3), (21, 7)];
const STATE: u32 = 24;

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
        match parts(job) {
            Some(parts) => Grades(GRADES.map(|(from, mask)| (parts >> from & mask) as u8)),
            None => Grades::sure([job.created_at, job.started_at, job.ended_at]),
        }
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
            | Status::Closed
            | Status::Held => return false,
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
/// task, then a request. `learned` is 0 while the job waits for its task to be known, then how many
/// different facts of it the job was published with, or [`OWN`].
pub fn revision(status: Status, grades: Grades, learned: u16, has_request: bool) -> u64 {
    let parts = grades.0.into_iter().zip(GRADES);
    let stamps = parts.fold(0, |all, (grade, (from, _))| all | u64::from(grade) << from);
    let state = (status.index() as u64 + 1) << STATE;
    state | stamps | u64::from(learned) << LEARNED | u64::from(has_request)
}

/// How often the record's writer learned of the job's task, as in [`revision`]; `None` when the
/// revision is another writer's.
pub fn learned(job: &JobState<'_>) -> Option<u16> {
    parts(job).map(|parts| (parts >> LEARNED) as u16)
}

/// The parts of a record's revision, if it is one of these. An older one is as it would be now,
/// without a request.
fn parts(job: &JobState<'_>) -> Option<u64> {
    let revision = job.revision;
    let is_of = |from: u32| revision >> from == job.status.index() as u64 + 1;
    // Both cannot be: the number of a state, plus 1, is above 0 and not twice itself.
    if is_of(STATE) { Some(revision) } else { is_of(STATE - 1).then_some(revision << 1) }
}

/// The revision of a transfer's record: its rank.
pub fn transfer_revision(state: TransferStatus) -> u32 {
    state as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_revision_holds_is_read_back_also_of_older_versions() {
        let grades = Grades::sure([1, 0, 1]);
        for (status, learned_often) in
            Status::ALL.iter().flat_map(|status| [0, 1, OWN].map(|it| (*status, it)))
        {
            let of = |revision| JobState { status, revision, ..JobState::default() };
            let new = revision(status, grades, learned_often, false);
            let with_request = revision(status, grades, learned_often, true);
            // As versions before requests were inferred wrote it.
            let old = new >> 1;
            assert!(old < new && new < with_request);
            for job in [old, new, with_request].map(of) {
                assert_eq!(learned(&job), Some(learned_often), "{job:?}");
                assert_eq!(Grades::of_record(&job), grades, "{job:?}");
            }
            assert_eq!(learned(&of(1_700_000_000_000 << 24)), None);
        }
    }
}
