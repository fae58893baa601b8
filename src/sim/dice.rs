//! Dice of the simulated world: seeded, the same numbers on every machine, made with integers and
//! + - * / alone (no libm), so that the same seed gives the same bytes everywhere.

use yardmaster_core::id::hash;

/// A seeded stream of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

/// A measured distribution: its 5th, 25th, 50th, 75th, 90th, 95th and 99th percentile.
pub type Quantiles = [f64; 7];

/// Where the figures of [`Quantiles`] stand.
const QUANTILES: [f64; 7] = [0.05, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99];

impl Dice {
    /// Dice for one purpose: streams of one seed and different purposes have nothing in common.
    pub fn new(seed: u64, purpose: &str) -> Dice {
        let mut dice = Dice { state: seed ^ hash(purpose.as_bytes()) };
        dice.word();
        dice
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// The next number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number in 0..n; 0 when n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// A whole number in from..=to.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from).max(0) as usize + 1) as i64
    }

    /// A number in [from, to).
    pub fn within(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// True once in 1/p times.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// An index into a list of weights, in proportion to them; 0 when all are 0.
    pub fn weighted(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let mut rest = self.unit() * weights.clone().sum::<f64>();
        let mut last = 0;
        for (at, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
            last = at;
            rest -= weight;
            if rest < 0.0 {
                break;
            }
        }
        last
    }

    /// An exponential waiting time of mean 1, by von Neumann's comparison of uniforms: the length
    /// of a falling run decides, so that no logarithm is needed.
    pub fn exponential(&mut self) -> f64 {
        let mut whole = 0.0;
        loop {
            let first = self.unit();
            let (mut last, mut run) = (first, 1);
            loop {
                let next = self.unit();
                if next >= last {
                    break;
                }
                last = next;
                run += 1;
            }
            if run % 2 == 1 {
                return whole + first;
            }
            whole += 1.0;
        }
    }

    /// A value of a measured distribution: straight lines between its percentiles, from half the
    /// 5th to the 99th. The rarest hundredth is cut off.
    pub fn measured(&mut self, quantiles: &Quantiles) -> f64 {
        let unit = self.unit();
        let (mut quantile, mut value) = (0.0, quantiles[0] / 2.0);
        for (next_quantile, next_value) in QUANTILES.iter().zip(quantiles) {
            if unit < *next_quantile {
                return value
                    + (next_value - value) * (unit - quantile) / (next_quantile - quantile);
            }
            (quantile, value) = (*next_quantile, *next_value);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_fixed_by_seed_and_purpose() {
        let words = |seed, purpose| {
            let mut dice = Dice::new(seed, purpose);
            [dice.word(), dice.word(), dice.word()]
        };
        assert_eq!(words(7, "a"), words(7, "a"));
        assert_ne!(words(7, "a"), words(7, "b"));
        assert_ne!(words(7, "a"), words(8, "a"));
    }

    #[test]
    fn waiting_times_have_mean_one_and_the_right_tail() {
        let mut dice = Dice::new(1, "exponential");
        let drawn: Vec<f64> = (0..100_000).map(|_| dice.exponential()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((0.98..1.02).contains(&mean), "{mean}");
        let beyond = drawn.iter().filter(|wait| **wait > 3.0).count();
        assert!((4_700..5_300).contains(&beyond), "{beyond}"); // e^-3 of them
    }

    #[test]
    fn measured_values_have_the_measured_quantiles() {
        let mut dice = Dice::new(1, "measured");
        let wanted = [69.0, 136.0, 255.0, 4_490.0, 15_265.0, 39_938.0, 172_800.0];
        let drawn: Vec<f64> = (0..100_000).map(|_| dice.measured(&wanted)).collect();
        for (quantile, value) in QUANTILES.iter().zip(wanted) {
            let below = drawn.iter().filter(|drawn| **drawn < value).count() as f64;
            assert!((below / 100_000.0 - quantile).abs() < 0.005, "{value}: {below}");
        }
        assert!(drawn.iter().all(|drawn| (34.0..=172_800.0).contains(drawn)));
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut dice = Dice::new(3, "range");
        for _ in 0..10_000 {
            assert!((-3..=5).contains(&dice.between(-3, 5)));
            assert!(dice.below(7) < 7);
            assert_ne!(dice.weighted([1.0, 0.0, 2.0].into_iter()), 1);
        }
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.between(4, 4), 4);
    }
}
