//! Domains that cannot be led side by side, and verbs that work for one domain: exit code 2.

use super::{set, topology};
use crate::verbs::{printed, yardmaster};
use std::path::Path;
use tempfile::TempDir;

fn is_refused(args: &[&str], parts: &[&str]) {
    let (code, shown, errors) = printed(&yardmaster(args));
    assert_eq!((code, shown.as_str()), (Some(2), ""), "{args:?}: {errors}");
    for part in parts {
        assert!(errors.contains(part), "{args:?}: no {part:?} in {errors}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn domains_and_own_topics_are_not_shared_and_both_files_are_named() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    let one = topology(dir.path(), "one", |_| {});
    let run = |other: &Path, parts: &[&str]| {
        let files = ["--topology", text(&one), "--topology", text(other)];
        let log = path("log");
        let place = ["run", "--dir", text(&log), "--create", "--dry-run", "--http", "127.0.0.1:0"];
        match parts {
            [] => {
                let (code, shown, errors) = printed(&yardmaster(&[&place[..], &files].concat()));
                assert_eq!(code, Some(0), "{errors}");
                for (domain, folder) in [("one", "log/one/store"), ("two", "log/two/store")] {
                    let plan = format!("would serve domain {domain} with its store in ");
                    let line = shown.lines().find(|line| line.starts_with(&plan)).unwrap();
                    assert!(line.ends_with(folder), "{line}");
                }
            }
            parts => {
                let both = [text(&one), text(other)];
                is_refused(&[&place[..], &files].concat(), &[parts, &both].concat());
            }
        }
        assert!(!log.exists(), "a dry run makes nothing");
    };
    run(&one.clone(), &["both of domain \"one\""]);
    let share = |topic: &'static str, name: &'static str| {
        topology(dir.path(), "two", move |file| set(file, ["topics", topic], "name", name))
    };
    run(&share("decision", "one.decision"), &["\"one.decision\" as their `decision`"]);
    run(&share("job-state", "one.job-state"), &["`job-state`", "`task`", "[topics.job-state]"]);
    run(&share("site", "one.queue"), &["as `queue` and as `site`"]);
    run(&share("task", "one.task"), &[]);
    run(&share("queue", "one.queue"), &[]);
}

#[test]
fn a_verb_of_one_domain_takes_one_topology_and_logs_of_several_lie_apart() {
    let dir = TempDir::new().unwrap();
    let files = ["one", "two"].map(|domain| topology(dir.path(), domain, |_| {}));
    let log = dir.path().join("log");
    let both = ["--topology", text(&files[0]), "--topology", text(&files[1])];
    for verb in ["audit", "counters", "replay"] {
        let args = [&[verb, "--dir", text(&log)][..], &both].concat();
        is_refused(&args, &["--topology", "2 times", "give it once"]);
    }
    // A log of one domain is not taken for a place of several.
    std::fs::create_dir_all(log.join("one.progress")).unwrap();
    let run = ["run", "--dir", text(&log), "--create", "--http", "127.0.0.1:0"];
    is_refused(&[&run[..], &both].concat(), &["the log of one domain", "/DOMAIN"]);
    // Without --create each must be there.
    std::fs::remove_dir(log.join("one.progress")).unwrap();
    let run = ["run", "--dir", text(&log), "--http", "127.0.0.1:0"];
    is_refused(&[&run[..], &both].concat(), &["log/one", "there is no such directory"]);
}
