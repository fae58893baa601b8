//! Records of an ordinary grid, on which scenarios set what matters to them.

use yardmaster_core::event::{Endpoints, JobState, Queue, Status, Storage, Task};
use yardmaster_core::unit::{GIB, Millis};

/// A request for single-core jobs of production: a chunk of the task before the slash.
pub fn request(subject: &str, jobs: u32, at: Millis) -> Task {
    Task {
        subject: subject.to_owned(),
        task: subject.split('/').next().unwrap_or_default().to_owned(),
        domain: "atlas".to_owned(),
        policy: "production-job".to_owned(),
        asked_at: at,
        changed_at: at,
        jobs,
        priority: 500,
        task_priority: 500,
        label: "managed".to_owned(),
        processing_type: "simul".to_owned(),
        working_group: "AP_MCGN".to_owned(),
        user: "prodsys".to_owned(),
        gshare: "MC 16 simul".to_owned(),
        resource_type: "SCORE".to_owned(),
        core_count: Some(1),
        ..Task::default()
    }
}

/// A single-core job of such a task.
pub fn job<'a>(job: &'a str, queue: &'a str, status: Status, at: Millis) -> JobState<'a> {
    JobState {
        job,
        status,
        changed_at: at,
        queue,
        user: "prodsys",
        group: "AP_MCGN",
        gshare: "MC 16 simul",
        resource_type: "SCORE",
        label: "managed",
        cores: 1,
        priority: 500,
        created_at: at,
        ..JobState::default()
    }
}

/// An online queue of production with one storage endpoint and few limits.
pub fn queue(name: &str, site: &str, endpoint: &str, at: Millis) -> Queue {
    let endpoints = || vec![endpoint.to_owned()];
    Queue {
        name: name.to_owned(),
        unified: name.to_owned(),
        changed_at: at,
        production: true,
        cloud: "DE".to_owned(),
        site: site.to_owned(),
        storage_site: site.to_owned(),
        cores: 1,
        core_power_mhs06: 10_000,
        workflow: "pull_ups".to_owned(),
        direct_access_lan: true,
        releases: vec!["AUTO".to_owned()],
        jobseed: "std".to_owned(),
        endpoints: Endpoints { read: endpoints(), write: endpoints() },
        ..Queue::default()
    }
}

/// A disk endpoint in service, more than half of it free.
pub fn storage(name: &str, site: &str, at: Millis) -> Storage {
    Storage {
        name: name.to_owned(),
        changed_at: at,
        site: site.to_owned(),
        kind: "DATADISK".to_owned(),
        total_bytes: 9_000 * GIB,
        free_bytes: 5_000 * GIB,
        read_lan: true,
        write_lan: true,
        read_wan: true,
        write_wan: true,
        ..Storage::default()
    }
}
