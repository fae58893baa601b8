//! Scenarios that benchmarks and tests share: records of an ordinary grid, grids of a given size,
//! and an engine that is fed from memory.

pub mod feed;
pub mod large;
pub mod records;
pub mod simulated;

/// The middle of some figures; 0 of none.
pub fn median(figures: &mut [f64]) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
