//! Jobs: from generation to their end, through the states of PanDA (spec atlas 9).

use super::Grid;
use super::agenda::GridStep;
use super::chunks::{Chunk, LiveTask};
use super::links::{EXPRESS, INPUT, PRODUCTION, Shipment};
use super::pool::Handle;
use super::queues::{LiveQueue, node_name, power};
use super::work::EFFICIENCY;
use crate::publisher::Publisher;
use yardmaster_core::event::{Heartbeat, JobState, Pilot, Status};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// One try of a job that is not over.
pub struct GridJob {
    /// Its name: a number, as PanDA's.
    pub name: String,
    /// Which attempt under that name.
    pub attempt: u32,
    /// Tries before this one, under whatever name.
    pub tries: u32,
    /// Its chunk, queue, and place among the queue's records.
    pub chunk: Handle,
    pub queue: u32,
    pub slot: u16,
    /// Cores it takes.
    pub cores: u32,
    /// Where it runs.
    pub node: u32,
    /// Its state, since when, and the one before.
    pub status: Status,
    pub changed_at: Millis,
    before: Option<(Status, Millis)>,
    /// Whether its states were published with clocks that were right: one that is wrong by hours
    /// has no effect, or wins over later ones if it arrives late.
    pub is_reported: bool,
    /// When this try was generated, ready for a pilot, started, ended.
    pub created_at: Millis,
    pub activated_at: Millis,
    pub started_at: Millis,
    pub ended_at: Millis,
    /// The end of its payload, and how long it takes.
    fate: Fate,
    wall: Millis,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Finishes,
    Fails,
    /// Nothing is published of it after half its time.
    FallsSilent,
}

/// Parts of the jobs that fall silent, that are killed within some hours of their generation.
const SILENT: f64 = 0.002;
const KILLED: (f64, Millis) = (0.004, 6 * HOUR);
/// Parts of the states that are passed over without a word.
const SKIPPED: f64 = 0.1;
/// Of a thousand states, so many are followed by the one before, published again.
const STALE: f64 = 2.0 / 1_000.0;
/// Signs of life come so often (pilot: 1,800 s).
const HEARTBEAT_EVERY: (Millis, Millis) = (27 * MINUTE, 33 * MINUTE);
/// Time in the states between.
const SETUP: (Millis, Millis) = (SECOND, 20 * SECOND);
const HANDOVER: (Millis, Millis) = (2 * SECOND, 15 * SECOND);
/// Stage-in: 37-41 s for most, 65 s at the 90th percentile; a push queue waits for its batch
/// system as well.
const PULL_START: (Millis, Millis) = (30 * SECOND, 70 * SECOND);
const PUSH_START: (Millis, Millis) = (MINUTE, 15 * MINUTE);
/// Stage-out: 20-60 s for most.
const STAGE_OUT: (Millis, Millis) = (10 * SECOND, 90 * SECOND);

impl Grid {
    /// A job of a chunk.
    pub(super) fn new_job(&mut self, chunk: Handle, queue: u32, slot: u16) {
        self.next_job += 1;
        let name = self.next_job.to_string();
        self.add_job(chunk, queue, slot, (name, 0, 0));
    }

