//! Very many requests that wait: what they take of memory and store, and of a cycle.

use super::world::request;
use super::{Figures, resident_bytes};
use crate::cli::log_args::Read;
use crate::cli::progress::Bar;
use crate::clock::stopwatch;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::event::{Event, JobState, Status, Task};
use yardmaster_core::output::Output;
use yardmaster_core::unit::{MINUTE, Millis, SECOND};
use yardmaster_sim::scenario::feed::{close, fold};
use yardmaster_sim::scenario::simulated::engine;
use yardmaster_sim::scenario::{median, records};
use yardmaster_wire::stored::{Head, Restore, page, pages, write_head};

/// Jobs that are ready to run at each queue: more than any share may have there, so that each queue
/// is blocked by a filter that reads what changes all the time.
const READY_JOBS: usize = 120;
const GSHARE: &str = "MC 16 simul";

/// Measures each of some numbers of requests that wait over many queues. It takes some minutes.
pub fn measure(
    read: &Read,
    (sizes, queues): (&[usize], usize),
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for requests in sizes {
        measure_one(read, (*requests, queues), rounds, figures)?;
    }
    Ok(())
}

fn measure_one(
    read: &Read,
    (requests, of): (usize, usize),
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let name = |what: &str| format!("waiting_{requests}_requests_{of}_queues_{what}");
    let mut crowd = Crowd::new(read, of)?;
    let before = resident_bytes();
    crowd.defer(requests)?;
    crowd.now += 2 * MINUTE;
    let (cycles, total, longest) = crowd.all_turns();
    figures.insert(name("bytes_each"), (resident_bytes() - before) as f64 / requests as f64);
    figures.insert(name("cold_cycles"), cycles as f64);
    figures.insert(name("cold_seconds"), total);
    figures.insert(name("cold_cycle_seconds_max"), longest);
    for (what, queues) in [("one_queue", 1), ("all_queues", of)] {
        let mut bar = Bar::new(format!("{requests} requests"), "cycles", 10 * u64::from(rounds));
        let mut cycle = |number: u32| {
            bar.at(number.into());
            crowd.touched_cycle(queues)
        };
        let mut spent: Vec<f64> = (0..10 * rounds).map(&mut cycle).collect();
        figures.insert(name(&format!("{what}_changed_cycle_ms")), median(&mut spent) * 1e3);
    }
    crowd.restart(read, figures, &name)
}

struct Crowd {
    engine: Engine,
    domain: String,
    queues: Vec<String>,
    now: Millis,
    deferred: usize,
}

impl Crowd {
    fn new(read: &Read, of: usize) -> anyhow::Result<Crowd> {
        let engine = engine(read.epoch_config()?, of)?;
        let queues = engine.state.facts.queues.iter().map(|(name, _)| name.to_owned()).collect();
        let (now, domain) = (engine.state.now + SECOND, read.topology.domain.clone());
        let mut crowd = Crowd { engine, domain, queues, now, deferred: 0 };
        (0..of).for_each(|queue| (0..READY_JOBS).for_each(|job| crowd.job(queue, job)));
        crowd.cycle();
        crowd.deferred = 0;
        Ok(crowd)
    }

    fn read(&mut self, topic: Topic, event: &Event<'_>) {
        fold(&mut self.engine.state, Lane::new(topic, 0), self.now, event);
    }

    fn job(&mut self, queue: usize, number: usize) {
        let (name, queue) = (format!("8{queue:03}{number:05}"), self.queues[queue].clone());
        let state = JobState {
            task: "39000000",
            activated_at: self.now,
            gshare: GSHARE,
            ..records::job(&name, &queue, Status::Activated, self.now)
        };
        self.read(Topic::JobState, &Event::JobState(state));
    }

    /// Closes a cycle and answers; s until the last answer.
    fn cycle(&mut self) -> f64 {
        close(&mut self.engine.state, self.now, Vec::new());
        let began = stopwatch();
        self.engine.settle();
        while let Some(output) = self.engine.next_output() {
            self.engine.fold_output(&output);
            if let Output::Decision(decision) = output {
                self.deferred += usize::from(!decision.outcome.is_final());
            }
        }
        (stopwatch() - began) as f64 / 1e9
    }

    /// So many requests that no queue takes: their causes differ by what they need. The first ones
    /// still find queues, until those are full.
    fn defer(&mut self, requests: usize) -> anyhow::Result<()> {
        let mut asked = 0;
        while self.deferred < requests {
            let before = self.deferred;
            (0..requests - before).for_each(|more| self.ask(asked + more));
            asked += requests - before;
            loop {
                self.now += 1;
                self.cycle();
                if !self.engine.has_ready() {
                    break;
                }
            }
            anyhow::ensure!(self.deferred > before, "{before} of {requests} requests are deferred");
        }
        Ok(())
    }

    fn ask(&mut self, number: usize) {
        let needs = [1_000, 2_000, 4_000, 16_000][number % 4];
        let task = request(&self.domain, number as u64, self.now);
        let task = Task { ram_count_mb: Some(needs), gshare: GSHARE.into(), ..task };
        self.read(Topic::Task, &Event::Task(Box::new(task)));
    }

    /// Evaluates everything, as after a takeover: number of cycles, s in all, s of the longest.
    fn all_turns(&mut self) -> (u32, f64, f64) {
        self.engine.forget_derived();
        let (mut cycles, mut total, mut longest) = (0, 0.0, 0f64);
        loop {
            let spent = self.cycle();
            (cycles, total, longest) = (cycles + 1, total + spent, longest.max(spent));
            if !self.engine.has_ready() {
                return (cycles, total, longest);
            }
        }
    }

    /// A cycle in which a job came to each of some queues.
    fn touched_cycle(&mut self, queues: usize) -> f64 {
        let number = READY_JOBS + self.engine.state.number as usize;
        (0..queues).for_each(|queue| self.job(queue, number));
        self.now += 1;
        self.cycle()
    }

    /// The state through a store: its size, how long loading takes, and the first cycle after it.
    fn restart(
        mut self,
        read: &Read,
        figures: &mut Figures,
        name: &dyn Fn(&str) -> String,
    ) -> anyhow::Result<()> {
        let state = &self.engine.state;
        let head = write_head(state, &Head::default());
        let chunks: Vec<Vec<u8>> =
            pages(state).into_iter().map(|(kind, number)| page(state, kind, number)).collect();
        let bytes = chunks.iter().map(Vec::len).sum::<usize>();
        figures.insert(name("store_mb"), bytes as f64 / 1e6);
        let epoch_config = read.epoch_config()?;
        self.engine = Engine::new(
            yardmaster_core::state::State::new(epoch_config.setting),
            epoch_config.policies,
        );
        let began = stopwatch();
        let fresh = self.engine.state.clone();
        let fault = |_| anyhow::anyhow!("what was written cannot be read");
        let mut restore = Restore::begin(fresh, &head).map_err(fault)?;
        for chunk in &chunks {
            restore.chunk(chunk).map_err(fault)?;
        }
        self.engine.state = restore.end().0;
        figures.insert(name("load_seconds"), (stopwatch() - began) as f64 / 1e9);
        let first = self.cycle();
        figures.insert(name("first_cycle_seconds"), first);
        Ok(())
    }
}
