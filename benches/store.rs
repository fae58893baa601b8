//! The store under the load it is made for: a million records of 150 bytes, some thousand of them
//! changed between two checkpoints, every page rewritten in turn. Prints one figure a line.

use std::path::Path;
use std::time::Instant;
use yardmaster::drive::port::{Checkpoint, Store};
use yardmaster::shell::store::SledStore;

const RECORDS: usize = 1_000_000;
const RECORD_BYTES: usize = 150;
const PAGE_RECORDS: usize = 200;
const PAGES: usize = RECORDS / PAGE_RECORDS;
const CHUNK_BYTES: usize = 32 << 10;

/// Set in a child process: how many records change between two checkpoints. Each size gets a
/// process of its own, so that one's memory is not the other's.
const CHANGED: &str = "YARDMASTER_BENCH_CHANGED";

fn main() {
    if let Ok(changed) = std::env::var(CHANGED) {
        let changed = changed.parse().expect("a number");
        return bench(changed, 2_000_000 / changed);
    }
    let me = std::env::current_exe().expect("a program knows where it is");
    for changed in ["1000", "10000"] {
        let child = std::process::Command::new(&me).env(CHANGED, changed).status();
        assert!(child.expect("a program can be started again").success());
    }
}

/// Keeps `rounds` checkpoints of `changed` records each, then opens the store again.
fn bench(changed: usize, rounds: usize) {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let dir = temp.path().join("store");
    let mut records = vec![0; RECORDS * RECORD_BYTES];
    let mut random = 0x5EED_u64;
    for part in records.chunks_mut(10) {
        part[..8].copy_from_slice(&next(&mut random).to_le_bytes());
    }
    let mut store = SledStore::open(&dir).expect("an empty directory opens");
    store.load().expect("an empty store loads");
    let begun = Instant::now();
    let bases = (0..PAGES).map(|page| (page as u64, page_of(&records, page))).collect();
    keep(&mut store, Checkpoint { bases, fresh: true, ..Checkpoint::default() });
    show(changed, "first checkpoint of all pages, s", begun.elapsed().as_secs_f64());

    let rewritten = (changed / PAGE_RECORDS).max(1);
    let useful = PAGES.div_ceil(rewritten) as u64;
    let cpu = cpu_seconds();
    let (mut page, mut times) = (0, Vec::with_capacity(rounds));
    for _ in 0..rounds {
        let (mut deltas, mut chunk) = (Vec::new(), Vec::new());
        for _ in 0..changed {
            let at = next(&mut random) as usize % RECORDS * RECORD_BYTES;
            records[at..at + 8].copy_from_slice(&next(&mut random).to_le_bytes());
            chunk.extend_from_slice(&records[at..at + RECORD_BYTES]);
            if chunk.len() + RECORD_BYTES > CHUNK_BYTES {
                deltas.push(std::mem::take(&mut chunk));
            }
        }
        deltas.push(chunk);
        let rolling = (page..page + rewritten).map(|page| page % PAGES);
        let bases = rolling.map(|page| (page as u64, page_of(&records, page))).collect();
        page = (page + rewritten) % PAGES;
        let head = vec![0; 2_000];
        let begun = Instant::now();
        keep(&mut store, Checkpoint { head, deltas, bases, useful, ..Checkpoint::default() });
        times.push(begun.elapsed());
    }
    let total: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
    show(
        changed,
        "CPU with making them up, us/update",
        (cpu_seconds() - cpu) * 1e6 / (rounds * changed) as f64,
    );
    times.sort();
    show(changed, "updates/s", (rounds * changed) as f64 / total);
    show(changed, "checkpoint p50, ms", times[rounds / 2].as_secs_f64() * 1e3);
    show(changed, "checkpoint p99, ms", times[rounds * 99 / 100].as_secs_f64() * 1e3);
    show(changed, "memory, MB", memory_mb());
    drop(store);
    show(changed, "on disk, MB", disk_bytes(&dir) as f64 / 1e6);
    restart(changed, &dir, &records);
}

fn restart(changed: usize, dir: &Path, records: &[u8]) {
    let begun = Instant::now();
    let mut store = SledStore::open(dir).expect("what was kept opens");
    let opened = begun.elapsed();
    let kept = store.load().expect("what was kept loads").expect("something was kept");
    show(changed, "restart, sled's part, s", opened.as_secs_f64());
    show(changed, "restart, s", begun.elapsed().as_secs_f64());
    assert_eq!(kept.bases.len(), PAGES);
    assert_eq!(kept.bases.iter().map(|(_, page)| page.len()).sum::<usize>(), records.len());
    let deltas: usize = kept.deltas.iter().map(|(_, chunk)| chunk.len()).sum();
    show(changed, "deltas to apply, MB", deltas as f64 / 1e6);
}

fn keep(store: &mut SledStore, checkpoint: Checkpoint) {
    store.keep(checkpoint).expect("a checkpoint is kept");
    store.flush().expect("and written");
}

fn page_of(records: &[u8], page: usize) -> Vec<u8> {
    let bytes = PAGE_RECORDS * RECORD_BYTES;
    records[page * bytes..(page + 1) * bytes].to_vec()
}

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

fn memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(f64::NAN) / 1e3
}

/// CPU time that this process used so far, all its threads together; s, in steps of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|it| it.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(11) + ticks(12)) / 100.0
}

fn disk_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

fn show(changed: usize, what: &str, figure: f64) {
    println!("{changed:>6} records a checkpoint: {what:<34} {figure:>12.2}");
}
