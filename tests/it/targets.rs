//! A NorduGrid domain through the loop: records of clusters and users in, decisions out; refusals,
//! caches, rebuilds.

mod again;
mod copies;
mod forgotten;
mod held;

use crate::drive::yard::{Yard, config_with, lead};
use std::time::Duration;
use yardmaster::core::draw::Seed;
use yardmaster::core::event::{
    BatchFacts, ChildKind, ClusterFacts, DataKind, DecisionOutcome, JobDescription, JobState,
    Location, OutcomeAbout, OutcomeKind, Queue, Registration, RegistrationStatus, Replica, Site,
    Status, Task, Upload, UserShare,
};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::topic::Topic;
use yardmaster::core::unit::{MIB, MINUTE};
use yardmaster::drive::Drive;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;
use yardmaster::wire::topology::{NORDUGRID, Topology};

type Leader = Drive<PaperLog, PaperStore>;

const JANE: &str = "/O=Grid/O=NorduGrid/CN=Jane Physicist";

/// A grid on paper with its leader.
struct Grid {
    yard: Yard,
    drive: Leader,
    topology: String,
}

fn drive(yard: &Yard, topology: &str, instance: &str, verify: bool) -> Leader {
    let store = PaperStore::default();
    let config = EpochConfig::of("nordugrid.toml", topology).unwrap();
    let mut config = config_with(instance, config);
    config.verify = verify;
    Drive::start(yard.paper.log("yardmaster-nordugrid"), store, config).unwrap()
}

impl Grid {
    fn new() -> Grid {
        Grid::with_limits("")
    }

    fn with_limits(limits: &str) -> Grid {
        let topology = format!("{NORDUGRID}\n[limits]\n{limits}\n");
        let yard = Yard::of(&Topology::default_nordugrid());
        let drive = drive(&yard, &topology, "one", false);
        let mut grid = Grid { yard, drive, topology };
        grid.rounds(5);
        assert!(grid.drive.leads());
        grid
    }

    /// The process ends, and another begins with an empty store.
    fn restart(self) -> Grid {
        let Grid { yard, drive: mut old, topology } = self;
        old.finish(yard.now).unwrap();
        drop(old);
        let drive = drive(&yard, &topology, "two", false);
        let mut grid = Grid { yard, drive, topology };
        grid.rounds(300);
        assert!(grid.drive.leads());
        grid
    }

    fn rounds(&mut self, rounds: usize) {
        lead(&mut self.yard, &mut self.drive, rounds).unwrap();
    }

    /// A cluster with one queue, registered at the index server, where Jane has so many CPUs.
    fn cluster(&self, target: &str, facts: ClusterFacts, batch: BatchFacts, free: &str) {
        let (name, _) = target.split_once('/').unwrap();
        let at = self.yard.now;
        self.yard.configure(&Registration {
            registry: "index-1".into(),
            child: name.into(),
            changed_at: at,
            kind: ChildKind::Computing,
            status: RegistrationStatus::Valid,
            addressed: true,
            expires: true,
            ttl_s: Some(7 * 24 * 3_600),
            announced_refresh_s: 0,
        });
        let cluster = Some(ClusterFacts { answered: true, ..facts });
        let site =
            Site { name: name.into(), changed_at: at, active: true, cluster, ..Site::default() };
        self.yard.configure(&site);
        self.queue(target, batch);
        self.share(target, free, 5_000 * MIB);
    }

    fn queue(&self, target: &str, batch: BatchFacts) {
        self.yard.configure(&Queue {
            name: target.into(),
            unified: target.into(),
            changed_at: self.yard.now,
            batch: Some(batch),
            ..Queue::default()
        });
    }

    fn share(&self, target: &str, free: &str, disk: u64) {
        self.yard.configure(&UserShare {
            queue: target.into(),
            user: JANE.into(),
            changed_at: self.yard.now,
            authorised: true,
            free_slots: free.into(),
            disk_free_bytes: Some(disk),
        });
    }

