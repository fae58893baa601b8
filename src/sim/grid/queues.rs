//! Queues: their cores, their pilots, their harvesters, and their bad days.

use super::Grid;
use super::agenda::GridStep;
use super::facts::{Facts, Unfit, size, takes_jobs, takes_production};
use super::pool::Handle;
use crate::dice::Dice;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use yardmaster_core::event::{ChunkKind, Pilot, Queue, QueueStatus, Site, Status};
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// All queues.
pub struct Queues {
    /// Those with cores.
    pub all: Vec<LiveQueue>,
    /// Records of those that take no production: published, and that is all.
    pub idle: Vec<Queue>,
    /// Records of sites.
    pub sites: Vec<Site>,
    /// Power of all cores; HS06.
    pub power_hs06: f64,
    by_name: BTreeMap<String, (u32, u16)>,
}

/// A unified queue, or one that stands for itself.
pub struct LiveQueue {
    /// Name under which jobs and pilots are counted.
    pub name: String,
    /// Its records: pseudo-queues, or itself.
    pub slots: Vec<Queue>,
    /// Its cores.
    pub cores: u32,
    /// Whether pilots come first and fetch jobs, or jobs are pushed with them.
    pub pulls: bool,
    harvester: &'static str,
    free: u32,
    nodes: u32,
    /// Status of each record in good days.
    usual: Vec<QueueStatus>,
    status: QueueStatus,
    /// Activated jobs by the cores they take.
    waiting: BTreeMap<u32, BinaryHeap<Turn>>,
    /// Per record: jobs that hold a worker, and jobs that wait for one.
    held: Vec<u32>,
    queued: Vec<u32>,
    is_fetching: bool,
    /// Of its bad days, which so depend on the seed alone.
    dice: Dice,
}

/// The order in which pilots take jobs: priority, then age.
type Turn = (i32, Reverse<Millis>, Reverse<Handle>);

/// Mean time between two bad days of a queue; days (some 3,800 downtimes in ten years at 150
/// resources are rarer, but most are never declared).
const UP_DAYS: Millis = 5;
/// Cores of a node.
const NODE_CORES: u32 = 32;
/// A job that takes more cores than are free lets smaller ones pass for so long.
const PATIENCE: Millis = 30 * MINUTE;
/// Pilots ask for jobs so long after a core is free or a job is there.
const ASKING: (Millis, Millis) = (5 * SECOND, 90 * SECOND);
/// Pilots look for jobs at least this often.
const LOOKING: (Millis, Millis) = (20 * MINUTE, 40 * MINUTE);
/// Harvesters report so often.
const REPORTING: (Millis, Millis) = (15 * MINUTE, 20 * MINUTE);
/// A queue is down for so long.
const DOWN: (Millis, Millis) = (HOUR, 12 * HOUR);
/// After so long out of service, its waiting jobs are taken away.
const CLEARING: Millis = HOUR;
/// Part of the bad days on which a queue only takes no new jobs.
const BROKEROFF: f64 = 0.65;
/// Most workers of a resource type that a harvester has submitted at once.
const SUBMITTED_MOST: u32 = 20;

impl Queues {
    /// Gives queues their parts of all cores.
    pub fn new(seed: u64, cores: f64, facts: &Facts) -> Result<Queues, Unfit> {
        let mut groups: BTreeMap<&str, Vec<Queue>> = BTreeMap::new();
        let mut idle = Vec::new();
        let serves: Vec<&str> = facts
            .queues
            .iter()
            .filter(|queue| takes_jobs(queue))
            .map(|queue| queue.unified.as_str())
            .collect();
        for queue in &facts.queues {
            if serves.contains(&queue.unified.as_str()) {
                groups.entry(&queue.unified).or_default().push(queue.clone());
            } else {
                idle.push(queue.clone());
            }
        }
        if !facts.queues.iter().any(takes_production) {
            return Err(Unfit::Queues { found: facts.queues.len() });
        }
        let sum: f64 = groups.keys().map(|name| size(seed, name)).sum();
        let mut queues = Queues {
            all: Vec::new(),
            idle,
            sites: Vec::new(),
            power_hs06: 0.0,
            by_name: BTreeMap::new(),
        };
        for (name, slots) in groups {
            queues.add(name, slots, cores * size(seed, name) / sum, Dice::new(seed, name));
        }
        Ok(queues)
    }

