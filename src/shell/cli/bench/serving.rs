//! Cost of serving for the loop: folding without watchers, with ten, and with ten of which one asks
//! expensive questions, in turns; how long answers take; how long a cycle waits for the copies that
//! expensive questions are answered from.

use super::{Figures, cpu_seconds};
use crate::answers::Answers;
use crate::api::{self, Api, Apis, Past, Reasons, Views};
use crate::cli::log_args::Read;
use crate::cli::progress::Bar;
use crate::clock::stopwatch;
use crate::history::{HistoryIdentity, Keeper, Keeps, LoopPosition};
use crate::http::{Door, ServedDomain, Server};
use crate::metrics::{Metrics, QueueLoad};
use crate::question::{Asked, LoopClient, Question};
use crate::status::Status;
use crate::view::View;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::time::{Duration, Instant};
use tokio::sync::oneshot::error::TryRecvError;
use yardmaster_core::engine::Engine;
use yardmaster_core::unit::{MIB, Millis, SECOND};
use yardmaster_drive::fold::fold_batch;
use yardmaster_drive::port::Batch;
use yardmaster_drive::report::Report;
use yardmaster_sim::load::Load;
use yardmaster_sim::scenario::feed::close;
use yardmaster_sim::scenario::median;
use yardmaster_sim::scenario::simulated::engine;
use yardmaster_wire::avro::{Arena, Codec};

const QUEUES: usize = 700;
const WATCHERS: usize = 10;
/// Records in one measured batch, and in one round.
const BATCH: usize = 10_000;
const ROUND: usize = 2_000_000;
const START: Millis = 1_760_400_000_000;
/// Paths that each watcher asks for, each second: the page and `top`.
const ASKED: [&str; 3] = ["/api/v1/queues", "/api/v1/status", "/api/v1/decisions?limit=100"];
/// Path that one of them asks for besides, each second.
const SCRAPED: &str = "/metrics";
/// Paths that one of them asks for without a pause where it asks expensive questions.
const EXPENSIVE: [&str; 2] = ["/api/v1/audit", "/api/v1/counters"];

/// Measures serving beside a fold with so many live jobs.
pub fn measure(
    read: &Read,
    scratch: &Path,
    jobs: u64,
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut served = Served::start(read, scratch, jobs)?;
    served.copies(rounds, figures);
    served.views(rounds, figures);
    let (sent, took) = channel();
    let mut cost: [Vec<f64>; 4] = Default::default();
    let mut bar = Bar::new("serving", "rounds", rounds.into());
    for round in 0..rounds {
        bar.at(round.into());
        for (at, watch) in [None, Some(false), None, Some(true)].into_iter().enumerate() {
            let address = served.server.address();
            let watchers = watch.map(|expensive| Watchers::start(address, expensive, &sent));
            cost[at].push(served.round());
            if let Some(watchers) = watchers {
                watchers.stop();
            }
        }
    }
    drop(bar);
    let [before, plain, after, expensive] = cost.map(|mut ns| median(&mut ns));
    let alone = (before + after) / 2.0;
    for (name, ns) in [
        ("alone_first", before),
        ("alone_second", after),
        ("ten_watchers", plain),
        ("ten_watchers_one_expensive", expensive),
    ] {
        figures.insert(format!("serving_fold_cpu_ns_per_event_{name}"), ns);
    }
    figures.insert("serving_cost_ratio_ten_watchers".into(), plain / alone);
    figures.insert("serving_cost_ratio_ten_watchers_one_expensive".into(), expensive / alone);
    figures.insert("serving_noise_ratio_alone".into(), before.max(after) / before.min(after));
    drop(sent);
    let took: Vec<(&str, f64)> = took.iter().collect();
    for path in ASKED.iter().chain(&EXPENSIVE).chain([&SCRAPED]) {
        let mut of_path: Vec<f64> =
            took.iter().filter(|(asked, _)| asked == path).map(|(_, ms)| *ms).collect();
        if !of_path.is_empty() {
            let name = path.trim_start_matches('/').replace(['/', '?', '='], "_");
            of_path.sort_by(f64::total_cmp);
            let p95 = of_path[of_path.len() * 95 / 100];
            figures.insert(format!("serving_{name}_ms"), median(&mut of_path));
            figures.insert(format!("serving_{name}_p95_ms"), p95);
        }
    }
    Ok(())
}

