//! A chunk's jobs, divided among the chosen queues.
//!
//! Jobs are cut in bunches. For each bunch one queue is drawn, with a probability in proportion
//! to its weight, among those whose queued jobs are below their cap and that have room; the bunch
//! then counts as queued there and the weight shrinks accordingly (spec atlas 2.7).
//!
//! All jobs are placed: once every queue has reached its cap, the rest is drawn in the same way
//! among all of them, as if there were no caps. The queues passed the filters that guard against
//! too much work there, and a decision that placed only a part would leave jobs without any.

use crate::dice::Dice;

/// One queue that takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueShare {
    /// Its weight; finite, not negative.
    pub weight: f64,
    /// Jobs queued there already. `None`: they do not count, so there is no cap, and the weight
    /// stays as it is.
    pub queued: Option<f64>,
    /// It takes part while fewer than these are queued; `None`: always.
    pub cap: Option<f64>,
    /// Jobs it still has room for; it takes part while there is any. Infinite: always.
    pub room: f64,
}

/// Most bunches drawn for one chunk: a larger chunk is cut in larger bunches instead.
const BUNCHES_MAX: u32 = 10_000;

/// How many of `jobs` go to each of the shares.
pub fn divide(jobs: u32, bunch: u32, shares: &[QueueShare], dice: &mut Dice) -> Vec<u32> {
    let mut shares = shares.to_vec();
    let mut given = vec![0u32; shares.len()];
    let bunch = bunch.max(jobs.div_ceil(BUNCHES_MAX)).max(1);
    let mut left = jobs;
    while left > 0 && !shares.is_empty() {
        let size = bunch.min(left);
        let at = draw(&shares, dice.unit());
        given[at] += size;
        left -= size;
        let share = &mut shares[at];
        share.room -= f64::from(size);
        if let Some(queued) = &mut share.queued {
            let before = *queued;
            *queued += f64::from(size);
            share.weight *= (before + 1.0) / (*queued + 1.0);
        }
    }
    given
}

/// The share that a number in [0, 1) falls on.
fn draw(shares: &[QueueShare], unit: f64) -> usize {
    let is_full =
        |share: &QueueShare| share.queued.zip(share.cap).is_some_and(|(it, cap)| it >= cap);
    let open = |share: &QueueShare| share.room > 0.0 && !is_full(share);
    let any_open = shares.iter().any(open);
    let takes_part = |share: &QueueShare| !any_open || open(share);
    let sum: f64 = shares.iter().filter(|share| takes_part(share)).map(|share| share.weight).sum();
    // All weights 0: as if all were equal.
    let weight = |share: &QueueShare| if sum > 0.0 { share.weight } else { 1.0 };
    let total: f64 = shares.iter().filter(|share| takes_part(share)).map(weight).sum();
    let mut rest = unit * total;
    let mut last = 0;
    for (at, share) in shares.iter().enumerate().filter(|(_, share)| takes_part(share)) {
        if weight(share) > 0.0 {
            last = at;
            rest -= weight(share);
            if rest < 0.0 {
                break;
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dice(subject: &str) -> Dice {
        Dice::of("atlas", subject, 0, 1, 1)
    }

    fn share(weight: f64, queued: f64, cap: f64) -> QueueShare {
        QueueShare { weight, queued: Some(queued), cap: Some(cap), room: f64::INFINITY }
    }

    #[test]
    fn every_job_is_placed_and_the_same_seed_divides_alike() {
        let shares = [share(1.0, 0.0, 50.0), share(2.0, 10.0, 20.0), share(0.0, 0.0, 9.0)];
        for jobs in [0, 1, 24, 25, 26, 100, 10_001, u32::MAX] {
            let given = divide(jobs, 25, &shares, &mut dice("7"));
            assert_eq!(given.iter().map(|n| u64::from(*n)).sum::<u64>(), u64::from(jobs));
            assert_eq!(given, divide(jobs, 25, &shares, &mut dice("7")));
        }
        assert!(divide(100, 25, &[], &mut dice("7")).is_empty());
    }

    #[test]
    fn a_queue_at_its_cap_takes_no_more_while_another_is_below() {
        let shares = [share(1e9, 40.0, 40.0), share(1.0, 0.0, 100.0)];
        assert_eq!(divide(75, 25, &shares, &mut dice("7")), [0, 75]);
        // Four bunches fill the second; the fifth goes to the heavier by draw.
        assert_eq!(divide(125, 25, &shares, &mut dice("7")), [25, 100]);
    }

    #[test]
    fn a_queue_without_room_takes_no_more_while_another_has_some() {
        let share = |room| QueueShare { weight: 1.0, queued: Some(0.0), cap: None, room };
        // A bunch is sent whole; the third finds no room anywhere.
        assert_eq!(
            divide(50, 25, &[share(20.0), share(1.0), share(0.0)], &mut dice("7")),
            [25, 25, 0]
        );
        assert_eq!(divide(100, 25, &[share(0.0), share(100.0)], &mut dice("7")), [0, 100]);
    }

    #[test]
    fn bunches_are_drawn_in_proportion_to_weight() {
        let shares = [share(3.0, 1e12, 1e15), share(1.0, 1e12, 1e15)];
        let given = divide(40_000, 4, &shares, &mut dice("7"));
        assert!((29_000..31_000).contains(&given[0]), "{given:?}");
    }

    #[test]
    fn a_queue_that_was_given_work_weighs_less() {
        let shares = [share(1.0, 0.0, 1e15), share(1.0, 0.0, 1e15)];
        let given = divide(10_000, 25, &shares, &mut dice("7"));
        // Weights fall as 1/(queued + 1): both stay close together, far closer than fair coins.
        assert!(given[0].abs_diff(given[1]) < 2_000, "{given:?}");
    }

    #[test]
    fn a_queue_whose_queued_jobs_do_not_count_keeps_its_weight() {
        let share = |weight| QueueShare { weight, queued: None, cap: None, room: f64::INFINITY };
        let given = divide(100_000, 20, &[share(10.0), share(1.0)], &mut dice("7"));
        assert!((89_000..93_000).contains(&given[0]), "{given:?}");
    }

    #[test]
    fn without_any_weight_all_are_equal() {
        let shares = [share(0.0, 0.0, 1e9), share(0.0, 0.0, 1e9)];
        let given = divide(1_000, 1, &shares, &mut dice("7"));
        assert!(given.iter().all(|n| (400..600).contains(n)), "{given:?}");
    }
}
