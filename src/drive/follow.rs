//! Following: the cycles that were said, one by one, in order. The one way to recover, and exact.

use crate::core::close::Closing;
use crate::core::cut::Lane;
use crate::core::policy::Policy;
use crate::core::progress::{ENGINE_REVISION, Progress};
use crate::drive::fold::fold_batch;
use crate::drive::own::{Cycle, Said};
use crate::drive::port::{Log, Store};
use crate::drive::{Drive, Halt};
use crate::wire::record::write_decision;
use std::collections::BTreeSet;

/// Differences that are told in full; further ones are counted.
const DIFFERENCES_TOLD: usize = 20;

impl<L: Log, S: Store> Drive<L, S> {
    /// Counts every cycle whose records have all arrived. Returns how many.
    pub fn follow(&mut self) -> Result<u64, Halt> {
        self.follow_to(u64::MAX)
    }

    /// The same, but no cycle after the one of number `last`; nothing of those is folded either.
    /// For a look at the state as it was then.
    pub fn follow_to(&mut self, last: u64) -> Result<u64, Halt> {
        let mut counted = 0;
        while self.engine.state.number < last && self.follow_one()? {
            counted += 1;
            self.report.cycles += 1;
            let number = self.engine.state.number;
            let own = &mut self.own;
            let state = &mut self.engine.state;
            self.keeper.copy(state, &self.epoch_text, || own.bounds(number), false);
            self.keeper.confirm(number);
            self.keeper.hand_over(&mut self.store, false)?;
        }
        Ok(counted)
    }

    /// How many cycles were read and not counted yet.
    pub fn behind(&self) -> usize {
        self.own.cycles.len()
    }

    fn follow_one(&mut self) -> Result<bool, Halt> {
        let state = &self.engine.state;
        let Some(cycle) = self.own.cycles.front() else { return Ok(false) };
        let number = cycle.progress.number;
        if number <= state.number {
            self.own.count(state.number);
            return Ok(false);
        }
        let begins = state.number == 0;
        if begins && !cycle.progress.full {
            // Kept from the middle of the history on: a rebuild begins at a full cut.
            self.own.cycles.pop_front();
            return Ok(!self.own.cycles.is_empty() && self.follow_one()?);
        }
        if !begins && number != state.number + 1 {
            return Err(Halt::Lost(format!(
                "progress goes on with cycle {number} after cycle {}: cycles between are lost; \
                 delete the store to rebuild from the first full cut that is left",
                state.number
            )));
        }
        let progress = cycle.progress.clone();
        if !self.has_words(&progress) {
            return Ok(false);
        }
        if let Some(text) = &progress.policies {
            self.take_terms(text)?;
        }
        if !self.fold_to_cut(&progress) {
            return Ok(false);
        }
        let Some(cycle) = self.own.cycles.pop_front() else { return Ok(false) };
        self.close_as_said(cycle, begins)?;
        Ok(true)
    }

    /// Whether all decisions that a cycle counts were read.
    fn has_words(&self, progress: &Progress) -> bool {
        let counted = progress
            .outputs
            .iter()
            .filter(|(lane, _)| lane.topic == crate::core::cut::Topic::Decision)
            .map(|(_, records)| *records as usize)
            .sum::<usize>();
        self.own.said.get(&progress.number).map_or(0, Vec::len) >= counted
    }

    /// Folds what has arrived of a cycle's inputs; whether all of it has. Order within a cycle is
    /// nothing, so what arrives first is folded first.
    fn fold_to_cut(&mut self, progress: &Progress) -> bool {
        let garbled: BTreeSet<(Lane, u64)> = progress.garbled.iter().copied().collect();
        let began = (self.config.stopwatch)();
        let mut complete = true;
        for (lane, next) in &progress.lanes {
            if lane.topic.is_own() {
                continue;
            }
            self.fold_lane(*lane, *next, &garbled);
            complete &= self.feed.has(*lane, *next);
        }
        self.report.fold_ns += (self.config.stopwatch)() - began;
        complete
    }

