//! Requests whose candidates are judged together: an analysis task whose data lie at one queue.

use super::start;
use super::yard::*;
use yardmaster::core::event::{Dataset, DatasetReplica, Input, JobState, Queue, Status, Task};
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::unit::{MINUTE, SECOND};

const FULL: u32 = 50;

/// Jobs of the task's share and type that wait at the queue with the data; more than it may have.
fn crowd<'a>(name: &'a str, status: Status, at: i64) -> JobState<'a> {
    JobState {
        user: "bob",
        group: "",
        gshare: "User Analysis",
        label: "user",
        nucleus: "",
        ended_at: if status.is_ended() { at } else { 0 },
        ..job(name, "QUEUE_00", "", status, at)
    }
}

fn reading(endpoint: &str, at: i64) -> Task {
    let replica = DatasetReplica {
        endpoint: endpoint.into(),
        files: 9,
        files_total: 9,
        ..DatasetReplica::default()
    };
    let dataset =
        Dataset { name: "data18:AOD.1".into(), replicas: vec![replica], ..Dataset::default() };
    let input = Input { datasets: vec![dataset], ..Input::default() };
    Task { input, ..asking("1/1", at) }
}

#[test]
fn what_changes_elsewhere_wakes_nobody_and_what_falls_here_does() {
    let mut yard = Yard::new();
    yard.build(3);
    for at in 0..3 {
        let mut queue = Queue { analysis: true, ..queue(&format!("QUEUE_{at:02}"), yard.now + 1) };
        if at > 0 {
            // Only the first reads where the data lie.
            queue.endpoints.read = vec![format!("ELSEWHERE_{at}")];
        }
        yard.configure(&queue);
    }
    let names: Vec<String> = (0..FULL).map(|at| format!("c{at}")).collect();
    for name in &names {
        yard.job(&crowd(name, Status::Activated, yard.now));
    }
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    let endpoint = queue("QUEUE_00", yard.now).endpoints.write[0].clone();
    yard.ask(&reading(&endpoint, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    let filters: Vec<&str> =
        decisions[0].counts.iter().map(|count| count.filter.as_ref()).collect();
    assert_eq!(filters, ["locality", "cap_rt"], "{:#?}", decisions[0]);
    // Much goes on at all queues for ten minutes; nothing of it lets the task in.
    for minute in 0..10 {
        for at in 0..3 {
            yard.pilot(&format!("QUEUE_{at:02}"), &format!("node{minute}"));
        }
        let other = JobState { resource_type: "MCORE", ..crowd("x", Status::Running, yard.now) };
        yard.job(&JobState { queue: "QUEUE_01", ..other });
        yard.job(&crowd(&names[0], Status::Activated, yard.now));
        yard.pass(MINUTE);
        lead(&mut yard, &mut drive, 10).unwrap();
    }
    assert_eq!(yard.decisions().len(), 1, "{:#?}", yard.decisions().last());
    let ended_at = yard.now;
    for name in &names {
        yard.job(&crowd(name, Status::Finished, yard.now));
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 2, "{:?}", drive.take_report());
    assert!(matches!(decisions[1].outcome, Outcome::Assign(_)), "{:#?}", decisions[1]);
    assert!(decisions[1].now < ended_at + SECOND);
    assert_eq!(sent(&decisions[1]), [("QUEUE_00".to_owned(), 5)]);
}

/// A filter that looks at a queue may depend on all jobs of the share: a task that waits because
/// its queue is overloaded is not judged again before it is less so.
#[test]
fn an_overloaded_queue_wakes_nobody_by_what_goes_on_there() {
    let mut yard = Yard::new();
    yard.build(2);
    let endpoint = "VIRTUAL_VP_DISK";
    for at in 0..2 {
        let mut queue = Queue { analysis: true, ..queue(&format!("QUEUE_{at:02}"), yard.now + 1) };
        let read = if at == 0 { endpoint.to_owned() } else { "ELSEWHERE".to_owned() };
        queue.endpoints.read = vec![read];
        // The other is for other work.
        queue.cores = if at == 0 { 1 } else { 8 };
        yard.configure(&queue);
    }
    let names: Vec<String> = (0..130).map(|at| format!("c{at}")).collect();
    for (at, name) in names.iter().enumerate() {
        let status = if (5..30).contains(&at) { Status::Activated } else { Status::Running };
        let queue = if at < 30 { "QUEUE_00" } else { "QUEUE_01" };
        yard.job(&JobState { queue, ..crowd(name, status, yard.now) });
    }
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&reading(endpoint, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    let reasons: Vec<&str> = decisions[0].fates.iter().map(|fate| fate.reason.as_ref()).collect();
    assert!(reasons.contains(&"overloaded_vp"), "{:#?}", decisions[0]);
    for _ in 0..10 {
        yard.job(&crowd(&names[5], Status::Activated, yard.now));
        yard.pilot("QUEUE_00", "node2");
        yard.pass(MINUTE);
        lead(&mut yard, &mut drive, 10).unwrap();
    }
    assert_eq!(yard.decisions().len(), 1, "{:#?}", yard.decisions().last());
    for name in &names[5..25] {
        yard.job(&crowd(name, Status::Running, yard.now));
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    assert!(matches!(decisions[1].outcome, Outcome::Assign(_)), "{:#?}", decisions[1]);
}
