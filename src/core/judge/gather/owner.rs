//! Whose work it is: figures of a task's user or working group, of its share, and of the user at
//! each queue (spec atlas 8.1, 8.5, 10).

use super::census::QUEUED;
use super::site::Sites;
use super::{Look, Notes};
use crate::core::cut::Topic;
use crate::core::event::{Configured, Quota, QuotaKind, Scope, Status, UserKind, user_name};
use crate::core::fold::is_newer;
use crate::core::id::Name;
use crate::core::judge::share::{Balance, Tree, executing_and_queued};
use crate::core::judge::world::World;
use crate::core::output::throttle::{self, SubjectKind, owner_of};
use crate::core::policy::rule::Rule;
use crate::core::policy::{Case, Owner, UserView};
use crate::core::state::State;
use crate::core::state::ledger::{AtShare, GROUP, Totals, USER, at_queue, starts_per_hour};
use std::cell::OnceCell;

/// What was counted of owners and shares at a cut, once somebody asked.
#[derive(Default)]
pub(super) struct Counted {
    /// Classes of sites and what hangs on them, by the rules they are made by.
    pub(super) sites: Vec<Sites>,
    balance: OnceCell<Balance>,
    /// The tree of shares; it stays while no share is told of.
    tree: OnceCell<Tree>,
    /// By place of the queue: jobs that start an hour.
    starts: Vec<OnceCell<f64>>,
}

impl Counted {
    /// A new cut; `other_shares`: shares, queues or other facts may have changed.
    pub(super) fn turn(&mut self, other_shares: bool) {
        match other_shares {
            true => self.sites.clear(),
            false => self.sites.iter_mut().for_each(Sites::turn),
        }
        self.balance = OnceCell::new();
        self.starts.clear();
        if other_shares {
            self.tree = OnceCell::new();
        }
    }
}

impl Notes {
    fn standing(&self, state: &State) -> (&Tree, &Balance) {
        let tree = self.counted.tree.get_or_init(|| Tree::of(state));
        let make = || Balance::new(tree, &executing_and_queued(state));
        (tree, self.counted.balance.get_or_init(make))
    }
}

/// What an owner has on the whole grid.
fn totals(state: &State, (kind, name): (SubjectKind, &str)) -> Totals {
    let kind = if kind == SubjectKind::Group { GROUP } else { USER };
    state.ledger.totals(state.known_name(name), kind)
}

/// The rules by which a subject is throttled now.
fn throttled(state: &State, (kind, subject): (SubjectKind, &str)) -> Vec<Rule> {
    let stands = |rule: &Rule| {
        let throttle = state.throttles.of(&throttle::name(kind, subject, rule.name()));
        throttle.is_some_and(|throttle| throttle.stands(state.now))
    };
    match state.throttles.is_empty() {
        true => Vec::new(),
        false => Rule::ALL.into_iter().filter(stands).collect(),
    }
}

/// As a part of the whole.
fn part(percent: f64) -> f64 {
    percent / 100.0
}

impl World {
    /// What is told of the owner of an analysis task: its quotas and caps.
    pub(super) fn look_up_owner(&mut self, state: &State, case: &mut Case<'_>) {
        self.notes.counted.starts.resize_with(self.queues.len(), OnceCell::new);
        self.look_up(state, owner_of(case.task), &mut case.owner);
    }

    /// What is told of a user or working group.
    fn look_up(&self, state: &State, (kind, name): (SubjectKind, &str), owner: &mut Owner) {
        let (kind, user_kind) = match kind {
            SubjectKind::Group => (QuotaKind::Group, UserKind::Group),
            _ => (QuotaKind::User, UserKind::User),
        };
        let user = state.facts.users.of(&user_name(user_kind, name));
        if let Some(user) = user.and_then(|fact| fact.current(is_newer)) {
            owner.cap_jobs = user.cap_running_jobs;
            owner.cap_cores = user.cap_running_cores;
        }
        self.quotas(state, (kind, name), owner);
    }

    /// A user or working group by itself, whatever it asks for.
    pub(crate) fn owner(&self, state: &State, of: (SubjectKind, &str)) -> Owner {
        let mut owner = Owner { totals: Some(totals(state, of)), ..Owner::default() };
        self.look_up(state, of, &mut owner);
        owner
    }

