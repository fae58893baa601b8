//! One look: a slot offer with what is left of it, and the pending jobs as they stand before it.

use super::autocluster::{Autocluster, Place, Signature};
use super::counters::{SiteCounters, overflow_cost};
use super::entry::WorkflowEntry;
use super::facts::{
    Band, Class, CoresMax, FailureClass, MilliWeight, PerClass, Seconds, Workflow, seconds,
};
use super::pool::Pool;
use super::quota::{RestrictedPool, SiteTerms};
use super::scaling::Needs;
use super::settings::Settings;
use crate::domain::cms::state::{PoolDrain, PoolOffer};
use crate::id::Name;
use crate::unit::Millis;
use std::cell::OnceCell;

/// Use and quota of both classes at a site, compared (C-27, F-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassComparison {
    /// Weight held.
    pub used: PerClass<MilliWeight>,
    /// Quotas.
    pub quota: PerClass<MilliWeight>,
    /// The class with the lower ratio; central of two equal ones.
    pub preferred: Class,
}

/// The class with the lower ratio of use to quota; a quota of 0 is an infinite ratio (C-27, F-5).
pub fn compare(used: PerClass<MilliWeight>, quota: PerClass<MilliWeight>) -> ClassComparison {
    let central = i128::from(used.central) * i128::from(quota.analysis);
    let analysis = i128::from(used.analysis) * i128::from(quota.central);
    let preferred = match (quota.central, quota.analysis) {
        (0, 0) | (_, 0) => Class::Central,
        (0, _) => Class::Analysis,
        _ if central <= analysis => Class::Central,
        _ => Class::Analysis,
    };
    ClassComparison { used, quota, preferred }
}

/// The number of a site or group that nothing is known of: no name has it.
const UNKNOWN: Name = Name(u32::MAX);

/// An offer at a moment, with all that its look-ups need.
pub struct Look<'a> {
    /// Records, pending jobs and counters at the cut.
    pub pool: &'a Pool,
    /// The offer.
    pub offer: &'a PoolOffer,
    /// Time that its pilot has left.
    pub wall_left_s: Seconds,
    /// The moment of the cut.
    pub now_s: Seconds,
    /// Its site's name.
    pub site: Name,
    /// Quotas and limits of its site, if the site is known.
    pub terms: Option<&'a SiteTerms>,
    /// Counters of its site.
    pub counters: &'a SiteCounters,
    /// Thousandths that a core of it weighs (F-1).
    pub kappa_milli: i64,
    /// Use and quota of the classes.
    pub comparison: ClassComparison,
    /// Growth of decay now.
    pub growth: i128,
    /// The drain of its node, if it is kept free for a job that is not there yet (C-56).
    pub drain: Option<&'a PoolDrain>,
    /// The group that its block is restricted to, if it is (C-30).
    pub only_group: Option<Name>,
    /// Restricted pools of the site by their groups (C-30).
    pub pools: Vec<(Name, &'a RestrictedPool)>,
    /// Weight used of the shared part of the site (C-30).
    pub shared_used: MilliWeight,
    /// Groups that are served first on a part of the site that they do not fill yet (C-31).
    pub regional: Vec<Name>,
    /// Overflow slots left of each known site, by its name's number; most looks need none.
    spare: OnceCell<Vec<Option<i64>>>,
}

