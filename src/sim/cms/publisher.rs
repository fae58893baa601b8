//! What the pool publishes: records as they go on the bus, some of them twice.

use crate::dice::Dice;
use crate::grid::Record;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configured, Grant, JobState, Outcome, Pilot, Site, Task, User};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// Part of the records that are published twice.
const REPEATED: f64 = 2.0 / 1_000.0;

/// See the module.
#[derive(Clone, Debug)]
pub struct Publisher {
    /// What was published and not yet taken.
    pub out: Vec<Record>,
    /// How many records were published so far.
    pub published: u64,
    /// Now.
    pub now: Millis,
    dice: Dice,
}

impl Publisher {
    /// One that has published nothing.
    pub fn new(seed: u64, now: Millis) -> Publisher {
        Publisher { out: Vec::new(), published: 0, now, dice: Dice::new(seed, "cms publisher") }
    }

    fn publish(&mut self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let mut value = Vec::with_capacity(160);
        write(&mut value);
        let key = key.as_bytes().to_vec();
        let record = Record { topic, key, value: Some(value), at: self.now };
        if self.dice.chance(REPEATED) {
            self.out.push(record.clone());
            self.published += 1;
        }
        self.out.push(record);
        self.published += 1;
    }

    /// A job's state.
    pub fn job(&mut self, job: &JobState<'_>) {
        self.publish(Topic::JobState, job.job, |value| record::write_job_state(value, job));
    }

    /// A workflow.
    pub fn task(&mut self, task: &Task) {
        self.publish(Topic::Task, &task.task, |value| record::write_task(value, task));
    }

    /// An offer, or that it is taken back; both have the offer's key.
    pub fn pilot(&mut self, pilot: &Pilot<'_>) {
        let key = match pilot {
            Pilot::SlotOffer { offer, .. } => offer.offer,
            Pilot::SlotWithdrawn { offer, .. } => offer,
            other => other.queue(),
        };
        self.publish(Topic::Pilot, key, |value| record::write_pilot(value, pilot));
    }

    /// What became of a command.
    pub fn outcome(&mut self, outcome: &Outcome) {
        let key = &outcome.subject;
        self.publish(Topic::Outcome, key, |value| record::write_outcome(value, outcome));
    }

    /// A site.
    pub fn site(&mut self, site: &Site) {
        self.publish(Topic::Site, &site.name, |value| record::write(value, site));
    }

    /// A user.
    pub fn user(&mut self, user: &User) {
        self.publish(Topic::User, &user.name(), |value| record::write(value, user));
    }

    /// A grant.
    pub fn grant(&mut self, grant: &Grant) {
        self.publish(Topic::Grant, &grant.name, |value| record::write(value, grant));
    }
}