/// A loop with a server beside it.
struct Served {
    engine: Engine,
    codec: Codec,
    arena: Arena,
    load: Load,
    metrics: Metrics,
    views: Views,
    answers: Answers,
    keeper: Keeper,
    server: Server,
    gauged: Instant,
}

impl Served {
    fn start(read: &Read, scratch: &Path, jobs: u64) -> anyhow::Result<Served> {
        let config = read.epoch_config()?;
        let door = Door::new(&read.topology.limits, &[]);
        let (client, asked) = LoopClient::new(door.answer_max);
        let (status, views, past) =
            (Arc::new(Status::default()), Views::default(), Past::default());
        let reasons = Arc::new(Reasons::of(&config));
        let api = Api { client, status: status.clone(), views: views.clone(), past, reasons };
        let engine = engine(config, QUEUES)?;
        let keeps = Keeps { interval: 60 * SECOND, span: Millis::MAX / 2, bytes: 512 * MIB };
        let keeper = Keeper::open(
            &scratch.join("serving"),
            keeps,
            HistoryIdentity::default(),
            &engine.state,
        )?;
        api.past.set(Some(keeper.history()));
        let metrics = Metrics::new(&read.topology.domain, read.topology.limits.metric_labels_max);
        let added = (api::routes(Apis::new(vec![api])), &api::PATHS[..]);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (name, scrape) = (read.topology.domain.clone(), metrics.scrape(status.clone()));
        let served = ServedDomain { name, scrape, status };
        let server = Server::start(any, vec![served], door, added)?;
        let mut served = Served {
            load: Load::new(7, jobs, START).steady(),
            engine,
            codec: Codec::default(),
            arena: Arena::default(),
            metrics,
            views,
            answers: Answers::new(asked),
            keeper,
            server,
            gauged: Instant::now(),
        };
        for from in (0..jobs).step_by(BATCH) {
            let batch = served.load.first(from, from + BATCH as u64);
            served.cycle(&batch);
        }
        Ok(served)
    }

    /// A cycle as the loop makes it: folding, then what is shown.
    fn cycle(&mut self, batch: &Batch) {
        let mut garbled = Vec::new();
        let state = &mut self.engine.state;
        fold_batch(state, &self.codec, &mut self.arena, batch, &batch.records, &mut garbled);
        let now = batch.records.last().map_or(START, |record| record.appended_at);
        close(state, now, Vec::new());
        state.touched = Default::default();
        let number = state.number;
        if self.gauged.elapsed() >= Duration::from_secs(2) {
            self.gauged = Instant::now();
            self.metrics.record_queues(QueueLoad::of(&self.engine.state));
            self.metrics.add();
        }
        let mut report = Report { confirmed: Some(number), ..Report::default() };
        let turn = LoopPosition { is_cycle_end: true, is_restoring: false };
        self.keeper.turn(&mut report, &mut self.engine, turn);
        self.views.turn(&self.engine);
        self.answers.turn(&mut self.engine, true, false);
    }

    /// CPU time of a round; ns per event. Making the records is not counted.
    fn round(&mut self) -> f64 {
        let mut spent = 0.0;
        for _ in 0..ROUND / BATCH {
            let batch = self.load.mixed(BATCH);
            let began = cpu_seconds();
            self.cycle(&batch);
            spent += cpu_seconds() - began;
        }
        spent * 1e9 / ROUND as f64
    }

