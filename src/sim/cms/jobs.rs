//! Jobs: they wait, are matched, run, and end, well or badly; some are tried again.

use super::Cms;
use super::agenda::CmsStep;
use super::held::Holding;
use super::work::{JobRequirements, Kind};
use crate::grid::Handle;
use std::sync::Arc;
use yardmaster_core::event::{
    DecisionOutcome, FailureClass, JobState, OutcomeAbout, OutcomeKind, Requirements, Status, Tier,
};
use yardmaster_core::output::decision::DecisionId;
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// Part of the jobs whose program fails, and of those that the infrastructure fails.
const PAYLOAD_FAILS: f64 = 0.02;
/// See `PAYLOAD_FAILS`.
const INFRASTRUCTURE_FAILS: f64 = 0.01;
/// Part of the jobs that overflow and cannot open their data.
const REMOTE_FAILS: f64 = 0.08;
/// Part of the jobs that fail at a site that makes jobs fail.
const SITE_FAILS: f64 = 0.5;
/// Most attempts of a job.
const ATTEMPTS: u32 = 4;
/// From a match to the start.
const STARTS: (Millis, Millis) = (4 * SECOND, 50 * SECOND);
/// Part of the matches that are not taken up, and when the pilot gives the slots back.
const NOT_TAKEN_UP: f64 = 0.01;
/// See `NOT_TAKEN_UP`.
const GIVES_BACK: (Millis, Millis) = (MINUTE, 3 * MINUTE);

/// Part of these whose user holds the job back, and for how long.
const HELD: f64 = 0.3;
/// See `HELD`.
const HELD_FOR: (Millis, Millis) = (10 * MINUTE, 40 * MINUTE);
/// Part of the others of which an outcome is published; of the rest nothing is known.
const REPORTED: f64 = 0.7;

/// Stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmsStage {
    /// It waits for slots.
    Waiting,
    /// It was given slots.
    Matched,
    /// It runs.
    Running,
    /// It failed, and is submitted again soon.
    Failed,
    /// Its user holds it back, since then.
    Held(Millis),
}

/// A live job.
#[derive(Clone, Debug)]
pub struct CmsJob {
    /// Name.
    pub name: String,
    /// Its workflow; of a job that cannot be, `None`.
    pub workflow: Option<Handle>,
    /// Place in the workflow.
    pub seq: i64,
    /// Its requirements.
    pub wanted: Arc<JobRequirements>,
    /// How long it runs at the cores that this is stated for; s.
    pub runs_s: i64,
    /// Attempt.
    pub attempt: u32,
    /// When it was submitted first.
    pub created_at: Millis,
    /// Its stage.
    pub stage: CmsStage,
    /// Resources that it holds; `None` while it holds none.
    pub holding: Option<Holding>,
    /// The offer, which announcement of it, and the decision that gave it these.
    pub matched: Option<(String, u64, DecisionId)>,
    /// When it started in this attempt; 0: it did not.
    pub started_at: Millis,
    /// How this attempt is to end.
    pub fails: Option<FailureClass>,
    /// How the attempt before failed.
    pub last_failure: Option<FailureClass>,
    /// The defect of a job that cannot be.
    pub bad: Option<Bad>,
}

/// A job that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The code by which it is to be rejected (A.9).
    pub code: &'static str,
    /// The workflow that it states; empty: none.
    pub workflow: String,
    /// The user that it states.
    pub user: String,
}

impl CmsJob {
    /// A job that is submitted.
    pub fn new(
        name: String,
        workflow: Handle,
        (seq, runs_s): (i64, i64),
        wanted: Arc<JobRequirements>,
        now: Millis,
    ) -> CmsJob {
        CmsJob {
            name,
            workflow: Some(workflow),
            seq,
            wanted,
            runs_s,
            attempt: 0,
            created_at: now,
            stage: CmsStage::Waiting,
            holding: None,
            matched: None,
            started_at: 0,
            fails: None,
            last_failure: None,
            bad: None,
        }
    }

    /// Run time with some cores; s (F-6).
    pub fn runs_s_with(&self, cores: i64) -> i64 {
        let base = self.wanted.base();
        match cores == base {
            true => self.runs_s,
            false => self.runs_s * base / cores.max(1) + 600,
        }
    }

    /// Whether most sites could run it.
    pub fn is_wide(&self) -> bool {
        !self.wanted.system_job && self.wanted.sites.as_ref().is_none_or(|sites| sites.len() > 2)
    }
}

/// How an attempt of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its state.
    pub status: Status,
    /// How it failed, if it did.
    pub failure: Option<FailureClass>,
    /// Whether no other attempt follows.
    pub is_last: bool,
}

