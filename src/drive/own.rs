//! Our own words, read back: the cycles there were, the decisions made and the throttles said in
//! each.

use crate::core::cut::{Cut, Lane, Topic};
use crate::core::decision::Decision;
use crate::core::progress::Progress;
use crate::core::throttle::Throttle;
use crate::core::unit::Millis;
use crate::drive::Halt;
use crate::drive::feed::{Feed, Run};
use crate::drive::port::LaneSpan;
use crate::wire::avro::{Codec, Writer};
use std::collections::{BTreeMap, VecDeque};

/// Cycles that are read ahead of those counted; the rest stays in the log.
const CYCLES_AHEAD: usize = 4_096;
/// Words likewise, unless a cycle waits for further ones.
const WORDS_AHEAD: usize = 4_096;

/// A word of ours as it was said.
pub(super) struct Said {
    pub word: Word,
    pub bytes: Vec<u8>,
}

/// What is counted like any fact.
pub(super) enum Word {
    Decision(Box<Decision>),
    Throttle(Box<Throttle>),
}

impl Word {
    /// Epoch, cycle and now it was said at.
    pub fn moment(&self) -> (u64, u64, Millis) {
        match self {
            Word::Decision(it) => (it.epoch, it.cycle, it.now),
            Word::Throttle(it) => (it.epoch, it.cycle, it.now),
        }
    }

    /// The number of the cycle it was said in.
    pub fn cycle(&self) -> u64 {
        self.moment().1
    }

    /// The order in which words are made: cycle by cycle, decisions before throttles, by number.
    fn order(&self) -> (u64, Topic, u32) {
        match self {
            Word::Decision(it) => (it.cycle, Topic::Decision, it.number),
            Word::Throttle(it) => (it.cycle, Topic::Throttle, it.number),
        }
    }
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
    /// Words by the cycle they were said in.
    pub said: BTreeMap<u64, Vec<Said>>,
    /// How many words are in `said`.
    words: usize,
    /// Per own lane: (cycle, offset after it) of what was read, oldest first. From these follows
    /// where the words of later cycles begin.
    trail: BTreeMap<Lane, VecDeque<(u64, u64)>>,
    bounds: BTreeMap<Lane, u64>,
    /// Number of the last cycle that is counted already.
    counted: u64,
    /// Whether nothing is counted yet: then older words count too.
    is_fresh: bool,
    /// Lanes of words with their ends at the start.
    ends: Vec<(Lane, u64)>,
    /// The newest cycle that was read, counted or not.
    pub newest: Option<Newest>,
    /// Unreadable inputs that cycles not counted yet name, since they were last taken.
    pub unreadable: Vec<(Lane, u64)>,
    /// Reads our own records, however long.
    pub codec: Codec,
}

/// What is known of the newest cycle read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Newest {
    pub epoch: u64,
    pub number: u64,
    pub now: Millis,
    pub instance: String,
    pub farewell: bool,
}

impl Own {
    pub fn new(spans: &[LaneSpan], cut: &Cut, counted: u64, is_fresh: bool) -> Own {
        let own = cut.0.iter().filter(|(lane, _)| lane.topic.is_own());
        let words = spans.iter().filter(|span| span.lane.topic.is_word());
        Own {
            cycles: VecDeque::new(),
            said: BTreeMap::new(),
            words: 0,
            trail: BTreeMap::new(),
            bounds: own.map(|(lane, next)| (*lane, *next)).collect(),
            counted,
            is_fresh,
            ends: words.map(|span| (span.lane, span.stable_end)).collect(),
            newest: None,
            unreadable: Vec::new(),
            codec: Codec::new(usize::MAX),
        }
    }

    /// Takes up what a registry's number stands for. What is wrong with it the drive says.
    pub fn learn(&mut self, writer: &Writer) {
        let _ = self.codec.learn_number(writer);
    }

    /// Reads what waits in own lanes, no further ahead than is good.
    pub fn read(&mut self, feed: &mut Feed, domain: &str) -> Result<(), Halt> {
        let lanes: Vec<Lane> = feed.lanes().filter(|lane| lane.topic.is_own()).collect();
        for lane in lanes {
            let most = match lane.topic {
                Topic::Progress => CYCLES_AHEAD.saturating_sub(self.cycles.len()),
                word if word.is_word() && self.is_wanting(lane) => usize::MAX,
                word if word.is_word() => WORDS_AHEAD.saturating_sub(self.words),
                _ => usize::MAX,
            };
            self.read_lane(feed, lane, most, domain)?;
        }
        Ok(())
    }

    /// Whether the next cycle cannot be counted for want of words, of this lane or of any.
    fn is_wanting(&self, lane: Lane) -> bool {
        let has_words = |cycle: &Cycle| self.words_of(cycle.progress.number) >= cycle.counted();
        self.is_fresh && !self.is_past_beginning(lane)
            || self.cycles.front().is_some_and(|cycle| !has_words(cycle))
    }

