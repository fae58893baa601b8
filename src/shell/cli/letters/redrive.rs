//! Dead letters said again, after whatever made them unreadable was mended.
//!
//! The new record stands on the lane the old one stood on, under the same key, and carries the
//! place it was taken from in a header. That header is the memory: before anything is written the
//! lane is searched for it, so a letter is not said twice, whoever said it, however this ended.

use super::letter::{Letter, Origin};
use super::show::reads;
use super::{Filter, each_letter, lane_of, open, origin};
use crate::core::cut::Lane;
use crate::core::event::Garbled;
use crate::core::id::hash;
use crate::drive::port::LogError;
use crate::shell::cli::place::{Place, Read};
use crate::shell::cli::{Ended, Usage};
use crate::shell::clock;
use crate::shell::dirlog::envelope::Envelope;
use crate::shell::dirlog::{DirWriter, Mode};
use crate::shell::kafka::KafkaWriter;
use crate::shell::whole::Whole;
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// Header of a record that was said again: where it stood, as TOPIC/PARTITION/OFFSET.
const REDRIVEN_FROM: &str = "yardmaster-redriven-from";

/// What is said again.
#[derive(Args)]
pub struct Redrive {
    #[command(flatten)]
    place: Place,
    /// Which: where the records stood. Or all of a --reason.
    #[arg(value_name = "TOPIC/PARTITION/OFFSET", value_parser = origin)]
    #[arg(required_unless_present = "reason")]
    from: Vec<Origin>,
    #[command(flatten)]
    filter: Filter,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also those that were said again before.
    #[arg(long)]
    again: bool,
    /// Also those that this version by this topology cannot read either.
    #[arg(long)]
    even_unreadable: bool,
}

/// Where new records go.
enum Pen {
    Dir(DirWriter),
    Kafka(KafkaWriter),
    /// Nowhere: it is a dry run.
    Dry,
}

/// What became of the chosen letters.
#[derive(Default)]
struct Tally {
    written: BTreeMap<Lane, BTreeSet<String>>,
    /// Letters that were said again earlier.
    before: usize,
    /// Why others were not.
    troubles: Vec<String>,
}