    fn fold_lane(&mut self, lane: Lane, until: u64, garbled: &BTreeSet<(Lane, u64)>) {
        let Drive { feed, engine, codec, arena, report, .. } = self;
        let mut unreadable = Vec::new();
        let drawn = feed.draw(lane, until, usize::MAX, |batch, records| {
            if garbled.is_empty() {
                fold_batch(&mut engine.state, codec, arena, batch, records, &mut unreadable);
                return;
            }
            for raw in records {
                match garbled.contains(&(raw.lane, raw.offset)) {
                    true => engine.state.pass(raw.lane, raw.offset),
                    false => {
                        let one = std::slice::from_ref(raw);
                        fold_batch(&mut engine.state, codec, arena, batch, one, &mut unreadable);
                    }
                }
            }
        });
        // A cut may lie past the last record: what was there is compacted away.
        if feed.has(lane, until) {
            let held = engine.state.times.lanes.at(lane);
            held.next = held.next.max(until);
        }
        *report.events.entry(lane.topic).or_default() += drawn as u64;
    }

    fn close_as_said(&mut self, cycle: Cycle, begins: bool) -> Result<(), Halt> {
        let Cycle { progress, .. } = cycle;
        if begins && progress.number > 1 {
            self.engine.state.known_since = progress.now;
        }
        let closing = Closing {
            epoch: progress.epoch,
            number: progress.number,
            now: progress.now,
            flags: progress.flags.clone(),
        };
        self.engine.state.close(&closing);
        let later = self.own.said.split_off(&(progress.number + 1));
        let mut said: Vec<Said> =
            std::mem::replace(&mut self.own.said, later).into_values().flatten().collect();
        said.sort_by_key(|said| (said.decision.cycle, said.decision.number));
        if self.config.verify && !begins {
            self.verify(&progress, said);
        } else {
            for said in said {
                self.engine.said(&said.decision);
                self.report.decisions.push(said.decision);
            }
            self.engine.pass();
        }
        self.own.count(progress.number);
        Ok(())
    }

    /// Makes every decision of a cycle again, in order, each after the recorded ones before it.
    fn verify(&mut self, progress: &Progress, said: Vec<Said>) {
        if progress.engine != ENGINE_REVISION {
            self.report.verified[2] += said.len() as u64;
            said.iter().for_each(|said| self.engine.said(&said.decision));
            return self.engine.pass();
        }
        if progress.quiet {
            self.engine.pass();
        } else {
            self.engine.settle();
        }
        for said in said {
            let made = if progress.quiet { None } else { self.engine.next_decision() };
            let mut bytes = Vec::new();
            if let Some(made) = &made {
                write_decision(&mut bytes, made);
            }
            if bytes == said.bytes {
                self.report.verified[0] += 1;
            } else {
                self.differs(&said, made.as_ref().map(|made| format!("{made:?}")));
            }
            self.engine.said(&said.decision);
            self.report.decisions.push(said.decision);
        }
        if !progress.quiet {
            while let Some(extra) = self.engine.next_decision() {
                self.report.verified[1] += 1;
                self.tell(format!(
                    "cycle {}: {} would be answered too",
                    progress.number, extra.subject
                ));
                self.engine.said(&extra);
            }
        }
    }

    fn differs(&mut self, said: &Said, made: Option<String>) {
        self.report.verified[1] += 1;
        let recorded = &said.decision;
        let text = format!("{recorded:?}");
        let made = made.unwrap_or_else(|| "no decision".to_owned());
        let same = text.bytes().zip(made.bytes()).take_while(|(one, other)| one == other).count();
        let around = |text: &str| {
            let start = (0..=same.saturating_sub(40)).rev().find(|at| text.is_char_boundary(*at));
            text[start.unwrap_or(0)..].chars().take(120).collect::<String>()
        };
        self.tell(format!(
            "cycle {} decision {} ({}): recorded ...{} | made again ...{}",
            recorded.cycle,
            recorded.number,
            recorded.subject,
            around(&text),
            around(&made)
        ));
    }

    fn tell(&mut self, difference: String) {
        if self.report.differences.len() < DIFFERENCES_TOLD {
            self.report.differences.push(difference);
        }
    }

    /// The policies of the epoch the state is in.
    pub fn policies(&self) -> &[Policy] {
        self.engine.policies()
    }
}