    fn add(&mut self, name: &str, slots: Vec<Queue>, share: f64, dice: Dice) {
        // A queue that cannot run one whole job would be none.
        let least = slots.iter().map(|slot| slot.cores).max().unwrap_or(1).max(1);
        let cores = (share as u32).max(least);
        for (at, slot) in slots.iter().enumerate() {
            let parent = slot.ucore && slot.resource_type.is_empty();
            if (slot.production || slot.analysis) && !parent {
                self.by_name.insert(slot.name.clone(), (self.all.len() as u32, at as u16));
            }
        }
        let power = slots.iter().map(power).sum::<f64>() / slots.len() as f64;
        self.power_hs06 += f64::from(cores) * power;
        let harvesters = ["CERN_central_A", "CERN_central_B"];
        let pulls = slots.iter().any(|slot| slot.workflow.starts_with("pull"));
        self.all.push(LiveQueue {
            name: name.to_owned(),
            cores,
            pulls,
            harvester: harvesters[self.all.len() % 2],
            free: cores,
            nodes: cores.div_ceil(NODE_CORES).max(2),
            usual: slots.iter().map(|slot| slot.status).collect(),
            status: QueueStatus::Online,
            waiting: BTreeMap::new(),
            held: vec![0; slots.len()],
            queued: vec![0; slots.len()],
            is_fetching: false,
            dice,
            slots,
        });
    }

    /// Cores of the queues that use each storage site.
    pub fn cores_by_site(&self) -> BTreeMap<String, u32> {
        let mut cores: BTreeMap<String, u32> = BTreeMap::new();
        for queue in &self.all {
            *cores.entry(queue.storage_site().to_owned()).or_default() += queue.cores;
        }
        cores
    }

    /// The queue and record of a name that jobs can be sent to.
    pub fn find(&self, name: &str) -> Option<(u32, u16)> {
        self.by_name.get(name).copied()
    }
}

/// Core power of a queue; HS06 per core. Not known counts as 10 (spec atlas 2.4).
pub fn power(queue: &Queue) -> f64 {
    match queue.core_power_mhs06 {
        0 => 10.0,
        power => f64::from(power) / 1_000.0,
    }
}

impl LiveQueue {
    /// How many jobs wait for a pilot.
    pub fn waits(&self) -> u64 {
        self.queued.iter().map(|queued| u64::from(*queued)).sum()
    }

    /// Storage site.
    pub fn storage_site(&self) -> &str {
        self.slots.first().map_or("", |slot| &slot.storage_site)
    }

    /// A node of the queue.
    pub fn node(&self, dice: &mut Dice) -> u32 {
        dice.below(self.nodes as usize) as u32
    }

    /// A job waits no more.
    pub fn unqueue(&mut self, slot: u16) {
        self.queued[usize::from(slot)] -= 1;
    }

    /// A job gives its cores back.
    pub fn release(&mut self, slot: u16, cores: u32) {
        self.held[usize::from(slot)] -= 1;
        self.free += cores;
    }

