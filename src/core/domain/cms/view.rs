//! A pool of slots at a glance: its sites with their pledges and offers; idle jobs, workflows,
//! users and drains in `pool`, its classes in `classes`.

pub(crate) mod classes;
pub(crate) mod pool;
mod words;

use crate::domain::cms::event::slot_quota::SlotQuota;
use crate::domain::cms::judge::offers::{last_offers, live_offers};
use crate::event::{Tier, is_newer};
use crate::state::State;
use crate::view::row::ViewRows;

/// Adds what sites give to the pool and what their pilots offer.
pub(crate) fn describe(rows: &mut ViewRows, state: &State) {
    for (name, fact) in state.facts.sites.iter() {
        let Some(site) = fact.current(is_newer) else { continue };
        let Some(quota) = &site.slot_quota else { continue };
        let row = rows.at(name);
        row.group = tier(quota).to_owned();
        row.status = status(quota).to_owned();
        row.changed_at = Some(site.changed_at);
        row.pledged_cores = u64::try_from(quota.pledged_slots).ok();
    }
    let (live, last) = (live_offers(state), last_offers(state));
    live.keys().chain(last.keys()).for_each(|site| _ = rows.at(site));
    for row in rows.all() {
        row.site.clone_from(&row.name);
        let offers = live.get(row.name.as_str()).map_or(&[][..], Vec::as_slice);
        let free = offers.iter().map(|it| u64::try_from(it.cores_left()).unwrap_or(0));
        row.offers = Some(offers.len() as u64);
        row.free_cores = Some(free.fold(0, u64::saturating_add));
        row.last_offer_at = last.get(row.name.as_str()).copied();
        if row.group.is_empty() {
            row.group = "Without slot quota".to_owned();
        }
    }
}

/// The status that operations gave it; a quota set that cannot be in force has none (C-26).
fn status(quota: &SlotQuota) -> &'static str {
    match quota.parts().count() {
        Ok(_) => quota.status.name(),
        Err(bad) => bad.code(),
    }
}

/// The tiers that sites are shown among.
fn tier(quota: &SlotQuota) -> &'static str {
    match Tier::from_name(&quota.tier) {
        Some(Tier::T1) => "Tier 1",
        Some(Tier::T2) => "Tier 2",
        Some(Tier::T3) => "Tier 3",
        Some(Tier::Opportunistic | Tier::Cloud) => "Cloud and opportunistic",
        None => "Unknown tier",
    }
}
