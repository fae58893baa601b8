//! The store on disk: what it gives back is what was kept, or nothing; whatever is done to it.

mod crash;
mod damage;
mod month;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use yardmaster::drive::port::{Checkpoint, Kept, Store, StoreError};
use yardmaster::shell::store::SledStore;
use yardmaster::sim::paper::store::PaperStore;

/// Base pages; checkpoint `n` rewrites page `n % PAGES`.
const PAGES: u64 = 13;
/// Every so many checkpoints all begins again.
const FRESH: u64 = 50;
/// Every so many checkpoints counters are due.
const DUE: u64 = 3;

/// Bytes that can be distinguished from all others: a function of their index, of 100 bytes to 20 kB.
fn bytes(kind: &str, a: u64, b: u64) -> Vec<u8> {
    let word = format!("{kind} {a} {b}; ");
    let length = 100 + (a.wrapping_mul(7919).wrapping_add(b * 104_729) % 20_000) as usize;
    word.bytes().cycle().take(length).collect()
}

fn chunks(n: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..n % 4).map(move |index| bytes("delta", n, index))
}

fn counters(n: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..20)
        .filter(|key| !(n + key).is_multiple_of(5))
        .map(|key| (format!("queue=Q{key:02}").into_bytes(), (n / (key + 1)).to_string().into()))
        .collect()
}

/// The `n`th checkpoint, from 1 on.
fn checkpoint(n: u64) -> Checkpoint {
    Checkpoint {
        head: bytes("head", n, 0),
        deltas: chunks(n).collect(),
        bases: vec![(n % PAGES, bytes("base", n % PAGES, n))],
        useful: PAGES,
        counters: n.is_multiple_of(DUE).then(|| counters(n)),
        fresh: n.is_multiple_of(FRESH),
    }
}

/// All that must be there after `n` checkpoints, by other means than the store's.
fn expected(n: u64) -> Kept {
    let start = (n / FRESH * FRESH).max(1);
    let latest = |is: &dyn Fn(u64) -> bool| (start..=n).rev().find(|k| is(*k));
    Kept {
        head: bytes("head", n, 0),
        bases: (0..PAGES)
            .filter_map(|page| {
                latest(&|k| k % PAGES == page).map(|k| (page, bytes("base", page, k)))
            })
            .collect(),
        deltas: (start.max(n.saturating_sub(PAGES))..=n)
            .flat_map(|k| chunks(k).map(move |chunk| (k, chunk)))
            .collect(),
        sequence: n,
        counters: latest(&|k| k.is_multiple_of(DUE)).map(counters).unwrap_or_default(),
    }
}

/// Keeps checkpoints `from..=to`, each durable before the next.
fn keep(store: &mut SledStore, from: u64, to: u64) {
    for n in from..=to {
        store.keep(checkpoint(n)).unwrap();
    }
    store.flush().unwrap();
    assert!(!store.is_busy());
}

/// A directory with a store of `n` checkpoints in it, nobody using it.
fn kept(n: u64) -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let mut store = SledStore::open(&dir).unwrap();
    assert!(store.load().unwrap().is_none());
    keep(&mut store, 1, n);
    assert_eq!(store.take_notices(), Vec::<String>::new());
    (temp, dir)
}

fn load(dir: &Path) -> (Option<Kept>, Vec<String>) {
    let mut store = SledStore::open(dir).unwrap();
    let kept = store.load().unwrap();
    (kept, store.take_notices())
}

/// Compares with what is expected after `n` checkpoints without printing all of it.
fn assert_is(kept: Option<&Kept>, n: u64) {
    let kept = kept.unwrap_or_else(|| panic!("nothing found, expected {n} checkpoints"));
    let expected = expected(n);
    assert_eq!(kept.sequence, n);
    assert_eq!(kept.counters, expected.counters);
    assert!(kept.head == expected.head, "the head of {n}");
    assert!(kept.bases == expected.bases, "the bases of {n}");
    assert!(kept.deltas == expected.deltas, "the deltas of {n}");
}

/// As `assert_is`, for a store that opens without a word.
fn assert_loads(dir: &Path, n: u64) {
    let (kept, notices) = load(dir);
    assert_eq!(notices, Vec::<String>::new());
    assert_is(kept.as_ref(), n);
}

fn text(error: StoreError) -> String {
    error.to_string()
}