    pub(super) fn add_job(
        &mut self,
        chunk: Handle,
        at: u32,
        slot: u16,
        (name, attempt, tries): (String, u32, u32),
    ) {
        let (Some(held), queue) = (self.chunks.get(chunk), &self.queues.all[at as usize]) else {
            return;
        };
        let Some(LiveTask { fail_rate, dice, .. }) = self.tasks.get_mut(held.task) else { return };
        let fate = match dice.unit() {
            unit if unit < SILENT => Fate::FallsSilent,
            unit if unit < SILENT + *fail_rate => Fate::Fails,
            _ => Fate::Finishes,
        };
        let wanted = held.request.core_count.unwrap_or(1);
        let record = &queue.slots[usize::from(slot)];
        let cores = if wanted == 1 { 1 } else { record.cores.max(1) };
        let speed = f64::from(cores) * power(record) * f64::from(EFFICIENCY) / 100.0;
        let cpu = held.request.cpu_hs06s_per_event.unwrap_or(0.0) * held.request.atom_events as f64;
        let base = f64::from(held.request.base_walltime_s.unwrap_or(0));
        let whole = (base + cpu / speed) * dice.within(0.75, 1.25);
        let part = if fate == Fate::Fails { dice.unit() } else { 1.0 };
        let killed_within = KILLED.1 / Millis::from(self.speed);
        let pending = attempt == 0 && !dice.chance(0.5);
        let killed = dice.chance(KILLED.0).then(|| dice.between(SECOND, killed_within));
        let mut job = GridJob {
            name,
            attempt,
            tries,
            chunk,
            queue: at,
            slot,
            cores: cores.min(queue.cores),
            node: 0,
            status: if pending { Status::Pending } else { Status::Defined },
            changed_at: self.now,
            before: None,
            is_reported: true,
            created_at: self.now,
            activated_at: 0,
            started_at: 0,
            ended_at: 0,
            fate,
            wall: (whole * part * 1_000.0) as Millis + SECOND,
        };
        job.is_reported = publish(&mut self.publisher, &job, held, queue, "");
        let name = job.name.clone();
        let job = self.jobs.insert(job);
        self.by_name.insert(name, job);
        self.count.generated += 1;
        self.after_sooner(SETUP.0, SETUP.1, GridStep::JobStep(job));
        if let Some(after) = killed {
            self.after(after, GridStep::Killed(job));
        }
    }

    /// Takes the step that follows a job's state.
    pub(super) fn job_step(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        match job.status {
            Status::Pending => {
                self.reach(handle, Status::Defined);
                self.after_sooner(SETUP.0, SETUP.1, GridStep::JobStep(handle));
            }
            Status::Defined => self.set_up(handle),
            Status::Assigned => self.activated(handle),
            Status::Sent => {
                if !self.dice.chance(SKIPPED) {
                    self.reach(handle, Status::Starting);
                }
                self.starts_within(handle);
            }
            Status::Starting => self.runs(handle),
            Status::Running => self.payload_ends(handle),
            Status::Holding => self.register(handle),
            Status::Transferring => self.over(handle, Status::Finished, ""),
            Status::Throttled
            | Status::Activated
            | Status::Merging
            | Status::Finished
            | Status::Failed
            | Status::Cancelled
            | Status::Closed
            | Status::Held => {}
        }
    }

    /// Input is there, or is sent for.
    fn set_up(&mut self, handle: Handle) {
        match self.input_from(handle) {
            None => self.activated(handle),
            Some((source, files, bytes)) => {
                self.reach(handle, Status::Assigned);
                let Some(job) = self.jobs.get(handle) else { return };
                let destination = self.queues.all[job.queue as usize].storage_site().to_owned();
                let activity = INPUT;
                let shipment =
                    Shipment { job: handle, activity, source, destination, files, bytes, tries: 0 };
                self.ship(shipment);
            }
        }
    }

    /// Where input that is not at a job's queue would come from, with its files and bytes.
    fn input_from(&mut self, handle: Handle) -> Option<(String, u32, u64)> {
        let job = self.jobs.get(handle)?;
        let chunk = self.chunks.get(job.chunk)?;
        let arrival = &self.tasks.get(chunk.task)?.arrival;
        let record = &self.queues.all[job.queue as usize].slots[usize::from(job.slot)];
        let here = |endpoint: &String| record.endpoints.read.contains(endpoint);
        let parts = arrival.input_replicas.iter().filter(|it| !it.tape && here(&it.endpoint));
        let most = parts.map(|it| it.part).fold(0.0, f64::max);
        let source = arrival.input_replicas.first()?;
        let files = arrival.input_files;
        if files == 0 || source.site == record.storage_site || self.dice.chance(most) {
            return None;
        }
        Some((source.site.clone(), files, chunk.request.atom_bytes))
    }

