//! Reads one lane of a directory forward, block by block.

use super::envelope;
use super::file::LaneFile;
use super::ocf::{self, Next};
use std::path::PathBuf;
use yardmaster_core::cut::Lane;
use yardmaster_core::limits::BATCH_BYTES;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{Batch, LogError, Mark, Raw};

/// Bytes read from the file in one go; a longer block is read whole.
const CHUNK: usize = 1 << 20;

/// Where the reading of a lane stands.
pub struct LaneReader {
    lane: Lane,
    path: PathBuf,
    file: Option<LaneFile>,
    /// The next offset to deliver.
    next: u64,
    /// Time stamp of the last record that was delivered.
    pub stamp: Millis,
    /// Place in the file of `window[0]`.
    position: u64,
    window: Vec<u8>,
    /// Where the current block begins in the window.
    at: usize,
    /// The rest of the current block.
    open: Option<OpenBlock>,
    /// The limit under which the window was read. What lies beyond it may since have been cut
    /// back and written again, so no byte of it is used.
    sure: u64,
    /// Whether nothing is to be delivered for now.
    pub paused: bool,
    reported: Option<Mark>,
}

/// A block that is being read.
struct OpenBlock {
    /// Next record, in the window.
    cursor: usize,
    /// Records left.
    left: u64,
    /// Where its records end, in the window.
    data_end: usize,
    /// Where the block ends, in the window.
    end: usize,
}

/// How far a lane may be read, and how far it is known to reach.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// No record from here on may be delivered.
    pub limit: u64,
    /// Below this nothing more will come than what is in the file.
    pub passed: u64,
}

impl LaneReader {
    /// A reader that delivers from `next` on.
    pub fn new(lane: Lane, path: PathBuf, next: u64) -> Result<LaneReader, LogError> {
        let mut reader = LaneReader {
            lane,
            path,
            file: None,
            next,
            stamp: Millis::MIN,
            position: 0,
            window: Vec::new(),
            at: 0,
            open: None,
            sure: 0,
            paused: false,
            reported: None,
        };
        reader.find_file()?;
        Ok(reader)
    }

    /// Appends records to the batch until it has no room for more, of `full`, or there are none.
    pub fn read(&mut self, batch: &mut Batch, full: usize, bounds: Bounds) -> Result<(), LogError> {
        let before = self.next;
        let mut ended = false;
        while batch.has_room(full) && !ended {
            if self.next >= bounds.limit {
                self.forget();
                ended = true;
            } else if self.next >= self.sure {
                self.forget();
                self.sure = bounds.limit;
            } else if self.open.is_some() {
                self.copy(batch, full)?;
            } else if !self.open_block(bounds.limit)? {
                self.next = self.next.max(bounds.passed.min(bounds.limit));
                ended = true;
            }
        }
        self.add_mark(ended, self.next > before, batch);
        Ok(())
    }

    /// Copies what may be delivered of the open block.
    fn copy(&mut self, batch: &mut Batch, full: usize) -> Result<(), LogError> {
        let Some(mut block) = self.open.take() else { return Ok(()) };
        let data = &self.window[..block.data_end];
        let from = block.cursor;
        // The bytes are copied in one piece, and each span moved to where they come to lie.
        let base = batch.bytes.len();
        let place =
            |span: std::ops::Range<usize>| base + (span.start - from)..base + (span.end - from);
        let mut limited = false;
        while block.left > 0
            && batch.records.len() < full
            && base + (block.cursor - from) < BATCH_BYTES
        {
            let mut cursor = block.cursor;
            let Some(parts) = envelope::decode(data, &mut cursor) else {
                return Err(self.damaged());
            };
            if parts.offset >= self.sure {
                limited = true;
                break;
            }
            block.cursor = cursor;
            block.left -= 1;
            if parts.offset < self.next {
                continue;
            }
            self.next = parts.offset + 1;
            self.stamp = parts.timestamp;
            batch.records.push(Raw {
                lane: self.lane,
                offset: parts.offset,
                appended_at: parts.timestamp,
                key: parts.key.map(place),
                value: parts.value.map(place),
            });
        }
        batch.bytes.extend_from_slice(&data[from..block.cursor]);
        if limited {
            self.next = self.next.max(self.sure);
            self.forget();
        } else if block.left == 0 {
            self.at = block.end;
        } else {
            self.open = Some(block);
        }
        Ok(())
    }

    /// Opens the next block; `false` when there is no whole one.
    fn open_block(&mut self, limit: u64) -> Result<bool, LogError> {
        if !self.find_file()? {
            return Ok(false);
        }
        let Some(file) = self.file.take() else { return Ok(false) };
        let opened = self.open_block_of(&file, limit);
        self.file = Some(file);
        opened
    }

    fn open_block_of(&mut self, file: &LaneFile, limit: u64) -> Result<bool, LogError> {
        loop {
            let wanted = match ocf::next_block(&self.window[self.at..], file.sync()) {
                Next::Block(block) => {
                    self.open = Some(OpenBlock {
                        cursor: self.at + block.data.start,
                        left: block.count,
                        data_end: self.at + block.data.end,
                        end: self.at + block.end,
                    });
                    return Ok(true);
                }
                Next::Incomplete(needed) => needed,
                Next::Damaged => {
                    let place = self.position + self.at as u64;
                    if file.is_damaged_at(place)? {
                        return Err(file.damaged(place));
                    }
                    self.forget();
                    return Ok(false);
                }
            };
            if self.sure != limit && !self.window.is_empty() {
                self.forget();
                continue;
            }
            self.sure = limit;
            self.window.drain(..self.at);
            self.position += self.at as u64;
            self.at = 0;
            let have = self.position + self.window.len() as u64;
            let there = file.length()?.saturating_sub(have);
            let count = wanted.max(CHUNK).saturating_sub(self.window.len());
            let count = count.min(usize::try_from(there).unwrap_or(usize::MAX));
            if count == 0 || file.read(have, count, &mut self.window)? == 0 {
                self.forget();
                return Ok(false);
            }
        }
    }

    /// Drops what was read ahead; the current block is read again next time.
    fn forget(&mut self) {
        self.position += self.at as u64;
        self.at = 0;
        self.window.clear();
        self.open = None;
    }

    /// Opens the file if it has come to be; whether it is open.
    fn find_file(&mut self) -> Result<bool, LogError> {
        if self.file.is_none()
            && let Some(file) = LaneFile::open(&self.path)?
        {
            self.position = file.seek(self.next)?;
            self.file = Some(file);
        }
        Ok(self.file.is_some())
    }

    fn damaged(&self) -> LogError {
        let place = self.position + self.at as u64;
        match &self.file {
            Some(file) => file.damaged(place),
            None => LogError::Stop(format!("{}: damaged at byte {place}", self.path.display())),
        }
    }

    /// Gives a mark when the lane was read to its end again, or when its flags changed.
    fn add_mark(&mut self, at_end: bool, moved: bool, batch: &mut Batch) {
        let flags = LaneFlags { at_end, ..LaneFlags::default() };
        let known = self.reported.map(|mark| mark.flags).unwrap_or_default();
        if known != flags || (at_end && moved) {
            let mark = Mark { lane: self.lane, position: self.next, flags };
            self.reported = Some(mark);
            batch.marks.push(mark);
        }
    }
}