/// sled without us, to bend what lies there.
fn sled_of(dir: &Path) -> sled::Db {
    for _ in 0..500 {
        match sled::Config::new().path(dir).flush_every_ms(None).segment_size(4 << 20).open() {
            Ok(db) => return db,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("sled does not open {}", dir.display());
}

fn bend(dir: &Path, change: impl FnOnce(&sled::Db)) {
    let db = sled_of(dir);
    change(&db);
    db.flush().unwrap();
}

/// A record as the format's documentation gives it: so the format is pinned here.
fn framed(key: &[u8], sequence: u64, payload: &[u8]) -> Vec<u8> {
    let mut value = [b"YM\x01", &key[..1], &sequence.to_le_bytes(), payload].concat();
    let checksum = crc32c::crc32c_append(crc32c::crc32c(key), &value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

fn base_key(page: u64) -> Vec<u8> {
    [&b"b"[..], &page.to_be_bytes()].concat()
}

#[test]
fn what_was_kept_comes_back_at_every_checkpoint() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let mut n = 0;
    for step in [1, 1, 1, 5, 20, 21, 1, 1, 10, 40, 17] {
        // Every other process writes what changes a third of the records beside them.
        let large = if step % 2 == 0 { 1 } else { usize::MAX };
        let mut store = SledStore::open(&dir).unwrap().with_large(large);
        let before = store.load().unwrap();
        match n {
            0 => assert!(before.is_none()),
            _ => assert_is(before.as_ref(), n),
        }
        keep(&mut store, n + 1, n + step);
        n += step;
        assert_eq!(store.take_notices(), Vec::<String>::new());
    }
    assert_loads(&dir, n);
}

#[test]
fn the_disk_gives_what_the_paper_gives() {
    let temp = tempfile::tempdir().unwrap();
    let mut random = Random(0xBEEF);
    for history in 0..6 {
        let dir = temp.path().join(history.to_string());
        let large = if history % 2 == 0 { 1 } else { usize::MAX };
        let mut disk = SledStore::open(&dir).unwrap().with_large(large);
        let mut paper = PaperStore::default();
        for n in 0..60 {
            let checkpoint = Checkpoint {
                head: bytes("head", n, history),
                deltas: (0..random.below(4)).map(|index| bytes("delta", n, index)).collect(),
                bases: (0..random.below(3)).map(|it| (it * 7, bytes("base", n, it))).collect(),
                useful: random.below(12),
                counters: (random.below(3) == 0).then(|| counters(random.below(30))),
                fresh: random.below(15) == 0,
            };
            paper.keep(checkpoint.clone()).unwrap();
            disk.keep(checkpoint).unwrap();
            if random.below(6) == 0 {
                assert!(disk.load().unwrap() == paper.load().unwrap(), "history {history}, {n}");
            }
        }
        drop(disk);
        assert!(load(&dir).0 == paper.load().unwrap(), "history {history}");
    }
}

#[test]
fn a_store_is_loaded_again_without_being_opened_again() {
    let temp = tempfile::tempdir().unwrap();
    let mut store = SledStore::open(&temp.path().join("store")).unwrap();
    keep(&mut store, 1, 8);
    assert_is(store.load().unwrap().as_ref(), 8);
    keep(&mut store, 9, 60);
    assert_is(store.load().unwrap().as_ref(), 60);
}

#[test]
fn keeping_before_loading_still_removes_what_is_no_more() {
    let (_temp, dir) = kept(49);
    let mut store = SledStore::open(&dir).unwrap();
    keep(&mut store, 50, 51);
    drop(store);
    assert_loads(&dir, 51);
}

#[test]
fn dropping_the_store_ends_what_is_under_way() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let mut store = SledStore::open(&dir).unwrap();
    store.keep(checkpoint(1)).unwrap();
    drop(store);
    assert_loads(&dir, 1);
}

#[test]
fn the_tree_holds_the_records_the_documentation_names_and_no_others() {
    let (_temp, dir) = kept(60);
    let db = sled_of(&dir);
    let kept = expected(60);
    let mut keys: Vec<Vec<u8>> = vec![b"h".to_vec(), b"v".to_vec()];
    keys.extend(kept.bases.iter().map(|(page, _)| base_key(*page)));
    keys.extend(kept.counters.iter().map(|(text, _)| [b"c|", text.as_slice()].concat()));
    for n in 50..=60u64 {
        let chunk = |index: u32| [&b"d"[..], &n.to_be_bytes(), &index.to_be_bytes()].concat();
        keys.extend((0..chunks(n).count() as u32).map(chunk));
    }
    keys.sort();
    let found: Vec<Vec<u8>> = db.iter().keys().map(|key| key.unwrap().to_vec()).collect();
    assert_eq!(found, keys);
    let page = base_key(60 % PAGES);
    let record = db.get(&page).unwrap().unwrap();
    assert_eq!(&record[..], framed(&page, 60, &bytes("base", 60 % PAGES, 60)));
    assert_eq!(db.tree_names(), vec![sled::IVec::from("__sled__default")]);
}

#[test]
fn a_foreign_directory_is_refused_and_not_touched() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("thesis");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("chapter-1.tex"), b"years of work").unwrap();
    let error = text(SledStore::open(&dir).unwrap_err());
    assert!(error.contains("holds `chapter-1.tex`") && error.contains("another directory"));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);

    let dir = temp.path().join("theirs");
    bend(&dir, |db| {
        db.insert(b"their", b"data").unwrap();
    });
    let error = text(SledStore::open(&dir).unwrap_err());
    assert!(error.contains("a sled database without `yardmaster.store`"), "{error}");
    assert!(text(SledStore::counters(&dir).unwrap_err()).contains("there is none"));
    assert_eq!(sled_of(&dir).get(b"their").unwrap().unwrap(), b"data");
}

#[test]
fn a_store_in_use_names_who_uses_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let mut store = SledStore::open(&dir).unwrap();
    keep(&mut store, 1, 3);
    assert!(text(SledStore::counters(&dir).unwrap_err()).contains("in use by another process"));
    store.write_address("127.0.0.1:9187").unwrap();
    assert_eq!(SledStore::read_address(&dir).as_deref(), Some("127.0.0.1:9187"));
    for error in [SledStore::counters(&dir).unwrap_err(), SledStore::open(&dir).unwrap_err()] {
        assert!(text(error).contains("in use by the process at 127.0.0.1:9187"));
    }
    assert_is(store.load().unwrap().as_ref(), 3);
    drop(store);
    let found = SledStore::counters(&dir).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let wanted: Vec<_> = counters(3).into_iter().map(|(k, v)| (text(k), text(v))).collect();
    assert_eq!(found, wanted);
    assert_eq!(SledStore::read_address(&dir), None);
    assert_loads(&dir, 3);
}

/// A small generator for the tests' own choices.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
