//! Jobs that are published again: their task's facts changed, or two records of them are on the bus that
//! only together say all.

use super::joins::{Bus, Comes, facts, life};
use super::{events, fresh};
use crate::drive::yard;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Status, Task};
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, Records};
use yardmaster::wire::dialect::{Grades, OWN, revision};
use yardmaster::wire::record;

const T0: i64 = 1_760_000_000;

/// Facts of a task as of a second, with another priority and share each time.
fn changed(task: u64, second: i64) -> Comes {
    let Comes::Facts(facts) = facts(task, 0) else { unreachable!() };
    let (changed_at, priority) = (second * 1_000, second as i32);
    Comes::Facts(Box::new(Task {
        changed_at,
        priority,
        gshare: format!("share-{second}"),
        ..*facts
    }))
}

/// The records that win, but for how often their facts changed on the way.
fn contents(bus: &Bus) -> Vec<String> {
    let without = |text: String| {
        let (before, after) = text.split_once("revision: ").unwrap();
        let (_, after) = after.split_once(',').unwrap();
        format!("{before}{after}")
    };
    let finals = bus.finals().into_iter();
    finals.filter(|(key, _)| key.starts_with("job-state")).map(|(_, text)| without(text)).collect()
}

fn permutations(of: &[Comes]) -> Vec<Vec<Comes>> {
    let [first, rest @ ..] = of else { return vec![Vec::new()] };
    let insert = |other: Vec<Comes>| {
        (0..=other.len())
            .map(move |at| [&other[..at], std::slice::from_ref(first), &other[at..]].concat())
    };
    permutations(rest).into_iter().flat_map(insert).collect()
}

fn play(comes: &[Comes]) -> Bus {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    for it in comes {
        bus.comes(&mut intake, it);
    }
    bus
}

#[test]
fn live_jobs_are_published_again_when_the_facts_of_their_task_change() {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    bus.comes(&mut intake, &changed(45, 1));
    for job in 1..=3 {
        bus.comes(&mut intake, &Comes::Job(job, 45, Status::Running, T0));
    }
    bus.comes(&mut intake, &Comes::Job(4, 46, Status::Running, T0));
    bus.comes(&mut intake, &Comes::Job(3, 45, Status::Finished, T0 + 1));
    assert_eq!(bus.comes(&mut intake, &changed(45, 3)), 2, "the two that live");
    assert_eq!(bus.comes(&mut intake, &changed(45, 3)), 0, "known before");
    assert_eq!(bus.comes(&mut intake, &changed(45, 2)), 0, "older");
    let last = bus.finals();
    for (job, share) in [(1, 3), (2, 3), (3, 1)] {
        let text = &last[&format!("job-state {job}")];
        assert!(text.contains(&format!("gshare: \"share-{share}\"")), "{text}");
        assert!(text.contains(&format!("priority: {share}")), "{text}");
    }
    // What changes while nobody is there is found at the next start, once.
    bus.comes(&mut fresh(&Limits::default()), &changed(45, 4));
    let before = bus.published.len();
    let mut intake = bus.restart();
    assert_eq!(bus.published.len(), before + 2);
    assert!(bus.finals()["job-state 2"].contains("share-4"));
    drop(bus.restart());
    assert_eq!(bus.published.len(), before + 2);
    // And on from there.
    assert_eq!(bus.comes(&mut intake, &changed(45, 5)), 2);
    assert_eq!(bus.comes(&mut intake, &Comes::Job(1, 45, Status::Finished, T0 + 9)), 1);
    assert_eq!(bus.comes(&mut intake, &changed(45, 6)), 1);
    assert!(bus.finals()["job-state 1"].contains("share-5"), "it ended with these");
}

#[test]
fn a_transaction_publishes_no_more_again_than_its_limit() {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    bus.comes(&mut intake, &changed(45, 1));
    for job in 1..=100 {
        bus.comes(&mut intake, &Comes::Job(job, 45, Status::Running, T0));
    }
    let Comes::Facts(task) = changed(45, 2) else { unreachable!() };
    let (mut bytes, mut words) = (Vec::new(), Records::default());
    record::write(&mut bytes, &task);
    bus.published.push((Topic::Task, b"45".to_vec(), bytes.clone()));
    intake.learn(Topic::Task, None, Some(&bytes), &mut words);
    assert_eq!((words.len(), intake.queued()), (0, 100));
    intake.publish_again(30, &mut words);
    assert_eq!((words.len(), intake.queued()), (30, 70));
    bus.keep(&words);
    // One of the others says something by itself: that is the saying.
    assert_eq!(bus.comes(&mut intake, &Comes::Job(100, 45, Status::Finished, T0 + 1)), 1);
    let (mut words, so_far) = (Records::default(), bus.clone());
    intake.publish_again(1_000, &mut words);
    assert_eq!((words.len(), intake.queued()), (69, 0));
    bus.keep(&words);
    let whole = contents(&bus);
    assert!(whole.iter().all(|text| text.contains("share-2")));
    // Killed half way, the next life says those that are left, and no other.
    let mut other = so_far;
    let before = other.published.len();
    other.restart();
    assert_eq!(other.published.len(), before + 69);
    assert_eq!(contents(&other), whole);
}

