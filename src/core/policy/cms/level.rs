//! The level of a user's jobs at a site (C-18, C-19, C-31).

use super::entry::GrantEntry;
use super::facts::{GrantScope, MilliWeight, Principal};
use super::look::{Look, Pending};
use crate::id::Name;

/// The highest level of the grants that match, and of the implicit ones of the site's blocks; 0 if
/// there is none.
pub fn level(look: &Look<'_>, pending: &Pending<'_>) -> i64 {
    let Some(user) = look.pool.user(pending.user()) else { return 0 };
    let group = pending.entry.and_then(|entry| entry.group);
    let own = user.grants.iter();
    let of_groups = user.groups.iter().flat_map(|group| look.pool.grants_of_group(*group));
    let granted = own.chain(of_groups).map(|at| look.pool.grant(*at));
    let granted = granted.filter(|entry| holds(look, entry, group));
    let granted = granted.map(|entry| entry.grant.level);
    let is_regional = look.regional.iter().any(|group| user.groups.contains(group));
    let regional = is_regional.then_some(look.pool.settings().regional_level);
    granted.chain(regional).max().unwrap_or(0).max(0)
}

fn holds(look: &Look<'_>, entry: &GrantEntry, group: Option<Name>) -> bool {
    let grant = &entry.grant;
    let covers = match &grant.scope {
        GrantScope::Global => true,
        GrantScope::Site(_) => entry.site == Some(look.site),
        GrantScope::Region(region) => {
            look.terms.is_some_and(|terms| terms.region.as_ref() == Some(region))
        }
    };
    covers
        && entry.only_with_group.is_none_or(|only| group == Some(only))
        && grant.valid_from_s.is_none_or(|from| from <= look.now_s)
        && grant.valid_to_s.is_none_or(|to| look.now_s < to)
        && grant.cap_weight_milli.is_none_or(|cap| held(look, entry) < cap)
}

/// Weight that the principal of a grant holds inside its scope.
fn held(look: &Look<'_>, entry: &GrantEntry) -> MilliWeight {
    let pool = look.pool;
    let at_site = |site: Name| {
        let site = pool.counters().site(site);
        let sums = match entry.grant.principal {
            Principal::User(_) => &site.users,
            Principal::Group(_) => &site.groups,
        };
        sums.get(&entry.principal).copied().unwrap_or(0)
    };
    match (&entry.grant.scope, &entry.grant.principal) {
        (GrantScope::Site(_), _) => at_site(look.site),
        (GrantScope::Global, Principal::User(_)) => pool.counters().user(entry.principal).weight,
        (GrantScope::Global, Principal::Group(_)) => pool.counters().group(entry.principal),
        (GrantScope::Region(region), _) => {
            let inside = pool.sites().filter(|(_, terms)| terms.region.as_ref() == Some(region));
            inside.fold(0, |sum: MilliWeight, (site, _)| sum.saturating_add(at_site(site)))
        }
    }
}
