//! The join: whatever the order in which messages of jobs and facts of tasks come, are repeated, or
//! are interrupted by a restart, the records that win are the same.

use super::{ORIGIN, fresh};
use crate::drive::yard;
use proptest::prelude::*;
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{ChunkKind, Event, Status, Task, TaskPhase};
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, Records, Taken};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;
use yardmaster::wire::record;

/// A message that comes in.
#[derive(Clone, Debug)]
pub enum Comes {
    Job(u64, u64, Status, i64),
    Ends(u64, i64),
    Facts(Box<Task>),
}

pub fn facts(task: u64, attempt: u64) -> Comes {
    let name = task.to_string();
    Comes::Facts(Box::new(Task {
        subject: name.clone(),
        task: name,
        attempt,
        domain: "atlas".into(),
        user: format!("user-{task}"),
        gshare: "Express".into(),
        resource_type: "MCORE".into(),
        core_count: Some(8),
        priority: 700,
        ..yard::task("1", 2, 1_000)
    }))
}

/// The log of our own topics: what was published, in order, and the facts that others published.
#[derive(Clone, Default)]
pub struct Bus {
    pub published: Vec<(Topic, Vec<u8>, Vec<u8>)>,
}

impl Bus {
    pub fn keep(&mut self, words: &Records) {
        self.published
            .extend(words.iter().map(|it| (it.topic, it.key.to_vec(), it.value.to_vec())));
    }

    /// Lets something come; every record on our own topics is learnt.
    pub fn comes(&mut self, intake: &mut Intake, it: &Comes) -> usize {
        let mut words = Records::default();
        let json = match it {
            Comes::Job(job, task, status, at) => format!(
                "{{\"msg_type\": \"job_status\", \"jobid\": {job}, \"taskid\": {task}, \
                 \"status\": \"{}\", \"timestamp\": {at}, \"computingsite\": \"CERN\"}}",
                status.name()
            ),
            Comes::Ends(task, at) => format!(
                "{{\"msg_type\": \"task_status\", \"taskid\": {task}, \"status\": \"done\", \
                 \"timestamp\": {at}}}"
            ),
            Comes::Facts(task) => {
                let mut bytes = Vec::new();
                record::write(&mut bytes, task);
                self.published.push((Topic::Task, task.task.clone().into_bytes(), bytes.clone()));
                intake.learn(Topic::Task, None, Some(&bytes), &mut words);
                intake.publish_again(usize::MAX, &mut words);
                self.keep(&words);
                return words.len();
            }
        };
        intake.meet(Dialect::Panda, ORIGIN, None, Some(json.as_bytes()), &mut words);
        self.keep(&words);
        words.len()
    }

    /// A new start, from what was published.
    pub fn restart(&mut self) -> Intake {
        let mut intake = Intake::new("atlas", BTreeMap::new(), &Limits::default());
        let mut words = Records::default();
        for (topic, key, value) in &self.published {
            intake.learn(*topic, Some(key), Some(value), &mut words);
        }
        assert!(words.is_empty(), "nothing is published while reading back");
        intake.caught_up();
        intake.publish_again(usize::MAX, &mut words);
        self.keep(&words);
        intake
    }

    /// Per key, the record that a fold of everything ends with; and it must be the last one published,
    /// or compaction would keep another.
    pub fn finals(&self) -> BTreeMap<String, String> {
        let (codec, mut arena) = (Codec::default(), Arena::default());
        let mut best = BTreeMap::new();
        let mut last = BTreeMap::new();
        for (topic, key, value) in &self.published {
            let key = format!("{} {}", topic.name(), String::from_utf8_lossy(key));
            let event = codec.read(*topic, None, Some(value), &mut arena);
            let text = format!("{event:?}");
            let order = match &event {
                Event::JobState(job) => {
                    let over = job.status.is_ended();
                    (u64::from(job.attempt), over, job.changed_at, job.revision, job.status as u8)
                }
                Event::Task(task) => {
                    let over = task.phase == TaskPhase::Ended;
                    (task.attempt, over, task.changed_at, u64::from(task.revision), 0)
                }
                other => panic!("{other:?}"),
            };
            let held: &mut ((u64, bool, i64, u64, u8), String) =
                best.entry(key.clone()).or_insert((order, text.clone()));
            if (order, &text) > (held.0, &held.1) {
                *held = (order, text.clone());
            }
            if matches!(event, Event::JobState(_)) {
                last.insert(key, text);
            }
        }
        for (key, last) in last {
            assert_eq!(best[&key].1, last, "{key}: the newest is not the last");
        }
        best.into_iter().map(|(key, (_, text))| (key, text)).collect()
    }
}

