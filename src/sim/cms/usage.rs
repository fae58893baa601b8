//! Decayed usage of users as the simulation has it (F-2, F-3), and how far it is from equal shares.

use yardmaster_core::math::decay::{Decay, Usage as Of};
use yardmaster_core::unit::{Millis, SECOND};

/// The time in which past usage counts half; s (CD-05).
const HALF_LIFE_S: i64 = 86_400;

/// Decayed usage of each user.
#[derive(Clone, Debug)]
pub struct Usage {
    decay: Decay,
    users: Vec<Of>,
}

impl Usage {
    /// Nothing was used yet.
    pub fn new(users: usize, now: Millis) -> Usage {
        Usage { decay: Decay::at(HALF_LIFE_S, now / SECOND), users: vec![Of::default(); users] }
    }

    /// A job of a user starts.
    pub fn begins(&mut self, user: usize, weight_milli: i64) {
        self.users[user].running += weight_milli;
    }

    /// A job of a user that started then ends.
    pub fn ends(&mut self, user: usize, weight_milli: i64, (from, to): (Millis, Millis)) {
        let grown = self.decay.growth(to / SECOND) - self.decay.growth(from / SECOND);
        let of = &mut self.users[user];
        of.running -= weight_milli;
        of.x += i128::from(weight_milli) * grown;
    }

    /// Time passes: X stays small.
    pub fn pass(&mut self, now: Millis) {
        let digits = self.decay.rebase(now / SECOND);
        if digits > 0 {
            self.users.iter_mut().for_each(|of| of.x >>= digits);
        }
    }

    /// Decayed usage of a user, thousandths of weight: of jobs that ended, and of those that run,
    /// which started then.
    pub fn decayed_milli(
        &self,
        user: usize,
        running: impl Iterator<Item = (i64, Millis)>,
        now: Millis,
    ) -> i64 {
        let growth = self.decay.growth(now / SECOND);
        let started = running.map(|(weight_milli, from)| {
            i128::from(weight_milli) * (growth - self.decay.growth(from / SECOND))
        });
        let x = self.users[user].x + started.sum::<i128>();
        x.div_euclid(growth) as i64
    }
}

/// How far values are from their mean, in parts of it: on average, and at most.
pub fn spread(values: &[i64]) -> (f64, f64) {
    let mean = values.iter().map(|it| *it as f64).sum::<f64>() / values.len().max(1) as f64;
    if mean <= 0.0 {
        return (0.0, 0.0);
    }
    let off = || values.iter().map(|it| (*it as f64 - mean).abs() / mean);
    (off().sum::<f64>() / values.len() as f64, off().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::unit::DAY;

    #[test]
    fn usage_halves_in_a_day_and_grows_to_what_is_held() {
        let start = 1_760_400_000_000;
        let mut usage = Usage::new(2, start);
        let none = || std::iter::empty();
        usage.begins(0, 100_000);
        usage.ends(0, 100_000, (start, start + DAY));
        let then = usage.decayed_milli(0, none(), start + DAY);
        assert!((49_900..=50_100).contains(&then), "{then}");
        let later = usage.decayed_milli(0, none(), start + 2 * DAY);
        assert!((24_900..=25_100).contains(&later), "{later}");
        let running = [(100_000, start)].into_iter();
        assert_eq!(usage.decayed_milli(1, running, start + DAY), then);
        usage.pass(start + 40 * DAY);
        assert_eq!(usage.decayed_milli(0, none(), start + 60 * DAY), 0);
    }

    #[test]
    fn the_spread_is_in_parts_of_the_mean() {
        let (mean, most) = spread(&[90, 100, 110]);
        assert!((mean - 0.2 / 3.0).abs() < 1e-9 && (most - 0.1).abs() < 1e-9);
        assert_eq!(spread(&[]), (0.0, 0.0));
    }
}
