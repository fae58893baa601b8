//! Small builders for tests: a task, a queue, an endpoint, a candidate with nothing against them.

use super::{
    Candidate, Case, Generic, LinkView, Nucleus, Owner, Preassigned, Room, Stores, UserView, Wanted,
};
use crate::event::{Queue, RamUnit, Scope, Status, Storage, Task};
use crate::policy::{Policy, PolicySpec, Resolved, Rules, kind};
use crate::state::ledger::Count;
use crate::unit::GIB;

/// The nucleus of every sample task.
pub const NUCLEUS: &str = "CERN-PROD";

/// An ordinary multi-core task without input.
pub fn task() -> Task {
    Task {
        subject: "40000001/1".into(),
        task: "40000001".into(),
        domain: "atlas".into(),
        policy: "production-job".into(),
        jobs: 100,
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
        cpu_hs06s_per_event: Some(200.0),
        atom_events: 1_000,
        ..Task::default()
    }
}

/// An ordinary 8-core queue outside the nucleus, without limits.
pub fn queue(name: &str) -> Queue {
    Queue {
        name: name.into(),
        unified: name.into(),
        production: true,
        cloud: "DE".into(),
        site: "DESY-HH".into(),
        storage_site: "DESY-HH".into(),
        cores: 8,
        core_power_mhs06: 10_000,
        jobseed: "std".into(),
        ..Queue::default()
    }
}

/// A disk endpoint outside the nucleus with plenty of space, in service.
pub fn storage() -> Storage {
    Storage {
        name: "DESY-HH_DATADISK".into(),
        site: "DESY-HH".into(),
        kind: "DATADISK".into(),
        total_bytes: 9_000 * GIB,
        free_bytes: 5_000 * GIB,
        read_lan: true,
        write_lan: true,
        read_wan: true,
        write_wan: true,
        ..Storage::default()
    }
}

/// An endpoint of which nothing is known.
const UNKNOWN: &[Option<Storage>] = &[None];

/// A candidate with pilots, an unknown link, and no jobs.
pub fn candidate(queue: &Queue) -> Candidate<'_> {
    Candidate {
        queue,
        load: &[0; Status::COUNT],
        load_type: &Count::NONE,
        load_all: &Count::NONE,
        reserved: 0,
        reserved_all: 0,
        at_nucleus: false,
        link: LinkView::default(),
        output: None,
        input: None,
        pilots: 100,
        workers: 0,
        slots: None,
        disk_io_kbps: None,
        available_bytes: 0,
        available_files: 0,
        reachable_bytes: 0,
        reachable_files: 0,
        inputs: Stores { all: UNKNOWN, at: &[0] },
        outputs: Stores { all: UNKNOWN, at: &[0] },
        software: None,
        all_software: None,
        inactive: false,
        stuck_transferring: 0,
        user: UserView::default(),
    }
}

/// The case of a task that nothing is queued to the nucleus of.
pub fn case(task: &Task) -> Case<'_> {
    Case {
        room: Room::default(),
        task,
        now: 0,
        express: false,
        preassigned: Preassigned::No,
        queued_to_nucleus: 0,
        queued_to_nucleus_until: None,
        has_blocked_links: true,
        nucleus: Nucleus { known: true, ..Nucleus::UNKNOWN },
        remote_source: true,
        readable_source: true,
        wanted: Wanted::of(task),
        pass: 1,
        scope: Scope::Default,
        sources: Default::default(),
        locality: None,
        included: Default::default(),
        owner: Owner::default(),
        work_queue: None,
        generic: Generic::default(),
        sites: Default::default(),
    }
}

/// Jobs by state; they stay until the test ends, so that a candidate can show them.
pub fn load(counts: &[(Status, u32)]) -> &'static [u32; Status::COUNT] {
    let mut load = [0; Status::COUNT];
    for (status, count) in counts {
        load[status.index()] = *count;
    }
    Box::leak(Box::new(load))
}

/// The same jobs as the ledger counts them, without cores.
pub fn counted(load: &[u32; Status::COUNT]) -> &'static Count {
    let mut count = Count::NONE;
    count.by.iter_mut().zip(load).for_each(|(held, jobs)| held.jobs = *jobs);
    Box::leak(Box::new(count))
}

/// All filters and weights of production jobs under a reading of the rules.
pub fn policy(rules: Rules) -> (Policy, Resolved) {
    let flavour = kind("atlas-production-job").expect("built in");
    let spec = PolicySpec::full("production-job", flavour, rules);
    let policy = Policy::compile(&spec).expect("the defaults are allowed");
    let resolved = policy.unchanged();
    (policy, resolved)
}
