//! The owner of the work: figures of a task's user or working group, of its share, and of the user
//! at each queue (spec atlas 8.1, 8.5, 10).

use super::CandidateInputs;
use crate::cut::Topic;
use crate::domain::atlas::judge::caches::SiteClasses;
use crate::domain::atlas::policy::{Candidate, Owner, UserView};
use crate::event::is_newer;
use crate::event::{Configured, Quota, QuotaKind, Scope, Status, Task, UserKind, user_name};
use crate::id::Name;
use crate::judge::view::CutView;
use crate::output::throttle::{self, Subject, SubjectKind, owner_of};
use crate::policy::rule::Rule;
use crate::state::State;
use crate::state::ledger::{GROUP, Totals, USER, at_queue, starts_per_hour};

/// Jobs of a user in a share at a queue.
pub(super) struct UserJobs {
    queue: Name,
    is_present: bool,
    queued: u32,
    running: u32,
}

/// Jobs and cores of an owner on the whole grid.
fn totals(state: &State, (kind, name): (SubjectKind, &str)) -> Totals {
    let kind = if kind == SubjectKind::Group { GROUP } else { USER };
    state.ledger.totals(state.known_name(name), kind)
}

/// The rules by which a subject is throttled now.
pub(super) fn throttled(state: &State, (kind, subject): &Subject) -> Vec<Rule> {
    let stands = |rule: &Rule| {
        let throttle = state.throttles.of(&throttle::name(*kind, subject, rule.name()));
        throttle.is_some_and(|throttle| throttle.holds(state.now))
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

impl CutView<'_> {
    /// Figures of the owner of an analysis task and of its share.
    pub(super) fn owner_of_task(self, task: &Task, sites: &SiteClasses) -> Owner {
        let CutView { state, caches, .. } = self;
        let census = sites.census(state, self.world);
        let owner = owner_of(task);
        let [share_queued, share_running] = census.share(state.known_name(&task.gshare));
        let (tree, balance) = caches.shares().at(state);
        let mut throttled_by = throttled(state, &(owner.0, owner.1.to_owned()));
        throttled_by.extend(throttled(state, &(SubjectKind::Task, task.task.clone())));
        Owner {
            throttled: throttled_by,
            slots: Some(census.slots(state.known_name(&task.user))),
            share_queued,
            share_running,
            share_usage: balance.of(tree, &task.gshare).map(|it| part(it.percent())),
            level1_usage: balance.equivalent_percent(tree, &task.gshare).map(part),
            ..self.owner(owner)
        }
    }

    /// A user or working group by itself, whatever it asks for: its jobs, quotas and caps.
    pub(crate) fn owner(self, of: (SubjectKind, &str)) -> Owner {
        let (kind, name) = of;
        let (quota_kind, user_kind) = match kind {
            SubjectKind::Group => (QuotaKind::Group, UserKind::Group),
            SubjectKind::User | SubjectKind::Task | SubjectKind::Queue | SubjectKind::Share => {
                (QuotaKind::User, UserKind::User)
            }
        };
        let user = self.state.facts.users.of(&user_name(user_kind, name));
        let user = user.and_then(|fact| fact.current(is_newer));
        let mut owner = Owner {
            totals: Some(totals(self.state, of)),
            cap_jobs: user.and_then(|user| user.cap_running_jobs),
            cap_cores: user.and_then(|user| user.cap_running_cores),
            ..Owner::default()
        };
        self.add_quotas((quota_kind, name), &mut owner);
        owner
    }

    /// Quotas of one endpoint are local, all others global. One without a limit is none.
    fn add_quotas(self, (kind, subject): (QuotaKind, &str), owner: &mut Owner) {
        let any = Quota { kind, subject: subject.to_owned(), ..Quota::default() };
        let stem = any.name();
        let quotas = &self.state.facts.quotas;
        let named =
            quotas.by_name.range(stem.clone()..).take_while(|(it, _)| it.starts_with(&stem));
        for (_, slot) in named {
            let fact = quotas.slab.get(*slot).and_then(|fact| fact.current(is_newer));
            let Some(quota) = fact.filter(|quota| quota.subject == subject) else { continue };
            let Some(limit) = quota.limit_bytes.filter(|limit| *limit > 0) else { continue };
            let used = quota.used_bytes as f64 / limit as f64;
            if !quota.is_of_endpoint() {
                owner.quota_used = Some(owner.quota_used.map_or(used, |most| most.max(used)));
            } else if used >= 1.0 {
                owner.full_endpoints.push(quota.expression.clone());
            }
        }
    }
}

impl CandidateInputs<'_> {
    /// Adds to the candidate of a queue what is known of the task's user, and of users, there.
    #[inline]
    pub(super) fn add_user(&self, at: u32, candidate: &mut Candidate<'_>) {
        if self.case.scope == Scope::Analysis {
            candidate.user = self.user(at);
        }
    }

    fn user(&self, at: u32) -> UserView {
        let queue = self.view.world.queues[at as usize].unified;
        let share = self.share(at, queue);
        let (ledger, survey) = (&self.view.state.ledger, self.survey);
        let mut view = UserView {
            users: Some(share.map_or(0, |share| share.users)),
            all_running: Some(share.map_or(0, |share| {
                share.jobs[Status::Running.index()].saturating_sub(share.merging)
            })),
            starts_per_hour: self.starts(at, queue),
            site_class: self.site_class(at),
            ..UserView::default()
        };
        if view.users != Some(0) {
            let here = survey.user_jobs.get_or_init(|| self.user_jobs());
            if let Ok(at) = here.binary_search_by_key(&queue, |jobs| jobs.queue) {
                view.present = here[at].is_present;
                view.queued = here[at].queued;
                view.running = here[at].running;
            }
        }
        // Without any reservation in the share there is none of the user.
        if share.is_some_and(|share| share.reserved > 0)
            && let (Some(user), Some(gshare)) = (survey.user, survey.gshare)
            && let Some(reserved) = ledger.reserved.of([user.0, queue.0, gshare.0, 0])
        {
            view.present |= *reserved > 0;
            view.queued = view.queued.saturating_add(*reserved);
        }
        if let Some(jobs) = ledger.ended.of(at_queue(survey.task, queue, 0)) {
            let ended = jobs.since(self.case.now.saturating_sub(self.case.owner.outcomes_ms));
            [view.finished, view.failed, view.closed] =
                ended.map(|jobs| u32::try_from(jobs).unwrap_or(u32::MAX));
        }
        view
    }

    /// The jobs of the task's user in its share, by queue. A user has jobs at few queues, so one
    /// walk over them costs less than a look for them at every queue.
    fn user_jobs(&self) -> Vec<UserJobs> {
        let (Some(user), Some(gshare)) = (self.survey.user, self.survey.gshare) else {
            return Vec::new();
        };
        let all = self.view.state.ledger.of_user(user, gshare).map(|(queue, count)| {
            let jobs = |status: Status| count.by[status.index()].jobs;
            UserJobs {
                queue,
                is_present: count.is_active(),
                queued: Status::QUEUED.into_iter().map(jobs).sum(),
                running: jobs(Status::Running),
            }
        });
        let mut all: Vec<UserJobs> = all.collect();
        all.sort_unstable_by_key(|jobs| jobs.queue);
        all.dedup_by(|other, jobs| {
            let is_same = other.queue == jobs.queue;
            if is_same {
                jobs.is_present |= other.is_present;
                jobs.queued += other.queued;
                jobs.running += other.running;
            }
            is_same
        });
        all
    }

    /// Jobs of all shares that start an hour.
    fn starts(&self, at: u32, queue: Name) -> f64 {
        let CutView { state, world, caches, .. } = self.view;
        caches.starts(at, world.queues.len(), || {
            let starts = state.ledger.starts.of([queue.0, 0, 0, 0]);
            let time = state.times.of(Topic::JobState).time;
            starts.map_or(0.0, |starts| starts_per_hour(starts, time))
        })
    }
}
