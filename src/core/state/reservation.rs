//! Open reservations, and the jobs that are counted against them.

/// Jobs of a request, or of a task without request, seen at a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// All of them.
    pub jobs: u32,
    /// For a task: by the second they were created in, ascending.
    pub(super) created: Vec<(i64, u32)>,
    /// Open reservations that wait for them.
    pub(super) watch: Vec<u32>,
}

/// One queue's part of an open reservation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    pub(super) reserved: u32,
    pub(super) request_row: u32,
    pub(super) task_row: u32,
    pub(super) share_row: u32,
    pub(super) queue_row: u32,
    pub(super) level_row: u32,
    /// The owner whose caps it counts for; no row when there is none.
    pub(super) owner_row: u32,
    /// The user in the share at the queue; no row when there is none, or the jobs merge output.
    pub(super) user_row: u32,
    /// Cores of each job.
    pub(super) cores: u32,
    pub(super) after_s: i64,
    pub(super) waiting: u32,
}

/// All open reservations.
#[derive(Clone, Debug, Default)]
pub struct OpenReservations {
    pub(super) all: Vec<Open>,
    pub(super) free: Vec<u32>,
}

impl Seen {
    /// The content as text, for comparison with a recount.
    pub(crate) fn text(&self) -> String {
        format!("{} jobs, created {:?}, watched {}", self.jobs, self.created, self.watch.len())
    }

    pub(super) fn after(&self, second: i64) -> u32 {
        let first = self.created.partition_point(|(at, _)| *at <= second);
        self.created[first..].iter().fold(0, |sum, (_, jobs)| sum.wrapping_add(*jobs))
    }

    pub(super) fn count(&mut self, created_s: Option<i64>, sign: i32) {
        self.jobs = self.jobs.wrapping_add_signed(sign);
        let Some(second) = created_s else { return };
        match self.created.binary_search_by_key(&second, |(at, _)| *at) {
            Ok(index) => {
                self.created[index].1 = self.created[index].1.wrapping_add_signed(sign);
                if self.created[index].1 == 0 {
                    self.created.remove(index);
                }
            }
            Err(index) => self.created.insert(index, (second, sign as u32)),
        }
    }
}
