//! The level of a user's jobs at a site (C-18, C-19, C-31).

use super::entry::GrantEntry;
use super::facts::{MilliWeight, seconds};
use super::look::{Look, Pending};
use crate::event::{GrantScopeKind, PrincipalKind};
use crate::id::Name;

/// The highest level of the grants that match, and of the implicit ones of the site's blocks; 0 if
/// there is none.
pub fn level(look: &Look<'_>, pending: &Pending<'_>) -> i64 {
    let Some(user) = look.pool.user(pending.user()) else { return 0 };
    let granted = matching(look, pending).map(|entry| entry.grant.level);
    let is_regional = look.regional.iter().any(|group| user.groups.contains(group));
    let regional = is_regional.then_some(look.pool.settings().regional_level);
    granted.chain(regional).max().unwrap_or(0).max(0)
}

/// Thousandths that a user's use counts in its fair share there: the least that a grant states
/// which matches; 1000 if none does.
pub fn factor_milli(look: &Look<'_>, pending: &Pending<'_>) -> i64 {
    matching(look, pending).filter_map(|it| it.grant.factor_milli).min().unwrap_or(1000).max(0)
}

/// The grants that match a user's jobs there.
fn matching<'a>(look: &'a Look<'_>, pending: &Pending<'_>) -> impl Iterator<Item = &'a GrantEntry> {
    let user = look.pool.user(pending.user());
    let group = pending.entry.and_then(|entry| entry.group);
    let own = user.into_iter().flat_map(|user| user.grants.iter());
    let groups = user.into_iter().flat_map(|user| user.groups.iter());
    let of_groups = groups.flat_map(|group| look.pool.grants_of_group(*group));
    let granted = own.chain(of_groups).map(|at| look.pool.grant(*at));
    granted.filter(move |entry| holds(look, entry, group))
}

fn holds(look: &Look<'_>, entry: &GrantEntry, group: Option<Name>) -> bool {
    let grant = &entry.grant;
    let covers = match grant.scope_kind {
        GrantScopeKind::Global => true,
        GrantScopeKind::Site => entry.site == Some(look.site),
        GrantScopeKind::Region => look.terms.is_some_and(|terms| terms.is_in(&grant.scope)),
    };
    covers
        && entry.only_with_group.is_none_or(|only| group == Some(only))
        && (grant.valid_from <= 0 || seconds(grant.valid_from) <= look.now_s)
        && (grant.valid_to <= 0 || look.now_s < seconds(grant.valid_to))
        && grant.cap_weight_milli.is_none_or(|cap| held(look, entry) < cap)
}

/// Weight that the principal of a grant holds inside its scope.
fn held(look: &Look<'_>, entry: &GrantEntry) -> MilliWeight {
    let (pool, grant) = (look.pool, &entry.grant);
    let at_site = |site: Name| {
        let site = pool.counters().site(site);
        let sums = match grant.principal_kind {
            PrincipalKind::User => &site.users,
            PrincipalKind::Group => &site.groups,
        };
        sums.get(&entry.principal).copied().unwrap_or(0)
    };
    match (grant.scope_kind, grant.principal_kind) {
        (GrantScopeKind::Site, _) => at_site(look.site),
        (GrantScopeKind::Global, PrincipalKind::User) => {
            pool.counters().user(entry.principal).weight
        }
        (GrantScopeKind::Global, PrincipalKind::Group) => pool.counters().group(entry.principal),
        (GrantScopeKind::Region, _) => {
            let inside = pool.sites().filter(|(_, terms)| terms.is_in(&grant.scope));
            inside.fold(0, |sum: MilliWeight, (site, _)| sum.saturating_add(at_site(site)))
        }
    }
}