    fn activated(&mut self, handle: Handle) {
        self.reach(handle, Status::Activated);
        let chunk = self.jobs.get(handle).and_then(|job| self.chunks.get(job.chunk));
        let Some(priority) = chunk.map(|chunk| chunk.request.priority) else { return };
        self.enqueue(handle, priority);
    }

    /// A pilot has the job.
    pub(super) fn handed_over(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        if self.queues.all[job.queue as usize].pulls {
            self.reach(handle, Status::Sent);
            self.after_sooner(HANDOVER.0, HANDOVER.1, GridStep::JobStep(handle));
        } else {
            self.reach(handle, Status::Starting);
            self.starts_within(handle);
        }
    }

    /// The payload starts after stage-in. The state is `starting`, published or not.
    fn starts_within(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get_mut(handle) else { return };
        job.status = Status::Starting;
        let pulls = self.queues.all[job.queue as usize].pulls;
        let (from, to) = if pulls { PULL_START } else { PUSH_START };
        self.after_sooner(from, to, GridStep::JobStep(handle));
    }

    fn runs(&mut self, handle: Handle) {
        self.usage.settle(self.now);
        let Some(job) = self.jobs.get_mut(handle) else { return };
        job.started_at = self.now;
        self.usage.busy += u64::from(job.cores);
        let (chunk, cores) = (job.chunk, job.cores);
        if let Some(chunk) = self.chunks.get(chunk) {
            self.starts.add(self.now - chunk.first_asked);
            self.shares.shift(&chunk.request.gshare, self.now, cores, 0);
        }
        self.count.running += 1;
        self.waits.add(self.now - job.created_at);
        let wall = job.wall;
        self.reach(handle, Status::Running);
        self.after(wall, GridStep::JobStep(handle));
        self.after_sooner(HEARTBEAT_EVERY.0, HEARTBEAT_EVERY.1, GridStep::Heartbeat(handle));
    }

    pub(super) fn heartbeat(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let Some(chunk) = self.chunks.get(job.chunk) else { return };
        let passed = self.now - job.started_at;
        let lost = job.fate == Fate::FallsSilent && passed > job.wall / 2;
        if job.status != Status::Running || lost {
            return;
        }
        let part = passed as f64 / job.wall as f64;
        let cpu = passed as f64 / 1_000.0 * f64::from(job.cores);
        let disk_io = f64::from(chunk.request.disk_io_kbps.unwrap_or(0));
        let rss = f64::from(chunk.request.ram_count_mb.unwrap_or(0)) * f64::from(job.cores);
        self.publisher.heartbeat(&Heartbeat {
            job: &job.name,
            at: self.now,
            attempt: job.attempt,
            cpu_s: (cpu * self.dice.within(0.8, 0.95)) as u32,
            disk_io_kbps: (disk_io * self.dice.within(0.7, 1.3)) as u32,
            rss_mb: (rss * self.dice.within(0.6, 0.9)) as u32,
            events: (chunk.request.atom_events as f64 * part) as u32,
        });
        let queue = &self.queues.all[job.queue as usize].name;
        let node = node_name(queue, job.node);
        self.publisher.pilot(&Pilot::UpdatedJob { queue, node: &node, at: self.now });
        self.after_sooner(HEARTBEAT_EVERY.0, HEARTBEAT_EVERY.1, GridStep::Heartbeat(handle));
    }

    fn payload_ends(&mut self, handle: Handle) {
        self.give_back(handle);
        let Some(job) = self.jobs.get_mut(handle) else { return };
        job.ended_at = self.now;
        match job.fate {
            Fate::Fails => self.over(handle, Status::Failed, "payload_error"),
            Fate::FallsSilent => {
                let chunk = job.chunk;
                if let Some(job) = self.jobs.remove(handle) {
                    self.by_name.remove(&job.name);
                    if let Some(chunk) = self.chunks.get(chunk).cloned() {
                        self.silent.insert(job, chunk);
                    }
                }
                self.count.silent += 1;
                self.job_over(chunk);
            }
            Fate::Finishes => {
                if self.dice.chance(SKIPPED) {
                    return self.register(handle);
                }
                self.reach(handle, Status::Holding);
                self.after_sooner(STAGE_OUT.0, STAGE_OUT.1, GridStep::JobStep(handle));
            }
        }
    }

