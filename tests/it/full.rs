//! Disks that are really full: a file system of our own that has no room left. A run of the program
//! stops and names the place; with room it goes on and nothing is lost.

use crate::kill::process::{PROGRAM, wait_until, yardmaster};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const MINUTE: Duration = Duration::from_secs(60);

/// A file system in memory, unmounted when it is dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None`, and says so, where none can be mounted.
    fn mount(size: &str) -> Option<SmallDisk> {
        let dir = TempDir::new().unwrap();
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(dir.path()).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(SmallDisk(dir));
        }
        println!("left out: no tmpfs can be mounted, which needs the rights of root");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let status = Command::new("mount").args(["-o", &options]).arg(self.path()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A process, killed when it is dropped.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Leads a directory's log, and is stopped in order.
fn lead(dir: &Path, store: &Path, more: &[&str]) {
    let log = store.with_extension("txt");
    let mut run = Run(Command::new(PROGRAM)
        .args(["run", "--dir", text(dir), "--store", text(store), "--http", "127.0.0.1:0"])
        .args(more)
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap());
    let reported = || std::fs::read_to_string(&log).unwrap();
    wait_until(2 * MINUTE, reported, || reported().contains("leading epoch"));
    let pid = run.0.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    wait_until(MINUTE, reported, || run.0.try_wait().unwrap().is_some());
    assert!(run.0.wait().unwrap().success(), "{}", reported());
}

/// Output of a verb that must succeed.
fn printed(args: &[&str]) -> String {
    let output = yardmaster(args);
    let (report, error) = (output.stdout, output.stderr);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&error));
    String::from_utf8(report).unwrap()
}

/// A verb that must stop for want of room, and what it must name.
fn stops(args: &[&str], parts: &[&str]) {
    let output = yardmaster(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in parts.iter().chain(&["No space left on device"]) {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

fn check_whole(dir: &Path) -> String {
    let report = printed(&["replay", "--dir", text(dir), "--verify"]);
    assert!(report.contains(" 0 different, 0 not verifiable"), "{report}");
    printed(&["audit", "--dir", text(dir), "--store", text(&dir.join("none"))]);
    let count = report.lines().find_map(|line| line.strip_prefix("decisions "));
    count.unwrap_or_else(|| panic!("{report}")).to_owned()
}

/// The log's own file system fills while a simulated grid is brokered, and is full at a start.
#[test]
fn a_directory_log_on_a_full_disk_stops_it_and_with_room_it_goes_on() {
    let Some(disk) = SmallDisk::mount("3m") else { return };
    let (dir, other) = (disk.path().join("yard"), TempDir::new().unwrap());
    let store = other.path().join("store");
    let grid = ["--hours", "240", "--scale", "0.002", "--seed", "7"];
    // The store of a demo lies beside its log: either may be the first that finds no room.
    let demo = [&["demo", "--dir", text(&dir)], &grid[..]].concat();
    stops(&demo, &[text(disk.path()), "start again"]);
    let run = ["run", "--dir", text(&dir), "--store", text(&store), "--http", "127.0.0.1:0"];
    stops(&run, &[text(disk.path()), "make room on the disk", "start again"]);
    disk.grow("64m");
    let decided: u64 = check_whole(&dir).parse().unwrap();
    assert!(decided > 0);
    lead(&dir, &store, &[]);
    assert!(check_whole(&dir).parse::<u64>().unwrap() >= decided, "nothing is lost");
}

/// A store's file system that has no room; the log lies elsewhere, in a directory that `run` made.
#[test]
fn a_store_on_a_full_disk_stops_it_and_a_log_is_made_when_that_is_asked_for() {
    let Some(disk) = SmallDisk::mount("24k") else { return };
    let other = TempDir::new().unwrap();
    let (dir, store) = (other.path().join("yard"), disk.path().join("store"));
    let first = other.path().join("store");
    lead(&dir, &first, &["--create"]);
    let cycles = printed(&["replay", "--dir", text(&dir)]);
    assert!(!cycles.contains("cycles 0"), "{cycles}");
    // It was made, so it need not be made again.
    lead(&dir, &first, &[]);
    let run = ["run", "--dir", text(&dir), "--store", text(&store), "--http", "127.0.0.1:0"];
    stops(&run, &["store: ", text(&store), "give it space", "deleting the store loses nothing"]);
    disk.grow("64m");
    lead(&dir, &store, &[]);
    printed(&["audit", "--dir", text(&dir), "--store", text(&store)]);
}
