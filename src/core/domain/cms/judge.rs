//! A pool of slots as judging wants it: jobs, workflows, sites, users, nodes and offers, indexed.
//! Derived from the state, brought up to date by what it notes as touched (spec cms-nordugrid
//! Part A).

mod again;
mod answer;
mod configured;
mod cut;
mod facts;
mod holds;
mod judging;
pub(crate) mod offers;

use crate::budget::{CycleLoop, Exceeded};
use crate::domain::cms::policy::admission::{Admission, Rejection, admit};
use crate::domain::cms::policy::autocluster::Autocluster;
use crate::domain::cms::policy::cut::Step;
use crate::domain::cms::policy::decision::{PoolAction, fold_action};
use crate::domain::cms::policy::entry::WorkflowEntry;
use crate::domain::cms::policy::facts::Seconds;
use crate::domain::cms::policy::filter::may_run_at_t1;
use crate::domain::cms::policy::judge::MatchRules;
use crate::domain::cms::policy::moment::{Moment, StepBudget};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{PoolJob, PoolOffer, PoolTouched, PoolWorkflowRecord};
use crate::event::UserKind;
use crate::event::is_newer;
use crate::math::decay::Decay;
use crate::state::{NamedTable, State};
use crate::topic::Topic;
use crate::unit::SECOND;
pub(crate) use again::AskedAgain;
use cut::PoolCut;
use holds::Holds;
pub use judging::IdleJobs;
pub(crate) use judging::PoolJudging;
use std::collections::{BTreeMap, BTreeSet};

/// Why a job is refused whose workflow did not come in time.
const TOO_LATE: &str = Rejection::WorkflowUnknown.code();

/// The pool of slots, indexed for judging, with its jobs that are refused or on hold.
#[derive(Default)]
struct PoolView {
    pool: Option<Pool>,
    /// Jobs that admission refuses, with the code, until that is answered.
    refused: BTreeMap<String, &'static str>,
    /// Jobs that wait for their workflow's record; they are refused once that took too long.
    on_hold: Holds,
    /// Jobs of each workflow, in whatever state: they are judged again when its record changes.
    of_workflow: BTreeMap<String, BTreeSet<String>>,
    /// The workflow of each of these jobs.
    workflow_of: BTreeMap<String, String>,
    /// By what the jobs of a workflow were judged last: its record, and whether it was killed.
    judged_by: BTreeMap<String, (PoolWorkflowRecord, bool)>,
    /// Rises with each change: an offer that nothing fitted is looked at again once it rose.
    changes: u64,
    /// When the next job that waits for a T1 may take slots elsewhere (C-17).
    t1_wait_ends_s: Option<Seconds>,
    /// Offers of which a record was read, or that expired, since the cycle before.
    renewed: BTreeSet<String>,
}

