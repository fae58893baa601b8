//! The contract on a directory, and what only files can show: torn blocks, words without a
//! commit mark, locks, other programs' eyes.

use crate::contract::{
    DECISIONS, JOBS, LANES, MORE_JOBS, PROGRESS, Reading, World, all_from_start, contract, cut,
    keys, output, publish_cycle,
};
use apache_avro::types::Value;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::drive::port::{Log, LogError};
use yardmaster::shell::dirlog::envelope::{EARLIER, Envelope, Stamp};
use yardmaster::shell::dirlog::file::LaneFile;
use yardmaster::shell::dirlog::ocf::parse_header;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode};
use yardmaster::wire::avro::ENVELOPE;

fn topics() -> Vec<DirTopic> {
    let topic =
        |topic: Topic, name: &str, partitions| DirTopic { topic, name: name.into(), partitions };
    vec![
        topic(Topic::JobState, "job-state", 2),
        topic(Topic::Decision, "our.decisions", 1),
        topic(Topic::Progress, "progress", 1),
    ]
}

fn options() -> DirOptions {
    DirOptions { sync: false, clock: Arc::new(|| 1_000) }
}

fn open(dir: &Path, mode: Mode) -> DirLog {
    DirLog::open(dir, mode, &topics(), options()).unwrap()
}

