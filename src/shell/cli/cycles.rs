//! Cycles in a directory, whatever topology they are of.

use crate::cli::outputs::newest;
use crate::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use crate::ports::AnyLog;
use std::fs;
use std::path::Path;
use yardmaster_core::cut::Topic;
use yardmaster_wire::topology::BUILT_IN;

/// How the name of a topic of cycles ends, wherever it is not named otherwise.
const CYCLES: &str = "progress";

/// Remedy for a directory in which a topology finds no log; empty if there is none of another.
pub(super) fn other_log(dir: &Path) -> String {
    let domain = |name: &String| Some(newest(&mut open(dir, name).ok()?).ok()??.domain);
    let domains: Vec<String> = cycles_in(dir).iter().filter_map(domain).collect();
    let flag = |domain: &String| match BUILT_IN.iter().any(|(name, _)| name == domain) {
        true => format!("--topology {domain}"),
        false => "the --topology FILE that it was made by".to_owned(),
    };
    if let Some(domain) = domains.first() {
        return format!("it is a log of the domain {domain:?}: give {}", flag(domain));
    }
    let each = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut logs: Vec<String> = each
        .filter(|path| !cycles_in(path).is_empty())
        .map(|path| format!("--dir {}", path.display()))
        .collect();
    logs.sort();
    if logs.is_empty() {
        String::new()
    } else {
        format!("logs lie in it: give {}", logs.join(" or "))
    }
}

/// Whether a topic is one of cycles, by its name.
pub(super) fn are_cycles(topic: &str) -> bool {
    topic.ends_with(CYCLES)
}

/// Topics of cycles in a directory, by their names.
pub(super) fn cycles_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| are_cycles(name) && dir.join(name).is_dir()).collect();
    names.sort();
    names
}

/// Opens such a topic alone.
pub(super) fn open(dir: &Path, name: &str) -> anyhow::Result<AnyLog> {
    let topics = [DirTopic { topic: Topic::Progress, name: name.to_owned(), partitions: 1 }];
    Ok(AnyLog::dir(DirLog::open(dir, Mode::Read, &topics, DirOptions::default())?)?)
}