    /// Measures the time that the loop spends on a copy that a question is answered from, and the
    /// longest that a cycle waits for it, while folding goes on. By the clock it waits for other
    /// processes of the machine as well; CPU time is that of the copy alone.
    fn copies(&mut self, rounds: u32, figures: &mut Figures) {
        let whats =
            ["longest_delay_ms", "longest_delay_cpu_ms", "sum_cpu_ms", "turns", "fold_cpu_ns"];
        for (name, asked) in [("audit", Asked::Audit), ("counters", Asked::Counters)] {
            let mut parts: [Vec<f64>; 5] = Default::default();
            for _ in 0..rounds {
                let of_one = self.copy(&asked);
                parts.iter_mut().zip(of_one).for_each(|(all, one)| all.push(one));
            }
            let parts = parts.map(|mut part| median(&mut part));
            for (what, value) in whats.iter().zip(parts) {
                figures.insert(format!("serving_copy_for_{name}_{what}"), value);
            }
        }
    }

    /// Answers one question. Gives the longest turn by the clock and by CPU time, and CPU time of
    /// all turns (ms); how many there were, and CPU time of the fold meanwhile (ns per event).
    fn copy(&mut self, asked: &Asked) -> [f64; 5] {
        let (questions, waiting) = sync_channel(1);
        let mut answers = Answers::new(waiting);
        let (question, mut reply) = Question::new(asked.clone());
        let _ = questions.send(question);
        let (mut longest, mut longest_cpu) = (0.0f64, 0.0f64);
        let (mut sum, mut fold, mut turns) = (0.0, 0.0, 0u32);
        loop {
            let began = (stopwatch(), cpu_seconds());
            answers.turn(&mut self.engine, true, false);
            let cpu = (cpu_seconds() - began.1) * 1e3;
            longest = longest.max((stopwatch() - began.0) as f64 / 1e6);
            (longest_cpu, sum, turns) = (longest_cpu.max(cpu), sum + cpu, turns + 1);
            if !answers.is_waiting() {
                break;
            }
            let batch = self.load.mixed(BATCH);
            let began = cpu_seconds();
            self.cycle(&batch);
            fold += cpu_seconds() - began;
        }
        while matches!(reply.try_recv(), Err(TryRecvError::Empty)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let events = f64::from(turns.max(2) - 1) * BATCH as f64;
        [longest, longest_cpu, sum, f64::from(turns), fold * 1e9 / events]
    }

    /// How long the loop copies for what is shown each second, and for the history.
    fn views(&self, rounds: u32, figures: &mut Figures) {
        let mut take = |name: &str, copy: &dyn Fn()| {
            let mut took: Vec<f64> = (0..rounds)
                .map(|_| {
                    let began = stopwatch();
                    copy();
                    (stopwatch() - began) as f64 / 1e6
                })
                .collect();
            figures.insert(format!("serving_copy_{name}_ms"), median(&mut took));
        };
        take("of_queues", &|| drop(View::of(&self.engine)));
    }
}

/// Ten clients that look each second, and how long each answer took; ms.
struct Watchers {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Watchers {
    /// `expensive`: whether one of them asks expensive questions without a pause.
    fn start(address: SocketAddr, expensive: bool, took: &Sender<(&'static str, f64)>) -> Watchers {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..WATCHERS).map(|number| {
            let (stop, took) = (Arc::clone(&stop), took.clone());
            let (paths, pause) = match number {
                0 if expensive => (EXPENSIVE.to_vec(), Duration::ZERO),
                1 => ([&ASKED[..], &[SCRAPED]].concat(), Duration::from_secs(1)),
                _ => (ASKED.to_vec(), Duration::from_secs(1)),
            };
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for path in &paths {
                        let began = Instant::now();
                        if ask(address, path).is_some() {
                            let _ = took.send((path, began.elapsed().as_secs_f64() * 1e3));
                        } else {
                            std::thread::sleep(Duration::from_millis(100));
                        }
                    }
                    std::thread::sleep(pause);
                }
            })
        });
        Watchers { threads: threads.collect(), stop }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Reads a good answer whole.
fn ask(address: SocketAddr, path: &str) -> Option<usize> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    answer.starts_with(b"HTTP/1.1 200").then_some(answer.len())
}
