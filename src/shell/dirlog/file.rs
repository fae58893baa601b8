//! One lane's file: where its blocks are, found without reading it all.

use super::envelope::{self, EARLIER};
use super::ocf::{self, HEADER_BYTES_MAX, Next, SYNC, Sync};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use yardmaster_drive::port::LogError;
use yardmaster_wire::avro::ENVELOPE;

/// Bytes that hold the header of nearly every file; of the others more is read.
const HEAD: u64 = 4 << 10;
/// Bytes looked at in one go when a block is searched for.
const LOOK: u64 = 64 << 10;

/// An open file of a lane.
pub struct LaneFile {
    path: PathBuf,
    file: File,
    /// Where the first block begins.
    pub start: u64,
    sync: Sync,
}

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// Where the last whole block ends.
    pub end: u64,
    /// Bytes behind it: a block that was not written to its end.
    pub torn: u64,
    /// The next offset; 0 in an empty file.
    pub next: u64,
}

/// Where in a file some offset lies.
pub enum Edge {
    /// Records below it end here, those from it on begin here.
    Between(u64),
    /// The block from `start` to `end` holds records on both sides.
    Inside {
        /// Where the block begins.
        start: u64,
        /// Where it ends.
        end: u64,
    },
}

/// A block found in a file.
struct Found {
    start: u64,
    end: u64,
    /// Offset of its first record.
    first: u64,
    /// Offset of its last record, plus one.
    next: u64,
}

