//! Decode and fold: records of job states, heartbeats, transfers and pilots from memory, as the
//! loop takes them, over states of several sizes.
//! `cargo bench --bench fold [-- --json] [-- --jobs N]`
//!
//! A job is drawn again for each record, so that nothing is in the caches by habit. Time is CPU time
//! of this thread; sizes take turns, and the median of their rounds counts.

mod measure;

use measure::{cpu_ns, print_json};
use std::fs;
use std::hint::black_box;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Heartbeat, JobState, Pilot, Status, Transfer, TransferStatus};
use yardmaster::core::id::stir;
use yardmaster::core::limits::Limits;
use yardmaster::core::state::State;
use yardmaster::core::unit::{HOUR, MINUTE, Millis};
use yardmaster::drive::fold::fold_batch;
use yardmaster::drive::port::Batch;
use yardmaster::sim::scenario::feed::{close, close_at_end, setting};
use yardmaster::sim::scenario::median;
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;

/// Live jobs of each state that is measured.
const SIZES: [u64; 3] = [10_000, 1_000_000, 5_000_000];
/// Records of a round, and of one cycle.
const ROUND: usize = 200_000;
const CYCLE: usize = 10_000;
const ROUNDS: u64 = 9;

const QUEUES: u64 = 230;
const SHARES: u64 = 30;
const TYPES: [&str; 6] =
    ["SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM", "SCORE_VHIMEM", "MCORE_VHIMEM"];
const USERS: u64 = 2_000;
const NUCLEI: u64 = 60;
const NODES: u64 = 20_000;
const DAWN: Millis = 1_760_000_000_000;
const PATH: [Status; 8] = [
    Status::Assigned,
    Status::Activated,
    Status::Sent,
    Status::Starting,
    Status::Running,
    Status::Holding,
    Status::Transferring,
    Status::Finished,
];

/// The grid that speaks: what it needs to know to say the next true thing.
struct Grid {
    dice: u64,
    now: Millis,
    /// Per live job, its number and how far it came.
    jobs: Vec<(u64, u8)>,
    next_job: u64,
    /// Per transfer on its way, its number.
    moves: Vec<u64>,
    next_move: u64,
}

