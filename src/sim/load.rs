//! Records by the million, for measuring: many live jobs, and events about them in the proportions
//! of a grid (for 8 job states 6 heartbeats, 2 transfers, 2 pilot reports).

use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{Heartbeat, JobState, Pilot, Status, Transfer, TransferStatus};
use yardmaster_core::id::stir;
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_drive::port::Batch;
use yardmaster_wire::record;

/// Queues and users that occur unless others are asked for, shares and nuclei.
const QUEUES: u64 = 230;
const USERS: u64 = 2_000;
const SHARES: u64 = 30;
const NUCLEI: u64 = 60;
const TYPES: [&str; 6] = ["SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM", "GPU", "LARGE"];
/// Of a steady load, one job of so many runs.
const RUNNING: u64 = 8;
const FIRST_JOB: u64 = 6_500_000_000;

/// A source of records.
pub struct Load {
    dice: u64,
    jobs: u64,
    offsets: [u64; 4],
    now: Millis,
    queues: Vec<String>,
    users: Vec<String>,
    bytes: Vec<u8>,
    is_steady: bool,
}

impl Load {
    /// A source of records about so many live jobs, from a moment on.
    pub fn new(seed: u64, jobs: u64, start: Millis) -> Load {
        Load {
            dice: seed,
            jobs,
            offsets: [0; 4],
            now: start,
            queues: queues(QUEUES),
            users: users(USERS),
            bytes: Vec::new(),
            is_steady: false,
        }
    }

    /// The same over so many queues, of so many users.
    pub fn over(self, queue_count: u64, user_count: u64) -> Load {
        Load { queues: queues(queue_count.max(1)), users: users(user_count.max(1)), ..self }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = stir(self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15));
        self.dice % sides
    }

    /// The same without states that jobs soon leave: one job of eight runs and sends heartbeats,
    /// the others wait. So no job stays in a state for longer than it may.
    pub fn steady(self) -> Load {
        Load { is_steady: true, ..self }
    }

    /// The first record of every job from..to.
    pub fn first(&mut self, from: u64, to: u64) -> Batch {
        let mut batch = Batch::default();
        for job in from..to.min(self.jobs) {
            let runs = self.is_steady && job.is_multiple_of(RUNNING);
            let status = if runs { Status::Running } else { Status::Activated };
            self.job(&mut batch, job, status);
        }
        batch
    }

    /// `count` records about jobs drawn at random.
    pub fn mixed(&mut self, count: usize) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..count {
            let job = self.roll(self.jobs);
            match self.roll(18) {
                0..=7 => {
                    let live = [Status::Activated, Status::Sent, Status::Starting, Status::Running];
                    let status = match live[self.roll(4) as usize] {
                        status if !self.is_steady => status,
                        _ if job.is_multiple_of(RUNNING) => Status::Running,
                        Status::Activated | Status::Sent => Status::Activated,
                        _ => Status::Assigned,
                    };
                    self.job(&mut batch, job, status);
                }
                8..=13 if self.is_steady => self.heartbeat(&mut batch, job - job % RUNNING),
                8..=13 => self.heartbeat(&mut batch, job),
                14..=15 => self.transfer(&mut batch, job),
                _ => self.pilot(&mut batch),
            }
        }
        batch
    }

    fn push(&mut self, batch: &mut Batch, topic: Topic, key: &str) {
        let offset = &mut self.offsets[topic as usize];
        let value = std::mem::take(&mut self.bytes);
        let lane = Lane::new(topic, 0);
        batch.push(lane, *offset, self.now, Some(key.as_bytes()), Some(&value));
        *offset += 1;
        self.bytes = value;
        self.bytes.clear();
    }

    fn job(&mut self, batch: &mut Batch, job: u64, status: Status) {
        self.now += 1;
        // What does not change in a job's life is a function of its request: the jobs of one go to
        // the same queue, and those of a task belong to one user.
        let fixed = stir(job / 20);
        let owner = stir(job / 200);
        let name = (FIRST_JOB + job).to_string();
        let task = (30_000_000 + job / 200).to_string();
        let request = format!("{task}/{}:0", job / 20 % 10);
        let queue = &self.queues[fixed as usize % self.queues.len()];
        let user = &self.users[owner as usize % self.users.len()];
        let created_at = 1_760_000_000_000 + job as Millis;
        let state = JobState {
            job: &name,
            status,
            changed_at: self.now,
            task: &task,
            request: &request,
            queue,
            user,
            group: "AP_MCGN",
            gshare: &format!("share {:02}", (owner >> 20) % SHARES),
            resource_type: TYPES[(owner >> 30) as usize % TYPES.len()],
            nucleus: &format!("NUCLEUS-{:02}", (owner >> 35) % NUCLEI),
            workflow: "pull_ups",
            label: "managed",
            cores: 1 << (fixed >> 42 & 3),
            priority: 400 + (fixed >> 45 & 255) as i32,
            created_at,
            started_at: if status == Status::Running { created_at + 600 * SECOND } else { 0 },
            input_bytes: 1 << 31,
            output_bytes: 1 << 28,
            ..JobState::default()
        };
        record::write(&mut self.bytes, &state);
        self.push(batch, Topic::JobState, &name);
    }

    fn heartbeat(&mut self, batch: &mut Batch, job: u64) {
        self.now += 1;
        let name = (FIRST_JOB + job).to_string();
        let disk_io_kbps = 100 + self.roll(900) as u32;
        let heartbeat = Heartbeat {
            job: &name,
            at: self.now,
            cpu_s: 1000,
            disk_io_kbps,
            rss_mb: 2000,
            events: 10,
            ..Heartbeat::default()
        };
        record::write(&mut self.bytes, &heartbeat);
        self.push(batch, Topic::Heartbeat, &name);
    }

    fn transfer(&mut self, batch: &mut Batch, job: u64) {
        self.now += 1;
        let (number, state) = (self.roll(100_000), self.roll(3));
        let request = format!("{number:08x}{:024x}", job % 7);
        let transfer = Transfer {
            request: &request,
            state: TransferStatus::ALL[state as usize],
            changed_at: self.now,
            activity: "Production Output",
            source: &format!("SITE-{:03}", number % 115),
            destination: &format!("NUCLEUS-{:02}", number % NUCLEI),
            bytes: 1 << 30,
            files: 1,
            ..Transfer::default()
        };
        record::write(&mut self.bytes, &transfer);
        self.push(batch, Topic::Transfer, &request);
    }

    fn pilot(&mut self, batch: &mut Batch) {
        self.now += 1;
        let at = self.roll(self.queues.len() as u64) as usize;
        let queue = self.queues[at].clone();
        let node = format!("node{:04}.site.example", self.roll(400));
        let report = Pilot::AskedJob { queue: &queue, node: &node, at: self.now };
        record::write(&mut self.bytes, &report);
        self.push(batch, Topic::Pilot, &queue);
    }
}

fn queues(count: u64) -> Vec<String> {
    (0..count).map(|at| format!("SITE-{:03}_QUEUE_{at:03}", at / 2)).collect()
}

fn users(count: u64) -> Vec<String> {
    (0..count).map(|at| format!("user{at:04}")).collect()
}
