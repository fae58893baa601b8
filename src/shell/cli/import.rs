//! `import`: other systems' JSON becomes records on the config topics.

use crate::core::cut::{Lane, Topic};
use crate::core::event::Configuration;
use crate::core::unit::Millis;
use crate::shell::cli::log_args::{LogArgs, Read, dir_topics, may_hold_log};
use crate::shell::cli::{Ended, Usage, complaints};
use crate::shell::clock;
use crate::shell::dirlog::{DirLog, DirOptions, Mode};
use crate::shell::kafka::KafkaWriter;
use crate::shell::registry::Ours;
use crate::wire::import::{self, Imported, Sites};
use crate::wire::record;
use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Turns other systems' JSON into records on the config topics of a Kafka, or into a directory log.
/// What is missing or wrong is named with its queue and field; it does not stop the rest.
#[derive(Args)]
pub struct Import {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Queues, from CRIC's PanDA queue dump.
    ///
    /// Example: yardmaster import cric cric_pandaqueues.json --dir yard
    Cric(Files),
    /// Links, from the network matrix (netmetrics).
    Netmetrics(Files),
    /// Space and status of storage endpoints.
    Storage(Files),
    /// Nuclei: a list of names or objects; or a CRIC dump, of which the tier-1 sites and the
    /// largest tier-2 sites are taken, since it does not have nuclei.
    Nuclei(Files),
    /// The tree of global shares, from rows of PanDA's GLOBAL_SHARES: a JSON list of all of them.
    ///
    /// Columns, in any case: name, value, parent, prodsourcelabel, workinggroup, campaign,
    /// processingtype, transpath, rtype, vo, queue_id, throttled.
    Shares(Files),
    /// Run-time parameters (gdpconfig): a JSON list of {app, component, key, vo, value, type}, or
    /// an object of values under app.component.KEY.
    Gdpconfig(Files),
    /// Quotas on storage: a JSON list of {account | user | group, rse_expression | endpoint,
    /// bytes_limit, used_bytes, used_files}.
    Quotas(Files),
    /// Software and hardware that queues publish, from CRIC's JSON of tags.
    Releases(Files),
    /// Where datasets lie: what Rucio's list of dataset replicas gives, as a JSON list or as one
    /// object a line.
    ///
    /// Fields: scope, name, rse; length and bytes of the whole dataset, available_length and
    /// available_bytes at the RSE, state. One object for each dataset at each RSE.
    ///
    /// Example: yardmaster import replicas replicas.json --bootstrap-server kafka:9092
    Replicas(Files),
    /// Job states, from a table of PanDA jobs as JSON lines: a first snapshot, before intake.
    ///
    /// Columns, in any case: PANDAID, JOBSTATUS, STATECHANGETIME or MODIFICATIONTIME, JEDITASKID,
    /// COMPUTINGSITE, PRODUSERNAME or PRODUSERID, WORKINGGROUP, GSHARE, RESOURCE_TYPE, CORECOUNT,
    /// CURRENTPRIORITY, NUCLEUS, PRODSOURCELABEL, PROCESSINGTYPE, JOBSUBSTATUS, CREATIONTIME,
    /// STARTTIME, ENDTIME, INPUTFILEBYTES, OUTPUTFILEBYTES; times in UTC.
    ///
    /// Example: yardmaster import jobs jobsactive4.json --bootstrap-server kafka:9092
    Jobs(Files),
}

#[derive(Args)]
struct Files {
    /// JSON to read.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// More JSON to learn site names of storage endpoints from (netmetrics, endpoints).
    #[arg(long, value_name = "FILE")]
    sites: Vec<PathBuf>,
    #[command(flatten)]
    log_args: LogArgs,
    /// Show what would be published, and publish nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print every complaint, instead of summing up those that repeat.
    #[arg(long)]
    verbose: bool,
}

impl Import {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let now = clock::now();
        let (files, imported) = match &self.what {
            What::Cric(files) => {
                (files, each(files, |text, sites| import::cric(text, now, sites))?)
            }
            What::Netmetrics(files) => {
                (files, each(files, |text, _| import::netmetrics(text, now))?)
            }
            What::Storage(files) => (files, storage(files, now)?),
            What::Nuclei(files) => (files, each(files, |text, sites| nuclei(text, now, sites))?),
            What::Shares(files) => (files, each(files, |text, _| import::shares(text, now))?),
            What::Gdpconfig(files) => (files, each(files, |text, _| import::gdpconfig(text, now))?),
            What::Quotas(files) => (files, each(files, |text, _| import::quotas(text, now))?),
            What::Releases(files) => (files, each(files, |text, _| import::releases(text, now))?),
            What::Replicas(files) => (files, each(files, |text, _| import::replicas(text, now))?),
            What::Jobs(files) => return jobs(files),
        };
        files.print(&imported.complaints);
        for note in &imported.notes {
            eprintln!("note: {note}");
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for event in &imported.records {
            *counts.entry(event.topic().name()).or_default() += 1;
        }
        if !files.dry_run {
            publish(&files.log_args, &imported.records)?;
        }
        let did = if files.dry_run { "would be published" } else { "published" };
        for (topic, count) in counts {
            println!("{topic}: {count} records {did}");
        }
        println!("{} complaints", imported.complaints.len());
        Ok(files.ended(imported.records.len(), imported.complaints.len()))
    }
}

impl Files {
    /// Prints complaints: summed up, or each of them.
    fn print(&self, complaints: &[String]) {
        match self.verbose {
            true => complaints.iter().for_each(|complaint| eprintln!("{complaint}")),
            false => complaints::summary(complaints).iter().for_each(|line| eprintln!("{line}")),
        }
    }

