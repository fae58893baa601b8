//! Where input lies, by records that come after the request: assigned, deferred, made again,
//! forgotten.

use super::start;
use super::yard::*;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{
    DataKind, Dataset, DatasetReplica, Input, Location, Queue, QueueStatus, Replica,
    ReplicaSummary, Task,
};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{DAY, MINUTE, SECOND};
use yardmaster::drive::Drive;
use yardmaster::drive::intake::{Intake, Origin, Records};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::dialect::Dialect;

const SET: &str = "data18:data18.set";

/// Size of a file of the dataset; bytes. A queue may miss less than one of them.
const FILE: u64 = 100 << 30;

/// Three queues, each of which reads an endpoint of its own; the first one's.
fn build(yard: &Yard) -> String {
    yard.build(3);
    queue("QUEUE_00", yard.now).endpoints.write[0].clone()
}

/// A chunk that reads a dataset of nine files fast, and does not know where it lies.
fn reading(subject: &str, at: i64) -> Task {
    let dataset = Dataset {
        name: "data18.set".into(),
        primary: true,
        files: 9,
        bytes: 9 * FILE,
        ..Dataset::default()
    };
    let input = Input { datasets: vec![dataset], ..Input::default() };
    Task {
        input,
        total_files: 9,
        total_bytes: 9 * FILE,
        io_intensity_kbps: Some(10_000),
        ..task(subject, 5, at)
    }
}

/// A copy of the dataset at an endpoint; none for 0 files.
fn copy(endpoint: &str, files: u64, at: i64) -> Replica {
    let location = Location {
        endpoint: endpoint.into(),
        files,
        bytes: files * FILE,
        complete: files == 9,
        ..Location::default()
    };
    Replica {
        name: SET.into(),
        changed_at: at,
        kind: DataKind::Dataset,
        bytes: 9 * FILE,
        files: 9,
        locations: if files > 0 { vec![location] } else { Vec::new() },
        endpoint: endpoint.into(),
        ..Replica::default()
    }
}

/// Publishes what intake makes of one of Rucio's messages.
fn rucio(yard: &Yard, event_type: &str, payload: &str) {
    let second = yard.now / SECOND;
    let text = format!(
        r#"{{"event_type": "{event_type}", "created_at": {second}, "payload": {payload}}}"#
    );
    let mut intake = Intake::new("atlas", Default::default(), &Limits::default());
    intake.caught_up();
    let (mut records, appended_at) = (Records::default(), yard.now);
    let origin = Origin { topic: "rucio", partition: 0, offset: 0, appended_at };
    intake.meet(Dialect::Rucio, origin, None, Some(text.as_bytes()), &mut records);
    assert!(!records.is_empty(), "{text}");
    for record in records.iter() {
        let lane = Lane::new(record.topic, 0);
        assert_ne!(record.topic, Topic::DeadLetter, "{text}");
        yard.paper.append(lane, Some(record.key), Some(record.value), &[], None);
    }
}

fn is_assigned(decision: &Decision) -> bool {
    matches!(decision.outcome, Outcome::Assign(_))
}

/// Everything again from the log: the same decisions, and the same state.
fn rebuild(yard: &Yard, drive: &Drive<yardmaster::sim::paper::PaperLog, PaperStore>) {
    assert_eq!(audit(drive.state()), vec![]);
    let mut other = config("two");
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    for _ in 0..200 {
        again.pump(Duration::ZERO).unwrap();
        again.follow().unwrap();
    }
    let report = again.take_report();
    let decisions = yard.decisions().len() as u64;
    assert_eq!(report.verified, [decisions, 0, 0], "{:#?}", report.differences);
    assert_eq!(digest(again.state()), digest(drive.state()));
}

