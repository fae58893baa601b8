//! Workflows: submitted with their jobs, changed in priority, merged, closed.

use super::Cms;
use super::agenda::CmsStep;
use super::jobs::CmsJob;
use super::users::Demand;
use super::work::{self, JobRequirements, Kind};
use crate::grid::Handle;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use yardmaster_core::event::{Class, Task, TaskPhase, WorkflowFacts};
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// Jobs whose output one job merges.
const MERGED: i64 = 10;
/// Priorities of central work, with how often each is given.
const PRIORITIES: [(i64, f64); 5] =
    [(70_000, 0.2), (85_000, 0.3), (90_000, 0.2), (110_000, 0.2), (130_000, 0.1)];
/// Priority of work that nodes are drained for, and of what never is urgent.
const URGENT: i64 = 950_000;
/// Most jobs of a workflow of a user, for each slot that one with steady demand has.
const MOST_JOBS: f64 = 2.0;
/// Part of the workflows whose jobs are published before their record (C-02).
const LATE_RECORDS: f64 = 0.04;
/// Part of the workflows of users that they end before time.
const KILLED_BY_USERS: f64 = 0.02;

/// How large a workflow is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// So many jobs.
    Jobs(i64),
    /// Jobs that take so much core time; s.
    CoreTime(f64),
}

/// A workflow.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// User, by number.
    pub user: usize,
    /// Group it is for; empty: none.
    pub group: String,
    /// Its facts, as published.
    pub facts: WorkflowFacts,
    /// When it was injected.
    pub injected_at: Millis,
    /// Requirements of its jobs.
    pub wanted: Arc<JobRequirements>,
    /// Whether its record was published.
    pub is_known: bool,
    /// Jobs that are not final.
    pub live: BTreeSet<Handle>,
    /// Jobs submitted so far, and of those the ones that are merged.
    pub submitted: i64,
    /// Jobs to be merged that were not final yet.
    pub to_merge: i64,
    /// Finished jobs that no job merges yet.
    pub unmerged: i64,
    /// Jobs by their end: finished, failed for good.
    pub ended: (i64, i64),
    /// Whether a command or its user ended it.
    pub is_killed: bool,
    /// Sites to which it overflows, with its jobs there; those of ended jobs stay.
    pub overflow_sites: BTreeMap<u32, i64>,
    /// A priority that was overtaken before it was published: revision, priority.
    pub overtaken: Option<(i64, i64)>,
}

impl Cms {
    /// A workflow of a kind arrives. How much core time its jobs take; s.
    pub(super) fn inject(&mut self, kind: Kind, user: usize, size: Size, home: u32) -> f64 {
        self.workflows_made += 1;
        let wanted = work::draw(&mut self.dice, kind, &self.sites, home, self.speed);
        let of_job = wanted.runs_s * wanted.base() as f64;
        let jobs = match size {
            Size::Jobs(jobs) => jobs,
            Size::CoreTime(seconds) => {
                // Many short jobs at few sites would take a day.
                let most = match kind.class() {
                    Class::Central => f64::INFINITY,
                    Class::Analysis => MOST_JOBS * self.steady_slots,
                };
                ((seconds / of_job).min(most) as i64).max(5)
            }
        };
        let name = format!("{}-{:06}", kind.name(), self.workflows_made);
        let merges = if kind.is_merged() { (jobs + MERGED - 1) / MERGED } else { 0 };
        let facts = self.facts(kind, jobs + merges, &wanted);
        let of = &self.users[user];
        // A boosted group's members work for themselves now and then.
        let is_own = of.demand == Demand::Boosted && self.dice.chance(0.2);
        let group = if is_own { String::new() } else { of.working_group().to_owned() };
        let handle = self.workflows.insert(Workflow {
            name: name.clone(),
            kind,
            user,
            group,
            facts,
            injected_at: self.now,
            wanted: Arc::new(wanted),
            is_known: false,
            live: BTreeSet::new(),
            submitted: 0,
            to_merge: if merges > 0 { jobs } else { 0 },
            unmerged: 0,
            ended: (0, 0),
            is_killed: false,
            overflow_sites: BTreeMap::new(),
            overtaken: None,
        });
        self.workflow_by_name.insert(name, handle);
        self.count.workflows += 1;
        if self.dice.chance(LATE_RECORDS) {
            self.after_between(10 * SECOND, 10 * MINUTE, CmsStep::RecordArrives(handle));
        } else {
            self.record_arrives(handle);
        }
        for _ in 0..jobs {
            self.submit(handle, None);
        }
        let is_of_user = kind.class() == Class::Analysis;
        if is_of_user && kind != Kind::UserFails && self.dice.chance(KILLED_BY_USERS) {
            self.after_between(5 * MINUTE, 90 * MINUTE, CmsStep::UserKills(handle));
        }
        of_job * jobs as f64
    }

