//! Decisions and throttles read back: which are outputs of a cycle, and which are strays.

use super::Own;
use crate::core::cut::Lane;
use crate::core::event::Garbled;
use crate::core::output::progress::Progress;
use crate::drive::feed::Feed;
use crate::drive::outputs::{choose, lists, output_hash};
use crate::drive::port::Raw;
use crate::drive::said::Said;
use crate::drive::stray::Stray;
use std::collections::{BTreeMap, BTreeSet};

impl Own {
    /// How many of the words that a cycle counts were read.
    pub fn found(&self, progress: &Progress, in_doubt: bool) -> usize {
        let said = self.said.get(&progress.number).map_or(&[][..], Vec::as_slice);
        if said.is_empty() {
            return 0;
        }
        choose(progress, said, in_doubt).len()
    }

    /// Whether all words up to the cycle that a rebuild begins at were read. They are held
    /// until it is counted; those of later cycles come as they are counted.
    pub fn has_old_words(&self, feed: &Feed) -> bool {
        let is_read = |lane, end| feed.has(lane, end) && feed.waiting_in(lane) == 0;
        self.ends.iter().all(|(lane, end)| self.past.contains(lane) || is_read(*lane, *end))
    }

    /// Takes up a record of a lane of outputs. A leader knows its own by their hashes and reads no
    /// more of them.
    pub(super) fn word(&mut self, domain: &str, raw: &Raw, value: Option<&[u8]>) {
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
        self.place(Said { lane, offset, hash, output, bytes });
    }

    /// Holds a word until its cycle is counted, unless it cannot be one of its outputs.
    fn place(&mut self, said: Said) {
        let Said { lane, offset, .. } = said;
        let cycle = said.output.cycle();
        let begins = self.begins();
        let is_ours = match self.unread {
            Some(_) => false,
            None if self.is_fresh => {
                begins.is_none_or(|begins| cycle > begins || !self.past.contains(&lane))
            }
            None => cycle > self.counted || self.is_read_again(lane, offset, cycle),
        };
        if !is_ours || !said.output.has_right_id() {
            return self.surplus(&said);
        }
        self.trail.entry(lane).or_default().push_back((cycle, offset + 1));
        if cycle > self.counted || self.is_fresh {
            self.said.entry(cycle).or_default().push(said);
            self.words += 1;
            if begins.is_some_and(|begins| cycle > begins) {
                self.note_past_of(cycle, begins);
            }
        }
    }

    /// Whether a word of a cycle that was counted before the start is read once more after it.
    fn is_read_again(&self, lane: Lane, offset: u64, cycle: u64) -> bool {
        let is_below = |(known, end): &(Lane, u64)| *known == lane && offset < *end;
        cycle <= self.loaded && self.ends.iter().any(is_below)
    }

    fn surplus(&mut self, said: &Said) {
        let cycle = said.output.cycle();
        let why = format!("no output of cycle {cycle}, which it claims, or a copy of one");
        self.stray(said.lane, said.offset, Stray::Surplus, &why);
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
        let (Some(cycle), Some(said)) = (cycle, self.said.get(&number)) else { return };
        if begins.is_some_and(|begins| number > begins) {
            let listed = said.iter().filter(|said| lists(&cycle.progress, said.hash));
            self.past.extend(listed.map(|said| said.lane));
        }
    }

    /// Takes out all words up to a cycle, in order; those that are none of its outputs are strays.
    pub fn take_outputs(&mut self, progress: &Progress, in_doubt: bool) -> Vec<Said> {
        let number = progress.number;
        let taken = self.take_said(number);
        let (old, of_cycle): (Vec<Said>, Vec<Said>) =
            taken.into_iter().partition(|said| said.output.cycle() < number);
        let chosen: BTreeSet<usize> = choose(progress, &of_cycle, in_doubt).into_iter().collect();
        let mut outputs = self.without_copies(old);
        for (at, said) in of_cycle.into_iter().enumerate() {
            match chosen.contains(&at) {
                true => outputs.push(said),
                false => self.surplus(&said),
            }
        }
        self.drop_later(number, &outputs);
        outputs.sort_by_key(|said| said.output.order());
        outputs
    }

    /// What was read before an output of a cycle cannot be of a later one.
    fn drop_later(&mut self, number: u64, outputs: &[Said]) {
        let mut lasts: BTreeMap<Lane, u64> = BTreeMap::new();
        for said in outputs.iter().filter(|said| said.output.cycle() == number) {
            let last = lasts.entry(said.lane).or_default();
            *last = said.offset.max(*last);
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
            let is_it = |it: &mut Said| (it.lane, it.offset) == (lane, offset);
            let said = self.said.get_mut(&claimed);
            if let Some(stray) = said.and_then(|said| said.extract_if(.., is_it).next()) {
                self.words -= 1;
                self.surplus(&stray);
            }
        }
    }

    /// Words whose cycles are gone from the log, each once.
    pub fn without_copies(&mut self, mut said: Vec<Said>) -> Vec<Said> {
        said.sort_by_key(|said| (said.output.order(), said.offset, said.lane));
        let mut kept: Vec<Said> = Vec::with_capacity(said.len());
        for said in said {
            match kept.last().is_some_and(|last| last.output.order() == said.output.order()) {
                true => self.surplus(&said),
                false => kept.push(said),
            }
        }
        kept
    }

    /// Takes out all words that claim a cycle up to this one, in order.
    pub fn take_said(&mut self, number: u64) -> Vec<Said> {
        let later = self.said.split_off(&number.saturating_add(1));
        let taken = std::mem::replace(&mut self.said, later);
        let mut taken: Vec<Said> = taken.into_values().flatten().collect();
        self.words -= taken.len();
        taken.sort_by_key(|said| said.output.order());
        taken
    }

    /// Passes over all words that are held: their cycles were never published.
    pub fn drop_said(&mut self) {
        self.take_said(u64::MAX).iter().for_each(|said| self.surplus(said));
        let claims = self.trail.iter_mut().filter(|(lane, _)| lane.topic.is_folded_output());
        for (cycle, _) in claims.flat_map(|(_, trail)| trail).filter(|it| it.0 > self.counted) {
            *cycle = 0;
        }
    }
}