    fn file(&self, source: &str, mb: u64, at: &[(&str, bool)]) {
        let location = |(endpoint, cache): &(&str, bool)| Location {
            endpoint: (*endpoint).into(),
            complete: true,
            cache: *cache,
            ..Location::default()
        };
        self.yard.configure(&Replica {
            name: source.into(),
            changed_at: self.yard.now,
            kind: DataKind::File,
            bytes: mb * MIB,
            locations: at.iter().map(location).collect(),
            ..Replica::default()
        });
    }

    fn submit(&mut self, job: &str, xrsl: &str) -> Decision {
        self.submit_with(job, JobDescription { text: xrsl.into(), ..JobDescription::default() })
    }

    fn submit_with(&mut self, job: &str, description: JobDescription) -> Decision {
        self.attempt(job, 0, description)
    }

    /// A job is submitted again after its last answer.
    fn submit_again(&mut self, job: &str, xrsl: &str) -> Decision {
        let attempt = self.last(job).attempt + 1;
        let text = xrsl.into();
        self.attempt(job, attempt, JobDescription { text, ..JobDescription::default() })
    }

    fn attempt(&mut self, job: &str, attempt: u64, description: JobDescription) -> Decision {
        let mut description = description;
        description.index_servers = vec!["index-1".into()];
        self.yard.ask(&Task {
            subject: job.into(),
            task: job.into(),
            domain: "nordugrid".into(),
            policy: "nordugrid-job".into(),
            attempt,
            asked_at: self.yard.now,
            changed_at: self.yard.now,
            jobs: 1,
            user: JANE.into(),
            description: Some(description),
            ..Task::default()
        });
        self.rounds(3);
        self.last(job)
    }

    /// The newest decision on a job.
    fn last(&self, job: &str) -> Decision {
        let decisions = self.yard.decisions();
        let of_job = decisions.into_iter().filter(|decision| decision.subject == job);
        of_job.max_by_key(|decision| decision.attempt).expect("a decision")
    }

    /// Publishes the outcome of the submission of a decision.
    fn outcome(&mut self, decision: &Decision, kind: OutcomeKind) {
        let outcome = DecisionOutcome {
            subject: decision.subject.clone(),
            decision: decision.id,
            about: OutcomeAbout::Decision,
            kind,
            at: self.yard.now,
            reason: String::new(),
        };
        self.yard.publish(Topic::Outcome, &decision.subject, |out| {
            record::write(out, &outcome);
        });
        self.rounds(3);
    }

    /// A job in one of ARC's states.
    fn job(&mut self, job: &str, target: &str, status: Status, word: &str, batch_at: i64) {
        self.yard.job(&JobState {
            job,
            task: job,
            queue: target,
            user: JANE,
            status,
            sub_status: word,
            changed_at: self.yard.now,
            activated_at: batch_at,
            cores: 2,
            wall_time_s: 6_000,
            ..JobState::default()
        });
        self.rounds(3);
    }

    /// Every decision can be made again from the log, and the counters are what a recount gives.
    fn check(mut self) {
        self.rounds(20);
        assert_eq!(audit(self.drive.state()), vec![]);
        let decisions = self.yard.decisions();
        for decision in &decisions {
            for limit in &decision.limits {
                assert!(limit.after <= limit.max, "{limit:?} of {decision:#?}");
            }
        }
        self.drive.finish(self.yard.now).unwrap();
        let reached = digest(self.drive.state());
        let mut again = drive(&self.yard, &self.topology, "three", true);
        for _ in 0..200 {
            again.pump(Duration::ZERO).unwrap();
            again.follow().unwrap();
        }
        let report = again.take_report();
        assert_eq!(report.verified[0], decisions.len() as u64, "{:#?}", report.differences);
        assert!(report.differences.is_empty(), "{:#?}", report.differences);
        assert_eq!(digest(again.state()), reached);
    }
}

fn active(total: u64) -> BatchFacts {
    BatchFacts { status: "active".into(), total_slots: Some(total), ..BatchFacts::default() }
}