/// Its jobs would have the name, too, and would not be read either.
#[test]
fn a_task_that_the_engine_does_not_read_changes_no_job() {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    bus.comes(&mut intake, &changed(45, 1));
    bus.comes(&mut intake, &Comes::Job(1, 45, Status::Running, T0));
    for (bytes, queued) in [(1_025, 0), (1_024, 1)] {
        let Comes::Facts(task) = changed(45, 2) else { unreachable!() };
        let task = Task { gshare: "x".repeat(bytes), ..*task };
        let (mut written, mut words) = (Vec::new(), Records::default());
        record::write(&mut written, &task);
        intake.learn(Topic::Task, None, Some(&written), &mut words);
        assert_eq!((words.len(), intake.queued()), (0, queued), "{bytes}");
    }
}

#[test]
fn in_any_order_the_newest_facts_win_while_a_job_lives() {
    let jobs = &life(7, 45, T0)[1..4];
    let all = [jobs, &[changed(45, 1), changed(45, 2)]].concat();
    let wanted = contents(&play(&all));
    assert!(wanted[0].contains("share-2"), "{wanted:?}");
    for order in permutations(&all) {
        assert_eq!(contents(&play(&order)), wanted, "{order:?}");
        let mut bus = play(&order[..3]);
        let mut intake = bus.restart();
        for it in &order[3..] {
            bus.comes(&mut intake, it);
        }
        assert_eq!(contents(&bus), wanted, "with another life after three: {order:?}");
    }
}

#[test]
fn a_state_that_is_reached_again_is_the_newer_in_any_order() {
    use Status::{Activated, Holding, Running};
    let at = |status, second| Comes::Job(7, 45, status, T0 + second);
    let all =
        [at(Running, 10), at(Activated, 12), at(Running, 15), at(Holding, 20), at(Holding, 21)];
    for (count, part) in [(3, "changed_at: 1760000015000"), (5, "ended_at: 1760000021000")] {
        let wanted = contents(&play(&all[..count]));
        assert!(wanted[0].contains(part), "{wanted:?}");
        assert!(wanted[0].contains("started_at: 1760000015000"), "{wanted:?}");
        for order in permutations(&all[..count]) {
            assert_eq!(contents(&play(&order)), wanted, "{order:?}");
        }
    }
}

/// A table that is imported after intake began: its record is older or newer than what was published, and
/// knows what no message says.
#[test]
fn two_records_of_a_job_are_joined_at_the_next_start() {
    for second in [5, 500] {
        let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
        bus.comes(&mut intake, &Comes::Job(7, 45, Status::Starting, T0 + 9));
        bus.comes(&mut intake, &Comes::Job(7, 45, Status::Running, T0 + 10));
        let at = (T0 + second) * 1_000;
        let mut job = yard::job("7", "CERN", "", Status::Holding, at);
        (job.task, job.user, job.created_at) = ("45", "of-the-table", 777);
        job.revision = revision(job.status, Grades::sure([777, 0, 0]), OWN, false);
        let mut bytes = Vec::new();
        record::write(&mut bytes, &job);
        bus.published.push((Topic::JobState, b"7".to_vec(), bytes));
        let before = bus.published.len();
        drop(bus.restart());
        drop(bus.restart());
        assert_eq!(bus.published.len(), before + 1, "once, at the first start");
        let (codec, mut arena) = (yardmaster::wire::avro::Codec::default(), Default::default());
        let (topic, _, value) = bus.published.last().unwrap();
        let last = format!("{:?}", codec.read(*topic, None, Some(value), &mut arena));
        let status = if second == 500 { "Holding" } else { "Running" };
        for part in ["of-the-table", status, "created_at: 777,", "started_at: 1760000010000"] {
            assert!(last.contains(part), "{part} is not in {last}");
        }
    }
}

#[test]
fn a_history_that_does_not_reach_back_is_published_as_a_parameter() {
    let mut words = Records::default();
    let intake = Intake::new("atlas", Default::default(), &Limits::default());
    intake.note_history(1_760_000_000_123, &mut words);
    let published = events(&words);
    assert_eq!(published.len(), 1);
    let (topic, key, event) = &published[0];
    assert_eq!((*topic, key.as_str()), (Topic::Parameter, "yardmaster/intake/history_since/atlas"));
    for part in ["value: \"1760000000123\"", "changed_at: 1760000000123", "vo: \"atlas\""] {
        assert!(event.contains(part), "{part} is not in {event}");
    }
}
