//! Which records of the topics of outputs count for a program that follows them: those that the
//! `progress` record of their cycle lists. Any other one is a copy or an invention, and is passed
//! over.

use crate::outputs::{listed_of, output_hash};
use crate::own::Newest;
use crate::stray::{Stray, Strays};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::Garbled;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::Codec;

/// Most hashes that are remembered until their outputs are read; the oldest go first.
pub const LISTED_MAX: usize = 200_000;
/// Most outputs that wait for the `progress` record of the cycle they claim.
const WAITING_MAX: usize = 100_000;
/// Most bytes of records of outputs that wait.
pub const WAITING_BYTES_MAX: usize = 64 << 20;
/// How many cycles that follow each other, and not the last one read, take its place.
const APART_MAX: usize = 10;

/// Where a record is.
pub type Place = (Lane, u64);

/// An output that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Where its record is.
    pub place: Place,
    /// The output.
    pub output: Output,
}

/// Follows `progress` and outputs, and gives out the outputs that count.
pub struct Listing {
    domain: String,
    /// Topics that are followed.
    topics: Vec<Topic>,
    newest: Option<Newest>,
    /// Cycles that do not follow the newest one but each other.
    apart: Vec<Progress>,
    /// Cycle, lane and hash of outputs that were listed and not read yet.
    listed: BTreeSet<(u64, Lane, u64)>,
    /// By the cycle they claim: outputs that were read before it.
    waiting: BTreeMap<u64, Vec<Waiting>>,
    waiting_count: usize,
    waiting_bytes: usize,
    /// The last cycle that has outputs and lists no hashes.
    unlisted: u64,
    strays: Strays,
    /// How many records were passed over.
    passed_over: u64,
}

struct Waiting {
    listed: Listed,
    hash: u64,
    /// Length of the record.
    bytes: usize,
}

impl Listing {
    /// Of some topics of a domain, with nothing read.
    pub fn new(domain: &str, topics: &[Topic]) -> Listing {
        Listing {
            domain: domain.to_owned(),
            topics: topics.to_vec(),
            newest: None,
            apart: Vec::new(),
            listed: BTreeSet::new(),
            waiting: BTreeMap::new(),
            waiting_count: 0,
            waiting_bytes: 0,
            unlisted: 0,
            strays: Strays::default(),
            passed_over: 0,
        }
    }

    /// The domain whose outputs are read.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The `now` of the newest cycle read; 0 if there is none.
    pub fn now(&self) -> Millis {
        self.newest.as_ref().map_or(0, |newest| newest.now)
    }

    /// The number of the newest cycle read; `None` if there is none.
    pub fn cycle(&self) -> Option<u64> {
        self.newest.as_ref().map(|newest| newest.number)
    }

    /// The oldest cycle that is to be read for the sake of an output that waits for it.
    pub fn oldest_wanted(&self) -> Option<u64> {
        self.waiting.keys().next().copied()
    }

    /// Bytes of the records of outputs that wait for their cycles.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// How many outputs were listed and not read yet.
    pub fn listed_count(&self) -> usize {
        self.listed.len()
    }

    /// How many records were passed over.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Takes up a record of a topic of outputs; gives the output if it is known to count. One that
    /// is not wanted is forgotten.
    pub fn output(
        &mut self,
        codec: &Codec,
        place: Place,
        value: Option<&[u8]>,
        wants: &dyn Fn(&Output) -> bool,
    ) -> Option<Listed> {
        let topic = place.0.topic;
        let read = value.map_or(Err(Garbled::Null), |it| codec.read_whole_output(topic, it));
        let output = match read {
            Ok(output) if output.domain() != self.domain => return None,
            Ok(output) if output.has_right_id() => output,
            Ok(_) => {
                self.stray(place, Stray::Surplus, "its id is not that of its content");
                return None;
            }
            Err(why) => {
                let why = format!("no {} ({})", topic.name(), why.name());
                self.stray(place, Stray::Unreadable, &why);
                return None;
            }
        };
        let (hash, bytes) = value.map_or((0, 0), |value| (output_hash(value), value.len()));
        let listed = Listed { place, output };
        self.listed_or_waiting(Waiting { listed, hash, bytes }, wants)
    }

    fn listed_or_waiting(
        &mut self,
        read: Waiting,
        wants: &dyn Fn(&Output) -> bool,
    ) -> Option<Listed> {
        let cycle = read.listed.output.cycle();
        let is_listed = self.listed.remove(&(cycle, read.listed.place.0, read.hash));
        if !wants(&read.listed.output) {
            return None;
        }
        if is_listed {
            return Some(read.listed);
        }
        if self.newest.as_ref().is_some_and(|newest| newest.number >= cycle) {
            self.surplus(&read);
            return None;
        }
        self.waiting_count += 1;
        self.waiting_bytes = self.waiting_bytes.saturating_add(read.bytes);
        self.waiting.entry(cycle).or_default().push(read);
        self.forget_farthest();
        None
    }

