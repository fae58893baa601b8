//! The growing pause between two lives of a verb that goes on after errors.

use std::time::Duration;
use yardmaster_drive::port::LogError;
use yardmaster_wire::topology::Topology;

/// The next pause of a verb, and the longest.
pub(super) struct Pause {
    what: &'static str,
    next: Duration,
    longest: Duration,
}

impl Pause {
    const FIRST: Duration = Duration::from_millis(200);

    /// Of a verb; as long as the topology allows at most.
    pub fn new(what: &'static str, topology: &Topology) -> Pause {
        let longest = topology.limits.backoff_max_ms.max(0) as u64;
        Pause { what, next: Pause::FIRST, longest: Duration::from_millis(longest) }
    }

    /// The next pause is a short one again.
    pub fn reset(&mut self) {
        self.next = Pause::FIRST;
    }

    /// Reports why it starts again, and waits.
    pub fn wait(&mut self, error: &LogError, goes_on: &dyn Fn() -> bool) {
        tracing::warn!("{}: {error}; starting again in {:?}", self.what, self.next);
        let step = Duration::from_millis(50);
        let mut left = self.next;
        while !left.is_zero() && goes_on() {
            std::thread::sleep(left.min(step));
            left = left.saturating_sub(step);
        }
        self.next = (self.next * 2).min(self.longest);
    }
}