    /// Whether a lane was read past the cycle that a rebuild begins at: one speaker writes it,
    /// cycle after cycle, so nothing older comes after.
    fn is_past_beginning(&self, lane: Lane) -> bool {
        let newest = self.trail.get(&lane).and_then(|trail| trail.back());
        let begins = self.cycles.iter().find(|cycle| cycle.progress.full);
        match (newest, begins) {
            (Some((newest, _)), Some(begins)) => *newest > begins.progress.number,
            _ => false,
        }
    }

    /// How many words of a cycle were read.
    pub fn words_of(&self, number: u64) -> usize {
        self.said.get(&number).map_or(0, Vec::len)
    }

    /// Whether all words up to the cycle that a rebuild begins at were read. They are held
    /// until it is counted; those of later cycles come as they are counted.
    pub fn has_old_words(&self, feed: &Feed) -> bool {
        let is_read = |lane, end| feed.has(lane, end) && feed.waiting_in(lane) == 0;
        self.ends.iter().all(|(lane, end)| self.is_past_beginning(*lane) || is_read(*lane, *end))
    }

    fn read_lane(
        &mut self,
        feed: &mut Feed,
        lane: Lane,
        most: usize,
        domain: &str,
    ) -> Result<(), Halt> {
        let mut failed = None;
        let mut runs = Vec::new();
        feed.draw(lane, u64::MAX, most, &mut runs);
        for (batch, raw) in runs.iter().flat_map(Run::iter) {
            let Some(value) = batch.value(raw) else { continue };
            let done = match lane.topic {
                Topic::Progress => self.progress(domain, lane, raw.offset, raw.appended_at, value),
                Topic::Decision => self.decision(value).map(|word| {
                    self.note(domain, lane, raw.offset, word, value);
                }),
                Topic::Throttle => self.throttle(value).map(|word| {
                    self.note(domain, lane, raw.offset, word, value);
                }),
                // Nothing is rebuilt from the others: what was read need not be read again.
                _ => {
                    self.bounds.insert(lane, raw.offset + 1);
                    Ok(())
                }
            };
            if let Err(why) = done {
                failed.get_or_insert(format!(
                    "{lane} offset {}: {why}; it was written by another program or a newer \
                     version: give every domain partitions of its own, or use that version",
                    raw.offset
                ));
            }
        }
        failed.map_or(Ok(()), |failed| Err(Halt::Lost(failed)))
    }

    fn progress(
        &mut self,
        domain: &str,
        lane: Lane,
        offset: u64,
        appended_at: Millis,
        value: &[u8],
    ) -> Result<(), String> {
        let progress = self
            .codec
            .read_progress(value)
            .map_err(|why| format!("no progress record ({})", why.name()))?;
        if progress.domain != domain {
            return Ok(());
        }
        // A restart reads the last cycle it counted again: it tells who spoke last, and whether
        // that cycle was said at all.
        self.trail.entry(lane).or_default().push_back((progress.number, offset));
        self.newest = Some(Newest {
            epoch: progress.epoch,
            number: progress.number,
            now: progress.now,
            instance: progress.instance.clone(),
            farewell: progress.farewell,
        });
        if progress.number > self.counted {
            self.unreadable.extend(&progress.garbled);
            self.cycles.push_back(Cycle { progress, appended_at });
        }
        Ok(())
    }

    fn decision(&self, value: &[u8]) -> Result<Word, String> {
        let decision = self.codec.read_answer(value);
        let decision = decision.map_err(|why| format!("no decision ({})", why.name()))?;
        Ok(Word::Decision(Box::new(decision)))
    }

    fn throttle(&self, value: &[u8]) -> Result<Word, String> {
        let throttle = self.codec.read_throttle(value);
        let throttle = throttle.map_err(|why| format!("no throttle ({})", why.name()))?;
        Ok(Word::Throttle(Box::new(throttle)))
    }

    /// Keeps a word of this domain until it is counted.
    fn note(&mut self, domain: &str, lane: Lane, offset: u64, word: Word, value: &[u8]) {
        let theirs = match &word {
            Word::Decision(it) => &it.domain,
            Word::Throttle(it) => &it.domain,
        };
        if theirs != domain {
            return;
        }
        let cycle = word.cycle();
        self.trail.entry(lane).or_default().push_back((cycle, offset + 1));
        if cycle > self.counted || self.is_fresh {
            self.said.entry(cycle).or_default().push(Said { word, bytes: value.to_vec() });
            self.words += 1;
        }
    }

    /// Takes out all words up to a cycle, in order.
    pub fn take_said(&mut self, number: u64) -> Vec<Said> {
        let later = self.said.split_off(&number.saturating_add(1));
        let taken = std::mem::replace(&mut self.said, later);
        let mut taken: Vec<Said> = taken.into_values().flatten().collect();
        self.words -= taken.len();
        taken.sort_by_key(|said| said.word.order());
        taken
    }

