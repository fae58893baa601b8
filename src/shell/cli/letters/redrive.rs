//! Dead letters published again, after the cause was mended.
//!
//! The new record stands on the lane the old one stood on, under the same key, and carries the
//! place it was taken from in a header. That header is the memory: before anything is written the
//! lane is searched for it, so a letter is not published twice, whichever process published it,
//! however this ended.

use super::home::{Homes, LetterPartition, LetterReader};
use super::letter::{Letter, Origin};
use super::{Filter, each_letter, open, origin};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::{Ended, Usage};
use crate::clock;
use crate::dirlog::envelope::Envelope;
use crate::dirlog::{DirWriter, Mode};
use crate::kafka::KafkaWriter;
use crate::scan::Scan;
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use yardmaster_core::cut::Lane;
use yardmaster_core::event::Garbled;
use yardmaster_core::id::hash;
use yardmaster_drive::port::{LaneSpan, LogError};

/// Header of a record that was published again: where it was, as TOPIC/PARTITION/OFFSET.
const REDRIVEN_FROM: &str = "yardmaster-redriven-from";

/// Publishes chosen letters again.
#[derive(Args)]
pub struct Redrive {
    #[command(flatten)]
    log_args: LogArgs,
    /// Which: where the records stood. Or all of a --reason.
    #[arg(value_name = "TOPIC/PARTITION/OFFSET", value_parser = origin)]
    #[arg(required_unless_present = "reason")]
    from: Vec<Origin>,
    #[command(flatten)]
    filter: Filter,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also those that were published again before.
    #[arg(long)]
    again: bool,
    /// Also those that this version by this topology cannot read either.
    #[arg(long)]
    even_unreadable: bool,
}

/// Where new records go.
enum Pen {
    Dir(DirWriter),
    /// With the partitions that are there. What stood on another goes where its key belongs.
    Kafka(KafkaWriter, BTreeSet<LetterPartition>),
    /// Nowhere: it is a dry run.
    Dry,
}

/// Counts of the chosen letters by what was done with them.
#[derive(Default)]
struct Redriven {
    written: BTreeMap<LetterPartition, BTreeSet<String>>,
    /// Letters that were published again earlier.
    before: usize,
    /// Why others were not.
    troubles: Vec<String>,
}

impl Redrive {
    /// Runs the verb.
    pub fn run(mut self) -> Ended {
        let read = self.log_args.read()?;
        self.filter = self.filter.settled(&self.log_args, &read)?;
        let mut wanted = BTreeSet::new();
        for from in &self.from {
            wanted.insert(LetterPartition::of(&read, from)?.origin(from));
        }
        let mode = if self.dry_run { Mode::Read } else { Mode::Write };
        let mut log = open(&self.log_args, &read, mode)?;
        let chosen = self.choose(&mut log, &read, &wanted)?;
        let missing = wanted.iter().find(|origin| !chosen.values().any(|it| it.contains(origin)));
        if let Some(origin) = missing {
            let why = "no dead letter of it; `yardmaster dead-letters` lists what there is";
            return Err(Usage(format!("{origin}: {why}")).into());
        }
        let mut homes = Homes::new(log, &self.log_args, &read);
        let (mut ends, mut marked) = (BTreeMap::new(), BTreeSet::new());
        for (home, origins) in &chosen {
            let first = origins.first().map_or(0, |origin| origin.offset);
            let log = homes.log(home)?;
            if let Some(span) = log.spans()?.iter().find(|span| span.lane == home.lane) {
                ends.insert(home.clone(), span.stable_end);
            }
            marked.extend(marks(log, home.lane, first)?);
        }
        let pen = self.pen(&read, &homes.log, ends.keys().cloned().collect())?;
        let mut redriven = self.write(&mut homes, &read, &chosen, &marked, pen)?;
        self.confirm(&mut homes, &ends, &mut redriven)?;
        Ok(self.report(chosen.values().map(BTreeSet::len).sum(), &redriven))
    }

