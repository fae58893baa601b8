//! Work that the grid is asked for: tasks as production and users make them, drawn from measured
//! distributions. Their dice are their own, so that the same seed asks the same whatever becomes of
//! it.

use super::classes::{CLASSES, Class, URGENT};
use super::facts::{Facts, takes_production};
use super::shares::EXPRESS;
use crate::dice::{Dice, Quantiles};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{
    ChunkKind, Dataset, DatasetReplica, FilePlacement, Input, Options, Queue, RamUnit,
    ReplicaSummary, Task,
};
use yardmaster_core::unit::{MIB, Millis};

/// Jobs of a chunk.
const JOBS: Quantiles = [10.0, 20.0, 40.0, 90.0, 180.0, 260.0, 400.0];
/// Chunks of a task.
const CHUNKS: Quantiles = [1.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0];
/// Fewest jobs of an ordinary chunk.
const JOBS_LEAST: f64 = 10.0;
/// Core power at which the walltimes were about measured: CRIC's median; HS06 per core.
const POWER: f64 = 13.75;
/// CPU efficiency of a task; %.
pub const EFFICIENCY: u32 = 90;
/// Walltime of a job beside its events; s.
const BASE_S: u32 = 300;
/// Mean size of an input and an output file (NorduGrid 2011); bytes.
const INPUT_FILE: f64 = 338e6;
/// See `INPUT_FILE`.
const OUTPUT_FILE: f64 = 100e6;
/// Number of the first task; PanDA's are of this size.
const FIRST_TASK: u64 = 40_000_000;
/// Part of all tasks that have high priority.
const HIGH: f64 = 0.02;
/// Users who submit analysis.
const USERS: u32 = 200;
/// Part of all tasks that send scouts first.
const SCOUTED: f64 = 0.25;

/// A place where input of a task lies.
#[derive(Clone, Debug)]
pub struct InputReplica {
    /// Storage endpoint.
    pub endpoint: String,
    /// Its site.
    pub site: String,
    /// Whether it is tape.
    pub tape: bool,
    /// Part of the files that is there.
    pub part: f64,
}

/// A task as it arrives.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The common part of the requests of all its chunks.
    pub request: Task,
    /// Kind and jobs of its chunks, first first. Scouts must end before the rest asks.
    pub chunks: Vec<(ChunkKind, u32)>,
    /// Files a job reads.
    pub input_files: u32,
    /// Where they lie.
    pub input_replicas: Vec<InputReplica>,
    /// Files a job writes.
    pub output_files: u32,
    /// Work of all its jobs; HS06 s.
    pub work_hs06s: f64,
}

/// Where tasks come from.
#[derive(Clone, Debug)]
pub struct Workload {
    dice: Dice,
    domain: String,
    next_task: u64,
    size: f64,
    speed: u32,
    /// Nuclei; clouds of a PanDA outside ATLAS.
    places: Vec<String>,
    is_generic: bool,
    disks: Vec<(String, String)>,
    tapes: Vec<(String, String)>,
}

impl Workload {
    /// A source of tasks for a grid. `speed`: how many times shorter their jobs are; the first
    /// task's number is so much higher.
    pub fn new(
        seed: u64,
        scale: f64,
        domain: &str,
        facts: &Facts,
        (speed, from): (u32, u64),
    ) -> Workload {
        let sites: BTreeMap<&str, &str> =
            facts.storages.iter().map(|it| (it.name.as_str(), it.site.as_str())).collect();
        let mut disks: Vec<(String, String)> = Vec::new();
        for queue in facts.queues.iter().filter(|queue| takes_production(queue)) {
            let tape = |name: &String| facts.storages.iter().any(|it| it.name == *name && it.tape);
            for name in queue.endpoints.read.iter().take(1).filter(|name| !tape(name)) {
                if let Some(site) = sites.get(name.as_str()) {
                    disks.push((name.clone(), (*site).to_owned()));
                }
            }
        }
        disks.sort_unstable();
        disks.dedup();
        let tapes = facts.storages.iter().filter(|storage| storage.tape);
        Workload {
            dice: Dice::new(seed, "workload"),
            domain: domain.to_owned(),
            next_task: FIRST_TASK + from,
            speed,
            // A small grid gets smaller chunks, so that no single task fills it for a day.
            size: (scale * 10.0).sqrt().clamp(0.05, 1.0),
            places: match facts.is_generic {
                true => clouds(facts),
                false => nuclei(facts).map(str::to_owned).collect(),
            },
            is_generic: facts.is_generic,
            disks,
            tapes: tapes.map(|it| (it.name.clone(), it.site.clone())).collect(),
        }
    }

