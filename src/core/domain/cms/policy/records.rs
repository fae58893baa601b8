//! Records that come into the pool. Putting a record again replaces it.

use super::counters::{Contribution, at as slot, grown};
use super::effective::effective_test_jobs;
use super::entry::{GrantEntry, Standing};
use super::facts::{
    Class, HeldJob, MilliWeight, PendingJob, Seconds, SlotQuota, Tier, Workflow, seconds,
};
use super::pool::Pool;
use super::quota::terms;
use crate::domain::cms::state::{PoolNode, PoolWorkflow};
use crate::event::{BadQuota, Grant, GrantScopeKind, PrincipalKind, User};
use crate::id::Name;
use crate::math::decay::Usage;
use std::sync::Arc;

/// Result of putting a site's quota set into the pool (C-24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It is in force.
    Accepted,
    /// One of a higher revision is in force.
    Ignored,
    /// It cannot be in force.
    Rejected(BadQuota),
}

impl Pool {
    /// The quota set of a site: in force if it is valid and of no lower revision; of several of one
    /// revision the newest record is to be given (C-24, C-26).
    pub fn put_site(&mut self, site: &str, quota: &SlotQuota) -> Arrived {
        let name = self.names.intern(site);
        let terms = match terms(quota, &self.settings) {
            Ok(terms) => terms,
            Err(bad) => return Arrived::Rejected(bad),
        };
        if self.site(name).is_some_and(|old| old.revision > quota.revision) {
            return Arrived::Ignored;
        }
        if terms.tier == Tier::T1 {
            self.t1s.entry(name).or_insert(Seconds::MIN);
        } else {
            self.t1s.remove(&name);
        }
        *slot(&mut self.terms, name) = Some(terms);
        self.quotas.insert(name, quota.clone());
        Arrived::Accepted
    }

    /// A workflow whose record was read. What decisions stated of the workflow stays: a record that
    /// says less is an older one.
    pub fn put_workflow(&mut self, mut known: PoolWorkflow) {
        let name = self.names.intern(&known.workflow);
        keep_decided(&mut known, &slot(&mut self.workflows, name).known);
        let Some(record) = &known.record else { return };
        let test_jobs = effective_test_jobs(&record.facts, &self.settings);
        let changed = slot(&mut self.workflows, name).test_jobs != test_jobs;
        let jobs: Vec<Arc<str>> = match changed {
            true => {
                let jobs = slot(&mut self.workflows, name).jobs.iter();
                jobs.map(|(_, job)| Arc::clone(job)).collect()
            }
            false => Vec::new(),
        };
        jobs.iter().for_each(|job| self.unlist(job));
        let user = self.names.intern(&record.user);
        let group = Some(&record.working_group).filter(|group| !group.is_empty());
        let group = group.map(|group| self.names.intern(group));
        let mut named = |sites: &[String]| -> Vec<Name> {
            let mut sites: Vec<Name> = sites.iter().map(|site| self.names.intern(site)).collect();
            sites.sort_unstable();
            sites.dedup();
            sites
        };
        let overflow_list = record.facts.overflow_sites.as_deref().map(&mut named);
        let overflow_used = named(&known.overflow_sites);
        let entry = slot(&mut self.workflows, name);
        (entry.user, entry.group, entry.test_jobs) = (user, group, test_jobs);
        (entry.overflow_list, entry.overflow_used) = (overflow_list, overflow_used);
        entry.known = known;
        jobs.iter().for_each(|job| self.list(job));
    }

    /// A user's record: groups, roles, decayed usage. What the user holds counts for the new groups
    /// from then on.
    pub fn put_user(&mut self, record: User) {
        let user = self.names.intern(&record.name);
        let old = slot(&mut self.users, user).record.as_ref().and_then(past_usage);
        self.book_decayed(user, old, -1);
        self.book_decayed(user, past_usage(&record), 1);
        slot(&mut self.users, user).record = Some(record);
        self.regroup(user);
    }

    /// States X of F-3 of a user's jobs that ended, at the landmark of the pool's clock. What held
    /// jobs contribute stays, and so does what the user's record states.
    pub fn set_past_use(&mut self, user: &str, x: i128) {
        let user = self.names.intern(user);
        let known = std::mem::replace(&mut slot(&mut self.users, user).past_x, x);
        let usage = Usage { x: x.saturating_sub(known), ..Usage::default() };
        self.counters.book(&[Contribution::Usage(user, usage)], 1);
    }

    fn book_decayed(&mut self, user: Name, stated: Option<(MilliWeight, Seconds)>, sign: i64) {
        let Some((milli, at_s)) = stated else { return };
        let x = grown(milli, self.decay.growth(at_s));
        let usage = Usage { x, ..Usage::default() };
        self.counters.book(&[Contribution::Usage(user, usage)], sign);
    }

