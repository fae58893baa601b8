//! The two dialects of xRSL.

/// Where a description comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// A user wrote it: times without a unit are minutes; `action` is an error.
    #[default]
    User,
    /// A server keeps it: times without a unit are seconds.
    Server,
}

impl Dialect {
    /// The unit of a time that states none; s.
    pub(super) fn unit_s(self) -> u64 {
        match self {
            Dialect::User => 60,
            Dialect::Server => 1,
        }
    }
}
