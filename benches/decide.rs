//! One decision, all of it: survey, candidates, filters, weights, ranking, division, and the record
//! of it, with the shipped policies of ATLAS over a grid of queues with load, links, storage, pilots
//! and replicas: jobs of production, jobs of users (every other one with its data at three sites),
//! tasks that want a nucleus. `cargo bench --no-default-features --bench decide [-- --json]`
//!
//! Time is CPU time of this thread; sizes take turns, and the median of their rounds counts.

use std::fs;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{
    Dataset, DatasetReplica, Endpoints, Event, Hardware, Input, JobState, Link, LinkQueued,
    Outcome, OutcomeKind, OutputDataset, Pilot, Queue, QueueStatus, RamUnit, Release,
    ReplicaSummary, Site, Status, Storage, Task,
};
use yardmaster::core::id::stir;
use yardmaster::core::output::Output;
use yardmaster::core::output::progress::LaneFlags;
use yardmaster::core::policy::Policy;
use yardmaster::core::state::close::Closing;
use yardmaster::core::state::{Setting, State};
use yardmaster::core::unit::{GIB, Millis};
use yardmaster::wire::topology::Topology;

type Measured = (&'static str, usize, usize, fn(usize) -> Task);

/// What is measured: name of the figure, queues, nuclei, and who asks.
const LINES: [Measured; 5] = [
    ("decision_300_queues_us", 300, 0, production),
    ("decision_1000_queues_us", 1_000, 0, production),
    ("analysis_decision_300_queues_us", 300, 0, analysis),
    ("analysis_decision_1000_queues_us", 1_000, 0, analysis),
    ("task_decision_60_nuclei_300_queues_us", 300, 60, wanting),
];
const ROUNDS: usize = 15;
/// Requests of a round: one cycle's budget.
const REQUESTS: usize = 200;
const NOW: Millis = 1_760_000_000_000;
const NUCLEUS: &str = "SITE-0";

struct Line {
    engine: Engine,
    offset: u64,
    requests: usize,
    task: fn(usize) -> Task,
}

impl Line {
    fn new((_, queues, nuclei, task): Measured) -> Line {
        let topology = Topology::default_atlas();
        let policies = topology.policies.iter();
        let policies: Vec<Policy> = policies
            .map(|spec| Policy::compile(spec).expect("the shipped file is right"))
            .collect();
        let silence = [None; Topic::ALL.len()];
        let setting = Setting { domain: "atlas".into(), limits: topology.limits.clone(), silence };
        let engine = Engine::new(State::new(setting), policies);
        let mut line = Line { engine, offset: 0, requests: 0, task };
        (0..nuclei).for_each(|number| line.tell(Topic::Site, Event::from(nucleus(number))));
        (0..queues).for_each(|number| line.tell_queue(number));
        line.cycle();
        line
    }

    fn tell(&mut self, topic: Topic, event: Event<'_>) {
        self.offset += 1;
        self.engine.state.fold(Lane::new(topic, 0), self.offset, NOW, &event);
    }

    /// A queue, its storage, its link, its jobs and its pilots.
    fn tell_queue(&mut self, number: usize) {
        let queue = queue(number);
        let site = queue.site.clone();
        self.tell(Topic::Storage, Event::from(storage(&site)));
        self.tell(Topic::Link, Event::from(link(&site)));
        for job in 0..90 {
            let id = (number * 100 + job).to_string();
            let status = if job % 15 == 0 { Status::Activated } else { Status::Running };
            let gshare = ["MC Default", "MC 16", "User Analysis"][job % 3];
            let user = format!("user{:03}", stir(job as u64) % 200);
            let state = JobState { user: &user, ..job_state(&id, status, &queue.name, gshare) };
            self.tell(Topic::JobState, Event::JobState(state));
        }
        self.tell(Topic::Release, Event::from(release(&queue.name)));
        let node = format!("wn{number}");
        let asked = Pilot::AskedJob { queue: &queue.name, node: &node, at: NOW };
        self.tell(Topic::Pilot, Event::Pilot(asked));
        let workers = Pilot::Workers {
            queue: &queue.name,
            harvester: "h1",
            resource_type: "MCORE",
            submitted: 5,
            running: 30,
            at: NOW,
        };
        self.tell(Topic::Pilot, Event::Pilot(workers));
        self.tell(Topic::Queue, Event::from(queue));
    }

    fn cycle(&mut self) {
        let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
        let state = &mut self.engine.state;
        let flags = state.times.lanes.iter().map(|(lane, _)| (lane, at_end)).collect();
        let number = state.number + 1;
        state.close(&Closing { epoch: 1, number, now: NOW + number as Millis, flags });
        self.engine.settle();
    }

    /// CPU time of a decision; ns.
    fn round(&mut self) -> f64 {
        for _ in 0..REQUESTS {
            self.requests += 1;
            let task = (self.task)(self.requests);
            self.tell(Topic::Task, Event::Task(Box::new(task)));
        }
        self.cycle();
        let (mut spent, mut decisions, mut said) = (0, 0, Vec::new());
        loop {
            let before = cpu_ns();
            let Some(output) = self.engine.next_output() else { break };
            spent += cpu_ns() - before;
            decisions += 1;
            self.engine.fold_output(&output);
            let Output::Decision(decision) = output else { panic!("{output:?}") };
            assert!(decision.outcome.is_final(), "{:?}", decision.counts);
            said.push(decision);
        }
        assert_eq!(decisions, REQUESTS);
        // All is carried out: nothing stays reserved.
        for decision in said {
            let (subject, decision) = (decision.subject, decision.id);
            let (kind, reason) = (OutcomeKind::Accepted, String::new());
            let outcome = Outcome { subject, decision, kind, at: NOW, reason };
            self.tell(Topic::Outcome, Event::Outcome(outcome));
        }
        spent as f64 / decisions as f64
    }
}

fn job_state<'a>(id: &'a str, status: Status, queue: &'a str, gshare: &'a str) -> JobState<'a> {
    JobState {
        job: id,
        status,
        changed_at: NOW,
        task: "45000000",
        queue,
        user: "prod",
        group: "AP_MCGN",
        gshare,
        resource_type: "MCORE",
        nucleus: NUCLEUS,
        label: "managed",
        cores: 8,
        priority: 500,
        created_at: NOW,
        started_at: NOW,
        ..JobState::default()
    }
}

