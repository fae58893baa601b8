//! A small grid of clusters, on paper.

use crate::drive::yard::{Yard, config_with, lead};
use yardmaster::core::event::*;
use yardmaster::core::output::decision::{self, Decision, Ranked};
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::topology::{NORDUGRID, Topology};
use yardmaster::{core::cut::Topic, wire::record};

pub const MB: u64 = 1 << 20;

pub struct Small {
    pub yard: Yard,
}

/// A job at a target.
pub fn at<'a>(job: &'a str, target: &'a str, now: i64) -> JobState<'a> {
    JobState { job, queue: target, changed_at: now, created_at: now, ..JobState::default() }
}

pub fn registration(cluster: &str, now: i64) -> Registration {
    Registration {
        registry: "index".into(),
        child: cluster.into(),
        changed_at: now,
        kind: ChildKind::Computing,
        addressed: true,
        ..Registration::default()
    }
}

/// A cluster with storage elements that it has near, and a cache with so many MB free.
pub fn cluster(name: &str, near: &[&str], cache: Option<u64>, now: i64) -> Site {
    let facts = ClusterFacts {
        answered: true,
        total_slots: Some(100),
        local_storage: near.iter().map(|it| (*it).to_owned()).collect(),
        cache_free_bytes: cache.map(|mb| mb * MB),
        ..ClusterFacts::default()
    };
    Site { name: name.into(), changed_at: now, cluster: Some(facts), ..Site::default() }
}

pub fn queue(target: &str, status: &str, now: i64) -> Queue {
    let batch =
        BatchFacts { status: status.into(), total_slots: Some(100), ..BatchFacts::default() };
    Queue { name: target.into(), changed_at: now, batch: Some(batch), ..Queue::default() }
}

/// Free slots at a queue for the user ann, with disk in MB.
pub fn share(target: &str, free: &str, disk: u64, now: i64) -> UserShare {
    UserShare {
        queue: target.into(),
        user: "ann".into(),
        changed_at: now,
        authorised: true,
        free_slots: free.into(),
        disk_free_bytes: Some(disk * MB),
    }
}

impl Small {
    pub fn new() -> Small {
        Small { yard: Yard::of(&Topology::default_nordugrid()) }
    }

    pub fn config(&self, instance: &str) -> Config {
        config_with(instance, EpochConfig::of("nordugrid.toml", NORDUGRID).unwrap())
    }

    pub fn log(&self) -> PaperLog {
        self.yard.paper.log(&Topology::default_nordugrid().transactional_id())
    }

    pub fn start(&self) -> Drive<PaperLog, PaperStore> {
        Drive::start(self.log(), PaperStore::default(), self.config("one")).unwrap()
    }

    pub fn lead(&mut self, drive: &mut Drive<PaperLog, PaperStore>) {
        lead(&mut self.yard, drive, 5).unwrap();
        assert!(drive.leads());
    }

    /// A cluster with one queue: storage near, MB free in the cache, what is free for ann (CPUs, MB
    /// of disk), and the status.
    pub fn add(
        &self,
        target: &str,
        near: &[&str],
        cache: Option<u64>,
        free: (&str, u64),
        status: &str,
    ) {
        let (name, now) = (target.split('/').next().unwrap(), self.yard.now);
        self.yard.configure(&registration(name, now));
        self.yard.configure(&cluster(name, near, cache, now));
        self.yard.configure(&queue(target, status, now));
        self.yard.configure(&share(target, free.0, free.1, now));
    }

    /// Two clusters alike: 10 CPUs free, a cache, no storage near.
    pub fn two_clusters(&self) {
        for target in ["ce-a/q", "ce-d/q"] {
            self.add(target, &[], Some(9000), ("10", 9000), "active");
        }
    }

