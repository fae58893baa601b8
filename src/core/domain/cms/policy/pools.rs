//! Who pays for a job at a site with a restricted block (C-30).

use super::facts::MilliWeight;
use super::look::{Look, Pending};
use crate::id::Name;

/// The part of a site that a job is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// The site has no restricted block: nothing is counted.
    Free,
    /// The pool of a group: what is used of what the job's class may use, before the job, and its
    /// size.
    Pool(Name, MilliWeight, MilliWeight),
    /// The part that all share.
    Shared,
    /// Nothing: there is no room, or the offer is for another group.
    NoRoom,
}

/// The part of the site that a job would be charged to.
pub fn charge(look: &Look<'_>, pending: &Pending<'_>) -> Charge {
    if look.pools.is_empty() {
        return Charge::Free;
    }
    let groups = look.pool.user(pending.user()).map_or(&[][..], |user| &user.groups);
    if look.only_group.is_some_and(|group| !groups.contains(&group)) {
        return Charge::NoRoom;
    }
    let weight = pending.weight_milli(look);
    let class = pending.class();
    for (group, pool) in look.pools.iter().filter(|(group, _)| groups.contains(group)) {
        let used = pool.used_for(look.counters.group(*group), class);
        let size = pool.size_for(class);
        if used.saturating_add(weight) <= size {
            return Charge::Pool(*group, used, size);
        }
    }
    let shared = look.terms.map_or(0, |terms| terms.shared_milli);
    if look.shared_used.saturating_add(weight) <= shared { Charge::Shared } else { Charge::NoRoom }
}
