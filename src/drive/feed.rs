//! Records that were taken from the log and not yet drawn: per lane, in order.
//!
//! A cycle's records are drawn up to its cut, lane by lane; lanes run ahead of each other, and one
//! that runs too far ahead is paused.

use crate::port::{Batch, Raw};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use yardmaster_core::cut::{Cut, Lane};
use yardmaster_core::limits::{BATCH_BYTES, FREE_BATCHES_BYTES};
use yardmaster_core::output::progress::LaneFlags;

/// Records of one lane that lie side by side in one batch.
pub struct Run {
    batch: Rc<Batch>,
    records: Range<usize>,
}

impl Run {
    /// The memory of so many of its records: a share of the batch's, so that sums come out even.
    fn bytes(&self, records: usize) -> usize {
        records * (self.batch.bytes.len() / self.batch.records.len().max(1) + RECORD_BYTES)
    }

    /// The batch they lie in.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The records.
    pub fn records(&self) -> &[Raw] {
        &self.batch.records[self.records.clone()]
    }

    /// Each with its batch.
    pub fn iter(&self) -> impl Iterator<Item = (&Batch, &Raw)> {
        self.records().iter().map(|raw| (&*self.batch, raw))
    }
}

/// One lane's waiting records.
#[derive(Default)]
struct LaneBuffer {
    runs: VecDeque<Run>,
    waiting: usize,
    /// Memory of the waiting records; bytes.
    bytes: usize,
    /// Everything below was delivered to the feed, or is not there.
    seen: u64,
    flags: LaneFlags,
    is_paused: bool,
}

/// Batches whose memory is kept for others, and the most memory of one of them; bytes.
const SPARE_MAX: usize = 64;
const SPARE_BYTES: usize = 2 * BATCH_BYTES;
/// Memory of a waiting record beside key and value; bytes.
const RECORD_BYTES: usize = std::mem::size_of::<Raw>();

/// Waiting records of all lanes.
#[derive(Default)]
pub struct Feed {
    buffers: BTreeMap<Lane, LaneBuffer>,
    waiting: usize,
    /// Memory of all waiting records; bytes.
    bytes: usize,
    /// Which lanes the log holds is not known.
    is_unsure: bool,
    /// Of `waiting`, how many are inputs.
    inputs: usize,
    /// All batches that are not known to be drawn.
    poured: Vec<Rc<Batch>>,
    /// Memory of batches that were drawn.
    drawn: Vec<Batch>,
}

impl Feed {
    /// Nothing waits; each lane is read from its offset in `cut` on.
    pub fn new(cut: &Cut) -> Feed {
        let buffer = |next: &u64| LaneBuffer { seen: *next, ..LaneBuffer::default() };
        let buffers = cut.0.iter().map(|(lane, next)| (*lane, buffer(next))).collect();
        Feed { buffers, ..Feed::default() }
    }

    /// An empty batch, with the memory of one that was drawn if there is any: fresh memory costs
    /// more than what is written to it.
    pub fn spare(&mut self) -> Batch {
        if self.drawn.is_empty() {
            let mut held = 0;
            // One lane may lag: what lies behind its oldest batch is let go all the same.
            for batch in std::mem::take(&mut self.poured) {
                match Rc::try_unwrap(batch) {
                    Ok(batch) => {
                        let is_small = batch.bytes.capacity() <= SPARE_BYTES;
                        let bytes = held + batch.bytes.capacity();
                        if is_small && bytes <= FREE_BATCHES_BYTES && self.drawn.len() < SPARE_MAX {
                            held = bytes;
                            self.drawn.push(batch);
                        }
                    }
                    Err(wanted) => self.poured.push(wanted),
                }
            }
        }
        let mut spare = self.drawn.pop().unwrap_or_default();
        spare.clear();
        spare
    }

    /// Takes over what a batch brought.
    pub fn pour(&mut self, batch: Batch) {
        let batch = Rc::new(batch);
        self.poured.push(Rc::clone(&batch));
        let mut start = 0;
        while start < batch.records.len() {
            let lane = batch.records[start].lane;
            let length =
                batch.records[start..].iter().take_while(|record| record.lane == lane).count();
            let end = start + length;
            let buffer = self.buffers.entry(lane).or_default();
            buffer.seen = buffer.seen.max(batch.records[end - 1].offset + 1);
            buffer.waiting += length;
            buffer.flags.at_end = false;
            let run = Run { batch: Rc::clone(&batch), records: start..end };
            buffer.bytes += run.bytes(length);
            self.bytes += run.bytes(length);
            buffer.runs.push_back(run);
            self.waiting += length;
            self.inputs += if lane.topic.is_own() { 0 } else { length };
            start = end;
        }
        for mark in &batch.marks {
            let buffer = self.buffers.entry(mark.lane).or_default();
            buffer.seen = buffer.seen.max(mark.position);
            buffer.flags = mark.flags;
        }
    }

    /// Whether every record of a lane below `next` was delivered.
    pub fn has(&self, lane: Lane, next: u64) -> bool {
        self.buffers.get(&lane).is_some_and(|buffer| buffer.seen >= next)
    }