    /// 1 when there were things in the files and none of them could be used: then a file of another
    /// kind was given.
    fn ended(&self, records: usize, complaints: usize) -> ExitCode {
        if records > 0 || complaints == 0 {
            return ExitCode::SUCCESS;
        }
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        eprintln!(
            "yardmaster: nothing in {} can be used; is it a file of another kind? \
             `yardmaster import --help` lists the kinds",
            files.join(", ")
        );
        ExitCode::FAILURE
    }
}

/// The records of JSON files of one kind, as the demo takes them too.
pub fn load(kind: &str, path: &Path, sites: &[&Path], now: Millis) -> anyhow::Result<Imported> {
    let mut known = Sites::new();
    for path in sites {
        known.learn(&text(path)?).map_err(|why| Usage(format!("{}: {why}", path.display())))?;
    }
    let text = text(path)?;
    let imported = match kind {
        "cric" => import::cric(&text, now, &known),
        "netmetrics" => import::netmetrics(&text, now),
        "storage" => import::storage(&[&text], now, &known),
        _ => nuclei(&text, now, &known),
    };
    imported.map_err(|why| Usage(format!("{}: {why}", path.display())).into())
}

fn text(path: &Path) -> anyhow::Result<String> {
    let failed = |error| Usage(format!("{}: {error}; name a readable file", path.display()));
    Ok(std::fs::read_to_string(path).map_err(failed)?)
}

fn sites(files: &Files) -> anyhow::Result<Sites> {
    let mut sites = Sites::new();
    for path in &files.sites {
        sites.learn(&text(path)?).map_err(|why| Usage(format!("{}: {why}", path.display())))?;
    }
    Ok(sites)
}

fn each(
    files: &Files,
    read: impl Fn(&str, &Sites) -> Result<Imported, String>,
) -> anyhow::Result<Imported> {
    let sites = sites(files)?;
    let mut all = Imported::default();
    for path in &files.files {
        let one = read(&text(path)?, &sites);
        let one = one.map_err(|why| Usage(format!("{}: {why}", path.display())))?;
        all.records.extend(one.records);
        all.complaints.extend(one.complaints);
        all.notes.extend(one.notes);
    }
    Ok(all)
}

fn storage(files: &Files, now: Millis) -> anyhow::Result<Imported> {
    let texts: Vec<String> = files.files.iter().map(|path| text(path)).collect::<Result<_, _>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    import::storage(&texts, now, &sites(files)?).map_err(|why| Usage(why).into())
}

/// A list of nuclei, or what can be taken for one from a CRIC dump.
fn nuclei(text: &str, now: Millis, sites: &Sites) -> Result<Imported, String> {
    match text.trim_start().starts_with('[') {
        true => import::nuclei(text, now),
        false => import::nuclei_from_cric(text, now, sites),
    }
}

/// A configuration record: its topic, key and bytes.
pub fn encode(it: &Configuration) -> (Topic, String, Vec<u8>) {
    let mut bytes = Vec::new();
    record::write_configuration(&mut bytes, it);
    (it.topic(), it.name(), bytes)
}

/// A table of jobs, one file after the other.
fn jobs(files: &Files) -> Ended {
    let did = if files.dry_run { "would be published" } else { "published" };
    let (mut count, mut complaints) = (0, 0);
    for path in &files.files {
        let (rows, imported) = import::jobs(&text(path)?);
        let named = imported.complaints.iter();
        let named = named.map(|complaint| format!("{}: {complaint}", path.display()));
        files.print(&named.collect::<Vec<_>>());
        count += rows.len();
        complaints += imported.complaints.len();
        if !files.dry_run {
            let rows = rows.into_iter().map(|row| (Topic::JobState, row.job, row.value));
            append(&files.log_args, rows)?;
        }
    }
    println!("{}: {count} records {did}", Topic::JobState.name());
    println!("{complaints} complaints");
    Ok(files.ended(count, complaints))
}

fn publish(log_args: &LogArgs, records: &[Configuration]) -> anyhow::Result<()> {
    append(log_args, records.iter().map(encode))
}

/// Appends records: topic, key and bytes.
fn append(
    log_args: &LogArgs,
    encoded: impl Iterator<Item = (Topic, String, Vec<u8>)>,
) -> anyhow::Result<()> {
    let Read { topology, .. } = log_args.read()?;
    log_args.check()?;
    let encoded: Vec<(Topic, String, Vec<u8>)> = encoded.collect();
    let topics: Vec<Topic> = encoded.iter().map(|(topic, ..)| *topic).collect();
    let ours = Ours::find(&topology, &topics)?;
    let encoded = encoded.into_iter();
    let encoded = encoded.map(|(topic, key, bytes)| (topic, key, ours.frame(topic, bytes)));
    if let Some(dir) = &log_args.dir {
        let topics = dir_topics(&topology);
        may_hold_log(dir, &topics)?;
        let log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default())?;
        let mut writer = log.writer()?;
        for (topic, key, bytes) in encoded {
            let lane = lane(topic, &key, topology.topic(topic).partitions);
            writer.append(lane, Some(key.as_bytes()), Some(&bytes), &[], clock::now())?;
        }
        writer.flush()?;
        return Ok(());
    }
    let writer = KafkaWriter::open(&log_args.kafka(&topology)?)?;
    for (topic, key, bytes) in encoded {
        let name = &topology.topic(topic).name;
        writer.append(name, None, Some(key.as_bytes()), Some(&bytes), &[], None)?;
    }
    Ok(writer.flush()?)
}

/// The lane of a key in a directory log.
pub fn lane(topic: Topic, key: &str, partitions: u32) -> Lane {
    let hash = crate::core::id::hash(key.as_bytes());
    Lane::new(topic, (hash % u64::from(partitions.max(1))) as u32)
}
