//! What the grid publishes: records as they go on the bus.

use crate::grid::Record;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configured, Queue, Site};
use yardmaster_core::event::{JobState, Outcome, Registration, Replica, Task, UserShare};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// See the module.
#[derive(Clone, Debug)]
pub struct Publisher {
    /// What was published and not yet taken.
    pub out: Vec<Record>,
    /// How many records were published so far.
    pub published: u64,
    /// Now.
    pub now: Millis,
}

impl Publisher {
    fn record(&self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) -> Record {
        let mut value = Vec::with_capacity(160);
        write(&mut value);
        Record { topic, key: key.as_bytes().to_vec(), value: Some(value), at: self.now }
    }

    /// Publishes a record, now.
    pub fn publish(&mut self, record: Record) {
        self.published += 1;
        self.out.push(Record { at: self.now, ..record });
    }

    /// A job's state.
    pub fn job(&self, job: &JobState<'_>) -> Record {
        self.record(Topic::JobState, job.job, |value| record::write_job_state(value, job))
    }

    /// A job that wants a target.
    pub fn task(&mut self, task: &Task) {
        let it = self.record(Topic::Task, &task.task, |value| record::write_task(value, task));
        self.publish(it);
    }

    /// What became of a decision.
    pub fn outcome(&mut self, outcome: &Outcome) {
        let key = &outcome.subject;
        let it = self.record(Topic::Outcome, key, |value| record::write_outcome(value, outcome));
        self.publish(it);
    }

    /// A registration.
    pub fn registration(&mut self, of: &Registration) {
        let it = self.record(Topic::Registration, &of.name(), |value| record::write(value, of));
        self.publish(it);
    }

    /// A cluster.
    pub fn site(&self, of: &Site) -> Record {
        self.record(Topic::Site, &of.name, |value| record::write(value, of))
    }

    /// A queue.
    pub fn queue(&self, of: &Queue) -> Record {
        self.record(Topic::Queue, &of.name, |value| record::write(value, of))
    }

    /// What is free for a user.
    pub fn user_share(&self, of: &UserShare) -> Record {
        self.record(Topic::UserShare, &of.name(), |value| record::write(value, of))
    }

    /// Where a file lies.
    pub fn replica(&self, of: &Replica) -> Record {
        self.record(Topic::Replica, &of.name(), |value| record::write(value, of))
    }
}
