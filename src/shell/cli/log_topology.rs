//! The topology of a log as the log itself has it: of its newest epoch.

use crate::cli::Usage;
use crate::cli::cycles::{cycles_in, open};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::{newest, records};
use crate::ports::AnyLog;
use std::path::Path;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::progress::Progress;
use yardmaster_drive::epoch_config::{EpochConfig, hash_of};
use yardmaster_wire::topology::BUILT_IN;

impl LogArgs {
    /// Reads the topology of a verb that reads a log: the one that is given, or else the one that
    /// is in force in the log.
    pub fn read_log(&self) -> anyhow::Result<Read> {
        let read = self.read()?;
        match self.topology.is_empty() && self.check().is_ok() {
            true => in_force(self, read),
            false => Ok(read),
        }
    }
}

/// The topology that is in force in a log: a built-in one if it is that, else the one that was
/// published. `assumed` where the log does not state it: it has no cycle, or is in a framing that a
/// registry is needed for.
///
/// # Errors
/// The log cannot be read; a directory has cycles of several domains.
fn in_force(log_args: &LogArgs, assumed: Read) -> anyhow::Result<Read> {
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
    let is_it =
        |text: &str| EpochConfig::of("", text).is_ok_and(|it| it.hash == newest.policy_hash);
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
    eprintln!("no --topology is given: the log's own is taken, {}", read.name);
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
    let mut read = Read::parse(format!("{domain} as of epoch {epoch}"), text)?;
    if std::mem::take(&mut read.topology.pseudonyms.users) {
        // The key lies elsewhere, and the published text does not name it.
        eprintln!(
            "users have pseudonyms in this log: to find one by the own name, give the --topology \
             that names the key"
        );
    }
    Ok(Some(read))
}
