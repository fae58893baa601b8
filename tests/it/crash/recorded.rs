//! Logs that earlier versions wrote: every decision and throttle in them is made again, byte for
//! byte. They are kept packed under `tests/fixtures/logs`; none is ever written again, for a new
//! version proves nothing about the logs of an old one.

use super::play::{Left, Play, SHORT};
use crate::drive::yard::{Yard, storage, task};
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::*;
use yardmaster::shell::dirlog::envelope::{Envelope, Stamp};
use yardmaster::shell::dirlog::{DirOptions, DirTopic, DirWriter};
use yardmaster::wire::record;
use yardmaster::wire::topology;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logs").join(name)
}

/// Packs the files of a directory: path, length and bytes of each.
fn pack(dir: &Path, file: &Path) {
    let mut packed = GzEncoder::new(std::fs::File::create(file).unwrap(), Default::default());
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                left.push(path);
            } else if name.ends_with(".avro") || name.ends_with(".toml") {
                let bytes = std::fs::read(&path).unwrap();
                writeln!(packed, "{name} {}", bytes.len()).unwrap();
                packed.write_all(&bytes).unwrap();
            }
        }
    }
    packed.finish().unwrap();
}

fn unpack(file: &Path, dir: &Path) {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        let (name, length) = line.rsplit_once(' ').unwrap();
        let (content, behind) = rest[end + 1..].split_at(length.parse().unwrap());
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        rest = behind;
    }
}

