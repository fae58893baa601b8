//! Records of a directory with all that is known of them, headers included, as the drive does not
//! need them.

use super::file::LaneFile;
use super::publish::no_such_lane;
use super::{DirLog, envelope::Envelope};
use yardmaster_core::cut::Lane;
use yardmaster_drive::port::LogError;

impl DirLog {
    /// Gives the readable records of a lane from offset `from` on and below `below`, in order.
    /// After an error of `each` none follows.
    pub fn scan(
        &mut self,
        lane: Lane,
        from: u64,
        below: u64,
        each: &mut dyn FnMut(&Envelope<'_>) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let limit = DirLog::bounds(lane, &self.ends()?, &self.written()).limit.min(below);
        let dir_lane = self.home.lanes.get(&lane).ok_or_else(|| no_such_lane(lane))?;
        let Some(file) = LaneFile::open(&dir_lane.path)? else { return Ok(()) };
        let mut outcome = Ok(());
        file.records_from(file.seek(from)?, limit, &mut |bytes, parts, _| {
            if outcome.is_ok() && (from..limit).contains(&parts.offset) {
                outcome = each(&parts.envelope(bytes, &parts.headers(bytes)));
            }
        })?;
        outcome
    }
}