impl<'a> Look<'a> {
    /// A look at a moment.
    pub fn new(pool: &'a Pool, offer: &'a PoolOffer, now: Millis) -> Look<'a> {
        let now_s = seconds(now);
        let site = pool.name(&offer.site).unwrap_or(UNKNOWN);
        let terms = pool.site(site);
        let counters = pool.counters().site(site);
        let kappa_of_site = terms.map_or(1000, |terms| terms.kappa_milli);
        let power = offer.offer.corepower_mhs06;
        let kappa_milli = power.map_or(kappa_of_site, |power| pool.settings().kappa_milli(power));
        let quota = terms.map(|terms| terms.quota).unwrap_or_default();
        let known = |group: &str| pool.name(group).unwrap_or(UNKNOWN);
        let pools: Vec<(Name, &RestrictedPool)> = terms.map_or(Vec::new(), |terms| {
            terms.restricted.iter().map(|pool| (known(&pool.group), pool)).collect()
        });
        let held = |group: &Name| counters.groups.get(group).copied().unwrap_or(0);
        let in_pools = pools.iter().map(|(group, pool)| pool.inside(counters.group(*group)));
        let in_pools = in_pools.fold(0, MilliWeight::saturating_add);
        let labels = terms.map_or(&[][..], |terms| &terms.restricted_labels);
        let stated = |text: &'a String| Some(text).filter(|text| !text.is_empty());
        let (block, node) = (stated(&offer.offer.block), stated(&offer.offer.node));
        let labelled = labels.iter().find(|(label, _)| Some(label) == block);
        Look {
            pool,
            offer,
            wall_left_s: offer.wall_left_s(now),
            now_s,
            site,
            terms,
            counters,
            kappa_milli,
            comparison: compare(counters.used, quota),
            growth: pool.decay().growth(now_s),
            drain: node.and_then(|node| pool.open_drain(node)),
            only_group: labelled.map(|(_, group)| known(group)),
            pools,
            shared_used: counters.used.total().saturating_sub(in_pools),
            regional: terms.map_or(Vec::new(), |terms| {
                let parts = terms.regional.iter().map(|part| (known(&part.group), part.milli));
                parts.filter(|(group, size)| held(group) < *size).map(|(group, _)| group).collect()
            }),
            spare: OnceCell::new(),
        }
    }

    /// Overflow slots that a site has left; `None`: it is not known.
    pub fn spare(&self, site: Name) -> Option<i64> {
        let spare = self.spare.get_or_init(|| self.pool.overflow_spare());
        spare.get(site.index()).copied().flatten()
    }

    /// The text of a site of its look: it may be known by its offer alone.
    pub fn site_text(&self, site: Name) -> &str {
        if site == self.site { &self.offer.site } else { self.pool.text(site) }
    }

    /// Weight that a group's members hold at the site.
    pub fn held_by_group(&self, group: Name) -> MilliWeight {
        self.counters.groups.get(&group).copied().unwrap_or(0)
    }
}

/// Cores of an offer that a job gets, with run time and memory at so many (C-52..C-54, F-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Cores.
    pub cores: i64,
    /// Run time.
    pub wall_s: Seconds,
    /// Memory, MB.
    pub rss_mb: i64,
}

/// The host of an overflow job's data (C-38, C-39).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverflowSource {
    /// Site.
    pub site: Name,
    /// Overflow slots it has left.
    pub spare: i64,
    /// Overflow slots that all hosts have left.
    pub spare_of_all: i64,
    /// Overflow slots the job takes.
    pub cost: i64,
}

/// Jobs of an autocluster before an offer: those queued at a moment, or one of them. What costs
/// something to find is found when a filter asks for it.
pub struct Pending<'a> {
    /// The autocluster.
    pub cluster: &'a Autocluster,
    /// The workflow's name.
    pub workflow_name: Name,
    /// The workflow, if anything is known of it.
    pub entry: Option<&'a WorkflowEntry>,
    /// The workflow's record, if it was seen.
    pub workflow: Option<Workflow<'a>>,
    /// When the job was queued.
    pub queued_at_s: Seconds,
    /// Whether it is the job that the offer's node is drained for.
    pub is_drained_for: bool,
    /// Whether it may run at the site without overflow.
    pub is_local: bool,
    band: OnceCell<Band>,
    allocation: OnceCell<Allocation>,
    source: OnceCell<Option<OverflowSource>>,
}

impl<'a> Pending<'a> {
    /// Jobs of an autocluster that were queued at a moment.
    pub fn new(look: &Look<'a>, cluster: &'a Autocluster, queued_at_s: Seconds) -> Pending<'a> {
        let signature = &cluster.signature;
        let entry = look.pool.workflow(signature.workflow);
        Pending {
            cluster,
            workflow_name: signature.workflow,
            entry,
            workflow: entry.and_then(WorkflowEntry::workflow),
            queued_at_s,
            is_drained_for: false,
            is_local: cluster.is_local_to(look.site),
            band: OnceCell::new(),
            allocation: OnceCell::new(),
            source: OnceCell::new(),
        }
    }

    /// Its band there (C-11, C-51).
    pub fn band(&self, look: &Look<'_>) -> Band {
        *self.band.get_or_init(|| band(look, self.cluster, self.entry))
    }

    /// Its allocation, if it has cores enough.
    pub fn allocation(&self, look: &Look<'_>) -> Allocation {
        *self.allocation.get_or_init(|| allocate(look, self.cluster, self.workflow))
    }

    /// The host of its data, where it would overflow.
    pub fn source(&self, look: &Look<'_>) -> Option<OverflowSource> {
        if self.is_local || !self.flags_overflow() {
            return None;
        }
        let cores = || self.allocation(look).cores.max(self.cluster.signature.cores_min);
        *self.source.get_or_init(|| source(look, self.cluster, cores()))
    }

    /// Whether its own flag, or else its workflow's, allows overflow (C-06).
    pub fn flags_overflow(&self) -> bool {
        let own = self.cluster.signature.allow_overflow;
        own.unwrap_or_else(|| self.workflow.is_some_and(|workflow| workflow.facts().allow_overflow))
    }

    /// Its class; of an unknown workflow, central.
    pub fn class(&self) -> Class {
        self.workflow.map_or(Class::Central, |workflow| workflow.facts().class)
    }

    /// The user it is booked to.
    pub fn user(&self) -> Name {
        self.entry.map_or(Name::NONE, |entry| entry.user)
    }

    /// Its weight (F-1, C-33).
    pub fn weight_milli(&self, look: &Look<'_>) -> MilliWeight {
        self.allocation(look).cores.saturating_mul(look.kappa_milli)
    }
}

