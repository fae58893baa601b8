//! Rank vectors: keys that are compared one after the other, exactly. No float decides.

use std::cmp::Ordering;

/// One key of a rank vector: a whole number or an exact ratio; the least is the best.
#[derive(Clone, Copy, Debug, Eq)]
pub struct RankKey {
    numerator: u64,
    denominator: u64,
}

impl RankKey {
    /// A whole number.
    pub const fn whole(number: u64) -> RankKey {
        RankKey { numerator: number, denominator: 1 }
    }

    /// A ratio. One by 0 counts as by 1.
    pub const fn ratio(numerator: u64, denominator: u64) -> RankKey {
        let denominator = if denominator == 0 { 1 } else { denominator };
        RankKey { numerator, denominator }
    }

    /// As it is published: near enough to be read, not to be compared.
    pub fn shown(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Ord for RankKey {
    fn cmp(&self, other: &RankKey) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.numerator, other.denominator).cmp(&product(other.numerator, self.denominator))
    }
}

impl PartialOrd for RankKey {
    fn partial_cmp(&self, other: &RankKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankKey {
    fn eq(&self, other: &RankKey) -> bool {
        self.cmp(other).is_eq()
    }
}

/// The best of some rank vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Best {
    /// Places of those that are left when all keys are used up; several: they are tied.
    pub left: Vec<usize>,
    /// The key that left one of several; `None`: there was one to begin with, or several are left.
    pub decided_by: Option<usize>,
}

/// Compares vectors key by key: those with the least first key are left, of these those with the
/// least second key, and so on.
pub fn best(vectors: &[&[RankKey]]) -> Best {
    let mut left: Vec<usize> = (0..vectors.len()).collect();
    let keys = vectors.iter().map(|vector| vector.len()).min().unwrap_or(0);
    for key in 0..keys {
        if left.len() < 2 {
            break;
        }
        let key_of = |at: &usize| vectors[*at].get(key);
        let least = left.iter().map(key_of).min().flatten();
        left.retain(|at| key_of(at) == least);
        if left.len() == 1 {
            return Best { left, decided_by: Some(key) };
        }
    }
    Best { left, decided_by: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_compare_exactly() {
        assert!(RankKey::ratio(14, 100) < RankKey::ratio(30, 200));
        assert_eq!(RankKey::ratio(15, 100), RankKey::ratio(30, 200));
        assert!(RankKey::ratio(u64::MAX - 1, u64::MAX) < RankKey::whole(1));
        assert_eq!(RankKey::ratio(3, 0), RankKey::whole(3));
    }

    #[test]
    fn an_earlier_key_outranks_a_later_one() {
        let vector = |keys: [u64; 3]| keys.map(RankKey::whole);
        let all = [vector([0, 2, 9]), vector([0, 3, 0]), vector([1, 0, 0]), vector([0, 2, 9])];
        let vectors: Vec<&[RankKey]> = all.iter().map(|it| it.as_slice()).collect();
        assert_eq!(best(&vectors), Best { left: vec![0, 3], decided_by: None });
        assert_eq!(best(&vectors[..2]), Best { left: vec![0], decided_by: Some(1) });
        assert_eq!(best(&vectors[2..3]), Best { left: vec![0], decided_by: None });
        assert_eq!(best(&[]), Best::default());
    }
}
