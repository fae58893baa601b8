//! The same rules without an index: every job is looked at for every core, every counter is counted
//! again. Slow, short, and written of the specification's sentences one by one.

use super::random::{Put, Records};
use super::world::NOW_S;
use crate::domain::cms::policy::facts::{
    Class, CoresMax, FailureClass, HeldJob, PendingJob, SiteStatus, SlotQuota, Tier, Workflow,
};
use crate::domain::cms::policy::quota::{SiteTerms, terms};
use crate::domain::cms::policy::records::past_usage;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{PoolOffer, PoolWorkflow};
use crate::event::{GrantScopeKind, PrincipalKind, User};
use crate::math::decay::Decay;
use crate::unit::SECOND;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i128),
    Text(String),
}

/// Records as lists.
pub struct Twin {
    settings: Settings,
    records: Records,
    sites: Vec<(String, SlotQuota)>,
    workflows: Vec<PoolWorkflow>,
    users: Vec<User>,
    pub pending: Vec<PendingJob>,
    pub held: Vec<HeldJob>,
}

/// A job that passes, with its rank keys and its allocation.
struct Match {
    job: usize,
    keys: Vec<Key>,
    held: HeldJob,
    rss_mb: i64,
}

impl Twin {
    pub fn new(records: &Records) -> Twin {
        let mut twin = Twin {
            settings: records.settings.clone(),
            records: records.clone(),
            sites: Vec::new(),
            workflows: Vec::new(),
            users: Vec::new(),
            pending: Vec::new(),
            held: Vec::new(),
        };
        for put in records.puts.clone() {
            match put {
                Put::Site(name, quota) => twin.sites.push((name, quota)),
                Put::Workflow(workflow) => twin.workflows.push(workflow),
                Put::User(user) => twin.users.push(user),
                Put::Pending(job) => twin.pending.push(job),
                Put::Held(held) => twin.held.push(held),
            }
        }
        twin
    }

    fn terms(&self, site: &str) -> Option<SiteTerms> {
        terms(self.quota(site)?, &self.settings).ok()
    }

    fn quota(&self, site: &str) -> Option<&SlotQuota> {
        Some(&self.sites.iter().find(|(name, _)| name == site)?.1)
    }

    fn groups_of(&self, user: &str) -> BTreeSet<String> {
        let own = self.users.iter().filter(|it| it.name == user);
        own.flat_map(|it| it.groups.clone()).collect()
    }

    fn weight(&self, counts: impl Fn(&HeldJob) -> bool) -> i64 {
        self.held.iter().filter(|held| counts(held)).map(|held| held.weight_milli).sum()
    }

    fn cost(&self, cores: i64) -> i64 {
        if self.settings.overflow_in_cores { cores } else { 1 }
    }

    fn serves(&self, host: &str) -> bool {
        self.terms(host).is_some_and(|terms| terms.status != SiteStatus::Offline)
    }

    fn spare(&self, host: &str) -> i64 {
        let slots = self.terms(host).map_or(0, |terms| terms.overflow_slots);
        let read = self.held.iter().filter(|held| held.overflow_source.as_deref() == Some(host));
        slots - read.map(|held| self.cost(held.cores)).sum::<i64>()
    }

    /// Fills an offer; the jobs in the order taken.
    pub fn fill(&mut self, open: &mut PoolOffer) -> Vec<String> {
        let mut taken = Vec::new();
        while open.cores_left() > 0 {
            let all = (0..self.pending.len()).filter_map(|job| self.matching(job, open));
            let Some(best) = all.min_by(|a, b| a.keys.cmp(&b.keys)) else { break };
            open.cores_taken += best.held.cores;
            open.mem_taken_mb += best.rss_mb;
            taken.push(self.pending.remove(best.job).job.to_string());
            self.held.push(best.held);
        }
        taken
    }

