//! The log as a follower of commands reads it: those that count, what became of them, and the kill
//! switch.

use crate::cli::outputs::{TAIL, cycles_from, read_to_end};
use crate::ports::AnyLog;
use std::time::Duration;
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::event::{
    Configuration, Configured, DecisionOutcome, Event, OutcomeAbout, Parameter,
};
use yardmaster_core::fold::Written;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::{Command, CommandId};
use yardmaster_core::state::commands::CommandAnswer;
use yardmaster_core::unit::Millis;
use yardmaster_drive::listing::{Listed, Listing};
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Raw};
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::topology::Topology;

/// Most records of one look.
const LOOK_RECORDS: usize = 1_000;

/// A new record.
pub(super) enum NewRecord {
    /// A command that counts.
    Published(Box<Command>),
    /// An outcome about a command.
    Answered(CommandId, CommandAnswer),
    /// A record of a parameter of this name was written, or removed.
    Parameter { written: Written, name: String, record: Option<Box<Parameter>> },
}

/// Reads commands, outcomes and parameters of a log from where it ended at the start.
pub(super) struct CommandLog {
    log: AnyLog,
    codec: Codec,
    listing: Listing,
    /// How far ahead of the log's stamp a stated time may lie; ms.
    ahead: Millis,
    batch: Batch,
    /// How far the lanes reached at the start.
    spans: Vec<LaneSpan>,
    paused: bool,
}

impl CommandLog {
    /// Asks a log how far some topics reach, to be read from there on.
    pub fn open(
        mut log: AnyLog,
        topology: &Topology,
        topics: &[Topic],
    ) -> Result<CommandLog, LogError> {
        let mut spans = log.lanes()?;
        spans.retain(|span| topics.contains(&span.lane.topic));
        Ok(CommandLog {
            log,
            codec: Codec::new(usize::MAX),
            listing: Listing::new(&topology.domain, &[Topic::Command]),
            ahead: topology.limits.own_time_ahead_ms,
            batch: Batch::default(),
            spans,
            paused: false,
        })
    }

    /// The log itself, before it is followed.
    pub fn log(&mut self) -> &mut AnyLog {
        &mut self.log
    }

    /// The `now` of the newest cycle read.
    pub fn now(&self) -> Millis {
        self.listing.now()
    }

    /// Whether the broker does not answer.
    pub fn is_unreachable(&self) -> bool {
        self.log.is_unreachable()
    }

