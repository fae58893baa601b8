//! Decisions and throttles read back: which are outputs of a cycle, and which are strays.

use super::Own;
use crate::feed::Feed;
use crate::outputs::{choose, lists, output_hash};
use crate::port::Raw;
use crate::read_back::ReadOutput;
use crate::stray::Stray;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::Lane;
use yardmaster_core::event::Garbled;
use yardmaster_core::output::progress::Progress;

impl Own {
    /// How many of the outputs that a cycle counts were read.
    pub fn found(&self, progress: &Progress, in_doubt: bool) -> usize {
        let published = self.published.get(&progress.number).map_or(&[][..], Vec::as_slice);
        if published.is_empty() {
            return 0;
        }
        choose(progress, published, in_doubt).len()
    }

    /// Whether all outputs up to the cycle that a rebuild begins at were read. They wait
    /// until it is counted; those of later cycles come as they are counted.
    pub fn has_old_words(&self, feed: &Feed) -> bool {
        let is_read = |lane, end| feed.has(lane, end) && feed.waiting_in(lane) == 0;
        self.ends.iter().all(|(lane, end)| self.past.contains(lane) || is_read(*lane, *end))
    }

    /// Takes up a record of a lane of outputs. A leader knows its own by their hashes and reads no
    /// more of them.
    pub(super) fn output(&mut self, domain: &str, raw: &Raw, value: Option<&[u8]>) {
        let (lane, offset) = (raw.lane, raw.offset);
        let hash = value.map_or(0, output_hash);
        let published = self.unread.as_mut().and_then(|unread| unread.remove(&hash));
        if let (Some(cycle), Some(_)) = (published, value) {
            self.trail.entry(lane).or_default().push_back((cycle, offset + 1));
            return;
        }
        let read = match value {
            None => Err(Garbled::Null),
            Some(value) => self.codec.read_output(lane.topic, value),
        };
        let output = match read {
            Ok(output) => output,
            Err(why) => {
                let why = format!("no {} ({})", lane.topic.name(), why.name());
                return self.stray(lane, offset, Stray::Unreadable, &why);
            }
        };
        if output.domain() != domain {
            return;
        }
        let bytes = value.unwrap_or_default().to_vec();
        self.place(ReadOutput { lane, offset, hash, output, bytes });
    }

    /// Stores an output until its cycle is counted, unless it cannot be one of its outputs.
    fn place(&mut self, published: ReadOutput) {
        let ReadOutput { lane, offset, .. } = published;
        let cycle = published.output.cycle();
        let begins = self.begins();
        let is_ours = match self.unread {
            Some(_) => false,
            None if self.is_fresh => {
                begins.is_none_or(|begins| cycle > begins || !self.past.contains(&lane))
            }
            None => cycle > self.counted || self.is_read_again(lane, offset, cycle),
        };
        if !is_ours || !published.output.has_right_id() {
            return self.surplus(&published);
        }
        self.trail.entry(lane).or_default().push_back((cycle, offset + 1));
        if cycle > self.counted || self.is_fresh {
            self.published.entry(cycle).or_default().push(published);
            self.published_count += 1;
            if begins.is_some_and(|begins| cycle > begins) {
                self.note_past_of(cycle, begins);
            }
        }
    }

    /// Whether an output of a cycle that was counted before the start is read once more after it.
    fn is_read_again(&self, lane: Lane, offset: u64, cycle: u64) -> bool {
        let is_below = |(known, end): &(Lane, u64)| *known == lane && offset < *end;
        cycle <= self.loaded && self.ends.iter().any(is_below)
    }

    fn surplus(&mut self, published: &ReadOutput) {
        let cycle = published.output.cycle();
        let why = format!("no output of cycle {cycle}, which it claims, or a copy of one");
        self.stray(published.lane, published.offset, Stray::Surplus, &why);
    }

    /// Passes over a record; it need not be read again.
    fn stray(&mut self, lane: Lane, offset: u64, stray: Stray, why: &str) {
        self.strays.note(lane, offset, stray, why);
        let trail = self.trail.entry(lane).or_default();
        if trail.back().is_none_or(|(_, next)| *next <= offset) {
            trail.push_back((0, offset + 1));
        }
    }

    /// The number of the cycle that a rebuild begins at, while nothing is counted.
    fn begins(&self) -> Option<u64> {
        let begins = || self.cycles.iter().find(|cycle| cycle.progress.full);
        self.is_fresh.then(begins).flatten().map(|cycle| cycle.progress.number)
    }