fn file_of(dir: &Path, lane: Lane) -> PathBuf {
    let name = if lane == DECISIONS { "our.decisions" } else { lane.topic.name() };
    dir.join(name).join(format!("{}.avro", lane.partition))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

pub struct InDirectory {
    dir: TempDir,
    writer: Option<DirWriter>,
    sync: bool,
}

impl InDirectory {
    pub fn new(sync: bool) -> InDirectory {
        InDirectory { dir: TempDir::new().unwrap(), writer: None, sync }
    }
}

impl World for InDirectory {
    type L = DirLog;

    fn publisher(&mut self) -> DirLog {
        let options = DirOptions { sync: self.sync, ..DirOptions::default() };
        let log = DirLog::open(self.dir.path(), Mode::Write, &topics(), options).unwrap();
        self.writer = Some(log.writer().unwrap());
        log
    }

    fn reader(&mut self) -> DirLog {
        open(self.dir.path(), Mode::Read)
    }

    fn append(&mut self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>) {
        let writer = self.writer.as_mut().unwrap();
        writer.append(lane, key, value, &[], 5).unwrap();
        writer.flush().unwrap();
    }
}

#[test]
fn the_contract_holds_in_a_directory() {
    for sync in [false, true] {
        contract(&mut InDirectory::new(sync));
    }
}

/// A log in which two cycles were published, after `inputs` jobs.
fn two_cycles(dir: &Path, inputs: u64) {
    let mut log = open(dir, Mode::Write);
    let mut writer = log.writer().unwrap();
    for number in 0..inputs {
        let headers = [("source".to_string(), b"test".to_vec())];
        writer.append(JOBS, Some(&number.to_be_bytes()), Some(b"job"), &headers, 77).unwrap();
    }
    writer.flush().unwrap();
    log.lead().unwrap();
    publish_cycle(&mut log, &["a", "b"], "p1").unwrap();
    publish_cycle(&mut log, &["c"], "p2").unwrap();
}

#[test]
fn another_avro_tool_reads_the_files() {
    let dir = TempDir::new().unwrap();
    two_cycles(dir.path(), 3000);
    let read = |lane| {
        let file = fs::File::open(file_of(dir.path(), lane)).unwrap();
        let records = apache_avro::Reader::new(file).unwrap();
        records.collect::<Result<Vec<Value>, _>>().unwrap()
    };
    let jobs = read(JOBS);
    assert_eq!(jobs.len(), 3000);
    let Value::Record(fields) = &jobs[2999] else { panic!("{:?}", jobs[0]) };
    let field = |name: &str| &fields.iter().find(|(field, _)| field == name).unwrap().1;
    assert_eq!(*field("offset"), Value::Long(2999));
    assert_eq!(*field("timestamp"), Value::TimestampMillis(77));
    assert_eq!(*field("timestamp_type"), Value::Enum(0, "create_time".into()));
    let key = Value::Bytes(2999u64.to_be_bytes().to_vec());
    assert_eq!(*field("key"), Value::Union(1, Box::new(key)));
    let Value::Array(headers) = field("headers") else { panic!() };
    assert_eq!(headers.len(), 1);
    assert_eq!((read(DECISIONS).len(), read(PROGRESS).len()), (3, 2));
}

#[test]
fn files_of_another_avro_tool_are_read() {
    // The same layout with other words about it.
    let schema = ENVELOPE.replace("as it stood on the bus", "as was");
    assert_ne!(schema, ENVELOPE);
    files_of_another_schema_are_read(&schema, "log_append_time");
}

#[test]
fn files_of_earlier_versions_are_read() {
    files_of_another_schema_are_read(EARLIER, "APPEND");
}

fn files_of_another_schema_are_read(schema: &str, append: &str) {
    let dir = TempDir::new().unwrap();
    let path = file_of(dir.path(), JOBS);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let schema = apache_avro::Schema::parse_str(schema).unwrap();
    let mut writer = apache_avro::Writer::new(&schema, Vec::new()).unwrap();
    for offset in [3i64, 4, 9] {
        let field = |name: &str, value| (name.to_string(), value);
        let null = || Value::Union(0, Box::new(Value::Null));
        let record = Value::Record(vec![
            field("offset", Value::Long(offset)),
            field("timestamp", Value::TimestampMillis(5)),
            field("timestamp_type", Value::Enum(1, append.into())),
            field("key", null()),
            field("value", Value::Union(1, Box::new(Value::Bytes(vec![offset as u8])))),
            field("headers", Value::Array(vec![])),
        ]);
        writer.append_value(record).unwrap();
        writer.flush().unwrap();
    }
    fs::write(&path, writer.into_inner().unwrap()).unwrap();
    let mut log = open(dir.path(), Mode::Read);
    let span = log.lanes().unwrap()[0];
    assert_eq!((span.first, span.end), (3, 10));
    let early = log.assign(&cut(&[(JOBS, 2)])).unwrap_err();
    assert!(matches!(early, LogError::OutOfRange { wanted: 2, first: 3, .. }));
    log.assign(&cut(&[(JOBS, 4)])).unwrap();
    let mut reading = Reading::new();
    reading.take(&mut log, 10, Duration::ZERO);
    let offsets: Vec<u64> = reading.lanes[&JOBS].iter().map(|(offset, ..)| *offset).collect();
    assert_eq!(offsets, [4, 9]);
    let mut writer = DirWriter::open(dir.path(), &topics(), options()).unwrap();
    assert_eq!(writer.append(JOBS, None, Some(b"later"), &[], 6).unwrap(), 10);
    writer.flush().unwrap();
    drop(writer);
    let bytes = fs::read(&path).unwrap();
    let read = apache_avro::Reader::new(&bytes[..]).unwrap().map(Result::unwrap);
    assert_eq!(read.count(), 4, "another tool reads what was appended");

    let other = apache_avro::Schema::parse_str("\"string\"").unwrap();
    let writer = apache_avro::Writer::new(&other, Vec::new()).unwrap();
    fs::write(&path, writer.into_inner().unwrap()).unwrap();
    let refused = open(dir.path(), Mode::Read).lanes().unwrap_err().to_string();
    assert!(refused.contains("job-state/0.avro") && refused.contains("schema"), "{refused}");
    fs::write(&path, b"not at all a log, but long enough to be distinguished from a header")
        .unwrap();
    let refused = open(dir.path(), Mode::Read).lanes().unwrap_err().to_string();
    assert!(refused.contains("not an Avro"), "{refused}");
}

/// A process that dies between its outputs and the commit mark leaves records that are cut back.
#[test]
fn outputs_without_a_commit_mark_are_cut_back() {
    let dir = TempDir::new().unwrap();
    two_cycles(dir.path(), 10);
    let (decisions, progress) = (file_of(dir.path(), DECISIONS), file_of(dir.path(), PROGRESS));
    let after_two = (length(&decisions), fs::read(&progress).unwrap());
    let mut log = open(dir.path(), Mode::Write);
    assert!(log.notices().is_empty(), "{:?}", log.notices());
    log.lead().unwrap();
    publish_cycle(&mut log, &["lost", "lost too"], "p3").unwrap();
    drop(log);
    // Everything but the mark got to the disk; or the mark did in part.
    let whole = fs::read(&progress).unwrap();
    for kept in [after_two.1.len(), after_two.1.len() + 1, whole.len() - 1] {
        fs::write(&progress, &whole[..kept]).unwrap();
        let mut reader = open(dir.path(), Mode::Read);
        reader.assign(&all_from_start()).unwrap();
        let mut reading = Reading::new();
        reading.until(&mut reader, 100, |reading| reading.at_end(DECISIONS));
        assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "b", "c"], "readers stop at the mark");
        assert_eq!(reading.marks[&DECISIONS].position, 3);
    }
    let mut reader = open(dir.path(), Mode::Read);
    reader.assign(&all_from_start()).unwrap();
    let mut reading = Reading::new();
    reading.take(&mut reader, 100, Duration::ZERO);

    let mut log = open(dir.path(), Mode::Write);
    let notices = log.notices().join("\n");
    assert!(notices.contains("our.decisions/0.avro: cut back by 2 records"), "{notices}");
    assert!(notices.contains("progress/0.avro: cut off"), "{notices}");
    assert_eq!(length(&decisions), after_two.0);
    assert_eq!(fs::read(&progress).unwrap(), after_two.1);
    log.lead().unwrap();
    publish_cycle(&mut log, &["d"], "p3 again").unwrap();
    reading.until(&mut reader, 100, |reading| reading.count(PROGRESS) == 3);
    assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "b", "c", "d"], "nothing stale is kept");
    assert_eq!(keys(&reading.lanes[&PROGRESS]), ["p1", "p2", "p3 again"]);
}

