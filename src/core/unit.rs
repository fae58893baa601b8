//! Numbers that know what they count. Plain aliases where any value is valid; the unit is in the
//! name, so that the type of a field is `Millis` or `Bytes` and a signature cannot be read wrongly.

/// Milliseconds since 1970-01-01T00:00:00Z, or a span of them. Negative only as a span.
pub type Millis = i64;

/// Bytes. Amounts on the wire are never negative; a negative one is read as 0.
pub type Bytes = u64;

/// CPU cores. A job on 8 cores counts as 8.
pub type Cores = u32;

/// One second in [`Millis`].
pub const SECOND: Millis = 1_000;
/// One minute in [`Millis`].
pub const MINUTE: Millis = 60 * SECOND;
/// One hour in [`Millis`].
pub const HOUR: Millis = 60 * MINUTE;
/// One day in [`Millis`].
pub const DAY: Millis = 24 * HOUR;

/// Bytes in one GiB; the specs' "GB" of storage and memory are these (spec atlas 0.2).
pub const GIB: u64 = 1 << 30;
/// Bytes in one MiB.
pub const MIB: u64 = 1 << 20;
/// Bytes in a KiB.
pub const KIB: u64 = 1 << 10;