    fn matching(&self, at: usize, open: &PoolOffer) -> Option<Match> {
        let (job, settings, site) = (&self.pending[at], &self.settings, &open.site);
        let terms = self.terms(site)?;
        let known = self.workflows.iter().find(|it| it.workflow == job.workflow)?;
        let workflow = Workflow::of(known)?;
        let class = workflow.facts().class;
        match terms.status {
            SiteStatus::Online => {}
            SiteStatus::Test if workflow.facts().site_test => {}
            SiteStatus::Test | SiteStatus::Drain | SiteStatus::Offline => return None,
        }
        let cores = match job.most_cores() {
            _ if job.whole_node => open.cores_left(),
            CoresMax::Node => open.cores_left(),
            CoresMax::Cores(most) => most.min(open.cores_left()),
        };
        let is_local = job.site_whitelist.as_ref().is_none_or(|sites| sites.contains(site));
        let source = if is_local { None } else { Some(self.host(job, workflow, site, cores)?) };
        if open.cores_left() < job.cores_min
            || job.whole_node && open.cores_left() != open.offer.cores_total
        {
            return None;
        }
        let (mut wall, mut rss) = (job.max_wall_time_s?, job.max_rss_mb?);
        if cores != job.base() {
            wall = (wall * job.base() + cores - 1) / cores + 900;
            rss = (rss + 500 * (cores - job.base())).max(0);
        }
        if wall > open.wall_left_s(NOW_S * SECOND) || rss > open.mem_left_mb() {
            return None;
        }
        let high_io =
            job.high_io && (job.site_whitelist.is_some() || !settings.ignores_bare_high_io);
        let storage = |held: &HeldJob| {
            let counts = held.job.high_io
                && (held.job.site_whitelist.is_some() || !settings.ignores_bare_high_io);
            counts.then(|| held.overflow_source.clone().unwrap_or(held.run_site.clone()))
        };
        let read_at = source.clone().unwrap_or(site.clone());
        let readers = self.held.iter().filter(|held| storage(held).as_ref() == Some(&read_at));
        if high_io && readers.count() as i64 >= self.terms(&read_at)?.high_io_slots {
            return None;
        }
        let kappa =
            open.offer.corepower_mhs06.map_or(terms.kappa_milli, |it| settings.kappa_milli(it));
        let weight = cores * kappa;
        let charged = self.charged(workflow, &terms, open, weight)?;
        let is_member = job.seq > 0 && job.seq <= workflow.facts().test_jobs.unwrap_or(0);
        let of_user = |held: &&HeldJob| held.user == workflow.record.user;
        let in_band = |held: &&HeldJob| held.band == crate::domain::cms::policy::facts::Band::Test;
        let tests = self.held.iter().filter(of_user).filter(in_band).count() as i64;
        let band = match (job.system_job, is_member && tests < settings.test_band_user_cap) {
            (true, _) => crate::domain::cms::policy::facts::Band::System,
            (false, true) => crate::domain::cms::policy::facts::Band::Test,
            (false, false) => crate::domain::cms::policy::facts::Band::Normal,
        };
        let is_young = NOW_S - job.queued_at_s < settings.t1_first_s;
        if band.number() == 2 && class == Class::Central && is_young && self.waits(job, &terms) {
            return None;
        }
        let used = |class| self.weight(|it| it.run_site == *site && it.class == class);
        let (quota, accepts) = (terms.quota.of(class), terms.accept_surplus.of(class));
        if band.number() > 0 && quota == 0 && !accepts {
            return None;
        }
        if band.number() == 2 && quota > 0 && used(class) >= quota && !accepts {
            return None;
        }
        if let (Some(ceiling), None) = (self.ceiling(site, class), &charged) {
            let inside = |it: &HeldJob| it.run_site == *site && it.class == class;
            if self.weight(|it| inside(it) && it.charged_group.is_none()) + weight > ceiling {
                return None;
            }
        }
        let ratio = |class: Class| match terms.quota.of(class) {
            0 => (1, 0),
            quota => (i128::from(used(class)), i128::from(quota)),
        };
        let (central, analysis) = (ratio(Class::Central), ratio(Class::Analysis));
        let prefers_central =
            analysis.1 == 0 || central.1 > 0 && central.0 * analysis.1 <= analysis.0 * central.1;
        let preferred = if prefers_central { Class::Central } else { Class::Analysis };
        let number = |value: i64| Key::Number(i128::from(value));
        let mut keys = vec![number(band.number())];
        match band.number() {
            0 => keys.push(number(job.queued_at_s)),
            1 => keys.push(number(workflow.record.injected_at / SECOND)),
            _ => {
                keys.push(number(i64::from(class != preferred)));
                if class == Class::Analysis {
                    keys.push(number(-self.level(workflow, &terms, site)));
                    keys.push(Key::Number(self.fair_share(&workflow.record.user)));
                    keys.push(Key::Text(workflow.record.user.clone()));
                    keys.push(number(-job.user_priority));
                } else {
                    keys.push(number(-workflow.priority()));
                }
                keys.push(number(i64::from(!is_local)));
                if settings.fifo_bucket_s > 0 {
                    keys.push(number(job.queued_at_s / settings.fifo_bucket_s));
                    keys.push(number(open.wall_left_s(NOW_S * SECOND) - wall));
                    keys.push(number(open.mem_left_mb() - rss));
                }
                keys.push(number(job.queued_at_s));
            }
        }
        keys.push(Key::Text(job.workflow.clone()));
        keys.push(number(job.seq));
        keys.push(Key::Text(job.job.to_string()));
        let held = HeldJob {
            job: job.clone(),
            class,
            user: workflow.record.user.clone(),
            run_site: site.clone(),
            cores,
            rss_mb: rss,
            weight_milli: weight,
            band,
            overflow_source: source,
            charged_group: charged,
            node: None,
            reserved_at_s: Some(NOW_S),
            counts_from_s: NOW_S,
            started_at_s: None,
            expected_end_s: None,
        };
        Some(Match { job: at, keys, held, rss_mb: rss })
    }

