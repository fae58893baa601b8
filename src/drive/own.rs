//! Our own records, read back: the cycles there were, and the outputs of each.

mod outputs;

use crate::Halt;
use crate::feed::{Feed, Run};
use crate::outputs::counted;
use crate::port::{LaneSpan, Raw};
use crate::read_back::{Cycle, ReadOutput};
use crate::stray::{Stray, Strays};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::event::Garbled;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Codec, Writer};

/// Cycles that are read ahead of those counted; the rest stays in the log.
const CYCLES_AHEAD: usize = 4_096;
/// Outputs likewise, unless a cycle waits for further ones.
const OUTPUTS_AHEAD: usize = 4_096;

/// How many cycles that follow each other, and not the last one read, mean that some are lost. So
/// many from the first one read on are those of this domain: what is older than the last is a copy.
const APART_MAX: usize = 10;

/// Our own records that are not folded yet.
pub(super) struct Own {
    /// Cycles in order of their numbers.
    pub cycles: VecDeque<Cycle>,
    /// Outputs by the cycle they claim.
    published: BTreeMap<u64, Vec<ReadOutput>>,
    /// How many outputs are in `published`.
    published_count: usize,
    /// Per own lane: (cycle, offset after it) of what was read, oldest first. From these follows
    /// where the outputs of later cycles begin. A stray has cycle 0.
    trail: BTreeMap<Lane, VecDeque<(u64, u64)>>,
    bounds: BTreeMap<Lane, u64>,
    /// Number of the last cycle that is counted already.
    counted: u64,
    /// Number of the last cycle that was counted at the start. Outputs of those before may be read
    /// again, up to `ends`.
    loaded: u64,
    /// Whether nothing is counted yet: then older outputs count too.
    is_fresh: bool,
    /// While nothing is counted: lanes that were read past the cycle a rebuild begins at.
    past: BTreeSet<Lane>,
    /// Lanes of outputs with their ends at the start.
    ends: Vec<(Lane, u64)>,
    /// Of a leader: by hash of an output it published and has not read back, its cycle.
    unread: Option<BTreeMap<u64, u64>>,
    /// The newest cycle that was read, counted or not.
    pub newest: Option<Newest>,
    /// How many cycles were read that follow each other up to the newest one.
    chain: usize,
    /// Unreadable inputs that cycles not counted yet name, since they were last taken.
    pub unreadable: Vec<(Lane, u64)>,
    /// Cycles of this domain that do not follow the newest one but each other, with their offsets.
    apart: Vec<(u64, Cycle)>,
    pub strays: Strays,
    /// Reads our own records, however long.
    pub codec: Codec,
}

/// Identity of the newest cycle read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Newest {
    pub epoch: u64,
    pub number: u64,
    pub now: Millis,
    pub instance: String,
    pub policy_hash: String,
    pub farewell: bool,
}

impl Newest {
    pub fn of(progress: &Progress) -> Newest {
        Newest {
            epoch: progress.epoch,
            number: progress.number,
            now: progress.now,
            instance: progress.instance.clone(),
            policy_hash: progress.policy_hash.clone(),
            farewell: progress.farewell,
        }
    }

    /// Whether a cycle may be the one after this: the same leader's, or the first of an epoch.
    pub fn is_followed_by(&self, next: &Progress) -> bool {
        let is_same = (next.epoch, &next.instance) == (self.epoch, &self.instance);
        let opens = next.epoch > self.epoch && next.full && next.policies.is_some();
        next.number == self.number + 1 && (is_same || opens)
    }
}

impl Own {
    pub fn new(spans: &[LaneSpan], cut: &Cut, counted: u64, is_fresh: bool) -> Own {
        let own = cut.0.iter().filter(|(lane, _)| lane.topic.is_own());
        let outputs = spans.iter().filter(|span| span.lane.topic.is_folded_output());
        Own {
            cycles: VecDeque::new(),
            published: BTreeMap::new(),
            published_count: 0,
            trail: BTreeMap::new(),
            bounds: own.map(|(lane, next)| (*lane, *next)).collect(),
            counted,
            loaded: counted,
            is_fresh,
            past: BTreeSet::new(),
            ends: outputs.map(|span| (span.lane, span.stable_end)).collect(),
            unread: None,
            newest: None,
            chain: 0,
            unreadable: Vec::new(),
            apart: Vec::new(),
            strays: Strays::default(),
            codec: Codec::new(usize::MAX),
        }
    }