    fn facts(&mut self, kind: Kind, total: i64, wanted: &JobRequirements) -> WorkflowFacts {
        let dice = &mut self.dice;
        let priority = match kind {
            Kind::WholeNode | Kind::TooLarge => URGENT,
            Kind::Fails => 60_000,
            _ if kind.class() == Class::Central => {
                PRIORITIES[dice.weighted(PRIORITIES.iter().map(|it| it.1))].0
            }
            _ => 0,
        };
        let ones = |sites: &Vec<u32>| sites.len() <= 2;
        let is_narrow = wanted.sites.as_ref().is_some_and(ones);
        let allow_overflow = match kind {
            Kind::Processing => is_narrow || dice.chance(0.3),
            Kind::Remote => wanted.allow_overflow.is_none(),
            _ => false,
        };
        let has_bound = kind == Kind::Processing && dice.chance(0.2);
        WorkflowFacts {
            class: kind.class(),
            priority,
            priority_revision: 1,
            // Some do not know how many there will be (C-16).
            total_jobs: (!dice.chance(0.03)).then_some(total),
            allow_overflow,
            max_overflow_sites: has_bound.then_some(2),
            site_test: kind == Kind::SiteTest,
            ..WorkflowFacts::default()
        }
    }

    /// The record of a workflow is published.
    pub(super) fn record_arrives(&mut self, handle: Handle) {
        if let Some(workflow) = self.workflows.get_mut(handle) {
            workflow.is_known = true;
        }
        self.publish_workflow(handle, TaskPhase::Asking);
    }

    /// Publishes a workflow as it is.
    pub(super) fn publish_workflow(&mut self, handle: Handle, phase: TaskPhase) {
        let Some(workflow) = self.workflows.get(handle) else { return };
        let facts = workflow.facts.clone();
        self.publish_facts(handle, phase, facts);
    }

    fn publish_facts(&mut self, handle: Handle, phase: TaskPhase, facts: WorkflowFacts) {
        let Some(workflow) = self.workflows.get(handle) else { return };
        self.publisher.task(&Task {
            subject: workflow.name.clone(),
            task: workflow.name.clone(),
            domain: self.domain.clone(),
            policy: self.policy.clone(),
            phase,
            asked_at: workflow.injected_at,
            changed_at: self.now,
            user: self.users[workflow.user].name.clone(),
            working_group: workflow.group.clone(),
            workflow: Some(facts),
            ..Task::default()
        });
    }

    /// Submits the next job of a workflow; a merge job wants something of its own.
    pub(super) fn submit(&mut self, handle: Handle, merge: Option<JobRequirements>) {
        let now = self.now;
        let Some(workflow) = self.workflows.get_mut(handle) else { return };
        workflow.submitted += 1;
        let seq = workflow.submitted;
        let wanted = merge.map_or_else(|| Arc::clone(&workflow.wanted), Arc::new);
        let name = format!("{}-{seq:05}", workflow.name);
        let spread = self.dice.within(0.5, 1.5);
        let runs_s = (wanted.runs_s * spread) as i64 + 1;
        let job = CmsJob::new(name.clone(), handle, (seq, runs_s), wanted, now);
        let handle_of_job = self.jobs.insert(job);
        self.job_by_name.insert(name, handle_of_job);
        if let Some(workflow) = self.workflows.get_mut(handle) {
            workflow.live.insert(handle_of_job);
        }
        self.count.submitted += 1;
        self.waits(handle_of_job);
    }

