//! What serving costs the loop: folding with and without ten watchers, in turns; how long answers
//! take; how long the copies take that expensive questions are answered from.

use super::{Figures, cpu_seconds};
use crate::core::engine::Engine;
use crate::core::state::counters::copy_for_counters;
use crate::core::unit::{MIB, Millis, SECOND};
use crate::drive::fold::fold_batch;
use crate::drive::port::Batch;
use crate::drive::report::Report;
use crate::shell::answers::Answers;
use crate::shell::api::{self, Api, Past, Reasons, Views};
use crate::shell::cli::log_args::Read;
use crate::shell::cli::progress::Bar;
use crate::shell::clock::stopwatch;
use crate::shell::history::{Keeper, Keeps, Turn};
use crate::shell::http::{Door, Server};
use crate::shell::metrics::{Metrics, QueueLoad};
use crate::shell::question::LoopClient;
use crate::shell::status::Status;
use crate::shell::view::View;
use crate::sim::load::Load;
use crate::sim::scenario::feed::close;
use crate::sim::scenario::median;
use crate::sim::scenario::simulated::engine;
use crate::wire::avro::{Arena, Codec};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

const QUEUES: usize = 700;
const WATCHERS: usize = 10;
/// Records in one measured batch, and in one round.
const BATCH: usize = 10_000;
const ROUND: usize = 2_000_000;
const START: Millis = 1_760_400_000_000;
/// What each watcher asks for, each second.
const ASKED: [&str; 3] = ["/api/v1/queues", "/api/v1/status", "/api/v1/decisions?limit=100"];
/// What one of them asks for besides.
const EXPENSIVE: [&str; 3] = ["/api/v1/audit", "/api/v1/counters", "/metrics"];

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
    let (mut before, mut watched, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let (sent, took) = channel();
    let mut bar = Bar::new("serving", "rounds", rounds.into());
    for round in 0..rounds {
        bar.at(round.into());
        before.push(served.round());
        let watchers = Watchers::start(served.server.address(), &sent);
        watched.push(served.round());
        watchers.stop();
        after.push(served.round());
    }
    drop(bar);
    let (before, watched, after) = (median(&mut before), median(&mut watched), median(&mut after));
    let alone = (before + after) / 2.0;
    figures.insert("serving_fold_cpu_ns_per_event_alone_first".into(), before);
    figures.insert("serving_fold_cpu_ns_per_event_alone_second".into(), after);
    figures.insert("serving_fold_cpu_ns_per_event_ten_watchers".into(), watched);
    figures.insert("serving_cost_ratio_ten_watchers".into(), watched / alone);
    figures.insert("serving_noise_ratio_alone".into(), before.max(after) / before.min(after));
    drop(sent);
    let took: Vec<(&str, f64)> = took.iter().collect();
    for path in ASKED.iter().chain(&EXPENSIVE) {
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
        let keeper = Keeper::open(&scratch.join("serving"), keeps, None, &engine.state)?;
        api.past.set(Some(keeper.history()));
        let metrics = Metrics::new(&read.topology.domain, read.topology.limits.metric_labels_max);
        let added = (api::routes(api), &api::PATHS[..]);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::start(any, metrics.scrape(status.clone()), status, door, added)?;
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
        let turn = Turn { is_cycle_end: true, is_restoring: false };
        self.keeper.turn(&mut report, &self.engine, turn);
        self.views.turn(&self.engine);
        self.answers.turn(&self.engine.state, true, false);
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

    /// How long the loop copies for an answer.
    fn copies(&self, rounds: u32, figures: &mut Figures) {
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
        take("of_all_records", &|| drop(self.engine.state.clone()));
        take("of_counters", &|| drop(copy_for_counters(&self.engine.state)));
        take("of_queues", &|| drop(View::of(&self.engine)));
    }
}

/// Ten clients that look each second, and how long each answer took; ms.
struct Watchers {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Watchers {
    fn start(address: SocketAddr, took: &Sender<(&'static str, f64)>) -> Watchers {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..WATCHERS).map(|number| {
            let (stop, took) = (Arc::clone(&stop), took.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let expensive = if number == 0 { &EXPENSIVE[..] } else { &[] };
                    for path in ASKED.iter().chain(expensive) {
                        let began = Instant::now();
                        if ask(address, path).is_some() {
                            let _ = took.send((path, began.elapsed().as_secs_f64() * 1e3));
                        }
                    }
                    std::thread::sleep(Duration::from_secs(1));
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