    /// Takes up what a registry's number stands for. What is wrong with it the drive reports.
    pub fn learn(&mut self, writer: &Writer) {
        let _ = self.codec.learn_number(writer);
    }

    /// Reads what waits in own lanes, no further ahead than the limits on what waits.
    pub fn read(&mut self, feed: &mut Feed, domain: &str) -> Result<(), Halt> {
        let lanes: Vec<Lane> = feed.lanes().filter(|lane| lane.topic.is_own()).collect();
        for lane in lanes {
            let most = match lane.topic {
                Topic::Progress => CYCLES_AHEAD.saturating_sub(self.cycles.len()),
                topic if topic.is_folded_output() && self.is_wanting(lane) => usize::MAX,
                topic if topic.is_folded_output() => {
                    OUTPUTS_AHEAD.saturating_sub(self.published_count)
                }
                _ => usize::MAX,
            };
            self.read_lane(feed, lane, most, domain)?;
        }
        Ok(())
    }

    /// Whether the next cycle cannot be counted for want of outputs, of this lane or of any.
    fn is_wanting(&self, lane: Lane) -> bool {
        let has_words =
            |cycle: &Cycle| self.found(&cycle.progress, false) >= counted(&cycle.progress);
        self.is_fresh && !self.past.contains(&lane)
            || self.cycles.front().is_some_and(|cycle| !has_words(cycle))
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
            let value = batch.value(raw);
            match lane.topic {
                Topic::Progress => {
                    let is_keyed = batch.key(raw) == Some(domain.as_bytes());
                    if let Err(why) = self.progress(domain, raw, is_keyed, value) {
                        failed.get_or_insert(why);
                    }
                }
                topic if topic.is_folded_output() => self.output(domain, raw, value),
                // Nothing is rebuilt from the others: what was read need not be read again.
                _ => {
                    self.bounds.insert(lane, raw.offset + 1);
                }
            }
        }
        failed.map_or(Ok(()), |failed| Err(Halt::Lost(failed)))
    }

    fn progress(
        &mut self,
        domain: &str,
        raw: &Raw,
        is_keyed: bool,
        value: Option<&[u8]>,
    ) -> Result<(), String> {
        let (lane, offset) = (raw.lane, raw.offset);
        let read =
            value.map_or(Err(Garbled::Null), |value| self.codec.read_record::<Progress>(value));
        let progress = match read {
            Ok(progress) if progress.domain != domain => return Ok(()),
            Ok(progress) => progress,
            // Passed over, a newer version that leads would seem to be silent.
            Err(Garbled::UnknownSchema) if is_keyed => {
                return Err(format!(
                    "{lane} offset {offset}: a progress record of {domain} in a schema that this \
                     version does not know: a newer version wrote it; use that version"
                ));
            }
            Err(why) => {
                let why = format!("no progress record ({})", why.name());
                self.strays.note(lane, offset, Stray::Unreadable, &why);
                return Ok(());
            }
        };
        if !self.goes_on(&progress) {
            return self.set_apart(raw, progress);
        }
        self.apart.clear();
        // A restart reads the last cycle it counted again: it shows which process led last, and
        // whether that cycle was published at all.
        self.trail.entry(lane).or_default().push_back((progress.number, offset));
        self.newest = Some(Newest::of(&progress));
        self.chain += 1;
        if progress.number > self.counted {
            self.unreadable.extend(&progress.garbled);
            self.cycles.push_back(Cycle { progress, appended_at: raw.appended_at });
            self.note_past();
        }
        Ok(())
    }

    /// Whether a cycle is the next one that this domain published. The reading begins at one of
    /// them: the last one counted, or one before it.
    fn goes_on(&self, progress: &Progress) -> bool {
        match &self.newest {
            Some(newest) => newest.is_followed_by(progress),
            None => true,
        }
    }

    /// Passes over a cycle that is not the next one. If a number of them follow each other, and
    /// none follows the last that was read, then it is not they that are wrong.
    fn set_apart(&mut self, raw: &Raw, progress: Progress) -> Result<(), String> {
        let Some(newest) = &self.newest else { return Ok(()) };
        let (number, last) = (progress.number, newest.number);
        let why = format!(
            "cycle {number} of epoch {} by {} does not follow cycle {last} of epoch {}",
            progress.epoch, progress.instance, newest.epoch
        );
        self.strays.note(raw.lane, raw.offset, Stray::Surplus, &why);
        if number <= last && self.is_settled() {
            return Ok(());
        }
        let newest = |(_, cycle): &(u64, Cycle)| Newest::of(&cycle.progress);
        if !self.apart.last().map(newest).is_some_and(|it| it.is_followed_by(&progress)) {
            self.apart.clear();
        }
        self.apart.push((raw.offset, Cycle { progress, appended_at: raw.appended_at }));
        match self.apart.len() {
            APART_MAX.. if !self.is_fresh => {
                Err(lost_cycles(self.apart[0].1.progress.number, last))
            }
            APART_MAX.. => {
                self.begin_apart(raw.lane);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether the cycles read so far are known to be those of this domain.
    fn is_settled(&self) -> bool {
        !self.is_fresh || self.chain >= APART_MAX
    }

    /// Nothing is counted yet, and what the lane began with is not what it goes on with.
    fn begin_apart(&mut self, lane: Lane) {
        self.cycles.clear();
        let trail = self.trail.entry(lane).or_default();
        trail.clear();
        self.chain = self.apart.len();
        for (offset, cycle) in std::mem::take(&mut self.apart) {
            trail.push_back((cycle.progress.number, offset));
            self.newest = Some(Newest::of(&cycle.progress));
            self.unreadable.extend(&cycle.progress.garbled);
            self.cycles.push_back(cycle);
        }
    }

    /// An error if the log goes on without the cycles that follow the last one read.
    pub fn check_apart(&self) -> Result<(), Halt> {
        match (self.apart.as_slice(), &self.newest) {
            // Older ones were read before the newest was known to be right: copies, too.
            ([(_, first), _, ..], Some(newest))
                if first.progress.number > newest.number || !self.is_settled() =>
            {
                Err(Halt::Lost(lost_cycles(first.progress.number, newest.number)))
            }
            _ => Ok(()),
        }
    }

    /// From now on this process publishes: outputs are known by their hashes.
    pub fn lead(&mut self) {
        self.unread = Some(BTreeMap::new());
    }

    /// Notes the hashes of the outputs that are about to be published in a cycle.
    pub fn publish(&mut self, number: u64, hashes: &[u64]) {
        if let Some(unread) = &mut self.unread {
            unread.extend(hashes.iter().map(|hash| (*hash, number)));
        }
    }

    /// No more is published: what follows is of another process.
    pub fn stop_leading(&mut self, number: u64) {
        self.unread = None;
        self.is_fresh = false;
        self.counted = self.counted.max(number);
        self.loaded = self.counted;
        self.ends.iter_mut().for_each(|(_, end)| *end = u64::MAX);
    }

    /// A cycle is counted: its outputs are not needed again.
    pub fn count(&mut self, number: u64) {
        self.counted = self.counted.max(number);
        self.is_fresh = false;
        self.shorten_trail(number);
        while self.cycles.front().is_some_and(|cycle| cycle.progress.number <= number) {
            self.cycles.pop_front();
        }
    }

    /// Where, at the earliest, the outputs of cycles after `number` begin, per own lane; in
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

/// Why what is known cannot go on: there are no cycles between two.
pub(super) fn lost_cycles(found: u64, last: u64) -> String {
    format!(
        "progress goes on with cycle {found} after cycle {last}: cycles between are lost, removed by \
         its retention or by compaction (`yardmaster topology check` shows whether its \
         cleanup.policy is delete, as it must be); delete the store to rebuild from the first full \
         cut that is left"
    )
}

#[cfg(test)]
mod tests;
