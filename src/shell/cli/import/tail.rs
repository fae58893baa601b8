//! A topic of the log that is read on from where it was read last.

use crate::cli::log_args::{LogArgs, dir_topics, may_hold_log};
use crate::dirlog::envelope::Envelope;
use crate::dirlog::{DirLog, DirOptions, Mode};
use crate::scan::Scan;
use std::collections::BTreeMap;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_wire::topology::Topology;

/// How far a topic was read.
#[derive(Default)]
pub struct TopicTail {
    /// Where reading goes on in each lane.
    next: BTreeMap<Lane, u64>,
}

/// A thing that is found in a topic.
pub enum TailRecord<'a> {
    /// A record.
    Record(&'a Envelope<'a>),
    /// The topic was made again: what was read of it before is gone.
    Again,
}

impl TopicTail {
    /// Reads what was appended to a topic since the last time.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read(
        &mut self,
        log_args: &LogArgs,
        topology: &Topology,
        topic: Topic,
        each: &mut dyn FnMut(TailRecord<'_>),
    ) -> anyhow::Result<()> {
        let Some(mut scan) = open(log_args, topology, topic)? else { return Ok(()) };
        let spans: Vec<_> =
            scan.spans()?.into_iter().filter(|span| span.lane.topic == topic).collect();
        let next = |lane: &Lane| self.next.get(lane).copied().unwrap_or(0);
        if spans.iter().any(|span| span.end < next(&span.lane)) {
            self.next.clear();
            each(TailRecord::Again);
        }
        for span in spans {
            let from = self.next.get(&span.lane).copied().unwrap_or(0).max(span.first);
            scan.read(span.lane, from, span.stable_end, &mut |record| {
                each(TailRecord::Record(record));
                Ok(())
            })?;
            self.next.insert(span.lane, span.stable_end.max(from));
        }
        Ok(())
    }
}

/// The log, to be read; `None`: it is a directory that is not there yet.
fn open(log_args: &LogArgs, topology: &Topology, topic: Topic) -> anyhow::Result<Option<Scan>> {
    let Some(dir) = &log_args.dir else { return log_args.scan_of(topology, topic).map(Some) };
    let topics = dir_topics(topology);
    may_hold_log(dir, &topics)?;
    if !dir.exists() {
        return Ok(None);
    }
    let log = DirLog::open(dir, Mode::Read, &topics, DirOptions::default())?;
    Ok(Some(Scan::Dir(Box::new(log))))
}
