//! A grid of as many queues as wanted, each with load, a link, storage, pilots and software, and
//! requests to it: jobs of production, jobs of users (every other one with its data at three
//! sites), tasks that want a nucleus.

use super::feed::fold;
use super::records;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{
    Dataset, DatasetReplica, Event, Hardware, Input, JobState, Link, LinkQueued, OutputDataset,
    Pilot, Queue, QueueStatus, RamUnit, Release, ReplicaSummary, Site, Status, Storage, Task,
};
use yardmaster_core::id::stir;
use yardmaster_core::state::State;
use yardmaster_core::unit::{GIB, Millis};

/// The time that every record states.
pub const NOW: Millis = 1_760_000_000_000;
/// The nucleus of every request that has one.
const NUCLEUS: &str = "SITE-0";

/// Folds an event at the next offset of the only lane of its topic.
pub fn read(state: &mut State, topic: Topic, event: Event<'_>) {
    fold(state, Lane::new(topic, 0), NOW, &event);
}

/// Folds a queue, its storage, its link, its jobs and its pilots.
pub fn read_queue(state: &mut State, number: usize) {
    let queue = queue(number);
    let site = queue.site.clone();
    read(state, Topic::Storage, Event::from(storage(&site)));
    read(state, Topic::Link, Event::from(link(&site)));
    for job in 0..90 {
        let id = (number * 100 + job).to_string();
        let status = if job % 15 == 0 { Status::Activated } else { Status::Running };
        let gshare = ["MC Default", "MC 16", "User Analysis"][job % 3];
        let user = format!("user{:03}", stir(job as u64) % 200);
        let state_of_job = JobState {
            task: "45000000",
            user: &user,
            gshare,
            resource_type: "MCORE",
            nucleus: NUCLEUS,
            cores: 8,
            started_at: NOW,
            ..records::job(&id, &queue.name, status, NOW)
        };
        read(state, Topic::JobState, Event::JobState(state_of_job));
    }
    read(state, Topic::Release, Event::from(release(&queue.name)));
    let node = format!("wn{number}");
    let asked = Pilot::AskedJob { queue: &queue.name, node: &node, at: NOW };
    read(state, Topic::Pilot, Event::Pilot(asked));
    let workers = Pilot::Workers {
        queue: &queue.name,
        harvester: "h1",
        resource_type: "MCORE",
        submitted: 5,
        running: 30,
        at: NOW,
    };
    read(state, Topic::Pilot, Event::Pilot(workers));
    read(state, Topic::Queue, Event::from(queue));
}

/// Folds a nucleus at the site of two queues.
pub fn read_nucleus(state: &mut State, number: usize) {
    let site = Site {
        name: format!("SITE-{number}"),
        changed_at: NOW,
        nucleus: true,
        active: true,
        tier: 1,
        output_endpoint: endpoint(number),
        ..Site::default()
    };
    read(state, Topic::Site, Event::from(site));
}

fn endpoint(site: usize) -> String {
    format!("SITE-{site}_DATADISK")
}

fn storage(site: &str) -> Storage {
    Storage {
        total_bytes: 9_000_000 * GIB,
        free_bytes: 5_000_000 * GIB,
        ..records::storage(&format!("{site}_DATADISK"), site, NOW)
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
    let site = number / 2;
    let name = format!("SITE-{site}_PROD_{number}");
    Queue {
        status: if number % 6 == 5 { QueueStatus::Offline } else { QueueStatus::Online },
        analysis: true,
        cores: 8,
        max_rss_mb: if number % 6 == 2 { 2_000 } else { 64_000 },
        max_time_s: 345_600,
        max_wdir_mb: 200_000,
        max_input_mb: 100_000,
        transferring_limit: 2_000,
        pledged_cpu: 100,
        wn_connectivity: "full#IPv6".into(),
        ..records::queue(&name, &format!("SITE-{site}"), &endpoint(site), NOW)
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

/// A request for jobs of production, its input at five sites.
pub fn production(number: usize) -> Task {
    let replica = |site: usize| ReplicaSummary {
        endpoint: endpoint(site),
        files: 100,
        bytes: 100 * GIB,
        tape: false,
    };
    Task {
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
        ..records::request(&format!("{}/1", 46_000_000 + number), 50, NOW)
    }
}

/// A request for a user's jobs.
pub fn analysis(number: usize) -> Task {
    let replica = |at: usize| DatasetReplica {
        endpoint: endpoint((number + at * 7) % 150),
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

/// A request for a task's nucleus.
pub fn wanting(number: usize) -> Task {
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
