//! The topology of a log as the log itself has it: of its newest epoch.

use crate::cli::Usage;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::{newest, records};
use crate::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use crate::ports::AnyLog;
use std::fs;
use std::path::Path;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::progress::Progress;
use yardmaster_drive::epoch_config::{EpochConfig, hash_of};
use yardmaster_wire::topology::BUILT_IN;

/// How the name of a topic of cycles ends, wherever it is not named otherwise.
const CYCLES: &str = "progress";

/// The topology that is in force in a log: a built-in one if it is that, else the one that was
/// published. `assumed` where the log does not state it: it has no cycle, or is in a framing that a
/// registry is needed for.
///
/// # Errors
/// The log cannot be read; a directory has cycles of several domains.
pub(super) fn in_force(log_args: &LogArgs, assumed: Read) -> anyhow::Result<Read> {
    let mut log = match &log_args.dir {
        None => log_args.log_of(&assumed.topology, &[Topic::Progress])?,
        Some(dir) => {
            let names = cycles_in(dir);
            let usual = &assumed.topology.topic(Topic::Progress).name;
            match (names.iter().find(|name| *name == usual), names.as_slice()) {
                (Some(name), _) | (None, [name]) => open(dir, name)?,
                (None, []) => return Ok(assumed),
                (None, several) => {
                    let (dir, names) = (dir.display(), several.join(", "));
                    return Err(Usage(format!(
                        "--dir {dir}: it has cycles of several domains ({names}); give the \
                         --topology of one"
                    ))
                    .into());
                }
            }
        }
    };
    let Some(newest) = newest(&mut log)? else { return Ok(assumed) };
    let is_it = |text: &str| EpochConfig::of("", text).is_ok_and(|it| it.hash == newest.policy_hash);
    if is_it(&assumed.text) {
        return Ok(assumed);
    }
    let built_in = BUILT_IN.iter().find(|(name, text)| *name == newest.domain && is_it(text));
    let read = match built_in {
        Some((name, _)) => Read::open(Some(Path::new(name)))?,
        None => match published(&mut log, &newest)? {
            Some(read) => read,
            None => return Ok(assumed),
        },
    };
    eprintln!("no --topology is given: read by the one that the log was led by, {}", read.name);
    Ok(read)
}

/// The topology that was published at the beginning of the newest epoch.
fn published(log: &mut AnyLog, newest: &Progress) -> anyhow::Result<Option<Read>> {
    let mut found = None;
    records(log, Topic::Progress, u64::MAX, |codec, value| {
        let progress = value.and_then(|value| codec.read_record::<Progress>(value).ok());
        let of_epoch = progress.filter(|it| it.epoch == newest.epoch);
        let text = of_epoch.and_then(|it| it.policies);
        found = text.filter(|text| hash_of(text) == newest.policy_hash).or(found.take());
    })?;
    let Some(text) = found else { return Ok(None) };
    let (domain, epoch) = (&newest.domain, newest.epoch);
    let mut read = Read::parse(format!("that of {domain} in epoch {epoch}"), text)?;
    if std::mem::take(&mut read.topology.pseudonyms.users) {
        // The key lies elsewhere, and the published text does not name it.
        eprintln!(
            "users have pseudonyms in this log: to find one by the own name, give the --topology \
             that names the key"
        );
    }
    Ok(Some(read))
}

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
    if logs.is_empty() { String::new() } else { format!("logs lie in it: give {}", logs.join(" or ")) }
}

/// Topics of cycles in a directory, by their names.
fn cycles_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(CYCLES) && dir.join(name).is_dir()).collect();
    names.sort();
    names
}

fn open(dir: &Path, name: &str) -> anyhow::Result<AnyLog> {
    let topics = [DirTopic { topic: Topic::Progress, name: name.to_owned(), partitions: 1 }];
    Ok(AnyLog::dir(DirLog::open(dir, Mode::Read, &topics, DirOptions::default())?)?)
}
