//! The parts of a cut (A.5): tails, the order of offers and the next job of one, verdicts on test
//! jobs, drains.

use super::decision::{Action, Assignment, HardLimit};
use super::drain::Budget;
use super::facts::{Band, Seconds};
use super::judge::{Judges, Refusals};
use super::look::{Bid, Comparison, Look};
use super::pool::Pool;
use super::pools::{Charge, charge};
use super::{drain, tail, verdict};
use crate::state::pool::PoolOffer;
use crate::unit::Millis;

/// The next job for an offer, given what was folded already; changes nothing.
pub fn next(
    judges: &Judges,
    pool: &Pool,
    offer: &PoolOffer,
    now: Millis,
) -> (Option<Assignment>, Refusals) {
    if offer.cores_left() <= 0 {
        return (None, Refusals::default());
    }
    let look = Look::new(pool, offer, now);
    let (best, refusals) = judges.best(&look);
    (best.map(|bid| assignment(judges, &look, &bid)), refusals)
}

/// Offers in the order in which they are served (C-17).
pub fn in_order<'a>(
    pool: &Pool,
    mut offers: Vec<&'a PoolOffer>,
    now: Millis,
) -> Vec<&'a PoolOffer> {
    offers.sort_by_cached_key(|&known: &&'a PoolOffer| {
        let site = pool.name(&known.site).and_then(|site| pool.site(site));
        let (tier, offer) = (site.map(|terms| terms.tier), &known.offer);
        let of_site = (&known.site, known.wall_left_s(now), offer.mem_free_mb, &offer.offer);
        (tier.is_none(), tier, of_site)
    });
    offers
}

/// A step of a cut beside its offers; its actions take effect before the next step (A.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Tails that go first (C-16); before the offers, the others after them.
    Boosts,
    /// Verdicts on test jobs (C-49, C-50).
    Verdicts,
    /// Drains that are over (C-55).
    DrainsOver,
    /// New drains (C-55).
    Drains,
}

impl Step {
    /// The steps after the offers, in order.
    pub const AFTER: [Step; 3] = [Step::Verdicts, Step::DrainsOver, Step::Drains];

    /// The actions of the step as things stand, and whether the budget left work. Nothing takes
    /// effect.
    pub fn actions(self, pool: &Pool, budget: Budget, now_s: Seconds) -> (Vec<Action>, bool) {
        match self {
            Step::Boosts => (tail::boosts(pool), false),
            Step::Verdicts => (verdict::verdicts(pool), false),
            Step::DrainsOver => (drain::cancelled(pool), false),
            Step::Drains => drain::drains(pool, budget, now_s),
        }
    }
}

fn assignment(judges: &Judges, look: &Look<'_>, bid: &Bid<'_>) -> Assignment {
    let (pool, pending) = (look.pool, &bid.pending);
    let signature = &pending.cluster.signature;
    let source = pending.source(look);
    let text = |name| pool.text(name).to_owned();
    let storage = source.map_or(look.site, |source| source.site);
    let comparison: Option<Comparison> =
        (pending.band(look) == Band::Normal).then_some(look.comparison);
    Assignment {
        offer: look.offer.offer.offer.clone(),
        job: bid.place.job.clone(),
        workflow: text(pending.workflow_name),
        user: text(pending.user()),
        class: pending.class(),
        site: look.offer.site.clone(),
        node: look.node().map(str::to_owned),
        band: pending.band(look),
        cores: pending.allocation(look).cores,
        weight_milli: pending.weight_milli(look),
        wall_time_s: pending.allocation(look).wall_s,
        rss_mb: pending.allocation(look).rss_mb,
        rank: judges.rank(look, bid),
        overflow_source: source.map(|source| text(source.site)),
        charged_group: bid.charged.map(text),
        io_source_site: signature.high_io.then(|| look.site_text(storage).to_owned()),
        comparison,
        limits: limits(look, bid),
        decided_at_s: look.now_s,
    }
}

/// The hard limits that apply to a job, before and after it (TS-07).
fn limits(look: &Look<'_>, bid: &Bid<'_>) -> Vec<HardLimit> {
    let (pool, pending) = (look.pool, &bid.pending);
    let mut limits = Vec::new();
    let source = pending.source(look);
    if let Some(source) = source {
        let used = pool.counters().site(source.site).overflow;
        limits.push(HardLimit {
            name: "overflow",
            key: pool.text(source.site).to_owned(),
            before: used,
            after: used.saturating_add(source.cost),
            max: used.saturating_add(source.spare),
        });
    }
    if pending.cluster.signature.high_io {
        let storage = source.map_or(look.site, |source| source.site);
        let used = pool.counters().site(storage).high_io;
        limits.push(HardLimit {
            name: "high_io",
            key: look.site_text(storage).to_owned(),
            before: used,
            after: used.saturating_add(1),
            max: pool.site(storage).map_or(0, |terms| terms.high_io_slots),
        });
    }
    let weight = pending.weight_milli(look);
    let site = look.site_text(look.site);
    match charge(look, pending) {
        Charge::Pool(group, used, size) => limits.push(HardLimit {
            name: "restricted_pool",
            key: format!("{site}/{}", pool.text(group)),
            before: used,
            after: used.saturating_add(weight),
            max: size,
        }),
        Charge::Shared => limits.push(HardLimit {
            name: "shared_capacity",
            key: site.to_owned(),
            before: look.shared_used,
            after: look.shared_used.saturating_add(weight),
            max: look.terms.map_or(0, |terms| terms.shared_milli),
        }),
        Charge::Free | Charge::NoRoom => {}
    }
    limits
}
