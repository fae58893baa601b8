//! Change messages of PanDA's tables: what each becomes, and that no order, repetition or restart
//! changes how it ends.

mod laws;
mod requests;
mod restored;
mod rows;
mod snapshots;
mod source;
mod tables;

use source::{Message, PARTITIONS, TOPIC};
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, era};
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, IntakeCounts, Noted, Origin, Reach, Records};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;

/// A topic of changes, what intake published of it, and the offsets that it committed.
pub struct Run {
    intake: Intake,
    limits: Limits,
    log: [Vec<Message>; PARTITIONS],
    next: [usize; PARTITIONS],
    committed: [usize; PARTITIONS],
    pub published: Vec<(Topic, Vec<u8>, Vec<u8>)>,
    pub counts: IntakeCounts,
    pub now: i64,
}

impl Run {
    pub fn new(messages: &[Message]) -> Run {
        Run::with(messages, Limits::default())
    }

    pub fn with(messages: &[Message], limits: Limits) -> Run {
        let mut log: [Vec<Message>; PARTITIONS] = std::array::from_fn(|_| Vec::new());
        for message in messages {
            log[message.partition].push(message.clone());
        }
        Run {
            intake: super::fresh(&limits),
            limits,
            log,
            next: [0; PARTITIONS],
            committed: [0; PARTITIONS],
            published: Vec::new(),
            counts: IntakeCounts::default(),
            now: 0,
        }
    }

    /// More is appended.
    pub fn append(&mut self, messages: &[Message]) {
        for message in messages {
            self.log[message.partition].push(message.clone());
        }
    }

    /// Reads the next message of a partition and publishes. Whether there was one.
    pub fn step(&mut self, partition: usize) -> bool {
        let Some(message) = self.log[partition].get(self.next[partition]) else { return false };
        let mut records = Records::default();
        let offset = self.next[partition] as u64;
        self.now = self.now.max(message.at);
        let (partition_number, appended_at) = (partition as u32, message.at);
        let origin = Origin { topic: TOPIC, partition: partition_number, offset, appended_at };
        let (key, value) = (message.key.as_bytes(), message.value.as_ref().map(String::as_bytes));
        self.intake.meet(Dialect::PandaCdc, origin, Some(key), value, &mut records);
        self.next[partition] += 1;
        self.commit(&records);
        true
    }

    /// All that is left, one partition after the other.
    pub fn read_all(&mut self) -> &mut Run {
        (0..PARTITIONS).for_each(|partition| while self.step(partition) {});
        self
    }

    /// Another writer's record comes on one of our own topics.
    pub fn learn(&mut self, topic: Topic, key: &str, value: &[u8]) {
        let mut records = Records::default();
        self.published.push((topic, key.as_bytes().to_vec(), value.to_vec()));
        self.intake.learn(topic, Some(key.as_bytes()), Some(value), &mut records);
        self.intake.publish_again(usize::MAX, &mut records);
        self.commit(&records);
    }

    /// So much time passes, and all that is settled is published.
    pub fn pass(&mut self, ms: i64) -> &mut Run {
        self.now += ms;
        let reach: Vec<Reach<'_>> = (0..PARTITIONS)
            .map(|partition| Reach {
                topic: TOPIC,
                partition: partition as u32,
                is_at_end: self.next[partition] == self.log[partition].len(),
            })
            .collect();
        let mut records = Records::default();
        if self.intake.is_unsettled() {
            self.intake.settle(self.now, &reach, &mut records);
        }
        self.commit(&records);
        self
    }

    /// As much time as it takes until everything counts as whole.
    pub fn settle(&mut self) -> &mut Run {
        let settle = self.limits.intake_settle_ms;
        self.pass(settle * 31).pass(settle * 31)
    }

    fn commit(&mut self, records: &Records) {
        let kept = records.iter().map(|it| (it.topic, it.key.to_vec(), it.value.to_vec()));
        self.published.extend(kept);
        self.counts.add(&self.intake.take_counts());
        for partition in 0..PARTITIONS {
            let held = self.intake.held(TOPIC, partition as u32).map(|at| at as usize);
            self.committed[partition] = held.unwrap_or(usize::MAX).min(self.next[partition]);
        }
    }

    /// Dies, and another life reads back what was published and goes on at the committed offsets.
    pub fn restart(&mut self) {
        let mut intake = Intake::new("atlas", BTreeMap::new(), &self.limits);
        let mut records = Records::default();
        for (topic, key, value) in &self.published {
            intake.learn(*topic, Some(key), Some(value), &mut records);
        }
        intake.caught_up();
        assert!(records.is_empty(), "nothing is published while reading back");
        intake.publish_again(usize::MAX, &mut records);
        self.intake = intake;
        self.next = self.committed;
        self.commit(&records);
    }

    pub fn committed(&self) -> [usize; PARTITIONS] {
        self.committed
    }

    pub fn noted(&self, noted: Noted) -> u64 {
        self.counts.noted(noted)
    }

    pub fn notices(&mut self) -> String {
        self.intake.take_notices().join("\n")
    }

    /// By key, the record that a fold of everything ends with, of jobs and of workers. Of a job it
    /// must be the last one, or compaction would keep another.
    pub fn finals(&self) -> BTreeMap<String, String> {
        let (codec, mut arena) = (Codec::default(), Arena::default());
        let (mut best, mut last) = (BTreeMap::new(), BTreeMap::new());
        for (topic, key, value) in &self.published {
            let event = codec.read(*topic, Some(key), Some(value), &mut arena);
            let text = format!("{event:?}");
            let order = match &event {
                Event::JobState(job) => (
                    (era(job.revision), job.attempt),
                    (job.status.is_ended(), job.changed_at, job.revision),
                ),
                Event::Pilot(pilot) if text.contains("Workers") => ((0, 0), (false, pilot.at(), 0)),
                Event::Task(task) => ((0, 0), (false, task.changed_at, 0)),
                _ => continue,
            };
            let key = format!("{} {}", topic.name(), String::from_utf8_lossy(key));
            let held = best.entry(key.clone()).or_insert((order, text.clone()));
            if order >= held.0 {
                *held = (order, text.clone());
            }
            last.insert(key, text);
        }
        for (key, last) in last {
            assert_eq!(best[&key].1, last, "{key}: the newest is not the last");
        }
        best.into_iter().map(|(key, (_, text))| (key, text)).collect()
    }

    /// The same of one job.
    pub fn job(&self, job: u64) -> String {
        self.finals().remove(&format!("job-state {job}")).unwrap_or_default()
    }

    /// How many records of a topic were published.
    pub fn count(&self, topic: Topic) -> usize {
        self.published.iter().filter(|it| it.0 == topic).count()
    }

    /// All records of a topic as text.
    pub fn texts(&self, topic: Topic) -> Vec<String> {
        let (codec, mut arena) = (Codec::default(), Arena::default());
        let of = self.published.iter().filter(|it| it.0 == topic);
        of.map(|(topic, key, value)| {
            format!("{:?}", codec.read(*topic, Some(key), Some(value), &mut arena))
        })
        .collect()
    }
}