pub fn life(job: u64, task: u64, at: i64) -> Vec<Comes> {
    use Status::{Activated, Defined, Finished, Pending, Running, Starting, Transferring};
    // Two states in one second, more than once.
    [
        (Pending, 0),
        (Defined, 0),
        (Activated, 3),
        (Starting, 9),
        (Running, 9),
        (Transferring, 50),
        (Finished, 50),
    ]
    .into_iter()
    .map(|(status, after)| Comes::Job(job, task, status, at + after))
    .collect()
}

fn play(comes: &[Comes]) -> Bus {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    for it in comes {
        bus.comes(&mut intake, it);
    }
    assert_eq!(intake.waiting(), 0, "the facts are there");
    bus
}

/// Every way to merge two logs.
fn merges(one: &[Comes], two: &[Comes]) -> Vec<Vec<Comes>> {
    match (one, two) {
        ([], rest) | (rest, []) => vec![rest.to_vec()],
        ([a, one_rest @ ..], [b, two_rest @ ..]) => {
            let with = |first: &Comes, rests: Vec<Vec<Comes>>| -> Vec<Vec<Comes>> {
                let first = std::slice::from_ref(first);
                rests.into_iter().map(|rest| [first, &rest].concat()).collect()
            };
            let mut all = with(a, merges(one_rest, two));
            all.extend(with(b, merges(one, two_rest)));
            all
        }
    }
}

