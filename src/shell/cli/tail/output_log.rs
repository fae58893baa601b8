//! The log as a follower of outputs reads it: those that count, as lines, in order.

use super::sorter::Sorter;
use crate::cli::outputs::{SILENCE_MAX, TAIL, cycles_from, read_to_end, silent};
use crate::ports::AnyLog;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::unit::Millis;
use yardmaster_drive::listing::{LISTED_MAX, Listed, Listing};
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Raw};
use yardmaster_wire::avro::Codec;

/// Most records of one look.
const LOOK_RECORDS: usize = 1_000;
/// Outputs wait for their cycles; so many bytes of them are enough, and their lanes are paused
/// until `progress` was read further.
const WAITING_BYTES: usize = 8 << 20;
/// Records of a lane that are looked at to find the oldest cycle that is needed: an invention may
/// be among them.
const FIRST_RECORDS: usize = 16;

/// Whether an output that the log stamped at a moment is shown.
pub(super) type Wants<'a> = &'a dyn Fn(&Output, Millis) -> bool;

/// Selection and layout of the outputs that are shown.
pub(super) struct ShownOutputs<'a> {
    /// The outputs that are shown.
    pub wants: Wants<'a>,
    /// Its line.
    pub line: &'a dyn Fn(&Listed) -> String,
}

/// When an output was made, as it claims, and where it lies.
type Made = ((u64, Topic, u32), Lane, u64);

/// Reads the outputs of a log that count, and gives their lines in order.
pub(super) struct OutputLog {
    log: AnyLog,
    codec: Codec,
    domain: String,
    topics: Vec<Topic>,
    listing: Listing,
    sorter: Sorter,
    batch: Batch,
    /// How far the lanes reached at the start.
    spans: Vec<LaneSpan>,
    lanes: BTreeMap<Lane, Reach>,
    last_news: Instant,
    /// Whether lanes of outputs are paused, and whether that of `progress` is.
    paused: (bool, bool),
}

/// How far a lane was read.
struct Reach {
    next: u64,
    at_end: bool,
    /// Cycle of the last output that was read.
    cycle: u64,
}

impl OutputLog {
    /// Asks a log how far topics of outputs reach, and `progress`.
    pub fn open(mut log: AnyLog, domain: &str, topics: &[Topic]) -> Result<OutputLog, LogError> {
        let mut spans = log.lanes()?;
        let is_read = |topic: Topic| topics.contains(&topic) || topic == Topic::Progress;
        spans.retain(|span| is_read(span.lane.topic));
        Ok(OutputLog {
            log,
            codec: Codec::new(usize::MAX),
            domain: domain.to_owned(),
            topics: topics.to_vec(),
            listing: Listing::new(domain, topics),
            sorter: Sorter::default(),
            batch: Batch::default(),
            spans,
            lanes: BTreeMap::new(),
            last_news: Instant::now(),
            paused: (false, false),
        })
    }

    fn outputs(&self) -> impl Iterator<Item = &LaneSpan> {
        self.spans.iter().filter(|span| span.lane.topic != Topic::Progress)
    }

    /// Whether the last `most` offsets of each lane of outputs are all there is.
    fn is_all(&self, most: u64) -> bool {
        self.outputs().all(|span| span.stable_end.saturating_sub(most) <= span.first)
    }

    /// Begins to read where the last `count` outputs that are wanted seem to begin, among the last
    /// `most` offsets of each lane; gives whether there are no more that could be.
    pub fn begin_last(
        &mut self,
        most: u64,
        count: usize,
        wants: Wants<'_>,
    ) -> Result<bool, LogError> {
        let last = self.last(most, count, wants)?;
        let mut from: BTreeMap<Lane, u64> =
            self.outputs().map(|span| (span.lane, span.stable_end)).collect();
        for (_, lane, offset) in &last {
            from.entry(*lane).and_modify(|first| *first = (*offset).min(*first));
        }
        self.begin(from, last.first().map(|((cycle, ..), ..)| *cycle))?;
        Ok(self.is_all(most) && last.len() < count)
    }