impl Cms {
    /// A job waits from now on.
    pub(super) fn waits(&mut self, handle: Handle) {
        self.count_waiting(handle, 1);
        if let Some(job) = self.jobs.get_mut(handle) {
            job.stage = CmsStage::Waiting;
            job.started_at = 0;
        }
        self.say(handle, Status::Pending, None);
    }

    fn count_waiting(&mut self, handle: Handle, change: i64) {
        let Some(job) = self.jobs.get(handle) else { return };
        self.count.waiting = self.count.waiting.saturating_add_signed(change);
        let workflow = job.workflow.and_then(|it| self.workflows.get(it));
        if let Some(workflow) = workflow.filter(|_| job.is_wide()) {
            self.users[workflow.user].waiting_s += change * job.runs_s * job.wanted.base();
        }
    }

    /// A job has slots: it starts soon, or never.
    pub(super) fn is_matched(&mut self, handle: Handle) {
        self.count_waiting(handle, -1);
        let Some(job) = self.jobs.get_mut(handle) else { return };
        job.stage = CmsStage::Matched;
        let attempt = job.attempt;
        let workflow = job.workflow;
        if self.dice.chance(NOT_TAKEN_UP) {
            self.after_between(GIVES_BACK.0, GIVES_BACK.1, CmsStep::NeverStarts(handle, attempt));
        } else {
            self.after_between(STARTS.0, STARTS.1, CmsStep::Starts(handle, attempt));
        }
        if let Some(user) = workflow.and_then(|it| self.workflows.get(it)).map(|it| it.user) {
            self.go_on_soon(user);
        }
    }

    /// A match is not taken up, and the pilot gives the slots back: its user holds the job for a
    /// while, or it waits on, of which an outcome may be published.
    pub(super) fn never_starts(&mut self, handle: Handle, attempt: u32) {
        let is_it = |job: &&CmsJob| job.attempt == attempt && job.stage == CmsStage::Matched;
        if self.jobs.get(handle).filter(is_it).is_none() {
            return;
        }
        self.count.not_taken_up += 1;
        let held = self.jobs.get(handle).and_then(|job| job.holding.as_ref());
        let place = held.map(|it| (it.node, it.cores, it.rss_mb));
        self.let_go(handle, false);
        if self.dice.chance(HELD) {
            if let Some(job) = self.jobs.get_mut(handle) {
                job.stage = CmsStage::Held(self.now);
            }
            self.count.held += 1;
            let matched = self.jobs.get_mut(handle).and_then(|job| job.matched.take());
            if let Some((offer, announced, _)) = matched {
                self.is_free_again(&offer, announced, place);
            }
            self.say(handle, Status::Held, None);
            return self.after_between(HELD_FOR.0, HELD_FOR.1, CmsStep::Released(handle, attempt));
        }
        self.not_carried_out(handle, place);
        self.count_waiting(handle, 1);
        if let Some(job) = self.jobs.get_mut(handle) {
            job.stage = CmsStage::Waiting;
        }
        // A workflow that was killed meanwhile ended what waited then.
        let workflow = self.jobs.get(handle).and_then(|job| self.workflows.get(job.workflow?));
        if workflow.is_some_and(|it| it.is_killed) {
            self.cancel(handle);
        }
    }

    /// Who carries matches out publishes that this one was not, most times.
    /// Its place is free at once, if the pilot still offers it.
    fn not_carried_out(&mut self, handle: Handle, place: Option<(u32, i64, i64)>) {
        let matched = self.jobs.get_mut(handle).and_then(|job| job.matched.take());
        let matched = matched.filter(|_| self.dice.chance(REPORTED));
        if let Some((subject, announced, decision)) = matched {
            self.is_free_again(&subject, announced, place);
            self.publisher.outcome(&DecisionOutcome {
                subject,
                decision,
                about: OutcomeAbout::Decision,
                kind: OutcomeKind::Failed,
                at: self.now,
                reason: "the job did not start".to_owned(),
            });
        }
    }

    /// The place of a match is free, if the pilot still offers it.
    fn is_free_again(&mut self, offer: &str, announced: u64, place: Option<(u32, i64, i64)>) {
        if let Some((node, cores, rss_mb)) = place
            && self.node_by_offer.get(offer) == Some(&node)
            && let of = &mut self.nodes[node as usize]
            && of.is_offered
            && u64::from(of.announced) == announced + 1
        {
            of.left = (of.left.0 + cores, of.left.1 + rss_mb);
        }
    }

    /// A job that was held waits again; that of a workflow that was killed meanwhile is taken away.
    pub(super) fn released(&mut self, handle: Handle, attempt: u32) {
        let is_it =
            |job: &&CmsJob| job.attempt == attempt && matches!(job.stage, CmsStage::Held(_));
        let Some(job) = self.jobs.get(handle).filter(is_it) else { return };
        let workflow = job.workflow.and_then(|it| self.workflows.get(it));
        match workflow.is_some_and(|it| it.is_killed) {
            true => self.cancel(handle),
            false => self.waits(handle),
        }
    }

