//! Facts and tasks of the twins' stories.

use super::super::yard::*;
use super::{NUCLEI, QUEUES};
use crate::world::{Chance, parameter, text};
use yardmaster::core::event::{
    Dataset, DatasetReplica, FullChain, JobState, Link, LinkQueued, Options, OutputDataset,
    Parameter, Pilot, Queue, QueueStatus, Status, Storage, Task, TaskPhase,
};
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis};

/// A kind of request.
#[derive(Clone, Copy)]
pub enum Kind {
    Analysis,
    Nucleus,
    Production,
}

/// A kind of change.
#[derive(Clone, Copy)]
pub enum Change {
    Queue,
    Parameter,
    Link,
    Storage,
    Pilot,
    NewTask,
    OldTask,
    Job,
}

/// Events of a story, each as often as it is listed. Where little else changes, the change that
/// there is decides which requests wake.
pub struct Theme {
    pub name: &'static str,
    pub changes: &'static [Change],
    pub tasks: &'static [Kind],
    pub priorities: &'static [i32],
    /// One request of so many has input data.
    pub one_of_has_input: usize,
    /// Whether every queue, endpoint and link is open at the beginning.
    pub begins_open: bool,
    /// Queues that are offline at the beginning all the same, by number.
    pub closed: &'static [usize],
}

pub fn queue_of(number: usize, chance: &mut Chance, now: Millis) -> Queue {
    let mut queue = queue(&format!("QUEUE_{number:02}"), now);
    queue.analysis = number.is_multiple_of(2);
    queue.max_rss_mb = chance.of(&[2_000, 4_000, 16_000]);
    queue.transferring_limit = 20;
    if chance.below(6) == 0 {
        queue.status = QueueStatus::Offline;
    }
    queue
}

pub fn storage_of(chance: &mut Chance, now: Millis) -> Storage {
    let number = chance.below(QUEUES);
    let site = NUCLEI[number % 2];
    let name = format!("{site}_QUEUE_{number:02}_DATADISK");
    let free_bytes = chance.of(&[0, 1 << 40, 1 << 46, 1 << 49]);
    let (read_lan, read_wan) = (chance.below(5) > 0, chance.below(5) > 0);
    let write_wan = chance.below(5) > 0;
    Storage { free_bytes, write_wan, read_lan, read_wan, ..storage(&name, site, now) }
}

pub fn link_of(chance: &mut Chance, now: Millis) -> Link {
    let (source, destination) = (chance.of(&NUCLEI), chance.of(&NUCLEI));
    let files = chance.of(&[1, 200, 50_000]);
    Link {
        source: source.into(),
        destination: destination.into(),
        changed_at: now - chance.of(&[0, 59 * MINUTE]),
        closeness: Some(chance.of(&[-1, 3])),
        mbps_1h: Some(20.0),
        queued: vec![LinkQueued { activity: "Production Output".into(), files, bytes: 1 }],
        queued_known: chance.below(3) > 0,
        ..Link::default()
    }
}

pub fn job_of(chance: &mut Chance, now: Millis) -> JobState<'static> {
    let status = chance.of(&[
        Status::Activated,
        Status::Starting,
        Status::Running,
        Status::Transferring,
        Status::Finished,
    ]);
    let name = text(format!("job{}", chance.below(400)));
    let queue = text(format!("QUEUE_{:02}", chance.below(QUEUES)));
    let job = job(name, queue, "", status, now);
    if chance.below(2) == 0 {
        return job;
    }
    JobState { user: "ann", group: "", gshare: "User Analysis", label: "user", ..job }
}

pub fn pilot_of(chance: &mut Chance, now: Millis) -> Pilot<'static> {
    let queue = text(format!("QUEUE_{:02}", chance.below(QUEUES)));
    if chance.below(3) > 0 {
        return Pilot::AskedJob { queue, node: "node", at: now };
    }
    let (gshare, resource_type) = (chance.of(&["", "MC 16 simul"]), "");
    let expires_at = chance.of(&[0, now + MINUTE]);
    let slots = chance.of(&[1, 100]);
    Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at: now }
}