impl Grid {
    fn new(jobs: u64) -> Grid {
        Grid {
            dice: jobs,
            now: DAWN,
            jobs: (0..jobs).map(|job| (job, (stir(job) % 7) as u8)).collect(),
            next_job: jobs,
            moves: (0..jobs / 5).collect(),
            next_move: jobs / 5,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (stir(self.dice) % below as u64) as usize
    }

    /// The next record, in proportions as on a grid: 8 job states, 6 heartbeats, 2 transfers and 2
    /// pilot reports.
    fn next_record(&mut self, out: &mut Vec<u8>) -> Topic {
        match self.draw(18) {
            0..8 => {
                let at = self.draw(self.jobs.len());
                let (job, stage) = self.jobs[at];
                let stage = stage + 1;
                self.jobs[at].1 = stage;
                if usize::from(stage) + 1 == PATH.len() {
                    self.jobs[at] = (self.next_job, 0);
                    self.next_job += 1;
                }
                self.job_record(out, job, stage);
                Topic::JobState
            }
            8..14 => {
                let at = self.draw(self.jobs.len());
                let (job, events) = (self.jobs[at].0, self.draw(1000) as u32);
                let heartbeat = Heartbeat {
                    job: &name_of(job),
                    at: self.now,
                    cpu_s: events * 3,
                    disk_io_kbps: 100 + events % 7,
                    rss_mb: 1_800 + events,
                    events,
                    ..Heartbeat::default()
                };
                record::write(out, &heartbeat);
                Topic::Heartbeat
            }
            14..16 => {
                let at = self.draw(self.moves.len());
                let number = self.moves[at];
                let ends = self.draw(2) == 0;
                if ends {
                    self.moves[at] = self.next_move;
                    self.next_move += 1;
                }
                self.transfer_record(out, number, ends);
                Topic::Transfer
            }
            _ => {
                self.pilot_record(out);
                Topic::Pilot
            }
        }
    }

    fn job_record(&self, out: &mut Vec<u8>, job: u64, stage: u8) {
        // A task's jobs go to ten queues in bunches; few queues have most jobs.
        let task = 45_000_000 + job / 500;
        let place = stir(task * 10 + stir(job / 25) % 10);
        let queue = (place % QUEUES) * ((place >> 32) % QUEUES) / QUEUES;
        let user = stir(task) % USERS;
        let status = PATH[usize::from(stage)];
        let request =
            if task.is_multiple_of(2) { format!("{task}/{}:0", job % 3) } else { String::new() };
        let state = JobState {
            job: &name_of(job),
            status,
            changed_at: self.now,
            task: &task.to_string(),
            request: &request,
            queue: &format!("SITE-{queue}_PROD_UCORE"),
            user: &format!("user name {user}"),
            group: if user.is_multiple_of(2) { "AP_MCGN" } else { "" },
            gshare: &format!("Share {}", stir(task + 1) % SHARES),
            resource_type: TYPES[(stir(task + 2) % 6) as usize],
            nucleus: &format!("NUCLEUS-{}", stir(task + 3) % NUCLEI),
            workflow: "pull_ups",
            label: "managed",
            cores: if stir(task + 2).is_multiple_of(2) { 1 } else { 8 },
            priority: 650,
            created_at: DAWN - HOUR + (job % 500) as Millis * 20,
            started_at: if stage >= 4 { DAWN + job as Millis % 1_000 } else { 0 },
            ended_at: if stage >= 5 { self.now } else { 0 },
            input_bytes: 2_345_678_901,
            ..JobState::default()
        };
        record::write(out, &state);
    }

    fn transfer_record(&self, out: &mut Vec<u8>, number: u64, ends: bool) {
        let draw = |what: u64| stir(number ^ what << 40) % 100;
        let transfer = Transfer {
            request: &format!("{:016x}{number:016x}", stir(number)),
            state: if ends { TransferStatus::Done } else { TransferStatus::Submitted },
            changed_at: self.now,
            activity: if draw(1) < 80 { "Production Output" } else { "Express" },
            source: &format!("SITE-{}", draw(2)),
            destination: &format!("NUCLEUS-{}", draw(3) % NUCLEI),
            bytes: 3_000_000_000,
            files: 1,
            ..Transfer::default()
        };
        record::write(out, &transfer);
    }

    fn pilot_record(&mut self, out: &mut Vec<u8>) {
        let node = self.draw(NODES as usize) as u64;
        let queue = format!("SITE-{}_PROD_UCORE", node % QUEUES);
        let (queue, at, node) = (queue.as_str(), self.now, format!("wn{node:06}.example.org"));
        let pilot = match self.draw(5) {
            0 | 1 => Pilot::AskedJob { queue, node: &node, at },
            2 | 3 => Pilot::UpdatedJob { queue, node: &node, at },
            _ => Pilot::Workers {
                queue,
                harvester: "CERN_central_1",
                resource_type: "SCORE",
                submitted: 40,
                running: 900,
                at,
            },
        };
        record::write(out, &pilot);
    }
}

fn name_of(job: u64) -> String {
    (6_500_000_000 + job).to_string()
}

/// A state, what speaks to it, and how it reads.
struct Line {
    grid: Grid,
    state: State,
    codec: Codec,
    arena: Arena,
    offset: u64,
    bytes: Vec<u8>,
}

impl Line {
    fn new(jobs: u64) -> Line {
        Line {
            grid: Grid::new(jobs),
            state: State::new(setting("atlas", Limits::default())),
            codec: Codec::default(),
            arena: Arena::default(),
            offset: 0,
            bytes: Vec::new(),
        }
    }

