//! `archive`: every topic of a Kafka copied to a directory log, record by record.
//!
//! The end of `progress` is fixed first, and all other lanes are copied at least as far as they
//! reached then; `progress` itself comes last, and only its last record covers anything. So a
//! reader of the directory sees the log as it was when `progress` was last copied whole, whatever
//! ended this process and whenever; starting it again goes on behind the last whole block.

use crate::cli::log_args::{self, LogArgs, Read};
use crate::cli::progress::{self, Bar, note};
use crate::cli::{Ended, Usage};
use crate::dirlog::envelope::Envelope;
use crate::dirlog::{Content, DirLog, DirOptions, DirTopic, DirWriter, Mode};
use crate::kafka::{KafkaScan, TopicMap};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::output::progress::Progress;
use yardmaster_drive::port::{LaneSpan, Log, LogError};
use yardmaster_wire::avro::Codec;
use yardmaster_wire::topology::Topology;

/// How often it reports how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// How far before its end `progress` is read to find its newest record: markers and aborted
/// records lie between.
const TAIL: u64 = 256;

/// Copies all topics of the topology from a Kafka to a directory log, which `replay`, `explain` and
/// every Avro tool can read. Run again, it goes on where it stopped.
///
/// Examples:
///   yardmaster archive --bootstrap-server kafka:9092 --dir 2026-05
///   yardmaster replay --dir 2026-05 --verify
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Archive {
    /// Kafka to read: host:port, several separated by commas.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Log")]
    bootstrap_server: String,
    /// Directory to write: a new one, an empty one, or an earlier archive of the same Kafka.
    #[arg(long, value_name = "DIR", help_heading = "Log")]
    dir: PathBuf,
    /// Topology file, or the name of a built-in topology: atlas, panda, nordugrid, cms. Without it
    /// the one for ATLAS.
    #[arg(long, value_name = "FILE|NAME", help_heading = "Log")]
    topology: Option<PathBuf>,
    /// File of librdkafka properties, key=value a line, # for comments.
    #[arg(long, value_name = "FILE", help_heading = "Kafka")]
    command_config: Option<PathBuf>,
    /// A librdkafka property; wins over the file, and both over the topology.
    #[arg(short = 'X', value_name = "KEY=VALUE", help_heading = "Kafka")]
    property: Vec<String>,
}