    /// A job of a workflow is final: merge jobs follow, or its end.
    pub(super) fn job_is_final(&mut self, handle: Handle, job: Handle, at: Option<u32>) {
        let Some(workflow) = self.workflows.get_mut(handle) else { return };
        workflow.live.remove(&job);
        match at {
            Some(_) => workflow.ended.0 += 1,
            None => workflow.ended.1 += 1,
        }
        if workflow.to_merge > 0 {
            workflow.to_merge -= 1;
            workflow.unmerged += i64::from(at.is_some());
            let is_due = workflow.unmerged == MERGED || workflow.to_merge == 0;
            if is_due && workflow.unmerged > 0 && !workflow.is_killed {
                workflow.unmerged = 0;
                let site = self.merge_site(at);
                let wanted = JobRequirements::merge(site, &self.sites, self.speed);
                self.submit(handle, Some(wanted));
            }
        }
        if self.workflows.get(handle).is_some_and(|it| it.live.is_empty()) {
            self.close(handle);
        }
    }

    /// Where output of a site is merged: there if it keeps data, else at one that does.
    fn merge_site(&mut self, at: Option<u32>) -> u32 {
        let keeps = |site: &u32| self.sites[*site as usize].keeps_data();
        if let Some(site) = at.filter(keeps) {
            return site;
        }
        let all: Vec<u32> = (0..self.sites.len() as u32).filter(keeps).collect();
        all[self.dice.below(all.len())]
    }

    /// Nothing of a workflow is left: it ends, and is forgotten.
    fn close(&mut self, handle: Handle) {
        let is_known = self.workflows.get(handle).is_some_and(|it| it.is_known);
        if is_known {
            self.publish_workflow(handle, TaskPhase::Ended);
        }
        if let Some(workflow) = self.workflows.remove(handle) {
            self.workflow_by_name.remove(&workflow.name);
            self.count.workflows_ended += 1;
        }
    }

    /// A user ends a workflow: its record ends, and so do all its jobs.
    pub(super) fn user_kills(&mut self, handle: Handle) {
        let Some(workflow) = self.workflows.get_mut(handle).filter(|it| it.is_known) else {
            return;
        };
        workflow.is_killed = true;
        let jobs: Vec<Handle> = workflow.live.iter().copied().collect();
        self.count.killed_by_users += 1;
        self.publish_workflow(handle, TaskPhase::Ended);
        jobs.into_iter().for_each(|job| self.cancel(job));
    }

    /// Operations change priorities: of some central workflow, now and then with a mistake that is
    /// mended at once, and the mended revision overtakes the first (C-14).
    pub(super) fn priority_changes(&mut self) {
        self.after_between(10 * MINUTE, 40 * MINUTE, CmsStep::PriorityChanges);
        let central = self.workflows.iter().filter(|(_, it)| {
            it.is_known && it.kind.is_merged() && !it.is_killed && it.facts.class == Class::Central
        });
        let central: Vec<Handle> = central.map(|(handle, _)| handle).collect();
        if central.is_empty() {
            return;
        }
        let handle = central[self.dice.below(central.len())];
        let priority = self.dice.between(50, 200) * 1_000;
        let overtakes = self.dice.chance(0.3);
        let override_tail = self.dice.chance(0.2);
        let Some(workflow) = self.workflows.get_mut(handle) else { return };
        if overtakes {
            workflow.overtaken = Some((workflow.facts.priority_revision + 1, 1_000_000));
        }
        workflow.facts.priority_revision += if overtakes { 2 } else { 1 };
        workflow.facts.priority = priority;
        workflow.facts.override_tail = override_tail;
        self.count.priority_changes += 1;
        self.publish_workflow(handle, TaskPhase::Asking);
        if overtakes {
            self.after_between(SECOND, 5 * MINUTE, CmsStep::LatePriority(handle));
        }
    }

    /// The revision that was overtaken arrives.
    pub(super) fn late_priority(&mut self, handle: Handle) {
        let Some(workflow) = self.workflows.get_mut(handle) else { return };
        let Some((priority_revision, priority)) = workflow.overtaken.take() else { return };
        let facts = WorkflowFacts { priority_revision, priority, ..workflow.facts.clone() };
        self.publish_facts(handle, TaskPhase::Asking, facts);
    }
}