    /// Flags of a lane's end, if all that was delivered were drawn.
    pub fn flags(&self, lane: Lane) -> LaneFlags {
        self.buffers.get(&lane).map_or_else(LaneFlags::default, |buffer| LaneFlags {
            at_end: buffer.flags.at_end && buffer.waiting == 0,
            ..buffer.flags
        })
    }

    /// Whether a lane is read at all.
    pub fn knows(&self, lane: Lane) -> bool {
        self.buffers.contains_key(&lane)
    }

    /// Everything below was delivered.
    pub fn seen(&self, lane: Lane) -> u64 {
        self.buffers.get(&lane).map_or(0, |buffer| buffer.seen)
    }

    /// The first offset of a lane that was not drawn yet.
    pub fn next(&self, lane: Lane) -> u64 {
        let front = self.buffers.get(&lane).and_then(|buffer| buffer.runs.front());
        front.map_or_else(|| self.seen(lane), |run| run.batch.records[run.records.start].offset)
    }

    /// Lanes there are.
    pub fn lanes(&self) -> impl Iterator<Item = Lane> {
        self.buffers.keys().copied()
    }

    /// How many records wait in all.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many records wait in all lanes but our own.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many records wait in a lane.
    pub fn waiting_in(&self, lane: Lane) -> usize {
        self.buffers.get(&lane).map_or(0, |buffer| buffer.waiting)
    }

    /// Draws the lane's next records below `until`, at most `max`, and appends them to `runs`.
    /// Returns how many.
    pub fn draw(&mut self, lane: Lane, until: u64, mut max: usize, runs: &mut Vec<Run>) -> usize {
        let Some(buffer) = self.buffers.get_mut(&lane) else { return 0 };
        let mut drawn = 0;
        while let Some(run) = buffer.runs.front_mut() {
            let records = &run.batch.records[run.records.clone()];
            // One after the other: what is passed is folded next, so it is wanted near anyway.
            let is_below = |record: &&Raw| record.offset < until;
            let below = records.iter().take(max).take_while(is_below).count();
            if below == 0 {
                break;
            }
            let bytes = run.bytes(below);
            buffer.bytes -= bytes;
            self.bytes -= bytes;
            let start = run.records.start;
            runs.push(Run { batch: Rc::clone(&run.batch), records: start..start + below });
            run.records.start += below;
            drawn += below;
            max -= below;
            if run.records.is_empty() {
                buffer.runs.pop_front();
            }
        }
        buffer.waiting -= drawn;
        self.waiting -= drawn;
        self.inputs -= if lane.topic.is_own() { 0 } else { drawn };
        drawn
    }

    /// Memory of all waiting records; bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lanes that run more than `most` records ahead, or hold more than their share of `most_bytes`
    /// while all lanes together hold more than that, and are not paused yet; and lanes that are
    /// paused and ran half empty; both noted as done.
    pub fn balance(&mut self, most: usize, most_bytes: usize) -> (Vec<Lane>, Vec<Lane>) {
        let (lanes, total) = (self.buffers.len(), self.bytes);
        let all = std::mem::take(&mut self.is_unsure);
        let (mut pause, mut resume) = (Vec::new(), Vec::new());
        for (lane, buffer) in &mut self.buffers {
            let part = if buffer.is_paused { 2 } else { 1 };
            let share = most_bytes / lanes.max(1) / part;
            let is_far =
                buffer.waiting > most / part || total > most_bytes / part && buffer.bytes > share;
            if is_far != buffer.is_paused || all {
                buffer.is_paused = is_far;
                if is_far { pause.push(*lane) } else { resume.push(*lane) }
            }
        }
        (pause, resume)
    }

