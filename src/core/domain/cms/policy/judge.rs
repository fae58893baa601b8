//! Judging the pending jobs before an offer: filters, then rank keys (A.5 2).

use super::autocluster::Place;
use super::declare::Jobs;
use super::effective::effective_priority;
use super::facts::{Band, Seconds};
use super::filter::{FILTERS, waits_for_t1};
use super::key::{JobKey, RankKeyValue};
use super::level::{factor_milli, level};
use super::look::{Bid, ClassComparison, Look, Pending};
use super::rank::KEYS;
use crate::policy::applicable::{Early, walk_with};
use crate::policy::declare::{FilterFunction, RulesOf, Weigh};
use crate::policy::{Objection, Values};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The filters and rank keys of a policy, in order.
#[derive(Clone)]
pub struct MatchRules {
    names: Vec<&'static str>,
    filters: Vec<Early<Jobs>>,
    keys: Vec<(&'static str, JobKey)>,
}

/// The job that gets an offer.
pub struct BestJob<'a> {
    /// The job.
    pub bid: Bid<'a>,
    /// The job that comes second; `None`: no other fits.
    pub second: Option<Bid<'a>>,
}

/// Why the jobs of a look were refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refusals {
    /// Jobs that passed.
    pub eligible: u64,
    /// Jobs that were refused, by the filter that objects to the first of their autocluster.
    pub refused: BTreeMap<&'static str, u64>,
}

/// Every job of a look: those that passed, and those that did not with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Use and quota of both classes at the site (C-27).
    pub comparison: ClassComparison,
    /// Jobs that passed.
    pub eligible: u64,
    /// Jobs that did not, sorted, by the code of the reason.
    pub not_eligible: BTreeMap<&'static str, Vec<Arc<str>>>,
    /// Test jobs that the cap moved to the normal band, sorted (C-51).
    pub test_cap: Vec<Arc<str>>,
}

impl MatchRules {
    /// Those of a policy.
    pub fn of(rules: &RulesOf<Jobs>) -> MatchRules {
        let filters = (0..).zip(&rules.filters).map(|(at, filter)| match filter.judge {
            FilterFunction::Before(judge) => {
                Early::<Jobs> { at, temporary: filter.filter.temporary, judge }
            }
            FilterFunction::After(never)
            | FilterFunction::Whole(never)
            | FilterFunction::Last(never)
            | FilterFunction::Kept(never) => match never {},
        });
        let keys = rules.weights.iter().map(|weight| match weight.weigh {
            Weigh::Key(key) => (weight.weight.name, key),
            Weigh::Figure(never) | Weigh::Factor(never) | Weigh::Whole(never) => match never {},
        });
        MatchRules {
            names: rules.filters.iter().map(|it| it.filter.name).collect(),
            filters: filters.collect(),
            keys: keys.collect(),
        }
    }

    /// All filters and rank keys of the kind.
    pub fn full() -> MatchRules {
        MatchRules::of(&RulesOf { filters: FILTERS.to_vec(), weights: KEYS.to_vec() })
    }

    /// The first objection to a job, if there is one.
    pub fn objection(&self, look: &Look<'_>, pending: &Pending<'_>) -> Option<Objection> {
        self.first_objection(look, pending).map(|(_, _, objection)| objection)
    }

    /// The number and name of the first filter that objects, with its objection.
    pub fn first_objection(
        &self,
        look: &Look<'_>,
        pending: &Pending<'_>,
    ) -> Option<(usize, &'static str, Objection)> {
        let found = self.walk(look, pending)?;
        let (at, objection) = (usize::from(found.0), found.1);
        Some((at, self.names[at], objection))
    }

    /// The index of the first filter that objects, with its objection.
    #[inline(always)]
    fn walk(&self, look: &Look<'_>, pending: &Pending<'_>) -> Option<(u16, Objection)> {
        // The filters have no parameters of their own.
        let none = Values::default();
        walk_with(look, pending, &self.filters, |_| &none)
    }