    /// The last wanted outputs in the order in which they claim to be made, as far as that can be.
    fn last(
        &mut self,
        most: u64,
        count: usize,
        wants: Wants<'_>,
    ) -> Result<BTreeSet<Made>, LogError> {
        let mut last = BTreeSet::new();
        if count == 0 {
            return Ok(last);
        }
        let newest = self.newest_cycle()?;
        let spans: Vec<LaneSpan> = self.outputs().copied().collect();
        let from = |span: &LaneSpan| span.stable_end.saturating_sub(most).max(span.first);
        let (codec, domain) = (&mut self.codec, &self.domain);
        read_to_end(&mut self.log, &spans, from, codec, &mut |codec, batch, raw| {
            let read = batch.value(raw).map(|value| codec.read_output(raw.lane.topic, value));
            let ours = |it: &Output| it.domain() == domain && it.cycle() <= newest;
            let output = read.and_then(Result::ok).filter(ours);
            if let Some(output) = output.filter(|it| wants(it, raw.appended_at)) {
                last.insert((output.order(), raw.lane, raw.offset));
            }
            while last.len() > count {
                last.pop_first();
            }
            true
        })?;
        Ok(last)
    }

    /// The highest number of a cycle among the last ones; no bound where there is none.
    fn newest_cycle(&mut self) -> Result<u64, LogError> {
        let mut newest = None;
        let cycles: Vec<LaneSpan> =
            self.spans.iter().filter(|it| it.lane.topic == Topic::Progress).copied().collect();
        let from = |span: &LaneSpan| span.stable_end.saturating_sub(TAIL).max(span.first);
        let (codec, domain) = (&mut self.codec, &self.domain);
        read_to_end(&mut self.log, &cycles, from, codec, &mut |codec, batch, raw| {
            let progress =
                batch.value(raw).and_then(|value| codec.read_record::<Progress>(value).ok());
            let ours = progress.filter(|it| it.domain == *domain).map(|it| it.number);
            newest = newest.max(ours);
            true
        })?;
        Ok(newest.unwrap_or(u64::MAX))
    }

    /// Begins to read at the first record stamped at or after a moment, where the log finds it;
    /// else at the beginning.
    pub fn begin_since(&mut self, at: Millis) -> Result<(), LogError> {
        let known: Option<BTreeMap<Lane, u64>> =
            self.log.offsets_since(at)?.map(|it| it.into_iter().collect());
        let from = |span: &LaneSpan| {
            let since = known.as_ref().and_then(|known| known.get(&span.lane)).copied();
            since.unwrap_or(0).clamp(span.first, span.stable_end)
        };
        let from = self.outputs().map(|span| (span.lane, from(span))).collect();
        let oldest = self.oldest_cycle(&from)?;
        self.begin(from, oldest)
    }

    /// Begins to read lanes of outputs from offsets on, and `progress` from the oldest cycle on
    /// that they need.
    fn begin(
        &mut self,
        mut from: BTreeMap<Lane, u64>,
        wanted: Option<u64>,
    ) -> Result<(), LogError> {
        self.listing = Listing::new(&self.domain, &self.topics);
        self.sorter = Sorter::default();
        let cycles = self.spans.iter().find(|span| span.lane.topic == Topic::Progress).copied();
        if let Some(cycles) = cycles {
            let start = cycles_from(&mut self.log, &mut self.codec, &self.domain, &cycles, wanted)?;
            // The cycle before an output of it may be the first that is read.
            from.insert(cycles.lane, start.saturating_sub(TAIL / 16).max(cycles.first));
        }
        let reach = |next: u64| Reach { next, at_end: false, cycle: 0 };
        self.lanes = from.iter().map(|(lane, next)| (*lane, reach(*next))).collect();
        self.last_news = Instant::now();
        self.paused = (false, false);
        self.log.assign(&Cut(from))
    }

    /// The oldest cycle that the first records claim.
    fn oldest_cycle(&mut self, from: &BTreeMap<Lane, u64>) -> Result<Option<u64>, LogError> {
        let start = |span: &LaneSpan| from.get(&span.lane).copied().unwrap_or(span.stable_end);
        let spans: Vec<LaneSpan> =
            self.outputs().filter(|span| start(span) < span.stable_end).copied().collect();
        let mut seen: BTreeMap<Lane, usize> = BTreeMap::new();
        let (mut oldest, domain) = (None::<u64>, &self.domain);
        let count = spans.len();
        let codec = &mut self.codec;
        read_to_end(&mut self.log, &spans, start, codec, &mut |codec, batch, raw| {
            let seen_of = seen.entry(raw.lane).or_default();
            *seen_of += 1;
            if *seen_of <= FIRST_RECORDS {
                let read = batch.value(raw).map(|it| codec.read_output(raw.lane.topic, it));
                let ours = read.and_then(Result::ok).filter(|it| it.domain() == domain);
                oldest = oldest.into_iter().chain(ours.map(|it| it.cycle())).min();
            }
            seen.len() < count || seen.values().any(|seen| *seen < FIRST_RECORDS)
        })?;
        Ok(oldest)
    }

