//! One NorduGrid choice: clusters found, every queue through every filter, input files classed and
//! summed, ranked, chosen, and what it changes. Most queues fit, so that little ends early.
//! `cargo bench --bench nordugrid`.

use divan::{Bencher, black_box};
use yardmaster::core::policy::nordugrid::changes::Assigned;
use yardmaster::core::policy::nordugrid::decide::JobSubmission;
use yardmaster::core::policy::nordugrid::discovery::Start;
use yardmaster::core::policy::nordugrid::facts::*;
use yardmaster::core::policy::nordugrid::grid_facts::GridFacts;
use yardmaster::core::policy::nordugrid::job_state::JobState;
use yardmaster::core::policy::{Policy, PolicySpec, Resolved, Rules, kind};
use yardmaster::core::unit::MIB;
use yardmaster::core::xrsl::{Dialect, read};

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
    let assigned = Assigned { job_id: "gsid-1", attempt: 0, decided_at: 0, is_expired: false };
    bencher.bench_local(|| {
        grid.facts.fold_assignment(assigned, &changes);
        grid.facts.put_outcome("gsid-1", &changes.target, 0, Submission::Failed);
        grid.facts.forget_job("gsid-1");
    });
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
                registry_id: "index-1".to_owned(),
                child_id: cluster(number),
                child_kind: Some(ChildKind::Computing),
                has_address: true,
                refreshed_at: Some(0),
                ttl_s: Some(600),
                ..Registration::default()
            });
            facts.put_cluster(cluster_facts(number));
        }
        (0..queues).for_each(|number| put_queue(&mut facts, number, clusters));
        for number in 0..FILES {
            facts.put_file(&FileRecord {
                source: source(number),
                size_bytes: Some(MIB),
                replicas: vec![format!("se{}.example.org", number % 100)],
            });
        }
        for number in 0..clusters * 10 {
            facts.put_cache_report(&CacheReport {
                cluster: cluster(number / 10),
                source: source(number * 7 % 1_000),
                is_present: true,
                as_of: Some(0),
            });
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

fn cluster_facts(number: usize) -> Cluster {
    let environments = (0..30).map(|at| format!("APPS/HEP/TOOL{at}-{}.{}", number % 3, at % 5));
    Cluster {
        name: cluster(number),
        answered: true,
        total_slots: Some(1_000),
        clock_mhz: Some(2_500),
        architecture: Some("x86_64".to_owned()),
        middleware: vec!["nordugrid-arc-6.14".to_owned()],
        runtime_environments: environments.chain(["ROOT-6.22".to_owned()]).collect(),
        operating_systems: vec!["almalinux-9.4".to_owned()],
        local_storage: vec![format!("se{}.example.org", number % 100)],
        cache_free_bytes: Some(1_000_000 * MIB),
        ..Cluster::default()
    }
}

fn put_queue(facts: &mut GridFacts, number: usize, clusters: usize) {
    let (cluster, queue) = (cluster(number % clusters), format!("q{}", number / clusters));
    facts.put_share(Share {
        cluster: cluster.clone(),
        queue: queue.clone(),
        status: Some("active".to_owned()),
        total_slots: Some(500),
        max_queuable_jobs: Some(1_000),
        max_cpu_time_s: Some(360_000),
        max_memory_mb: Some(4_000),
        ..Share::default()
    });
    facts.put_user_share(&UserShare {
        cluster: cluster.clone(),
        queue: queue.clone(),
        user: "anna".to_owned(),
        is_authorised: true,
        free_slots: "60:600 100:60 10".to_owned(),
        disk_free_bytes: Some(1_000_000 * MIB),
        as_of: Some(0),
    });
    for job in 0..AHEAD {
        facts.put_job(JobRecord {
            job_id: format!("job-{number}-{job}"),
            target: format!("{cluster}/{queue}"),
            state: JobState::PreBatch,
            count: 1,
            cpu_time_s: Some(600 * job as u64),
            wall_time_s: None,
            changed_at: None,
            reached_batch_at: None,
            is_staged: false,
        });
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