    /// Whether a central job that is offered slots elsewhere may run at a T1 (C-17).
    fn waits(&self, job: &PendingJob, terms: &SiteTerms) -> bool {
        let takes = |site: &str| {
            self.terms(site).is_some_and(|it| {
                let takes = it.quota.central > 0 || it.accept_surplus.central;
                let is_offered = self.records.offers.iter().any(|offer| offer.site == site);
                it.tier == Tier::T1 && it.status == SiteStatus::Online && takes && is_offered
            })
        };
        let may_run =
            |site: &String| job.site_whitelist.as_ref().is_none_or(|sites| sites.contains(site));
        terms.tier != Tier::T1 && self.sites.iter().any(|(it, _)| takes(it) && may_run(it))
    }

    /// The host of an overflow job, where it may overflow (C-37..C-42).
    fn host(
        &self,
        job: &PendingJob,
        workflow: Workflow<'_>,
        site: &str,
        cores: i64,
    ) -> Option<String> {
        let settings = &self.settings;
        if !job.allow_overflow.unwrap_or(workflow.facts().allow_overflow)
            || job.system_job && !settings.system_overflow
            || job.high_io && !settings.high_io_overflow
            || job.last_failure == Some(FailureClass::RemoteOpen)
            || NOW_S - job.queued_at_s < settings.overflow_idle_s
        {
            return None;
        }
        let hosts: BTreeSet<&String> = job.site_whitelist.iter().flatten().collect();
        let known: Vec<&String> = hosts.into_iter().filter(|host| self.serves(host)).collect();
        let cost = self.cost(cores.max(job.cores_min));
        let sum: i64 = known.iter().map(|host| self.spare(host)).sum();
        let best = known
            .into_iter()
            .max_by(|a, b| self.spare(a).cmp(&self.spare(b)).then_with(|| b.cmp(a)))?;
        if sum < cost || self.spare(best) < cost {
            return None;
        }
        let live = self
            .held
            .iter()
            .filter(|held| held.job.workflow == job.workflow && held.overflow_source.is_some());
        let mut spread: BTreeSet<&str> = live.map(|held| held.run_site.as_str()).collect();
        spread.extend(workflow.known.overflow_sites.iter().map(String::as_str));
        let default = settings.max_overflow_sites.of(workflow.facts().class);
        let most = workflow.facts().max_overflow_sites.map_or(default, Some);
        let is_full = most.is_some_and(|most| spread.len() as i64 >= most);
        (spread.contains(site) || !is_full).then(|| best.clone())
    }

    /// The pool a job is charged to; `None` where there is no room (C-30).
    fn charged(
        &self,
        workflow: Workflow<'_>,
        terms: &SiteTerms,
        open: &PoolOffer,
        weight: i64,
    ) -> Option<Option<String>> {
        let blocks = self.restricted_blocks(&open.site);
        if blocks.is_empty() {
            return Some(None);
        }
        let (own, site) = (self.groups_of(&workflow.record.user), &open.site);
        let label = terms.restricted_labels.iter().find(|(it, _)| *it == open.offer.block);
        if label.is_some_and(|(_, group)| !own.contains(group)) {
            return None;
        }
        let pools: BTreeSet<&String> = blocks.iter().map(|(group, ..)| group).collect();
        // Blocks of one class take its jobs first, the others what is left over of both.
        let filled = |group: &str, extra: i64| {
            let slots = |only: Option<Class>| -> i64 {
                let of_group = blocks.iter().filter(|(of, it, _)| of == group && *it == only);
                of_group.map(|(_, _, milli)| milli).sum()
            };
            let of = |class: Class| {
                let extra = if class == workflow.facts().class { extra } else { 0 };
                let held = self.weight(|it| {
                    let of_group = self.groups_of(&it.user).contains(group);
                    it.run_site == *site && it.class == class && of_group
                });
                let alone = slots(Some(class)).min(held + extra);
                (alone, held + extra - alone)
            };
            let (own, other) = (of(workflow.facts().class), of(workflow.facts().class.other()));
            let open = slots(None);
            (own.0 + other.0 + open.min(own.1 + other.1), own.1 + open.min(other.1) <= open)
        };
        if let Some(pool) = pools.iter().find(|it| own.contains(**it) && filled(it, weight).1) {
            return Some(Some((*pool).clone()));
        }
        let in_pools: i64 = pools.iter().map(|it| filled(it, 0).0).sum();
        let shared = self.weight(|it| it.run_site == *site) - in_pools;
        (shared + weight <= terms.shared_milli).then_some(None)
    }

