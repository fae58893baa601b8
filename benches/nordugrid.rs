//! One NorduGrid choice: clusters found, every queue through every filter, input files classed and
//! summed, ranked, chosen, and what it changes. Most queues fit, so that little ends early.
//! `cargo bench --bench nordugrid`.

use divan::{Bencher, black_box};
use yardmaster::core::domain::nordugrid::output::Placed;
use yardmaster::core::domain::nordugrid::policy::KnownJob;
use yardmaster::core::domain::nordugrid::policy::decide::JobSubmission;
use yardmaster::core::domain::nordugrid::policy::discovery::Start;
use yardmaster::core::domain::nordugrid::policy::grid_facts::GridFacts;
use yardmaster::core::domain::nordugrid::policy::job_state::{ClusterJobState, JobRecord};
use yardmaster::core::domain::nordugrid::xrsl::{Dialect, read};
use yardmaster::core::event::{BatchFacts, ChildKind, ClusterFacts, Location, OutcomeKind};
use yardmaster::core::event::{Registration, Replica, UserShare};
use yardmaster::core::output::id::DecisionId;
use yardmaster::core::policy::{Policy, PolicySpec, Resolved, Rules, kind};
use yardmaster::core::state::record::{Placement, RequestState};
use yardmaster::core::unit::{DAY, MIB};

fn main() {
    divan::main();
}

/// Files that replicas are known of.
const FILES: usize = 100_000;
/// Input files of the job.
const INPUTS: usize = 20;
/// Jobs in front of each queue.
const AHEAD: usize = 5;

/// (queues, clusters): each cluster has its share of the queues.
#[divan::bench(args = [(300, 300), (300, 60), (1_000, 200)])]
fn choice(bencher: Bencher<'_, '_>, (queues, clusters): (usize, usize)) {
    let grid = Grid::new(queues, clusters);
    let decision = grid.policy.decide_target(&grid.facts, &grid.submission, &grid.resolved);
    let tried = &decision.tried[0];
    assert_eq!(tried.ranked.len() + tried.refused.len(), queues);
    assert!(tried.chosen.is_some() && tried.ranked.len() > queues * 3 / 4);
    bencher.bench_local(|| {
        grid.policy.decide_target(&grid.facts, black_box(&grid.submission), &grid.resolved)
    });
}

/// Folding what a choice changes, and its outcome.
#[divan::bench]
fn fold(bencher: Bencher<'_, '_>) {
    let mut grid = Grid::new(300, 300);
    let decision = grid.policy.decide_target(&grid.facts, &grid.submission, &grid.resolved);
    let changes = decision.changes.expect("a target");
    let placed = Placed {
        count: changes.count,
        time_s: changes.time_s,
        disk_bytes: changes.disk_bytes,
        cache_bytes: changes.cache_bytes,
        tags: changes.tags.into_iter().collect(),
        ..Placed::default()
    };
    let (decision, target) = (DecisionId::derive("nordugrid", "gsid-1", 0, 1), changes.target);
    let placement = Placement { decision, attempt: 0, target, now: 0, placed };
    let mut request = RequestState { placements: vec![placement], ..RequestState::default() };
    bencher.bench_local(|| {
        request.outcomes.clear();
        grid.facts.put_job(&KnownJob { request: Some(&request), ..job("gsid-1") });
        request.outcomes.insert(decision, OutcomeKind::Refused);
        grid.facts.put_job(&KnownJob { request: Some(&request), ..job("gsid-1") });
        grid.facts.put_job(&job("gsid-1"));
    });
}

/// A job that nothing is known of.
fn job(name: &str) -> KnownJob<'_> {
    KnownJob { name, record: None, request: None, time: 0, lifetime: DAY }
}

struct Grid {
    facts: GridFacts,
    policy: Policy,
    resolved: Resolved,
    submission: JobSubmission,
}

