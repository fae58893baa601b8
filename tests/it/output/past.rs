//! Counters without a store, and counters and explanations as of a moment.

use super::{demo, printed, refused, text, yardmaster};
use std::path::Path;
use tempfile::TempDir;
use yardmaster::core::unit::{HOUR, Millis};

/// When the simulated time of a demo begins.
const START: Millis = 1_760_400_000_000;

#[test]
fn counters_without_a_store_are_those_of_the_log() {
    let dir = TempDir::new().unwrap();
    demo(&dir.path().join("yard"), "1");
    let place = dir.path().join("yard");
    let place = place.to_str().unwrap();
    let args = ["counters", "--dir", place];
    let (kept, kept_json) = (printed(&args), printed(&[&args[..], &["--json"]].concat()));
    std::fs::rename(dir.path().join("yard/store"), dir.path().join("aside")).unwrap();
    let output = yardmaster(&args);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), kept);
    let error = text(&output.stderr);
    assert!(error.contains("no store at") && error.contains("the log is replayed"), "{error}");
    assert_eq!(printed(&[&args[..], &["--json"]].concat()), kept_json);
    assert!(!Path::new(place).join("store").exists(), "none is made");
    // A store that was named must be there.
    let none = dir.path().join("none");
    let error = refused(&[&args[..], &["--store", none.to_str().unwrap()]].concat());
    assert!(error.contains("no store at"), "{error}");
}

/// The same seed gives the same log, so the counters of an hour's demo are those of a longer one as
/// of its first hour.
#[test]
fn counters_as_of_a_moment_are_those_that_were_kept_then() {
    let dir = TempDir::new().unwrap();
    let (short, long) = (dir.path().join("short"), dir.path().join("long"));
    demo(&short, "1");
    demo(&long, "2");
    let (short, long) = (short.to_str().unwrap(), long.to_str().unwrap());
    let then = printed(&["counters", "--dir", short, "--json"]);
    let at = |when: &str| {
        let output = yardmaster(&["counters", "--dir", long, "--json", "--at", when]);
        assert!(output.status.success(), "{output:?}");
        (text(&output.stdout), text(&output.stderr))
    };
    let (found, report) = at(&(START + HOUR).to_string());
    assert_eq!(found, then);
    assert!(report.contains("as of cycle ") && report.contains("2025-10-14T01:00:00Z"), "{report}");
    assert_eq!(at("2025-10-14T01:00:00Z").0, then);
    assert_eq!(at("2025-10-14T03:00:05+02:00").0, then, "no cycle lies between");
    assert_ne!(at("2025-10-14T00:59:00Z").0, then);
    let now = printed(&["counters", "--dir", long, "--json"]);
    assert_eq!(at(&(START + 2 * HOUR).to_string()).0, now);
    assert_ne!(then, now);
    for (when, side) in [(START - 1, "before the first"), (START + 2 * HOUR + 1, "after the last")]
    {
        let error = refused(&["counters", "--dir", long, "--at", &when.to_string()]);
        assert!(error.contains(side) && error.contains("2025-10-14T02:00:00Z"), "{error}");
        assert!(error.contains("from 2025-10-14T00:00"), "both ends: {error}");
    }
    assert!(refused(&["counters", "--dir", long, "--at", "yesterday"]).contains("1970"));
    explained_as_of_a_moment(short, long);
}

/// Explanations show the decisions by then, and the state of a job then.
fn explained_as_of_a_moment(short: &str, long: &str) {
    let when = (START + HOUR).to_string();
    let tasks = printed(&["counters", "--dir", short, "--by", "task", "--columns", "task"]);
    let task = tasks.lines().nth(1).expect("a task with ended jobs").trim();
    let then = printed(&["explain", task, "--dir", short, "--all"]);
    let at = printed(&["explain", task, "--dir", long, "--all", "--at", &when]);
    // As of a moment it begins with the jobs of the task as they were then.
    assert!(at.starts_with(&format!("Task {task}: of ")) && at.ends_with(&then), "{at}{then}");
    let now = printed(&["explain", task, "--dir", long, "--all"]);
    assert!(now.len() >= then.len());
    let output =
        yardmaster(&["explain", task, "--dir", long, "--at", &(START + 10_000).to_string()]);
    assert_eq!(output.status.code(), Some(1), "nothing was decided yet: {output:?}");
    let error = refused(&["explain", task, "--dir", long, "--at", "2001-01-01T00:00:00Z"]);
    assert!(error.contains("before the first cycle"), "{error}");
}