    /// Blocks for one group alone: group, the only class, weight.
    fn restricted_blocks(&self, site: &str) -> Vec<(String, Option<Class>, i64)> {
        let Some(quota) = self.quota(site) else { return Vec::new() };
        let kappa = self.settings.kappa_milli(quota.corepower_mhs06);
        let blocks = quota.extra_blocks.iter();
        blocks
            .filter_map(|it| Some((it.restricted_group.clone()?, it.class_only, it.slots * kappa)))
            .collect()
    }

    /// Most weight of a class in the part that all share: without the blocks of the other class
    /// (A.13 6).
    fn ceiling(&self, site: &str, class: Class) -> Option<i64> {
        let quota = self.quota(site)?;
        let open = || quota.extra_blocks.iter().filter(|it| it.restricted_group.is_none());
        let may = open().filter(|it| it.class_only.is_none_or(|only| only == class));
        let slots = quota.pledged_slots + may.map(|it| it.slots).sum::<i64>();
        let all = quota.pledged_slots + open().map(|it| it.slots).sum::<i64>();
        (slots < all).then(|| slots * self.settings.kappa_milli(quota.corepower_mhs06))
    }

    fn level(&self, workflow: Workflow<'_>, terms: &SiteTerms, site: &str) -> i64 {
        let own = self.groups_of(&workflow.record.user);
        let mut level = 0;
        for grant in &self.records.grants {
            let is_principal = |user: &str| match grant.principal_kind {
                PrincipalKind::User => grant.principal == user,
                PrincipalKind::Group => self.groups_of(user).contains(&grant.principal),
            };
            let covers = |site: &str| match grant.scope_kind {
                GrantScopeKind::Global => true,
                GrantScopeKind::Site => grant.scope == site,
                GrantScopeKind::Region => self
                    .terms(site)
                    .is_some_and(|terms| terms.region.as_ref() == Some(&grant.scope)),
            };
            let held = self.weight(|it| covers(&it.run_site) && is_principal(&it.user));
            let only = Some(&grant.only_with_group).filter(|only| !only.is_empty());
            let holds = is_principal(&workflow.record.user)
                && covers(site)
                && only.is_none_or(|only| workflow.record.working_group == *only)
                && (grant.valid_to == 0 || NOW_S < grant.valid_to / 1_000)
                && grant.cap_weight_milli.is_none_or(|cap| held < cap);
            level = level.max(if holds { grant.level } else { 0 });
        }
        for part in &terms.regional {
            let held = self
                .weight(|it| it.run_site == site && self.groups_of(&it.user).contains(&part.group));
            if own.contains(&part.group) && held < part.milli {
                level = level.max(self.settings.regional_level);
            }
        }
        level
    }

    /// E of a user, times growth (F-4).
    fn fair_share(&self, user: &str) -> i128 {
        let decay = Decay::at(self.settings.half_life_s, NOW_S);
        let growth = decay.growth(NOW_S);
        let stated = self.users.iter().find(|it| it.name == user).and_then(past_usage);
        let mut share = stated.map_or(0, |(milli, at_s)| i128::from(milli) * decay.growth(at_s));
        for held in self.held.iter().filter(|held| held.user == user) {
            let weight =
                self.settings.charge_milli(held.weight_milli, held.charged_group.is_some());
            share += match held.reserved_at_s {
                Some(_) => i128::from(weight) * growth,
                None => i128::from(weight) * (2 * growth - decay.growth(held.counts_from_s)),
            };
        }
        share
    }
}