#[test]
fn a_request_without_replicas_is_assigned_in_the_cycle_after_the_record_of_them() {
    let mut yard = Yard::new();
    let endpoint = build(&yard);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&reading("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert!(!is_assigned(yard.decisions().last().unwrap()), "{:#?}", yard.decisions());
    yard.pass(2 * MINUTE);
    lead(&mut yard, &mut drive, 10).unwrap();
    let before = yard.decisions().len();
    let (came_at, came_after) = (yard.now, drive.state().number);
    yard.configure(&copy(&endpoint, 9, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), before + 1, "{:#?}", decisions.last());
    let last = decisions.last().unwrap();
    assert_eq!(sent(last), [("QUEUE_00".to_owned(), 5)], "{last:#?}");
    assert!(last.cycle <= came_after + 2 && last.now < came_at + SECOND, "{last:#?}");
    let note = "input_located(1 of 1 datasets by replica records)";
    assert!(last.notes.iter().any(|it| it == note), "{:?}", last.notes);
    lead(&mut yard, &mut drive, 60).unwrap();
    drive.finish(yard.now).unwrap();
    rebuild(&yard, &drive);
}

#[test]
fn rucios_messages_on_files_fill_a_dataset_and_empty_it_again() {
    let mut yard = Yard::new();
    let endpoint = build(&yard);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&reading("1/1", yard.now));
    let file = |number: u32| {
        format!(
            r#"{{"request-id": "r{number}", "scope": "data18", "name": "f{number}",
                "dataset": "data18.set", "datasetScope": "data18", "rse": "{endpoint}",
                "dst-rse": "{endpoint}", "bytes": {FILE}}}"#
        )
    };
    for number in 0..9 {
        yard.pass(2 * MINUTE);
        lead(&mut yard, &mut drive, 10).unwrap();
        assert!(yard.decisions().iter().all(|it| !is_assigned(it)), "{number} files are enough");
        let kind = if number % 2 == 0 { "transfer-done" } else { "add-replicas" };
        rucio(&yard, kind, &file(number));
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.decisions().pop().unwrap();
    assert_eq!(sent(&last), [("QUEUE_00".to_owned(), 5)], "{last:#?}");
    // One file goes; its message does not name the dataset. What asks now finds a part.
    yard.pass(2 * MINUTE);
    let gone = format!(r#"{{"scope": "data18", "name": "f3", "rse": "{endpoint}"}}"#);
    rucio(&yard, "deletion-done", &gone);
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&reading("1/2", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.decisions().pop().unwrap();
    assert_eq!((last.subject.as_str(), is_assigned(&last)), ("1/2", false), "{last:#?}");
    // All of it is locked there: it is whole again.
    yard.pass(2 * MINUTE);
    let lock = format!(r#"{{"scope": "data18", "name": "data18.set", "rse": "{endpoint}"}}"#);
    rucio(&yard, "DATASETLOCK_OK", &lock);
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.decisions().pop().unwrap();
    assert_eq!((last.subject.as_str(), is_assigned(&last)), ("1/2", true), "{last:#?}");
    lead(&mut yard, &mut drive, 60).unwrap();
    drive.finish(yard.now).unwrap();
    rebuild(&yard, &drive);
}

#[test]
fn what_a_request_states_holds_until_a_newer_record() {
    let mut yard = Yard::new();
    let endpoint = build(&yard);
    let mut drive = start(&yard, "one");
    yard.configure(&copy(&endpoint, 0, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.pass(2 * MINUTE);
    let stating = |subject: &str, at: i64| {
        let mut task = reading(subject, at);
        let endpoint = endpoint.clone();
        task.input.datasets[0].replicas = vec![DatasetReplica {
            endpoint,
            files: 9,
            bytes: 9 * FILE,
            files_total: 9,
            is_virtual: false,
        }];
        task.replicas = vec![ReplicaSummary {
            endpoint: task.input.datasets[0].replicas[0].endpoint.clone(),
            files: 9,
            bytes: 9 * FILE,
            tape: false,
        }];
        task
    };
    yard.ask(&stating("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.decisions().pop().unwrap();
    assert!(is_assigned(&last), "the record is older than the request: {last:#?}");
    assert!(last.notes.iter().all(|it| !it.starts_with("input_located")), "{:?}", last.notes);
    let asked_at = yard.now;
    yard.pass(2 * MINUTE);
    yard.configure(&copy(&endpoint, 0, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&stating("1/2", asked_at));
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.decisions().pop().unwrap();
    assert_eq!((last.subject.as_str(), is_assigned(&last)), ("1/2", false), "{last:#?}");
}

#[test]
fn records_are_forgotten_when_they_are_old_or_too_many_and_no_request_names_them() {
    let limits = [
        ("replica_lifetime_d = 30", "replica_lifetime_d = 2"),
        ("replicas_max = 200_000", "replicas_max = 3"),
    ];
    let mut yard = Yard::new();
    let endpoint = build(&yard);
    let config = config_with("one", epoch_config_with(&limits));
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    lead(&mut yard, &mut drive, 10).unwrap();
    let known = |drive: &Drive<_, PaperStore>| drive.state().facts.replicas.len();
    for number in 0..5 {
        let name = format!("data18:other.{number}");
        yard.configure(&Replica { name, ..copy(&endpoint, 9, yard.now + number) });
    }
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(known(&drive), 3, "no more than replicas_max");
    assert!(drive.state().facts.replicas.of(&format!("data18:other.4|{endpoint}")).is_some());
    yard.configure(&copy(&endpoint, 2, yard.now + 10));
    // The request states no scope: it may mean this one as well.
    let name = String::from("data19:data18.set");
    yard.configure(&Replica { name: name.clone(), ..copy(&endpoint, 2, yard.now + 10) });
    yard.pass(2 * MINUTE);
    yard.ask(&reading("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(known(&drive), 3);
    yard.pass(3 * DAY);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(known(&drive), 2, "a request names them");
    for name in [SET, &name] {
        assert!(drive.state().facts.replicas.of(&format!("{name}|{endpoint}")).is_some());
    }
    yard.pass(40 * DAY);
    lead(&mut yard, &mut drive, 60).unwrap();
    yard.pass(40 * DAY);
    lead(&mut yard, &mut drive, 60).unwrap();
    assert_eq!(known(&drive), 0, "the request is forgotten");
    assert_eq!(audit(drive.state()), vec![]);
}

#[test]
fn a_deleted_copy_stops_the_assignment_of_what_waits() {
    let mut yard = Yard::new();
    let endpoint = build(&yard);
    yard.configure(&copy(&endpoint, 9, yard.now));
    let status = QueueStatus::Offline;
    yard.configure(&Queue { status, ..queue("QUEUE_00", yard.now + 5) });
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&reading("1/1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert!(!is_assigned(yard.decisions().last().unwrap()), "{:#?}", yard.decisions());
    yard.pass(2 * MINUTE);
    yard.configure(&copy(&endpoint, 0, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.pass(2 * MINUTE);
    yard.configure(&queue("QUEUE_00", yard.now + 10));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert!(yard.decisions().iter().all(|it| !is_assigned(it)), "{:#?}", yard.decisions());
    yard.pass(2 * MINUTE);
    yard.configure(&copy(&endpoint, 9, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert!(is_assigned(yard.decisions().last().unwrap()), "{:#?}", yard.decisions());
}

/// A chunk that reads a dataset by a name.
fn reading_of(dataset: &str, subject: &str, at: i64) -> Task {
    let mut task = reading(subject, at);
    task.input.datasets[0].name = dataset.to_owned();
    task
}

#[test]
fn a_dataset_is_its_scope_and_its_name_which_may_hold_colons() {
    let mut yard = Yard::new();
    let [first, second] =
        ["QUEUE_00", "QUEUE_01"].map(|name| queue(name, yard.now).endpoints.write[0].clone());
    yard.build(3);
    let long = "user.ann.analysis:v2.root/";
    for (name, endpoint) in [
        ("groupA:run42", &first),
        ("groupB:run42", &second),
        (&format!("user.ann:{long}"), &second),
        ("run42:run42", &second),
    ] {
        yard.configure(&Replica { name: name.into(), ..copy(endpoint, 9, yard.now) });
    }
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 10).unwrap();
    let mut assigned = |dataset: &str, subject: &str| {
        yard.pass(2 * MINUTE);
        yard.ask(&reading_of(dataset, subject, yard.now));
        lead(&mut yard, &mut drive, 10).unwrap();
        let last = yard.decisions().pop().unwrap();
        assert_eq!(last.subject, subject);
        if is_assigned(&last) { sent(&last)[0].0.clone() } else { String::new() }
    };
    assert_eq!(assigned("groupA:run42", "1/1"), "QUEUE_00");
    assert_eq!(assigned("groupB:run42", "2/1"), "QUEUE_01");
    assert_eq!(assigned("groupC:run42", "3/1"), "", "of that scope there is none");
    assert_eq!(assigned(long, "4/1"), "QUEUE_01", "without its scope");
    assert_eq!(assigned(&format!("user.ann:{long}"), "5/1"), "QUEUE_01");
    assert_eq!(assigned("run42", "6/1"), "QUEUE_01", "of several scopes the usual one");
    assert_eq!(audit(drive.state()), vec![]);
}

#[test]
fn an_erased_dataset_is_nowhere_and_one_that_lost_a_file_is_nowhere_whole() {
    for (event, whole_again) in [("ERASE", false), ("INCOMPLETE", true)] {
        let mut yard = Yard::new();
        let endpoint = build(&yard);
        yard.configure(&copy(&endpoint, 9, yard.now));
        let mut drive = start(&yard, "one");
        lead(&mut yard, &mut drive, 10).unwrap();
        let mut ask = |yard: &mut Yard, subject: &str| {
            yard.pass(2 * MINUTE);
            yard.ask(&reading(subject, yard.now));
            lead(yard, &mut drive, 10).unwrap();
            let last = yard.decisions().pop().unwrap();
            assert_eq!(last.subject, subject);
            is_assigned(&last)
        };
        assert!(ask(&mut yard, "1/1"), "{event}");
        yard.pass(2 * MINUTE);
        rucio(&yard, event, r#"{"scope": "data18", "name": "data18.set"}"#);
        assert!(!ask(&mut yard, "2/1"), "{event}");
        // A file of a dataset that is nowhere whole comes back; of one that was erased none does.
        yard.pass(2 * MINUTE);
        if whole_again {
            let lock =
                format!(r#"{{"scope": "data18", "name": "data18.set", "rse": "{endpoint}"}}"#);
            rucio(&yard, "DATASETLOCK_OK", &lock);
        }
        assert_eq!(ask(&mut yard, "3/1"), whole_again, "{event}");
        lead(&mut yard, &mut drive, 60).unwrap();
        drive.finish(yard.now).unwrap();
        rebuild(&yard, &drive);
    }
}

#[test]
fn a_later_request_for_a_replica_stands_in_place_of_an_earlier_one() {
    let mut yard = Yard::new();
    yard.build(1);
    let mut drive = start(&yard, "one");
    let send = |yard: &mut Yard, event: &str, request: &str| {
        yard.pass(SECOND);
        let (stamp, file) = (yard.now / SECOND, &request[..1]);
        let payload = format!(
            r#"{{"request-id": "{request}", "scope": "mc23", "name": "{file}", "dst-rse": "FAR_DATADISK",
                "activity": "Production Output", "bytes": 1000, "queued_at": {stamp},
                "submitted_at": {stamp}}}"#
        );
        rucio(yard, event, &payload);
    };
    let waits = |drive: &Drive<_, PaperStore>| {
        let ledger = &drive.state().ledger;
        let waiting = ledger.into.iter().map(|(_, flow)| flow.files);
        waiting.sum::<u64>()
    };
    for (event, request, files) in [
        ("transfer-preparing", "a1", 1),
        ("transfer-submitted", "a1", 1),
        ("transfer-lost", "a1", 0),
        // The next is given up without a word; the third is asked for all the same.
        ("transfer-queued", "a2", 1),
        ("stagein-queued", "a3", 1),
        ("transfer-submitted", "a2", 1),
        ("stagein-done", "a3", 0),
    ] {
        send(&mut yard, event, request);
        lead(&mut yard, &mut drive, 10).unwrap();
        assert_eq!(waits(&drive), files, "{event} {request}");
    }
    assert!(drive.state().facts.replicas.of("mc23:a|FAR_DATADISK").is_some());
    assert_eq!(audit(drive.state()), vec![]);
    yard.pass(2 * DAY);
    send(&mut yard, "transfer-queued", "b1");
    lead(&mut yard, &mut drive, 60).unwrap();
    assert_eq!((waits(&drive), audit(drive.state())), (1, vec![]));
    let known = drive.state().transfers.slab.len();
    assert_eq!(known, 3, "one that ended is kept while one lives that it stands in place of");
    yard.pass(40 * DAY);
    send(&mut yard, "transfer-queued", "c1");
    lead(&mut yard, &mut drive, 60).unwrap();
    assert_eq!((waits(&drive), audit(drive.state())), (1, vec![]));
    assert_eq!(drive.state().transfers.slab.len(), 1, "all of them are forgotten");
    drive.finish(yard.now).unwrap();
    rebuild(&yard, &drive);
}