fn target(decision: &Decision) -> &str {
    match &decision.outcome {
        Outcome::Assign(ranked) => &ranked[0].queue,
        other => panic!("{other:?} of {decision:#?}"),
    }
}

fn cluster(local: &[&str], cache_mb: Option<u64>) -> ClusterFacts {
    ClusterFacts {
        local_storage: local.iter().map(|name| (*name).to_owned()).collect(),
        cache_free_bytes: cache_mb.map(|mb| mb * MIB),
        ..ClusterFacts::default()
    }
}

/// Spec cms-nordugrid B.12.
fn worked_example() -> Grid {
    let mut grid = Grid::new();
    grid.cluster("ce-a/long", cluster(&["se1"], Some(5_000)), active(100), "6:600 10:60");
    grid.cluster("ce-b/grid", cluster(&["se2"], Some(1_000)), active(100), "20");
    grid.cluster("ce-c/grid", cluster(&[], Some(9_000)), active(100), "50");
    grid.cluster("ce-d/main", cluster(&["se1"], None), active(100), "8");
    let closed = BatchFacts { status: "inactive, gridftpd is down".into(), ..active(100) };
    grid.cluster("ce-e/q", cluster(&[], None), closed, "9");
    for (target, free, disk) in
        [("ce-a/long", "6:600 10:60", 3_000), ("ce-c/grid", "50", 900), ("ce-d/main", "8", 4_000)]
    {
        grid.yard.pass(1);
        grid.share(target, free, disk * MIB);
    }
    grid.file("rls://x/f1", 2_000, &[("se1", false)]);
    grid.file("gsiftp://y/f2", 300, &[("se2", false)]);
    grid.file("rls://x/f4", 150, &[("far", false), ("ce-c", true)]);
    grid.rounds(2);
    let now = grid.yard.now;
    grid.job("other", "ce-a/long", Status::Defined, "ACCEPTED", 0);
    assert!(now < grid.yard.now);
    grid
}

fn worked_job() -> JobDescription {
    JobDescription {
        text: "&(executable=run.sh)(count=4)(cputime=120)(disk=500)(inputfiles=\
               (\"f1\" \"rls://x/f1\")(\"f2\" \"gsiftp://y/f2\" \"cache=no\")(\"f3\" \"\")\
               (\"f4\" \"rls://x/f4\"))"
            .into(),
        uploads: vec![Upload { name: "f3".into(), bytes: Some(10 * MIB) }],
        ..JobDescription::default()
    }
}

#[test]
fn tn_26_the_worked_example_is_decided_as_the_specification_has_it() {
    let mut grid = worked_example();
    let decision = grid.submit_with("gsid-JN2", worked_job());
    let placed = decision.placed.clone().expect("a placement");
    let draw = placed.draw.clone().expect("a draw");
    let weights: Vec<_> = draw.weights.iter().map(|it| (it.name.clone(), it.weight)).collect();
    assert_eq!(weights, [("ce-a/long".to_owned(), 4), ("ce-d/main".to_owned(), 8)]);
    // The draw can be made again of what the decision states.
    let seed = Seed {
        algorithm: "ngbroker.v1",
        subject: "gsid-JN2",
        attempt: 0,
        cut_id: &draw.cut_id,
        round: 0,
    };
    let again = seed.draw(weights).expect("a draw");
    assert_eq!(again.winner(), target(&decision));
    assert_eq!((hex::encode(again.digest), again.drawn), (draw.digest, u128::from(draw.x)));
    let reason = |queue: &str| {
        let fate = decision.fates.iter().find(|fate| &*fate.queue == queue);
        fate.map(|fate| fate.reason.clone().into_owned())
    };
    assert_eq!(reason("ce-b/grid").as_deref(), Some("cache_space"));
    assert_eq!(reason("ce-e/q").as_deref(), Some("queue_status"));
    assert_eq!(placed.rule, "draw");
    assert_eq!((placed.count, placed.time_s), (4, Some(7_200)));
    grid.check();
}

