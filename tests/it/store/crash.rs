//! A kill or a full disk leaves all of the last confirmed checkpoint in a store.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// Set in a child process: the directory it writes checkpoints into.
const CHILD: &str = "YARDMASTER_TEST_STORE";
/// Set in it too: how many bytes of a checkpoint are large.
const LARGE: &str = "YARDMASTER_TEST_STORE_LARGE";

#[test]
fn killed_at_any_moment_the_last_confirmed_checkpoint_is_there() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    let mut random = Random(0xD1CE);
    let mut reached = 0;
    for round in 0..20 {
        // In every other life each checkpoint that changes a third of the records is written beside.
        let mut child = child(&dir, &[], if round % 2 == 0 { 1 } else { usize::MAX });
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok).filter_map(|line| confirmed(&line));
        let before = lines.by_ref().take(random.below(8) as usize).last();
        // Between this one and some later one.
        std::thread::sleep(Duration::from_millis(random.below(60)));
        child.kill().unwrap();
        child.wait().unwrap();
        let reported = lines.last().or(before).unwrap_or(reached);
        let (kept, notices) = load(&dir);
        // Killed before its first checkpoint, a life leaves a tree with nothing in it, and says so.
        let was_empty = reported == 0 && notices.iter().all(|it| it.contains("holds nothing"));
        assert!(notices.is_empty() || was_empty, "round {round}: {notices:?}");
        let found = kept.as_ref().map_or(0, |kept| kept.sequence);
        assert!(found >= reported, "round {round}: {reported} was confirmed, {found} found");
        if found > 0 {
            assert_is(kept.as_ref(), found);
        }
        reached = found;
    }
    assert!(reached > 100, "only {reached} checkpoints in twenty lives");
}

#[test]
fn a_full_disk_stops_with_the_remedy() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("store");
    // A limit on the length of a file, in blocks of 512 bytes, stands for a disk that is full.
    let mut child =
        child(&dir, &["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\""], usize::MAX);
    let out = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success(), "{out}");
    let error = out.lines().find_map(|line| line.split_once("stopped: ")).unwrap().1;
    assert!(error.contains(&dir.display().to_string()), "{error}");
    assert!(error.contains("File too large") || error.contains("FileTooLarge"), "{error}");
    assert!(error.contains("give it space") && error.contains("deleting the store loses nothing"));
    let reported = out.lines().filter_map(confirmed).next_back().unwrap();
    let (kept, _) = load(&dir);
    let found = kept.as_ref().map_or(0, |kept| kept.sequence);
    assert!(found >= reported, "{reported} was confirmed, {found} found");
    assert_is(kept.as_ref(), found);
}

/// Starts this very binary again to run `the_child` alone; `wrap` are arguments of a shell that
/// starts it in turn.
fn child(dir: &Path, wrap: &[&str], large: usize) -> Child {
    let me = std::env::current_exe().unwrap();
    let mut command = if wrap.is_empty() { Command::new(&me) } else { Command::new("sh") };
    if !wrap.is_empty() {
        command.args(wrap).arg(&me);
    }
    command
        .args(["store::crash::the_child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, dir)
        .env(LARGE, large.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn confirmed(line: &str) -> Option<u64> {
    line.split_once("confirmed ")?.1.parse().ok()
}

/// Not a test by itself: the process that `child` starts. Writes checkpoints until it is killed or
/// stopped.
#[test]
fn the_child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let large = std::env::var(LARGE).unwrap().parse().unwrap();
    let mut store = SledStore::open(Path::new(&dir)).unwrap().with_large(large);
    let mut n = store.load().unwrap().map_or(0, |kept| kept.sequence);
    loop {
        n += 1;
        let written = store.keep(checkpoint(n)).and_then(|()| match n % 3 {
            0 => store.flush().map(|()| true),
            _ => Ok(false),
        });
        let mut out = std::io::stdout().lock();
        match written {
            Ok(true) => writeln!(out, "\nconfirmed {n}").unwrap(),
            Ok(false) => (),
            Err(error) => {
                writeln!(out, "\nstopped: {error}").unwrap();
                assert!(store.keep(checkpoint(n)).is_err() && store.flush().is_err());
                assert!(!store.is_busy() && store.load().is_err());
                return;
            }
        }
        out.flush().unwrap();
    }
}