impl PoolView {
    /// The pool; `None` before the first cycle.
    fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
    }

    /// Brings it up to date with the state at a cut. What depends on time alone follows too.
    fn begin_cut(&mut self, state: &mut State, settings: &Settings, everything: bool) {
        let facts = std::mem::take(&mut state.touched.facts);
        let is_configured = |topic: Topic| facts.iter().any(|(it, _)| *it == topic);
        let mut touched = std::mem::take(&mut state.pool.touched);
        let renewed = std::mem::take(&mut touched.offers);
        let now_s = now_s(state);
        let is_other = everything
            || touched.everything
            || self.pool.as_ref().is_none_or(|pool| {
                pool.settings() != settings
                    || *pool.decay() != Decay::at(settings.half_life_s, now_s)
            })
            || self.is_any_reopened(state, &touched.workflows)
            || !self.configure(state, &facts);
        if is_other {
            self.make(state, settings);
        } else {
            self.follow(state, &touched);
            if is_configured(Topic::Grant) {
                self.put_grants(state);
            }
        }
        self.renewed = renewed;
        if let Some(pool) = &mut self.pool {
            pool.pass_time(now_s);
            pool.note_offers(state.pool.offers.iter().map(|(_, offer)| offer));
        }
        self.changes += u64::from(self.t1_wait_ends_s.is_some_and(|ends_s| ends_s <= now_s));
        self.t1_wait_ends_s = self.pool.as_ref().and_then(|pool| t1_wait_ends_s(pool, now_s));
    }

    /// Jobs that admission refuses at this cut, each with the code: by name, then those whose
    /// workflow did not come in time, the longest waiting first.
    fn refused(&self, now_s: Seconds) -> impl Iterator<Item = (&str, &'static str)> {
        let refused = self.refused.iter().map(|(job, code)| (job.as_str(), *code));
        refused.chain(self.on_hold.over(now_s).map(|job| (job, TOO_LATE)))
    }

    /// The code by which a job is refused at this cut, if it is.
    fn refusal(&self, job: &str, now_s: Seconds) -> Option<&'static str> {
        let is_late = self.on_hold.is_over(job, now_s);
        self.refused.get(job).copied().or(is_late.then_some(TOO_LATE))
    }

    /// How many jobs are not looked at before any offer, by the code of the reason.
    fn blocked(&self) -> BTreeMap<&'static str, u64> {
        let mut blocked = BTreeMap::new();
        self.refused.values().for_each(|code| *blocked.entry(*code).or_default() += 1);
        if self.on_hold.len() > 0 {
            *blocked.entry(TOO_LATE).or_default() += self.on_hold.len() as u64;
        }
        blocked
    }

    /// Whether time alone may let a job fit an offer: it overflows once it has waited (C-41).
    fn overflow_may_begin(&self) -> bool {
        let Some(pool) = &self.pool else { return false };
        pool.settings().overflow_idle_s > 0
            && pool.clusters().iter().any(|cluster| {
                let signature = &cluster.signature;
                let entry = pool.workflow(signature.workflow);
                let workflow = entry.and_then(WorkflowEntry::workflow);
                let allows = workflow.is_some_and(|workflow| workflow.facts().allow_overflow);
                signature.whitelist.is_some() && signature.allow_overflow.unwrap_or(allows)
            })
    }

    /// Follows what a published output changed.
    fn note_output(&mut self, state: &mut State) {
        let touched = std::mem::take(&mut state.pool.touched);
        self.follow(state, &touched);
    }

    /// Makes it of the whole state.
    fn make(&mut self, state: &State, settings: &Settings) {
        let mut pool = Pool::new(settings.clone(), now_s(state));
        for (name, fact) in state.facts.sites.iter() {
            let site = fact.current(is_newer);
            if let Some(quota) = site.and_then(|site| site.slot_quota.as_ref()) {
                pool.put_site(name, quota);
            }
        }
        for (_, fact) in state.facts.users.iter() {
            let user = fact.current(is_newer).filter(|user| user.kind == UserKind::User);
            if let Some(user) = user {
                pool.put_user(user.clone());
            }
        }
        let changes = self.changes;
        *self = PoolView { pool: Some(pool), changes, ..PoolView::default() };
        self.put_grants(state);
        let all = PoolTouched {
            jobs: names(&state.pool.jobs),
            workflows: names(&state.pool.workflows),
            offers: BTreeSet::new(),
            users: names(&state.pool.users),
            nodes: names(&state.pool.nodes),
            everything: false,
        };
        self.follow(state, &all);
        self.changes += 1;
        // Jobs that ended are among those of the state for a while.
        let Some(pool) = &mut self.pool else { return };
        for (_, job) in state.pool.jobs.iter() {
            if let (Some(known), Some(at)) = (&job.state, job.given_at()) {
                pool.note_given(&known.workflow, at.div_euclid(SECOND));
            }
        }
    }

    fn follow(&mut self, state: &State, touched: &PoolTouched) {
        let PoolTouched { jobs, workflows, offers: _, users, nodes, everything: _ } = touched;
        if [jobs, workflows, users, nodes].iter().any(|names| !names.is_empty()) {
            self.changes += 1;
        }
        users.iter().for_each(|user| self.put_past_use(state, user));
        nodes.iter().for_each(|node| self.put_node(state, node));
        let mut again = BTreeSet::new();
        for workflow in workflows {
            if self.put_workflow(state, workflow) {
                again.extend(self.of_workflow.get(workflow).into_iter().flatten().cloned());
            }
        }
        again.extend(jobs.iter().cloned());
        again.iter().for_each(|job| self.put_job(state, job));
    }

    fn put_grants(&mut self, state: &State) {
        let Some(pool) = &mut self.pool else { return };
        let grants = state.facts.grants.iter().filter_map(|(_, fact)| fact.current(is_newer));
        pool.set_grants(grants.cloned());
        self.changes += 1;
    }

    fn put_past_use(&mut self, state: &State, user: &str) {
        let Some(pool) = &mut self.pool else { return };
        let x = state.pool.users.of(user).map_or(0, |known| known.x);
        pool.set_past_use(user, x);
    }

    fn put_node(&mut self, state: &State, node: &str) {
        let Some(pool) = &mut self.pool else { return };
        let Some(known) = state.pool.nodes.of(node) else { return };
        pool.put_node(known.clone());
    }

    /// A workflow as the state has it now; returns whether its jobs are to be judged again.
    fn put_workflow(&mut self, state: &State, workflow: &str) -> bool {
        let Some(pool) = &mut self.pool else { return false };
        let Some(known) = state.pool.workflows.of(workflow) else { return false };
        let Some(record) = &known.record else { return false };
        pool.put_workflow(known.clone());
        let judged_by = self.judged_by.get(workflow);
        if judged_by.is_some_and(|(by, killed)| by == record && *killed == known.killed) {
            return false;
        }
        self.judged_by.insert(workflow.to_owned(), (record.clone(), known.killed));
        true
    }

    /// A job as the state has it now: it waits, it is held, or it is neither.
    fn put_job(&mut self, state: &State, job: &str) {
        self.refused.remove(job);
        self.on_hold.remove(job);
        let known = state.pool.jobs.of(job);
        self.note_workflow(job, known);
        let Some(pool) = &mut self.pool else { return };
        let Some(known) = known else {
            pool.remove_job(job);
            return;
        };
        if known.held() {
            match facts::held(known, pool) {
                Some(held) => pool.put_held(held),
                None => drop(pool.remove_job(job)),
            }
            return;
        }
        pool.remove_job(job);
        if !known.waits() {
            return;
        }
        let Some(pending) = facts::pending(known) else { return };
        // What waits of a workflow that ended, or was killed, waits no longer (C-49).
        let workflow = pool.name(&pending.workflow).and_then(|name| pool.workflow(name));
        let workflow = workflow.and_then(WorkflowEntry::workflow);
        if workflow.is_some_and(|workflow| !workflow.is_live()) {
            return;
        }
        let first_seen_s = known.seen_at.div_euclid(SECOND);
        match admit(pool, &pending, first_seen_s, now_s(state)) {
            Admission::Accept(_) => pool.put_pending(pending),
            Admission::Hold(until_s) => self.on_hold.insert(job, until_s),
            Admission::Reject(Rejection::WorkflowUnknown) => {
                let hold_s = pool.settings().workflow_hold_s;
                self.on_hold.insert(job, first_seen_s.saturating_add(hold_s));
            }
            Admission::Reject(why) => drop(self.refused.insert(job.to_owned(), why.code())),
        }
    }

    /// Notes which workflow a job belongs to.
    fn note_workflow(&mut self, job: &str, known: Option<&PoolJob>) {
        let workflow = known.and_then(|known| Some(known.state.as_ref()?.workflow.as_str()));
        if self.workflow_of.get(job).map(String::as_str) == workflow {
            return;
        }
        if let Some(before) = self.workflow_of.remove(job)
            && let Some(jobs) = self.of_workflow.get_mut(&before)
        {
            jobs.remove(job);
        }
        if let Some(workflow) = workflow {
            self.workflow_of.insert(job.to_owned(), workflow.to_owned());
            self.of_workflow.entry(workflow.to_owned()).or_default().insert(job.to_owned());
        }
    }

    /// Actions take effect whose commands are still to be published.
    fn apply(&mut self, actions: &[PoolAction]) {
        let Some(pool) = &mut self.pool else { return };
        actions.iter().for_each(|action| fold_action(pool, action));
    }

    /// Actions that the rules want in a step of the cut (A.5). Nothing is changed.
    fn actions(
        &self,
        state: &State,
        judges: &MatchRules,
        step: Step,
        exceeded: &mut Exceeded,
    ) -> Vec<PoolAction> {
        let Some(pool) = &self.pool else { return Vec::new() };
        let comparisons = state.setting.limits.pool_comparisons_per_cycle;
        let budget = StepBudget { comparisons, cycle: state.number };
        let offers: Vec<&PoolOffer> = match step {
            Step::Boosts | Step::Verdicts => Vec::new(),
            Step::DrainsOver | Step::Drains => {
                let all = state.pool.offers.iter().map(|(_, known)| known);
                all.filter(|known| known.is_live(state.now)).collect()
            }
        };
        let at = Moment { judges, offers: &offers, budget, now_s: now_s(state) };
        let (actions, is_exceeded) = step.actions(pool, &at);
        if matches!(step, Step::Verdicts | Step::Drains) {
            exceeded.note(CycleLoop::Drains, is_exceeded);
        }
        actions
    }
}