    /// The next task.
    pub fn next(&mut self, now: Millis) -> Arrival {
        let class = &CLASSES[self.dice.weighted(CLASSES.iter().map(|class| class.weight))];
        self.next_task += 1;
        let mut request = self.new_request(class, now);
        let reads = class.input_files > 0 && !self.disks.is_empty();
        let input_files = if reads { self.dice.between(1, 2 * class.input_files - 1) } else { 0 };
        let speed = f64::from(self.speed);
        let input_bytes = input_files as f64 * INPUT_FILE * self.dice.within(0.5, 1.5) / speed;
        let output_bytes =
            class.output_files as f64 * OUTPUT_FILE * self.dice.within(0.3, 2.5) / speed;
        let wall_s = self.dice.measured(class.wall_s).max(60.0) / speed;
        let events = self.dice.between(1, 40) as u64 * 50;
        let cpu = wall_s * f64::from(class.cores) * POWER * f64::from(EFFICIENCY) / 100.0;
        request.cpu_hs06s_per_event = Some(cpu / events as f64);
        request.output_per_event = Some(output_bytes / events as f64);
        request.atom_events = events;
        request.atom_bytes = input_bytes as u64;
        request.atom_effective_mb = (input_bytes / MIB as f64).max(1.0);
        request.io_intensity_kbps = Some((input_bytes / wall_s / 1_000.0) as u32);
        let chunks = self.chunks(class);
        let per_job = f64::from(self.base_s()) * f64::from(class.cores) * POWER
            + cpu * 100.0 / f64::from(EFFICIENCY);
        let jobs: u32 = chunks.iter().map(|(_, jobs)| jobs).sum();
        Arrival {
            request,
            chunks,
            input_files: input_files as u32,
            input_replicas: if reads { self.input_replicas() } else { Vec::new() },
            output_files: class.output_files as u32,
            work_hs06s: per_job * f64::from(jobs),
        }
    }

    /// Walltime of a job beside its events; s.
    fn base_s(&self) -> u32 {
        (BASE_S / self.speed).max(1)
    }

    /// Waiting time to the next arrival beside its mean. Production managers keep the grid full by
    /// hand, so arrivals are more even than chance would make them.
    pub fn gap(&mut self) -> f64 {
        self.dice.within(0.5, 1.5)
    }

    fn chunks(&mut self, class: &Class) -> Vec<(ChunkKind, u32)> {
        let mut chunks = Vec::new();
        if class.chunk == ChunkKind::Normal && self.dice.chance(SCOUTED) {
            chunks.push((ChunkKind::Scout, self.dice.between(4, 10) as u32));
        }
        for _ in 0..self.dice.measured(&CHUNKS).max(1.0) as u32 {
            let jobs = (self.dice.measured(&JOBS) * self.size).max(JOBS_LEAST);
            chunks.push((class.chunk, jobs as u32));
        }
        chunks
    }

    /// Disk at one to four sites, all of it at the first; sometimes tape as well.
    fn input_replicas(&mut self) -> Vec<InputReplica> {
        let mut input_replicas: Vec<InputReplica> = Vec::new();
        for copy in 0..self.dice.between(1, 4) {
            let (endpoint, site) = &self.disks[self.dice.below(self.disks.len())];
            if input_replicas.iter().any(|wait| wait.endpoint == *endpoint) {
                continue;
            }
            let whole = copy == 0 || self.dice.chance(0.6);
            let part = if whole { 1.0 } else { self.dice.within(0.2, 1.0) };
            let (endpoint, site) = (endpoint.clone(), site.clone());
            input_replicas.push(InputReplica { endpoint, site, tape: false, part });
        }
        if !self.tapes.is_empty() && self.dice.chance(0.3) {
            let (endpoint, site) = self.tapes[self.dice.below(self.tapes.len())].clone();
            input_replicas.push(InputReplica { endpoint, site, tape: true, part: 1.0 });
        }
        input_replicas
    }