    /// A job starts.
    pub(super) fn starts(&mut self, handle: Handle, attempt: u32) {
        let now = self.now;
        let is_it = |job: &&CmsJob| job.attempt == attempt && job.stage == CmsStage::Matched;
        let Some(job) = self.jobs.get(handle).filter(is_it) else { return };
        let Some(holding) = &job.holding else { return };
        let (site, runs_s) = (holding.site, job.runs_s_with(holding.cores));
        let overflows = holding.overflow_source.is_some();
        let kind = job.workflow.and_then(|it| self.workflows.get(it)).map(|it| it.kind);
        let is_early = attempt < 2;
        let is_merge = job.wanted.system_job;
        let fails = self.how_it_fails(site, overflows, kind.filter(|_| !is_merge), is_early);
        let part = match fails {
            None => 1.0,
            Some(FailureClass::Site | FailureClass::RemoteOpen) => self.dice.within(0.01, 0.1),
            Some(_) => self.dice.within(0.1, 0.9),
        };
        let runs = ((runs_s * SECOND) as f64 * part) as Millis + SECOND;
        let mut waited = None;
        if let Some(job) = self.jobs.get_mut(handle) {
            (job.stage, job.started_at, job.fails) = (CmsStage::Running, now, fails);
            if let Some(holding) = &mut job.holding {
                holding.counts_from = Some(now);
            }
            waited = (job.attempt == 0).then_some(now - job.created_at);
        }
        if let (Some(waited), Some(kind)) = (waited, kind) {
            self.waited.entry(kind).or_default().add(waited);
        }
        self.note_progress(handle, waited);
        self.usage_begins(handle);
        self.count.running += 1;
        self.say(handle, Status::Running, None);
        self.after(runs, CmsStep::Ends(handle, attempt));
    }

    fn note_progress(&mut self, handle: Handle, waited: Option<Millis>) {
        let workflow = self.jobs.get(handle).and_then(|job| self.workflows.get(job.workflow?));
        let Some(workflow) = workflow else { return };
        let (class, who) = (workflow.kind.class(), self.who(workflow).to_owned());
        if let Some(waited) = waited {
            self.progress.waited(class, &who, self.now - waited, self.now);
        }
        self.progress.started(&who, self.now);
    }

    fn how_it_fails(
        &mut self,
        site: u32,
        overflows: bool,
        kind: Option<Kind>,
        is_early: bool,
    ) -> Option<FailureClass> {
        let is_failing = self.sites[site as usize].failing_until > self.now;
        let dice = &mut self.dice;
        let is_unlucky = kind == Some(Kind::SitesFail) && is_early && dice.chance(0.7);
        if matches!(kind, Some(Kind::Fails | Kind::UserFails)) {
            Some(FailureClass::Payload)
        } else if is_unlucky || is_failing && dice.chance(SITE_FAILS) {
            Some(FailureClass::Site)
        } else if overflows && dice.chance(REMOTE_FAILS) {
            Some(FailureClass::RemoteOpen)
        } else if dice.chance(INFRASTRUCTURE_FAILS) {
            Some(FailureClass::Infrastructure)
        } else if dice.chance(PAYLOAD_FAILS) {
            Some(FailureClass::Payload)
        } else {
            None
        }
    }

    /// A running job ends as it is to.
    pub(super) fn ends(&mut self, handle: Handle, attempt: u32) {
        let is_it = |job: &&CmsJob| job.attempt == attempt && job.stage == CmsStage::Running;
        if let Some(job) = self.jobs.get(handle).filter(is_it) {
            let failure = job.fails;
            self.over(handle, failure.map_or(Status::Finished, |_| Status::Failed), failure);
        }
    }

    /// All that runs on a node, or was to, fails by the infrastructure.
    pub(super) fn fail_all_on(&mut self, node: u32) {
        let on_it = self
            .jobs
            .iter()
            .filter(|(_, job)| job.holding.as_ref().is_some_and(|it| it.node == node));
        let on_it: Vec<(Handle, CmsStage, u32)> =
            on_it.map(|(handle, job)| (handle, job.stage, job.attempt)).collect();
        for (handle, stage, attempt) in on_it {
            match stage {
                CmsStage::Running => {
                    self.over(handle, Status::Failed, Some(FailureClass::Infrastructure));
                }
                _ => self.never_starts(handle, attempt),
            }
        }
    }

