//! Users.

use super::class::{MilliWeight, Seconds};

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRecord {
    /// Name.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Roles (C-05).
    pub roles: Vec<String>,
    /// Decayed usage as known from elsewhere: how much, and when it was so much (F-2).
    pub decayed_usage: Option<(MilliWeight, Seconds)>,
}
