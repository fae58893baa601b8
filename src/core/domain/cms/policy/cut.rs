//! The parts of a cut (A.5): tails, the order of offers and the next job of one, verdicts on test
//! jobs, drains.

use super::counters::overflow_cost;
use super::decision::{Assignment, PoolAction};
use super::facts::Band;
use super::judge::{BestJob, MatchRules, RankValue, Refusals};
use super::look::{Bid, Look};
use super::moment::Moment;
use super::pool::Pool;
use super::pools::{Charge, charge};
use super::why::compared;
use super::{drain, tail, verdict};
use crate::domain::cms::output::{Matched, SecondJob};
use crate::domain::cms::state::PoolOffer;
use crate::output::limit_use::LimitUse;
use crate::unit::Millis;

/// Rules that were relaxed for a match, as `Matched::relaxed` names them.
const SURPLUS: &str = "surplus";
const OVERFLOW: &str = "overflow";
const DRAINED: &str = "drained";

/// The next job for an offer, given what was folded already; changes nothing.
pub fn next(
    judges: &MatchRules,
    pool: &Pool,
    offer: &PoolOffer,
    now: Millis,
) -> (Option<Assignment>, Refusals) {
    if offer.cores_left() <= 0 {
        return (None, Refusals::default());
    }
    let look = Look::new(pool, offer, now);
    let (best, refusals) = judges.best(&look);
    (best.map(|best| assignment(judges, &look, &best)), refusals)
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
    pub fn actions(self, pool: &Pool, at: &Moment<'_>) -> (Vec<PoolAction>, bool) {
        match self {
            Step::Boosts => (tail::boosts(pool), false),
            Step::Verdicts => verdict::verdicts(pool, at),
            Step::DrainsOver => (drain::cancelled(pool, at), false),
            Step::Drains => drain::drains(pool, at),
        }
    }
}

fn assignment(judges: &MatchRules, look: &Look<'_>, best: &BestJob<'_>) -> Assignment {
    let (pool, bid) = (look.pool, &best.bid);
    let pending = &bid.pending;
    let text = |name| pool.text(name).to_owned();
    Assignment {
        offer: look.offer.offer.offer.clone(),
        site: look.offer.site.clone(),
        workflow: text(pending.workflow_name),
        user: text(pending.user()),
        matched: Matched { second: second(judges, look, best), ..matched(look, bid) },
        rank: judges.rank(look, bid),
        limits: limits(look, bid),
    }
}

/// The job, and what it gets; its attempt is known to the state.
fn matched(look: &Look<'_>, bid: &Bid<'_>) -> Matched {
    let (pool, pending) = (look.pool, &bid.pending);
    let (settings, text) = (pool.settings(), |name| pool.text(name).to_owned());
    let (source, given) = (pending.source(look), pending.allocation(look));
    let (class, band) = (pending.class(), pending.band(look));
    let weight_milli = pending.weight_milli(look);
    let storage = source.map_or(look.site, |source| source.site);
    let reads_heavily = pending.cluster.signature.high_io;
    let io_source = if reads_heavily { look.site_text(storage) } else { "" };
    let is_surplus = band == Band::Normal && look.comparison.preferred != class;
    let overflows = source.is_some();
    let relaxed = [(is_surplus, SURPLUS), (overflows, OVERFLOW), (pending.is_drained_for, DRAINED)];
    let relaxed = relaxed.iter().filter(|(is_relaxed, _)| *is_relaxed);
    // The restricted pool that it is charged to (C-30).
    let charged = match charge(look, pending) {
        Charge::Pool(group, _, _) => Some(group),
        Charge::Free | Charge::Shared | Charge::NoRoom => None,
    };
    Matched {
        job: bid.place.job.to_string(),
        job_attempt: 0,
        class,
        band,
        node: look.offer.offer.node.clone(),
        cores: given.cores,
        weight_milli,
        usage_milli: settings.charge_milli(weight_milli, charged.is_some()),
        wall_time_s: given.wall_s,
        rss_mb: given.rss_mb,
        overflow_source: source.map(|source| text(source.site)).unwrap_or_default(),
        overflow_cost: if overflows { overflow_cost(given.cores, settings) } else { 0 },
        charged_group: charged.map(text).unwrap_or_default(),
        io_source: io_source.to_owned(),
        resources: pending.cluster.signature.resources.clone(),
        relaxed: relaxed.map(|(_, rule)| (*rule).to_owned()).collect(),
        second: None,
    }
}

/// The job that comes second, and the first rank key in which it differs from the match.
fn second(judges: &MatchRules, look: &Look<'_>, best: &BestJob<'_>) -> Option<SecondJob> {
    let found = compared(judges, look, best.second.as_ref()?, &best.bid);
    let text = |value: RankValue| match value {
        RankValue::Number(number) => number.to_string(),
        RankValue::Text(text) => text,
    };
    Some(SecondJob {
        job: found.job.to_string(),
        workflow: found.workflow,
        key: found.key.to_owned(),
        of_match: text(found.own),
        of_second: text(found.its),
    })
}

/// The hard limits that apply to a job, before and after it (TS-07).
fn limits(look: &Look<'_>, bid: &Bid<'_>) -> Vec<LimitUse> {
    let (pool, pending) = (look.pool, &bid.pending);
    let mut limits = Vec::new();
    let mut note = |name: &str, of: &str, before: i64, more: i64, max: i64| {
        let amount = |value: i64| u64::try_from(value).unwrap_or(0);
        let after = amount(before.saturating_add(more));
        let (name, of) = (name.to_owned(), of.to_owned());
        limits.push(LimitUse { name, of, before: amount(before), after, max: amount(max) });
    };
    let source = pending.source(look);
    if let Some(source) = source {
        let used = pool.counters().site(source.site).overflow;
        let max = used.saturating_add(source.spare);
        note("overflow", pool.text(source.site), used, source.cost, max);
    }
    if pending.cluster.signature.high_io {
        let storage = source.map_or(look.site, |source| source.site);
        let used = pool.counters().site(storage).high_io;
        let max = pool.site(storage).map_or(0, |terms| terms.high_io_slots);
        note("high_io", look.site_text(storage), used, 1, max);
    }
    let (weight, site) = (pending.weight_milli(look), look.site_text(look.site));
    match charge(look, pending) {
        Charge::Pool(group, used, size) => {
            let of = format!("{site}/{}", pool.text(group));
            note("restricted_pool", &of, used, weight, size);
        }
        Charge::Shared => {
            let max = look.terms.map_or(0, |terms| terms.shared_milli);
            note("shared_capacity", site, look.shared_used, weight, max);
        }
        Charge::Free | Charge::NoRoom => {}
    }
    limits
}
