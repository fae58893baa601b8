//! Takes up changes of a pool's configuration record by record: making all of the pool again takes
//! as long as it has jobs.

use super::PoolView;
use crate::domain::cms::policy::entry::WorkflowEntry;
use crate::domain::cms::policy::facts::Workflow;
use crate::domain::cms::policy::records::Arrived;
use crate::domain::cms::state::PoolJob;
use crate::event::{User, UserKind, is_newer};
use crate::state::State;
use crate::topic::Topic;
use std::collections::BTreeSet;

/// Sites and users whose change affects jobs and slots of the pool.
#[derive(Default)]
struct Effect<'a> {
    /// Sites that give something else: what runs there by no match of ours is booked by it.
    sites: BTreeSet<&'a str>,
    /// Users that may flag system jobs and could not, or the other way round (C-05).
    users: BTreeSet<&'a str>,
}

impl PoolView {
    /// Whether a workflow that was over is stated to be open: an end cannot be taken back.
    pub(super) fn is_any_reopened(&self, state: &State, changed: &BTreeSet<String>) -> bool {
        let Some(pool) = &self.pool else { return false };
        changed.iter().any(|name| {
            let stated = state.pool.workflows.of(name).and_then(Workflow::of);
            let entry = pool.name(name).and_then(|it| pool.workflow(it));
            let known = entry.and_then(WorkflowEntry::workflow);
            stated.is_some_and(Workflow::is_live) && known.is_some_and(|known| !known.is_live())
        })
    }

    /// Takes up configuration that changed; `false`: the pool must be made again.
    pub(super) fn configure(&mut self, state: &State, changed: &BTreeSet<(Topic, String)>) -> bool {
        let mut effect = Effect::default();
        for (topic, name) in changed {
            let is_taken = match topic {
                Topic::Site => self.put_site(state, name, &mut effect),
                Topic::User => self.put_user(state, name, &mut effect),
                _ => continue,
            };
            if !is_taken {
                return false;
            }
            self.changes += 1;
        }
        if !effect.sites.is_empty() || !effect.users.is_empty() {
            self.judge_again(state, &effect);
        }
        true
    }

    /// A site as it is stated now. One that is gone, or of which something older is stated, cannot
    /// be taken back.
    fn put_site<'a>(&mut self, state: &State, name: &'a str, effect: &mut Effect<'a>) -> bool {
        let Some(pool) = &mut self.pool else { return false };
        let site = state.facts.sites.of(name).and_then(|fact| fact.current(is_newer));
        let stated = site.and_then(|site| site.slot_quota.as_ref());
        let known = pool.name(name).and_then(|it| pool.quota(it));
        let (is_same, is_known) = (stated == known, known.is_some());
        match stated {
            _ if is_same => true,
            None => false,
            Some(stated) => match pool.put_site(name, stated) {
                Arrived::Accepted => effect.sites.insert(name),
                Arrived::Ignored | Arrived::Rejected(_) => !is_known,
            },
        }
    }

    fn put_user<'a>(&mut self, state: &State, name: &'a str, effect: &mut Effect<'a>) -> bool {
        let Some(pool) = &mut self.pool else { return false };
        let user = state.facts.users.of(name).and_then(|fact| fact.current(is_newer));
        let stated = user.filter(|user| user.kind == UserKind::User);
        let entry = pool.name(name).and_then(|it| pool.user(it));
        let known = entry.and_then(|entry| entry.record.as_ref());
        let roles = &pool.settings().system_roles;
        let may_flag = |record: Option<&User>| {
            record.is_some_and(|record| record.roles.iter().any(|role| roles.contains(role)))
        };
        if may_flag(stated) != may_flag(known) {
            effect.users.insert(name);
        }
        if let Some(stated) = stated {
            pool.put_user(stated.clone());
            return true;
        }
        known.is_none()
    }

    fn judge_again(&mut self, state: &State, effect: &Effect<'_>) {
        let is_of_user = |workflow: &str| {
            let record = state.pool.workflows.of(workflow).and_then(|it| it.record.as_ref());
            record.is_some_and(|record| effect.users.contains(record.user.as_str()))
        };
        let is_concerned = |job: &PoolJob| {
            let is_booked = job.matched.is_none() && job.held();
            let wants = job.requirements.as_ref();
            let is_system = wants.is_some_and(|(.., wants)| wants.system_job);
            job.state.as_ref().is_some_and(|it| {
                is_booked && effect.sites.contains(it.site.as_str())
                    || is_system && is_of_user(&it.workflow)
            })
        };
        let jobs = state.pool.jobs.iter().filter(|(_, job)| is_concerned(job));
        jobs.for_each(|(name, _)| self.put_job(state, name));
    }
}