    /// While too many outputs wait, passes over those of the last cycles: an invention may claim
    /// one that never comes.
    fn forget_farthest(&mut self) {
        while self.waiting_count > WAITING_MAX || self.waiting_bytes > WAITING_BYTES_MAX {
            let Some(mut last) = self.waiting.last_entry() else { return };
            let farthest = last.get_mut().pop();
            if last.get().is_empty() {
                last.remove();
            }
            let Some(read) = farthest else { continue };
            self.waiting_count -= 1;
            self.waiting_bytes = self.waiting_bytes.saturating_sub(read.bytes);
            let why = format!(
                "more than {WAITING_MAX} outputs, or {WAITING_BYTES_MAX} bytes of them, wait for \
                 their cycles"
            );
            self.stray(read.listed.place, Stray::Surplus, &why);
        }
    }

    /// Takes up a record of topic `progress`; gives outputs that are now known to count.
    pub fn progress(&mut self, codec: &Codec, place: Place, value: Option<&[u8]>) -> Vec<Listed> {
        let read = value.map_or(Err(Garbled::Null), |value| codec.read_record::<Progress>(value));
        let progress = match read {
            Ok(progress) if progress.domain != self.domain => return Vec::new(),
            Ok(progress) => progress,
            Err(why) => {
                let why = format!("no progress record ({})", why.name());
                self.stray(place, Stray::Unreadable, &why);
                return Vec::new();
            }
        };
        if self.newest.as_ref().is_none_or(|newest| newest.is_followed_by(&progress)) {
            self.apart.clear();
            return self.take(&progress);
        }
        self.set_apart(place, progress)
    }

    /// Passes over a cycle that is not the next one. If a number of them follow each other, and
    /// none follows the last one read, they are those of this domain.
    fn set_apart(&mut self, place: Place, progress: Progress) -> Vec<Listed> {
        let number = progress.number;
        let why = format!("cycle {number} of epoch {} does not follow the last", progress.epoch);
        self.stray(place, Stray::Surplus, &why);
        if !self.apart.last().is_some_and(|last| Newest::of(last).is_followed_by(&progress)) {
            self.apart.clear();
        }
        self.apart.push(progress);
        if self.apart.len() < APART_MAX {
            return Vec::new();
        }
        let apart = std::mem::take(&mut self.apart);
        apart.iter().flat_map(|progress| self.take(progress)).collect()
    }

    /// A cycle that counts: what it lists counts, what only claims it does not.
    fn take(&mut self, progress: &Progress) -> Vec<Listed> {
        let number = progress.number;
        self.newest = Some(Newest::of(progress));
        for topic in &self.topics {
            match listed_of(progress, *topic) {
                Some(listed) => {
                    self.listed.extend(listed.into_iter().map(|(lane, hash)| (number, lane, hash)));
                }
                None => self.unlisted = number,
            }
        }
        while self.listed.len() > LISTED_MAX {
            self.listed.pop_first();
        }
        let later = self.waiting.split_off(&number.saturating_add(1));
        let due = std::mem::replace(&mut self.waiting, later);
        let mut counting = Vec::new();
        for read in due.into_values().flatten() {
            self.waiting_count -= 1;
            self.waiting_bytes = self.waiting_bytes.saturating_sub(read.bytes);
            let (cycle, lane) = (read.listed.output.cycle(), read.listed.place.0);
            match self.listed.remove(&(cycle, lane, read.hash)) {
                true => counting.push(read.listed),
                false => self.surplus(&read),
            }
        }
        counting
    }

    fn surplus(&mut self, read: &Waiting) {
        let Listed { place, output } = &read.listed;
        let (what, cycle) = (place.0.topic.name(), output.cycle());
        let what = format!("{what} about {}", output.title());
        let why = match cycle == self.unlisted {
            true => format!("{what}: cycle {cycle} has too many outputs to list them"),
            false => format!("{what}: not listed by the progress record of cycle {cycle}"),
        };
        self.stray(*place, Stray::Surplus, &why);
    }

    fn stray(&mut self, (lane, offset): Place, stray: Stray, why: &str) {
        self.passed_over += 1;
        self.strays.note(lane, offset, stray, why);
    }

    /// Notices on the records that were passed over since this was last called, for people: the
    /// first ones by name.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.strays.take().1
    }
}

#[cfg(test)]
mod tests;