    fn new_request(&mut self, class: &Class, now: Millis) -> Task {
        let base_s = self.base_s();
        let dice = &mut self.dice;
        let is_user = class.label == "user";
        let urgent = dice.chance(URGENT) && !is_user;
        let priority = match (urgent, dice.chance(HIGH) && !is_user) {
            (true, _) => dice.between(1_000, 1_100),
            (false, true) => dice.between(900, 990),
            (false, false) if is_user => 500,
            (false, false) => dice.between(300, 790),
        } as i32;
        let user = if is_user {
            // A few users have most of the work.
            format!("user{:03}", (f64::from(USERS) * dice.within(0.0, 1.0).powi(3)) as u32)
        } else {
            format!("prod{:02}", dice.weighted([32.0, 9.0, 7.0, 4.5, 3.0].into_iter()))
        };
        let place = self.places[dice.below(self.places.len())].as_str();
        let (policy, nucleus, cloud) = match self.is_generic {
            true => ("generic-job", "", place),
            false => (class.policy, place, ""),
        };
        let nucleus = if is_user { "" } else { nucleus };
        let cores = class.cores;
        Task {
            task: self.next_task.to_string(),
            domain: self.domain.clone(),
            policy: policy.to_owned(),
            asked_at: now,
            changed_at: now,
            chunk: class.chunk,
            priority,
            task_priority: priority,
            label: class.label.to_owned(),
            processing_type: if urgent { "urgent" } else { class.processing_type }.to_owned(),
            working_group: class.group.to_owned(),
            user,
            gshare: if urgent { EXPRESS } else { class.gshare }.to_owned(),
            resource_type: class.resource_type.to_owned(),
            nucleus: nucleus.to_owned(),
            options: Options { cloud: cloud.to_owned(), ..Options::default() },
            core_count: Some(cores),
            merge_core_count: (class.chunk == ChunkKind::Merge).then_some(cores),
            ram_count_mb: Some(dice.between(class.ram_mb.0, class.ram_mb.1) as u32),
            ram_unit: RamUnit::MbPerCore,
            merge_ram_mb: (class.chunk == ChunkKind::Merge).then_some(2_000),
            cpu_efficiency: Some(EFFICIENCY),
            base_walltime_s: Some(base_s),
            work_bytes: Some(dice.between(50, 500) as u64 * MIB),
            disk_io_kbps: Some(dice.between(class.disk_io.0, class.disk_io.1) as u32 * cores),
            atom_effective_mb: 1.0,
            allow_input_lan: dice.chance(0.7),
            ..Task::default()
        }
    }
}

impl Arrival {
    /// The request of one of its chunks.
    pub fn request(&self, number: u32, kind: ChunkKind, jobs: u32, now: Millis) -> Task {
        let files = self.input_files * jobs;
        let bytes = self.request.atom_bytes * u64::from(jobs);
        let replica = |input: &InputReplica| ReplicaSummary {
            endpoint: input.endpoint.clone(),
            files: (f64::from(files) * input.part) as u32,
            bytes: (bytes as f64 * input.part) as u64,
            tape: input.tape,
        };
        Task {
            subject: format!("{}/{number}", self.request.task),
            asked_at: now,
            changed_at: now,
            chunk: kind,
            jobs,
            total_files: files,
            total_bytes: bytes,
            replicas: self.input_replicas.iter().map(replica).collect(),
            input: self.input(files, bytes),
            ..self.request.clone()
        }
    }

    /// Users' input in detail: one dataset, of which an endpoint with a part has the first files.
    fn input(&self, files: u32, bytes: u64) -> Input {
        if self.request.label != "user" || files == 0 {
            return Input::default();
        }
        let part = |whole: u64, part: f64| (whole as f64 * part) as u64;
        let replica = |input: &InputReplica| DatasetReplica {
            endpoint: input.endpoint.clone(),
            files: part(u64::from(files), input.part),
            bytes: part(bytes, input.part),
            files_total: u64::from(files),
            is_virtual: false,
        };
        let dataset = Dataset {
            name: format!("data:{}", self.request.task),
            primary: true,
            files: u64::from(files),
            bytes,
            replicas: self.input_replicas.iter().map(replica).collect(),
            ..Dataset::default()
        };
        let mut ends: Vec<f64> = self.input_replicas.iter().map(|input| input.part).collect();
        ends.sort_unstable_by(f64::total_cmp);
        ends.dedup();
        let mut placements = Vec::new();
        let mut from = 0.0;
        for end in ends {
            let has = |input: &&InputReplica| input.part >= end;
            let endpoints =
                self.input_replicas.iter().filter(has).map(|input| input.endpoint.clone());
            let between = |whole: u64| part(whole, end) - part(whole, from);
            placements.push(FilePlacement {
                dataset: 0,
                files: between(u64::from(files)) as u32,
                bytes: between(bytes),
                endpoints: endpoints.collect(),
            });
            from = end;
        }
        Input { datasets: vec![dataset], placements }
    }
}