impl Redrive {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.place.read()?;
        let mut wanted = BTreeSet::new();
        for from in &self.from {
            let topic = lane_of(&read, from)?.topic.name().to_owned();
            wanted.insert(Origin { topic, ..from.clone() });
        }
        let mode = if self.dry_run { Mode::Read } else { Mode::Write };
        let mut log = open(&self.place, &read, mode)?;
        let chosen = self.choose(&mut log, &read, &wanted)?;
        let missing = wanted.iter().find(|origin| !chosen.values().any(|it| it.contains(origin)));
        if let Some(origin) = missing {
            let why = "no dead letter of it; `yardmaster dead-letters` lists what there is";
            return Err(Usage(format!("{origin}: {why}")).into());
        }
        let ends = log.spans()?.iter().map(|span| (span.lane, span.stable_end)).collect();
        let mut marked = BTreeSet::new();
        for (lane, origins) in &chosen {
            let first = origins.first().map_or(0, |origin| origin.offset);
            marked.extend(marks(&mut log, *lane, first)?);
        }
        let pen = self.pen(&read, &log)?;
        let mut tally = self.write(&mut log, &read, &chosen, &marked, pen)?;
        self.confirm(&mut log, &ends, &mut tally)?;
        Ok(self.tell(chosen.values().map(BTreeSet::len).sum(), &tally))
    }

    /// The letters that are meant, by the lane they stood in, without their bytes.
    fn choose(
        &self,
        log: &mut Whole,
        read: &Read,
        wanted: &BTreeSet<Origin>,
    ) -> anyhow::Result<BTreeMap<Lane, BTreeSet<Origin>>> {
        let mut chosen: BTreeMap<Lane, BTreeSet<Origin>> = BTreeMap::new();
        each_letter(log, read, &self.filter, &mut |letter| {
            let Some(origin) = letter.origin else { return Ok(()) };
            let Ok(lane) = lane_of(read, &origin) else { return Ok(()) };
            if wanted.is_empty() || wanted.contains(&origin) {
                chosen.entry(lane).or_default().insert(origin);
            }
            Ok(())
        })?;
        Ok(chosen)
    }

    fn pen(&self, read: &Read, log: &Whole) -> anyhow::Result<Pen> {
        Ok(match log {
            _ if self.dry_run => Pen::Dry,
            Whole::Dir(log) => Pen::Dir(log.writer()?),
            Whole::Kafka(_) => Pen::Kafka(KafkaWriter::open(&self.place.kafka(&read.topology)?)?),
        })
    }

    /// Reads the chosen letters once more, now with their bytes, and writes one after the other.
    fn write(
        &self,
        log: &mut Whole,
        read: &Read,
        chosen: &BTreeMap<Lane, BTreeSet<Origin>>,
        marked: &BTreeSet<String>,
        mut pen: Pen,
    ) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let (mut cut, mut done) = (Vec::new(), BTreeSet::new());
        each_letter(log, read, &self.filter, &mut |letter| {
            let Some(origin) = letter.origin.clone() else { return Ok(()) };
            let Ok(lane) = lane_of(read, &origin) else { return Ok(()) };
            let meant = chosen.get(&lane).is_some_and(|origins| origins.contains(&origin));
            if !meant || !done.insert(origin.clone()) {
                return Ok(());
            }
            if marked.contains(&origin.to_string()) && !self.again {
                tally.before += 1;
                return Ok(());
            }
            if letter.is_cut() {
                cut.push(Cut::of(lane, origin, &letter));
                return Ok(());
            }
            self.put(read, &mut pen, &Record::of(read, lane, origin, letter), &mut tally)
        })?;
        for cut in cut {
            match cut.fetch(log)? {
                Ok(record) => self.put(read, &mut pen, &record, &mut tally)?,
                Err(why) => tally.troubles.push(format!("{}: {why}", cut.origin)),
            }
        }
        match &mut pen {
            Pen::Dir(writer) => writer.flush()?,
            Pen::Kafka(writer) => writer.flush()?,
            Pen::Dry => {}
        }
        Ok(tally)
    }

    fn put(
        &self,
        read: &Read,
        pen: &mut Pen,
        record: &Record,
        tally: &mut Tally,
    ) -> Result<(), LogError> {
        let Record { lane, origin, key, value, headers } = record;
        let (key, value) = (key.as_deref(), value.as_deref());
        if let Err(why) = reads(read, lane.topic, key.unwrap_or_default(), value)
            && !self.even_unreadable
        {
            tally.troubles.push(format!(
                "{origin}: still unreadable to this version by this topology: {}; mend that first, \
                 or give --even-unreadable",
                why.name()
            ));
            return Ok(());
        }
        match pen {
            Pen::Dir(writer) => {
                writer.append(*lane, key, value, headers, clock::now())?;
            }
            Pen::Kafka(writer) => {
                let name = &read.topology.topic(lane.topic).name;
                writer.append(name, Some(lane.partition), key, value, headers, None)?;
            }
            Pen::Dry => {}
        }
        tally.written.entry(*lane).or_default().insert(origin.to_string());
        Ok(())
    }

    /// Reads back what was written: what is not found again is a trouble.
    fn confirm(
        &self,
        log: &mut Whole,
        ends: &BTreeMap<Lane, u64>,
        tally: &mut Tally,
    ) -> anyhow::Result<()> {
        if self.dry_run {
            return Ok(());
        }
        for (lane, origins) in &tally.written {
            let found = marks(log, *lane, ends.get(lane).copied().unwrap_or(0))?;
            let lost = origins.iter().filter(|origin| !found.contains(*origin));
            let lost =
                lost.map(|origin| format!("{origin}: written, and not found again in {lane}"));
            tally.troubles.extend(lost);
        }
        Ok(())
    }

    fn tell(&self, chosen: usize, tally: &Tally) -> ExitCode {
        for trouble in &tally.troubles {
            eprintln!("{trouble}");
        }
        let written: usize = tally.written.values().map(BTreeSet::len).sum();
        let did = if self.dry_run { "would be redriven" } else { "redriven and read back" };
        for (lane, origins) in &tally.written {
            println!("{lane}: {} {did}", origins.len());
        }
        let (before, failed) = (tally.before, tally.troubles.len());
        println!("{chosen} chosen, {written} {did}, {before} were before, {failed} not");
        if before > 0 {
            println!("those that were before are said once more with --again");
        }
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A record to be written.
struct Record {
    lane: Lane,
    origin: Origin,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
}

impl Record {
    /// From a letter that holds all bytes. A letter's key is empty where there was none; on a
    /// compacted topic there always was one.
    fn of(read: &Read, lane: Lane, origin: Origin, letter: Letter) -> Record {
        let compacts = read.topology.topic(lane.topic).cleanup.compacts();
        let key = Some(letter.key).filter(|key| compacts || !key.is_empty());
        let value = Some(letter.value).filter(|_| letter.reason != Garbled::Null.name());
        let headers = vec![mark(&origin)];
        Record { lane, origin, key, value, headers }
    }
}

fn mark(origin: &Origin) -> (String, Vec<u8>) {
    (REDRIVEN_FROM.to_owned(), origin.to_string().into_bytes())
}

/// A letter that lacks bytes: they have to be where it came from.
struct Cut {
    lane: Lane,
    origin: Origin,
    length: u64,
    /// What the letter kept: how much, and its hash.
    kept: (usize, u64),
}

impl Cut {
    fn of(lane: Lane, origin: Origin, letter: &Letter) -> Cut {
        let kept = (letter.value.len(), hash(&letter.value));
        Cut { lane, origin, length: letter.length, kept }
    }

    /// The whole record, or why there is none.
    fn fetch(&self, log: &mut Whole) -> Result<Result<Record, String>, LogError> {
        let Cut { lane, origin, length, kept } = self;
        let spans = log.spans()?;
        let span = spans.iter().find(|span| span.lane == *lane);
        let there = span.is_some_and(|span| (span.first..span.stable_end).contains(&origin.offset));
        let mut found = None;
        if there {
            log.read(*lane, origin.offset, origin.offset + 1, &mut |record| {
                let value = record.value.unwrap_or_default();
                let same = value.len() as u64 == *length
                    && value.get(..kept.0).is_some_and(|head| hash(head) == kept.1);
                let mut headers = record.headers.to_vec();
                headers.retain(|(name, _)| name != REDRIVEN_FROM);
                headers.push(mark(origin));
                found = same.then(|| Record {
                    lane: *lane,
                    origin: origin.clone(),
                    key: record.key.map(<[u8]>::to_vec),
                    value: record.value.map(<[u8]>::to_vec),
                    headers,
                });
                Ok(())
            })?;
        }
        Ok(found.ok_or_else(|| {
            format!(
                "the letter kept {} of {length} bytes, and its origin no longer holds them; have \
                 the writer say it again",
                kept.0
            )
        }))
    }
}

/// The places named by records of a lane that were said again, from an offset on.
fn marks(log: &mut Whole, lane: Lane, from: u64) -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let spans = log.spans()?;
    let Some(span) = spans.iter().find(|span| span.lane == lane) else { return Ok(found) };
    log.read(lane, from.max(span.first), span.stable_end, &mut |record: &Envelope<'_>| {
        let named = record.headers.iter().filter(|(name, _)| name == REDRIVEN_FROM);
        found.extend(named.map(|(_, value)| String::from_utf8_lossy(value).into_owned()));
        Ok(())
    })?;
    Ok(found)
}