    /// Whether all was read that was there at the start.
    pub fn is_caught_up(&self) -> bool {
        let is_read = |span: &LaneSpan| {
            self.lanes.get(&span.lane).is_none_or(|reach| reach.next >= span.stable_end)
        };
        self.spans.iter().all(is_read)
    }

    /// An error if for long nothing came of what was there at the start.
    pub fn is_silent(&self) -> Result<(), LogError> {
        if self.is_caught_up() || self.last_news.elapsed() <= SILENCE_MAX {
            return Ok(());
        }
        let reach = |lane| self.lanes.get(&lane).map_or(u64::MAX, |reach: &Reach| reach.next);
        let open = self.spans.iter().filter(|span| reach(span.lane) < span.stable_end);
        Err(silent(&self.log, &open.map(|span| (span.lane, span.stable_end)).collect()))
    }

    /// Whether the broker does not answer.
    pub fn is_unreachable(&self) -> bool {
        self.log.is_unreachable()
    }

    /// How many records were passed over since reading began.
    pub fn passed_over(&self) -> u64 {
        self.listing.passed_over()
    }

    /// Notices on records that were passed over, for people.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.listing.take_notices()
    }

    /// The lines of what is new, in order; waits for it so long at most.
    pub fn take(
        &mut self,
        wait: Duration,
        show: &ShownOutputs<'_>,
    ) -> Result<Vec<String>, LogError> {
        self.batch.clear();
        self.log.take(&mut self.batch, LOOK_RECORDS, wait)?;
        if !self.batch.records.is_empty() || !self.batch.marks.is_empty() {
            self.last_news = Instant::now();
        }
        for writer in &self.batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = self.codec.learn_number(writer);
        }
        let batch = std::mem::take(&mut self.batch);
        for raw in &batch.records {
            for listed in self.record(&batch, raw, show) {
                self.sorter.push(&listed, (show.line)(&listed));
            }
        }
        for mark in &batch.marks {
            if let Some(reach) = self.lanes.get_mut(&mark.lane) {
                reach.next = reach.next.max(mark.position);
                reach.at_end = mark.flags.at_end;
            }
        }
        self.batch = batch;
        self.pause()?;
        let behind = self.lanes.values().filter(|reach| !reach.at_end);
        Ok(self.sorter.release(behind.map(|reach| reach.cycle).min()))
    }

    /// The lines that were held back for the sake of their order.
    pub fn flush(&mut self) -> Vec<String> {
        self.sorter.release(None)
    }

    /// Takes up a record; gives outputs that are now known to count.
    fn record(&mut self, batch: &Batch, raw: &Raw, show: &ShownOutputs<'_>) -> Vec<Listed> {
        let (place, value) = ((raw.lane, raw.offset), batch.value(raw));
        let listed: Vec<Listed> = match raw.lane.topic {
            Topic::Progress => self.listing.progress(&self.codec, place, value),
            _ => {
                let wants = |output: &Output| (show.wants)(output, raw.appended_at);
                self.listing.output(&self.codec, place, value, &wants).into_iter().collect()
            }
        };
        if let Some(reach) = self.lanes.get_mut(&raw.lane) {
            reach.next = reach.next.max(raw.offset + 1);
            let cycle = match raw.lane.topic {
                Topic::Progress => self.listing.cycle(),
                _ => listed.last().map(|it| it.output.cycle()),
            };
            reach.cycle = reach.cycle.max(cycle.unwrap_or(0));
        }
        listed
    }

    /// Holds back lanes that were read too far ahead of those they depend on.
    fn pause(&mut self) -> Result<(), LogError> {
        let is_end = |lane: &Lane| self.lanes.get(lane).is_none_or(|reach| reach.at_end);
        let (cycles, outputs): (Vec<Lane>, Vec<Lane>) =
            self.lanes.keys().partition(|lane| lane.topic == Topic::Progress);
        let waiting = self.listing.waiting_bytes();
        let (outputs_paused, cycles_paused) = self.paused;
        let limit = if outputs_paused { WAITING_BYTES / 2 } else { WAITING_BYTES };
        let pause_outputs = waiting > limit && !cycles.iter().all(is_end);
        let limit = if cycles_paused { LISTED_MAX / 4 } else { LISTED_MAX / 2 };
        let pause_cycles =
            self.listing.listed_count() > limit && waiting == 0 && !outputs.iter().all(is_end);
        if pause_outputs != outputs_paused {
            self.log.set_paused(&outputs, pause_outputs)?;
        }
        if pause_cycles != cycles_paused {
            self.log.set_paused(&cycles, pause_cycles)?;
        }
        self.paused = (pause_outputs, pause_cycles);
        Ok(())
    }
}
