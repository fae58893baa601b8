//! Sums over event-time buckets.
//!
//! A bucket's amount is what live records contribute plus what forgotten ones left behind; the
//! second part is kept apart, so that a recount over live records can be compared at any time.

use crate::unit::Millis;

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Number of the bucket: event time divided by the window's grain.
    pub number: i64,
    /// Sum, what was left behind included.
    pub amount: u64,
    /// Amount that forgotten records left behind.
    pub left: u64,
}

/// A window of buckets, in order of their numbers. Short: a handful to a few dozen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    buckets: Vec<Bucket>,
}

/// The bucket a moment falls in.
pub fn bucket_of(at: Millis, grain: Millis) -> i64 {
    at.div_euclid(grain)
}

impl Window {
    fn at(&mut self, number: i64) -> &mut Bucket {
        match self.buckets.binary_search_by_key(&number, |bucket| bucket.number) {
            Ok(index) => &mut self.buckets[index],
            Err(index) => {
                self.buckets.insert(index, Bucket { number, amount: 0, left: 0 });
                &mut self.buckets[index]
            }
        }
    }

    /// Adds to a bucket, or takes away what was added before. A sum beyond its type goes on from
    /// 0: what is taken away again then leaves what was there before.
    pub fn add(&mut self, number: i64, amount: i64) {
        let bucket = self.at(number);
        bucket.amount = bucket.amount.wrapping_add_signed(amount);
        if bucket.amount == 0 && bucket.left == 0 {
            self.buckets.retain(|bucket| bucket.number != number);
        }
    }

    /// A record that contributed is forgotten: its amount stays in the bucket without it.
    pub fn leave(&mut self, number: i64, amount: u64) {
        let bucket = self.at(number);
        bucket.left = bucket.left.wrapping_add(amount);
        if bucket.amount == 0 && bucket.left == 0 {
            self.buckets.retain(|bucket| bucket.number != number);
        }
    }

    /// Adds an amount of forgotten records, from a store.
    pub fn restore(&mut self, number: i64, left: u64) {
        let bucket = self.at(number);
        bucket.amount = bucket.amount.wrapping_add(left);
        bucket.left = bucket.left.wrapping_add(left);
    }

    /// Drops buckets below a number.
    pub fn expire(&mut self, first: i64) {
        self.buckets.retain(|bucket| bucket.number >= first);
    }

    /// Sum over buckets from..=to.
    pub fn sum(&self, from: i64, to: i64) -> u64 {
        self.buckets
            .iter()
            .filter(|bucket| (from..=to).contains(&bucket.number))
            .fold(0, |sum, bucket| sum.wrapping_add(bucket.amount))
    }

    /// The buckets there are.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Whether there is no bucket.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_stays_until_it_expires() {
        let mut window = Window::default();
        window.add(5, 10);
        window.add(6, 1);
        window.leave(5, 10);
        assert_eq!(window.sum(0, 9), 11);
        window.add(6, -1);
        assert_eq!(window.sum(0, 9), 10);
        window.expire(6);
        assert!(window.is_empty());
    }
}