    /// An attempt of a job is over: it gives back what it holds, and may be tried again. Its own
    /// program is not tried again (C-49).
    pub(super) fn over(&mut self, handle: Handle, status: Status, failure: Option<FailureClass>) {
        let Some(job) = self.jobs.get(handle) else { return };
        let stage = job.stage;
        let site = job.holding.as_ref().map(|it| it.site);
        let kind = job.workflow.and_then(|it| self.workflows.get(it)).map(|it| it.kind);
        let is_final_failure = failure.is_none_or(|it| it == FailureClass::Payload);
        let is_killed = job.workflow.and_then(|it| self.workflows.get(it));
        let is_killed = is_killed.is_some_and(|it| it.is_killed);
        // It does not overflow again, and may not run where its data is (C-42).
        let is_stuck = failure == Some(FailureClass::RemoteOpen)
            && job
                .wanted
                .sites
                .iter()
                .flatten()
                .all(|it| self.sites[*it as usize].tier == Tier::T1);
        let is_last = is_final_failure || job.attempt + 1 >= ATTEMPTS || is_killed || is_stuck;
        if stage == CmsStage::Waiting {
            self.count_waiting(handle, -1);
        }
        self.count.running -= u64::from(stage == CmsStage::Running);
        self.count_end(handle, status, failure, kind);
        self.say(handle, status, Some(End { status, failure, is_last }));
        self.let_go(handle, stage == CmsStage::Running);
        if status == Status::Failed && !is_last {
            if let Some(job) = self.jobs.get_mut(handle) {
                (job.stage, job.last_failure) = (CmsStage::Failed, failure);
            }
            self.after_between(20 * SECOND, 3 * MINUTE, CmsStep::TriesAgain(handle));
            return;
        }
        let Some(job) = self.jobs.remove(handle) else { return };
        self.job_by_name.remove(&job.name);
        if let Some(workflow) = job.workflow {
            let at = site.filter(|_| status == Status::Finished);
            self.job_is_final(workflow, handle, at);
        }
    }

    /// A job is submitted again: the next attempt, queued since the first.
    pub(super) fn tries_again(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get_mut(handle).filter(|job| job.stage == CmsStage::Failed)
        else {
            return;
        };
        job.attempt += 1;
        self.count.retries += 1;
        self.waits(handle);
    }

    /// A job is taken away, whatever it is at.
    pub(super) fn cancel(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get_mut(handle) else { return };
        if job.stage == CmsStage::Failed {
            // Its attempt is over already: the next is ended in its place.
            job.attempt += 1;
        }
        self.over(handle, Status::Cancelled, None);
    }

    /// Publishes the state that a job reached.
    fn say(&mut self, handle: Handle, status: Status, end: Option<End>) {
        let Some(job) = self.jobs.get(handle) else { return };
        let workflow = job.workflow.and_then(|it| self.workflows.get(it));
        let bad = job.bad.as_ref();
        let (task, user) = match (workflow, bad) {
            (Some(it), _) => (it.name.as_str(), self.users[it.user].name.as_str()),
            (None, Some(it)) => (it.workflow.as_str(), it.user.as_str()),
            (None, None) => ("", ""),
        };
        let has_ended = status.is_ended() && job.started_at != 0;
        // Every record repeats what the job wants: the newest is all that compaction keeps.
        let requirements = Some(Box::new(Requirements {
            last_failure: job.last_failure,
            failure: end.and_then(|it| it.failure),
            last_attempt: end.is_some_and(|it| it.is_last),
            used_rss_mb: job.holding.as_ref().map_or(0, |it| it.rss_mb * 8 / 10),
            ..job.wanted.requirements(job.seq)
        }));
        let site = job.holding.as_ref().map(|it| self.sites[it.site as usize].name.as_str());
        self.publisher.job(&JobState {
            job: &job.name,
            status,
            changed_at: self.now,
            attempt: job.attempt,
            task,
            queue: site.unwrap_or(""),
            user,
            group: workflow.map_or("", |it| it.group.as_str()),
            cores: job.holding.as_ref().map_or(0, |it| it.cores as u32),
            created_at: job.created_at,
            started_at: job.started_at,
            ended_at: if has_ended { self.now } else { 0 },
            requirements,
            ..JobState::default()
        });
    }

    fn count_end(
        &mut self,
        handle: Handle,
        status: Status,
        failure: Option<FailureClass>,
        kind: Option<Kind>,
    ) {
        let Some(job) = self.jobs.get(handle) else { return };
        if job.bad.is_some() {
            return;
        }
        let is_broken = matches!(kind, Some(Kind::Fails | Kind::UserFails));
        match (status, failure) {
            (Status::Finished, _) => {
                let done = job.holding.as_ref().map(|it| (it.class.name(), it.band.name()));
                *self.count.done.entry(done.unwrap_or_default()).or_default() += 1;
            }
            (Status::Failed, Some(FailureClass::Payload)) if is_broken => {
                self.count.failed_broken += 1;
            }
            (Status::Failed, Some(how)) => {
                *self.count.failed.entry(how.name()).or_default() += 1;
            }
            _ => self.count.cancelled += 1,
        }
    }
}
