//! Dice that replay: numbers drawn from what is decided and when, not from the world.

use sha2::{Digest, Sha256};

/// Hashes an attempt: four bytes where they hold it, as all were hashed before attempts had more,
/// else eight. What it is part of is then as much longer, so no two attempts give the same bytes.
pub(crate) fn hash_attempt(hasher: &mut Sha256, attempt: u64) {
    match u32::try_from(attempt) {
        Ok(attempt) => hasher.update(attempt.to_le_bytes()),
        Err(_) => hasher.update(attempt.to_le_bytes()),
    }
}

/// A seeded stream of numbers: SHA-256 in counter mode. The same seed gives the same numbers on
/// every machine, for ever (recorded decisions are made again from them).
#[derive(Clone, Debug)]
pub struct Dice {
    seed: [u8; 32],
    block: u64,
    words: [u64; 4],
    used: usize,
}

impl Dice {
    /// The dice of one judgement: of (subject, attempt), in a domain, at a cycle.
    pub fn of(domain: &str, subject: &str, attempt: u64, epoch: u64, cycle: u64) -> Dice {
        let mut hasher = Sha256::new();
        for part in ["dice", domain, subject] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hash_attempt(&mut hasher, attempt);
        hasher.update(epoch.to_le_bytes());
        hasher.update(cycle.to_le_bytes());
        Dice { seed: hasher.finalize().into(), block: 0, words: [0; 4], used: 4 }
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        if self.used == self.words.len() {
            self.refill();
        }
        let word = self.words[self.used];
        self.used += 1;
        word
    }

    /// The next number in [0, 1): 53 bits, so that every value is exact.
    pub fn unit(&mut self) -> f64 {
        const STEPS: f64 = (1u64 << 53) as f64;
        (self.word() >> 11) as f64 / STEPS
    }

    fn refill(&mut self) {
        let mut hasher = Sha256::new();
        hasher.update(self.seed);
        hasher.update(self.block.to_le_bytes());
        let digest: [u8; 32] = hasher.finalize().into();
        for (word, bytes) in self.words.iter_mut().zip(digest.chunks_exact(8)) {
            let mut raw = [0u8; 8];
            raw.copy_from_slice(bytes);
            *word = u64::from_le_bytes(raw);
        }
        self.block += 1;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let (mut a, mut b) = (Dice::of("atlas", "7", 0, 1, 2), Dice::of("atlas", "7", 0, 1, 2));
        for _ in 0..100 {
            assert_eq!(a.word(), b.word());
        }
    }

    /// Recorded decisions are made again from these numbers: they may never change.
    #[test]
    fn the_numbers_are_fixed() {
        let mut dice = Dice::of("atlas", "40000001/7", 3, 2, 99);
        let drawn: Vec<u64> = (0..5).map(|_| dice.word()).collect();
        assert_eq!(drawn, FIXED);
    }

    /// As SHA-256 of another implementation gives them.
    const FIXED: [u64; 5] = [
        5_373_523_200_605_396_629,
        11_250_638_410_423_255_933,
        3_136_163_862_232_025_500,
        11_196_041_934_070_340_154,
        16_412_688_327_590_856_623,
    ];

    #[test]
    fn every_part_of_the_seed_counts() {
        let first = |dice: Dice| dice.clone().word();
        let all = [
            first(Dice::of("atlas", "7", 0, 1, 2)),
            first(Dice::of("cms", "7", 0, 1, 2)),
            first(Dice::of("atlas", "8", 0, 1, 2)),
            first(Dice::of("atlas", "7", 1, 1, 2)),
            first(Dice::of("atlas", "7", 1 << 32, 1, 2)),
            first(Dice::of("atlas", "7", (1 << 32) + 1, 1, 2)),
            first(Dice::of("atlas", "7", 0, 2, 2)),
            first(Dice::of("atlas", "7", 0, 1, 3)),
            first(Dice::of("atla", "s7", 0, 1, 2)),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn units_fill_the_half_open_interval() {
        let mut dice = Dice::of("atlas", "7", 0, 1, 2);
        let mut tenths = [0u32; 10];
        for _ in 0..10_000 {
            let unit = dice.unit();
            assert!((0.0..1.0).contains(&unit));
            tenths[(unit * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
    }
}