    /// Finds the groups of a user again, and moves what it holds to them.
    fn regroup(&mut self, user: Name) {
        let entry = slot(&mut self.users, user);
        let stated = entry.record.as_ref().map(|record| record.groups.clone()).unwrap_or_default();
        let mut groups: Vec<Name> = stated.iter().map(|group| self.names.intern(group)).collect();
        groups.sort_unstable();
        groups.dedup();
        let old = std::mem::replace(&mut slot(&mut self.users, user).groups, groups.clone());
        for (site, held) in self.counters.sites_of_user(user) {
            for class in Class::ALL {
                let of = |groups: &[Name]| -> Vec<Contribution> {
                    let milli = held.of(class);
                    let each = groups.iter();
                    each.map(|group| Contribution::Group(*group, site, class, milli)).collect()
                };
                self.counters.book(&of(&old), -1);
                self.counters.book(&of(&groups), 1);
            }
        }
    }

    /// The grants in force, all of them (C-19).
    pub fn set_grants(&mut self, grants: impl IntoIterator<Item = Grant>) {
        self.users.iter_mut().for_each(|user| user.grants.clear());
        self.group_grants.clear();
        self.grants.clear();
        for (at, grant) in grants.into_iter().enumerate() {
            let principal = self.names.intern(&grant.principal);
            let of_principal = match grant.principal_kind {
                PrincipalKind::User => &mut slot(&mut self.users, principal).grants,
                PrincipalKind::Group => self.group_grants.entry(principal).or_default(),
            };
            of_principal.push(at);
            let group = Some(&grant.only_with_group).filter(|group| !group.is_empty());
            let only_with_group = group.map(|group| self.names.intern(group));
            let is_of_site = grant.scope_kind == GrantScopeKind::Site;
            let site = is_of_site.then(|| self.names.intern(&grant.scope));
            self.grants.push(GrantEntry { grant, principal, only_with_group, site });
        }
    }

    /// A node.
    pub fn put_node(&mut self, node: PoolNode) {
        self.nodes.insert(node.node.clone(), node);
    }

    /// A job that waits, in place of what was known of it. It has no effect where a newer attempt
    /// is known, or where this one is held already (C-09).
    pub fn put_pending(&mut self, job: PendingJob) {
        let is_old = self.jobs.get(&job.job).is_some_and(|known| match known {
            Standing::Pending(known) => known.attempt > job.attempt,
            Standing::Held(held) => held.job.attempt >= job.attempt,
        });
        if is_old {
            return;
        }
        let name = Arc::clone(&job.job);
        self.put_job(name, Standing::Pending(Box::new(job)));
    }

    /// A job that is held, in place of what was known of it. It has no effect where a newer attempt
    /// is known (C-09).
    pub fn put_held(&mut self, held: HeldJob) {
        let known = self.jobs.get(&held.job.job);
        if known.is_some_and(|known| known.job().attempt > held.job.attempt) {
            return;
        }
        let name = Arc::clone(&held.job.job);
        self.put_job(name, Standing::Held(Box::new(held)));
    }

    /// A job is gone: it was removed, or ended.
    pub fn remove_job(&mut self, job: &str) -> Option<Standing> {
        let (name, _) = self.jobs.get_key_value(job)?;
        let name = Arc::clone(name);
        self.unlist(&name);
        let standing = self.jobs.remove(&name)?;
        let workflow = self.names.intern(&standing.job().workflow);
        slot(&mut self.workflows, workflow).jobs.remove(&(standing.job().seq, name));
        Some(standing)
    }

    /// Time passes: the landmark of decay follows (F-3).
    pub fn pass_time(&mut self, now_s: Seconds) {
        let digits = self.decay.rebase(now_s);
        if digits > 0 {
            self.counters.shrink(digits);
            self.users.iter_mut().for_each(|user| user.past_x >>= digits);
        }
    }
}

/// Takes over what decisions stated of a workflow before: that the tail is boosted (C-16), that
/// operations were alerted (C-49), what jobs need (C-50), what became of it.
fn keep_decided(known: &mut PoolWorkflow, before: &PoolWorkflow) {
    known.boosted |= before.boosted;
    known.alerted |= before.alerted;
    known.profile = known.profile.or(before.profile);
    let is_live = Workflow::of(known).is_some_and(Workflow::is_live);
    if let (true, Some(record), Some(was)) = (is_live, &mut known.record, &before.record) {
        (known.killed, record.closed) = (before.killed, was.closed);
    }
}

/// Decayed usage of a user as known from elsewhere, and when it was so much (F-2).
pub(super) fn past_usage(user: &User) -> Option<(MilliWeight, Seconds)> {
    let usage = (user.past_usage_milli, seconds(user.past_usage_at));
    Some(usage).filter(|(milli, at_s)| *milli > 0 && *at_s > 0)
}
