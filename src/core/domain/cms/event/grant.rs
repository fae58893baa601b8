//! `grant`: who goes first in a pool of slots.

use super::pool::{GrantScopeKind, PrincipalKind};
use crate::event::configured::{Configured, Touches};
use crate::event::field_name::{FieldName, longest};
use crate::record::record;
use crate::unit::Millis;

/// `grant`: a higher level for some jobs of analysis (C-19).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Name.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Whether it is for a user or for a group.
    pub principal_kind: PrincipalKind,
    /// Name of the user or group.
    pub principal: String,
    /// The working group that a job must have; empty: any.
    pub only_with_group: String,
    /// Where it holds.
    pub scope_kind: GrantScopeKind,
    /// Name of the region or site; empty: everywhere.
    pub scope: String,
    /// The level it gives.
    pub level: i64,
    /// What the use of the principal counts in its fair share, thousandths (C-18, C-20); `None`: it
    /// says nothing. As HTCondor's PriorityFactor: less goes first.
    pub factor_milli: Option<i64>,
    /// It holds while the principal has less weight inside the scope, thousandths of a core;
    /// `None`: always (CD-06).
    pub cap_weight_milli: Option<i64>,
    /// It holds from then on; 0: always.
    pub valid_from: Millis,
    /// It holds until then; 0: for ever.
    pub valid_to: Millis,
}

record!(Grant {
    name,
    changed_at,
    principal_kind,
    principal,
    only_with_group,
    scope_kind,
    scope,
    level,
    factor_milli,
    cap_weight_milli,
    valid_from,
    valid_to,
});

impl Configured for Grant {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Grant {
        Grant { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: name, principal, only_with_group, scope)
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn removed(_: &str) -> Touches {
        Touches::Nothing
    }
}