#[test]
fn tn_34_and_35_a_refusal_leads_to_the_next_target_until_none_is_left() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/q", cluster(&[], None), active(10), "4");
    grid.cluster("ce-b/q", cluster(&[], None), active(10), "4");
    grid.rounds(2);
    let first = grid.submit("job-1", "&(executable=a)(count=4)");
    assert_eq!(first.attempt, 0);
    grid.outcome(&first, OutcomeKind::Refused);
    let second = grid.last("job-1");
    assert_eq!(second.attempt, 1);
    assert_ne!(target(&second), target(&first));
    let fate = second.fates.iter().find(|fate| *fate.queue == *target(&first)).expect("a fate");
    assert_eq!(fate.reason, "excluded");
    // What the first held is free again for another job.
    let other = grid.submit("job-2", "&(executable=a)(count=4)");
    assert_eq!(target(&other), target(&first));
    grid.outcome(&second, OutcomeKind::Failed);
    let third = grid.last("job-1");
    assert_eq!(third.attempt, 2);
    assert_eq!(third.outcome, Outcome::Reject { reason: "no_target_left".into() });
    assert_eq!(grid.yard.decisions().len(), 4);
    grid.check();
}

#[test]
fn tn_36_and_37_a_file_on_its_way_to_a_cache_counts_until_its_job_fails() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/q", cluster(&[], Some(900)), active(100), "50");
    grid.cluster("ce-b/q", cluster(&[], None), active(100), "99");
    grid.file("rls://x/f1", 100, &[("far", false)]);
    grid.rounds(2);
    let xrsl = "&(executable=a)(cluster=ce-a)(inputfiles=(\"f\" \"rls://x/f1\"))";
    let first = grid.submit("job-1", xrsl);
    assert_eq!(
        first.placed.as_ref().map(|placed| placed.tags.clone()),
        Some(vec!["rls://x/f1".into()])
    );
    grid.outcome(&first, OutcomeKind::Accepted);
    let anywhere = "&(executable=a)(inputfiles=(\"f\" \"rls://x/f1\"))";
    let second = grid.submit("job-2", anywhere);
    assert_eq!(target(&second), "ce-a/q", "the file is in the cache soon");
    assert_eq!(second.placed.as_ref().map(|it| it.rule.as_str()), Some("remote_bytes"));
    assert_eq!(second.placed.as_ref().map(|it| it.cache_bytes), Some(0));
    grid.job("job-1", "ce-a/q", Status::Failed, "FAILED", 0);
    let third =
        grid.submit("job-3", "&(executable=a)(cluster=ce-a)(inputfiles=(\"f\" \"rls://x/f1\"))");
    assert_eq!(third.placed.as_ref().map(|it| it.cache_bytes), Some(100 * MIB), "the tag is gone");
    grid.check();
}

#[test]
fn tn_38_ten_jobs_fill_a_queue_and_the_eleventh_finds_it_not_free() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/q", cluster(&[], None), active(10), "10");
    grid.rounds(2);
    let rules: Vec<f64> = (0..11)
        .map(|at| {
            let decision = grid.submit(&format!("job-{at}"), "&(executable=a)");
            let Outcome::Assign(ranked) = &decision.outcome else { panic!("{decision:#?}") };
            let at = decision.factor_names.iter().position(|name| name == "not_free").unwrap();
            ranked[0].factors[at]
        })
        .collect();
    assert_eq!(rules, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    grid.check();
}

#[test]
fn tn_15_a_job_counts_until_facts_are_as_new_as_its_place_in_the_batch_system() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/q", cluster(&[], None), active(10), "4");
    grid.rounds(2);
    let first = grid.submit("job-1", "&(executable=a)(count=4)");
    grid.outcome(&first, OutcomeKind::Accepted);
    let reached = grid.yard.now;
    grid.job("job-1", "ce-a/q", Status::Sent, "INLRMS:Q", reached);
    let not_free = |decision: &Decision| match &decision.outcome {
        Outcome::Assign(ranked) => ranked[0].factors[0] > 0.0,
        other => panic!("{other:?}"),
    };
    assert!(not_free(&grid.submit("job-2", "&(executable=a)(count=4)")), "facts are older");
    grid.yard.pass(MINUTE);
    // The queue still states four free CPUs, as of now: the first job is contained.
    grid.share("ce-a/q", "8", 5_000 * MIB);
    grid.queue("ce-a/q", active(12));
    grid.rounds(3);
    assert!(!not_free(&grid.submit("job-3", "&(executable=a)(count=4)")));
    grid.check();
}

