//! The producers' side of a directory: input records from the demo's grid, from `import`, and
//! whole logs from `archive`.

use super::append::Appender;
use super::ends::SharedEnds;
use super::ends::{self, ENDS_HEADER, Ends};
use super::envelope::{Envelope, Stamp};
use super::publish::no_such_lane;
use super::{DirOptions, DirTopic, Home, Mode};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::LogError;

/// Records waiting beyond this are written without being asked to.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Appends records in blocks. What was appended can be read once it is flushed; dropping the
/// writer flushes as well, but then a full disk is not reported.
pub struct DirWriter {
    home: Arc<Home>,
    lanes: BTreeMap<Lane, Appender>,
    waiting: usize,
    /// Input lanes as far as they are written, for a reader in the same process.
    written: SharedEnds,
    /// Whether own topics may be written too, as they were elsewhere.
    archive: bool,
    /// Ends beyond the last record, in an archive.
    passed: Ends,
    /// The newest `progress` record of a copy, not yet appended: it may be the one that covers.
    last: Option<(Lane, OwnedEnvelope)>,
    notices: Vec<String>,
}

impl DirWriter {
    /// A writer of input topics with a directory to itself.
    pub fn open(
        dir: &Path,
        topics: &[DirTopic],
        options: DirOptions,
    ) -> Result<DirWriter, LogError> {
        Ok(DirWriter::of(Arc::new(Home::open(dir, Mode::Write, topics, options)?)))
    }

    /// A writer that copies a whole log, own topics included. Outputs come before the `progress`
    /// record that covers them, as in the log itself: each such record covers what was appended
    /// before it.
    pub fn archive(
        dir: &Path,
        topics: &[DirTopic],
        options: DirOptions,
    ) -> Result<DirWriter, LogError> {
        let mut writer = DirWriter::open(dir, topics, options)?;
        writer.archive = true;
        Ok(writer)
    }

    pub(super) fn of(home: Arc<Home>) -> DirWriter {
        let written = home.written.clone();
        let (lanes, passed, notices) = (BTreeMap::new(), Ends::new(), Vec::new());
        let (waiting, archive, last) = (0, false, None);
        DirWriter { home, lanes, waiting, written, archive, passed, last, notices }
    }

