//! Clusters and their queues: what they have, what runs there, and what they publish of it.

use super::cache::Cache;
use super::catalogue::Catalogue;
use super::words::{COMMUNITIES, COUNTRIES, ENVIRONMENTS};
use crate::dice::{Dice, Quantiles};
use crate::grid::{Handle, Record};
use std::collections::VecDeque;
use yardmaster_core::event::{BatchFacts, ClusterFacts, Queue, Site, UserShare};
use yardmaster_core::unit::{MINUTE, Millis};

/// Clusters.
pub const CLUSTERS: u32 = 60;
/// Sizes of clusters; CPUs.
const SIZES: Quantiles = [30.0, 80.0, 240.0, 700.0, 1_800.0, 2_600.0, 4_000.0];
/// Fewest CPUs of a queue.
const CPUS_MIN: u64 = 20;
/// Disk for session directories; bytes for a CPU.
const DISK_PER_CPU: u64 = 20_000_000_000;

/// Whether a cluster takes jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Active,
    /// It says that it does not.
    Inactive,
    /// It does not answer at all.
    Silent,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Name.
    pub name: String,
    /// Its country, by position.
    pub country: usize,
    /// Its queues, by their numbers.
    pub queues: std::ops::Range<u32>,
    /// Its hardware, software and policy, as published.
    pub facts: ClusterFacts,
    /// Versions of each environment: the position of its version; `None`: it has none.
    pub versions: Vec<Option<usize>>,
    /// Communities whose jobs it takes, by position.
    pub communities: Vec<usize>,
    /// Storage elements that are close by, by position.
    pub close: Vec<usize>,
    /// `None`: it has no cache.
    pub cache: Option<Cache>,
    /// Whether it takes jobs.
    pub standing: Standing,
    /// Part of the jobs that it refuses, and that it loses.
    pub bad: (f64, f64),
    /// Throughput from far away and from close by; bytes/s.
    pub throughput: (u64, u64),
    /// How often it is asked.
    pub period: Millis,
    /// Disk for session directories, and what is taken of it; bytes.
    pub disk: (u64, u64),
    /// Records of its last answer that have not arrived.
    pub answered: Vec<Record>,
    /// States of jobs that nobody could ask for.
    pub held: Vec<Record>,
    /// Until when it does not register.
    pub unregistered_until: Millis,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct BatchQueue {
    /// Its cluster, by number.
    pub cluster: u32,
    /// Name, with the cluster's.
    pub name: String,
    /// CPUs.
    pub cpus: u64,
    /// CPUs on which jobs of the grid run.
    pub busy: u64,
    /// CPUs on which other jobs run.
    pub local: u64,
    /// Jobs of the grid that wait, in order of arrival.
    pub waiting: VecDeque<Handle>,
    /// Most CPU time of a slot; s.
    pub max_cpu_time_s: u64,
    /// Most memory of a slot; MB.
    pub max_memory_mb: u64,
    /// Most queued jobs.
    pub max_queuable: u64,
}

/// Clusters and queues of a seed; `scale` makes them smaller, and `speed` caches.
pub fn make(
    seed: u64,
    scale: f64,
    speed: u32,
    catalogue: &Catalogue,
) -> (Vec<Cluster>, Vec<BatchQueue>) {
    let mut dice = Dice::new(seed, "clusters");
    let (mut clusters, mut queues) = (Vec::new(), Vec::new());
    for number in 0..CLUSTERS {
        let first = queues.len() as u32;
        let name = format!("grid{number:02}.{}", COUNTRIES[number as usize % COUNTRIES.len()]);
        let cpus = dice.measured(&SIZES) * scale;
        add_queues(&mut dice, (number, &name), cpus, &mut queues);
        let own = first..queues.len() as u32;
        let cpus = queues[first as usize..].iter().map(|queue| queue.cpus).sum();
        let cluster = cluster(&mut dice, (number, name), (own, cpus), catalogue);
        clusters.push(with_cache(cluster, &mut dice, (scale, speed), catalogue));
    }
    (clusters, queues)
}

fn add_queues(
    dice: &mut Dice,
    (cluster, name): (u32, &str),
    cpus: f64,
    queues: &mut Vec<BatchQueue>,
) {
    let words = ["grid", "short", "long"];
    let most_hours = [36, 10, 72];
    let count = 1 + dice.weighted([0.5, 0.3, 0.2].into_iter());
    for at in 0..count {
        let cpus = ((cpus / count as f64) as u64).max(CPUS_MIN);
        queues.push(BatchQueue {
            cluster,
            name: format!("{name}/{}", words[at]),
            cpus,
            busy: 0,
            local: 0,
            waiting: VecDeque::new(),
            max_cpu_time_s: most_hours[at] * 3_600,
            max_memory_mb: [2_000, 4_000, 8_000][dice.below(3)],
            max_queuable: cpus.max(50) * 2,
        });
    }
}

