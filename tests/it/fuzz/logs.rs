//! The readers of a directory log: headers, blocks, envelopes, and whole files.

use super::feed;
use std::fs;
use std::time::Duration;
use yardmaster::core::cut::{Cut, Lane, Topic};
use yardmaster::drive::port::{Batch, Log};
use yardmaster::shell::dirlog::envelope::{self, Envelope, Stamp};
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode, ends, ocf};
use yardmaster::wire::avro::ENVELOPE;

const JOBS: Lane = Lane::new(Topic::JobState, 0);

fn record(offset: u64, headers: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (key, value) = (Some(&b"key"[..]), (!offset.is_multiple_of(3)).then_some(&b"value"[..]));
    let (timestamp, stamp) = (1_000 + offset as i64, Stamp::Append);
    let mut bytes = Vec::new();
    envelope::encode(&mut bytes, &Envelope { offset, timestamp, stamp, key, value, headers });
    bytes
}

#[test]
fn the_parts_of_a_file_are_read_or_not_there() {
    let headers = [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), Vec::new())];
    let records: Vec<Vec<u8>> =
        (0..20).map(|at| record(at, if at % 2 == 0 { &headers } else { &[] })).collect();
    feed("envelope", 1, &records, |bytes| {
        let mut at = 0;
        let Some(parts) = envelope::decode(bytes, &mut at) else { return false };
        assert!(at <= bytes.len());
        let headers = parts.headers(bytes);
        let mut again = Vec::new();
        envelope::encode(&mut again, &parts.envelope(bytes, &headers));
        envelope::decode(&again, &mut 0).is_some()
    });
    let sync = ocf::sync_of("topic", 0);
    let mut block = Vec::new();
    ocf::put_block(&mut block, 20, &records.concat(), &sync);
    feed("block", 1, &[block], |bytes| match ocf::next_block(bytes, &sync) {
        ocf::Next::Block(block) => {
            assert!(block.data.end <= block.end && block.end <= bytes.len());
            true
        }
        ocf::Next::Incomplete(needed) => {
            assert!(needed > bytes.len());
            false
        }
        ocf::Next::Damaged => false,
    });
    let header = ocf::header(ENVELOPE, &sync);
    feed("header", 1, &[header], |bytes| ocf::parse_header(bytes).is_some());
    let covered = [b"decision/0=12,dead-letter/3=0".to_vec(), b"progress/0=1".to_vec()];
    feed("ends", 1, &covered, |bytes| {
        std::str::from_utf8(bytes).ok().and_then(ends::from_text).is_some()
    });
}

/// A file that somebody changed: what can be read of it is, in order, or an error names it.
#[test]
fn a_damaged_file_is_read_or_named() {
    let dir = tempfile::TempDir::new().unwrap();
    let topics = [DirTopic { topic: Topic::JobState, name: "jobs".into(), partitions: 1 }];
    let options = || DirOptions { sync: false, ..DirOptions::default() };
    let mut writer = DirWriter::open(dir.path(), &topics, options()).unwrap();
    for at in 0..60u64 {
        writer.append(JOBS, Some(b"key"), Some(&vec![at as u8; at as usize]), &[], 0).unwrap();
        if at % 7 == 0 {
            writer.flush().unwrap();
        }
    }
    drop(writer);
    let path = dir.path().join("jobs").join("0.avro");
    let whole = fs::read(&path).unwrap();
    feed("file", 4, &[whole], |bytes| {
        fs::write(&path, bytes).unwrap();
        let read = || -> Result<u64, yardmaster::drive::port::LogError> {
            let mut log = DirLog::open(dir.path(), Mode::Read, &topics, options())?;
            let mut from = Cut::default();
            from.advance(JOBS, log.lanes()?.iter().map(|span| span.first).max().unwrap_or(0));
            log.assign(&from)?;
            let mut batch = Batch::default();
            log.take(&mut batch, 1_000, Duration::ZERO)?;
            log.scan(JOBS, 0, u64::MAX, &mut |_| Ok(()))?;
            Ok(batch.records.len() as u64)
        };
        match read() {
            Ok(count) => count > 0,
            Err(error) => {
                assert!(error.to_string().contains("jobs"), "{error}");
                false
            }
        }
    });
}