impl Archive {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = Read::open(self.topology.as_deref())?;
        log_args::may_hold_log(&self.dir, &log_args::dir_topics(&read.topology))?;
        let log = self.log(&read)?;
        for name in log.absent() {
            note(&format!("{name}: not there, not copied; nothing reads or writes it yet"));
        }
        // What is known of `progress` must not be older than what is known of the others.
        let progress = ends_of_progress(&log)?;
        let mut spans = log.spans()?;
        for span in &mut spans {
            if let Some(fixed) = progress.iter().find(|fixed| fixed.lane == span.lane) {
                span.stable_end = fixed.stable_end;
            }
        }
        spans.sort_by_key(|span| (span.lane.topic == Topic::Progress, span.lane));
        let topics = dir_topics(&read.topology, &spans);
        self.check(&log, &topics, &spans)?;
        let mut writer = DirWriter::archive(&self.dir, &topics, DirOptions::default())?;
        let mut copy = Copy::begin(&mut writer, &spans)?;
        copy.newest = newest_cycle(&log, &progress)?;
        for span in &spans {
            copy.lane(&log, span)?;
        }
        let (records, bytes, held) = (copy.records, copy.bytes, copy.held);
        drop(copy);
        writer.flush()?;
        for notice in writer.notices() {
            eprintln!("{notice}");
        }
        println!("records {records}");
        println!("bytes {bytes}");
        println!("records before {held}");
        Ok(ExitCode::SUCCESS)
    }

    fn log(&self, read: &Read) -> anyhow::Result<KafkaScan> {
        let log_args = LogArgs {
            bootstrap_server: Some(self.bootstrap_server.clone()),
            dir: None,
            topology: Vec::new(),
            command_config: self.command_config.clone(),
            property: self.property.clone(),
        };
        let mut conf = log_args.kafka(&read.topology)?;
        let name = |topic: &Topic| read.topology.topic(*topic).name.clone();
        let all = read.topology.topics.keys();
        let all = all.map(|topic| TopicMap { topic: *topic, name: name(topic) });
        conf.topics = all.collect();
        Ok(KafkaScan::open(conf, &read.topology.read_topics().collect::<Vec<_>>())?)
    }

    /// One directory holds one log: refuses a directory with anything else in it, and an archive
    /// whose last records are not those of this Kafka.
    fn check(
        &self,
        log: &KafkaScan,
        topics: &[DirTopic],
        spans: &[LaneSpan],
    ) -> anyhow::Result<()> {
        if Content::of(&self.dir, topics)? != Content::Log {
            return Ok(());
        }
        let dir = self.dir.display();
        let mut held = DirLog::open(&self.dir, Mode::Read, topics, DirOptions::default())?;
        for known in held.lanes()? {
            let is_progress = known.lane.topic == Topic::Progress;
            // What no cycle covers yet is not seen in the directory; it follows the rest.
            if known.lane.topic.is_own() && !is_progress {
                continue;
            }
            let Some(last) = known.end.checked_sub(1) else { continue };
            let there = spans.iter().find(|span| span.lane == known.lane);
            // Retention takes inputs between two archives.
            if !is_progress && there.is_some_and(|it| last < it.first) {
                continue;
            }
            let Some(there) = there.filter(|it| (it.first..it.stable_end).contains(&last)) else {
                let lane = known.lane;
                return Err(Usage(format!(
                    "{dir} has {lane} to offset {last}, which this Kafka does not have (any more): \
                     it is another log, or cycles between are gone; name another directory"
                ))
                .into());
            };
            let mut values = [None, None];
            held.scan(known.lane, last, known.end, &mut |record| keep(&mut values[0], record))?;
            log.read(there.lane, last, known.end, &mut |record| keep(&mut values[1], record))?;
            // An offset without a record: a transaction's marker, or compaction took it.
            let is_gone = !is_progress && values.iter().any(Option::is_none);
            if values[0] != values[1] && !is_gone {
                return Err(Usage(format!(
                    "{dir} holds another log: its record at offset {last} of {} is not the one of \
                     this Kafka; name another directory",
                    known.lane
                ))
                .into());
            }
        }
        Ok(())
    }
}

fn keep(value: &mut Option<Vec<u8>>, record: &Envelope<'_>) -> Result<(), LogError> {
    *value = record.value.map(<[u8]>::to_vec);
    Ok(())
}

fn ends_of_progress(log: &KafkaScan) -> Result<Vec<LaneSpan>, LogError> {
    let mut spans = log.spans()?;
    spans.retain(|span| span.lane.topic == Topic::Progress);
    Ok(spans)
}

/// Epoch and number of the last cycle to be copied. Decisions of later ones may be there by now;
/// without their cycle they would be outputs that were never confirmed.
fn newest_cycle(log: &KafkaScan, progress: &[LaneSpan]) -> Result<(u64, u64), LogError> {
    let codec = Codec::default();
    let mut newest = (0, 0);
    for span in progress {
        let from = span.stable_end.saturating_sub(TAIL).max(span.first);
        log.read(span.lane, from, span.stable_end, &mut |record| {
            if let Some(Ok(cycle)) = record.value.map(|value| codec.read_record::<Progress>(value))
            {
                newest = newest.max((cycle.epoch, cycle.number));
            }
            Ok(())
        })?;
    }
    Ok(newest)
}

/// The topics of a directory, with as many partitions as the broker has.
fn dir_topics(topology: &Topology, spans: &[LaneSpan]) -> Vec<DirTopic> {
    let topic = |topic: &Topic| {
        let lanes = spans.iter().filter(|span| span.lane.topic == *topic);
        let partitions = lanes.map(|span| span.lane.partition + 1).max()?;
        Some(DirTopic { topic: *topic, name: topology.topic(*topic).name.clone(), partitions })
    };
    Topic::ALL.iter().filter_map(topic).collect()
}

