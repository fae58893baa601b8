//! Estimates of when tasks begin, held against the truth once it is known.

use std::collections::BTreeMap;
use yardmaster_core::estimate::{StartEstimate, TaskWaits};
use yardmaster_core::id::Key;
use yardmaster_core::unit::Millis;

/// So many estimates wait for their truth; of more tasks none is made.
const HELD_MAX: usize = 10_000;

/// Where a start may lie against the range of its estimate.
pub const RESULTS: [&str; 3] = ["inside", "earlier", "later"];

/// The first estimate of each task that waits.
#[derive(Debug, Default)]
pub struct Estimates {
    held: BTreeMap<Key, (Millis, StartEstimate)>,
}

/// How an estimate was, now that the task began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredEstimate {
    /// Where the truth lies: `inside` the range, `earlier`, `later`.
    pub result: &'static str,
    /// The wait from the estimate to the start, divided by the one that was likely; `None`: no
    /// moment was.
    pub ratio: Option<f64>,
}

impl Estimates {
    /// Takes the present waits: gives how the estimates of the tasks that began since were, and
    /// makes one for each task that waits and has none.
    pub fn look(&mut self, waits: &TaskWaits, now: Millis) -> Vec<MeasuredEstimate> {
        let mut measured = Vec::new();
        self.held.retain(|task, (made_at, estimate)| match waits.task(*task) {
            Some(task) => match task.began_at {
                Some(began_at) => {
                    measured.push(measure(*made_at, estimate, began_at));
                    false
                }
                None => task.is_waiting(),
            },
            None => false,
        });
        for task in waits.waiting() {
            if self.held.len() >= HELD_MAX {
                break;
            }
            if !self.held.contains_key(&task)
                && let Some(estimate) = waits.estimate(task)
            {
                self.held.insert(task, (now, estimate));
            }
        }
        measured
    }
}

fn measure(made_at: Millis, estimate: &StartEstimate, began_at: Millis) -> MeasuredEstimate {
    let result = match (estimate.from, estimate.to) {
        (from, _) if began_at < from => "earlier",
        (_, Some(to)) if began_at > to => "later",
        _ => "inside",
    };
    let likely = estimate.middle.map(|middle| middle.saturating_sub(made_at));
    let likely = likely.filter(|likely| *likely > 0);
    let truth = began_at.saturating_sub(made_at).max(0);
    MeasuredEstimate { result, ratio: likely.map(|likely| truth as f64 / likely as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_held_against_the_start() {
        let estimate = StartEstimate {
            from: 110,
            middle: Some(150),
            to: Some(200),
            queue: String::new(),
            basis: String::new(),
        };
        let of = |began_at| {
            let MeasuredEstimate { result, ratio } = measure(100, &estimate, began_at);
            (result, ratio)
        };
        assert_eq!(of(105), ("earlier", Some(0.1)));
        assert_eq!(of(200), ("inside", Some(2.0)));
        assert_eq!(of(201), ("later", Some(2.02)));
        let open = StartEstimate { middle: None, to: None, ..estimate };
        assert_eq!(measure(100, &open, 9_000), MeasuredEstimate { result: "inside", ratio: None });
    }
}
