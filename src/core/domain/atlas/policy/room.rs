//! How many jobs may wait at a queue for a core: the rest of the work stays with the broker, which
//! can still send it to a queue that becomes free first. PanDA has no such limit, since a broker
//! that comes back to a deferred request after an hour has to leave each queue enough for an hour.

use super::candidate::Candidate;
use crate::event::Status;
use crate::policy::param::{Default, Param, Unit};
use crate::policy::typed::params;

params! {
    /// Parameters of [`Room`]: ours, without a limit under the two readings.
    RoomParams {
        per_running: f64 = Param::float("room_per_running", (0.0, 1_000.0), 0.0, 0.0)
            .tuned(Default::Float(0.5))
            .help(
                "jobs that may wait at a queue for each that runs there, of all shares; 0: no limit",
            ),
        least: f64 = Param::int("room_least", 100, 100)
            .unit(Unit::Jobs)
            .help("so many may wait at any queue"),
        assigned: f64 = Param::float("room_assigned", (0.0, 1.0), 0.3, 0.3)
            .help("as what part of a waiting job one counts whose input is still on its way"),
    }
}

/// How much work a queue has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Room {
    per_running: f64,
    least: f64,
    assigned: f64,
}

impl RoomParams {
    /// The limit that the parameters give.
    pub(super) fn room(self) -> Room {
        let RoomParams { per_running, least, assigned } = self;
        Room { per_running, least, assigned }
    }
}

impl Room {
    /// Whether there is a limit at all.
    pub(crate) fn is_limited(&self) -> bool {
        self.per_running > 0.0
    }

    /// Jobs that wait at a queue, and how many may. Jobs that are starting have their cores.
    pub(crate) fn of(&self, candidate: &Candidate<'_>) -> (f64, f64) {
        let waiting = candidate.jobs_all(Status::Defined)
            + f64::from(candidate.reserved_all)
            + candidate.jobs_all(Status::Activated)
            + self.assigned * candidate.jobs_all(Status::Assigned);
        let running = candidate.jobs_all(Status::Running);
        (waiting, self.least.max(self.per_running * running))
    }

    /// How many more jobs a queue has room for; infinite where there is no limit.
    pub(super) fn left(&self, candidate: &Candidate<'_>) -> f64 {
        let (waiting, limit) = self.of(candidate);
        if self.is_limited() { limit - waiting } else { f64::INFINITY }
    }
}
