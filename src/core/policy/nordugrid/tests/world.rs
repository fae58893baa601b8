//! Short words for building a grid and asking for a target.

use crate::policy::nordugrid::changes::{Assigned, TargetChanges};
use crate::policy::nordugrid::choice::{Choice, ChosenTarget};
use crate::policy::nordugrid::decide::{JobSubmission, Rejection, TargetDecision};
use crate::policy::nordugrid::discovery::Start;
use crate::policy::nordugrid::facts::*;
use crate::policy::nordugrid::grid_facts::{GridFacts, split_target};
use crate::policy::nordugrid::job_state::JobState;
use crate::policy::nordugrid::staging::{FileClass, Staging};
use crate::policy::nordugrid::target::TargetCandidate;
use crate::policy::{Arg, Policy, PolicySpec, Resolved, Rules, kind};
use crate::unit::{MIB, MINUTE, Millis, SECOND};
use crate::xrsl::{Dialect, read};
use std::collections::BTreeMap;

/// When jobs are decided.
pub(super) const NOON: Millis = 1_772_366_400 * SECOND;

/// A grid whose clusters are registered at `index-1`.
#[derive(Clone)]
pub(super) struct World {
    pub facts: GridFacts,
    pub now: Millis,
    pub start: Start,
    pub cut_id: String,
    pub attempt: u64,
    pub excluded: Vec<String>,
    pub uploads: BTreeMap<String, u64>,
    policy: Policy,
    shares: BTreeMap<String, Share>,
    users: BTreeMap<String, UserShare>,
    clusters: BTreeMap<String, Cluster>,
}

/// A draw: the number drawn, the sum of the weights, and each target with its weight.
type Drawn<'a> = (u128, u128, Vec<(&'a str, u64)>);

/// The answer to a job.
pub(super) struct Answer {
    pub decision: TargetDecision,
    pub changes: Option<TargetChanges>,
    /// The target chosen, or the code of the rejection.
    pub verdict: String,
    /// The rule that decided; empty if no target was chosen.
    pub rule: &'static str,
    /// Reasons of the last alternative, by target.
    pub refused: BTreeMap<String, &'static str>,
    /// Targets with enough free CPUs.
    pub free_set: Vec<String>,
}

impl World {
    pub fn new() -> World {
        World::with_parameters(&[])
    }

    pub fn with_parameters(parameters: &[(&str, Arg)]) -> World {
        let flavour = kind("nordugrid").expect("built in");
        let mut spec = PolicySpec::full("nordugrid", flavour, Rules::Documented);
        let given = parameters.iter().map(|(name, arg)| ((*name).to_owned(), arg.clone()));
        spec.args.extend(given);
        World {
            facts: GridFacts::default(),
            now: NOON,
            start: Start { index_servers: vec!["index-1".to_owned()], ..Start::default() },
            cut_id: "c000000000000001".to_owned(),
            attempt: 0,
            excluded: Vec::new(),
            uploads: BTreeMap::new(),
            policy: Policy::compile(&spec).expect("allowed"),
            shares: BTreeMap::new(),
            users: BTreeMap::new(),
            clusters: BTreeMap::new(),
        }
    }

    /// A cluster with a large cache, registered; `change` makes it differ.
    pub fn cluster(&mut self, name: &str, change: impl FnOnce(&mut Cluster)) {
        let mut facts = self.clusters.get(name).cloned().unwrap_or_else(|| Cluster {
            name: name.to_owned(),
            answered: true,
            cache_free_bytes: Some(100_000 * MIB),
            ..Cluster::default()
        });
        change(&mut facts);
        self.clusters.insert(name.to_owned(), facts.clone());
        self.facts.put_cluster(facts);
        self.register("index-1", name, ChildKind::Computing, |_| ());
    }

    /// An active queue of 100 CPUs; `change` makes it differ. Its cluster is made if it is new.
    pub fn queue(&mut self, target: &str, change: impl FnOnce(&mut Share)) {
        let (cluster, queue) = split_target(target);
        if !self.clusters.contains_key(cluster) {
            self.cluster(cluster, |_| ());
        }
        let mut facts = self.shares.get(target).cloned().unwrap_or_else(|| Share {
            cluster: cluster.to_owned(),
            queue: queue.to_owned(),
            status: Some("active".to_owned()),
            as_of: NOON,
            total_slots: Some(100),
            ..Share::default()
        });
        change(&mut facts);
        self.shares.insert(target.to_owned(), facts.clone());
        self.facts.put_share(facts);
    }