/// The band of an autocluster's jobs (C-11, C-51).
fn band(look: &Look<'_>, cluster: &Autocluster, entry: Option<&WorkflowEntry>) -> Band {
    let signature = &cluster.signature;
    let user = entry.map_or(Name::NONE, |entry| entry.user);
    if signature.system_job && is_within_system_cap(look.pool, user) {
        return Band::System;
    }
    if !signature.test_member {
        return Band::Normal;
    }
    let held = look.pool.counters().user(user).test_jobs;
    match held < look.pool.settings().test_band_user_cap {
        true => Band::Test,
        false => Band::Normal,
    }
}

/// Whether a further system job of a user goes first: without a role for them only so many do
/// (C-05).
fn is_within_system_cap(pool: &Pool, user: Name) -> bool {
    let cap = pool.settings().system_cap_user;
    cap == 0 || pool.counters().user(user).system_jobs < cap || pool.may_flag_system_jobs(user)
}

/// Allocation of a job from the rest of an offer: as many cores as it may use, run time and memory
/// at so many (F-6); learnt needs stand for stated ones, where they are known (C-50).
fn allocate(look: &Look<'_>, cluster: &Autocluster, workflow: Option<Workflow<'_>>) -> Allocation {
    allocation(look.pool.settings(), &cluster.signature, workflow, look.offer.cores_left())
}

/// The same where so many cores are left.
pub(super) fn allocation(
    settings: &Settings,
    signature: &Signature,
    workflow: Option<Workflow<'_>>,
    left: i64,
) -> Allocation {
    let cores = match signature.cores_max {
        _ if signature.whole_node => left,
        CoresMax::Node => left,
        CoresMax::Cores(most) => most.min(left),
    };
    let (mut wall_s, mut rss_mb) = (signature.wall_s, signature.rss_mb);
    if let Some((learnt_s, learnt_mb)) = workflow.and_then(|workflow| workflow.known.profile) {
        let with = |stated: i64, learnt: i64| match (learnt, settings.profile_shrink) {
            (..=0, _) => stated,
            (_, true) => learnt,
            (_, false) => stated.max(learnt),
        };
        (wall_s, rss_mb) = (with(wall_s, learnt_s), with(rss_mb, learnt_mb));
    }
    let needs = Needs { wall_s, rss_mb }.at(cores, signature.base_cores, settings);
    let rss_mb = settings.in_memory_steps(needs.rss_mb.max(0));
    Allocation { cores, wall_s: needs.wall_s, rss_mb }
}

/// The known host with the most overflow slots left, the first by name of several (C-39). One that
/// is offline serves nobody.
fn source(look: &Look<'_>, cluster: &Autocluster, cores: i64) -> Option<OverflowSource> {
    let pool = look.pool;
    let mut best: Option<(i64, Name)> = None;
    let mut spare_of_all: i64 = 0;
    for host in cluster.signature.whitelist.iter().flatten() {
        let Some(spare) = look.spare(*host).filter(|_| pool.serves(*host)) else { continue };
        spare_of_all = spare_of_all.saturating_add(spare);
        let wins = best.is_none_or(|(most, site)| {
            spare > most || spare == most && pool.text(*host) < pool.text(site)
        });
        if wins {
            best = Some((spare, *host));
        }
    }
    let cost = overflow_cost(cores, pool.settings());
    best.map(|(spare, site)| OverflowSource { site, spare, spare_of_all, cost })
}

/// A job that passed all filters, with the figures that rank it.
pub struct Bid<'a> {
    /// The autocluster and its figures.
    pub pending: Pending<'a>,
    /// The job.
    pub place: &'a Place,
    /// Level of its user there (C-19); 0 for central jobs.
    pub level: i64,
    /// E of its user, times growth (C-20).
    pub share: i128,
    /// Effective priority of its workflow (C-13).
    pub priority: i64,
}

/// Whether an attempt's failure is final for a test job: failures of sites and of the
/// infrastructure are retried (C-49).
pub fn is_final_failure(failure: FailureClass) -> bool {
    match failure {
        FailureClass::Payload => true,
        FailureClass::Site | FailureClass::Infrastructure | FailureClass::RemoteOpen => false,
    }
}
