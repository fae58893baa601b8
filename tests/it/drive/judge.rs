//! A request that is judged without asking: the answer is the one that the leader gives when it is
//! asked, and nothing changes.

use super::yard::*;
use std::time::Duration;
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{DataKind, Dataset, Input, Location, Replica, Status, Task};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::digest::digest;
use yardmaster::drive::Drive;
use yardmaster::sim::paper::store::PaperStore;

/// An engine that has followed the log to its end, ready to judge.
fn ready(yard: &Yard) -> Engine {
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("two")).unwrap();
    while drive.pump(Duration::ZERO).unwrap() > 0 || drive.follow().unwrap() > 0 {}
    let mut engine = drive.into_engine();
    let before = digest(&engine.state);
    engine.make_ready();
    assert_eq!(digest(&engine.state), before, "making ready changes nothing that is known");
    engine
}

/// The parts of a decision that do not depend on the cycle: outcome, queues with their weights,
/// fates.
fn essence(decision: &Decision) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut queues: Vec<(String, f64)> = match &decision.outcome {
        Outcome::Assign(ranked) => ranked.iter().map(|it| (it.queue.clone(), it.weight)).collect(),
        Outcome::Defer { .. } | Outcome::Reject { .. } => Vec::new(),
    };
    queues.sort_by(|a, b| a.0.cmp(&b.0));
    let (counts, fates) = (decision.counts.clone(), decision.fates.clone());
    (decision.outcome.name(), queues, counts, fates, decision.ordinal, decision.policy_hash.clone())
}

/// The answer without asking, and then the one to the question.
fn both(yard: &mut Yard, drive: &mut Leader, task: &Task) -> [Decision; 2] {
    let engine = ready(yard);
    let before = digest(&engine.state);
    let judged = engine.judge_task(task).unwrap();
    assert_eq!(engine.judge_task(task).unwrap(), judged, "the same again");
    assert_eq!(digest(&engine.state), before, "judging changes nothing");
    assert!(engine.state.requests.of(&task.subject).is_none());
    let outputs = yard.outputs();
    yard.ask(task);
    lead(yard, drive, 60).unwrap();
    assert_eq!(yard.outputs(), outputs + 1, "only the question is answered");
    [judged, yard.decisions().pop().unwrap()]
}

type Leader = Drive<yardmaster::sim::paper::PaperLog, PaperStore>;

#[test]
fn a_request_is_judged_as_the_leader_answers_it() {
    let mut yard = Yard::new();
    yard.build(4);
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("one")).unwrap();
    lead(&mut yard, &mut drive, 5).unwrap();
    for at in 0..100 {
        let queue = format!("QUEUE_{:02}", at % 3);
        yard.job(&job(&format!("old{at}"), &queue, "", Status::Running, yard.now));
    }
    lead(&mut yard, &mut drive, 60).unwrap();
    let assigned = task("1/1", 100, yard.now);
    let [judged, recorded] = both(&mut yard, &mut drive, &assigned);
    assert!(matches!(judged.outcome, Outcome::Assign(_)), "{judged:?}");
    assert_eq!(essence(&judged), essence(&recorded));
    let huge = Task { core_count: Some(4_000), ..task("2/1", 10, yard.now) };
    let [judged, recorded] = both(&mut yard, &mut drive, &huge);
    assert!(matches!(judged.outcome, Outcome::Defer { .. }), "{judged:?}");
    assert!(!judged.fates.is_empty());
    assert_eq!(essence(&judged), essence(&recorded));
    let nucleus = Task { policy: "production-task".into(), nucleus: String::new(), ..assigned };
    let nucleus = Task { subject: "3".into(), task: "3".into(), ..nucleus };
    let [judged, recorded] = both(&mut yard, &mut drive, &nucleus);
    assert_eq!(
        (judged.outcome.name(), &judged.counts),
        (recorded.outcome.name(), &recorded.counts)
    );
    let unknown = Task { policy: "no-such".into(), ..task("4/1", 1, yard.now) };
    let [judged, recorded] = both(&mut yard, &mut drive, &unknown);
    assert_eq!(judged.outcome, recorded.outcome);
}

/// The records of where input lies count as they do for a request that is asked.
#[test]
fn input_is_looked_for_where_records_say() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("one")).unwrap();
    let endpoint = queue("QUEUE_00", yard.now).endpoints.write[0].clone();
    let location =
        Location { endpoint: endpoint.clone(), files: 9, complete: true, ..Location::default() };
    yard.configure(&Replica {
        name: "data18:data18.set".into(),
        changed_at: yard.now,
        kind: DataKind::Dataset,
        files: 9,
        locations: vec![location],
        endpoint,
        ..Replica::default()
    });
    lead(&mut yard, &mut drive, 60).unwrap();
    let dataset =
        Dataset { name: "data18.set".into(), primary: true, files: 9, ..Dataset::default() };
    let input = Input { datasets: vec![dataset], ..Input::default() };
    let task = Task { input, total_files: 9, ..task("1/1", 10, yard.now) };
    let [judged, recorded] = both(&mut yard, &mut drive, &task);
    assert!(judged.notes.iter().any(|note| note.starts_with("input_located(1 of 1")), "{judged:?}");
    assert_eq!(judged.notes, recorded.notes);
    assert_eq!(essence(&judged), essence(&recorded));
}
