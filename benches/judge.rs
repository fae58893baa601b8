//! One judgement: every filter and weight of ATLAS production jobs over a grid of queues, a third
//! of them fit. Gathering the candidates is not part of it.

use divan::{Bencher, black_box};
use yardmaster::core::dice::Dice;
use yardmaster::core::domain::atlas::policy::{Known, LinkView, Nucleus, Stores};
use yardmaster::core::event::{Endpoints, Queue, RamUnit, Status, Storage, Task};
use yardmaster::core::policy::{Candidate, Case, Policy, PolicySpec, Resolved, Rules, kind};
use yardmaster::core::state::ledger::Count;
use yardmaster::sim::scenario::records;

fn main() {
    divan::main();
}

/// Filters, weights, ranking.
#[divan::bench(args = [300, 1_000, 100_000])]
fn judge(bencher: Bencher<'_, '_>, queues: usize) {
    let grid = Grid::new(queues, |number| number % 3);
    let candidates = grid.candidates();
    let case = grid.case();
    let found = grid.policy.judge(&case, &candidates[..], &grid.resolved);
    assert_eq!(found.passed as usize, queues.div_ceil(3));
    bencher.bench_local(|| grid.policy.judge(black_box(&case), &candidates[..], &grid.resolved));
}

/// The same where every queue is fit: nothing ends early.
#[divan::bench(args = [300, 1_000, 100_000])]
fn judge_all_fit(bencher: Bencher<'_, '_>, queues: usize) {
    let grid = Grid::new(queues, |_| 0);
    let candidates = grid.candidates();
    let case = grid.case();
    let found = grid.policy.judge(&case, &candidates[..], &grid.resolved);
    assert_eq!(found.passed as usize, queues);
    bencher.bench_local(|| grid.policy.judge(black_box(&case), &candidates[..], &grid.resolved));
}

/// One candidate through everything: what waking costs.
#[divan::bench]
fn object_one(bencher: Bencher<'_, '_>) {
    let grid = Grid::new(1, |_| 0);
    let candidates = grid.candidates();
    let case = grid.case();
    bencher
        .bench_local(|| grid.policy.object_one(black_box(&case), &candidates[0], &grid.resolved));
}

/// A thousand jobs among ten queues.
#[divan::bench]
fn divide(bencher: Bencher<'_, '_>) {
    let grid = Grid::new(300, |_| 0);
    let candidates = grid.candidates();
    let case = grid.case();
    let found = grid.policy.judge(&case, &candidates[..], &grid.resolved);
    bencher.bench_local(|| {
        let mut dice = Dice::of("atlas", "40000001/1", 0, 1, black_box(1));
        grid.policy.divide(&case, &candidates[..], &found, &grid.resolved, &mut dice)
    });
}

struct Grid {
    policy: Policy,
    resolved: Resolved,
    task: Task,
    queues: Vec<Queue>,
    loads: Vec<([u32; Status::COUNT], Count)>,
    storage: Storage,
}

impl Grid {
    /// `fit` of a queue's number: 0 is fit, others fail early (1, cores) or late (2, cap).
    fn new(queues: usize, fit: fn(usize) -> usize) -> Grid {
        let flavour = kind("atlas-production-job").expect("built in");
        let spec = PolicySpec::full("production-job", flavour, Rules::Documented);
        let policy = Policy::compile(&spec).expect("the defaults are allowed");
        let resolved = policy.unchanged();
        let storage = records::storage("DESY-HH_DATADISK", "DESY-HH", 0);
        let loads = (0..queues).map(|number| load(number, fit(number))).collect();
        let queues = (0..queues).map(|number| queue(number, fit(number))).collect();
        Grid { policy, resolved, task: task(), queues, loads, storage }
    }

    fn case(&self) -> Case<'_> {
        let Grid { policy, task, resolved, .. } = self;
        let nucleus = Nucleus { known: true, ..Nucleus::UNKNOWN };
        let known = Known { nucleus, ..Known::nothing() };
        policy.case(task, 0, policy.asked(task, resolved), known, resolved)
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let all = self.queues.iter().zip(&self.loads).enumerate();
        all.map(|(number, (queue, load))| candidate(queue, load, &self.storage, number)).collect()
    }
}

fn load(number: usize, fit: usize) -> ([u32; Status::COUNT], Count) {
    let mut load = [0; Status::COUNT];
    load[Status::Running.index()] = 100 + number as u32 * 7 % 1_000;
    load[Status::Activated.index()] = if fit == 2 { 9_999 } else { 30 };
    load[Status::Assigned.index()] = 10;
    load[Status::Starting.index()] = 5;
    load[Status::Transferring.index()] = 50;
    let mut count = Count::NONE;
    count.by.iter_mut().zip(load).for_each(|(held, jobs)| held.jobs = jobs);
    (load, count)
}

fn candidate<'a>(
    queue: &'a Queue,
    (load, count): &'a ([u32; Status::COUNT], Count),
    storage: &'a Storage,
    number: usize,
) -> Candidate<'a> {
    let link = LinkView {
        source_known: true,
        closeness: Some(3),
        queued_files: Some(number as u64 % 140),
        mbps_1h: Some(number as f64 % 250.0),
        mbps_1d: Some(20.0),
        mbps_1w: Some(30.0),
        until: Some(1),
    };
    Candidate {
        queue,
        load,
        load_type: count,
        load_all: count,
        reserved: 0,
        reserved_all: 0,
        at_nucleus: false,
        link,
        output: Some(storage),
        input: Some(storage),
        pilots: 100,
        workers: 10,
        slots: None,
        disk_io_kbps: Some(100.0),
        available_bytes: 0,
        available_files: 0,
        reachable_bytes: 0,
        reachable_files: 0,
        inputs: Stores { all: &[], at: &[] },
        outputs: Stores { all: &[], at: &[] },
        software: None,
        all_software: None,
        inactive: false,
        stuck_transferring: 0,
        user: Default::default(),
    }
}

fn task() -> Task {
    Task {
        user: "prod".into(),
        gshare: "MC Default".into(),
        resource_type: "MCORE".into(),
        nucleus: "CERN-PROD".into(),
        core_count: Some(8),
        ram_count_mb: Some(1_500),
        ram_unit: RamUnit::MbPerCore,
        base_ram_mb: Some(500),
        cpu_hs06s_per_event: Some(200.0),
        cpu_efficiency: Some(90),
        base_walltime_s: Some(600),
        output_per_event: Some(300_000.0),
        work_bytes: Some(1 << 30),
        disk_io_kbps: Some(100),
        io_intensity_kbps: Some(50),
        atom_bytes: 2 << 30,
        atom_effective_mb: 2_048.0,
        atom_events: 1_000,
        total_bytes: 20 << 30,
        total_files: 10,
        allow_input_lan: true,
        ..records::request("40000001/1", 1_000, 0)
    }
}

fn queue(number: usize, fit: usize) -> Queue {
    let unified = format!("QUEUE_{number:04}");
    Queue {
        name: format!("{unified}/MCORE"),
        resource_type: "MCORE".into(),
        analysis: true,
        cores: if fit == 1 { 1 } else { 8 },
        max_rss_mb: 16_000,
        max_time_s: 345_600,
        max_wdir_mb: 120_000,
        max_input_mb: 14_000,
        ucore: true,
        endpoints: Endpoints::default(),
        ..records::queue(&unified, "DESY-HH", "", 0)
    }
}
