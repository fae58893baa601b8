//! A small grid and requests to it, as they would be published now.

use crate::cli::import::lane;
use crate::cli::log_args::Read;
use crate::dirlog::DirWriter;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, Link, Queue, RamUnit, Site, Storage, Task};
use yardmaster_core::unit::Millis;
use yardmaster_sim::grid::Facts;
use yardmaster_sim::scenario::records;
use yardmaster_wire::record;

/// The built-in grid.
pub fn facts_of(now: Millis) -> Vec<Configuration> {
    let Facts { queues, sites, storages, links, is_generic: _ } = Facts::built_in();
    let queues = queues.into_iter().map(|it| Configuration::from(Queue { changed_at: now, ..it }));
    let sites = sites.into_iter().map(|it| Configuration::from(Site { changed_at: now, ..it }));
    let storages = storages.into_iter().map(|it| Storage { changed_at: now, ..it }.into());
    let links = links.into_iter().map(|it| Link { changed_at: now, ..it }.into());
    queues.chain(sites).chain(storages).chain(links).collect()
}

/// A request of its own task.
pub fn request(domain: &str, number: u64, now: Millis) -> Task {
    Task {
        domain: domain.to_owned(),
        ram_count_mb: Some(2000),
        ram_unit: RamUnit::MbPerCore,
        atom_bytes: 1 << 30,
        atom_effective_mb: 1024.0,
        atom_events: 1000,
        ..records::request(&format!("{}/0", 40_000_000 + number), 20, now)
    }
}

/// Appends one request.
pub fn ask(writer: &mut DirWriter, read: &Read, now: Millis) -> anyhow::Result<()> {
    let task = request(&read.topology.domain, 1, now);
    let mut bytes = Vec::new();
    record::write(&mut bytes, &task);
    let lane = lane(Topic::Task, &task.subject, read.topology.topic(Topic::Task).partitions);
    writer.append(lane, Some(task.subject.as_bytes()), Some(&bytes), &[], now)?;
    Ok(writer.flush()?)
}
