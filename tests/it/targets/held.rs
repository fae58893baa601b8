//! Reservations of decisions at targets equal the sums that this file makes by itself from their
//! records.

use super::{Decision, Grid, Outcome, OutcomeKind, Status, active, cluster, target};
use std::collections::BTreeMap;

const TARGETS: [&str; 2] = ["ce-a/grid", "ce-b/grid"];
const JOBS: [&str; 4] = ["job-0", "job-1", "job-2", "job-3"];

/// A small generator, so that a failure is found again by its seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        ((self.0 >> 33) % most) as usize
    }
}

/// By job: its attempts that are neither refused nor over, in their order.
#[derive(Default)]
struct Held(BTreeMap<String, Vec<Decision>>);

impl Held {
    /// Bytes of disk at a target. A job counts once there, by its newest attempt.
    fn at(&self, at: &str) -> u64 {
        let newest = self.0.values().filter_map(|attempts| {
            let here = attempts.iter().rev().find(|decision| target(decision) == at);
            Some(here?.placed.as_ref()?.disk_bytes)
        });
        newest.sum()
    }

    /// A decision must state what is held without it.
    fn put(&mut self, decision: Decision, context: &str) {
        for limit in decision.limits.iter().filter(|limit| limit.name == "disk") {
            assert_eq!(limit.before, self.at(&limit.of), "{context}: {decision:#?}");
        }
        if let Outcome::Assign(_) = decision.outcome {
            self.0.entry(decision.subject.clone()).or_default().push(decision);
        }
    }
}

struct Story {
    grid: Grid,
    held: Held,
    draws: Draws,
    /// Decisions that were looked at.
    known: usize,
}

impl Story {
    /// A job is asked for, refused, accepted or fails, whatever it did before.
    fn step(&mut self) {
        let Story { grid, held, draws, .. } = self;
        let job = JOBS[draws.below(4)];
        let newest = held.0.get(job).and_then(|attempts| attempts.last().cloned());
        match (newest, draws.below(5)) {
            (Some(decision), 0) => {
                held.0.get_mut(job).expect("attempts").pop();
                grid.outcome(&decision, OutcomeKind::Refused);
            }
            (Some(decision), 1) => grid.outcome(&decision, OutcomeKind::Accepted),
            (Some(decision), 2) => {
                held.0.remove(job);
                grid.job(job, target(&decision), Status::Failed, "FAILED", 0);
            }
            _ => {
                let disk = 100 + 100 * draws.below(8);
                let cluster = ["ce-a", "ce-b"][draws.below(2)];
                let text = format!("&(executable=a)(cluster={cluster})(disk={disk})");
                match grid.yard.decisions().iter().any(|it| it.subject == job) {
                    true => grid.submit_again(job, &text),
                    false => grid.submit(job, &text),
                };
            }
        }
    }

    fn look(&mut self, context: &str) {
        let decisions = self.grid.yard.decisions();
        for decision in &decisions[self.known..] {
            self.held.put(decision.clone(), context);
        }
        self.known = decisions.len();
    }
}

#[test]
fn every_decision_states_what_all_others_hold_at_its_target() {
    for seed in 0..6 {
        let mut grid = Grid::new();
        for target in TARGETS {
            grid.cluster(target, cluster(&[], None), active(100), "100");
        }
        grid.rounds(2);
        let draws = Draws(seed);
        let mut story = Story { grid, held: Held::default(), draws, known: 0 };
        for step in 0..40 {
            story.step();
            story.look(&format!("seed {seed}, step {step}"));
        }
        assert!(story.known > 15, "seed {seed}: {} decisions", story.known);
        story.grid.check();
    }
}