    /// The letters that are meant, by where their records stood, without their bytes.
    fn choose(
        &self,
        log: &mut Scan,
        read: &Read,
        wanted: &BTreeSet<Origin>,
    ) -> anyhow::Result<BTreeMap<LetterPartition, BTreeSet<Origin>>> {
        let mut chosen: BTreeMap<LetterPartition, BTreeSet<Origin>> = BTreeMap::new();
        each_letter(log, read, &self.filter, &mut |letter| {
            let Some(origin) = letter.origin else { return Ok(()) };
            let Ok(home) = LetterPartition::of(read, &origin) else { return Ok(()) };
            if wanted.is_empty() || wanted.contains(&origin) {
                chosen.entry(home).or_default().insert(origin);
            }
            Ok(())
        })?;
        Ok(chosen)
    }

    fn pen(
        &self,
        read: &Read,
        log: &Scan,
        there: BTreeSet<LetterPartition>,
    ) -> anyhow::Result<Pen> {
        Ok(match log {
            _ if self.dry_run => Pen::Dry,
            Scan::Dir(log) => Pen::Dir(log.writer()?),
            Scan::Kafka(_) => {
                Pen::Kafka(KafkaWriter::open(&self.log_args.kafka(&read.topology)?)?, there)
            }
        })
    }

    /// Reads the chosen letters once more, now with their bytes, and writes one after the other.
    fn write(
        &self,
        homes: &mut Homes<'_>,
        read: &Read,
        chosen: &BTreeMap<LetterPartition, BTreeSet<Origin>>,
        marked: &BTreeSet<String>,
        mut pen: Pen,
    ) -> anyhow::Result<Redriven> {
        let (mut redriven, mut reader) = (Redriven::default(), LetterReader::new(read));
        let (mut cut, mut done) = (Vec::new(), BTreeSet::new());
        each_letter(&mut homes.log, read, &self.filter, &mut |letter| {
            let Some(origin) = letter.origin.clone() else { return Ok(()) };
            let Ok(home) = LetterPartition::of(read, &origin) else { return Ok(()) };
            let meant = chosen.get(&home).is_some_and(|origins| origins.contains(&origin));
            if !meant || !done.insert(origin.clone()) {
                return Ok(());
            }
            if marked.contains(&origin.to_string()) && !self.again {
                redriven.before += 1;
                return Ok(());
            }
            if letter.is_cut() {
                cut.push(Cut::of(home, origin, &letter));
                return Ok(());
            }
            let record = Record::of(read, home, origin, letter);
            self.put(&mut reader, &mut pen, &record, &mut redriven)
        })?;
        for cut in cut {
            match cut.fetch(homes.log(&cut.home)?)? {
                Ok(record) => self.put(&mut reader, &mut pen, &record, &mut redriven)?,
                Err(why) => redriven.troubles.push(format!("{}: {why}", cut.origin)),
            }
        }
        match &mut pen {
            Pen::Dir(writer) => writer.flush()?,
            Pen::Kafka(writer, _) => writer.flush()?,
            Pen::Dry => {}
        }
        Ok(redriven)
    }

    fn put(
        &self,
        reader: &mut LetterReader<'_>,
        pen: &mut Pen,
        record: &Record,
        redriven: &mut Redriven,
    ) -> Result<(), LogError> {
        let Record { home, origin, key, value, headers } = record;
        let (key, value) = (key.as_deref(), value.as_deref());
        if let Err(why) = reader.reads(home, key.unwrap_or_default(), value)
            && !self.even_unreadable
        {
            redriven.troubles.push(format!(
                "{origin}: still unreadable to this version by this topology: {why}; mend that \
                 first, or give --even-unreadable"
            ));
            return Ok(());
        }
        match pen {
            Pen::Dir(writer) => {
                writer.append(home.lane, key, value, headers, clock::now())?;
            }
            Pen::Kafka(writer, there) => {
                let partition = there.contains(home).then_some(home.lane.partition);
                writer.append(home.topic(reader.read), partition, key, value, headers, None)?;
            }
            Pen::Dry => {}
        }
        redriven.written.entry(home.clone()).or_default().insert(origin.to_string());
        Ok(())
    }