#[test]
fn tn_40_the_second_alternative_is_used_where_the_first_matches_nothing() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/long", cluster(&[], None), active(10), "4");
    grid.rounds(2);
    let decision = grid.submit("job-1", "&(executable=a)(|(queue=short)(queue=long))");
    assert_eq!(target(&decision), "ce-a/long");
    assert_eq!(decision.placed.as_ref().map(|placed| placed.alternative), Some(1));
    grid.check();
}

#[test]
fn descriptions_that_cannot_be_used_are_rejected_with_the_place() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/q", cluster(&[], None), active(10), "4");
    grid.rounds(2);
    let decision = grid.submit("job-1", "&(executable=a)\n(count=eight)");
    let Outcome::Reject { reason } = &decision.outcome else { panic!("{decision:#?}") };
    assert!(reason.starts_with("bad_description") && reason.contains("line 2"), "{reason}");
    let second = JobDescription {
        text: "+(&(executable=a))(&(executable=b))".into(),
        job: 2,
        ..JobDescription::default()
    };
    let decision = grid.submit_with("job-2", second);
    let Outcome::Reject { reason } = &decision.outcome else { panic!("{decision:#?}") };
    assert!(reason.contains("it has 2 jobs"), "{reason}");
    grid.check();
}

/// Facts that are kept bit by bit are made again from the log: a process that begins from a store,
/// or with nothing, decides the same next.
#[test]
fn a_process_that_begins_again_decides_the_same_next() {
    let mut decided = Vec::new();
    for restarts in [false, true] {
        let mut grid = worked_example();
        let first = grid.submit_with("gsid-JN2", worked_job());
        grid.outcome(&first, OutcomeKind::Accepted);
        for at in 0..5 {
            grid.submit(&format!("job-{at}"), "&(executable=a)(cputime=90)");
        }
        if restarts {
            grid = grid.restart();
        } else {
            grid.rounds(300);
        }
        let xrsl = "&(executable=a)(count=2)(cputime=30)(inputfiles=(\"f\" \"rls://x/f4\"))";
        let next = grid.submit("next", xrsl);
        let Outcome::Assign(ranked) = &next.outcome else { panic!("{next:#?}") };
        let placed = next.placed.clone().map(|placed| (placed.rule, placed.tags));
        decided.push((
            ranked[0].queue.clone(),
            ranked[0].factors.clone(),
            placed,
            next.limits.clone(),
        ));
        grid.check();
    }
    assert_eq!(decided[0], decided[1]);
}

#[test]
fn a_job_of_so_many_files_that_its_answer_cannot_be_published_is_rejected() {
    let mut grid = Grid::new();
    grid.cluster("ce-a/q", cluster(&[], Some(900)), active(10), "4");
    grid.rounds(2);
    let far = "x".repeat(190);
    let inputs: String = (0..4_700).map(|at| format!("(f{at} \"rls://{far}/{at}\")")).collect();
    for at in 0..4_700 {
        grid.file(&format!("rls://{far}/{at}"), 0, &[("se1", false)]);
    }
    grid.rounds(2);
    let decision = grid.submit("job-1", &format!("&(executable=a)(inputfiles={inputs})"));
    let Outcome::Reject { reason } = &decision.outcome else { panic!("{:?}", decision.outcome) };
    assert!(reason.starts_with("too_large(") && reason.contains("fewer input files"), "{reason}");
    let next = grid.submit("job-2", "&(executable=a)");
    assert_eq!(target(&next), "ce-a/q");
    grid.check();
}