impl LaneFile {
    /// Opens a file for reading. `None` when it is not there, or has no whole header yet.
    pub fn open(path: &Path) -> Result<Option<LaneFile>, LogError> {
        match File::open(path) {
            Ok(file) => LaneFile::with(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(trouble(path, "opened", &error)),
        }
    }

    /// Takes an open file that may be written to as well.
    pub fn with(path: &Path, mut file: File) -> Result<Option<LaneFile>, LogError> {
        let mut head = Vec::new();
        let mut header = None;
        for wanted in [HEAD, HEADER_BYTES_MAX as u64 - HEAD] {
            let read = Read::by_ref(&mut file).take(wanted).read_to_end(&mut head);
            read.map_err(|error| trouble(path, "read", &error))?;
            header = ocf::parse_header(&head);
            if header.is_some() {
                break;
            }
        }
        let Some(header) = header else {
            // A crash may have left part of our own header; anything else is not ours.
            let ours = ocf::header(ENVELOPE, &[0; SYNC]);
            let known = head.len().min(ours.len() - SYNC);
            if head.len() < ours.len() && head[..known] == ours[..known] {
                return Ok(None);
            }
            return Err(LogError::Stop(format!(
                "{}: not an Avro object container file; a directory log holds nothing else: \
                 move it away",
                path.display()
            )));
        };
        check(path, &header)?;
        let path = path.to_path_buf();
        Ok(Some(LaneFile { path, file, start: header.length as u64, sync: header.sync }))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The sync marker.
    pub fn sync(&self) -> &Sync {
        &self.sync
    }

    /// Bytes in the file now.
    pub fn length(&self) -> Result<u64, LogError> {
        let metadata = self.file.metadata();
        metadata.map(|metadata| metadata.len()).map_err(|e| trouble(&self.path, "looked at", &e))
    }

    /// Appends at most `count` bytes from `position` to `bytes`; how many there were.
    pub fn read(
        &self,
        position: u64,
        count: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<usize, LogError> {
        let before = bytes.len();
        bytes.resize(before + count, 0);
        let mut got = 0;
        while got < count {
            match self.file.read_at(&mut bytes[before + got..], position + got as u64) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(trouble(&self.path, "read", &error)),
            }
        }
        bytes.truncate(before + got);
        Ok(got)
    }

    /// Offset of the first record; `None` while there is none.
    pub fn first(&self) -> Result<Option<u64>, LogError> {
        let look = || self.block_at(self.start, self.length()?);
        let found = match look()? {
            None if self.is_damaged_at(self.start)? => return Err(self.damaged(self.start)),
            None => look()?,
            found => found,
        };
        Ok(found.map(|found| found.first))
    }

    /// Where a block begins from which reading forward meets every record from `offset` on.
    pub fn seek(&self, offset: u64) -> Result<u64, LogError> {
        let length = self.length()?;
        let mut best = self.start;
        let (mut low, mut high) = (self.start, length);
        while high.saturating_sub(low) > LOOK {
            let middle = low + (high - low) / 2;
            match self.block_after(middle, length)? {
                Some(found) if found.start < high && found.first <= offset => {
                    best = found.start;
                    low = found.start.max(middle + 1);
                }
                _ => high = middle,
            }
        }
        Ok(best)
    }

    /// Where the file ends, a torn block left out.
    pub fn tail(&self) -> Result<FileEnd, LogError> {
        let mut tail = FileEnd { end: self.start, torn: 0, next: 0 };
        let length = self.length()?;
        self.near_end(LOOK, &mut |found| {
            tail.end = found.end;
            tail.next = found.next;
        })?;
        tail.torn = length.saturating_sub(tail.end);
        if tail.torn > 0 && self.is_damaged_at(tail.end)? {
            return Err(self.damaged(tail.end));
        }
        Ok(tail)
    }

    /// Where the records from `offset` on begin.
    pub fn edge(&self, offset: u64) -> Result<Edge, LogError> {
        let length = self.length()?;
        let mut at = self.seek(offset)?;
        while let Some(Found { start, end, first, next }) = self.block_at(at, length)? {
            if first >= offset {
                return Ok(Edge::Between(start));
            }
            if next > offset {
                return Ok(Edge::Inside { start, end });
            }
            at = end;
        }
        Ok(Edge::Between(at))
    }

    /// Gives the bytes of every record in the blocks that end in the last `bytes` bytes or
    /// so (at least one block if there is one), oldest first, each with the end of its block.
    /// Whether that was the whole file.
    pub fn last_records(
        &self,
        bytes: u64,
        each: &mut dyn FnMut(&[u8], &envelope::Parts, u64),
    ) -> Result<bool, LogError> {
        let mut blocks = Vec::new();
        let whole = self.near_end(bytes, &mut |found| blocks.push((found.start, found.end)))?;
        for (start, end) in blocks {
            self.records(start, end, each)?;
        }
        Ok(whole)
    }

    /// Gives every record of the whole blocks from a place on, but for blocks that begin with
    /// an offset of `below` or more.
    pub fn records_from(
        &self,
        position: u64,
        below: u64,
        each: &mut dyn FnMut(&[u8], &envelope::Parts, u64),
    ) -> Result<(), LogError> {
        let length = self.length()?;
        let mut start = position;
        while let Some(found) = self.block_at(start, length)?.filter(|it| it.first < below) {
            self.records(found.start, found.end, each)?;
            start = found.end;
        }
        Ok(())
    }

    /// Gives every record of the block between two places.
    pub fn records(
        &self,
        start: u64,
        end: u64,
        each: &mut dyn FnMut(&[u8], &envelope::Parts, u64),
    ) -> Result<(), LogError> {
        let mut bytes = Vec::new();
        self.read(start, (end - start) as usize, &mut bytes)?;
        let Next::Block(block) = ocf::next_block(&bytes, &self.sync) else {
            return Err(self.damaged(start));
        };
        let data = &bytes[..block.data.end];
        let mut at = block.data.start;
        for _ in 0..block.count {
            let parts = envelope::decode(data, &mut at).ok_or_else(|| self.damaged(start))?;
            each(data, &parts, end);
        }
        Ok(())
    }

    /// Walks the blocks near the end, forward, beginning about `bytes` before it, or earlier if
    /// no block begins there. Whether it began with the first.
    fn near_end(&self, bytes: u64, each: &mut dyn FnMut(&Found)) -> Result<bool, LogError> {
        let length = self.length()?;
        let mut window = bytes;
        loop {
            let begin = length.saturating_sub(window).max(self.start);
            let mut found = self.block_after(begin, length)?;
            let whole = begin == self.start;
            if found.is_none() && !whole {
                window = window.saturating_mul(4);
                continue;
            }
            while let Some(block) = found {
                each(&block);
                found = self.block_at(block.end, length)?;
            }
            return Ok(whole);
        }
    }

    /// The first whole block that begins at `position` or behind it.
    fn block_after(&self, position: u64, length: u64) -> Result<Option<Found>, LogError> {
        let mut from = position.max(self.start) - SYNC as u64;
        let mut bytes = Vec::new();
        while from < length {
            bytes.clear();
            let got = self.read(from, LOOK as usize, &mut bytes)?;
            if got < SYNC {
                return Ok(None);
            }
            for at in positions(&bytes, &self.sync) {
                if let Some(found) = self.block_at(from + (at + SYNC) as u64, length)? {
                    return Ok(Some(found));
                }
            }
            from += (got - SYNC + 1) as u64;
        }
        Ok(None)
    }

    /// The whole block that begins exactly there.
    fn block_at(&self, start: u64, length: u64) -> Result<Option<Found>, LogError> {
        let mut bytes = Vec::new();
        let mut wanted = 4 << 10;
        let block = loop {
            self.read(start + bytes.len() as u64, wanted - bytes.len(), &mut bytes)?;
            match ocf::next_block(&bytes, &self.sync) {
                Next::Block(block) => break block,
                Next::Damaged => return Ok(None),
                Next::Incomplete(needed) => {
                    if bytes.len() < wanted || start.saturating_add(needed as u64) > length {
                        return Ok(None);
                    }
                    wanted = needed;
                }
            }
        };
        let data = &bytes[..block.data.end];
        let mut at = block.data.start;
        let (mut first, mut next) = (None, 0);
        for _ in 0..block.count {
            let Some(parts) = envelope::decode(data, &mut at) else { return Ok(None) };
            first.get_or_insert(parts.offset);
            next = parts.offset + 1;
        }
        let end = start + block.end as u64;
        Ok(first.map(|first| Found { start, end, first, next }))
    }

    /// The error for a block that is none, with more behind it.
    pub fn damaged(&self, position: u64) -> LogError {
        LogError::Stop(format!(
            "{}: damaged at byte {position}: no block of records, but more follows; bring the \
             file back from a copy",
            self.path.display()
        ))
    }

    /// Whether a place where no whole block was found is damaged: a marker follows, and there is
    /// still no block. A writer beside may have ended it since.
    pub fn is_damaged_at(&self, position: u64) -> Result<bool, LogError> {
        Ok(!self.is_torn_at(position)? && self.block_at(position, self.length()?)?.is_none())
    }

    /// Whether a place that holds no whole block is the torn end of the file: then no marker
    /// follows, as that is the last part of a block to be written.
    fn is_torn_at(&self, position: u64) -> Result<bool, LogError> {
        let mut from = position;
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let got = self.read(from, LOOK as usize, &mut bytes)?;
            if got < SYNC {
                return Ok(true);
            }
            if positions(&bytes, &self.sync).next().is_some() {
                return Ok(false);
            }
            from += (got - SYNC + 1) as u64;
        }
    }
}

/// The error of a call to the disk.
pub fn trouble(path: &Path, what: &str, error: &std::io::Error) -> LogError {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk, start again",
        ErrorKind::PermissionDenied => "give this user the right to it",
        _ => "look at the disk and the path, start again",
    };
    LogError::Stop(format!("{}: cannot be {what}: {error}; {remedy}", path.display()))
}

