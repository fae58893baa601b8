//! The embedded log: a directory with one Avro object container file per topic and partition.
//!
//! `<dir>/<topic>/<partition>.avro`, each record an [`envelope`] with all that a log knows of it,
//! so that any Avro tool can read it. The `progress` record is the commit mark: it names how far
//! each own lane is covered ([`ends`]), and is written after what it covers. Readers go no further
//! than that; a process that opens the directory for writing cuts the rest off. One process at a
//! time may write.

mod append;
mod content;
pub mod ends;
pub mod envelope;
pub mod file;
mod home;
pub mod ocf;
mod publish;
mod reader;
mod scan;
mod writer;

pub use content::Content;
pub use home::{Clock, DirOptions, DirTopic, Mode, lock};
pub use writer::DirWriter;

use crate::commit::CommitThread;
use ends::SharedEnds;
use ends::{Ends, Follower};
use file::LaneFile;
use home::Home;
use publish::{OwnLanes, no_such_lane};
use reader::{Bounds, LaneReader};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, OutputRecord};

/// Name of the file that is locked while a process may write.
const LOCK: &str = "lock";
/// The longest sleep between two looks at the files.
const NAP_MAX: Duration = Duration::from_millis(16);
/// In one round of a `take` a lane gives at least so many records before the next has its turn.
const TURN_RECORDS_MIN: usize = 64;
/// A lane that is so far ahead of another in time waits for it; ms.
const APART_MAX_MS: Millis = 60_000;

/// A directory as a log.
pub struct DirLog {
    home: Arc<Home>,
    readers: BTreeMap<Lane, LaneReader>,
    /// Which lane the next `take` begins with.
    turn: usize,
    follower: Follower,
    /// How far own lanes are covered, as published by this process; only when it may write.
    covered: SharedEnds,
    commits: Option<CommitThread>,
    leads: bool,
    notices: Vec<String>,
}

impl DirLog {
    /// Opens a directory. For writing it is made if it is not there, locked, and own lanes are
    /// cut back to what the last `progress` record covers, input lanes to their last whole block.
    pub fn open(
        dir: &Path,
        mode: Mode,
        topics: &[DirTopic],
        options: DirOptions,
    ) -> Result<DirLog, LogError> {
        let home = Arc::new(Home::open(dir, mode, topics, options)?);
        let mut log = DirLog {
            follower: Follower::new(home.progress_files()),
            home,
            readers: BTreeMap::new(),
            turn: 0,
            covered: SharedEnds::default(),
            commits: None,
            leads: false,
            notices: Vec::new(),
        };
        if mode == Mode::Write {
            log.notices.extend(log.home.mend_inputs()?);
            log.start()?;
        }
        Ok(log)
    }

    /// Cuts the own lanes back to what is covered and starts the thread that writes them.
    fn start(&mut self) -> Result<(), LogError> {
        let mut lanes = OwnLanes::open(&self.home, &self.covered, &mut self.notices)?;
        self.commits = Some(CommitThread::start("dirlog", move |outputs, progress| {
            lanes.publish(&outputs, &progress)
        })?);
        Ok(())
    }

    /// The producers' side of the same directory; one at a time.
    pub fn writer(&self) -> Result<DirWriter, LogError> {
        self.home.take_writer()?;
        Ok(DirWriter::of(self.home.clone()))
    }

    /// Notices on records that were cut back at opening, for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// How far own lanes are covered, and input lanes known to reach.
    fn ends(&mut self) -> Result<Ends, LogError> {
        self.follower.refresh()?;
        let mut ends = self.follower.ends.clone();
        if self.home.mode == Mode::Write {
            // What this process published counts once it is durable, which it knows better than the
            // file does; what it cut back counts no more.
            ends.retain(|lane, _| !lane.topic.is_own());
            let covered = self.covered.lock().unwrap_or_else(PoisonError::into_inner);
            ends.extend(covered.iter().map(|(lane, next)| (*lane, *next)));
        }
        Ok(ends)
    }

    /// How far a lane may be read.
    fn bounds(lane: Lane, ends: &Ends, written: &Ends) -> Bounds {
        let passed = ends.get(&lane).copied().unwrap_or(0);
        let limit = if lane.topic.is_own() {
            passed
        } else {
            written.get(&lane).copied().unwrap_or(u64::MAX)
        };
        Bounds { limit, passed }
    }

    /// The extent of one lane.
    fn span(&self, lane: Lane, bounds: Bounds) -> Result<LaneSpan, LogError> {
        let dir_lane = self.home.lanes.get(&lane).ok_or_else(|| no_such_lane(lane))?;
        let (first, end) = match LaneFile::open(&dir_lane.path)? {
            Some(file) => (file.first()?, file.tail()?.next),
            None => (None, 0),
        };
        let end = if lane.topic.is_own() { bounds.passed } else { end.max(bounds.passed) };
        let end = end.min(bounds.limit);
        Ok(LaneSpan { lane, first: first.unwrap_or(end).min(end), stable_end: end, end })
    }

