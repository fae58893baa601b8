//! Why a pending job waits: what the filters find of it at a site, and which jobs go before it
//! there (C-60). It asks the filters and rank keys that match jobs to offers.

use super::autocluster::Place;
use super::entry::WorkflowEntry;
use super::facts::{Band, MilliWeight, PerClass};
use super::judge::{MatchRules, RankValue, bid, queued_by};
use super::label;
use super::look::{Bid, Look, Pending, allocation};
use super::pool::Pool;
use super::shapes::{Shape, Shapes};
use crate::domain::cms::state::PoolOffer;
use crate::policy::Objection;
use crate::unit::Millis;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a job waits.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolWait {
    /// It is not looked at before any offer.
    Blocked(Blocked),
    /// It is looked at before each offer.
    Sites {
        /// The node that is drained for it, if one is (C-55).
        drained: Option<DrainedFor>,
        /// What it takes and what nodes have, if no known node of a site that takes it could hold
        /// it.
        no_node: Option<NoNode>,
        /// State of the job at each site, by name: the known sites, and those that it names.
        sites: Vec<SiteAt>,
    },
}

/// Why a job is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Its workflow was killed (C-49).
    Killed,
    /// Its workflow ended.
    Closed,
    /// The record of its workflow was not seen; until then it is waited for (C-02).
    OnHold(Millis),
    /// Admission refuses it, with this code: the next cycle rejects it.
    Refused(&'static str),
}

/// A job that no known node could hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNode {
    /// Fewest cores, memory and time that it takes with so many.
    pub takes: Shape,
    /// The most of each that any node of a site where it may run has.
    pub most: Shape,
}

/// A node that is drained for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainedFor {
    /// Node.
    pub node: String,
    /// Its site.
    pub site: String,
    /// When it is expected to be ready.
    pub until: Millis,
}

/// A site where a job waits.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteAt {
    /// Objections there, or the jobs that go before this one.
    pub wait: SiteWait,
    /// Whether a valid record of it was read.
    pub is_known: bool,
    /// When it was last offered from; `None`: not as far as it is remembered.
    pub last_offer_at: Option<Millis>,
    /// Cores of its largest known node; `None`: none is known.
    pub node_cores: Option<i64>,
}

/// The reasons why a job waits at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteWait {
    /// Site.
    pub site: String,
    /// Offers that were looked at; 0: there is none, and it was looked at as if a whole node of
    /// the site were free.
    pub offers: u64,
    /// Objections, in the order of the filters.
    pub objections: Vec<SiteObjection>,
    /// The jobs that go before this one where nothing objects, at the first such offer; `None`: a
    /// filter objects at every offer.
    pub ahead: Option<JobsAhead>,
}

/// A filter that is the first to object to a job at some offers of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteObjection {
    /// The filter.
    pub filter: &'static str,
    /// Its objection at the offer that is nearest to passing.
    pub objection: Objection,
    /// The resource or label that it is about, if it is about one: what the offer has, and what the
    /// job needs.
    pub lack: Option<String>,
    /// Offers at which it is the first to object.
    pub offers: u64,
}

/// The jobs that go before a job at an offer that it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct JobsAhead {
    /// How many.
    pub jobs: u64,
    /// The first of all; `None`: none goes before it.
    pub first: Option<First>,
    /// Weight that the classes hold at the site, and their quotas; `None`: the job's band does not
    /// depend on them.
    pub classes: Option<[PerClass<MilliWeight>; 2]>,
}

/// The job that goes first, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct First {
    /// Job.
    pub job: Arc<str>,
    /// Its workflow.
    pub workflow: String,
    /// The first rank key in which both differ.
    pub key: &'static str,
    /// The value of that job.
    pub its: RankValue,
    /// The value of the job that waits.
    pub own: RankValue,
}

/// Looks at a job that waits in the pool before the offers of a site; `None`: it does not wait
/// there. Without an offer the first of `offers` is one that is only imagined: `is_imagined`.
pub fn site_wait(
    judges: &MatchRules,
    pool: &Pool,
    job: &str,
    offers: &[&PoolOffer],
    is_imagined: bool,
    now: Millis,
) -> Option<SiteWait> {
    let (cluster, place) = pool.place_of(job)?;
    let mut found: BTreeMap<usize, SiteObjection> = BTreeMap::new();
    let mut ahead_of_it = None;
    for offer in offers {
        let look = Look::new(pool, offer, now);
        let mut pending = Pending::new(&look, cluster, place.queued_at_s);
        pending.is_drained_for = look.drain.is_some_and(|drain| *drain.job == *job);
        match judges.first_objection(&look, &pending) {
            Some((at, filter, objection)) => {
                let lack = || label::lack(&look, &pending, filter);
                let nothing = || SiteObjection { filter, objection, lack: lack(), offers: 0 };
                let known = found.entry(at).or_insert_with(nothing);
                known.offers += 1;
                if objection.measured > known.objection.measured {
                    (known.objection, known.lack) = (objection, lack());
                }
            }
            None if ahead_of_it.is_none() => {
                ahead_of_it = Some(ahead(judges, &look, &bid(&look, pending, place)));
            }
            None => {}
        }
    }
    Some(SiteWait {
        site: offers.first().map_or(String::new(), |offer| offer.site.clone()),
        offers: if is_imagined { 0 } else { offers.len() as u64 },
        objections: found.into_values().collect(),
        ahead: ahead_of_it,
    })
}