/// A power failure may lose outputs that a mark names when nothing was synced.
#[test]
fn a_mark_without_its_outputs_covers_nothing() {
    let dir = TempDir::new().unwrap();
    two_cycles(dir.path(), 10);
    let decisions = file_of(dir.path(), DECISIONS);
    let bytes = fs::read(&decisions).unwrap();
    fs::write(&decisions, &bytes[..bytes.len() - 1]).unwrap();
    let mut log = open(dir.path(), Mode::Write);
    let notices = log.notices().join("\n");
    assert!(notices.contains("progress/0.avro: cut back by 1 records to offset 1"), "{notices}");
    log.assign(&all_from_start()).unwrap();
    let mut reading = Reading::new();
    reading.take(&mut log, 100, Duration::ZERO);
    assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "b"]);
    assert_eq!(keys(&reading.lanes[&PROGRESS]), ["p1"]);
}

#[test]
fn torn_inputs_are_cut_and_damage_is_refused() {
    let dir = TempDir::new().unwrap();
    two_cycles(dir.path(), 10);
    let path = file_of(dir.path(), JOBS);
    let good = fs::read(&path).unwrap();
    for tail in [&b"\x10"[..], &[0; 100], &good[good.len() - 60..good.len() - 1]] {
        fs::write(&path, &good).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(tail).unwrap();
        let mut reader = open(dir.path(), Mode::Read);
        reader.assign(&all_from_start()).unwrap();
        let mut reading = Reading::new();
        reading.until(&mut reader, 100, |reading| reading.at_end(JOBS));
        assert_eq!(reading.count(JOBS), 10);
        let log = open(dir.path(), Mode::Write);
        assert!(log.notices()[0].contains("cut off"), "{:?}", log.notices());
        assert_eq!(fs::read(&path).unwrap(), good);
        let mut writer = log.writer().unwrap();
        writer.append(JOBS, None, None, &[], 0).unwrap();
        writer.flush().unwrap();
        reading.until(&mut reader, 100, |reading| reading.count(JOBS) == 11);
        drop(log);
    }
    let mut bad = fs::read(&path).unwrap();
    assert!(bad.len() > good.len(), "a block follows");
    bad[good.len() - 16..good.len()].fill(0);
    fs::write(&path, &bad).unwrap();
    let mut reader = open(dir.path(), Mode::Read);
    let damage = reader.assign(&all_from_start()).unwrap_err().to_string();
    assert!(damage.contains("damaged at byte"), "{damage}");
}

/// A reader that found no block, and then the marker of one that came meanwhile, took it for damage.
#[test]
fn a_block_that_comes_while_it_is_looked_for_is_no_damage() {
    let dir = TempDir::new().unwrap();
    two_cycles(dir.path(), 1);
    let whole = fs::read(file_of(dir.path(), JOBS)).unwrap();
    let (head, block) = whole.split_at(parse_header(&whole).unwrap().length);
    let path = dir.path().join("0.avro");
    for _ in 0..2_000 {
        fs::write(&path, head).unwrap();
        let file = LaneFile::open(&path).unwrap().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                OpenOptions::new().append(true).open(&path).unwrap().write_all(block).unwrap();
            });
            while file.first().unwrap().is_none() {
                file.tail().unwrap();
            }
        });
        assert_eq!(file.tail().unwrap().torn, 0);
    }
}

#[test]
fn one_writer_a_directory() {
    let dir = TempDir::new().unwrap();
    let log = open(dir.path(), Mode::Write);
    let second = DirLog::open(dir.path(), Mode::Write, &topics(), options()).err().unwrap();
    let text = second.to_string();
    assert!(text.contains(&dir.path().display().to_string()) && text.contains("one writer"));
    assert!(DirWriter::open(dir.path(), &topics(), options()).is_err());
    let writer = log.writer().unwrap();
    assert!(log.writer().is_err(), "and one producer in it");
    drop(writer);
    let mut writer = log.writer().unwrap();
    assert!(writer.append(DECISIONS, None, None, &[], 0).is_err(), "own lanes are the leader's");
    assert!(open(dir.path(), Mode::Read).lead().is_err());
    drop(log);
    drop(writer);
    drop(open(dir.path(), Mode::Write));
    let nowhere = dir.path().join("nowhere");
    assert!(DirLog::open(&nowhere, Mode::Read, &topics(), options()).is_err());
}

