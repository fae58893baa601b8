//! Answers of a `run` to a grid on a Kafka: decisions, throttles and commands that count, each
//! once, from where the log ended when the grid began.

use crate::cli::outputs::TAIL;
use crate::ports::AnyLog;
use std::time::Duration;
use yardmaster_core::cut::{Cut, Topic};
use yardmaster_core::output::Output;
use yardmaster_drive::listing::Listing;
use yardmaster_drive::port::{Batch, Log, LogError};
use yardmaster_wire::avro::Codec;

/// Most records of one look.
const LOOK_RECORDS: usize = 10_000;

/// Reads the outputs of a `run` that count.
pub(super) struct OutputReader {
    codec: Codec,
    listing: Listing,
    /// Where reading goes on; empty before the log was opened.
    cut: Cut,
    batch: Batch,
}

impl OutputReader {
    /// Topics that are read.
    pub fn topics() -> impl Iterator<Item = Topic> {
        Output::TOPICS.iter().copied().chain([Topic::Progress])
    }

    /// Of a domain, with nothing read.
    pub fn new(domain: &str) -> OutputReader {
        OutputReader {
            codec: Codec::new(usize::MAX),
            listing: Listing::new(domain, Output::TOPICS),
            cut: Cut::default(),
            batch: Batch::default(),
        }
    }

    /// Begins to read a log where it was read to, or at its end: what was published before is not
    /// for this grid.
    pub fn open(&mut self, log: &mut AnyLog) -> Result<(), LogError> {
        let mut cut = Cut::default();
        for span in log.lanes()? {
            if !OutputReader::topics().any(|topic| topic == span.lane.topic) {
                continue;
            }
            // The cycles before show which one is the next.
            let back = if span.lane.topic == Topic::Progress { TAIL } else { 0 };
            let end = span.stable_end.saturating_sub(back);
            let next = self.cut.next(span.lane).unwrap_or(end);
            cut.advance(span.lane, next.clamp(span.first, span.end));
        }
        log.assign(&cut)?;
        self.cut = cut;
        Ok(())
    }

    /// New outputs; waits for them so long at most.
    pub fn take(&mut self, log: &mut AnyLog, wait: Duration) -> Result<Vec<Output>, LogError> {
        self.batch.clear();
        log.take(&mut self.batch, LOOK_RECORDS, wait)?;
        for writer in &self.batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = self.codec.learn_number(writer);
        }
        let (batch, codec, listing) = (&self.batch, &self.codec, &mut self.listing);
        let mut news = Vec::new();
        for raw in &batch.records {
            let (place, value) = ((raw.lane, raw.offset), batch.value(raw));
            self.cut.advance(raw.lane, raw.offset + 1);
            match raw.lane.topic {
                Topic::Progress => news.extend(listing.progress(codec, place, value)),
                _ => news.extend(listing.output(codec, place, value, &|_| true)),
            }
        }
        Ok(news.into_iter().map(|listed| listed.output).collect())
    }

    /// Notices on records that were passed over, for people.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.listing.take_notices()
    }
}
