//! One decision, all of it: survey, candidates, filters, weights, ranking, division, and the record
//! of it, with the shipped policies of ATLAS over a grid of queues with load, links, storage, pilots
//! and replicas: jobs of production, jobs of users (every other one with its data at three sites),
//! tasks that want a nucleus. `cargo bench --bench decide [-- [PART...]
//! [--json]]`; PART: only figures with this in their name.
//!
//! Time is CPU time of this thread; sizes take turns, and the median of their rounds counts.

mod measure;

use measure::{cpu_ns, print_json};
use yardmaster::core::cut::Topic;
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{DecisionOutcome, Event, OutcomeAbout, OutcomeKind, Task};
use yardmaster::core::output::Output;
use yardmaster::core::unit::Millis;
use yardmaster::sim::scenario::large::{self, NOW, analysis, production, wanting};
use yardmaster::sim::scenario::{feed, median};
use yardmaster::wire::topology::Topology;

type Measured = (&'static str, usize, usize, fn(usize) -> Task);

/// Measured cases: name of the figure, queues, nuclei, and the request.
const LINES: [Measured; 5] = [
    ("decision_300_queues_us", 300, 0, production),
    ("decision_1000_queues_us", 1_000, 0, production),
    ("analysis_decision_300_queues_us", 300, 0, analysis),
    ("analysis_decision_1000_queues_us", 1_000, 0, analysis),
    ("task_decision_60_nuclei_300_queues_us", 300, 60, wanting),
];
const ROUNDS: usize = 15;
/// Requests of a round: one cycle's budget.
const REQUESTS: usize = 200;

struct Line {
    engine: Engine,
    requests: usize,
    task: fn(usize) -> Task,
}

impl Line {
    fn new((_, queues, nuclei, task): Measured) -> Line {
        let mut engine = feed::engine(&Topology::default_atlas());
        (0..nuclei).for_each(|number| large::read_nucleus(&mut engine.state, number));
        (0..queues).for_each(|number| large::read_queue(&mut engine.state, number));
        let mut line = Line { engine, requests: 0, task };
        line.cycle();
        line
    }

    fn cycle(&mut self) {
        let state = &mut self.engine.state;
        let now = NOW + (state.number + 1) as Millis;
        feed::close_at_end(state, now);
        self.engine.settle();
    }

    /// CPU time of a decision; ns.
    fn round(&mut self) -> f64 {
        for _ in 0..REQUESTS {
            self.requests += 1;
            let task = (self.task)(self.requests);
            large::read(&mut self.engine.state, Topic::Task, Event::Task(Box::new(task)));
        }
        self.cycle();
        let (mut spent, mut decisions, mut published) = (0, 0, Vec::new());
        loop {
            let before = cpu_ns();
            let Some(output) = self.engine.next_output() else { break };
            spent += cpu_ns() - before;
            decisions += 1;
            self.engine.fold_output(&output);
            let Output::Decision(decision) = output else { panic!("{output:?}") };
            assert!(decision.outcome.is_final(), "{:?}", decision.counts);
            published.push(decision);
        }
        assert_eq!(decisions, REQUESTS);
        // All is carried out: no reservation stays.
        for decision in published {
            let (subject, decision) = (decision.subject, decision.id);
            let (kind, reason) = (OutcomeKind::Accepted, String::new());
            let about = OutcomeAbout::Decision;
            let outcome = DecisionOutcome { subject, decision, about, kind, at: NOW, reason };
            large::read(&mut self.engine.state, Topic::Outcome, Event::Outcome(outcome));
        }
        spent as f64 / decisions as f64
    }
}

fn main() {
    let json = std::env::args().any(|arg| arg == "--json");
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |it: &Measured| only.is_empty() || only.iter().any(|name| it.0.contains(name));
    let measured: Vec<Measured> = LINES.into_iter().filter(is_wanted).collect();
    let mut lines: Vec<Line> = measured.iter().copied().map(Line::new).collect();
    let mut rounds = vec![Vec::new(); lines.len()];
    for _ in 0..ROUNDS {
        for (line, rounds) in lines.iter_mut().zip(&mut rounds) {
            rounds.push(line.round() / 1_000.0);
        }
    }
    let mut figures = Vec::new();
    for ((name, ..), mut rounds) in measured.into_iter().zip(rounds) {
        let us = median(&mut rounds);
        if !json {
            println!("{name:40} {us:8.1} (best round {:.1})", rounds[0]);
        }
        figures.push((name.to_owned(), us));
    }
    if json {
        print_json(&figures);
    }
}