/// Offsets, gaps, stamps and headers survive, and the copy can be opened and published to.
#[test]
fn an_archive_keeps_what_was_there() {
    let dir = TempDir::new().unwrap();
    let mut writer = DirWriter::archive(dir.path(), &topics(), options()).unwrap();
    let headers = [("h".to_string(), b"1".to_vec())];
    let put = |writer: &mut DirWriter, lane, offset, text: &str| {
        let value = Some(text.as_bytes());
        let (key, stamp) = (value, Stamp::Append);
        let envelope = Envelope { offset, timestamp: 9, stamp, key, value, headers: &headers };
        writer.put(lane, &envelope).unwrap();
    };
    put(&mut writer, JOBS, 100, "j");
    writer.pass(JOBS, 102);
    put(&mut writer, DECISIONS, 5, "a");
    put(&mut writer, DECISIONS, 7, "b");
    put(&mut writer, PROGRESS, 40, "p1");
    put(&mut writer, DECISIONS, 9, "published later");
    writer.flush().unwrap();
    drop(writer);
    let mut reader = open(dir.path(), Mode::Read);
    let start = cut(&[(JOBS, 100), (MORE_JOBS, 0), (DECISIONS, 5), (PROGRESS, 40)]);
    let spans = reader.lanes().unwrap();
    let spans: Vec<_> = spans.iter().map(|span| (span.lane, span.first, span.end)).collect();
    assert_eq!(spans[0], (JOBS, 100, 102));
    assert_eq!((spans[2], spans[3]), ((DECISIONS, 5, 8), (PROGRESS, 40, 41)));
    reader.assign(&start).unwrap();
    let mut reading = Reading::new();
    reading.until(&mut reader, 100, |reading| reading.marks.len() == LANES.len());
    assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "b"]);
    assert_eq!(reading.marks[&JOBS].position, 102);
    assert_eq!(reading.stamps[&DECISIONS], [9, 9]);

    // The three decisions are in one block: it is cut in two.
    let mut log = open(dir.path(), Mode::Write);
    assert!(log.notices()[0].contains("cut back by 2 records to offset 8"), "{:?}", log.notices());
    log.lead().unwrap();
    log.publish(vec![output(DECISIONS, "c")], output(PROGRESS, "p2")).unwrap();
    log.settle().unwrap();
    reading.until(&mut reader, 100, |reading| reading.count(PROGRESS) == 2);
    assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "b", "c"]);
    let offsets: Vec<u64> = reading.lanes[&DECISIONS].iter().map(|(offset, ..)| *offset).collect();
    assert_eq!(offsets, [5, 7, 8]);
}

/// Seeking in files of many blocks meets exactly what reading from the start would.
#[test]
fn seeking_finds_every_offset() {
    let dir = TempDir::new().unwrap();
    let mut writer = DirWriter::open(dir.path(), &topics(), options()).unwrap();
    for number in 0..20_000u64 {
        let value = vec![number as u8; (number % 97) as usize];
        writer.append(JOBS, None, Some(&value), &[], 0).unwrap();
        if number % 61 == 0 {
            writer.flush().unwrap();
        }
    }
    drop(writer);
    let mut log = open(dir.path(), Mode::Read);
    for start in (0..20_000).step_by(997).chain([19_999, 20_000]) {
        log.assign(&cut(&[(JOBS, start)])).unwrap();
        let mut reading = Reading::new();
        reading.until(&mut log, 7000, |reading| reading.at_end(JOBS));
        assert_eq!(reading.count(JOBS) as u64, 20_000 - start);
        let first = reading.lanes.get(&JOBS).and_then(|seen| seen.first());
        assert!(first.is_none_or(|(offset, ..)| *offset == start));
    }
}

#[test]
fn a_full_lane_does_not_starve_the_others() {
    let dir = TempDir::new().unwrap();
    let mut writer = DirWriter::open(dir.path(), &topics(), options()).unwrap();
    for _ in 0..10_000 {
        writer.append(JOBS, None, None, &[], 0).unwrap();
    }
    for _ in 0..300 {
        writer.append(MORE_JOBS, None, None, &[], 0).unwrap();
    }
    drop(writer);
    let mut log = open(dir.path(), Mode::Read);
    log.assign(&all_from_start()).unwrap();
    let mut reading = Reading::new();
    for _ in 0..4 {
        reading.take(&mut log, 1000, Duration::ZERO);
    }
    assert_eq!(reading.count(MORE_JOBS), 300);
}
