//! Short words for building a grid and asking for a target.

use crate::domain::nordugrid::output::Placed;
use crate::domain::nordugrid::policy::KnownJob;
use crate::domain::nordugrid::policy::changes::TargetChanges;
use crate::domain::nordugrid::policy::choice::{Choice, ChosenTarget};
use crate::domain::nordugrid::policy::decide::{JobSubmission, NordugridRejection, TargetDecision};
use crate::domain::nordugrid::policy::discovery::Start;
use crate::domain::nordugrid::policy::grid_facts::{GridFacts, split_target};
use crate::domain::nordugrid::policy::job_state::{ClusterJobState, JobRecord};
use crate::domain::nordugrid::policy::staging::{FileClass, Staging};
use crate::domain::nordugrid::policy::target::TargetCandidate;
use crate::domain::nordugrid::xrsl::{Dialect, read};
use crate::event::{
    BatchFacts, ChildKind, ClusterFacts, Location, OutcomeKind, Registration, Replica, UserShare,
};
use crate::output::id::DecisionId;
use crate::policy::{Arg, Policy, PolicySpec, Resolved, Rules, kind};
use crate::state::record::{Placement, RequestState};
use crate::unit::{DAY, MIB, MINUTE, Millis, SECOND};
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
    shares: BTreeMap<String, BatchFacts>,
    users: BTreeMap<String, UserShare>,
    clusters: BTreeMap<String, ClusterFacts>,
    /// Records about files, by the name of the file.
    replicas: BTreeMap<String, Vec<Replica>>,
    records: BTreeMap<String, (String, JobRecord)>,
    requests: BTreeMap<String, RequestState>,
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
            replicas: BTreeMap::new(),
            records: BTreeMap::new(),
            requests: BTreeMap::new(),
        }
    }

    /// A cluster with a large cache, registered; `change` makes it differ.
    pub fn cluster(&mut self, name: &str, change: impl FnOnce(&mut ClusterFacts)) {
        let facts = self.clusters.entry(name.to_owned()).or_insert_with(|| ClusterFacts {
            answered: true,
            cache_free_bytes: Some(100_000 * MIB),
            ..ClusterFacts::default()
        });
        change(facts);
        self.facts.put_cluster(name, facts);
        self.register("index-1", name, ChildKind::Computing, |_| ());
    }

    /// An active queue of 100 CPUs; `change` makes it differ. Its cluster is made if it is new.
    pub fn queue(&mut self, target: &str, change: impl FnOnce(&mut BatchFacts)) {
        let (cluster, _) = split_target(target);
        if !self.clusters.contains_key(cluster) {
            self.cluster(cluster, |_| ());
        }
        let facts = self.shares.entry(target.to_owned()).or_insert_with(|| BatchFacts {
            status: "active".to_owned(),
            total_slots: Some(100),
            ..BatchFacts::default()
        });
        change(facts);
        self.facts.put_share(target, NOON, facts);
    }

    /// The user's facts at a queue: free CPUs as published, plenty of disk.
    pub fn user(&mut self, target: &str, free_slots: &str, change: impl FnOnce(&mut UserShare)) {
        let facts = self.users.entry(target.to_owned()).or_insert_with(|| UserShare {
            queue: target.to_owned(),
            user: "anna".to_owned(),
            changed_at: NOON,
            authorised: true,
            disk_free_bytes: Some(100_000 * MIB),
            ..UserShare::default()
        });
        facts.free_slots = free_slots.to_owned();
        change(facts);
        self.facts.put_user_share(facts);
    }

    /// Forgets what a queue published for the user.
    pub fn forget_user(&mut self, target: &str) {
        self.users.remove(target);
        self.facts.remove_user_share(target, "anna");
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
            registry: registry.to_owned(),
            child: child.to_owned(),
            kind,
            addressed: true,
            ..Registration::default()
        };
        change(&mut registration);
        self.facts.put_registration(&registration);
    }

    /// A file of so many bytes at some storage elements.
    pub fn file(&mut self, source: &str, size_bytes: Option<u64>, endpoints: &[&str]) {
        let locations = endpoints.iter().map(|endpoint| Location {
            endpoint: (*endpoint).to_owned(),
            complete: true,
            ..Location::default()
        });
        let bytes = size_bytes.unwrap_or(0);
        self.replica(source, Replica { bytes, locations: locations.collect(), ..listed() });
    }

    /// A cluster reports that its cache has a file, or has it no more.
    pub fn cache(&mut self, cluster: &str, source: &str, complete: bool, as_of: Option<Millis>) {
        let endpoint = cluster.to_owned();
        let location = Location { endpoint, complete, cache: true, ..Location::default() };
        let changed_at = as_of.unwrap_or(NOON - DAY);
        let endpoint = cluster.to_owned();
        let locations = vec![location];
        self.replica(source, Replica { changed_at, endpoint, locations, ..Replica::default() });
    }

    /// A record about a file. Of those that list every copy there is one.
    pub fn replica(&mut self, source: &str, replica: Replica) {
        let records = self.replicas.entry(source.to_owned()).or_default();
        records.retain(|it| !(it.endpoint.is_empty() && replica.endpoint.is_empty()));
        records.push(replica);
        self.facts.put_file(source, &records.iter().collect::<Vec<_>>());
    }

    /// A job of somebody at a target.
    pub fn job(&mut self, id: &str, target: &str, state: &str, count: u64, minutes: u64) {
        let state = ClusterJobState::parse(state).expect("a state");
        let time_s = Some(minutes * 60);
        self.record(id, target, JobRecord { count, time_s, ..record(state) });
    }

    /// A job that reached the batch system of a target.
    pub fn job_in_batch(&mut self, id: &str, target: &str, count: u64, reached_at: Millis) {
        let reached_batch_at = Some(reached_at);
        let record = record(ClusterJobState::InBatch);
        self.record(id, target, JobRecord { count, reached_batch_at, is_staged: true, ..record });
    }

    /// The newest record of a job.
    pub fn record(&mut self, id: &str, target: &str, record: JobRecord) {
        self.records.insert(id.to_owned(), (target.to_owned(), record));
        self.put_job(id);
    }

    /// An assignment of the current attempt is folded.
    pub fn fold(&mut self, id: &str, changes: &TargetChanges) {
        let placed = Placed {
            count: changes.count,
            time_s: changes.time_s,
            disk_bytes: changes.disk_bytes,
            cache_bytes: changes.cache_bytes,
            tags: changes.tags.iter().cloned().collect(),
            ..Placed::default()
        };
        self.place(id, &changes.target, self.attempt, self.now, placed);
    }

    /// An attempt of a job is placed at a target.
    pub fn place(&mut self, id: &str, target: &str, attempt: u64, now: Millis, placed: Placed) {
        let (decision, target) = (decision(id, attempt), target.to_owned());
        let request = self.requests.entry(id.to_owned()).or_default();
        request.placements.push(Placement { decision, attempt, target, now, placed });
        request.placements.sort_by_key(|placement| placement.attempt);
        self.put_job(id);
    }

    /// The target of an attempt refuses the job.
    pub fn refuse(&mut self, id: &str, attempt: u64) {
        let request = self.requests.entry(id.to_owned()).or_default();
        request.outcomes.insert(decision(id, attempt), OutcomeKind::Refused);
        self.put_job(id);
    }

    fn put_job(&mut self, name: &str) {
        let record = self.records.get(name);
        let record = record.map(|(target, record)| (target.as_str(), *record));
        let request = self.requests.get(name);
        let (time, lifetime) = (NOON, DAY);
        self.facts.put_job(&KnownJob { name, record, request, time, lifetime });
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
        let rejection = decision.rejection.map(NordugridRejection::code).unwrap_or_default();
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
            &crate::domain::nordugrid::policy::case::JobCase<'_>,
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

/// A record that lists every copy of a file.
fn listed() -> Replica {
    Replica { changed_at: NOON, ..Replica::default() }
}

/// A job of one CPU of which no time is known.
pub(super) fn record(state: ClusterJobState) -> JobRecord {
    let (time_s, changed_at, reached_batch_at) = (None, None, None);
    JobRecord { state, count: 1, time_s, changed_at, reached_batch_at, is_staged: false }
}

fn decision(id: &str, attempt: u64) -> DecisionId {
    DecisionId::derive("nordugrid", id, attempt, 1)
}

/// A moment so many minutes after noon.
pub(super) fn at(minutes: i64) -> Millis {
    NOON + minutes * MINUTE
}

/// Mebibytes as bytes.
pub(super) fn mb(count: u64) -> Option<u64> {
    Some(count * MIB)
}
