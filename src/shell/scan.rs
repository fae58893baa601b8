//! Either log, read lane by lane with all that is known of each record.

use crate::dirlog::DirLog;
use crate::dirlog::envelope::Envelope;
use crate::kafka::KafkaScan;
use yardmaster_core::cut::Lane;
use yardmaster_drive::port::{LaneSpan, Log, LogError};

/// A log that is read without being followed.
pub enum Scan {
    /// A directory.
    Dir(Box<DirLog>),
    /// A Kafka.
    Kafka(Box<KafkaScan>),
}

impl Scan {
    /// Every lane with its extent now.
    pub fn spans(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        match self {
            Scan::Dir(log) => log.lanes(),
            Scan::Kafka(log) => log.spans(),
        }
    }

    /// Hands over the committed records of a lane from offset `from` on and below `below`, in
    /// order. After an error of `each` none follows.
    pub fn read(
        &mut self,
        lane: Lane,
        from: u64,
        below: u64,
        each: &mut dyn FnMut(&Envelope<'_>) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        match self {
            Scan::Dir(log) => log.scan(lane, from, below, each),
            Scan::Kafka(log) => log.read(lane, from, below, each),
        }
    }
}