    /// The user's facts at a queue: free CPUs as published, plenty of disk.
    pub fn user(&mut self, target: &str, free_slots: &str, change: impl FnOnce(&mut UserShare)) {
        let (cluster, queue) = split_target(target);
        let mut facts = self.users.get(target).cloned().unwrap_or_else(|| UserShare {
            cluster: cluster.to_owned(),
            queue: queue.to_owned(),
            user: "anna".to_owned(),
            is_authorised: true,
            disk_free_bytes: Some(100_000 * MIB),
            ..UserShare::default()
        });
        facts.free_slots = free_slots.to_owned();
        change(&mut facts);
        self.users.insert(target.to_owned(), facts.clone());
        self.facts.put_user_share(&facts);
    }

    /// An active queue at which the user finds so many free CPUs.
    pub fn open(&mut self, target: &str, free_slots: &str) {
        self.queue(target, |_| ());
        self.user(target, free_slots, |_| ());
    }

    pub fn register(
        &mut self,
        registry: &str,
        child: &str,
        kind: ChildKind,
        change: impl FnOnce(&mut Registration),
    ) {
        let mut registration = Registration {
            registry_id: registry.to_owned(),
            child_id: child.to_owned(),
            child_kind: Some(kind),
            has_address: true,
            ..Registration::default()
        };
        change(&mut registration);
        self.facts.put_registration(&registration);
    }

    /// A file of so many bytes at some storage elements.
    pub fn file(&mut self, source: &str, size_bytes: Option<u64>, replicas: &[&str]) {
        let replicas = replicas.iter().map(|it| (*it).to_owned()).collect();
        self.facts.put_file(&FileRecord { source: source.to_owned(), size_bytes, replicas });
    }

    /// A cluster reports that its cache has a file, or has it no more.
    pub fn cache(&mut self, cluster: &str, source: &str, is_present: bool, as_of: Option<Millis>) {
        let (cluster, source) = (cluster.to_owned(), source.to_owned());
        self.facts.put_cache_report(&CacheReport { cluster, source, is_present, as_of });
    }

    /// A job of somebody at a target.
    pub fn job(&mut self, id: &str, target: &str, state: &str, count: u64, minutes: u64) {
        let state = JobState::parse(state).expect("a state");
        self.facts.put_job(JobRecord {
            job_id: id.to_owned(),
            target: target.to_owned(),
            state,
            count,
            cpu_time_s: Some(minutes * 60),
            wall_time_s: None,
            changed_at: None,
            reached_batch_at: None,
            is_staged: false,
        });
    }

    /// A job that reached the batch system of a target.
    pub fn job_in_batch(&mut self, id: &str, target: &str, count: u64, reached_at: Millis) {
        self.facts.put_job(JobRecord {
            job_id: id.to_owned(),
            target: target.to_owned(),
            state: JobState::InBatch,
            count,
            cpu_time_s: None,
            wall_time_s: None,
            changed_at: None,
            reached_batch_at: Some(reached_at),
            is_staged: true,
        });
    }

    /// An assignment of the current attempt is folded.
    pub fn fold(&mut self, job_id: &str, changes: &TargetChanges) {
        let (attempt, decided_at) = (self.attempt, self.now);
        let assigned = Assigned { job_id, attempt, decided_at, is_expired: false };
        self.facts.fold_assignment(assigned, changes);
    }

    pub fn submission(&self, job_id: &str, xrsl: &str) -> JobSubmission {
        let description = read(xrsl, Dialect::User).expect("a description");
        JobSubmission {
            job_id: job_id.to_owned(),
            attempt: self.attempt,
            cut_id: self.cut_id.clone(),
            now: self.now,
            user: "anna".to_owned(),
            alternatives: description.jobs.into_iter().next().expect("a job"),
            start: self.start.clone(),
            uploads: self.uploads.clone(),
            excluded_targets: self.excluded.clone(),
        }
    }

