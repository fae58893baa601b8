//! A CMS pool through the loop: records of sites, workflows, jobs and pilots in, decisions and
//! commands out; restarts and rebuilds.

mod admission;
mod budgets;
mod commands;
mod drains;
mod glance;
mod matches;
mod order;
mod probes;
mod records;
mod restarts;
mod waits;

use crate::drive::yard::{Yard, config_with, lead};
use std::time::Duration;
use yardmaster::core::domain::cms::output::Matched;
use yardmaster::core::event::{
    Class, FailureClass, Grant, JobState, Pilot, Requirements, Site, SlotOffer, SlotQuota, Status,
    Task, TaskPhase, User, WorkflowFacts,
};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::topic::Topic;
use yardmaster::drive::Drive;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;
use yardmaster::wire::topology::{CMS, Topology};

type Leader = Drive<PaperLog, PaperStore>;

/// A second, as records have it.
const S: i64 = 1_000;

/// A pool on paper with its leader.
struct World {
    yard: Yard,
    drive: Leader,
    /// The topology's text.
    text: String,
}

fn drive(yard: &Yard, text: &str, instance: &str, store: PaperStore, verify: bool) -> Leader {
    let config = EpochConfig::of("cms.toml", text).unwrap();
    let mut config = config_with(instance, config);
    config.verify = verify;
    Drive::start(yard.paper.log("yardmaster-cms"), store, config).unwrap()
}

impl World {
    fn new() -> World {
        World::with(&[])
    }

    /// With some lines of the topology written otherwise.
    fn with(changes: &[(&str, &str)]) -> World {
        let mut text = CMS.to_owned();
        for (old, new) in changes {
            assert!(text.contains(old), "the topology has no {old:?}");
            text = text.replace(old, new);
        }
        let yard = Yard::of(&Topology::default_cms());
        let drive = drive(&yard, &text, "one", PaperStore::default(), false);
        let mut world = World { yard, drive, text };
        world.rounds(5);
        assert!(world.drive.leads());
        world
    }

    fn rounds(&mut self, rounds: usize) {
        // A cycle that no request calls for comes after a while.
        lead(&mut self.yard, &mut self.drive, 10 * rounds).unwrap();
    }

    /// Time passes without a record.
    fn wait(&mut self, seconds: i64) {
        for _ in 0..seconds / 10 {
            self.yard.pass(10 * S);
            self.rounds(1);
        }
        self.rounds(3);
    }

    /// A site that pledges so many slots of the reference power.
    fn site(&self, name: &str, tier: &str, slots: i64, change: impl FnOnce(&mut SlotQuota)) {
        let mut quota = SlotQuota {
            revision: 1,
            tier: tier.into(),
            pledged_slots: slots,
            central_permille: 500,
            high_io_slots: 25,
            corepower_mhs06: 10_000,
            ..SlotQuota::default()
        };
        change(&mut quota);
        self.yard.configure(&Site {
            name: name.into(),
            changed_at: self.yard.now,
            active: true,
            slot_quota: Some(quota),
            ..Site::default()
        });
    }

    fn user(&self, name: &str, roles: &[&str], groups: &[&str]) {
        self.yard.configure(&User {
            name: name.into(),
            changed_at: self.yard.now,
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..User::default()
        });
    }

    fn workflow(&self, name: &str, user: &str, facts: WorkflowFacts) {
        self.task(name, user, TaskPhase::Asking, facts);
    }

    fn task(&self, name: &str, user: &str, phase: TaskPhase, facts: WorkflowFacts) {
        self.yard.ask(&Task {
            subject: name.into(),
            task: name.into(),
            domain: "cms".into(),
            policy: "cms".into(),
            user: user.into(),
            phase,
            asked_at: self.yard.now,
            changed_at: self.yard.now,
            workflow: Some(facts),
            ..Task::default()
        });
    }

