//! Users, groups and grants (C-19).

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

/// Where a grant holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// Everywhere.
    Global,
    /// At the sites of a region.
    Region(String),
    /// At a site.
    Site(String),
}

/// Who a grant is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// A user.
    User(String),
    /// The members of a group.
    Group(String),
}

/// A higher level for some jobs of analysis (C-19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who it is for.
    pub principal: Principal,
    /// The working group that a job must have, if any.
    pub only_with_group: Option<String>,
    /// Where it holds.
    pub scope: GrantScope,
    /// The level it gives.
    pub level: i64,
    /// It holds while the principal has less weight inside the scope (CD-06).
    pub cap_weight_milli: Option<MilliWeight>,
    /// It holds from then on.
    pub valid_from_s: Option<Seconds>,
    /// It holds until then, not at that second.
    pub valid_to_s: Option<Seconds>,
}
