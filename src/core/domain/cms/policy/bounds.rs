//! The largest numbers that are believed: far above what any grid has, and small enough that sums
//! and products of them stay whole numbers. Larger ones are refused at the door (C-07, C-08, C-26).

use super::facts::{MilliWeight, Seconds};

pub use crate::event::MAX_SLOTS;

/// Memory, MB.
pub const MAX_MB: i64 = 1_000_000_000_000;

/// Run time.
pub const MAX_SECONDS: Seconds = 1_000_000_000_000;

/// Weight of a core, in thousandths.
pub const MAX_KAPPA_MILLI: MilliWeight = 1_000_000_000;

/// The nearest number that 64 bits can hold.
pub fn whole(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
