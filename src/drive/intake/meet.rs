//! A foreign message is read, and taken in or made a dead letter.

use super::records::Records;
use super::{Intake, Origin, Taken};
use yardmaster_core::event::Oversize;
use yardmaster_wire::dialect::{Dialect, Foreign, mended, read};

/// Key and value of a message; either may be null.
pub type KeyValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

impl Intake {
    /// Takes a foreign message in.
    pub fn meet(
        &mut self,
        dialect: Dialect,
        origin: Origin<'_>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        records: &mut Records,
    ) {
        self.meet_decoded(dialect, origin, (key, value), (key, value), records);
    }

    /// The same of a message that was decoded to JSON first; `raw` is what its topic holds. A dead
    /// letter has that, so that what is sent to the topic again is what was there.
    pub fn meet_decoded(
        &mut self,
        dialect: Dialect,
        origin: Origin<'_>,
        (key, value): KeyValue<'_>,
        raw: KeyValue<'_>,
        records: &mut Records,
    ) {
        let Some(value) = value else {
            return self.counts.count(dialect, Taken::Ignored);
        };
        let taken = match Oversize::of_record(value.len(), self.limits.max_record_bytes) {
            Some(why) => Err(why.to_string()),
            None => self.take(dialect, origin, (key, value), records).or_else(|why| {
                let mended = mended(value).ok_or(why)?;
                self.take(dialect, origin, (key, &mended), records)
            }),
        };
        match taken {
            Ok(taken) => self.counts.count(dialect, taken),
            Err(why) => {
                let (key, value) = (raw.0.unwrap_or(b""), raw.1.unwrap_or(b""));
                self.refuse(dialect, origin, key, value, why, records);
            }
        }
    }

    fn take(
        &mut self,
        dialect: Dialect,
        origin: Origin<'_>,
        (key, value): (Option<&[u8]>, &[u8]),
        records: &mut Records,
    ) -> Result<Taken, String> {
        match dialect {
            Dialect::PandaCdc => self
                .take_change(origin, key, value, records)
                .map_err(|why| format!("{}: {why}", dialect.name())),
            _ => self.take_message(dialect, origin, value, records),
        }
    }

    /// Takes a message of any other dialect in.
    fn take_message(
        &mut self,
        dialect: Dialect,
        origin: Origin<'_>,
        value: &[u8],
        records: &mut Records,
    ) -> Result<Taken, String> {
        let before = records.len();
        let is_known = match self.with_short_names(read(dialect, value)?)? {
            Foreign::Job(job) => self.job(&job, records),
            Foreign::Task(task) => self.publish_task(task, records),
            Foreign::Transfer(transfer) => self.transfer(&transfer, records),
            Foreign::Replica(replica) => self.replica(&replica, records),
            Foreign::Dataset(dataset) => self.dataset(dataset, records),
            Foreign::Workers(workers) => self.workers(&workers, origin, records),
            Foreign::Report(report) => self.report(&report, origin, records),
            Foreign::Other => false,
        };
        Ok(match (records.len() > before, is_known) {
            (true, _) => Taken::Published,
            (false, true) => Taken::Known,
            (false, false) => Taken::Ignored,
        })
    }

    /// Refuses a message with a name that no record of ours may have.
    fn with_short_names<'a>(&self, message: Foreign<'a>) -> Result<Foreign<'a>, String> {
        match Oversize::of_name(message.longest_name(), self.limits.name_bytes) {
            Some(why) => Err(why.to_string()),
            None => Ok(message),
        }
    }
}
