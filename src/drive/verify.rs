//! Verifying: every decision and throttle of a cycle made again, and compared byte for byte.

use crate::core::cut::Topic;
use crate::core::event::Event;
use crate::core::output::progress::{ENGINE_REVISION, Progress};
use crate::core::unit::Millis;
use crate::drive::Drive;
use crate::drive::port::{Log, Store};
use crate::drive::said::{Said, Word};
use crate::wire::avro::{number_of, numbered};
use crate::wire::record::{write_decision, write_throttle};

/// Differences that are told in full; further ones are counted.
const DIFFERENCES_TOLD: usize = 20;

/// A word made again.
struct Made {
    bytes: Vec<u8>,
    text: String,
}

impl<L: Log, S: Store> Drive<L, S> {
    /// Makes every decision of a cycle again, in order, each after the recorded ones before it,
    /// then its throttles.
    pub(super) fn verify(&mut self, progress: &Progress, said: Vec<Said>) {
        let is_unread = self.is_unread || self.is_other_policy;
        // A repaired cycle is not counted at the time it was judged at.
        let is_repaired = self.repairs.covers(progress.number);
        if progress.engine != ENGINE_REVISION || is_unread || is_repaired {
            let count = said.len() as u64;
            self.report.verified[2] += count;
            self.report.unread += if is_unread { count } else { 0 };
            said.into_iter().for_each(|said| self.take_word(said));
            return self.engine.pass();
        }
        if progress.quiet {
            self.engine.pass();
        } else {
            self.engine.settle();
        }
        let is_throttle = |said: &Said| matches!(said.word, Word::Throttle(_));
        let (throttles, decisions): (Vec<Said>, Vec<Said>) =
            said.into_iter().partition(is_throttle);
        for said in decisions {
            let made = if progress.quiet { None } else { self.make_decision() };
            self.compare(&said, made);
            self.take_word(said);
        }
        while !progress.quiet
            && let Some(extra) = self.engine.next_decision()
        {
            self.count_difference(progress.now);
            let (number, subject) = (progress.number, &extra.subject);
            self.tell(format!("cycle {number}: {subject} would be answered too"));
        }
        self.verify_throttles(progress, throttles);
    }

    fn verify_throttles(&mut self, progress: &Progress, said: Vec<Said>) {
        let made = if progress.quiet { Vec::new() } else { self.engine.throttles() };
        let mut made = made.into_iter();
        for said in said {
            let made = made.next().map(|throttle| {
                let mut bytes = Vec::new();
                write_throttle(&mut bytes, &throttle);
                Made { bytes, text: format!("{throttle:?}") }
            });
            self.compare(&said, made);
            self.take_word(said);
        }
        for extra in made {
            self.count_difference(progress.now);
            let (number, action, name) = (progress.number, extra.action.name(), extra.name());
            self.tell(format!("cycle {number}: {action} of {name} would be said too"));
        }
    }

    fn make_decision(&mut self) -> Option<Made> {
        let made = self.engine.next_decision()?;
        let mut bytes = Vec::new();
        write_decision(&mut bytes, &made);
        Some(Made { bytes, text: format!("{made:?}") })
    }

    fn compare(&mut self, said: &Said, made: Option<Made>) {
        // Framing is no part of a word: the one it was said in is taken over.
        let bytes = made.as_ref().map(|made| match number_of(&said.bytes) {
            Some(id) => numbered(&made.bytes, id),
            None => made.bytes.clone(),
        });
        if bytes.as_ref() == Some(&said.bytes) {
            self.report.verified[0] += 1;
        } else {
            self.differs(said, made.map(|made| made.text));
        }
    }

    /// A difference is an error only if all was there to decide by: not where the log does not
    /// reach back, nor where compaction may have taken what was known at the time, nor after cycles
    /// that were counted by other terms than they were made under.
    fn count_difference(&mut self, now: Millis) {
        let is_compacted = |topic: &Topic| {
            let safe = self.compact_after[*topic as usize];
            safe.is_some_and(|safe| now + safe <= self.newest_now)
        };
        let is_partial = self.engine.state.known_since > 0 || self.was_unread || self.is_cut_off;
        let is_known = !is_partial && !self.gaps.iter().any(is_compacted);
        self.report.verified[if is_known { 1 } else { 2 }] += 1;
    }

    fn differs(&mut self, said: &Said, made: Option<String>) {
        let (_, cycle, now) = said.word.moment();
        self.count_difference(now);
        let (what, text) = match &said.word {
            Word::Decision(recorded) => {
                // Counting needed only part of it.
                let all = Some(said.bytes.as_slice());
                let text = match self.own.codec.read(Topic::Decision, None, all, &mut self.arena) {
                    Event::Decided(decision) => format!("{decision:?}"),
                    _ => format!("{recorded:?}"),
                };
                (format!("decision {} ({})", recorded.number, recorded.subject), text)
            }
            Word::Throttle(recorded) => {
                let what = format!("throttle {} ({})", recorded.number, recorded.name());
                (what, format!("{recorded:?}"))
            }
        };
        let made = made.unwrap_or_else(|| "nothing".to_owned());
        let same = text.bytes().zip(made.bytes()).take_while(|(one, other)| one == other).count();
        let around = |text: &str| {
            let start = (0..=same.saturating_sub(40)).rev().find(|at| text.is_char_boundary(*at));
            text[start.unwrap_or(0)..].chars().take(120).collect::<String>()
        };
        let (text, made) = (around(&text), around(&made));
        self.tell(format!("cycle {cycle} {what}: recorded ...{text} | made again ...{made}"));
    }

    fn tell(&mut self, difference: String) {
        if self.report.differences.len() < DIFFERENCES_TOLD {
            self.report.differences.push(difference);
        }
    }
}
