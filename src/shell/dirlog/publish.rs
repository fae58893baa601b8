//! How a cycle is written to a directory: outputs first, then the `progress` record that covers
//! them. A crash in between leaves outputs that nothing covers; they are cut back.

use super::append::Appender;
use super::ends::{self, ENDS_HEADER, Ends, SharedEnds};
use super::envelope::{Envelope, Stamp};
use super::{Clock, Home};
use crate::commit::Committed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_drive::port::{LogError, OutputRecord};

/// The own lanes of a directory, open for writing.
pub struct OwnLanes {
    lanes: BTreeMap<Lane, Appender>,
    covered: SharedEnds,
    sync: bool,
    clock: Clock,
}

impl OwnLanes {
    /// Opens the own lanes of a directory and cuts them back to what is covered. `notices` gets
    /// what was cut.
    pub fn open(
        home: &Home,
        covered: &SharedEnds,
        notices: &mut Vec<String>,
    ) -> Result<OwnLanes, LogError> {
        let lanes = recover(home, notices)?;
        let ends: Ends = lanes.iter().map(|(lane, file)| (*lane, file.next)).collect();
        *covered.lock().unwrap_or_else(PoisonError::into_inner) = ends;
        let (clock, sync) = (home.options.clock.clone(), home.options.sync);
        Ok(OwnLanes { lanes, covered: covered.clone(), sync, clock })
    }

    /// Writes a cycle: its outputs, then its `progress` record.
    pub fn publish(&mut self, outputs: &[OutputRecord], progress: &OutputRecord) -> Committed {
        let now = (self.clock)();
        let mut touched = BTreeSet::new();
        for output in outputs {
            touched.insert(output.lane);
            self.push(output, &output.headers, now)?;
        }
        for lane in touched {
            self.write(lane)?;
        }
        let mut ends: Ends = self.lanes.iter().map(|(lane, file)| (*lane, file.next)).collect();
        ends.retain(|lane, _| lane.topic != Topic::Progress);
        let mut headers = progress.headers.clone();
        headers.push((ENDS_HEADER.to_string(), ends::to_text(&ends).into_bytes()));
        self.push(progress, &headers, now)?;
        self.write(progress.lane)?;
        ends.insert(progress.lane, self.lanes[&progress.lane].next);
        self.covered.lock().unwrap_or_else(PoisonError::into_inner).extend(ends);
        Ok(())
    }

    fn push(
        &mut self,
        output: &OutputRecord,
        headers: &[(String, Vec<u8>)],
        timestamp: i64,
    ) -> Result<(), LogError> {
        let file = self.lanes.get_mut(&output.lane).ok_or_else(|| no_such_lane(output.lane))?;
        file.push(&Envelope {
            offset: file.next,
            timestamp,
            stamp: Stamp::Append,
            key: Some(&output.key),
            value: output.value.as_deref(),
            headers,
        });
        Ok(())
    }

    fn write(&mut self, lane: Lane) -> Result<(), LogError> {
        let file = self.lanes.get_mut(&lane).ok_or_else(|| no_such_lane(lane))?;
        file.write()?;
        if self.sync { file.sync() } else { Ok(()) }
    }
}

/// Opens every own lane for writing and cuts it back to what the last `progress` record covers
/// of which all is there.
fn recover(home: &Home, notices: &mut Vec<String>) -> Result<BTreeMap<Lane, Appender>, LogError> {
    let mut lanes = BTreeMap::new();
    for (lane, dir_lane) in home.lanes.iter().filter(|(lane, _)| lane.topic.is_own()) {
        let (file, torn) =
            Appender::open(&dir_lane.path, &dir_lane.topic, *lane, home.options.sync)?;
        if torn > 0 {
            notices
                .push(format!("{}: cut off {torn} bytes of a torn block", dir_lane.path.display()));
        }
        lanes.insert(*lane, file);
    }
    let mut ends = Ends::new();
    for (lane, file) in lanes.iter().filter(|(lane, _)| lane.topic == Topic::Progress) {
        for (lane, next) in last_true(*lane, file, &lanes)? {
            let known = ends.entry(lane).or_insert(0);
            *known = next.max(*known);
        }
    }
    for (lane, file) in &mut lanes {
        let gone = file.cut_back(ends.get(lane).copied().unwrap_or(0))?;
        if gone > 0 {
            notices.push(format!(
                "{}: cut back by {gone} records to offset {}: no progress record covers them",
                file.file().path().display(),
                file.next
            ));
        }
        if home.options.sync {
            file.sync()?;
        }
    }
    Ok(lanes)
}

/// The ends of the last record in a `progress` file whose outputs are all there.
fn last_true(
    lane: Lane,
    file: &Appender,
    lanes: &BTreeMap<Lane, Appender>,
) -> Result<Ends, LogError> {
    let there = |ends: &Ends| {
        let mut own = ends.iter().filter(|(lane, _)| lane.topic.is_own());
        own.all(|(lane, next)| lanes.get(lane).is_none_or(|file| file.next >= *next))
    };
    let mut window = 64 << 10;
    loop {
        let mut last = None;
        let whole = file.file().last_records(window, &mut |bytes, parts, _| {
            if let Some(ends) = ends::of_record(lane, bytes, parts).filter(|ends| there(ends)) {
                last = Some(ends);
            }
        })?;
        match last {
            Some(ends) => return Ok(ends),
            None if whole => return Ok(Ends::new()),
            None => window = window.saturating_mul(4),
        }
    }
}

pub(super) fn no_such_lane(lane: Lane) -> LogError {
    LogError::Stop(format!("the directory has no lane {lane}: name its topic in the topology"))
}