    /// Notices on records that were passed over, for people.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.listing.take_notices()
    }

    /// Reads what the log has up to where it reached at the start, as long as `goes_on`: commands
    /// that are wanted and count, then outcomes, then parameters.
    pub fn read_back(
        &mut self,
        wants: &dyn Fn(&Command) -> bool,
        goes_on: &dyn Fn() -> bool,
        mut take: impl FnMut(NewRecord),
    ) -> Result<(), LogError> {
        let of = |topic| self.spans.iter().filter(move |it| it.lane.topic == topic).copied();
        let commands: Vec<LaneSpan> = of(Topic::Command).collect();
        let first = |span: &LaneSpan| span.first;
        let wants = |it: &Output| matches!(it, Output::Command(command) if wants(command));
        let listing = &mut self.listing;
        read_to_end(&mut self.log, &commands, first, &mut self.codec, &mut |codec, batch, raw| {
            // None counts before its cycle is read.
            let place = (raw.lane, raw.offset);
            drop(listing.output(codec, place, batch.value(raw), &wants));
            goes_on()
        })?;
        self.read_cycles(goes_on, &mut take)?;
        let of = |topic| self.spans.iter().filter(move |it| it.lane.topic == topic).copied();
        let others: Vec<LaneSpan> = of(Topic::Outcome).chain(of(Topic::Parameter)).collect();
        let ahead = self.ahead;
        read_to_end(&mut self.log, &others, first, &mut self.codec, &mut |codec, batch, raw| {
            other_news(codec, ahead, batch, raw).into_iter().for_each(&mut take);
            goes_on()
        })
    }

    /// Reads `progress` from its last record on that no command waits for an older one.
    fn read_cycles(
        &mut self,
        goes_on: &dyn Fn() -> bool,
        take: &mut dyn FnMut(NewRecord),
    ) -> Result<(), LogError> {
        let cycles = self.spans.iter().find(|span| span.lane.topic == Topic::Progress).copied();
        let Some(cycles) = cycles else { return Ok(()) };
        let wanted = self.listing.oldest_wanted();
        let domain = self.listing.domain();
        let from = cycles_from(&mut self.log, &mut self.codec, domain, &cycles, wanted)?;
        let listing = &mut self.listing;
        let from = |_: &LaneSpan| from;
        read_to_end(&mut self.log, &[cycles], from, &mut self.codec, &mut |codec, batch, raw| {
            let counting = listing.progress(codec, (raw.lane, raw.offset), batch.value(raw));
            counting.into_iter().filter_map(published).for_each(&mut *take);
            goes_on()
        })
    }

    /// Begins to follow where the log ended at the start. Of `progress` the last records are read
    /// again unless that was done: a command may become visible later than its cycle.
    pub fn follow(&mut self) -> Result<(), LogError> {
        let is_read = self.listing.now() != 0;
        let mut cut = Cut::default();
        for span in &self.spans {
            let back = if span.lane.topic == Topic::Progress && !is_read { TAIL } else { 0 };
            cut.advance(span.lane, span.stable_end.saturating_sub(back).max(span.first));
        }
        self.log.assign(&cut)
    }

    /// Stops reading commands and their cycles, or goes on with it.
    pub fn set_paused(&mut self, paused: bool) -> Result<(), LogError> {
        if self.paused == paused {
            return Ok(());
        }
        self.paused = paused;
        let is_paused = |lane: &Lane| matches!(lane.topic, Topic::Command | Topic::Progress);
        let lanes: Vec<Lane> = self.spans.iter().map(|it| it.lane).filter(is_paused).collect();
        self.log.set_paused(&lanes, paused)
    }

    /// New records; waits for them so long at most.
    pub fn take(&mut self, wait: Duration) -> Result<Vec<NewRecord>, LogError> {
        self.batch.clear();
        self.log.take(&mut self.batch, LOOK_RECORDS, wait)?;
        for writer in &self.batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = self.codec.learn_number(writer);
        }
        let (batch, codec) = (&self.batch, &self.codec);
        let mut news = Vec::new();
        for raw in &batch.records {
            let (place, value) = ((raw.lane, raw.offset), batch.value(raw));
            match raw.lane.topic {
                Topic::Command => {
                    let counting = self.listing.output(codec, place, value, &|_| true);
                    news.extend(counting.and_then(published));
                }
                Topic::Progress => {
                    let counting = self.listing.progress(codec, place, value);
                    news.extend(counting.into_iter().filter_map(published));
                }
                _ => news.extend(other_news(codec, self.ahead, batch, raw)),
            }
        }
        Ok(news)
    }
}

/// A command that counts.
fn published(listed: Listed) -> Option<NewRecord> {
    let Output::Command(command) = listed.output else { return None };
    Some(NewRecord::Published(command))
}

/// The news of an outcome or a parameter; `None`: the record is neither.
fn other_news(codec: &Codec, ahead: Millis, batch: &Batch, raw: &Raw) -> Option<NewRecord> {
    let bound = raw.appended_at.saturating_add(ahead);
    let written = Written { lane: raw.lane, at: raw.appended_at };
    let mut arena = Arena::default();
    match codec.read(raw.lane.topic, batch.key(raw), batch.value(raw), &mut arena) {
        Event::Outcome(DecisionOutcome {
            about: OutcomeAbout::Command,
            decision,
            kind,
            at,
            reason,
            ..
        }) => {
            let answer = CommandAnswer { at: at.min(bound), kind, reason };
            Some(NewRecord::Answered(CommandId(decision.0), answer))
        }
        Event::Configuration(record) => match *record {
            Configuration::Parameter(record) => {
                let (name, record) = (record.name(), Some(Box::new(record)));
                Some(NewRecord::Parameter { written, name, record })
            }
            _ => None,
        },
        Event::Removed { name, .. } => {
            Some(NewRecord::Parameter { written, name: name.to_owned(), record: None })
        }
        _ => None,
    }
}