impl Grid {
    fn new(queues: usize, clusters: usize) -> Grid {
        let mut facts = GridFacts::default();
        for number in 0..clusters {
            facts.put_registration(&Registration {
                registry: "index-1".to_owned(),
                child: cluster(number),
                kind: ChildKind::Computing,
                addressed: true,
                expires: true,
                ttl_s: Some(600),
                ..Registration::default()
            });
            facts.put_cluster(&cluster(number), &cluster_facts(number));
        }
        (0..queues).for_each(|number| put_queue(&mut facts, number, clusters));
        for number in 0..FILES {
            let listed = replica(format!("se{}.example.org", number % 100), false);
            // Of every 1000 files so many are in caches.
            let caches = (0..clusters * 10).filter(|at| at * 7 % 1_000 == number);
            let caches = caches.map(|at| replica(cluster(at / 10), true));
            let records: Vec<Replica> = std::iter::once(listed).chain(caches).collect();
            facts.put_file(&source(number), &records.iter().collect::<Vec<_>>());
        }
        let flavour = kind("nordugrid").expect("built in");
        let spec = PolicySpec::full("nordugrid", flavour, Rules::Documented);
        let policy = Policy::compile(&spec).expect("allowed");
        let resolved = policy.unchanged();
        Grid { facts, policy, resolved, submission: submission() }
    }
}

fn cluster(number: usize) -> String {
    format!("ce{number:04}.example.org")
}

fn source(number: usize) -> String {
    format!("rls://rc.example.org/data/production/run-{number:08}")
}

/// A record of a copy: the only one of a file, or one in a cache.
fn replica(endpoint: String, cache: bool) -> Replica {
    let about = if cache { endpoint.clone() } else { String::new() };
    let location = Location { endpoint, complete: true, cache, ..Location::default() };
    Replica { bytes: MIB, locations: vec![location], endpoint: about, ..Replica::default() }
}

fn cluster_facts(number: usize) -> ClusterFacts {
    let environments = (0..30).map(|at| format!("APPS/HEP/TOOL{at}-{}.{}", number % 3, at % 5));
    ClusterFacts {
        answered: true,
        total_slots: Some(1_000),
        clock_mhz: Some(2_500),
        architecture: "x86_64".to_owned(),
        middleware: vec!["nordugrid-arc-6.14".to_owned()],
        runtime_environments: environments.chain(["ROOT-6.22".to_owned()]).collect(),
        operating_systems: vec!["almalinux-9.4".to_owned()],
        local_storage: vec![format!("se{}.example.org", number % 100)],
        cache_free_bytes: Some(1_000_000 * MIB),
        ..ClusterFacts::default()
    }
}

fn put_queue(facts: &mut GridFacts, number: usize, clusters: usize) {
    let (cluster, queue) = (cluster(number % clusters), format!("q{}", number / clusters));
    let target = format!("{cluster}/{queue}");
    let share = BatchFacts {
        status: "active".to_owned(),
        total_slots: Some(500),
        max_queuable_jobs: Some(1_000),
        max_cpu_time_s: Some(360_000),
        max_memory_mb: Some(4_000),
        ..BatchFacts::default()
    };
    facts.put_share(&target, 0, &share);
    facts.put_user_share(&UserShare {
        queue: target.clone(),
        user: "anna".to_owned(),
        changed_at: 0,
        authorised: true,
        free_slots: "60:600 100:60 10".to_owned(),
        disk_free_bytes: Some(1_000_000 * MIB),
    });
    for at in 0..AHEAD {
        let record = JobRecord {
            state: ClusterJobState::PreBatch,
            count: 1,
            time_s: Some(600 * at as u64),
            changed_at: None,
            reached_batch_at: None,
            is_staged: false,
        };
        let name = format!("job-{number}-{at}");
        facts.put_job(&KnownJob { record: Some((&target, record)), ..job(&name) });
    }
}

fn submission() -> JobSubmission {
    let inputs = (0..INPUTS).map(|at| format!("(\"f{at}\" \"{}\")", source(at * 37)));
    let xrsl = format!(
        "&(executable=run)(count=4)(cputime=120)(memory=2000)(disk=500)(architecture=x86_64)\
         (runtimeenvironment>=ROOT-6.20)(inputfiles={})",
        inputs.collect::<String>()
    );
    let description = read(&xrsl, Dialect::User).expect("a description");
    JobSubmission {
        job_id: "gsid-0001".to_owned(),
        cut_id: "c000000000000001".to_owned(),
        user: "anna".to_owned(),
        alternatives: description.jobs.into_iter().next().expect("a job"),
        start: Start { index_servers: vec!["index-1".to_owned()], ..Start::default() },
        ..JobSubmission::default()
    }
}
