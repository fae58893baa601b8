//! A store with bent, cut or lost bytes is mended, or reported to be gone; never wrong.

use super::*;

/// Cuts sled's snapshots in half and leaves a half-made one; there is at least one.
fn truncate_snapshots(dir: &Path) {
    let snapshots: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("snap."))
        .collect();
    assert!(!snapshots.is_empty());
    for path in &snapshots {
        let length = fs::metadata(path).unwrap().len();
        fs::File::options().write(true).open(path).unwrap().set_len(length / 2).unwrap();
    }
    fs::write(dir.join("snap.0000000000000000.generating"), b"half").unwrap();
}

/// Three checkpoints lie in one segment of sled's log (512 KiB), which it then cannot have used
/// again: all of the tree is found in the log.
#[test]
fn a_truncated_snapshot_is_removed_and_nothing_is_lost() {
    let (_temp, dir) = kept(3);
    load(&dir);
    truncate_snapshots(&dir);
    let (kept, notices) = load(&dir);
    assert!(kept.is_some(), "{notices:?}");
    assert_is(kept.as_ref(), 3);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("removed sled's snap."), "{notices:?}");
}

/// Once sled has used its first segment again, whether it finds the rest without a snapshot depends
/// on when it flushed: so the store is whole, or it is reported to be gone.
#[test]
fn a_truncated_snapshot_of_a_long_log_never_gives_wrong_data() {
    let (_temp, dir) = kept(40);
    load(&dir);
    truncate_snapshots(&dir);
    let (kept, notices) = load(&dir);
    assert!(notices[0].contains("removed sled's snap."), "{notices:?}");
    match &kept {
        Some(_) => {
            assert_is(kept.as_ref(), 40);
            assert_eq!(notices.len(), 1, "{notices:?}");
        }
        None => assert!(notices[1].contains("rebuilt from the log"), "{notices:?}"),
    }
}

#[test]
fn flipped_bytes_never_give_wrong_data() {
    let (temp, dir) = kept(40);
    load(&dir);
    let mut random = Random(0x5EED);
    let (mut whole, mut mended, mut rebuilt) = (0, 0, 0);
    for round in 0..80 {
        let bent = temp.path().join("bent").join(round.to_string()).join("store");
        copy(&dir, &bent);
        let mut files: Vec<PathBuf> = vec![bent.join("db"); 6];
        for part in [bent.clone(), bent.join("blobs")] {
            let named = |path: &PathBuf| path.is_file() && !path.ends_with("yardmaster.store");
            files.extend(fs::read_dir(part).unwrap().map(|e| e.unwrap().path()).filter(named));
        }
        for _ in 0..random.below(3) + 1 {
            let path = &files[random.below(files.len() as u64) as usize];
            let mut content = fs::read(path).unwrap();
            // A place with something in it: much of a segment is empty.
            let from = random.below(content.len() as u64) as usize;
            let at = (from..content.len()).find(|at| content[*at] != 0).unwrap_or(from);
            for byte in content.iter_mut().skip(at).take(8) {
                *byte ^= random.below(255) as u8 + 1;
            }
            fs::write(path, content).unwrap();
        }
        let (kept, notices) = load(&bent);
        match kept {
            Some(kept) => {
                assert_is(Some(&kept), kept.sequence);
                if notices.is_empty() { whole += 1 } else { mended += 1 }
            }
            None => {
                assert!(
                    notices.iter().any(|it| it.contains("rebuilt from the log")),
                    "{notices:?}"
                );
                rebuilt += 1;
            }
        }
        let mut store = SledStore::open(&bent).unwrap();
        let from = store.load().unwrap().map_or(0, |kept| kept.sequence);
        store.keep(Checkpoint { fresh: true, ..checkpoint(from + 1) }).unwrap();
        store.flush().unwrap();
    }
    println!("{whole} whole, {mended} mended, {rebuilt} rebuilt");
    assert!(whole + mended > 0 && rebuilt > 0, "the test bends too little or too much");
}

#[test]
fn a_damaged_or_missing_record_is_noticed_and_the_store_rebuilt() {
    type Change = fn(&sled::Db);
    let cases: [(&str, Change); 9] = [
        ("record 620000000000000003 does not match its checksum", |db| {
            let mut record = db.get(base_key(3)).unwrap().unwrap().to_vec();
            record[40] ^= 1;
            db.insert(base_key(3), record).unwrap();
        }),
        ("record 620000000000000003 does not match its checksum", |db| {
            let other = db.get(base_key(4)).unwrap().unwrap();
            db.insert(base_key(3), other).unwrap();
        }),
        ("records are missing, old or left over", |db| {
            let old = framed(&base_key(3), 3, &bytes("base", 3, 3));
            db.insert(base_key(3), old).unwrap();
        }),
        ("records are missing, old or left over", |db| {
            db.remove(base_key(3)).unwrap();
        }),
        ("chunk 1 of checkpoint 19 is missing", |db| {
            db.remove([&b"d"[..], &19u64.to_be_bytes(), &1u32.to_be_bytes()].concat()).unwrap();
        }),
        ("the head is missing", |db| {
            db.remove(b"h").unwrap();
        }),
        ("the format record is missing", |db| {
            db.remove(b"v").unwrap();
        }),
        ("the format record is damaged", |db| {
            db.insert(b"v", b"yardmaster").unwrap();
        }),
        ("record 78 is none of ours", |db| {
            db.insert(b"x", b"y").unwrap();
        }),
    ];
    for (reason, change) in cases {
        let (_temp, dir) = kept(20);
        bend(&dir, change);
        assert!(text(SledStore::counters(&dir).unwrap_err()).contains(reason), "{reason}");
        let (kept, notices) = load(&dir);
        assert!(kept.is_none(), "{reason}");
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains(reason), "{notices:?}");
        assert!(notices[0].contains("rebuilt from the log"), "{notices:?}");
        let mut store = SledStore::open(&dir).unwrap();
        keep(&mut store, 1, 2);
        drop(store);
        assert_loads(&dir, 2);
    }
}