    /// Output goes to the nucleus, if it is not there; users' output stays where it is.
    fn register(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let Some(chunk) = self.chunks.get(job.chunk) else { return };
        let source = self.queues.all[job.queue as usize].storage_site().to_owned();
        let destination = chunk.request.nucleus.clone();
        if source == destination || destination.is_empty() {
            return self.over(handle, Status::Finished, "");
        }
        let bytes = output_bytes(chunk);
        let files = self.tasks.get(chunk.task).map_or(1, |task| task.arrival.output_files);
        let urgent = chunk.request.processing_type == "urgent" || chunk.request.priority >= 1_000;
        let activity = if urgent { EXPRESS } else { PRODUCTION };
        self.reach(handle, Status::Transferring);
        self.ship(Shipment { job: handle, activity, source, destination, files, bytes, tries: 0 });
    }

    /// A job reaches a state and publishes it, now and then followed by the one before.
    fn reach(&mut self, handle: Handle, status: Status) {
        let Some(job) = self.jobs.get_mut(handle) else { return };
        job.before = Some((job.status, job.changed_at));
        (job.status, job.changed_at) = (status, self.now);
        if status == Status::Activated {
            job.activated_at = self.now;
        }
        let Some(chunk) = self.chunks.get(job.chunk) else { return };
        let queue = &self.queues.all[job.queue as usize];
        job.is_reported &= publish(&mut self.publisher, job, chunk, queue, "");
        if self.dice.chance(STALE)
            && let Some((status, changed_at)) = job.before
        {
            let now = (job.status, job.changed_at);
            (job.status, job.changed_at) = (status, changed_at);
            publish(&mut self.publisher, job, chunk, queue, "");
            (job.status, job.changed_at) = now;
        }
    }
}

impl Grid {
    /// Whether a job that has started goes on and gives signs of life.
    pub(super) fn is_alive(&self, handle: Handle) -> bool {
        self.jobs.get(handle).is_some_and(|job| {
            let passed = self.now - job.started_at;
            job.fate != Fate::FallsSilent || passed <= job.wall / 2
        })
    }
}

/// Size of the output of a chunk's job; bytes.
pub fn output_bytes(chunk: &Chunk) -> u64 {
    let events = chunk.request.atom_events as f64;
    (chunk.request.output_per_event.unwrap_or(0.0) * events) as u64
}

/// Says a job as it is. Whether with a clock that was right.
pub fn publish(
    publisher: &mut Publisher,
    job: &GridJob,
    chunk: &Chunk,
    queue: &LiveQueue,
    sub_status: &str,
) -> bool {
    let record = &queue.slots[usize::from(job.slot)];
    let typed = &record.resource_type;
    let resource_type = if typed.is_empty() { &chunk.request.resource_type } else { typed };
    let done = job.ended_at != 0 && job.fate == Fate::Finishes;
    publisher.job(&JobState {
        job: &job.name,
        status: job.status,
        changed_at: job.changed_at,
        attempt: job.attempt,
        task: &chunk.request.task,
        request: &chunk.request_name,
        queue: &queue.name,
        user: &chunk.request.user,
        group: &chunk.request.working_group,
        gshare: &chunk.request.gshare,
        resource_type,
        nucleus: &chunk.request.nucleus,
        workflow: &record.workflow,
        label: &chunk.request.label,
        processing_type: &chunk.request.processing_type,
        sub_status,
        cores: job.cores,
        priority: chunk.request.priority,
        created_at: job.created_at,
        activated_at: job.activated_at,
        started_at: job.started_at,
        ended_at: job.ended_at,
        input_bytes: chunk.request.atom_bytes,
        output_bytes: if done { output_bytes(chunk) } else { 0 },
        ..JobState::default()
    })
}
