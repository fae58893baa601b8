//! What the grid publishes: records as they go on the bus, some of them as wrong as in life.

use super::Record;
use crate::dice::Dice;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Configured, Heartbeat, JobState, Link, Outcome, Parameter, Pilot, Queue, Release, Share, Site,
    Storage, Task, Transfer,
};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// Of a thousand job states, so many are published twice.
const REPEATED: f64 = 2.0 / 1_000.0;
/// Of a thousand heartbeats and job states, so many come with a clock that is hours ahead.
const AHEAD: f64 = 0.5 / 1_000.0;
/// How far a wrong clock is ahead; ms.
const AHEAD_MS: (i64, i64) = (10 * 60_000, 6 * 3_600_000);
/// Bytes of a usual record, so that its memory is taken at once.
const USUAL_BYTES: usize = 224;

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
        Publisher { out: Vec::new(), published: 0, now, dice: Dice::new(seed, "publisher") }
    }

    fn publish(&mut self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let mut value = Vec::with_capacity(USUAL_BYTES);
        write(&mut value);
        self.out.push(Record {
            topic,
            key: key.as_bytes().to_vec(),
            value: Some(value),
            at: self.now,
        });
        self.published += 1;
    }

    /// A job's state. Now and then with a clock that is ahead, or twice; an end never is wrong.
    /// Whether the clock was right.
    pub fn job(&mut self, job: &JobState<'_>) -> bool {
        let mut record = job.clone();
        let is_ahead = !job.status.is_ended() && self.dice.chance(AHEAD);
        if is_ahead {
            record.changed_at += self.dice.between(AHEAD_MS.0, AHEAD_MS.1);
        }
        let times = if self.dice.chance(REPEATED) { 2 } else { 1 };
        for _ in 0..times {
            self.publish(Topic::JobState, job.job, |value| record::write_job_state(value, &record));
        }
        !is_ahead
    }

    /// A sign of life. Now and then with a clock that is ahead.
    pub fn heartbeat(&mut self, heartbeat: &Heartbeat<'_>) {
        let mut record = *heartbeat;
        if self.dice.chance(AHEAD) {
            record.at += self.dice.between(AHEAD_MS.0, AHEAD_MS.1);
        }
        self.publish(Topic::Heartbeat, heartbeat.job, |value| {
            record::write_heartbeat(value, &record)
        });
    }

    /// A transfer's state.
    pub fn transfer(&mut self, transfer: &Transfer<'_>) {
        let key = transfer.request;
        self.publish(Topic::Transfer, key, |value| record::write_transfer(value, transfer));
    }

    /// A report of a pilot or harvester; keyed by queue, who reports, and node or resource type.
    pub fn pilot(&mut self, pilot: &Pilot<'_>) {
        let key = match *pilot {
            Pilot::AskedJob { queue, node, .. } => format!("{queue}/pilot/{node}"),
            Pilot::UpdatedJob { queue, node, .. } => format!("{queue}/job/{node}"),
            Pilot::Workers { queue, harvester, resource_type, .. } => {
                format!("{queue}/{harvester}/{resource_type}")
            }
            Pilot::Slots { queue, gshare, resource_type, .. } => {
                format!("{queue}/slots/{gshare}/{resource_type}")
            }
            Pilot::SlotOffer { offer, .. } => offer.offer.to_owned(),
            Pilot::SlotWithdrawn { offer, .. } => offer.to_owned(),
        };
        self.publish(Topic::Pilot, &key, |value| record::write_pilot(value, pilot));
    }

    /// A request, keyed by its task.
    pub fn task(&mut self, task: &Task) {
        self.publish(Topic::Task, &task.task, |value| record::write_task(value, task));
    }

    /// What became of a decision.
    pub fn outcome(&mut self, outcome: &Outcome) {
        let key = &outcome.subject;
        self.publish(Topic::Outcome, key, |value| record::write_outcome(value, outcome));
    }

    /// A queue's configuration.
    pub fn queue(&mut self, queue: &Queue) {
        self.publish(Topic::Queue, &queue.name, |value| record::write(value, queue));
    }

    /// A site.
    pub fn site(&mut self, site: &Site) {
        self.publish(Topic::Site, &site.name, |value| record::write(value, site));
    }

    /// A storage endpoint.
    pub fn storage(&mut self, storage: &Storage) {
        self.publish(Topic::Storage, &storage.name, |value| record::write(value, storage));
    }

    /// The software of a queue.
    pub fn release(&mut self, release: &Release) {
        let key = &release.queue;
        self.publish(Topic::Release, key, |value| record::write(value, release));
    }

    /// A global share.
    pub fn share(&mut self, share: &Share) {
        self.publish(Topic::Share, &share.name, |value| record::write(value, share));
    }

    /// A run-time parameter.
    pub fn parameter(&mut self, parameter: &Parameter) {
        let key = parameter.name();
        self.publish(Topic::Parameter, &key, |value| record::write(value, parameter));
    }

    /// A link's measurements.
    pub fn link(&mut self, link: &Link) {
        let key = link.name();
        self.publish(Topic::Link, &key, |value| record::write(value, link));
    }
}
