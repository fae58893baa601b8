//! Records that a simulated grid or pool publishes, as they go on the bus, some of them as wrong as
//! in life.

use crate::dice::Dice;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Configured, DecisionOutcome, Heartbeat, JobState, Pilot, Task, Transfer,
};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// Of a thousand records that may be published twice, so many are.
const REPEATED: f64 = 2.0 / 1_000.0;
/// Of a thousand heartbeats and job states, so many come with a clock that is hours ahead.
const AHEAD: f64 = 0.5 / 1_000.0;
/// How far a wrong clock is ahead; ms.
const AHEAD_MS: (i64, i64) = (10 * 60_000, 6 * 3_600_000);
/// Bytes of a usual record, so that its memory is taken at once.
const USUAL_BYTES: usize = 224;

/// A record as it goes on the bus: single-object Avro under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Topic.
    pub topic: Topic,
    /// Key: what keeps the records about one thing in one lane.
    pub key: Vec<u8>,
    /// Value.
    pub value: Option<Vec<u8>>,
    /// Simulated time at which it was published; never falls.
    pub at: Millis,
}

/// Which mistakes a publisher makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistakes {
    /// None.
    None,
    /// Any record may be published twice.
    Repeats,
    /// A job's state may be published twice; that, and a heartbeat, may state a time ahead.
    Clocks,
}

/// Makes records and collects them, with the mistakes of real publishers.
#[derive(Clone, Debug)]
pub struct Publisher {
    /// Records that were published and not yet taken.
    pub out: Vec<Record>,
    /// How many records were published so far.
    pub published: u64,
    /// Now.
    pub now: Millis,
    mistakes: Mistakes,
    dice: Dice,
}

impl Publisher {
    /// One that has published nothing; `name` is that of its dice.
    pub fn new(seed: u64, name: &str, now: Millis, mistakes: Mistakes) -> Publisher {
        Publisher { out: Vec::new(), published: 0, now, mistakes, dice: Dice::new(seed, name) }
    }

    /// A record of now.
    fn made(&self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) -> Record {
        let mut value = Vec::with_capacity(USUAL_BYTES);
        write(&mut value);
        Record { topic, key: key.as_bytes().to_vec(), value: Some(value), at: self.now }
    }

    /// A configuration record of now, not published yet.
    pub fn made_fact<T: Configured>(&self, fact: &T) -> Record {
        self.made(T::TOPIC, &fact.name(), |value| record::write(value, fact))
    }

    /// A job's state of now, not published yet.
    pub fn made_job(&self, job: &JobState<'_>) -> Record {
        self.made(Topic::JobState, job.job, |value| record::write(value, job))
    }

    /// Publishes a record, now.
    pub fn publish(&mut self, record: Record) {
        let record = Record { at: self.now, ..record };
        if self.mistakes == Mistakes::Repeats && self.dice.chance(REPEATED) {
            self.out.push(record.clone());
            self.published += 1;
        }
        self.out.push(record);
        self.published += 1;
    }

    /// A configuration record.
    pub fn fact<T: Configured>(&mut self, fact: &T) {
        self.publish(self.made_fact(fact));
    }

    /// A job's state; an end is never wrong. Whether the clock was right.
    pub fn job(&mut self, job: &JobState<'_>) -> bool {
        if self.mistakes != Mistakes::Clocks {
            self.publish(self.made_job(job));
            return true;
        }
        let mut record = job.clone();
        let is_ahead = !job.status.is_ended() && self.dice.chance(AHEAD);
        if is_ahead {
            record.changed_at += self.dice.between(AHEAD_MS.0, AHEAD_MS.1);
        }
        let times = if self.dice.chance(REPEATED) { 2 } else { 1 };
        for _ in 0..times {
            self.publish(self.made_job(&record));
        }
        !is_ahead
    }

    /// A sign of life.
    pub fn heartbeat(&mut self, heartbeat: &Heartbeat<'_>) {
        let mut record = *heartbeat;
        if self.mistakes == Mistakes::Clocks && self.dice.chance(AHEAD) {
            record.at += self.dice.between(AHEAD_MS.0, AHEAD_MS.1);
        }
        let write = |value: &mut Vec<u8>| record::write(value, &record);
        self.publish(self.made(Topic::Heartbeat, heartbeat.job, write));
    }

    /// A transfer's state.
    pub fn transfer(&mut self, transfer: &Transfer<'_>) {
        let write = |value: &mut Vec<u8>| record::write(value, transfer);
        self.publish(self.made(Topic::Transfer, transfer.request, write));
    }

    /// A report of a pilot or harvester.
    pub fn pilot(&mut self, pilot: &Pilot<'_>) {
        let write = |value: &mut Vec<u8>| record::write(value, pilot);
        self.publish(self.made(Topic::Pilot, &pilot.key(), write));
    }

    /// A request or a workflow, keyed by its task.
    pub fn task(&mut self, task: &Task) {
        let write = |value: &mut Vec<u8>| record::write(value, task);
        self.publish(self.made(Topic::Task, &task.task, write));
    }

    /// Publishes the outcome of a decision or command.
    pub fn outcome(&mut self, outcome: &DecisionOutcome) {
        let write = |value: &mut Vec<u8>| record::write(value, outcome);
        self.publish(self.made(Topic::Outcome, &outcome.subject, write));
    }
}