#[test]
fn all_merges_of_jobs_and_their_task_end_with_the_same_records() {
    let tasks = [facts(45, 0), Comes::Ends(45, 1_760_000_100), facts(45, 1)];
    let jobs = life(7, 45, 1_760_000_000);
    let wanted = play(&[&jobs[..], &tasks].concat()).finals();
    assert_eq!(wanted.len(), 2, "{wanted:#?}");
    let job = &wanted["job-state 7"];
    for part in [
        "status: Finished",
        "user: \"user-45\"",
        "gshare: \"Express\"",
        "cores: 8",
        "priority: 700",
        "created_at: 1760000000000",
        "started_at: 1760000009000",
        "ended_at: 1760000050000",
    ] {
        assert!(job.contains(part), "{part} is not in {job}");
    }
    assert!(wanted["task 45"].contains("phase: Ended"), "{}", wanted["task 45"]);
    let merges = merges(&jobs, &tasks);
    assert_eq!(merges.len(), 120);
    for merge in merges {
        assert_eq!(play(&merge).finals(), wanted, "{merge:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Any order at all, with messages repeated and lives ended in between.
    #[test]
    fn any_order_repetition_and_restart_ends_with_the_same_records(
        order in proptest::collection::vec(any::<u32>(), 40),
        again in proptest::collection::vec(0usize..16, 0..8),
        restarts in proptest::collection::vec(0usize..24, 0..3),
    ) {
        let mut all = life(7, 45, 1_760_000_000);
        all.extend(life(8, 46, 1_760_000_030));
        let wanted = play(&[&[facts(45, 0), facts(46, 0)], &all[..]].concat()).finals();
        all.extend([facts(45, 0), facts(46, 0)]);
        all.extend(again.iter().map(|at| all[*at].clone()).collect::<Vec<_>>());
        let mut shuffled: Vec<(u32, Comes)> =
            order.iter().copied().cycle().zip(all).collect();
        shuffled.sort_by_key(|(at, _)| *at);
        let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
        for (at, (_, it)) in shuffled.iter().enumerate() {
            if restarts.contains(&at) {
                intake = bus.restart();
            }
            bus.comes(&mut intake, it);
        }
        prop_assert_eq!(bus.finals(), wanted);
        // Published once: another start, and everything once more, adds nothing.
        let published = bus.published.len();
        let mut intake = bus.restart();
        for (_, it) in shuffled.iter().filter(|(_, it)| !matches!(it, Comes::Facts(_))) {
            bus.comes(&mut intake, it);
        }
        prop_assert_eq!(bus.published.len(), published);
    }
}

#[test]
fn a_job_is_published_at_once_and_again_when_its_task_is_known() {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    let job = Comes::Job(7, 45, Status::Activated, 1_760_000_000);
    assert_eq!(bus.comes(&mut intake, &job), 1);
    assert_eq!(intake.waiting(), 1);
    let before = bus.finals();
    assert!(before["job-state 7"].contains("user: \"\""), "{before:?}");
    assert_eq!(bus.comes(&mut intake, &job), 0, "known before");
    // Not known across a restart either.
    let mut intake = bus.restart();
    assert_eq!((intake.waiting(), bus.published.len()), (1, 1));
    assert_eq!(bus.comes(&mut intake, &facts(45, 0)), 1);
    assert!(bus.finals()["job-state 7"].contains("user: \"user-45\""));
    assert_eq!((intake.waiting(), intake.jobs()), (0, 1));
    let counts = intake.take_counts();
    assert_eq!(counts.of(Dialect::Panda, Taken::Published), 0, "of this life");
    // Facts that came while nobody was there are found at the next start.
    let mut intake = bus.restart();
    bus.comes(&mut intake, &Comes::Job(8, 46, Status::Running, 1_760_000_000));
    let mut nobody = fresh(&Limits::default());
    bus.comes(&mut nobody, &facts(46, 0));
    bus.restart();
    assert!(bus.finals()["job-state 8"].contains("user: \"user-46\""));
}

#[test]
fn a_jobs_own_facts_outlive_those_of_its_task() {
    let (mut bus, mut intake) = (Bus::default(), fresh(&Limits::default()));
    let at = 1_760_000_000_000;
    let mut job = yard::job("7", "CERN", "", Status::Running, at);
    (job.task, job.user, job.cores, job.started_at) = ("45", "of-the-table", 4, at - 5_000);
    let mut bytes = Vec::new();
    record::write(&mut bytes, &job);
    bus.published.push((Topic::JobState, b"7".to_vec(), bytes));
    bus.comes(&mut intake, &facts(45, 0));
    let mut intake = bus.restart();
    bus.comes(&mut intake, &Comes::Job(7, 45, Status::Finished, 1_760_000_100));
    let last = &bus.finals()["job-state 7"];
    for part in ["of-the-table", "cores: 4", "Finished", "started_at: 1759999995000"] {
        assert!(last.contains(part), "{part} is not in {last}");
    }
}

#[test]
fn merge_chunks_stand_for_a_task_only_while_nothing_else_does() {
    let chunk = |kind, cores, at| {
        let Comes::Facts(task) = facts(45, 0) else { unreachable!() };
        let subject = format!("45/{cores}");
        Comes::Facts(Box::new(Task {
            subject,
            chunk: kind,
            core_count: Some(cores),
            changed_at: at,
            ..*task
        }))
    };
    for chunks in [
        [chunk(ChunkKind::Normal, 8, 1), chunk(ChunkKind::Merge, 1, 2)],
        [chunk(ChunkKind::Merge, 1, 2), chunk(ChunkKind::Normal, 8, 1)],
    ] {
        let job = [Comes::Job(7, 45, Status::Running, 1_760_000_000)];
        let last = play(&[&chunks[..], &job].concat()).finals()["job-state 7"].clone();
        assert!(last.contains("cores: 8"), "{last}");
    }
}

#[test]
fn memory_is_bounded_and_what_hits_the_bound_is_counted() {
    let limits = Limits { intake_jobs_max: 1_000, intake_waiting_max: 300, ..Limits::default() };
    let (mut bus, mut intake) = (Bus::default(), fresh(&limits));
    for job in 1..=900 {
        bus.comes(&mut intake, &Comes::Job(job, 45, Status::Running, 1_760_000_000));
    }
    assert_eq!((intake.jobs(), intake.waiting()), (900, 300));
    assert_eq!(intake.take_counts().dropped, 600);
    bus.comes(&mut intake, &facts(45, 0));
    assert_eq!(intake.waiting(), 0);
    // One that could not wait is published with more facts at its next report.
    bus.comes(&mut intake, &Comes::Job(900, 45, Status::Finished, 1_760_000_100));
    assert!(bus.finals()["job-state 900"].contains("user: \"user-45\""));
    // Those that are over go first, and silently.
    for job in 901..=1_002 {
        bus.comes(&mut intake, &Comes::Job(job, 45, Status::Running, 1_760_000_000));
    }
    assert_eq!(intake.jobs(), 1_000);
    assert_eq!(intake.take_counts().dropped, 1);
}
