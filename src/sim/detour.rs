//! Faults of records between a grid and its log: pipelines die and come back, sites fall silent,
//! topics run late, clocks are wrong. Records on their way are kept here; none is lost.

use crate::dice::Dice;
use crate::grid::Record;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, Pilot};
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis};
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::record;

/// Something that goes wrong for a while.
#[derive(Clone, Debug)]
pub struct FaultPeriod {
    /// From when.
    pub from: Millis,
    /// Until when.
    pub until: Millis,
    /// The fault.
    pub what: Trouble,
}

/// Kind of a fault.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// Nothing of a topic arrives; at the end all of it at once, in any order.
    Dead(Topic),
    /// Everything of a topic arrives so much later; at the end what is on its way at once.
    Late(Topic, Millis),
    /// Nothing arrives of what jobs and pilots of these queues report; at the end all of it at
    /// once, in any order.
    Silent(BTreeSet<String>),
    /// The clocks of these queues are wrong by so much.
    Clock(BTreeSet<String>, Millis),
}

/// A week of faults, from a moment on: heartbeats die for three hours, a queue is silent for a day,
/// job states and then heartbeats are two hours late and flow, and the clocks of two queues are
/// wrong by minutes all the time.
pub fn week(start: Millis, queues: &BTreeSet<String>) -> Vec<FaultPeriod> {
    let name = |at: usize| queues.iter().nth(at % queues.len().max(1)).cloned();
    let one = |at: usize| name(at).into_iter().collect::<BTreeSet<String>>();
    let fault = |from: Millis, lasts: Millis, what| FaultPeriod {
        from: start + from,
        until: start + from + lasts,
        what,
    };
    vec![
        fault(DAY, 3 * HOUR, Trouble::Dead(Topic::Heartbeat)),
        fault(2 * DAY, DAY, Trouble::Silent(one(1))),
        fault(4 * DAY, 8 * HOUR, Trouble::Late(Topic::JobState, 2 * HOUR)),
        fault(5 * DAY, 6 * HOUR, Trouble::Late(Topic::Heartbeat, 2 * HOUR)),
        fault(0, 7 * DAY, Trouble::Clock(one(3), 4 * MINUTE)),
        fault(0, 7 * DAY, Trouble::Clock(one(5), -6 * MINUTE)),
    ]
}

/// When the links out of a site are blocked in that week: from and until, after its start.
pub const BLOCKED: (Millis, Millis) = (3 * DAY + 6 * HOUR, 3 * DAY + 18 * HOUR);

/// Faults between a grid and its log, and the records that they keep back.
pub struct Detour {
    faults: Vec<FaultPeriod>,
    /// Records that a fault keeps back, by its number.
    kept: BTreeMap<usize, Vec<Record>>,
    /// Queues of jobs, where a fault is about queues.
    queues: BTreeMap<Vec<u8>, String>,
    reads_queues: bool,
    codec: Codec,
    dice: Dice,
}

impl Detour {
    /// A way with these faults.
    pub fn new(seed: u64, faults: Vec<FaultPeriod>) -> Detour {
        let is_of_queues =
            |it: &FaultPeriod| matches!(it.what, Trouble::Silent(_) | Trouble::Clock(..));
        Detour {
            reads_queues: faults.iter().any(is_of_queues),
            faults,
            kept: BTreeMap::new(),
            queues: BTreeMap::new(),
            codec: Codec::default(),
            dice: Dice::new(seed, "detour"),
        }
    }

    /// Records that arrive at a moment, of these and of those that were on their way; stamped with
    /// the time of their arrival.
    pub fn pass(&mut self, records: Vec<Record>, now: Millis) -> Vec<Record> {
        let mut arrived = Vec::new();
        for at in 0..self.faults.len() {
            self.release(at, now, &mut arrived);
        }
        for record in records {
            let queue = if self.reads_queues { self.queue_of(&record) } else { None };
            let mut record = record;
            if let Some(queue) = &queue {
                record = self.with_wrong_clock(record, queue, now);
            }
            match self.faults.iter().position(|it| it.keeps(&record, queue.as_deref(), now)) {
                Some(at) => self.kept.entry(at).or_default().push(record),
                None => arrived.push(record),
            }
        }
        arrived.iter_mut().for_each(|record| record.at = now);
        arrived
    }

    /// Adds the records that a fault keeps no longer to those that arrived.
    fn release(&mut self, at: usize, now: Millis, arrived: &mut Vec<Record>) {
        let Some(kept) = self.kept.get_mut(&at) else { return };
        let FaultPeriod { until, what, .. } = &self.faults[at];
        match what {
            _ if now >= *until => {
                let mut kept = std::mem::take(kept);
                if !matches!(what, Trouble::Late(..)) {
                    for place in (1..kept.len()).rev() {
                        kept.swap(place, self.dice.below(place + 1));
                    }
                }
                arrived.append(&mut kept);
            }
            Trouble::Late(_, by) => {
                let due = kept.partition_point(|record| record.at + by <= now);
                arrived.extend(kept.drain(..due));
            }
            Trouble::Dead(_) | Trouble::Silent(_) | Trouble::Clock(..) => {}
        }
    }