fn storage(site: &str) -> Storage {
    Storage {
        name: format!("{site}_DATADISK"),
        changed_at: NOW,
        site: site.into(),
        kind: "DATADISK".into(),
        total_bytes: 9_000_000 * GIB,
        free_bytes: 5_000_000 * GIB,
        read_lan: true,
        write_lan: true,
        read_wan: true,
        write_wan: true,
        ..Storage::default()
    }
}

fn link(site: &str) -> Link {
    let activity = "Production Output".to_owned();
    Link {
        source: site.into(),
        destination: NUCLEUS.into(),
        changed_at: NOW,
        closeness: Some(3),
        mbps_1h: Some(stir(site.len() as u64) as f64 % 90.0),
        mbps_1d: Some(20.0),
        mbps_1w: Some(30.0),
        queued: vec![LinkQueued { activity, files: 10, bytes: 1 }],
        queued_known: true,
    }
}

/// Every third queue is offline or has too little memory, as on a real list.
fn queue(number: usize) -> Queue {
    let site = format!("SITE-{}", number / 2);
    Queue {
        name: format!("SITE-{}_PROD_{number}", number / 2),
        unified: format!("SITE-{}_PROD_{number}", number / 2),
        changed_at: NOW,
        status: if number % 6 == 5 { QueueStatus::Offline } else { QueueStatus::Online },
        production: true,
        analysis: true,
        cloud: "DE".into(),
        storage_site: site.clone(),
        cores: 8,
        core_power_mhs06: 10_000,
        max_rss_mb: if number % 6 == 2 { 2_000 } else { 64_000 },
        max_time_s: 345_600,
        max_wdir_mb: 200_000,
        max_input_mb: 100_000,
        transferring_limit: 2_000,
        pledged_cpu: 100,
        workflow: "pull_ups".into(),
        wn_connectivity: "full#IPv6".into(),
        direct_access_lan: true,
        releases: vec!["AUTO".into()],
        jobseed: "std".into(),
        endpoints: Endpoints {
            read: vec![format!("{site}_DATADISK")],
            write: vec![format!("{site}_DATADISK")],
        },
        site,
        ..Queue::default()
    }
}