    /// Whether the log did what `balance` asked for is not known: the next one names all lanes.
    pub fn forget_paused(&mut self) {
        self.is_unsure = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Mark;
    use yardmaster_core::cut::Topic;

    #[test]
    fn records_are_drawn_in_order_up_to_a_cut() {
        let lane = Lane::new(Topic::JobState, 0);
        let other = Lane::new(Topic::JobState, 1);
        let mut feed = Feed::new(&Cut::default());
        let mut batch = Batch::default();
        for (lane, offset) in [(lane, 3), (lane, 5), (other, 0), (lane, 6)] {
            batch.push(lane, offset, 0, None, Some(b"x"));
        }
        let flags = LaneFlags { at_end: true, ..LaneFlags::default() };
        batch.marks.push(Mark { lane, position: 9, flags });
        feed.pour(batch);
        assert!(feed.has(lane, 9) && !feed.has(lane, 10) && !feed.has(other, 2));
        assert!(!feed.flags(lane).at_end, "records wait");
        let mut drawn = Vec::new();
        let mut draw = |feed: &mut Feed, until, max| {
            let mut runs = Vec::new();
            let count = feed.draw(lane, until, max, &mut runs);
            drawn.extend(runs.iter().flat_map(Run::iter).map(|(_, record)| record.offset));
            count
        };
        assert_eq!(draw(&mut feed, 6, 10), 2);
        assert_eq!(draw(&mut feed, 6, 10), 0);
        assert_eq!(draw(&mut feed, 9, 10), 1);
        assert_eq!(drawn, vec![3, 5, 6]);
        assert!(feed.flags(lane).at_end);
        assert_eq!(feed.waiting(), 1);
    }

    /// A few records of a megabyte take as much memory as very many small ones.
    #[test]
    fn lanes_with_large_records_are_held_by_their_bytes() {
        let [small, large] = [0, 1].map(|partition| Lane::new(Topic::Heartbeat, partition));
        let mut feed = Feed::new(&Cut::default());
        let pour = |feed: &mut Feed, lane: Lane, offset: u64, bytes: usize| {
            let mut batch = feed.spare();
            batch.push(lane, offset, 0, None, Some(&vec![7; bytes]));
            feed.pour(batch);
        };
        let most = 10 << 20;
        for offset in 0..9 {
            pour(&mut feed, small, offset, 10);
            pour(&mut feed, large, offset, 1 << 20);
        }
        assert_eq!(feed.balance(1_000, most), (vec![], vec![]));
        pour(&mut feed, large, 9, 1 << 20);
        assert!(feed.bytes() > most);
        assert_eq!(feed.balance(1_000, most), (vec![large], vec![]));
        feed.draw(large, 3, 100, &mut Vec::new());
        assert_eq!(feed.balance(1_000, most), (vec![], vec![]), "more than half is there still");
        feed.draw(large, 6, 100, &mut Vec::new());
        assert_eq!(feed.balance(1_000, most), (vec![], vec![large]));
        feed.draw(large, 99, 100, &mut Vec::new());
        feed.draw(small, 99, 100, &mut Vec::new());
        assert_eq!((feed.bytes(), feed.waiting()), (0, 0));
    }

    /// One batch of large records must not stay for ever.
    #[test]
    fn memory_of_large_batches_is_given_back() {
        let lane = Lane::new(Topic::Heartbeat, 0);
        let mut feed = Feed::new(&Cut::default());
        let mut batch = feed.spare();
        batch.push(lane, 0, 0, None, Some(&vec![7; SPARE_BYTES + 1]));
        feed.pour(batch);
        feed.draw(lane, 1, 1, &mut Vec::new());
        assert_eq!(feed.spare().bytes.capacity(), 0);
    }

    #[test]
    fn the_memory_of_free_batches_is_bounded_in_all() {
        let lane = Lane::new(Topic::Heartbeat, 0);
        let mut feed = Feed::new(&Cut::default());
        for offset in 0..40 {
            let mut batch = Batch { bytes: Vec::with_capacity(BATCH_BYTES), ..Batch::default() };
            batch.push(lane, offset, 0, None, Some(b"x"));
            feed.pour(batch);
        }
        feed.draw(lane, 40, 40, &mut Vec::new());
        let taken = feed.spare().bytes.capacity();
        let free: usize = feed.drawn.iter().map(|batch| batch.bytes.capacity()).sum();
        assert!(taken > 0 && taken + free <= FREE_BATCHES_BYTES, "{taken} and {free} bytes");
    }

    #[test]
    fn the_memory_of_drawn_batches_is_used_again_and_of_others_not() {
        let lane = Lane::new(Topic::JobState, 0);
        let mut feed = Feed::new(&Cut::default());
        for offset in 0..3 {
            let mut batch = feed.spare();
            assert_eq!(batch.records.capacity(), 0, "nothing was drawn yet");
            batch.push(lane, offset, 0, None, Some(b"x"));
            feed.pour(batch);
        }
        let mut runs = Vec::new();
        assert_eq!(feed.draw(lane, 2, 10, &mut runs), 2);
        assert_eq!(feed.spare().records.capacity(), 0, "what was drawn is looked at still");
        runs.clear();
        let spare = feed.spare();
        assert!(spare.records.capacity() > 0 && spare.records.is_empty() && spare.bytes.is_empty());
        assert_eq!(feed.draw(lane, 9, 10, &mut runs), 1, "what waits is there");
        assert_eq!(runs[0].records()[0].offset, 2);
    }

    /// A lane that is not drawn keeps its own batch, and none of those that came after it.
    #[test]
    fn a_lane_that_lags_keeps_one_batch() {
        let (lane, lags) = (Lane::new(Topic::JobState, 0), Lane::new(Topic::Decision, 0));
        let mut feed = Feed::new(&Cut::default());
        for offset in 0..100 {
            let mut batch = feed.spare();
            batch.push(if offset == 0 { lags } else { lane }, offset, 0, None, Some(b"x"));
            feed.pour(batch);
            feed.draw(lane, u64::MAX, 10, &mut Vec::new());
        }
        assert_eq!((feed.waiting(), feed.inputs()), (1, 0));
        let spare = feed.spare();
        assert!(spare.records.capacity() > 0);
        assert!(feed.poured.len() + feed.drawn.len() <= 2, "what lags, and one more");
    }
}
