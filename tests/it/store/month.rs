//! A simulated month of checkpoints: the space on disk follows what is kept, not how much was
//! written.

use super::*;
use std::collections::BTreeMap;

/// Days of the short variant and of `YARDMASTER_LONG=1`.
const DAYS: [u64; 2] = [5, 31];
/// Checkpoints a day. Many more come in earnest, each of less; sled sees the same churn.
const CHECKPOINTS: u64 = 96;

/// A world whose size follows the hour: pages that change, pages that come and go, counters that
/// come, change and expire.
struct World {
    random: Random,
    bases: BTreeMap<u64, usize>,
}

impl World {
    fn value(&mut self, bytes: u64) -> Vec<u8> {
        let length = bytes / 2 + self.random.below(bytes);
        (0..length).map(|_| self.random.below(256) as u8).collect()
    }

    /// The checkpoint of a moment, and what it must leave behind.
    fn checkpoint(&mut self, n: u64, live: &mut Live) -> Checkpoint {
        let (day, hour) = (n / CHECKPOINTS, n % CHECKPOINTS * 24 / CHECKPOINTS);
        let deltas: Vec<Vec<u8>> = (0..1 + hour % 4).map(|_| self.value(32 << 10)).collect();
        let pages = 40;
        let bases: Vec<(u64, Vec<u8>)> =
            (0..3).map(|at| ((n * 3 + at) % pages, self.value(32 << 10))).collect();
        for (page, bytes) in &bases {
            self.bases.insert(*page, bytes.len());
        }
        // Users of the day: their counters leave with it.
        let counters = n.is_multiple_of(8).then(|| {
            let counter = |at: u64| {
                let key = format!("user=day{}-{at}", day + at % 2);
                (key.into_bytes(), (n * at).to_string().into_bytes())
            };
            (0..200 + 100 * (hour % 3)).map(counter).collect()
        });
        live.deltas.push_back(deltas.iter().map(Vec::len).sum());
        let useful = 14;
        while live.deltas.len() as u64 > useful + 1 {
            live.deltas.pop_front();
        }
        live.bases = self.bases.values().sum();
        Checkpoint { head: self.value(2 << 10), deltas, bases, useful, counters, fresh: n == 1 }
    }
}

#[derive(Default)]
struct Live {
    deltas: std::collections::VecDeque<usize>,
    bases: usize,
}

fn bytes_in(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => bytes_in(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

#[test]
fn the_space_of_a_month_follows_what_is_kept() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let days = DAYS[usize::from(std::env::var_os("YARDMASTER_LONG").is_some())];
    let mut world = World { random: Random(0x2026), bases: BTreeMap::new() };
    let mut live = Live::default();
    let mut store = SledStore::open(&dir).unwrap();
    assert!(store.load().unwrap().is_none());
    let (mut most_live, mut most, mut written) = (0, Vec::new(), 0u64);
    for n in 1..=days * CHECKPOINTS {
        let checkpoint = world.checkpoint(n, &mut live);
        written += checkpoint.deltas.iter().map(|it| it.len() as u64).sum::<u64>();
        written += checkpoint.bases.iter().map(|it| it.1.len() as u64).sum::<u64>();
        store.keep(checkpoint).unwrap();
        most_live = most_live.max(live.bases + live.deltas.iter().sum::<usize>());
        if n % CHECKPOINTS == 0 {
            store.flush().unwrap();
            most.push(bytes_in(&dir));
            // Every other day it is started again.
            if (n / CHECKPOINTS).is_multiple_of(2) {
                drop(store);
                store = SledStore::open(&dir).unwrap();
                assert!(store.load().unwrap().is_some());
                assert_eq!(store.take_notices(), Vec::<String>::new());
            }
        }
    }
    println!("live {most_live}, written {written}, on disk day by day {most:?}");
    // Some segments of 4 MiB are in use whatever is kept.
    let bound = 4 * most_live as u64 + (32 << 20);
    assert!(written > 10 * most_live as u64, "too little was written to show anything");
    assert!(most.iter().all(|bytes| *bytes <= bound), "{most:?} beyond {bound}");
}

/// Records too large for sled's segments lie in files of their own, some of which sled forgets.
#[test]
fn a_database_far_larger_than_its_content_is_rewritten() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let slack = 24 << 20;
    let open = || SledStore::open(&dir).unwrap().with_slack(slack);
    let mut random = Random(0xB10B);
    let mut large = |n: u64| {
        let bases = (0..4).map(|at| ((n * 4 + at) % 23, noise(&mut random, 300_000))).collect();
        Checkpoint { head: bytes("head", n, 0), bases, useful: 1, ..Checkpoint::default() }
    };
    let mut store = open();
    assert!(store.load().unwrap().is_none());
    let (mut expected, mut most, mut first_blob) = (BTreeMap::new(), 0, 0);
    for n in 1..=200 {
        let checkpoint = large(n);
        expected.extend(checkpoint.bases.iter().cloned());
        store.keep(checkpoint).unwrap();
        store.flush().unwrap();
        first_blob =
            if n == 20 { fs::read_dir(dir.join("blobs")).unwrap().count() } else { first_blob };
        most = most.max(bytes_in(&dir));
        if n % 50 == 0 {
            drop(store);
            store = open();
            let kept = store.load().unwrap().unwrap();
            assert_eq!(kept.sequence, n);
            assert!(kept.bases == expected.clone().into_iter().collect::<Vec<_>>());
            assert_eq!(store.take_notices(), Vec::<String>::new());
        }
    }
    let content: usize = expected.values().map(Vec::len).sum();
    println!("content {content}, at most {most} on disk");
    assert!(first_blob > 0, "nothing lies outside of the segments");
    // Measured after every 8 MiB; while it is rewritten both are there.
    assert!(most <= 5 * content as u64 + slack + (16 << 20), "{most} for {content}");
}

fn noise(random: &mut Random, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| random.below(256) as u8).collect()
}

/// Moves what sled wrote in one directory into another.
fn move_database(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if matches!(name.as_str(), "db" | "conf" | "blobs") || name.starts_with("snap.") {
            fs::rename(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

/// A process may be killed at any step of a swap.
#[test]
fn a_swap_that_was_interrupted_is_ended_by_the_next_start() {
    // Not complete: the old one holds.
    let (_temp, dir) = kept(5);
    fs::create_dir(dir.join("next")).unwrap();
    fs::write(dir.join("next/db"), b"half").unwrap();
    assert_loads(&dir, 5);
    // Complete: it replaces the old one.
    let (_temp, newer) = kept(8);
    move_database(&newer, &dir.join("ready"));
    assert_loads(&dir, 8);
    // Partly moved up.
    move_database(&dir, &dir.join("moving"));
    fs::rename(dir.join("moving/conf"), dir.join("conf")).unwrap();
    assert_loads(&dir, 8);
    let mut store = SledStore::open(&dir).unwrap();
    assert!(store.load().unwrap().is_some());
    keep(&mut store, 9, 12);
    drop(store);
    assert_loads(&dir, 12);
    for name in ["next", "ready", "moving"] {
        assert!(!dir.join(name).exists(), "{name}");
    }
}