    fn written(&self) -> Ends {
        self.home.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One look at all lanes, each in its turn. Of lanes that wait to be read those come first that
    /// are behind in time: cycles are made of all lanes together, so what one has ahead of the
    /// others would lie in memory until they have caught up.
    fn look(&mut self, batch: &mut Batch, full: usize) -> Result<(), LogError> {
        let ends = self.ends()?;
        let written = self.written();
        let free = self.readers.iter().filter(|(_, reader)| !reader.paused);
        let mut lanes: Vec<Lane> = free.map(|(lane, _)| *lane).collect();
        let count = lanes.len().max(1);
        self.turn = (self.turn + 1) % count;
        let first = self.turn.min(lanes.len());
        lanes.rotate_left(first);
        let share = (full.saturating_sub(batch.records.len()) / count).max(TURN_RECORDS_MIN);
        while !lanes.is_empty() && batch.has_room(full) {
            let stamps = lanes.iter().filter_map(|lane| self.readers.get(lane)).map(|it| it.stamp);
            let until = stamps.min().unwrap_or(Millis::MAX).saturating_add(APART_MAX_MS);
            for lane in std::mem::take(&mut lanes) {
                let Some(reader) = self.readers.get_mut(&lane) else { continue };
                let before = batch.records.len();
                let quota = full.min(before + share);
                let waits = reader.stamp > until;
                if !waits && batch.has_room(quota) {
                    reader.read(batch, quota, DirLog::bounds(lane, &ends, &written))?;
                }
                if waits || batch.records.len() > before {
                    lanes.push(lane);
                }
            }
        }
        Ok(())
    }
}

impl Log for DirLog {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        let (ends, written) = (self.ends()?, self.written());
        let span = |lane: &Lane| self.span(*lane, DirLog::bounds(*lane, &ends, &written));
        self.home.lanes.keys().map(span).collect()
    }

    fn id(&mut self) -> Option<String> {
        self.home.id()
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        let (ends, written) = (self.ends()?, self.written());
        let mut readers = BTreeMap::new();
        for (&lane, &next) in &from.0 {
            let span = self.span(lane, DirLog::bounds(lane, &ends, &written))?;
            span.admits(next)?;
            let dir_lane = self.home.lanes.get(&lane).ok_or_else(|| no_such_lane(lane))?;
            readers.insert(lane, LaneReader::new(lane, dir_lane.path.clone(), next)?);
        }
        self.readers = readers;
        Ok(())
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        for lane in lanes {
            if let Some(reader) = self.readers.get_mut(lane) {
                reader.paused = paused;
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        let (records, marks) = (batch.records.len(), batch.marks.len());
        let start = Instant::now();
        let mut nap = Duration::from_millis(1);
        loop {
            self.look(batch, records + max)?;
            let left = wait.saturating_sub(start.elapsed());
            if batch.records.len() > records || batch.marks.len() > marks || left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(nap.min(left));
            nap = (nap * 2).min(NAP_MAX);
        }
    }

    /// A log that cannot be read has no ends: the next `take` reports why.
    fn ends(&mut self) -> Vec<(Lane, u64)> {
        let spans = self.lanes().unwrap_or_default().into_iter();
        let assigned = spans.filter(|span| self.readers.contains_key(&span.lane));
        assigned.map(|span| (span.lane, span.end)).collect()
    }

    /// The lock of the directory is the election: it was won when the directory was opened.
    fn lead(&mut self) -> Result<(), LogError> {
        if self.home.mode == Mode::Read {
            return Err(LogError::Stop(format!(
                "{} was opened for reading; nothing can be published there",
                self.home.dir.display()
            )));
        }
        // Let go of the old thread before the new one opens the same files.
        self.commits = None;
        self.start()?;
        self.leads = true;
        Ok(())
    }

    fn let_go(&mut self) {
        self.commits = None;
        self.leads = false;
    }

    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        match &mut self.commits {
            Some(thread) if self.leads => thread.publish(outputs, progress),
            _ => Err(LogError::Stop("publish came before lead".into())),
        }
    }

    fn is_settled(&mut self) -> bool {
        self.commits.as_mut().is_none_or(CommitThread::is_settled)
    }

    fn settle(&mut self) -> Result<(), LogError> {
        let settled = self.commits.as_mut().map_or(Ok(()), CommitThread::settle);
        self.leads &= settled.is_ok();
        settled
    }
}
