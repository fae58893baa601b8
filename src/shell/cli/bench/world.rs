//! A small grid and requests to it, as they would be published now.

use crate::core::cut::Topic;
use crate::core::event::{Configuration, RamUnit, Task};
use crate::core::unit::Millis;
use crate::shell::cli::import::lane;
use crate::shell::cli::place::Read;
use crate::shell::dirlog::DirWriter;
use crate::sim::grid::Facts;
use crate::wire::record::write_task;

/// The built-in grid.
pub fn facts_of(now: Millis) -> Vec<Configuration> {
    let Facts { queues, sites, storages, links } = Facts::built_in();
    let mut all = Vec::new();
    all.extend(queues.into_iter().map(|mut it| {
        it.changed_at = now;
        Configuration::from(it)
    }));
    all.extend(sites.into_iter().map(|mut it| {
        it.changed_at = now;
        Configuration::from(it)
    }));
    all.extend(storages.into_iter().map(|mut it| {
        it.changed_at = now;
        Configuration::from(it)
    }));
    all.extend(links.into_iter().map(|mut it| {
        it.changed_at = now;
        Configuration::from(it)
    }));
    all
}

/// A request of its own task.
pub fn request(domain: &str, number: u64, now: Millis) -> Task {
    Task {
        subject: format!("{}/0", 40_000_000 + number),
        task: (40_000_000 + number).to_string(),
        domain: domain.to_owned(),
        policy: "production-job".to_owned(),
        asked_at: now,
        changed_at: now,
        jobs: 20,
        priority: 500,
        task_priority: 500,
        label: "managed".to_owned(),
        processing_type: "simul".to_owned(),
        working_group: "AP_MCGN".to_owned(),
        user: "prodsys".to_owned(),
        gshare: "MC 16 simul".to_owned(),
        resource_type: "SCORE".to_owned(),
        core_count: Some(1),
        ram_count_mb: Some(2000),
        ram_unit: RamUnit::MbPerCore,
        atom_bytes: 1 << 30,
        atom_effective_mb: 1024.0,
        atom_events: 1000,
        ..Task::default()
    }
}

/// Appends one request.
pub fn ask(writer: &mut DirWriter, read: &Read, now: Millis) -> anyhow::Result<()> {
    let task = request(&read.topology.domain, 1, now);
    let mut bytes = Vec::new();
    write_task(&mut bytes, &task);
    let lane = lane(Topic::Task, &task.subject, read.topology.topic(Topic::Task).partitions);
    writer.append(lane, Some(task.subject.as_bytes()), Some(&bytes), &[], now)?;
    Ok(writer.flush()?)
}
