//! `publish`: records that a person wrote, checked and put on a topic.

use crate::cli::import::{Entry, append};
use crate::cli::json_file::objects;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::{Ended, Usage};
use crate::clock;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::topic::Topic;
use yardmaster_wire::json::bytes_json;
use yardmaster_wire::written::written;

/// Most mistakes that are named at once.
const NAMED_MAX: usize = 20;

/// Checks records and publishes them on a topic. Every mistake is named with its record, field and
/// value, and if there is one nothing is published.
///
/// A record is a JSON object with the fields of schemas/TOPIC.avsc; schemas/examples/TOPIC.json has
/// examples. A field that is left out has its default; the domain is that of the topology, the
/// times that a record must state are now, and the task of a request is its subject before the
/// slash. --dry-run prints the records as they would be published.
///
/// Examples:
///   yardmaster publish task --json task.json --bootstrap-server kafka:9092
///   yardmaster publish task --json - --dry-run < task.json
///   yardmaster publish job-state --json jobs.jsonl --dir yard
///   yardmaster publish queue --remove GONE --bootstrap-server kafka:9092
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Publish {
    /// The topic, by its name in the topology (task) or in the Kafka (yardmaster.task).
    #[arg(value_name = "TOPIC")]
    topic: String,
    /// File with a record, a list of records, or one a line; `-`: stdin.
    #[arg(long, value_name = "FILE", required_unless_present = "remove")]
    json: Option<PathBuf>,
    /// Remove the configuration record of this key instead; repeated for several.
    #[arg(long, value_name = "KEY", conflicts_with = "json")]
    remove: Vec<String>,
    #[command(flatten)]
    log_args: LogArgs,
    /// Print what would be published, and publish nothing; needs no log.
    #[arg(long)]
    dry_run: bool,
}

impl Publish {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        let topic = self.topic(&read)?;
        let entries = match &self.json {
            Some(file) => entries(&read, topic, file)?,
            None => self.removals(topic)?,
        };
        let (name, count) = (topic.name(), entries.len());
        if self.dry_run {
            for entry in &entries {
                match &entry.value {
                    Some(value) => println!("{}", bytes_json(topic, value).unwrap_or_default()),
                    None => println!("null under the key {:?}", entry.key),
                }
            }
            eprintln!("{name}: {} would be published", counted(count));
            return Ok(ExitCode::SUCCESS);
        }
        append(&self.log_args, &read, entries)?;
        println!("{name}: {} published", counted(count));
        Ok(ExitCode::SUCCESS)
    }

    /// The topic that is meant: one that others than the leader write.
    fn topic(&self, read: &Read) -> Result<Topic, Usage> {
        let topics = &read.topology.topics;
        let takes = |topic: &Topic| topic.is_read() && !topic.is_own();
        let wanted = self.topic.as_str();
        let found =
            topics.iter().find(|(it, settings)| it.name() == wanted || settings.name == wanted);
        let found = found.map(|(topic, _)| *topic).or(Topic::from_name(wanted));
        let names: Vec<&str> = topics.keys().filter(|it| takes(it)).map(|it| it.name()).collect();
        let why = match found {
            Some(topic) if topic.is_own() => "the leader alone publishes on it",
            Some(topic) if !topics.contains_key(&topic) => "the topology has no such topic",
            Some(topic) if !takes(&topic) => "the clients that ask two brokers publish on it",
            Some(topic) => return Ok(topic),
            None => "there is no such topic",
        };
        Err(Usage(format!("topic {wanted:?}: {why}; give one of {}", names.join(", "))))
    }

    /// Nulls, each of which removes a record.
    fn removals(&self, topic: Topic) -> Result<Vec<Entry>, Usage> {
        if !topic.is_configuration() {
            return Err(Usage(format!(
                "--remove: a null removes nothing on {}; that is so on configuration topics alone, \
                 such as queue: publish a record that states the end instead",
                topic.name()
            )));
        }
        if self.remove.iter().any(String::is_empty) {
            return Err(Usage(
                "--remove \"\": no record has an empty key; give its key".to_owned(),
            ));
        }
        let entry =
            |key: &String| Entry { topic, key: key.clone(), value: None, headers: Vec::new() };
        Ok(self.remove.iter().map(entry).collect())
    }
}

/// The records of a file.
fn entries(read: &Read, topic: Topic, file: &std::path::Path) -> Result<Vec<Entry>, Usage> {
    let (now, mut entries, mut wrong) = (clock::now(), Vec::new(), Vec::new());
    for (place, json) in objects(file, "record", topic.name())? {
        match written(topic, &json, &read.topology, now) {
            Ok(it) => {
                let (key, value) = (it.key, Some(it.value));
                entries.push(Entry { topic, key, value, headers: Vec::new() });
            }
            Err(why) => wrong.push(format!("{place}: {why}")),
        }
    }
    if wrong.is_empty() {
        return Ok(entries);
    }
    let more = wrong.len().saturating_sub(NAMED_MAX);
    wrong.truncate(NAMED_MAX);
    if more > 0 {
        wrong.push(format!("and {more} records more"));
    }
    wrong.push("nothing was published".to_owned());
    Err(Usage(wrong.join("\n")))
}

fn counted(count: usize) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}