    /// The queue that a report is about; `None` for records of other kinds.
    fn queue_of(&mut self, record: &Record) -> Option<String> {
        let mut arena = Arena::default();
        let (key, value) = (Some(&record.key[..]), record.value.as_deref());
        match record.topic {
            Topic::JobState => match self.codec.read(record.topic, key, value, &mut arena) {
                Event::JobState(job) => {
                    let queue = job.queue.to_owned();
                    if job.status.is_ended() {
                        self.queues.remove(&record.key);
                    } else {
                        self.queues.insert(record.key.clone(), queue.clone());
                    }
                    Some(queue)
                }
                _ => None,
            },
            Topic::Heartbeat => self.queues.get(&record.key).cloned(),
            Topic::Pilot => match self.codec.read(record.topic, key, value, &mut arena) {
                Event::Pilot(pilot) => Some(queue_of_pilot(&pilot).to_owned()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The record as a queue with a wrong clock writes it.
    fn with_wrong_clock(&mut self, record: Record, queue: &str, now: Millis) -> Record {
        let by = self.faults.iter().find_map(|it| match &it.what {
            Trouble::Clock(queues, by) if it.lasts(now) && queues.contains(queue) => Some(*by),
            _ => None,
        });
        let Some(by) = by else { return record };
        let mut arena = Arena::default();
        let (key, value) = (Some(&record.key[..]), record.value.as_deref());
        let mut out = Vec::new();
        match self.codec.read(record.topic, key, value, &mut arena) {
            Event::JobState(mut job) => {
                job.changed_at += by;
                record::write(&mut out, &job);
            }
            Event::Heartbeat(mut heartbeat) => {
                heartbeat.at += by;
                record::write(&mut out, &heartbeat);
            }
            _ => return record,
        }
        Record { value: Some(out), ..record }
    }
}

impl FaultPeriod {
    fn lasts(&self, now: Millis) -> bool {
        self.from <= now && now < self.until
    }

    /// Whether a record that is published now does not arrive now.
    fn keeps(&self, record: &Record, queue: Option<&str>, now: Millis) -> bool {
        self.lasts(now)
            && match &self.what {
                Trouble::Dead(topic) | Trouble::Late(topic, _) => record.topic == *topic,
                Trouble::Silent(queues) => queue.is_some_and(|queue| queues.contains(queue)),
                Trouble::Clock(..) => false,
            }
    }
}

/// The queue that a pilot's report is about.
fn queue_of_pilot<'a>(pilot: &Pilot<'a>) -> &'a str {
    match *pilot {
        Pilot::AskedJob { queue, .. }
        | Pilot::UpdatedJob { queue, .. }
        | Pilot::Nodes { queue, .. }
        | Pilot::Workers { queue, .. }
        | Pilot::Slots { queue, .. }
        | Pilot::SlotOffer { queue, .. }
        | Pilot::SlotWithdrawn { queue, .. } => queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::event::Heartbeat;

    fn heartbeat(at: Millis) -> Record {
        let mut value = Vec::new();
        let heartbeat = Heartbeat { job: "7", at, ..Heartbeat::default() };
        record::write(&mut value, &heartbeat);
        Record { topic: Topic::Heartbeat, key: b"7".to_vec(), value: Some(value), at }
    }

    fn fault(what: Trouble) -> Detour {
        Detour::new(1, vec![FaultPeriod { from: 100, until: 1_000, what }])
    }

    #[test]
    fn a_topic_that_is_dead_comes_back_all_at_once() {
        let mut detour = fault(Trouble::Dead(Topic::Heartbeat));
        assert_eq!(detour.pass(vec![heartbeat(50)], 50).len(), 1);
        assert_eq!(detour.pass((100..110).map(heartbeat).collect(), 200).len(), 0);
        let back = detour.pass(vec![heartbeat(1_000)], 1_000);
        assert_eq!(back.len(), 11);
        assert!(back.iter().all(|record| record.at == 1_000));
        assert_eq!(detour.pass(Vec::new(), 1_100).len(), 0);
    }

    #[test]
    fn a_topic_that_is_late_arrives_in_order_after_its_delay() {
        let mut detour = fault(Trouble::Late(Topic::Heartbeat, 300));
        assert_eq!(detour.pass(vec![heartbeat(150), heartbeat(250)], 250).len(), 0);
        assert_eq!(detour.pass(Vec::new(), 450).len(), 1);
        assert_eq!(detour.pass(vec![heartbeat(460)], 550).len(), 1);
        assert_eq!(detour.pass(Vec::new(), 1_000).len(), 1);
    }

    #[test]
    fn clocks_and_silence_are_those_of_the_queues_named() {
        let job = |queue: &str| {
            let job = yardmaster_core::event::JobState {
                job: "7",
                queue,
                changed_at: 200,
                ..Default::default()
            };
            let mut value = Vec::new();
            record::write(&mut value, &job);
            Record { topic: Topic::JobState, key: b"7".to_vec(), value: Some(value), at: 200 }
        };
        let here: BTreeSet<String> = [String::from("HERE")].into();
        let mut silent = fault(Trouble::Silent(here.clone()));
        assert_eq!(silent.pass(vec![job("HERE"), heartbeat(200)], 200).len(), 0);
        assert_eq!(silent.pass(vec![job("THERE"), heartbeat(300)], 300).len(), 2);
        let mut wrong = fault(Trouble::Clock(here, 60));
        let changed = wrong.pass(vec![job("HERE")], 200);
        let mut arena = Arena::default();
        let value = changed[0].value.as_deref();
        let read = wrong.codec.read(Topic::JobState, Some(b"7"), value, &mut arena);
        assert!(matches!(read, Event::JobState(ref it) if it.changed_at == 260), "{read:?}");
    }
}
