//! Looks of intake at its sources now and then: whether they are as they were, and whether they can
//! be read on.

use super::{KafkaIntake, Source, missing};
use crate::kafka::extent;
use crate::kafka::queue::{self, Taken};
use crate::kafka::renewed::SILENT_MAX;
use crate::kafka::stall::{STUCK_MAX, Stand};
use crate::kafka::topics::Described;
use rdkafka::Offset;
use std::time::{Duration, Instant};
use yardmaster_drive::port::LogError;

/// How often it is looked whether the topics have changed, and how long one answer may take.
const COUNT: Duration = Duration::from_secs(10);
const COUNT_WAIT: Duration = Duration::from_secs(1);

impl KafkaIntake {
    /// Looks now and then whether the topics are there, as many partitions as are read, and how far
    /// they reach.
    pub(super) fn count(&mut self) -> Result<(), LogError> {
        if self.counted.elapsed() < COUNT {
            return Ok(());
        }
        self.counted = Instant::now();
        for Source { text, next, id, .. } in &self.sources {
            match extent::topic(&self.client, text, COUNT_WAIT, extent::DENIAL) {
                Ok(Some(now)) if id.is_some() && now.id.is_some() && now.id != *id => {
                    // A new life finds it by the offset, and names the remedy.
                    let why = format!("topic {text} was deleted and created again");
                    return Err(LogError::Aborted(why));
                }
                Ok(Some(Described { partitions: found, .. })) if found > next.len() => {
                    let known = next.len();
                    // A new life reads the new ones from their beginning.
                    return Err(LogError::Aborted(format!(
                        "topic {text} has {found} partitions, {known} are read"
                    )));
                }
                Ok(None) if next.is_empty() => self.silent = None,
                Ok(None) => return Err(missing(text)),
                Err(error @ LogError::Stop(_)) => return Err(error),
                Ok(Some(_)) => self.silent = None,
                Err(error) => {
                    let silent = self.silent.get_or_insert(Instant::now()).elapsed();
                    if silent >= SILENT_MAX {
                        // A client that has forgotten all brokers never finds them again.
                        let silent = silent.as_secs();
                        return Err(LogError::Unreachable(format!(
                            "no broker answered for {silent} s: {error}"
                        )));
                    }
                }
            }
        }
        let partitions = self.sources.iter().enumerate().flat_map(|(source, it)| {
            let each = it.next.keys();
            each.map(move |partition| ((source, *partition), it.text.as_str(), *partition))
        });
        let (asked, end) = (partitions.collect(), Offset::End);
        let ends = extent::partition_offsets(&self.client, asked, end, COUNT_WAIT);
        // Where there is no answer nothing counts as stuck.
        let ends = ends.unwrap_or_default().into_iter();
        self.ends = ends.filter_map(|(lane, end)| Some((lane, end.ok()?))).collect();
        Ok(())
    }

    /// Looks now and then whether the client is stuck. Another life has another one.
    pub(super) fn check(&mut self, taken: Taken) -> Result<(), LogError> {
        let now = Instant::now();
        if !self.stall.is_due(taken, now) {
            return Ok(());
        }
        let stands = self.sources.iter().enumerate().flat_map(|(source, it)| {
            let each = it.next.iter().map(move |(partition, next)| ((source, *partition), *next));
            each.map(|(lane, next)| Stand { lane, next, end: self.ends.get(&lane).copied() })
        });
        let read = stands.filter(|it| !self.stopped.contains(&it.lane));
        let Some((source, partition)) = self.stall.look(read, now) else { return Ok(()) };
        let (topic, seconds) = (&self.sources[*source].text, STUCK_MAX.as_secs());
        Err(LogError::Unreachable(format!("nothing of {topic}[{partition}] came for {seconds} s")))
    }

    /// Partitions read as far as they are committed, by topic and number, with more behind it: a
    /// transaction is open.
    pub fn blocked(&self) -> impl Iterator<Item = (&str, u32)> {
        self.sources.iter().flat_map(|source| {
            let is_blocked = |number: &&i32| {
                let high = queue::high(&self.client, &source.name, **number);
                high > source.next.get(*number).copied()
            };
            let blocked = source.ended.iter().filter(is_blocked);
            blocked.map(|number| (source.text.as_str(), *number as u32))
        })
    }
}