    /// Quotas of one endpoint are local, all others global. One without a limit is none.
    fn quotas(&self, state: &State, (kind, subject): (QuotaKind, &str), owner: &mut Owner) {
        let any = Quota { kind, subject: subject.to_owned(), ..Quota::default() };
        let stem = any.name();
        let quotas = &state.facts.quotas;
        let named =
            quotas.by_name.range(stem.clone()..).take_while(|(it, _)| it.starts_with(&stem));
        for (_, slot) in named {
            let fact = quotas.slab.get(*slot).and_then(|fact| fact.current(is_newer));
            let Some(quota) = fact.filter(|quota| quota.subject == subject) else { continue };
            let Some(limit) = quota.limit_bytes.filter(|limit| *limit > 0) else { continue };
            let used = quota.used_bytes as f64 / limit as f64;
            if self.storage_named(&quota.expression).is_none() {
                owner.quota_used = Some(owner.quota_used.map_or(used, |most| most.max(used)));
            } else if used >= 1.0 {
                owner.full_endpoints.push(quota.expression.clone());
            }
        }
    }

    /// What is counted of the owner of an analysis task and of its share.
    pub fn count_owner(&self, state: &State, case: &mut Case<'_>) {
        if case.scope != Scope::Analysis {
            return;
        }
        let (task, owner) = (case.task, &mut case.owner);
        // A case is surveyed before its owner is counted.
        let Some(sites) = self.notes.counted.sites.iter().find(|it| it.rules == case.sites) else {
            return;
        };
        let census = sites.census(state, self);
        let whose = owner_of(task);
        owner.totals = Some(totals(state, whose));
        owner.throttled = throttled(state, whose);
        owner.throttled.extend(throttled(state, (SubjectKind::Task, &task.task)));
        owner.slots = Some(census.slots(state.known_name(&task.user)));
        [owner.share_queued, owner.share_running] = census.share(state.known_name(&task.gshare));
        let (tree, balance) = self.notes.standing(state);
        owner.share_usage = balance.of(tree, &task.gshare).map(|it| part(it.percent()));
        owner.level1_usage = balance.equivalent_percent(tree, &task.gshare).map(part);
    }
}

impl Look<'_> {
    /// What is known of the task's user, and of users, at one queue.
    pub(super) fn user(&self, at: u32, queue: Name, share: Option<&AtShare>) -> UserView {
        if self.case.scope != Scope::Analysis {
            return UserView::default();
        }
        let (ledger, survey) = (&self.state.ledger, self.survey);
        let mut view = UserView {
            users: Some(share.map_or(0, |share| share.users)),
            all_running: Some(share.map_or(0, |share| share.jobs[Status::Running.index()])),
            starts_per_hour: self.starts(at, queue),
            site_class: self.site_class(at),
            ..UserView::default()
        };
        if view.users != Some(0)
            && let (Some(user), Some(gshare)) = (survey.user, survey.gshare)
        {
            for count in ledger.of_user(user, queue, gshare).into_iter().flatten() {
                let jobs = |status: Status| count.by[status.index()].jobs;
                view.present |= count.is_active();
                view.queued += QUEUED.into_iter().map(jobs).sum::<u32>();
                view.running += jobs(Status::Running);
            }
        }
        if let Some(tally) = ledger.tally.of(at_queue(survey.task, queue, 0)) {
            let ended = tally.since(self.case.now.saturating_sub(self.case.owner.outcomes_ms));
            [view.finished, view.failed, view.closed] =
                ended.map(|jobs| u32::try_from(jobs).unwrap_or(u32::MAX));
        }
        view
    }

    /// Jobs of all shares that start an hour.
    fn starts(&self, at: u32, queue: Name) -> f64 {
        let look = || {
            let starts = self.state.ledger.starts.of([queue.0, 0, 0, 0]);
            let time = self.state.times.of(Topic::JobState).time;
            starts.map_or(0.0, |starts| starts_per_hour(starts, time))
        };
        let noted = self.world.notes.counted.starts.get(at as usize);
        noted.map_or_else(look, |noted| *noted.get_or_init(look))
    }
}