    pub fn resolved(&self) -> Resolved {
        self.policy.unchanged()
    }

    /// Decides on a job and changes nothing.
    pub fn decide(&self, job_id: &str, xrsl: &str) -> Answer {
        let (submission, resolved) = (self.submission(job_id, xrsl), self.resolved());
        let decision = self.policy.decide_target(&self.facts, &submission, &resolved);
        let name = |at: u32| self.facts.targets.name(at).to_owned();
        let last = decision.tried.len().checked_sub(1);
        let changes = decision.changes.clone();
        let none = Choice::default();
        let choice = last.map_or(&none, |at| &decision.tried[at]);
        let chosen = choice.chosen.as_ref();
        let target = |it: &ChosenTarget| name(choice.ranked[it.at].target);
        let rejection = decision.rejection.map(Rejection::code).unwrap_or_default();
        let refused =
            choice.refused.iter().map(|it| (name(it.target), it.objection.reason.name)).collect();
        let free = choice.ranked.iter().filter(|it| it.is_free);
        Answer {
            verdict: chosen.map_or_else(|| rejection.to_owned(), target),
            rule: chosen.map_or("", |it| it.rule.name()),
            refused,
            free_set: free.map(|it| name(it.target)).collect(),
            changes,
            decision,
        }
    }

    /// Decides on a job and folds the decision.
    pub fn submit(&mut self, job_id: &str, xrsl: &str) -> Answer {
        let answer = self.decide(job_id, xrsl);
        if let Some(changes) = &answer.changes {
            self.fold(job_id, changes);
        }
        answer
    }

    /// Looks at one target as a job does.
    pub fn look<T>(
        &self,
        target: &str,
        xrsl: &str,
        look: impl FnOnce(
            &TargetCandidate<'_>,
            &Staging,
            &crate::policy::nordugrid::case::JobCase<'_>,
        ) -> T,
    ) -> T {
        let (submission, resolved) = (self.submission("gsid-0001", xrsl), self.resolved());
        let case = submission.case(&self.facts, &submission.alternatives[0], &resolved);
        let number = self.facts.targets.find(target).expect("a target");
        let share = self.facts.share(number).expect("a queue");
        let candidate = TargetCandidate::of(&case, share).expect("a cluster");
        look(&candidate, &Staging::of(&case, candidate.cluster), &case)
    }

    /// CPUs that a job of so many minutes finds free: F'(d).
    pub fn free_for(&self, target: &str, minutes: u64) -> u64 {
        let xrsl = format!("&(executable=run)(cputime={minutes})");
        self.look(target, &xrsl, |candidate, _, case| candidate.free_slots(case, &mut Vec::new()))
    }

    /// Classes of a job's input files at a target's cluster, in written order.
    pub fn classes(&self, target: &str, xrsl: &str) -> Vec<&'static str> {
        self.look(target, xrsl, |candidate, staging, case| {
            let has_cache = staging.cache_free.is_some();
            let class = |input| FileClass::of(input, candidate.cluster.number, has_cache).name();
            case.inputs.iter().map(class).collect()
        })
    }
}

impl Answer {
    /// The draw: the number drawn, the sum of weights, and each target with its weight.
    pub fn draw(&self) -> Option<Drawn<'_>> {
        let draw = self.decision.tried.last()?.chosen.as_ref()?.draw.as_ref()?;
        let weights = draw.weights.iter().map(|(name, weight)| (name.as_str(), *weight));
        Some((draw.drawn, draw.total, weights.collect()))
    }

    /// Names of the clusters that were found.
    pub fn clusters(&self, world: &World) -> Vec<String> {
        let Some(discovery) = &self.decision.discovery else { return Vec::new() };
        let names = discovery.clusters.all().map(|at| world.facts.names.name(at).to_owned());
        let mut names: Vec<String> = names.chain(discovery.unknown.iter().cloned()).collect();
        names.sort();
        names
    }
}

/// A moment so many minutes after noon.
pub(super) fn at(minutes: i64) -> Millis {
    NOON + minutes * MINUTE
}

/// Mebibytes as bytes.
pub(super) fn mb(count: u64) -> Option<u64> {
    Some(count * MIB)
}