    /// Reads back what was written: what is not found again is a trouble.
    fn confirm(
        &self,
        homes: &mut Homes<'_>,
        ends: &BTreeMap<LetterPartition, u64>,
        redriven: &mut Redriven,
    ) -> anyhow::Result<()> {
        if self.dry_run {
            return Ok(());
        }
        for (home, origins) in &redriven.written {
            let from = ends.get(home).copied().unwrap_or(0);
            let found = marks(homes.log(home)?, home.lane, from)?;
            let lost = origins.iter().filter(|origin| !found.contains(*origin));
            let lost =
                lost.map(|origin| format!("{origin}: written, and not found again in {home}"));
            redriven.troubles.extend(lost);
        }
        Ok(())
    }

    fn report(&self, chosen: usize, redriven: &Redriven) -> ExitCode {
        for trouble in &redriven.troubles {
            eprintln!("{trouble}");
        }
        let written: usize = redriven.written.values().map(BTreeSet::len).sum();
        let did = if self.dry_run { "would be redriven" } else { "redriven and read back" };
        for (home, origins) in &redriven.written {
            println!("{home}: {} {did}", origins.len());
        }
        let (before, failed) = (redriven.before, redriven.troubles.len());
        println!("{chosen} chosen, {written} {did}, {before} were before, {failed} not");
        if before > 0 {
            println!("those that were published before are published once more with --again");
        }
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A record to be written.
struct Record {
    home: LetterPartition,
    origin: Origin,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
}

impl Record {
    /// From a letter that holds all bytes. A letter's key is empty where there was none; on a
    /// compacted topic there always was one.
    fn of(read: &Read, home: LetterPartition, origin: Origin, letter: Letter) -> Record {
        let key = Some(letter.key).filter(|key| !home.may_lack_key(read) || !key.is_empty());
        let value = Some(letter.value).filter(|_| letter.reason != Garbled::Null.name());
        let headers = vec![mark(&origin)];
        Record { home, origin, key, value, headers }
    }
}

fn mark(origin: &Origin) -> (String, Vec<u8>) {
    (REDRIVEN_FROM.to_owned(), origin.to_string().into_bytes())
}

/// A letter that lacks bytes: they have to be where it came from.
struct Cut {
    home: LetterPartition,
    origin: Origin,
    length: u64,
    /// Length and hash of the part that the letter kept.
    kept: (usize, u64),
}

impl Cut {
    fn of(home: LetterPartition, origin: Origin, letter: &Letter) -> Cut {
        let kept = (letter.value.len(), hash(&letter.value));
        Cut { home, origin, length: letter.length, kept }
    }

    /// The whole record, or why there is none.
    fn fetch(&self, log: &mut Scan) -> Result<Result<Record, String>, LogError> {
        let Cut { home, origin, length, kept } = self;
        let lane = home.lane;
        let spans = log.spans()?;
        let span = spans.iter().find(|span| span.lane == lane);
        let there = span.is_some_and(|span| (span.first..span.stable_end).contains(&origin.offset));
        let mut found = None;
        if there {
            log.read(lane, origin.offset, origin.offset + 1, &mut |record| {
                let value = record.value.unwrap_or_default();
                let same = value.len() as u64 == *length
                    && value.get(..kept.0).is_some_and(|head| hash(head) == kept.1);
                let mut headers = record.headers.to_vec();
                headers.retain(|(name, _)| name != REDRIVEN_FROM);
                headers.push(mark(origin));
                found = same.then(|| Record {
                    home: home.clone(),
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
                 the writer publish it again",
                kept.0
            )
        }))
    }
}

/// The places named by records of a lane that were published again, from an offset on. Where that
/// lane is no more, by all records of its topic.
fn marks(log: &mut Scan, lane: Lane, from: u64) -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let spans = log.spans()?;
    let is_there = spans.iter().any(|span| span.lane == lane);
    let wanted = |span: &&LaneSpan| span.lane == lane || !is_there && span.lane.topic == lane.topic;
    for span in spans.iter().filter(wanted) {
        let from = if is_there { from.max(span.first) } else { span.first };
        log.read(span.lane, from, span.stable_end, &mut |record: &Envelope<'_>| {
            let named = record.headers.iter().filter(|(name, _)| name == REDRIVEN_FROM);
            found.extend(named.map(|(_, value)| String::from_utf8_lossy(value).into_owned()));
            Ok(())
        })?;
    }
    Ok(found)
}
