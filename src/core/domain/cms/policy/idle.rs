//! Why the pending jobs of a pool got nothing of the offers at hand, counted: each autocluster by
//! the offer that is nearest to letting its first job go. It asks the filters that match jobs to
//! offers.

use super::autocluster::Autocluster;
use super::entry::WorkflowEntry;
use super::facts::{Class, SiteStatus, Workflow};
use super::judge::MatchRules;
use super::look::{Look, Pending};
use super::pool::Pool;
use super::shapes::Shapes;
use crate::domain::cms::state::PoolOffer;
use crate::id::Name;
use crate::unit::Millis;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// No offer is at hand where they may run.
pub const NO_OFFER: &str = "no_offer";
/// Every site where they may run takes no jobs.
pub const SITE_STATUS: &str = "site_status";
/// No site of their whitelist is known.
pub const NO_KNOWN_SITE: &str = "no_known_site";
/// An offer takes them: they are next, or others go first there.
pub const TURN: &str = "turn";
/// No known node of a site that takes them could hold them.
pub const NO_NODE: &str = "no_node";
/// The bound of a look left them out.
pub const NOT_LOOKED_AT: &str = "not_looked_at";

/// Most comparisons of autoclusters with offers and nodes in a look; those with most jobs come
/// first.
const COMPARISONS: usize = 50_000;
/// Most offers of a site that a look compares with: none of them has all that another one has.
const OFFERS_OF_SITE: usize = 8;
/// No site where they may run takes their class.
pub const CLASS_NOT_ADMITTED: &str = "class_not_admitted";
/// Filters whose objection no offer of the site would lift: such an offer is none of theirs.
const OF_SITE: [&str; 2] = [SITE_STATUS, CLASS_NOT_ADMITTED];
/// Filters whose objection a larger node would lift.
const FIT: [&str; 5] = ["cores", "wall", "mem", "resources", "labels"];

/// How many pending jobs there are of each workflow and reason. `offers`: the live ones by site.
pub fn reasons(
    judges: &MatchRules,
    pool: &Pool,
    offers: &BTreeMap<&str, Vec<&PoolOffer>>,
    now: Millis,
) -> BTreeMap<(Name, &'static str), u64> {
    let of_sites = offers.values().flat_map(|of_site| unlike(of_site));
    let mut finding = Finding {
        judges,
        pool,
        looks: of_sites.map(|offer| Look::new(pool, offer, now)).collect(),
        shapes: Shapes::of(pool),
        left: COMPARISONS,
    };
    let mut clusters: Vec<&Autocluster> = pool.clusters().iter().collect();
    clusters.sort_by_key(|cluster| Reverse(cluster.len()));
    let mut found: BTreeMap<(Name, &'static str), u64> = BTreeMap::new();
    for cluster in clusters {
        let key = (cluster.signature.workflow, finding.reason(cluster));
        *found.entry(key).or_default() += cluster.len() as u64;
    }
    found
}

/// A look under way.
struct Finding<'a> {
    judges: &'a MatchRules,
    pool: &'a Pool,
    looks: Vec<Look<'a>>,
    shapes: Shapes<'a>,
    /// Comparisons that are left.
    left: usize,
}

impl Finding<'_> {
    /// Why the first job of an autocluster got nothing.
    fn reason(&mut self, cluster: &Autocluster) -> &'static str {
        let Some(oldest) = cluster.oldest() else { return TURN };
        let mut nearest: Option<(usize, &'static str)> = None;
        for look in &self.looks {
            let pending = Pending::new(look, cluster, oldest.queued_at_s);
            if !pending.is_local && !pending.flags_overflow() {
                continue;
            }
            if self.left == 0 {
                return NOT_LOOKED_AT;
            }
            self.left -= 1;
            match self.judges.first_objection(look, &pending) {
                None => return TURN,
                Some((_, filter, _)) if OF_SITE.contains(&filter) => {}
                Some((at, filter, _)) => nearest = nearest.max(Some((at, filter))),
            }
        }
        match nearest {
            None => self.where_it_may_run(cluster),
            Some((_, filter)) if FIT.contains(&filter) && self.has_no_node(cluster) => NO_NODE,
            Some((_, filter)) => filter,
        }
    }

    /// Whether nothing is offered at sites that take it, or no such site takes jobs.
    fn where_it_may_run(&self, cluster: &Autocluster) -> &'static str {
        let entry = self.pool.workflow(cluster.signature.workflow);
        let facts = entry.and_then(WorkflowEntry::workflow).map(Workflow::facts);
        let is_test = facts.is_some_and(|facts| facts.site_test);
        let class = facts.map_or(Class::Central, |facts| facts.class);
        let (mut is_known, mut is_open, mut takes) = (false, false, false);
        for (_, terms) in self.pool.sites().filter(|(site, _)| cluster.is_local_to(*site)) {
            let opens = match terms.status {
                SiteStatus::Online => true,
                SiteStatus::Test => is_test,
                SiteStatus::Drain | SiteStatus::Offline => false,
            };
            let admits = terms.quota.of(class) > 0
                || terms.accept_surplus.of(class)
                || cluster.signature.system_job;
            (is_known, is_open, takes) = (true, is_open || opens, takes || opens && admits);
        }
        match (is_known, is_open, takes) {
            (false, _, _) if cluster.signature.whitelist.is_some() => NO_KNOWN_SITE,
            (true, false, _) => SITE_STATUS,
            (true, true, false) => CLASS_NOT_ADMITTED,
            (_, _, _) => NO_OFFER,
        }
    }

    /// Whether no known node could hold it. What a look has no comparisons left for is not known.
    fn has_no_node(&mut self, cluster: &Autocluster) -> bool {
        let costs = self.pool.sites().count();
        if self.left < costs {
            return false;
        }
        self.left -= costs;
        self.shapes.hold(self.pool, cluster) == Some(false)
    }
}

/// The offers of a site of which none has all that another one has, the largest first.
fn unlike<'a>(of_site: &[&'a PoolOffer]) -> Vec<&'a PoolOffer> {
    let mut sorted = of_site.to_vec();
    sorted.sort_by_key(|it| Reverse((it.cores_left(), it.mem_left_mb())));
    let mut kept: Vec<&PoolOffer> = Vec::new();
    for offer in sorted {
        if kept.len() >= OFFERS_OF_SITE {
            break;
        }
        let has_all = |other: &&PoolOffer| {
            let (own, its) = (&offer.offer, &other.offer);
            own.block == its.block
                && own.labels == its.labels
                && own.resources == its.resources
                && other.mem_left_mb() >= offer.mem_left_mb()
                && its.wall_left_s >= own.wall_left_s
        };
        if !kept.iter().any(has_all) {
            kept.push(offer);
        }
    }
    kept
}
