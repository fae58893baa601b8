//! Limits that hold for what an assignment chose.

use crate::record::record;

/// A limit that holds for what was chosen (spec cms-nordugrid TS-07): `after <= max`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitUse {
    /// Name of the limit.
    pub name: String,
    /// Name of the limited queue, cluster, site or group.
    pub of: String,
    /// Used before, in the limit's unit.
    pub before: u64,
    /// Used with what was chosen.
    pub after: u64,
    /// Most that may be used.
    pub max: u64,
}

record!(LimitUse { name, of, before, after, max });