/// Full-chain setting of a task, and the task it was made of: one that asked before.
pub fn chain_of(number: u32, chance: &mut Chance) -> (FullChain, String) {
    if chance.below(2) == 0 {
        return (FullChain::No, String::new());
    }
    let parent = number.saturating_sub(1 + chance.below(4) as u32);
    (chance.of(&[FullChain::Capable, FullChain::Require]), parent.to_string())
}

pub fn dataset_of(chance: &mut Chance, now: Millis) -> Dataset {
    let number = chance.below(QUEUES);
    let endpoint = format!("{}_QUEUE_{number:02}_DATADISK", NUCLEI[number % 2]);
    let (files, bytes) = (chance.of(&[5, 500]), chance.of(&[1 << 20, 1 << 36]));
    let (files_total, is_virtual) = (files, false);
    let replica = DatasetReplica { endpoint, files, bytes, files_total, is_virtual };
    Dataset {
        name: "EVNT".into(),
        primary: true,
        files,
        bytes,
        created_at: now - DAY,
        modified_at: now - chance.of(&[DAY - MINUTE, HOUR]),
        replicas: vec![replica],
        ..Dataset::default()
    }
}

/// A task that asked before has less to do, asks again, or has ended.
pub fn change_of(task: &Task, chance: &mut Chance, now: Millis) -> Task {
    let mut task = Task { changed_at: now, ..task.clone() };
    task.options.remaining_events /= chance.of(&[2, 1_000]);
    match chance.below(8) {
        0 | 1 => task.phase = TaskPhase::Ended,
        2 => task.attempt += 1,
        _ => {}
    }
    task
}

pub fn task_of(number: u32, theme: &Theme, chance: &mut Chance, now: Millis) -> Task {
    let subject = format!("{number}/1");
    let mut task = match chance.of(theme.tasks) {
        Kind::Analysis => asking(&subject, now),
        Kind::Nucleus => {
            let token = "dst:ATLASDATADISK".to_owned();
            let output = vec![OutputDataset { name: "HITS".into(), log: false, token }];
            let nucleus = String::new();
            let (full_chain, parent_task) = chain_of(number, chance);
            let options = Options { full_chain, parent_task, ..Options::default() };
            let policy = "production-task".into();
            Task { policy, nucleus, output, options, ..task(&subject, 0, now) }
        }
        Kind::Production => Task { nucleus: chance.of(&NUCLEI).into(), ..task(&subject, 5, now) },
    };
    // A job of 10 HS06 writes 0.25 GB a day: 1e13 HS06 s are 28 TB.
    task.options.remaining_events = chance.of(&[0, 1_000, 30_000_000_000]);
    if chance.below(theme.one_of_has_input) == 0 {
        task.input.datasets = vec![dataset_of(chance, now)];
        let waited = chance.of(&[0, 4 * HOUR, 7 * DAY - MINUTE]);
        task.options.frozen_at = Some(now - waited);
        if chance.below(2) == 0 {
            task.options.chunk_site = format!("QUEUE_{:02}", chance.below(QUEUES));
        }
    }
    if chance.below(2) == 0 {
        task.io_intensity_kbps = Some(1_000);
    }
    task.priority = chance.of(theme.priorities);
    task.ram_count_mb = Some(chance.of(&[1_000, 3_000, 10_000]));
    task
}

pub fn parameter_of(chance: &mut Chance, now: Millis) -> Parameter {
    if chance.below(2) == 0 {
        return parameter("NQUEUELIMIT", chance.of(&["20", "200"]), now);
    }
    let hours = chance.of(&["0.02", "0.2", "1", ""]);
    let key = chance.of(&["PENDING_TIMEOUT_managed", "PENDING_TIMEOUT_user", "PENDING_TIMEOUT_"]);
    Parameter { component: "watchdog".into(), ..parameter(key, hours, now) }
}
