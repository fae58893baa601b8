//! Our own words, read back: the cycles there were and the decisions made in each.

use crate::core::cut::{Cut, Lane, Topic};
use crate::core::decision::Decision;
use crate::core::event::Event;
use crate::core::progress::Progress;
use crate::core::unit::Millis;
use crate::drive::Halt;
use crate::drive::feed::Feed;
use crate::wire::avro::{Arena, Codec};
use std::collections::{BTreeMap, VecDeque};

/// A decision as it was said.
pub(super) struct Said {
    pub decision: Decision,
    pub bytes: Vec<u8>,
}

/// A cycle as it was said.
pub(super) struct Cycle {
    pub progress: Progress,
    pub appended_at: Millis,
}

/// Our own words that are not counted yet.
pub(super) struct Own {
    /// Cycles in order of their numbers.
    pub cycles: VecDeque<Cycle>,
    /// Decisions by the cycle they were made in.
    pub said: BTreeMap<u64, Vec<Said>>,
    /// Per own lane: (cycle, offset after it) of what was read, oldest first. From these follows
    /// where the words of later cycles begin.
    trail: BTreeMap<Lane, VecDeque<(u64, u64)>>,
    bounds: BTreeMap<Lane, u64>,
    /// Number of the last cycle that is counted already.
    counted: u64,
    /// Whether nothing is counted yet: then older decisions count too.
    is_fresh: bool,
    /// The newest cycle that was read, counted or not.
    pub newest: Option<Newest>,
}

/// What is known of the newest cycle read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Newest {
    pub epoch: u64,
    pub number: u64,
    pub instance: String,
    pub farewell: bool,
}

impl Own {
    pub fn new(cut: &Cut, counted: u64, is_fresh: bool) -> Own {
        Own {
            cycles: VecDeque::new(),
            said: BTreeMap::new(),
            trail: BTreeMap::new(),
            bounds: cut
                .0
                .iter()
                .filter(|(lane, _)| lane.topic.is_own())
                .map(|(lane, next)| (*lane, *next))
                .collect(),
            counted,
            is_fresh,
            newest: None,
        }
    }

    /// Reads what waits in own lanes.
    pub fn read(&mut self, feed: &mut Feed, codec: &Codec, domain: &str) -> Result<(), Halt> {
        let lanes: Vec<Lane> = feed.lanes().filter(|lane| lane.topic.is_own()).collect();
        let mut failed = None;
        for lane in lanes {
            feed.draw(lane, u64::MAX, usize::MAX, |batch, records| {
                for raw in records {
                    let Some(value) = batch.value(raw) else { continue };
                    let done = match lane.topic {
                        Topic::Progress => {
                            self.progress(codec, domain, lane, raw.offset, raw.appended_at, value)
                        }
                        Topic::Decision => self.decision(codec, domain, lane, raw.offset, value),
                        _ => Ok(()),
                    };
                    if let Err(why) = done {
                        failed.get_or_insert(format!(
                            "{lane} offset {}: {why}; it was written by another program or a newer \
                             version: give every domain partitions of its own, or use that version",
                            raw.offset
                        ));
                    }
                }
            });
        }
        failed.map_or(Ok(()), |failed| Err(Halt::Lost(failed)))
    }

    fn progress(
        &mut self,
        codec: &Codec,
        domain: &str,
        lane: Lane,
        offset: u64,
        appended_at: Millis,
        value: &[u8],
    ) -> Result<(), String> {
        let progress = codec
            .read_progress(value)
            .map_err(|why| format!("no progress record ({})", why.name()))?;
        if progress.domain != domain {
            return Ok(());
        }
        self.trail(lane, progress.number, offset);
        self.newest = Some(Newest {
            epoch: progress.epoch,
            number: progress.number,
            instance: progress.instance.clone(),
            farewell: progress.farewell,
        });
        if progress.number > self.counted {
            self.cycles.push_back(Cycle { progress, appended_at });
        }
        Ok(())
    }

    fn decision(
        &mut self,
        codec: &Codec,
        domain: &str,
        lane: Lane,
        offset: u64,
        value: &[u8],
    ) -> Result<(), String> {
        let mut arena = Arena::default();
        let decision = match codec.read(Topic::Decision, None, Some(value), &mut arena) {
            Event::Decided(decision) => *decision,
            _ => return Err("no decision".to_owned()),
        };
        if decision.domain != domain {
            return Ok(());
        }
        self.trail(lane, decision.cycle, offset);
        if decision.cycle > self.counted || self.is_fresh {
            let said = Said { decision, bytes: value.to_vec() };
            self.said.entry(said.decision.cycle).or_default().push(said);
        }
        Ok(())
    }

    fn trail(&mut self, lane: Lane, cycle: u64, offset: u64) {
        self.trail.entry(lane).or_default().push_back((cycle, offset + 1));
    }

    /// A cycle is counted: its words are not needed again.
    pub fn count(&mut self, number: u64) {
        self.counted = self.counted.max(number);
        self.is_fresh = false;
        self.said = self.said.split_off(&(number + 1));
        while self.cycles.front().is_some_and(|cycle| cycle.progress.number <= number) {
            self.cycles.pop_front();
        }
    }

    /// Where, at the earliest, the words of cycles after `number` begin, per own lane.
    pub fn bounds(&mut self, number: u64) -> Vec<(Lane, u64)> {
        for (lane, trail) in &mut self.trail {
            while trail.front().is_some_and(|(cycle, _)| *cycle <= number) {
                if let Some((_, next)) = trail.pop_front() {
                    self.bounds.insert(*lane, next);
                }
            }
        }
        self.bounds.iter().map(|(lane, next)| (*lane, *next)).collect()
    }
}