/// Where the marker stands in the bytes.
fn positions<'a>(bytes: &'a [u8], sync: &'a Sync) -> impl Iterator<Item = usize> + 'a {
    let last = bytes.len().saturating_sub(SYNC - 1);
    (0..last).filter(move |&at| bytes[at] == sync[0] && bytes[at..at + SYNC] == *sync)
}

/// Whether we can read what the header announces.
fn check(path: &Path, header: &ocf::Header) -> Result<(), LogError> {
    if header.codec != b"null" {
        return Err(LogError::Stop(format!(
            "{}: its codec is {:?}; a directory log is written with codec \"null\": convert it",
            path.display(),
            String::from_utf8_lossy(&header.codec)
        )));
    }
    if header.schema == ENVELOPE.as_bytes() || has_its_layout(&header.schema) {
        return Ok(());
    }
    Err(LogError::Stop(format!(
        "{}: its schema is not that of the envelope of a directory log (org.yardmaster.Envelope): \
         move it away, or convert it",
        path.display()
    )))
}

/// Whether a schema gives the same bytes as that of the envelope, whatever its docs and spacing
/// are.
fn has_its_layout(schema: &[u8]) -> bool {
    let form = |text: &str| {
        apache_avro::Schema::parse_str(text).ok().map(|schema| schema.canonical_form())
    };
    let found = std::str::from_utf8(schema).ok().and_then(form);
    found.is_some_and(|found| {
        [ENVELOPE, EARLIER].into_iter().any(|ours| form(ours).as_ref() == Some(&found))
    })
}
