//! Why a job of a pool waits, as the rules would judge it now (spec cms-nordugrid C-60).

use super::PoolJudging;
use crate::domain::cms::judge::facts;
use crate::domain::cms::judge::offers::{last_offers, live_offers};
use crate::domain::cms::judge::{PoolView, now_s};
use crate::domain::cms::policy::admission::{Admission, admit};
use crate::domain::cms::policy::autocluster::Signature;
use crate::domain::cms::policy::entry::{Standing, WorkflowEntry};
use crate::domain::cms::policy::facts::Seconds;
use crate::domain::cms::policy::label;
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::shapes::{Shape, Shapes};
use crate::domain::cms::policy::why::{Blocked, DrainedFor, PoolWait, SiteAt, no_node, site_wait};
use crate::domain::cms::state::{PoolJob, PoolNode, PoolOffer};
use crate::event::{OwnSlotOffer, Resource};
use crate::judge::policies::Policies;
use crate::state::State;
use crate::unit::{Millis, SECOND};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Time left and memory of an imagined offer where no node is known: more than any job takes.
const AMPLE: i64 = 1_000_000_000_000_000;

impl PoolJudging {
    /// Why a job waits; `None`: it is no job that waits. A process that judges has the pool at
    /// hand, as of its last cut; elsewhere it is made of the state.
    pub(crate) fn why(&self, state: &State, policies: &Policies, name: &str) -> Option<PoolWait> {
        let job = state.pool.jobs.of(name).filter(|job| job.waits())?;
        let own = self.view.pool();
        if let Some(pool) = own.filter(|pool| !is_pending(pool, name))
            && let Some(blocked) = blocked(state, pool, job)
        {
            return Some(PoolWait::Blocked(blocked));
        }
        let pool = match own.filter(|pool| is_pending(pool, name)) {
            Some(pool) => Cow::Borrowed(pool),
            None => Cow::Owned(self.pool_of(state, policies)?),
        };
        if !is_pending(&pool, name) {
            return Some(PoolWait::Blocked(blocked(state, &pool, job)?));
        }
        let offers = live_offers(state);
        let seen = last_offers(state);
        let sites = sites(&pool, name, &offers);
        let shapes = Shapes::of(&pool);
        let (cluster, _) = pool.place_of(name)?;
        let at = |site: &str| {
            let of_site = offers.get(site).map_or(&[][..], Vec::as_slice);
            let shape = pool.name(site).and_then(|it| shapes.for_job(&pool, cluster, it));
            let imagined = imagined(&cluster.signature, site, shape, state.now);
            let imagined = [&imagined];
            let (looked, is_imagined) =
                if of_site.is_empty() { (&imagined[..], true) } else { (of_site, false) };
            Some(SiteAt {
                wait: site_wait(&self.judges, &pool, name, looked, is_imagined, state.now)?,
                is_known: pool.name(site).is_some_and(|site| pool.site(site).is_some()),
                last_offer_at: seen.get(site).copied(),
                node_cores: shape.map(|(shape, _)| shape.cores),
            })
        };
        let drain = pool.open_drains().find(|(_, drain)| drain.job == name);
        Some(PoolWait::Sites {
            drained: drain.map(|(node, drain)| DrainedFor {
                node: node.node.clone(),
                site: node.site.clone(),
                until: drain.until_s.saturating_mul(SECOND),
            }),
            no_node: no_node(&pool, &shapes, name),
            sites: sites.iter().filter_map(|site| at(site)).collect(),
        })
    }

    /// The pool as of the last cut, or else made of the state.
    pub(crate) fn pool_at(&self, state: &State, policies: &Policies) -> Option<Cow<'_, Pool>> {
        let own = self.view.pool().map(Cow::Borrowed);
        own.or_else(|| self.pool_of(state, policies).map(Cow::Owned))
    }

    /// The pool of a state.
    fn pool_of(&self, state: &State, policies: &Policies) -> Option<Pool> {
        self.view_of(state, policies).pool
    }

    /// The same with its jobs that are refused or on hold.
    pub(super) fn view_of(&self, state: &State, policies: &Policies) -> PoolView {
        let policy = policies.at(self.at);
        let resolved = policy.resolve(&|component, key| state.parameter(component, key), "");
        let mut view = PoolView::default();
        view.make(state, &policy.pool_settings(&resolved));
        if let Some(pool) = &mut view.pool {
            pool.note_offers(state.pool.offers.iter().map(|(_, offer)| offer));
        }
        view
    }
}

fn is_pending(pool: &Pool, job: &str) -> bool {
    matches!(pool.job(job), Some(Standing::Pending(_)))
}

/// Why a job waits that is not looked at before any offer.
fn blocked(state: &State, pool: &Pool, job: &PoolJob) -> Option<Blocked> {
    let pending = facts::pending(job)?;
    let workflow = pool.name(&pending.workflow).and_then(|name| pool.workflow(name));
    let workflow = workflow.and_then(WorkflowEntry::workflow);
    if workflow.is_some_and(|workflow| workflow.known.killed) {
        return Some(Blocked::Killed);
    }
    if workflow.is_some_and(|workflow| workflow.record.closed) {
        return Some(Blocked::Closed);
    }
    let seen_s: Seconds = job.seen_at.div_euclid(SECOND);
    match admit(pool, &pending, seen_s, now_s(state)) {
        Admission::Hold(until_s) => Some(Blocked::OnHold(until_s.saturating_mul(SECOND))),
        Admission::Reject(why) => Some(Blocked::Refused(why.code())),
        Admission::Accept(_) => None,
    }
}

/// Sites where a job is looked at: the known ones, those it names, those with an offer.
fn sites<'a>(
    pool: &'a Pool,
    job: &str,
    offers: &BTreeMap<&'a str, Vec<&PoolOffer>>,
) -> BTreeSet<&'a str> {
    let known = pool.sites().map(|(name, _)| pool.text(name));
    let named = pool.job(job).into_iter().flat_map(|it| it.job().site_whitelist.iter().flatten());
    known.chain(named.map(String::as_str)).chain(offers.keys().copied()).collect()
}

/// An offer of a whole free node of a site that no pilot made; where no node is known, one of as
/// many cores as the job needs.
fn imagined(
    signature: &Signature,
    site: &str,
    shape: Option<(Shape, &PoolNode)>,
    now: Millis,
) -> PoolOffer {
    let unknown = Shape { cores: signature.cores_min, mem_mb: AMPLE, wall_s: AMPLE };
    let (shape, node) = shape.map_or((unknown, None), |(shape, node)| (shape, Some(node)));
    let of_node = |node: &PoolNode| {
        let most = node.resources_most.iter();
        let most = most.map(|(name, amount)| Resource { name: name.clone(), amount: *amount });
        (most.collect(), node.labels.clone())
    };
    let as_needed = || (signature.resources.clone(), label::as_needed(&signature.labels));
    let (resources, labels) = node.map_or_else(as_needed, of_node);
    let offer = OwnSlotOffer {
        cores_free: shape.cores,
        cores_total: shape.cores,
        wall_left_s: shape.wall_s,
        mem_free_mb: shape.mem_mb,
        resources,
        labels,
        ..OwnSlotOffer::default()
    };
    PoolOffer { offer, site: site.to_owned(), changed_at: now, ..PoolOffer::default() }
}