    /// The next job for a pilot: the first in order that fits, but none passes a large one that
    /// has waited long.
    fn take(&mut self, is_live: impl Fn(Handle) -> bool, now: Millis) -> Option<Handle> {
        for waiting in self.waiting.values_mut() {
            while waiting.peek().is_some_and(|(_, _, Reverse(job))| !is_live(*job)) {
                waiting.pop();
            }
        }
        let head = |cores: u32| {
            let fits = move |entry: &(&u32, &BinaryHeap<Turn>)| *entry.0 <= cores;
            let heads = self.waiting.iter().filter(fits);
            heads.filter_map(|(cores, waiting)| Some((*waiting.peek()?, *cores))).max()
        };
        let ((_, Reverse(since), _), cores) = head(u32::MAX)?;
        let cores = match cores <= self.free {
            true => cores,
            false if now - since < PATIENCE => head(self.free)?.1,
            false => return None,
        };
        let (_, _, Reverse(job)) = self.waiting.get_mut(&cores)?.pop()?;
        Some(job)
    }
}

/// Name of a node.
pub fn node_name(queue: &str, node: u32) -> String {
    format!("wn{node:04}.{}", queue.to_ascii_lowercase())
}

impl Grid {
    /// A job waits for a pilot.
    pub(super) fn enqueue(&mut self, handle: Handle, priority: i32) {
        let Some(job) = self.jobs.get(handle) else { return };
        let (at, slot, cores) = (job.queue, usize::from(job.slot), job.cores);
        let queue = &mut self.queues.all[at as usize];
        let turn = (priority, Reverse(job.created_at), Reverse(handle));
        queue.waiting.entry(cores).or_default().push(turn);
        queue.queued[slot] += 1;
        if queue.free >= cores {
            self.call_pilots(at);
        }
    }

    /// Pilots will come, if none are on their way.
    pub(super) fn call_pilots(&mut self, at: u32) {
        let queue = &mut self.queues.all[at as usize];
        if !queue.is_fetching {
            queue.is_fetching = true;
            self.after_sooner(ASKING.0, ASKING.1, GridStep::Fetch(at));
        }
    }

    /// Pilots take what fits.
    pub(super) fn fetch(&mut self, at: u32) {
        self.queues.all[at as usize].is_fetching = false;
        loop {
            let Grid { queues, jobs, .. } = self;
            let queue = &mut queues.all[at as usize];
            if queue.status == QueueStatus::Offline {
                return;
            }
            let is_live = |job| {
                jobs.get(job).is_some_and(|job: &super::GridJob| job.status == Status::Activated)
            };
            let Some(handle) = queue.take(is_live, self.now) else { return };
            let Some(job) = jobs.get_mut(handle) else { return };
            queue.free -= job.cores;
            queue.queued[usize::from(job.slot)] -= 1;
            queue.held[usize::from(job.slot)] += 1;
            job.node = queue.node(&mut self.dice);
            if queue.pulls {
                let node = node_name(&queue.name, job.node);
                let asked = Pilot::AskedJob { queue: &queue.name, node: &node, at: self.now };
                self.publisher.pilot(&asked);
            }
            self.handed_over(handle);
        }
    }

    /// Pilots look for jobs, whether there are any or not.
    pub(super) fn look(&mut self, at: u32) {
        let queue = &self.queues.all[at as usize];
        if queue.status != QueueStatus::Offline {
            for _ in 0..2 {
                let node = node_name(&queue.name, queue.node(&mut self.dice));
                let asked = Pilot::AskedJob { queue: &queue.name, node: &node, at: self.now };
                self.publisher.pilot(&asked);
            }
            self.call_pilots(at);
        }
        self.after_between(LOOKING.0, LOOKING.1, GridStep::Look(at));
    }

    /// The harvester of a queue counts its workers: for pilots that fetch it submits some ahead, so
    /// that brokerage sees that an idle queue is there. Where jobs are pushed it reports what is
    /// free.
    pub(super) fn workers(&mut self, at: u32) {
        self.say_workers(at);
        self.after_between(REPORTING.0, REPORTING.1, GridStep::Workers(at));
    }