#[test]
fn another_format_is_cleared_and_reported() {
    let (_temp, dir) = kept(5);
    bend(&dir, |db| {
        let mut record = [&b"yardmaster store "[..], &7u32.to_le_bytes()].concat();
        record.extend_from_slice(&crc32c::crc32c(&record).to_le_bytes());
        db.insert(b"v", record).unwrap();
    });
    assert!(text(SledStore::counters(&dir).unwrap_err()).contains("has format 7"));
    let mut store = SledStore::open(&dir).unwrap();
    assert!(store.load().unwrap().is_none());
    let notices = store.take_notices();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("has format 7, this program writes 1; cleared"), "{notices:?}");
    keep(&mut store, 1, 4);
    drop(store);
    assert_loads(&dir, 4);
}

#[test]
fn a_database_beyond_repair_is_moved_aside_and_two_such_are_kept() {
    let (temp, dir) = kept(5);
    for round in 1..=4 {
        fs::remove_file(dir.join("conf")).unwrap();
        fs::create_dir(dir.join("conf")).unwrap();
        let (kept, notices) = load(&dir);
        assert!(kept.is_none());
        assert!(notices.iter().any(|it| it.contains("rebuilt from the log")), "{notices:?}");
        assert!(temp.path().join(format!("store.damaged-{round}")).is_dir());
    }
    let mut left: Vec<String> = fs::read_dir(temp.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["store", "store.damaged-3", "store.damaged-4"]);
}

#[test]
fn a_store_that_lost_everything_is_reported() {
    let (_temp, dir) = kept(5);
    let length = fs::metadata(dir.join("db")).unwrap().len();
    fs::write(dir.join("db"), vec![0; length as usize]).unwrap();
    fs::remove_file(dir.join("conf")).unwrap();
    let (kept, notices) = load(&dir);
    assert!(kept.is_none());
    assert!(notices[0].contains("rebuilt from the log"), "{notices:?}");
}

/// A copy of a store, whose marker is replaced.
fn marked(dir: &Path, marker: Option<&[u8]>) -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let to = temp.path().join("store");
    copy(dir, &to);
    match marker {
        Some(bytes) => fs::write(to.join("yardmaster.store"), bytes).unwrap(),
        None => fs::remove_file(to.join("yardmaster.store")).unwrap(),
    }
    (temp, to)
}

/// The marker is rewritten, the data beside it are checked by their own checksums and kept.
fn assert_marker_is_mended(dir: &Path, marker: Option<&[u8]>) {
    let (_temp, dir) = marked(dir, marker);
    let (kept, notices) = load(&dir);
    assert_is(kept.as_ref(), 3);
    assert_eq!(notices.len(), 1, "{marker:?}: {notices:?}");
    assert!(notices[0].contains("yardmaster.store was damaged or missing"), "{notices:?}");
    assert_loads(&dir, 3);
}

#[test]
fn a_damaged_marker_is_mended_whatever_is_left_of_it() {
    let (_temp, dir) = kept(3);
    let whole = fs::read(dir.join("yardmaster.store")).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= if at % 2 == 0 { 0xFF } else { 1 };
        assert_marker_is_mended(&dir, Some(&flipped));
    }
    for length in (0..whole.len()).step_by(7) {
        assert_marker_is_mended(&dir, Some(&whole[..length]));
    }
    let mut noise = whole.clone();
    let mut random = Random(0x5EED);
    noise.iter_mut().for_each(|byte| *byte ^= random.below(255) as u8 + 1);
    for lost in [&vec![0; whole.len()][..], &noise] {
        assert_marker_is_mended(&dir, Some(lost));
    }
    assert_marker_is_mended(&dir, None);
}

#[test]
fn a_damaged_database_beside_a_damaged_marker_is_rebuilt() {
    let (_temp, dir) = kept(3);
    bend(&dir, |db| drop(db.remove(b"h").unwrap()));
    let (temp, dir) = marked(&dir, Some(b"yardmaste\xFF"));
    let (kept, notices) = load(&dir);
    assert!(kept.is_none());
    assert!(notices[0].contains("rewritten"), "{notices:?}");
    assert!(notices[1].contains("rebuilt from the log"), "{notices:?}");
    assert!(temp.path().join("store.damaged-1").is_dir());
    let mut store = SledStore::open(&dir).unwrap();
    keep(&mut store, 1, 2);
    drop(store);
    assert_loads(&dir, 2);
}

#[test]
fn a_database_of_another_program_is_refused_under_any_marker() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("theirs");
    bend(&dir, |db| {
        db.insert(b"their", b"data").unwrap();
    });
    fs::write(dir.join("yardmaster.store"), b"notes on the yardmaster's store").unwrap();
    let error = text(SledStore::open(&dir).unwrap_err());
    assert!(
        error.contains("`yardmaster.store` is no marker of ours; nothing was touched"),
        "{error}"
    );
    assert_eq!(sled_of(&dir).get(b"their").unwrap().unwrap(), b"data");
    assert_eq!(fs::read(dir.join("yardmaster.store")).unwrap(), b"notes on the yardmaster's store");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}