/// A copy under way.
struct Copy<'a> {
    writer: &'a mut DirWriter,
    /// Offsets to be read in all, and those that were.
    wanted: u64,
    passed: u64,
    records: u64,
    bytes: u64,
    /// Offsets that an earlier run had copied.
    held: u64,
    /// The last cycle that is copied: epoch and number.
    newest: (u64, u64),
    codec: Codec,
    began: Instant,
    reported_at: Instant,
    bar: Bar,
}

impl<'a> Copy<'a> {
    fn begin(writer: &'a mut DirWriter, spans: &[LaneSpan]) -> Result<Copy<'a>, LogError> {
        let (mut wanted, mut held) = (0, 0);
        for span in spans {
            let next = writer.next(span.lane)?;
            held += next.saturating_sub(span.first);
            wanted += span.stable_end.saturating_sub(next.max(span.first));
        }
        let now = Instant::now();
        let (passed, records, bytes) = (0, 0, 0);
        let (newest, codec) = ((0, 0), Codec::default());
        let (began, reported_at) = (now, now);
        let bar = Bar::new("copying", "offsets", wanted);
        Ok(Copy {
            writer,
            wanted,
            passed,
            records,
            bytes,
            held,
            newest,
            codec,
            began,
            reported_at,
            bar,
        })
    }

    /// Copies what is missing of a lane.
    fn lane(&mut self, log: &KafkaScan, span: &LaneSpan) -> Result<(), LogError> {
        let lane = span.lane;
        let next = self.writer.next(lane)?;
        let mut from = next.max(span.first);
        if next > 0 && from > next {
            let last = from - 1;
            note(&format!("{lane}: offsets {next} to {last} were gone before they were copied"));
        }
        loop {
            let before = self.passed;
            let copied = log.read(lane, from, span.stable_end, &mut |record| {
                self.passed = before + record.offset + 1 - from;
                self.put(lane, record, span.stable_end)
            });
            match copied {
                // Retention went on meanwhile; of `progress` every record is needed.
                Err(LogError::OutOfRange { first, .. }) if lane.topic != Topic::Progress => {
                    from = first.max(self.writer.next(lane)?);
                    note(&format!(
                        "{lane}: retention took offsets below {first} while it was copied"
                    ));
                }
                copied => {
                    copied?;
                    self.passed = before + span.stable_end.saturating_sub(from);
                    break;
                }
            }
        }
        if lane.topic == Topic::Progress {
            return self.writer.cover();
        }
        if !lane.topic.is_own() {
            self.writer.pass(lane, span.stable_end);
        }
        Ok(())
    }

    /// Epoch and cycle of an output; `None` for any other record.
    fn moment(&self, topic: Topic, value: &[u8]) -> Option<(u64, u64)> {
        let is_output = topic.is_folded_output();
        let output = is_output.then(|| self.codec.read_output(topic, value).ok()).flatten()?;
        let (epoch, cycle, _) = output.moment();
        Some((epoch, cycle))
    }

    fn put(&mut self, lane: Lane, record: &Envelope<'_>, end: u64) -> Result<(), LogError> {
        if record.value.and_then(|value| self.moment(lane.topic, value)) > Some(self.newest) {
            return Ok(());
        }
        self.writer.copy(lane, record)?;
        self.records += 1;
        self.bytes +=
            (record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)) as u64;
        self.bar.at(self.passed);
        if self.reported_at.elapsed() >= REPORT_EVERY && !progress::is_drawn() {
            self.reported_at = Instant::now();
            let seconds = self.began.elapsed().as_secs_f64();
            let share = self.passed as f64 / self.wanted.max(1) as f64 * 100.0;
            eprintln!(
                "{lane} at {} of {end}, {share:.0} % of all, {:.0} records/s, {:.1} MB/s",
                record.offset,
                self.records as f64 / seconds,
                self.bytes as f64 / seconds / 1e6
            );
        }
        Ok(())
    }
}