    /// The names of the rank keys, in order.
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|(name, _)| *name)
    }

    /// The job that gets the offer, if one does, the one that comes second, and how many were
    /// refused. Of a node that is drained the job goes first that it is drained for (C-55).
    pub fn best<'a>(&self, look: &Look<'a>) -> (Option<BestJob<'a>>, Refusals) {
        let (mut best, mut second): (Option<Bid<'a>>, Option<Bid<'a>>) = (None, None);
        let (mut eligible, mut refused) = (0, vec![0; self.filters.len()]);
        for cluster in look.pool.clusters() {
            let Some(oldest) = cluster.oldest() else { continue };
            let pending = Pending::new(look, cluster, oldest.queued_at_s);
            if let Some((at, _)) = self.walk(look, &pending) {
                refused[usize::from(at)] += cluster.len() as u64;
                continue;
            }
            eligible += cluster.len() as u64;
            let Some(bid) = head(look, pending) else { continue };
            let is_before = |other: &Option<Bid<'a>>| {
                other.as_ref().is_none_or(|it| self.order(look, &bid, it) == Ordering::Less)
            };
            if is_before(&best) {
                second = best.replace(bid);
            } else if is_before(&second) {
                second = Some(bid);
            }
        }
        let refused = self.names.iter().copied().zip(refused).filter(|(_, jobs)| *jobs > 0);
        let refused = refused.collect();
        let found = match (self.drained_for(look), best) {
            (Some(own), best) => {
                let is_own = |it: &Bid<'a>| it.place == own.place;
                let second = if best.as_ref().is_some_and(is_own) { second } else { best };
                Some((own, second))
            }
            (None, best) => best.map(|best| (best, second)),
        };
        let found = found.map(|(bid, second)| self.with_second(look, bid, second));
        (found, Refusals { eligible, refused })
    }

    /// The job that gets an offer, and the one that comes second: the best of other autoclusters,
    /// or the next of its own.
    fn with_second<'a>(
        &self,
        look: &Look<'a>,
        bid: Bid<'a>,
        of_others: Option<Bid<'a>>,
    ) -> BestJob<'a> {
        let cluster = bid.pending.cluster;
        let by_s = queued_by(look, &bid.pending);
        let next = match bid.pending.band(look) {
            Band::Test => cluster.next_in_workflow(bid.place, by_s),
            Band::System | Band::Normal => cluster.next(bid.place, by_s),
        };
        let next = next
            .map(|place| self::bid(look, Pending::new(look, cluster, place.queued_at_s), place));
        let second = match (next, of_others) {
            (Some(next), Some(other)) => match self.order(look, &next, &other) {
                Ordering::Less => Some(next),
                Ordering::Equal | Ordering::Greater => Some(other),
            },
            (next, other) => next.or(other),
        };
        BestJob { bid, second }
    }

    /// The job that the offer's node is drained for, if it passes (C-55, C-56).
    fn drained_for<'a>(&self, look: &Look<'a>) -> Option<Bid<'a>> {
        let (cluster, place) = look.pool.place_of(&look.drain?.job)?;
        let mut pending = Pending::new(look, cluster, place.queued_at_s);
        pending.is_drained_for = true;
        match self.objection(look, &pending) {
            None => Some(bid(look, pending, place)),
            Some(_) => None,
        }
    }

    /// The order of two jobs that passed: key by key, then by name.
    pub fn order(&self, look: &Look<'_>, a: &Bid<'_>, b: &Bid<'_>) -> Ordering {
        for (_, key) in &self.keys {
            let order = match (key(look, a), key(look, b)) {
                (Some(a), Some(b)) => a.order(&b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        a.place.job.cmp(&b.place.job)
    }

    /// The rank vector of a job: keys that apply, in order.
    pub fn rank(&self, look: &Look<'_>, bid: &Bid<'_>) -> Vec<(&'static str, RankValue)> {
        let values = self.keys.iter().map(|(name, key)| (*name, key(look, bid)));
        values.filter_map(|(name, value)| Some((name, RankValue::of(value?)))).collect()
    }

    /// Every job before the offer, with the reason where it does not pass (C-60).
    pub fn explain(&self, look: &Look<'_>) -> Explained {
        let mut explained = Explained {
            comparison: look.comparison,
            eligible: 0,
            not_eligible: BTreeMap::new(),
            test_cap: Vec::new(),
        };
        let drained_for = look.drain.and_then(|drain| look.pool.place_of(&drain.job));
        let drained_for = drained_for.map(|(_, place)| place);
        for cluster in look.pool.clusters() {
            for place in cluster.places() {
                let mut pending = Pending::new(look, cluster, place.queued_at_s);
                pending.is_drained_for = drained_for == Some(place);
                let job = Arc::clone(&place.job);
                if cluster.signature.test_member && pending.band(look) == Band::Normal {
                    explained.test_cap.push(Arc::clone(&job));
                }
                match self.objection(look, &pending) {
                    None => explained.eligible += 1,
                    Some(objection) => {
                        let code = objection.reason.name;
                        explained.not_eligible.entry(code).or_default().push(job);
                    }
                }
            }
        }
        explained.not_eligible.values_mut().for_each(|jobs| jobs.sort());
        explained.test_cap.sort();
        explained
    }
}

/// The first job of an autocluster that passed, in the order of its band.
fn head<'a>(look: &Look<'a>, pending: Pending<'a>) -> Option<Bid<'a>> {
    let cluster = pending.cluster;
    let place = match pending.band(look) {
        Band::Test => cluster.first_in_workflow(queued_by(look, &pending))?,
        Band::System | Band::Normal => cluster.oldest()?,
    };
    Some(bid(look, pending, place))
}

/// When the jobs of an autocluster must have been queued to be eligible (C-17, C-41).
pub(super) fn queued_by(look: &Look<'_>, pending: &Pending<'_>) -> Seconds {
    let settings = look.pool.settings();
    let waited = |wait_s: Seconds, is_to: bool| match wait_s > 0 && is_to {
        true => look.now_s.saturating_sub(wait_s),
        false => Seconds::MAX,
    };
    let overflow = waited(settings.overflow_idle_s, !pending.is_local);
    overflow.min(waited(settings.t1_first_s, waits_for_t1(look, pending)))
}

/// The figures that rank a job which passed.
pub(super) fn bid<'a>(look: &Look<'a>, pending: Pending<'a>, place: &'a Place) -> Bid<'a> {
    let (mut own_level, mut share, mut priority) = (0, 0, 0);
    match pending.class() {
        super::facts::Class::Analysis => {
            own_level = level(look, &pending);
            let usage = look.pool.counters().user(pending.user()).usage.scaled(look.growth);
            share = match factor_milli(look, &pending) {
                1000 => usage,
                factor => usage.saturating_mul(i128::from(factor)).div_euclid(1000),
            };
        }
        super::facts::Class::Central => {
            let settings = look.pool.settings();
            priority =
                pending.workflow.map_or(0, |workflow| effective_priority(workflow, settings));
        }
    }
    Bid { pending, place, level: own_level, share, priority }
}

/// A value of a rank vector, as published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankValue {
    /// A number.
    Number(i128),
    /// A text.
    Text(String),
}

impl RankValue {
    fn of(key: RankKeyValue<'_>) -> RankValue {
        match key {
            RankKeyValue::Number(value) => RankValue::Number(i128::from(value)),
            RankKeyValue::Text(text) => RankValue::Text(text.to_owned()),
            RankKeyValue::Share(dividend, divisor) => {
                RankValue::Number(dividend.div_euclid(divisor))
            }
        }
    }
}
