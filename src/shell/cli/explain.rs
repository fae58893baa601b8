//! `explain`: a task's decisions, as text.

use crate::core::cut::{Cut, Topic};
use crate::core::decision::Decision;
use crate::core::event::Event;
use crate::core::explain::explain;
use crate::core::policy::{Flavour, PolicySpec, kind, kinds};
use crate::drive::port::{Batch, Log};
use crate::shell::cli::Ended;
use crate::shell::cli::place::Place;
use crate::shell::dirlog::Mode;
use crate::wire::avro::{Arena, Codec};
use clap::Args;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

/// Tells why a task's work went where it went, or why it waits: counts per filter, the best
/// candidates with every factor of their weight, what a deferral waits for. Read from the decisions
/// in the log. Exits 1 when there is none of that task.
///
/// Examples:
///   yardmaster explain 12345 --dir yard
///   yardmaster explain 12345/3 --all --bootstrap-server kafka:9092
#[derive(Args)]
pub struct Explain {
    /// Task, or subject (task/chunk).
    task: String,
    #[command(flatten)]
    place: Place,
    /// Every answer, not only the last one to each request.
    #[arg(long)]
    all: bool,
}

impl Explain {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.place.read()?;
        let mut log = self.place.log(&read.topology, Mode::Read)?;
        let mut found = decisions(&mut log, |decision| {
            decision.task == self.task || decision.subject == self.task
        })?;
        found.sort_by(|a, b| {
            (&a.subject, a.attempt, a.ordinal).cmp(&(&b.subject, b.attempt, b.ordinal))
        });
        if found.is_empty() {
            eprintln!("no decision about {:?} in the log; give a task or task/chunk", self.task);
            return Ok(ExitCode::FAILURE);
        }
        for (at, decision) in found.iter().enumerate() {
            let next = found.get(at + 1);
            let is_last = next.is_none_or(|next| {
                (&next.subject, next.attempt) != (&decision.subject, decision.attempt)
            });
            if self.all || is_last {
                let words = words(&decision.policy, &read.topology.policies);
                println!("{}", explain(decision, &words));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// In whose words a policy's filters are explained: those of its kind first, then all there are.
fn words(policy: &str, policies: &[PolicySpec]) -> Vec<&'static Flavour> {
    let own = policies.iter().find(|spec| spec.name == policy).and_then(|spec| kind(&spec.kind));
    own.into_iter().chain(kinds().iter().copied()).collect()
}

/// The decisions in a log that are wanted, as of now.
pub fn decisions(
    log: &mut impl Log,
    wanted: impl Fn(&Decision) -> bool,
) -> anyhow::Result<Vec<Decision>> {
    let spans = log.lanes()?;
    let mut cut = Cut::default();
    let mut open = BTreeSet::new();
    for span in spans.iter().filter(|span| span.lane.topic == Topic::Decision) {
        cut.advance(span.lane, span.first);
        if span.first < span.stable_end {
            open.insert(span.lane);
        }
    }
    log.assign(&cut)?;
    let mut codec = Codec::default();
    let mut found = Vec::new();
    let mut batch = Batch::default();
    while !open.is_empty() {
        batch.clear();
        log.take(&mut batch, 10_000, Duration::from_millis(500))?;
        for writer in &batch.writers {
            // Records of a schema that cannot be read are no decisions of ours.
            let _ = codec.learn_number(writer);
        }
        for raw in &batch.records {
            let mut arena = Arena::default();
            let event = codec.read(Topic::Decision, None, batch.value(raw), &mut arena);
            if let Event::Decided(decision) = event
                && wanted(&decision)
            {
                found.push(*decision);
            }
            let end = spans.iter().find(|span| span.lane == raw.lane).map(|span| span.stable_end);
            if end.is_none_or(|end| raw.offset + 1 >= end) {
                open.remove(&raw.lane);
            }
        }
        for mark in &batch.marks {
            let end = spans.iter().find(|span| span.lane == mark.lane).map(|span| span.stable_end);
            if end.is_none_or(|end| mark.position >= end) {
                open.remove(&mark.lane);
            }
        }
    }
    Ok(found)
}
