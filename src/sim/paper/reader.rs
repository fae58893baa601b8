//! One process's view of a paper log: the port.

use super::{Paper, PaperLane, missing};
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Mark, OutputRecord};

/// A process that reads the paper and, once it leads, writes on it.
///
/// `publish` is done when it returns, so `settle` only returns how it went; to see a commit that
/// takes its time or fails late, wrap it in [`super::faulty::Faulty`].
pub struct PaperLog {
    paper: Paper,
    producer: String,
    lanes: BTreeMap<Lane, Finger>,
    /// Which lane the next `take` begins with, so that a full lane cannot starve the others.
    turn: usize,
    /// The term this process led in.
    term: Option<u64>,
    /// How the last `publish` went.
    published: Option<Result<(), LogError>>,
}

/// Where this process stands in a lane.
struct Finger {
    next: u64,
    paused: bool,
    reported: Option<Mark>,
}

impl PaperLog {
    pub(super) fn new(paper: Paper, producer: &str) -> PaperLog {
        let producer = producer.to_string();
        PaperLog { paper, producer, lanes: BTreeMap::new(), turn: 0, term: None, published: None }
    }
}

impl Log for PaperLog {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        Ok(self.paper.spans())
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        let sheet = self.paper.sheet();
        let mut lanes = BTreeMap::new();
        for (&lane, &next) in &from.0 {
            let span = sheet.lanes.get(&lane).ok_or_else(|| missing(lane))?.span(lane);
            span.admits(next)?;
            lanes.insert(lane, Finger { next, paused: false, reported: None });
        }
        drop(sheet);
        self.lanes = lanes;
        Ok(())
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        for lane in lanes {
            if let Some(finger) = self.lanes.get_mut(lane) {
                finger.paused = paused;
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: &mut Batch, max: usize, _wait: Duration) -> Result<(), LogError> {
        let sheet = self.paper.sheet();
        let full = batch.records.len() + max;
        let mut there = sheet.lanes.iter().peekable();
        let mut order = Vec::with_capacity(self.lanes.len());
        for (lane, finger) in &mut self.lanes {
            while there.next_if(|(other, _)| *other < lane).is_some() {}
            if let Some((_, paper_lane)) = there.next_if(|(other, _)| *other == lane) {
                order.push((*lane, finger, paper_lane));
            }
        }
        let count = order.len().max(1);
        order.rotate_left(self.turn % count);
        self.turn = (self.turn + 1) % count;
        for (lane, finger, paper_lane) in order {
            if !finger.paused {
                finger.read(lane, paper_lane, batch, full)?;
            }
        }
        Ok(())
    }

    fn topic_ids(&mut self) -> Result<BTreeMap<Topic, String>, LogError> {
        Ok(self.paper.sheet().topic_ids.clone())
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        let spans = self.paper.spans().into_iter();
        let assigned = spans.filter(|span| self.lanes.contains_key(&span.lane));
        assigned.map(|span| (span.lane, span.end)).collect()
    }

    fn lead(&mut self) -> Result<(), LogError> {
        self.term = Some(self.paper.lead(&self.producer));
        self.published = None;
        Ok(())
    }

    fn let_go(&mut self) {
        self.term = None;
    }

    fn publish(
        &mut self,
        mut outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        let Some(term) = self.term else {
            return Err(LogError::Stop("publish came before lead".into()));
        };
        if self.published.is_some() {
            return Err(LogError::Stop("publish came before the one before was settled".into()));
        }
        outputs.push(progress);
        let published = self.paper.commit(&self.producer, term, outputs);
        if published.is_err() {
            self.term = None;
        }
        self.published = Some(published);
        Ok(())
    }

    fn is_settled(&mut self) -> bool {
        true
    }

    fn settle(&mut self) -> Result<(), LogError> {
        self.published.take().unwrap_or(Ok(()))
    }
}

impl Finger {
    /// Reads on in one lane until its stable end, or until the batch is full.
    fn read(
        &mut self,
        lane: Lane,
        paper_lane: &PaperLane,
        batch: &mut Batch,
        full: usize,
    ) -> Result<(), LogError> {
        if paper_lane.unreadable {
            self.add_mark(
                lane,
                LaneFlags { unreadable: true, ..LaneFlags::default() },
                false,
                batch,
            );
            return Ok(());
        }
        if self.next < paper_lane.first {
            return Err(LogError::OutOfRange { lane, wanted: self.next, first: paper_lane.first });
        }
        let before = self.next;
        let stable = paper_lane.stable_end();
        while self.next < stable && batch.has_room(full) {
            if let Some(note) = paper_lane.entries[self.next as usize].note() {
                let (key, value) = (note.key.as_deref(), note.value.as_deref());
                batch.push(lane, note.offset, note.appended_at, key, value);
            }
            self.next += 1;
        }
        let at_stable_end = self.next >= stable;
        let blocked = at_stable_end && paper_lane.open.is_some();
        let flags = LaneFlags {
            at_end: at_stable_end && !blocked,
            unreadable: false,
            blocked_at: blocked.then(|| paper_lane.last_readable_at()),
        };
        self.add_mark(lane, flags, at_stable_end && self.next > before, batch);
        Ok(())
    }

    /// Gives a mark when the lane was read to its end again, or when its flags changed.
    fn add_mark(&mut self, lane: Lane, flags: LaneFlags, reached: bool, batch: &mut Batch) {
        let known = self.reported.map(|mark| mark.flags).unwrap_or_default();
        if reached || known != flags {
            let mark = Mark { lane, position: self.next, flags };
            self.reported = Some(mark);
            batch.marks.push(mark);
        }
    }
}