    /// A state of a job that wants one core, unless `change` says otherwise.
    fn job<'a>(
        &self,
        job: &'a str,
        workflow: &'a str,
        status: Status,
        change: impl FnOnce(&mut JobState<'a>, &mut Requirements<&'a str>),
    ) {
        let now = self.yard.now;
        let mut wants = Requirements { seq: Some(1_000), cores_min: 1, ..Requirements::default() };
        let mut state = JobState {
            job,
            task: workflow,
            status,
            changed_at: now,
            created_at: now,
            ..JobState::default()
        };
        change(&mut state, &mut wants);
        state.requirements = Some(Box::new(wants));
        self.yard.job(&state);
    }

    /// A job that waits.
    fn pending(&self, job: &str, workflow: &str) {
        self.job(job, workflow, Status::Activated, |_, _| ());
    }

    /// A pilot offers so many cores of a node that is free.
    fn offer(&self, offer: &str, site: &str, cores: i64) {
        self.offer_with(offer, site, |it| {
            (it.cores_free, it.cores_total) = (cores, cores);
        });
    }

    fn offer_with<'a>(
        &self,
        name: &'a str,
        site: &str,
        change: impl FnOnce(&mut SlotOffer<&'a str>),
    ) {
        let mut offer = SlotOffer {
            offer: name,
            cores_free: 1,
            cores_total: 1,
            wall_left_s: 86_400,
            mem_free_mb: 64_000,
            expires_at: self.yard.now + 3_600 * S,
            ..SlotOffer::default()
        };
        change(&mut offer);
        let report = Pilot::SlotOffer { queue: site, offer: Box::new(offer), at: self.yard.now };
        self.yard.publish(Topic::Pilot, name, |out| record::write(out, &report));
    }

    fn withdraw(&self, offer: &str, site: &str) {
        let at = self.yard.now;
        let report = Pilot::SlotWithdrawn { queue: site, offer, attempt: 0, at };
        self.yard.publish(Topic::Pilot, offer, |out| record::write(out, &report));
    }

    /// The matches so far, in order.
    fn matches(&self) -> Vec<(Decision, Matched)> {
        let decisions = self.yard.decisions().into_iter();
        decisions.filter_map(|it| Some((it.clone(), it.matched?))).collect()
    }

    /// The jobs matched so far, in order.
    fn matched_jobs(&self) -> Vec<String> {
        self.matches().into_iter().map(|(_, matched)| matched.job).collect()
    }

    /// The decisions on a subject, in order.
    fn decided(&self, subject: &str) -> Vec<Decision> {
        let decisions = self.yard.decisions().into_iter();
        decisions.filter(|decision| decision.subject == subject).collect()
    }

    /// The code by which a job was rejected.
    fn rejection(&self, job: &str) -> Option<String> {
        self.decided(job).into_iter().find_map(|decision| match decision.outcome {
            Outcome::Reject { reason } => Some(reason),
            _ => None,
        })
    }

    /// Another process takes the lead, from the store or from the log alone.
    fn restart(&mut self, with_store: bool) {
        self.drive.finish(self.yard.now).unwrap();
        let store = match with_store {
            true => self.drive.store().clone(),
            false => PaperStore::default(),
        };
        self.drive = drive(&self.yard, &self.text, "next", store, false);
        for _ in 0..500 {
            self.rounds(1);
            if self.drive.leads() {
                break;
            }
        }
        assert!(self.drive.leads());
    }

    /// Limits hold, no job is matched twice in an attempt, every decision and command can be made
    /// again from the log, and the counters are what a recount gives.
    fn check(mut self) {
        self.rounds(20);
        assert_eq!(audit(self.drive.state()), vec![]);
        let mut attempts = std::collections::BTreeSet::new();
        for (decision, matched) in self.matches() {
            for limit in &decision.limits {
                assert!(limit.after <= limit.max, "{limit:?} of {decision:#?}");
            }
            let at = (matched.job.clone(), matched.job_attempt, decision.now);
            assert!(attempts.insert(at), "{decision:#?}");
        }
        let outputs = self.yard.outputs() as u64;
        self.drive.finish(self.yard.now).unwrap();
        assert_eq!(self.verify_from(PaperStore::default()), outputs);
    }

    /// Makes every decision and command that is not in a store again; returns how many there were.
    fn verify_from(&self, store: PaperStore) -> u64 {
        let mut again = drive(&self.yard, &self.text, "two", store, true);
        for _ in 0..2_000 {
            again.pump(Duration::ZERO).unwrap();
            again.follow().unwrap();
        }
        let report = again.take_report();
        assert_eq!(report.verified[1..], [0, 0], "{:#?}", report.differences);
        assert_eq!(digest(again.state()), digest(self.drive.state()));
        report.verified[0]
    }
}

fn central() -> WorkflowFacts {
    WorkflowFacts { class: Class::Central, test_jobs: Some(0), ..WorkflowFacts::default() }
}

fn analysis() -> WorkflowFacts {
    WorkflowFacts { class: Class::Analysis, test_jobs: Some(0), ..WorkflowFacts::default() }
}