    /// The clusters and files of the worked example (spec cms-nordugrid B.12).
    pub fn five_clusters(&self) {
        self.add("ce-a/long", &["se1"], Some(5000), ("6:600 10:60", 3000), "active");
        self.add("ce-b/grid", &["se2"], Some(1000), ("20", 5000), "active");
        self.add("ce-c/grid", &[], Some(9000), ("50", 900), "active");
        self.add("ce-d/main", &["se1"], None, ("8", 4000), "active");
        self.add("ce-e/q", &[], None, ("9", 9000), "inactive, gridftpd is down");
        self.file("rls://f1", 2000, "se1", &[]);
        self.file("rls://f2", 300, "se2", &[]);
        self.file("rls://f4", 150, "se9", &["ce-c"]);
    }

    /// A file of so many MB, with a copy at a storage element and others in caches.
    pub fn file(&self, name: &str, mb: u64, endpoint: &str, caches: &[&str]) {
        let copy = |endpoint: &str, cache| Location {
            endpoint: endpoint.into(),
            files: 1,
            bytes: mb * MB,
            complete: true,
            cache,
            ..Location::default()
        };
        let mut locations = vec![copy(endpoint, false)];
        locations.extend(caches.iter().map(|cluster| copy(cluster, true)));
        self.yard.configure(&Replica {
            name: name.into(),
            changed_at: self.yard.now,
            kind: DataKind::File,
            bytes: mb * MB,
            files: 1,
            locations,
            ..Replica::default()
        });
    }

    pub fn job(&self, job: &JobState<'_>) {
        self.yard.job(job);
    }

    /// Ann submits a job, to clusters or to those of the index; uploads are (name, MB).
    pub fn ask(&self, job: &str, text: &str, clusters: &[&str], uploads: &[(&str, u64)]) {
        self.ask_at("index", job, text, clusters, uploads);
    }

    /// The same by another index server.
    pub fn ask_at(
        &self,
        index: &str,
        job: &str,
        text: &str,
        clusters: &[&str],
        uploads: &[(&str, u64)],
    ) {
        let upload =
            |(name, mb): &(&str, u64)| Upload { name: (*name).into(), bytes: Some(mb * MB) };
        self.yard.ask(&Task {
            subject: job.into(),
            task: job.into(),
            domain: "nordugrid".into(),
            policy: "nordugrid-job".into(),
            asked_at: self.yard.now,
            changed_at: self.yard.now,
            jobs: 1,
            user: "ann".into(),
            description: Some(JobDescription {
                text: text.into(),
                clusters: clusters.iter().map(|it| (*it).to_owned()).collect(),
                index_servers: vec![index.into()],
                uploads: uploads.iter().map(upload).collect(),
                ..JobDescription::default()
            }),
            ..Task::default()
        });
    }

    /// A target takes a job, or does not.
    pub fn answer(&self, decision: &Decision, kind: OutcomeKind) {
        let outcome = DecisionOutcome {
            subject: decision.subject.clone(),
            decision: decision.id,
            about: OutcomeAbout::Decision,
            kind,
            at: self.yard.now,
            reason: String::new(),
        };
        let write = |out: &mut Vec<u8>| record::write(out, &outcome);
        self.yard.publish(Topic::Outcome, &decision.subject, write);
    }

    /// The last decision on a job.
    pub fn last(&self, job: &str) -> Decision {
        let mut all = self.yard.decisions().into_iter().filter(|it| it.subject == job);
        all.next_back().unwrap_or_else(|| panic!("no decision on {job}"))
    }
}

pub fn ranked(decision: &Decision) -> Ranked {
    match &decision.outcome {
        decision::Outcome::Assign(ranked) => ranked[0].clone(),
        other => panic!("{}: {other:?} {:?}", decision.subject, decision.fates),
    }
}

pub fn target(decision: &Decision) -> String {
    ranked(decision).queue
}

pub fn rejected(decision: &Decision) -> String {
    match &decision.outcome {
        decision::Outcome::Reject { reason } => reason.clone(),
        other => panic!("{other:?}"),
    }
}
