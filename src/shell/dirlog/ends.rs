//! Which records count: the last `progress` record in a directory has how far each own lane is
//! covered. What lies beyond was published by a process that died before it could finish.

use super::envelope::Parts;
use super::file::LaneFile;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_drive::port::LogError;

/// Header of a `progress` envelope: every own lane with its next offset, as text
/// (`decision/0=12,throttle/0=3`). In an archive input lanes too, so that a gap at a lane's end
/// is known to be one.
pub const ENDS_HEADER: &str = "yardmaster.ends";

/// Ends shared between the threads of one process.
pub type SharedEnds = Arc<Mutex<Ends>>;

/// Per lane, the next offset.
pub type Ends = BTreeMap<Lane, u64>;

/// The header's text.
pub fn to_text(ends: &Ends) -> String {
    let part =
        |(lane, next): (&Lane, &u64)| format!("{}/{}={next}", lane.topic.name(), lane.partition);
    ends.iter().map(part).collect::<Vec<_>>().join(",")
}

/// Reads the header's text; `None` when it is not one.
pub fn from_text(text: &str) -> Option<Ends> {
    let mut ends = Ends::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (lane, next) = part.split_once('=')?;
        let (topic, partition) = lane.split_once('/')?;
        let lane = Lane::new(Topic::from_name(topic)?, partition.parse().ok()?);
        ends.insert(lane, next.parse().ok()?);
    }
    Some(ends)
}

/// The ends that a `progress` record covers, itself included. `None` when it has no such header:
/// then it covers nothing.
pub fn of_record(lane: Lane, bytes: &[u8], parts: &Parts) -> Option<Ends> {
    let headers = parts.headers(bytes);
    let (_, value) = headers.iter().rev().find(|(name, _)| name == ENDS_HEADER)?;
    let mut ends = from_text(std::str::from_utf8(value).ok()?)?;
    ends.insert(lane, parts.offset + 1);
    Some(ends)
}

/// Follows the `progress` files of a directory.
pub struct Follower {
    progress_files: Vec<ProgressFile>,
    /// Covered ends of lanes, the furthest of all domains.
    pub ends: Ends,
}

/// One domain's `progress` file.
struct ProgressFile {
    lane: Lane,
    path: PathBuf,
    file: Option<LaneFile>,
    /// Up to where it was looked at.
    position: u64,
}

impl Follower {
    /// A follower of these files; `refresh` reads them.
    pub fn new(files: Vec<(Lane, PathBuf)>) -> Follower {
        let progress_file = |(lane, path)| ProgressFile { lane, path, file: None, position: 0 };
        Follower {
            progress_files: files.into_iter().map(progress_file).collect(),
            ends: Ends::new(),
        }
    }

    /// Looks for news.
    pub fn refresh(&mut self) -> Result<(), LogError> {
        for progress_file in &mut self.progress_files {
            progress_file.refresh(&mut self.ends)?;
        }
        Ok(())
    }
}

impl ProgressFile {
    fn refresh(&mut self, ends: &mut Ends) -> Result<(), LogError> {
        let first_time = self.file.is_none();
        if first_time {
            self.file = LaneFile::open(&self.path)?;
        }
        let Some(file) = &self.file else { return Ok(()) };
        if !first_time && file.length()? <= self.position {
            return Ok(());
        }
        let lane = self.lane;
        let mut position = self.position;
        let mut each = |bytes: &[u8], parts: &Parts, end: u64| {
            position = end;
            if let Some(covered) = of_record(lane, bytes, parts) {
                for (lane, next) in covered {
                    let known = ends.entry(lane).or_insert(0);
                    *known = next.max(*known);
                }
            }
        };
        if first_time {
            last_covering(file, lane, &mut each)?;
        } else {
            file.records_from(self.position.max(file.start), u64::MAX, &mut each)?;
        }
        self.position = position;
        Ok(())
    }
}

/// Gives the last records of a `progress` file, as many as it takes to meet one that covers
/// something.
fn last_covering(
    file: &LaneFile,
    lane: Lane,
    each: &mut dyn FnMut(&[u8], &Parts, u64),
) -> Result<(), LogError> {
    let mut window = 64 << 10;
    loop {
        let mut found = false;
        let whole = file.last_records(window, &mut |bytes, parts, _| {
            found |= of_record(lane, bytes, parts).is_some();
        })?;
        if found || whole {
            file.last_records(window, each)?;
            return Ok(());
        }
        window = window.saturating_mul(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_come_back() {
        let mut ends = Ends::new();
        assert_eq!(from_text(&to_text(&ends)), Some(ends.clone()));
        ends.insert(Lane::new(Topic::Decision, 0), 12);
        ends.insert(Lane::new(Topic::DeadLetter, 3), 0);
        assert_eq!(to_text(&ends), "decision/0=12,dead-letter/3=0");
        assert_eq!(from_text(&to_text(&ends)), Some(ends));
        for bad in ["decision", "decision/0", "decision/x=1", "nothing/0=1", "decision/0=-1"] {
            assert_eq!(from_text(bad), None, "{bad}");
        }
    }
}