fn yardmaster(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_yardmaster")).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Replays a packed log: how many decisions and throttles were made again and were the same, how
/// many differed, and how many cannot be verified.
fn verified(name: &str) -> [u64; 3] {
    let dir = TempDir::new().unwrap();
    unpack(&fixture(name), dir.path());
    let topology = dir.path().join("topology.toml");
    let mut args = vec!["replay", "--dir", dir.path().to_str().unwrap(), "--verify"];
    if topology.exists() {
        args.extend(["--topology", topology.to_str().unwrap()]);
    }
    let replayed = yardmaster(&args);
    let line = replayed.lines().find(|line| line.starts_with("verified ")).expect(&replayed);
    let words: Vec<&str> = line.split([' ', ',']).collect();
    let count = |after: &str| {
        let at = words.iter().position(|word| *word == after).expect(line);
        words[at - 1].parse().unwrap()
    };
    [count("same"), count("different"), count("not")]
}

/// A small grid for two hours: production and analysis, weighed with links, software and shares.
#[test]
fn a_log_of_the_simulated_grid_is_made_again() {
    assert_eq!(verified("grid-20.gz"), [GRID, 0, 0]);
}

/// Requests of every flavour, deferred, rejected and assigned, throttles set and lifted, quotas and
/// shares, unreadable records.
#[test]
fn a_log_of_every_flavour_is_made_again() {
    assert_eq!(verified("flavours-20.gz"), [FLAVOURS, 0, 0]);
}

/// Logs of engine revisions 3, 5 and 17: their rules were others. They are read whole, and no
/// decision in them counts as wrong.
#[test]
fn no_decision_of_an_earlier_engine_counts_as_wrong() {
    for (name, decisions) in [
        ("grid.gz", 41),
        ("flavours.gz", 19),
        ("grid-5.gz", 41),
        ("flavours-5.gz", 23),
        ("grid-17.gz", 60),
        ("flavours-17.gz", 25),
    ] {
        let [same, different, not_verifiable] = verified(name);
        // By other defaults answers are made again that were not then.
        assert!(
            same + not_verifiable >= decisions && different == 0,
            "{name}: {same} same, \
            {different} different, {not_verifiable} not verifiable"
        );
    }
}

/// Decisions and throttles in those logs.
const GRID: u64 = 43;
const FLAVOURS: u64 = 27;

/// Adds the records that the play lacks: tasks that want a nucleus, quotas, shares, links.
fn beside(yard: &Yard) {
    let now = yard.now;
    let site = |name: &str| {
        let site = Site {
            name: name.into(),
            changed_at: now,
            nucleus: true,
            active: true,
            tier: 1,
            ..Site::default()
        };
        yard.configure(&site);
    };
    let wanting = |subject: &str| {
        let token = "dst:ATLASDATADISK".to_owned();
        let mut task = Task {
            policy: "production-task".into(),
            nucleus: String::new(),
            output: vec![OutputDataset { name: "HITS".into(), log: false, token }],
            ..task(subject, 0, now)
        };
        task.options.remaining_events = 1_000_000_000;
        yard.ask(&task);
    };
    match yard.progress().len() {
        0 => {
            site("NORTH");
            wanting("90");
            let storage = storage("NORTH_DATADISK", "NORTH", now);
            yard.configure(&storage);
        }
        10..20 => {
            site("SOUTH");
            wanting("91");
            let quota = Quota {
                subject: "bob".into(),
                expression: "type=SCRATCHDISK".into(),
                changed_at: now,
                limit_bytes: Some(100),
                used_bytes: 99,
                ..Quota::default()
            };
            let key = "user/bob type=SCRATCHDISK";
            yard.publish(Topic::Quota, key, |out| record::write(out, &quota));
        }
        20..24 => yard.ask(&Task {
            policy: "analysis-job".into(),
            user: "bob".into(),
            working_group: String::new(),
            gshare: "User Analysis".into(),
            label: "user".into(),
            nucleus: String::new(),
            ..task("92", 5, now)
        }),
        _ => {}
    }
}

/// Writes the log of a play as a directory and packs it. Run by hand, with the version whose log
/// is wanted: `cargo test --test it record_a_log -- --ignored`; `RECORD_FROM=DIR` packs a directory
/// that exists.
#[test]
#[ignore]
fn record_a_log() {
    if let Ok(from) = std::env::var("RECORD_FROM") {
        return pack(Path::new(&from), &fixture("grid-20.gz"));
    }
    let mut play = Play::new(Vec::new(), Left::All, false);
    play.beside = beside;
    play.run();
    let yard = &play.yard;
    let policies: BTreeSet<String> = yard.decisions().into_iter().map(|it| it.policy).collect();
    println!(
        "{policies:?}, {} decisions, {} throttles",
        yard.decisions().len(),
        yard.throttles().len()
    );
    let dir = TempDir::new().unwrap();
    let mut text = topology::ATLAS.to_owned();
    for (old, new) in SHORT {
        text = text.replace(old, new);
    }
    // The yard has two lanes of each topic but `progress`.
    let (mut lines, mut is_progress) = (Vec::new(), false);
    for line in text.lines() {
        is_progress = if line.starts_with('[') { line == "[topics.progress]" } else { is_progress };
        let is_count = line.starts_with("partitions = ") && !is_progress;
        lines.push(if is_count { "partitions = 2" } else { line });
    }
    let text = lines.join("\n");
    std::fs::write(dir.path().join("topology.toml"), &text).unwrap();
    let topology = topology::Topology::parse("topology.toml", &text).unwrap();
    let topics = topology.read_topics().map(|topic| {
        let settings = topology.topic(topic);
        DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
    });
    let topics: Vec<DirTopic> = topics.collect();
    let mut writer = DirWriter::archive(dir.path(), &topics, DirOptions::default()).unwrap();
    let mut lanes: Vec<Lane> = yard.paper.spans().iter().map(|span| span.lane).collect();
    lanes.sort_by_key(|lane| (lane.topic == Topic::Progress, *lane));
    for lane in lanes {
        for note in yard.paper.records(lane) {
            let envelope = Envelope {
                offset: note.offset,
                timestamp: note.appended_at,
                stamp: Stamp::Append,
                key: note.key.as_deref(),
                value: note.value.as_deref(),
                headers: &note.headers,
            };
            writer.copy(lane, &envelope).unwrap();
        }
    }
    writer.cover().unwrap();
    writer.flush().unwrap();
    drop(writer);
    pack(dir.path(), &fixture("flavours-20.gz"));
}
