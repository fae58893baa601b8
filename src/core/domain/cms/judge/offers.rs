//! The offers of a pool, by site.

use crate::domain::cms::state::PoolOffer;
use crate::state::State;
use crate::unit::Millis;
use std::collections::BTreeMap;

/// The live offers of each site, in the order of their names.
pub(crate) fn live_offers(state: &State) -> BTreeMap<&str, Vec<&PoolOffer>> {
    let mut offers: BTreeMap<&str, Vec<&PoolOffer>> = BTreeMap::new();
    let all = state.pool.offers.iter().map(|(_, known)| known);
    for known in all.filter(|known| known.is_live(state.now) && known.cores_left() > 0) {
        offers.entry(&known.site).or_default().push(known);
    }
    for of_site in offers.values_mut() {
        of_site.sort_by(|a, b| a.offer.offer.cmp(&b.offer.offer));
    }
    offers
}

/// When each site was last offered from, as far as it is remembered.
pub(crate) fn last_offers(state: &State) -> BTreeMap<&str, Millis> {
    let of_offer = |known: &'_ PoolOffer| known.changed_at;
    let offers = state.pool.offers.iter().map(|(_, it)| (it.site.as_str(), of_offer(it)));
    let nodes = state.pool.nodes.iter().map(|(_, it)| (it.site.as_str(), it.seen_at));
    let mut last: BTreeMap<&str, Millis> = BTreeMap::new();
    for (site, at) in offers.chain(nodes).filter(|(_, at)| *at > 0) {
        let known = last.entry(site).or_insert(at);
        *known = at.max(*known);
    }
    last
}