/// The active nuclei, in order of the facts.
pub(super) fn nuclei(facts: &Facts) -> impl Iterator<Item = &str> {
    facts.sites.iter().filter(|site| site.nucleus && site.active).map(|site| site.name.as_str())
}

/// Clouds of queues that take production: once for each nucleus there, if there are any.
fn clouds(facts: &Facts) -> Vec<String> {
    let queues = || facts.queues.iter().filter(|queue| takes_production(queue));
    let of_site = |site: &str| queues().find(|queue| queue.site == site);
    let of_nuclei: Vec<&Queue> = nuclei(facts).filter_map(of_site).collect();
    let cloud = |queue: &Queue| queue.first_cloud().to_owned();
    match of_nuclei.is_empty() {
        true => queues().map(cloud).collect::<BTreeSet<_>>().into_iter().collect(),
        false => of_nuclei.into_iter().map(cloud).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(seed: u64, speed: u32) -> Workload {
        Workload::new(seed, 1.0, "atlas", &Facts::built_in(), (speed, 0))
    }

    /// Also where a nucleus has no queue, and where no site is one.
    #[test]
    fn tasks_outside_atlas_ask_for_a_cloud_alone() {
        let whole = Facts::built_in_generic();
        let first = whole.sites[0].name.clone();
        let (mut without_queue, mut without_site) = (whole.clone(), whole.clone());
        without_queue.queues.retain(|queue| queue.site != first);
        without_site.sites.clear();
        for facts in [whole, without_queue, without_site] {
            let clouds: BTreeSet<&str> = facts.queues.iter().map(Queue::first_cloud).collect();
            let mut work = Workload::new(1, 1.0, "panda", &facts, (1, 0));
            for at in 0..200 {
                let Task { policy, nucleus, options, .. } = work.next(at).request;
                assert_eq!((&*policy, &*nucleus), ("generic-job", ""));
                assert!(clouds.contains(&*options.cloud), "{}", options.cloud);
            }
        }
    }

    /// Core hours of a job.
    fn core_hours(speed: u32) -> f64 {
        let mut workload = workload(1, speed);
        let (mut work, mut jobs) = (0.0, 0);
        for _ in 0..3_000 {
            let arrival = workload.next(0);
            work += arrival.work_hs06s;
            jobs += arrival.chunks.iter().map(|(_, jobs)| jobs).sum::<u32>();
        }
        work / POWER / 3_600.0 / f64::from(jobs)
    }

    #[test]
    fn jobs_take_about_what_atlas_jobs_take() {
        // 300,000 cores and a million jobs a day are 7.2 core hours a job.
        let hours = core_hours(1);
        assert!((5.0..9.5).contains(&hours), "{hours}");
        let tenth = core_hours(10);
        assert!((0.08..0.12).contains(&(tenth / hours)), "{tenth} of {hours}");
    }

    #[test]
    fn requests_are_whole_and_the_seed_decides() {
        let (mut one, mut same, mut other) = (workload(1, 1), workload(1, 1), workload(2, 1));
        let mut differs = false;
        for _ in 0..200 {
            let arrival = one.next(5);
            let (kind, jobs) = arrival.chunks[0];
            let request = arrival.request(1, kind, jobs, 5);
            assert_eq!(same.next(5).request(1, kind, jobs, 5), request);
            differs |= other.next(5).request(1, kind, jobs, 5) != request;
            assert!((4..=400).contains(&request.jobs), "{}", request.jobs);
            assert_eq!(request.total_bytes > 0, !request.replicas.is_empty());
            let whole = request.replicas.iter().any(|it| it.bytes == request.total_bytes);
            assert!(whole || request.total_bytes == 0);
        }
        assert!(differs);
    }
}