    /// That report.
    pub(super) fn say_workers(&mut self, at: u32) {
        let queue = &self.queues.all[at as usize];
        let serves = queue.status == QueueStatus::Online;
        for (slot, record) in queue.slots.iter().enumerate() {
            let ahead = queue.pulls && serves;
            let room = if ahead { queue.free / record.cores.max(1) } else { 0 };
            let submitted = queue.queued[slot].max(room).min(SUBMITTED_MOST);
            self.publisher.pilot(&Pilot::Workers {
                queue: &queue.name,
                harvester: queue.harvester,
                resource_type: &record.resource_type,
                submitted,
                running: queue.held[slot],
                at: self.now,
            });
        }
        if !queue.pulls && serves {
            self.publisher.pilot(&Pilot::Slots {
                queue: &queue.name,
                gshare: "",
                resource_type: "",
                slots: i64::from(queue.free),
                expires_at: self.now + 2 * REPORTING.1,
                at: self.now,
            });
        }
    }

    /// Plans the next bad day of a queue.
    pub(super) fn plan_bad_day(&mut self, at: u32) {
        let dice = &mut self.queues.all[at as usize].dice;
        let up = dice.exponential() * (UP_DAYS * DAY) as f64;
        self.after(up as Millis + HOUR, GridStep::GoesDown(at));
    }

    pub(super) fn goes_down(&mut self, at: u32) {
        let dice = &mut self.queues.all[at as usize].dice;
        let (brokeroff, down) = (dice.chance(BROKEROFF), dice.between(DOWN.0, DOWN.1));
        let status = if brokeroff { QueueStatus::Brokeroff } else { QueueStatus::Offline };
        self.set_status(at, status);
        if !brokeroff {
            self.after(CLEARING, GridStep::Cleared(at));
        }
        self.after(down, GridStep::ComesBack(at));
    }

    pub(super) fn comes_back(&mut self, at: u32) {
        self.set_status(at, QueueStatus::Online);
        self.call_pilots(at);
        self.plan_bad_day(at);
    }

    fn set_status(&mut self, at: u32, status: QueueStatus) {
        let queue = &mut self.queues.all[at as usize];
        self.usage.settle(self.now);
        let offline = |status| status == QueueStatus::Offline;
        if offline(status) && !offline(queue.status) {
            self.usage.available -= u64::from(queue.cores);
        } else if offline(queue.status) && !offline(status) {
            self.usage.available += u64::from(queue.cores);
        }
        queue.status = status;
        for (record, usual) in queue.slots.iter_mut().zip(&queue.usual) {
            record.status = if status == QueueStatus::Online { *usual } else { status };
            record.changed_at = self.now;
            self.publisher.fact(record);
        }
    }

    /// Closes the jobs that wait at a queue that stays out of service; their tasks ask again.
    pub(super) fn cleared(&mut self, at: u32) {
        let queue = &mut self.queues.all[at as usize];
        if queue.status != QueueStatus::Offline {
            return;
        }
        let waiting = std::mem::take(&mut queue.waiting);
        let mut turns: Vec<Turn> = waiting.into_values().flatten().collect();
        turns.sort_unstable();
        let live =
            |job: &Handle| self.jobs.get(*job).is_some_and(|j| j.status == Status::Activated);
        let jobs: Vec<Handle> =
            turns.into_iter().map(|(_, _, Reverse(job))| job).filter(live).collect();
        let mut again: BTreeMap<Handle, u32> = BTreeMap::new();
        for job in jobs.iter().filter_map(|job| self.jobs.get(*job)) {
            *again.entry(job.chunk).or_default() += 1;
        }
        // Before the jobs end: a task with a chunk to come does not.
        for (chunk, jobs) in again {
            let Some(chunk) = self.chunks.get(chunk) else { continue };
            let kind = match chunk.request.chunk {
                ChunkKind::Scout => ChunkKind::Normal,
                kind => kind,
            };
            let given = chunk.given.clone();
            self.add_chunk(chunk.task, (kind, jobs), given);
        }
        for job in jobs {
            self.closed(job);
        }
    }
}