/// When the first of the jobs that came so lately that they wait for a T1 waits no longer (C-17).
fn t1_wait_ends_s(pool: &Pool, now_s: Seconds) -> Option<Seconds> {
    let wait_s = pool.settings().t1_first_s;
    let since_s = now_s.saturating_sub(wait_s);
    let first = |it: &Autocluster| it.first_queued_after(since_s).map(|place| place.queued_at_s);
    let lately = pool.t1s().values().filter(|offered_s| **offered_s > since_s);
    let is_any = lately.clone().next().is_some();
    let clusters = pool.clusters().iter().filter(|_| is_any);
    let waiting = clusters.filter_map(|it| Some((first(it)?, it)));
    let waiting = waiting.filter(|(_, it)| may_run_at_t1(pool, it, now_s));
    // They wait no longer either once no T1 was offered from for as long.
    let ends = waiting.map(|(queued_at_s, _)| queued_at_s).chain(lately.copied());
    ends.map(|from_s| from_s.saturating_add(wait_s)).min()
}

/// The moment of the cut, as the rules have it.
fn now_s(state: &State) -> Seconds {
    state.now.div_euclid(SECOND)
}

fn names<T>(table: &NamedTable<T>) -> BTreeSet<String> {
    table.by_name.keys().cloned().collect()
}