    /// Every job and transfer is reported once.
    fn fill(&mut self) {
        let mut batch = Batch::default();
        for at in 0..self.grid.jobs.len() {
            let (job, stage) = self.grid.jobs[at];
            self.bytes.clear();
            self.grid.job_record(&mut self.bytes, job, stage);
            self.push(&mut batch, Topic::JobState);
            if batch.records.len() == CYCLE || at + 1 == self.grid.jobs.len() {
                self.cycle(&batch);
                batch.clear();
            }
        }
        for at in 0..self.grid.moves.len() {
            self.bytes.clear();
            self.grid.transfer_record(&mut self.bytes, self.grid.moves[at], false);
            self.push(&mut batch, Topic::Transfer);
            if batch.records.len() == CYCLE || at + 1 == self.grid.moves.len() {
                self.cycle(&batch);
                batch.clear();
            }
        }
    }

    fn push(&mut self, batch: &mut Batch, topic: Topic) {
        self.offset += 1;
        let lane = Lane::new(topic, stir(self.offset) as u32 % 8);
        batch.push(lane, self.offset, self.grid.now, None, Some(&self.bytes));
    }

    /// Batches of a round, made beforehand.
    fn batches(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        for _ in 0..ROUND / CYCLE {
            let mut batch = Batch::default();
            for _ in 0..CYCLE {
                self.bytes.clear();
                let topic = self.grid.next_record(&mut self.bytes);
                self.push(&mut batch, topic);
            }
            self.grid.now += MINUTE;
            batches.push(batch);
        }
        batches
    }

    fn cycle(&mut self, batch: &Batch) {
        let mut garbled = Vec::new();
        let Line { state, codec, arena, .. } = self;
        fold_batch(state, codec, arena, batch, &batch.records, &mut garbled);
        assert!(garbled.is_empty());
        match self.state.number {
            0 => close_at_end(&mut self.state, self.grid.now),
            _ => close(&mut self.state, self.grid.now, Vec::new()),
        }
        self.state.touched = Default::default();
    }

    /// CPU time of one event of a round, all of it and its decoding alone; ns.
    fn round(&mut self) -> [f64; 2] {
        let batches = self.batches();
        let before = cpu_ns();
        batches.iter().for_each(|batch| self.decode(batch));
        let between = cpu_ns();
        batches.iter().for_each(|batch| self.cycle(batch));
        let after = cpu_ns();
        [after - between, between - before].map(|ns| ns as f64 / ROUND as f64)
    }

    fn decode(&mut self, batch: &Batch) {
        for raw in &batch.records {
            let value = batch.value(raw);
            black_box(self.codec.read(raw.lane.topic, None, value, &mut self.arena));
        }
    }
}

/// Memory of this process; bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux counts memory");
    let pages: u64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a number");
    pages * 4096
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let json = args.iter().any(|arg| arg == "--json");
    let given = |name: &str| -> Option<u64> {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)?.parse().ok()
    };
    let sizes = given("--jobs").map_or(SIZES.to_vec(), |size| vec![size]);
    let mut figures: Vec<(String, f64)> = Vec::new();
    let mut lines = Vec::new();
    for size in &sizes {
        let mut line = Line::new(*size);
        let before = resident();
        line.fill();
        let bytes = (resident() - before) as f64 / *size as f64;
        figures.push((format!("memory_{size}_live_jobs_bytes_per_job"), bytes));
        lines.push(line);
    }
    let mut rounds: Vec<Vec<[f64; 2]>> = vec![Vec::new(); sizes.len()];
    for _ in 0..given("--rounds").unwrap_or(ROUNDS) {
        for (line, rounds) in lines.iter_mut().zip(&mut rounds) {
            rounds.push(line.round());
        }
    }
    for (size, rounds) in sizes.iter().zip(rounds) {
        let [ns, decode] = [0, 1]
            .map(|at| median(&mut rounds.iter().map(|round| round[at]).collect::<Vec<f64>>()));
        figures.push((format!("decode_{size}_live_jobs_ns_per_event"), decode));
        figures.push((format!("fold_{size}_live_jobs_ns_per_event"), ns));
        figures.push((format!("fold_{size}_live_jobs_events_per_s"), 1e9 / ns));
    }
    report(&figures, json);
}

fn report(figures: &[(String, f64)], json: bool) {
    if json {
        print_json(figures);
    } else {
        figures.iter().for_each(|(name, figure)| println!("{name:48} {figure:12.1}"));
    }
}