fn production(number: usize) -> Task {
    let replica = |site: usize| ReplicaSummary {
        endpoint: format!("SITE-{site}_DATADISK"),
        files: 100,
        bytes: 100 * GIB,
        tape: false,
    };
    Task {
        subject: format!("{}/1", 46_000_000 + number),
        task: (46_000_000 + number).to_string(),
        domain: "atlas".into(),
        policy: "production-job".into(),
        asked_at: NOW,
        changed_at: NOW,
        jobs: 50,
        priority: 500,
        task_priority: 500,
        label: "managed".into(),
        processing_type: "simul".into(),
        working_group: "AP_MCGN".into(),
        user: "prod".into(),
        gshare: "MC Default".into(),
        resource_type: "MCORE".into(),
        nucleus: NUCLEUS.into(),
        core_count: Some(8),
        ram_count_mb: Some(1_500),
        ram_unit: RamUnit::MbPerCore,
        base_ram_mb: Some(500),
        cpu_hs06s_per_event: Some(200.0),
        cpu_efficiency: Some(90),
        base_walltime_s: Some(600),
        output_per_mb: Some(0.5),
        work_bytes: Some(GIB),
        atom_bytes: GIB,
        atom_effective_mb: 1_024.0,
        atom_events: 1_000,
        total_bytes: 200 * GIB,
        total_files: 200,
        replicas: (0..5).map(|at| replica((number + at * 7) % 150)).collect(),
        ..Task::default()
    }
}

/// A user's task.
fn analysis(number: usize) -> Task {
    let replica = |at: usize| DatasetReplica {
        endpoint: format!("SITE-{}_DATADISK", (number + at * 7) % 150),
        files: 100,
        files_total: 100,
        ..DatasetReplica::default()
    };
    let dataset = Dataset {
        name: format!("data18_13TeV.{number}.AOD"),
        replicas: (0..3).map(replica).collect(),
        ..Dataset::default()
    };
    let datasets = if number.is_multiple_of(2) { vec![dataset] } else { Vec::new() };
    Task {
        policy: "analysis-job".into(),
        label: "user".into(),
        processing_type: "panda-client-1.5-jedi-run".into(),
        working_group: String::new(),
        user: format!("user{:03}", number % 200),
        gshare: "User Analysis".into(),
        nucleus: String::new(),
        input: Input { datasets, ..Input::default() },
        ..production(number)
    }
}

/// A task that wants a nucleus.
fn wanting(number: usize) -> Task {
    let token = "dst:ATLASDATADISK".to_owned();
    let output = vec![OutputDataset { name: "HITS".into(), log: false, token }];
    let mut task = Task {
        policy: "production-task".into(),
        nucleus: String::new(),
        output,
        jobs: 0,
        ..production(number)
    };
    task.options.remaining_events = 100_000;
    task
}

fn nucleus(number: usize) -> Site {
    Site {
        name: format!("SITE-{number}"),
        changed_at: NOW,
        nucleus: true,
        active: true,
        tier: 1,
        output_endpoint: format!("SITE-{number}_DATADISK"),
    }
}

/// All of CVMFS, any container, common processors.
fn release(queue: &str) -> Release {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let cpu =
        Hardware { arch: words(&["x86_64"]), vendor: words(&["intel"]), ..Hardware::default() };
    Release {
        queue: queue.to_owned(),
        changed_at: NOW,
        cmtconfigs: words(&["x86_64-el9-gcc13-opt"]),
        containers: words(&["any"]),
        cvmfs: words(&["any"]),
        hardware: vec![cpu],
        ..Release::default()
    }
}

/// CPU time of this thread so far; ns.
fn cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts CPU time");
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number")
}

fn main() {
    let json = std::env::args().any(|arg| arg == "--json");
    let mut lines: Vec<Line> = LINES.into_iter().map(Line::new).collect();
    let mut rounds = vec![Vec::new(); LINES.len()];
    for _ in 0..ROUNDS {
        for (line, rounds) in lines.iter_mut().zip(&mut rounds) {
            rounds.push(line.round() / 1_000.0);
        }
    }
    let mut fields = Vec::new();
    for ((name, ..), mut rounds) in LINES.into_iter().zip(rounds) {
        rounds.sort_unstable_by(f64::total_cmp);
        let us = rounds[ROUNDS / 2];
        if json {
            fields.push(format!("\"{name}\":{us:.1}"));
        } else {
            println!("{name:40} {us:8.1} (best round {:.1})", rounds[0]);
        }
    }
    if json {
        println!("{{{}}}", fields.join(","));
    }
}