    /// Notes lanes that have an output of the newest cycle: one leader writes them, cycle after
    /// cycle, so nothing older comes after.
    pub(super) fn note_past(&mut self) {
        if let (Some(newest), begins @ Some(_)) = (&self.newest, self.begins()) {
            self.note_past_of(newest.number, begins);
        }
    }

    fn note_past_of(&mut self, number: u64, begins: Option<u64>) {
        let Some(front) = self.cycles.front().map(|cycle| cycle.progress.number) else { return };
        let cycle = number.checked_sub(front).and_then(|at| self.cycles.get(at as usize));
        let (Some(cycle), Some(published)) = (cycle, self.published.get(&number)) else { return };
        if begins.is_some_and(|begins| number > begins) {
            let listed =
                published.iter().filter(|published| lists(&cycle.progress, published.hash));
            self.past.extend(listed.map(|published| published.lane));
        }
    }

    /// Takes out all outputs up to a cycle, in order; those that are none of its outputs are
    /// strays.
    pub fn take_outputs(&mut self, progress: &Progress, in_doubt: bool) -> Vec<ReadOutput> {
        let number = progress.number;
        let taken = self.take_outputs_until(number);
        let (old, of_cycle): (Vec<ReadOutput>, Vec<ReadOutput>) =
            taken.into_iter().partition(|published| published.output.cycle() < number);
        let chosen: BTreeSet<usize> = choose(progress, &of_cycle, in_doubt).into_iter().collect();
        let mut outputs = self.without_copies(old);
        for (at, published) in of_cycle.into_iter().enumerate() {
            match chosen.contains(&at) {
                true => outputs.push(published),
                false => self.surplus(&published),
            }
        }
        self.drop_later(number, &outputs);
        outputs.sort_by_key(|published| published.output.order());
        outputs
    }

    /// Drops outputs that were read before one of a cycle and claim a later cycle.
    fn drop_later(&mut self, number: u64, outputs: &[ReadOutput]) {
        let mut lasts: BTreeMap<Lane, u64> = BTreeMap::new();
        for published in outputs.iter().filter(|published| published.output.cycle() == number) {
            let last = lasts.entry(published.lane).or_default();
            *last = published.offset.max(*last);
        }
        let mut strays = Vec::new();
        for (lane, last) in lasts {
            let trail = self.trail.entry(lane).or_default().iter_mut();
            for (claimed, next) in trail.take_while(|(_, next)| *next <= last) {
                if *claimed > number {
                    strays.push((lane, *next - 1, std::mem::take(claimed)));
                }
            }
        }
        for (lane, offset, claimed) in strays {
            let is_it = |it: &mut ReadOutput| (it.lane, it.offset) == (lane, offset);
            let published = self.published.get_mut(&claimed);
            if let Some(stray) =
                published.and_then(|published| published.extract_if(.., is_it).next())
            {
                self.published_count -= 1;
                self.surplus(&stray);
            }
        }
    }

    /// Outputs whose cycles are gone from the log, each once.
    pub fn without_copies(&mut self, mut published: Vec<ReadOutput>) -> Vec<ReadOutput> {
        published
            .sort_by_key(|published| (published.output.order(), published.offset, published.lane));
        let mut kept: Vec<ReadOutput> = Vec::with_capacity(published.len());
        for published in published {
            match kept.last().is_some_and(|last| last.output.order() == published.output.order()) {
                true => self.surplus(&published),
                false => kept.push(published),
            }
        }
        kept
    }

    /// Takes out all outputs that claim a cycle up to this one, in order.
    pub fn take_outputs_until(&mut self, number: u64) -> Vec<ReadOutput> {
        let later = self.published.split_off(&number.saturating_add(1));
        let taken = std::mem::replace(&mut self.published, later);
        let mut taken: Vec<ReadOutput> = taken.into_values().flatten().collect();
        self.published_count -= taken.len();
        taken.sort_by_key(|published| published.output.order());
        taken
    }

    /// Passes over all outputs that wait: their cycles were never published.
    pub fn drop_published(&mut self) {
        self.take_outputs_until(u64::MAX).iter().for_each(|published| self.surplus(published));
        let claims = self.trail.iter_mut().filter(|(lane, _)| lane.topic.is_folded_output());
        for (cycle, _) in claims.flat_map(|(_, trail)| trail).filter(|it| it.0 > self.counted) {
            *cycle = 0;
        }
    }
}