/// What a job takes, and what nodes have, if none of a site that takes it could hold it.
pub fn no_node(pool: &Pool, shapes: &Shapes<'_>, job: &str) -> Option<NoNode> {
    let (cluster, _) = pool.place_of(job)?;
    shapes.hold(pool, cluster).filter(|holds| !holds)?;
    let workflow = pool.workflow(cluster.signature.workflow).and_then(WorkflowEntry::workflow);
    let cores = cluster.signature.cores_min;
    let taken = allocation(pool.settings(), &cluster.signature, workflow, cores);
    let takes = Shape { cores, mem_mb: taken.rss_mb, wall_s: taken.wall_s };
    Some(NoNode { takes, most: shapes.most(pool, cluster) })
}

/// The jobs that go before one that fits.
fn ahead(judges: &MatchRules, look: &Look<'_>, own: &Bid<'_>) -> JobsAhead {
    let (mut jobs, mut first): (u64, Option<Bid<'_>>) = (0, None);
    for cluster in look.pool.clusters() {
        let Some(oldest) = cluster.oldest() else { continue };
        let pending = Pending::new(look, cluster, oldest.queued_at_s);
        if judges.first_objection(look, &pending).is_some() {
            continue;
        }
        let Some((count, head)) = before(judges, look, pending, own) else { continue };
        jobs += count;
        if first.as_ref().is_none_or(|first| judges.order(look, &head, first) == Ordering::Less) {
            first = Some(head);
        }
    }
    let is_normal = own.pending.band(look) == Band::Normal;
    JobsAhead {
        jobs,
        first: first.map(|first| compared(judges, look, &first, own)),
        classes: is_normal.then_some([look.comparison.used, look.comparison.quota]),
    }
}

/// How many jobs of an autocluster that passed go before a job, and the first of them; `None`: none
/// does.
fn before<'a>(
    judges: &MatchRules,
    look: &Look<'a>,
    pending: Pending<'a>,
    own: &Bid<'_>,
) -> Option<(u64, Bid<'a>)> {
    let cluster = pending.cluster;
    let by_s = queued_by(look, &pending);
    let is_test = pending.band(look) == Band::Test;
    let head = match is_test {
        true => cluster.first_in_workflow(by_s)?,
        false => cluster.oldest()?,
    };
    let mut other = bid(look, pending, head);
    let mut is_before = |place: &'a Place| {
        other.place = place;
        judges.order(look, &other, own) == Ordering::Less
    };
    if !is_before(head) {
        return None;
    }
    let last = cluster.newest().filter(|last| !is_test && last.queued_at_s <= by_s);
    let count = match last {
        // In the order of age jobs of an autocluster follow each other.
        Some(last) if is_before(last) => cluster.len(),
        _ => {
            let places = cluster.places().filter(|place| place.queued_at_s <= by_s);
            match is_test {
                true => places.filter(|&place| is_before(place)).count(),
                false => places.take_while(|&place| is_before(place)).count(),
            }
        }
    };
    other.place = head;
    Some((count as u64, other))
}

/// The first key in which two jobs differ. Between jobs that differ in none their names decide.
pub(super) fn compared(
    judges: &MatchRules,
    look: &Look<'_>,
    first: &Bid<'_>,
    own: &Bid<'_>,
) -> First {
    let of = |bid: &Bid<'_>| -> BTreeMap<&'static str, RankValue> {
        judges.rank(look, bid).into_iter().collect()
    };
    let (its, mine) = (of(first), of(own));
    let name = |bid: &Bid<'_>| RankValue::Text(bid.place.job.to_string());
    let decisive = judges.key_names().find_map(|key| {
        let (its, mine) = (its.get(key)?, mine.get(key)?);
        (its != mine).then(|| (key, its.clone(), mine.clone()))
    });
    let (key, its, own) = decisive.unwrap_or_else(|| ("job", name(first), name(own)));
    let workflow = look.pool.text(first.pending.workflow_name).to_owned();
    First { job: Arc::clone(&first.place.job), workflow, key, its, own }
}
