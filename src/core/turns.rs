//! Turns: what is too much for one cycle is done in parts, one part a cycle.
//!
//! Which part has its turn follows from the number of the cycle, in how many parts they take turns
//! from the state: so turns replay, and a process that starts goes on where another stopped.

use crate::id::hash;

/// In how many parts so many things take turns, each of which takes `each` comparisons, so that one
/// part takes about `most`. It is a power of two.
pub(crate) fn parts(things: usize, each: usize, most: usize) -> u64 {
    let comparisons = (things as u64).saturating_mul(each as u64);
    comparisons.div_ceil(most.max(1) as u64).clamp(1, 1 << 31).next_power_of_two()
}

/// The hashes of names whose turn it is in a cycle: from, to.
pub(crate) fn hashes(cycle: u64, parts: u64) -> (u32, u32) {
    let width = (1 << 32) / parts.clamp(1, 1 << 32);
    let first = cycle % parts.max(1) * width;
    (first as u32, (first + width - 1) as u32)
}

/// Whether it is the turn of a name in a cycle.
pub(crate) fn has_turn(name: &str, cycle: u64, parts: u64) -> bool {
    let (first, last) = hashes(cycle, parts);
    (first..=last).contains(&hash_of(name))
}

/// The part of the hash of a name that turns go by.
pub(crate) fn hash_of(name: &str) -> u32 {
    (hash(name.as_bytes()) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_cycle_may_evaluate_gives_the_number_of_parts() {
        assert_eq!(parts(0, 700, 2_000_000), 1);
        assert_eq!(parts(2_857, 700, 2_000_000), 1);
        assert_eq!(parts(2_858, 700, 2_000_000), 2);
        assert_eq!(parts(30_000, 700, 2_000_000), 16);
        assert_eq!(parts(usize::MAX, 700, 1), 1 << 31);
    }

    #[test]
    fn each_name_has_one_turn_in_as_many_cycles_as_there_are_parts() {
        for parts in [1, 2, 64, 1 << 31] {
            let cycles = 100..100 + parts.min(64);
            let turns = |name: &str| cycles.clone().filter(|it| has_turn(name, *it, parts)).count();
            let most: usize = if parts <= 64 { 100 } else { 0 };
            assert_eq!((0..100).map(|it| turns(&it.to_string())).sum::<usize>(), most, "{parts}");
        }
    }
}