    /// A cycle is counted: its words are not needed again.
    pub fn count(&mut self, number: u64) {
        self.counted = self.counted.max(number);
        self.is_fresh = false;
        self.take_said(number);
        self.shorten_trail(number);
        while self.cycles.front().is_some_and(|cycle| cycle.progress.number <= number) {
            self.cycles.pop_front();
        }
    }

    /// Where, at the earliest, the words of cycles after `number` begin, per own lane; in
    /// `progress` where the last of those counted is.
    pub fn bounds(&mut self, number: u64) -> Vec<(Lane, u64)> {
        self.shorten_trail(number);
        self.bounds.iter().map(|(lane, next)| (*lane, *next)).collect()
    }

    fn shorten_trail(&mut self, number: u64) {
        for (lane, trail) in &mut self.trail {
            while trail.front().is_some_and(|(cycle, _)| *cycle <= number) {
                if let Some((_, next)) = trail.pop_front() {
                    self.bounds.insert(*lane, next);
                }
            }
        }
    }
}

impl Cycle {
    /// How many words it counts.
    pub fn counted(&self) -> usize {
        let words = self.progress.outputs.iter().filter(|(it, _)| it.topic.is_word());
        words.map(|(_, records)| *records as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::decision::{DecisionId, Outcome};
    use crate::drive::port::Batch;
    use crate::wire::record::{write_decision, write_progress};

    const CYCLES: u64 = 3_000;
    const BEGINS: u64 = 100;
    const EACH: u64 = 10;
    const TAKEN: u64 = 500;
    const SAID: Lane = Lane::new(Topic::Progress, 0);
    const WORDS: Lane = Lane::new(Topic::Decision, 0);

    fn progress(number: u64) -> Vec<u8> {
        let full = number == BEGINS;
        let outputs = vec![(WORDS, EACH as u32)];
        let domain = "atlas".to_owned();
        let mut value = Vec::new();
        write_progress(
            &mut value,
            &Progress { domain, number, full, outputs, ..Default::default() },
        );
        value
    }

    fn decision(cycle: u64, number: u64) -> Vec<u8> {
        let text = String::new;
        let subject = format!("{cycle}/{number}");
        let decision = Decision {
            id: DecisionId::derive("atlas", &subject, 0, 1),
            domain: "atlas".to_owned(),
            subject,
            attempt: 0,
            task: text(),
            ordinal: 1,
            epoch: 1,
            cycle,
            number: number as u32,
            now: 0,
            policy: text(),
            policy_hash: text(),
            gshare: text(),
            nucleus: text(),
            outcome: Outcome::Defer { until: 0 },
            factor_names: vec![],
            counts: vec![],
            fates: vec![],
            full: true,
            fates_cut: 0,
            notes: vec![],
        };
        let mut value = Vec::new();
        write_decision(&mut value, &decision);
        value
    }

    /// Cycles before the first full cut are gone, all their decisions are not.
    #[test]
    fn a_rebuild_holds_the_decisions_from_before_it_begins_and_few_more() {
        let span = |lane, end| LaneSpan { lane, first: 0, stable_end: end, end };
        let spans = [span(SAID, CYCLES), span(WORDS, CYCLES * EACH)];
        let mut cut = Cut::default();
        spans.iter().for_each(|span| cut.advance(span.lane, 0));
        let (mut own, mut feed) = (Own::new(&spans, &cut, 0, true), Feed::new(&cut));
        let mut batch = Batch::default();
        for number in BEGINS..=CYCLES {
            batch.push(SAID, number, 0, None, Some(&progress(number)));
        }
        feed.pour(batch);
        let (mut most, mut counted, mut taken, mut next) = (0, 0, 0, BEGINS);
        for offset in (0..CYCLES * EACH).step_by(TAKEN as usize) {
            let mut batch = Batch::default();
            for at in offset..offset + TAKEN {
                batch.push(WORDS, at, 0, None, Some(&decision(at / EACH + 1, at % EACH)));
            }
            feed.pour(batch);
            own.read(&mut feed, "atlas").unwrap();
            most = most.max(own.words);
            while own.cycles.front().is_some_and(|cycle| own.words_of(next) == cycle.counted())
                && (counted > 0 || own.has_old_words(&feed))
            {
                taken += own.take_said(next).len() as u64;
                own.count(next);
                (counted, next) = (counted + 1, next + 1);
                own.read(&mut feed, "atlas").unwrap();
            }
        }
        assert_eq!((next, taken), (CYCLES + 1, CYCLES * EACH), "all were counted, none was lost");
        let bound = BEGINS * EACH + WORDS_AHEAD as u64 + TAKEN;
        assert!(most as u64 <= bound, "{most} decisions were held, {bound} are enough");
    }
}