fn cluster(
    dice: &mut Dice,
    (number, name): (u32, String),
    (queues, cpus): (std::ops::Range<u32>, u64),
    catalogue: &Catalogue,
) -> Cluster {
    let country = number as usize % COUNTRIES.len();
    let version = |dice: &mut Dice, at: usize| {
        let environment = &ENVIRONMENTS[at];
        dice.chance(environment.part).then(|| dice.below(environment.versions.len()))
    };
    let versions: Vec<Option<usize>> =
        (0..ENVIRONMENTS.len()).map(|at| version(dice, at)).collect();
    let of = |(at, version): (usize, &Option<usize>)| {
        let environment = &ENVIRONMENTS[at];
        version.map(|it| format!("{}-{}", environment.name, environment.versions[it]))
    };
    let close: Vec<usize> = if dice.chance(0.6) { vec![country] } else { Vec::new() };
    let mut communities: Vec<usize> =
        (0..COMMUNITIES.len()).filter(|at| dice.chance(COMMUNITIES[*at].1)).collect();
    if communities.is_empty() {
        communities.push(number as usize % COMMUNITIES.len());
    }
    let facts = ClusterFacts {
        answered: true,
        total_slots: Some(cpus),
        node_memory_mb: Some(64_000),
        clock_mhz: Some(dice.between(20, 36) as u64 * 100),
        architecture: "x86_64".to_owned(),
        middleware: vec![["nordugrid-arc-6.14", "nordugrid-arc-6.21"][dice.below(2)].to_owned()],
        runtime_environments: versions.iter().enumerate().filter_map(of).collect(),
        operating_systems: vec!["Linux-5.14".to_owned()],
        outbound: dice.chance(0.8),
        local_storage: close.iter().map(|at| catalogue.storages[*at].clone()).collect(),
        ..ClusterFacts::default()
    };
    Cluster {
        name,
        country,
        queues,
        facts,
        versions,
        communities,
        close,
        cache: None,
        standing: Standing::Active,
        bad: (dice.within(0.0, 0.06), dice.within(0.0, 0.01)),
        throughput: (dice.between(5, 40) as u64 * 1_000_000, 200_000_000),
        period: dice.between(5 * MINUTE, 10 * MINUTE),
        disk: (cpus * DISK_PER_CPU, 0),
        answered: Vec::new(),
        held: Vec::new(),
        unregistered_until: 0,
    }
}

/// Nine of ten clusters have a cache, with some files in it from before.
fn with_cache(
    mut cluster: Cluster,
    dice: &mut Dice,
    (scale, speed): (f64, u32),
    catalogue: &Catalogue,
) -> Cluster {
    if !dice.chance(0.9) {
        return cluster;
    }
    let part = scale.clamp(0.1, 1.0) / f64::from(speed.max(1));
    let mut cache = Cache::new((dice.within(1.5e12, 8e12) * part) as u64);
    for _ in 0..dice.below(30) {
        for file in catalogue.some(dice, 10) {
            cache.put(file, 0, |it| catalogue.file(it).bytes);
        }
    }
    cluster.cache = Some(cache);
    cluster
}

impl BatchQueue {
    /// CPUs on which nothing runs.
    pub fn free(&self) -> u64 {
        self.cpus.saturating_sub(self.busy + self.local)
    }

    /// Its record.
    pub fn record(&self, standing: Standing, now: Millis) -> Queue {
        let status = match standing {
            Standing::Active => "active",
            Standing::Inactive | Standing::Silent => "inactive, the job manager is down",
        };
        Queue {
            name: self.name.clone(),
            unified: self.name.clone(),
            changed_at: now,
            batch: Some(BatchFacts {
                status: status.to_owned(),
                total_slots: Some(self.cpus),
                max_slots_per_job: Some(self.cpus),
                max_queuable_jobs: Some(self.max_queuable),
                grid_queued_jobs: self.waiting.len() as u64,
                max_cpu_time_s: Some(self.max_cpu_time_s),
                max_total_cpu_time_s: Some(self.max_cpu_time_s * self.cpus),
                default_cpu_time_s: Some(3_600),
                max_memory_mb: Some(self.max_memory_mb),
                ..BatchFacts::default()
            }),
            ..Queue::default()
        }
    }

    /// CPUs that are free for a user, as published: half of them for ever, all for six hours.
    pub fn free_slots(&self) -> String {
        match if self.waiting.is_empty() { self.free() } else { 0 } {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            free => format!("{} {free}:360", free / 2),
        }
    }
}

impl Cluster {
    /// Its own record.
    pub fn record(&self, now: Millis) -> Site {
        let answered = self.standing != Standing::Silent;
        let cache_free_bytes = self.cache.as_ref().map(Cache::free);
        Site {
            name: self.name.clone(),
            changed_at: now,
            active: true,
            cluster: Some(ClusterFacts { answered, cache_free_bytes, ..self.facts.clone() }),
            ..Site::default()
        }
    }

    /// The record that a queue of it publishes for a user.
    pub fn share(&self, queue: &BatchQueue, user: &str, now: Millis) -> UserShare {
        UserShare {
            queue: queue.name.clone(),
            user: user.to_owned(),
            changed_at: now,
            authorised: true,
            free_slots: queue.free_slots(),
            disk_free_bytes: Some(self.disk.0.saturating_sub(self.disk.1)),
        }
    }
}