    /// Appends a record with the next offset of its lane, which is given back.
    pub fn append(
        &mut self,
        lane: Lane,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(String, Vec<u8>)],
        timestamp: Millis,
    ) -> Result<u64, LogError> {
        let offset = self.lane(lane)?.next;
        let stamp = Stamp::Create;
        self.put(lane, &Envelope { offset, timestamp, stamp, key, value, headers })?;
        Ok(offset)
    }

    /// The next offset of a lane.
    pub fn next(&mut self, lane: Lane) -> Result<u64, LogError> {
        Ok(self.lane(lane)?.next)
    }

    /// As [`DirWriter::put`], but a `progress` record covers nothing before [`DirWriter::cover`]:
    /// what was copied in part is not to be seen.
    pub fn copy(&mut self, lane: Lane, envelope: &Envelope<'_>) -> Result<(), LogError> {
        if lane.topic != Topic::Progress {
            return self.put(lane, envelope);
        }
        let held = self.last.replace((lane, OwnedEnvelope::of(envelope)));
        match held {
            Some((lane, held)) => self.push(lane, &held.envelope()),
            None => Ok(()),
        }
    }

    /// Appends the last `progress` record that was copied; it covers all that was appended.
    pub fn cover(&mut self) -> Result<(), LogError> {
        match self.last.take() {
            Some((lane, held)) => self.put(lane, &held.envelope()),
            None => Ok(()),
        }
    }

    /// Appends a record with the offset and stamp it had elsewhere. Offsets grow; gaps are kept.
    pub fn put(&mut self, lane: Lane, envelope: &Envelope<'_>) -> Result<(), LogError> {
        if lane.topic.is_own() && !self.archive {
            return Err(LogError::Stop(format!("{lane} is written by the leader alone")));
        }
        let mut headers = Vec::new();
        let mut envelope = *envelope;
        if lane.topic == Topic::Progress {
            headers = envelope.headers.to_vec();
            headers.retain(|(name, _)| name != ENDS_HEADER);
            headers.push((ENDS_HEADER.to_string(), self.ends().into_bytes()));
        }
        if !headers.is_empty() {
            envelope.headers = &headers;
        }
        self.push(lane, &envelope)
    }

    fn push(&mut self, lane: Lane, envelope: &Envelope<'_>) -> Result<(), LogError> {
        let file = self.lane(lane)?;
        if envelope.offset < file.next {
            return Err(LogError::Stop(format!(
                "{lane}: offset {} cannot be appended, the file is at {} already: write into an \
                 empty directory",
                envelope.offset, file.next
            )));
        }
        let before = file.waiting();
        file.push(envelope);
        let more = file.waiting() - before;
        self.waiting += more;
        if self.waiting > WAITING_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Notes that nothing more comes below `next` in a lane of an archive: its end was a gap.
    pub fn pass(&mut self, lane: Lane, next: u64) {
        self.passed.insert(lane, next);
    }

    /// Writes everything, and makes it durable if the options ask for it. Own lanes go first and
    /// `progress` last, so that no record is covered before it is there.
    pub fn flush(&mut self) -> Result<(), LogError> {
        let sync = self.home.options.sync;
        let mut order: Vec<Lane> = self.lanes.keys().copied().collect();
        order.sort_by_key(|lane| (lane.topic == Topic::Progress, *lane));
        for lane in order {
            let Some(file) = self.lanes.get_mut(&lane) else { continue };
            if file.waiting() == 0 {
                continue;
            }
            file.write()?;
            if sync {
                file.sync()?;
            }
            if !lane.topic.is_own() {
                self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(lane, file.next);
            }
        }
        self.waiting = 0;
        Ok(())
    }

    /// Notices on bytes that were cut off when lanes were opened, for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The lane's file, opened when it is first needed.
    fn lane(&mut self, lane: Lane) -> Result<&mut Appender, LogError> {
        if !self.lanes.contains_key(&lane) {
            let dir_lane = self.home.lanes.get(&lane).ok_or_else(|| no_such_lane(lane))?;
            let sync = self.home.options.sync;
            let (file, torn) = Appender::open(&dir_lane.path, &dir_lane.topic, lane, sync)?;
            if torn > 0 {
                let path = dir_lane.path.display();
                self.notices.push(format!("{path}: cut off {torn} bytes of a torn block"));
            }
            if !lane.topic.is_own() {
                self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(lane, file.next);
            }
            self.lanes.insert(lane, file);
        }
        self.lanes.get_mut(&lane).ok_or_else(|| no_such_lane(lane))
    }

    /// The ends of all lanes but `progress`, as the header has them.
    fn ends(&self) -> String {
        let mut ends = self.passed.clone();
        for (lane, file) in &self.lanes {
            let known = ends.entry(*lane).or_insert(0);
            *known = file.next.max(*known);
        }
        ends.retain(|lane, _| lane.topic != Topic::Progress);
        ends::to_text(&ends)
    }
}

/// A record with bytes of its own.
struct OwnedEnvelope {
    offset: u64,
    timestamp: Millis,
    stamp: Stamp,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
}

impl OwnedEnvelope {
    fn of(envelope: &Envelope<'_>) -> OwnedEnvelope {
        let mut headers = envelope.headers.to_vec();
        // What it covered elsewhere is not here.
        headers.retain(|(name, _)| name != ENDS_HEADER);
        OwnedEnvelope {
            offset: envelope.offset,
            timestamp: envelope.timestamp,
            stamp: envelope.stamp,
            key: envelope.key.map(<[u8]>::to_vec),
            value: envelope.value.map(<[u8]>::to_vec),
            headers,
        }
    }

    fn envelope(&self) -> Envelope<'_> {
        Envelope {
            offset: self.offset,
            timestamp: self.timestamp,
            stamp: self.stamp,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &self.headers,
        }
    }
}

impl Drop for DirWriter {
    fn drop(&mut self) {
        // A caller that needs to know calls `flush`.
        let _ = self.flush();
        self.home.free_writer();
    }
}
