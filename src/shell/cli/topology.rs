//! `topology`: describe, check, apply.

mod sources;

use crate::cli::Ended;
use crate::cli::log_args::LogArgs;
use crate::cli::{meaning, schemas};
use crate::kafka::{Created, KafkaAdmin, NewTopicSpec, TopicFound};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use yardmaster_core::cut::Topic;
use yardmaster_wire::dialect::Dialect;
use yardmaster_wire::topology::{
    self, Cleanup, REMOVALS, Shortfall, Timestamp, TopicSettings, describe, mermaid, removals_kept,
    shortfalls, why_append,
};

/// Describes what runs, checks it against the broker, or makes the topics.
#[derive(Args)]
pub struct Topology {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The topology as text or as a Mermaid graph.
    ///
    /// Example: yardmaster topology describe --mermaid
    Describe {
        #[command(flatten)]
        log_args: LogArgs,
        /// A Mermaid graph instead of text.
        #[arg(long)]
        mermaid: bool,
    },
    /// Whether the topology file is right, and means something: rules that are never due, caps of
    /// zero, thresholds that contradict each other, parameters that nothing reads. With
    /// --bootstrap-server also whether the broker keeps the topics as it needs them: windows that
    /// would be short are named, with what mends them; with it or --dir whether the schema registry
    /// has the schemas of topics in Confluent framing. Exits 1 when they are not, or something in
    /// the file cannot be meant; 2 when the file cannot be read.
    Check {
        #[command(flatten)]
        log_args: LogArgs,
        /// Exit 1 for what is only worth a look, too.
        #[arg(long)]
        strict: bool,
    },
    /// Make the topics that are missing, with their partitions, cleanup policy and retention: all
    /// that the topology names, those that are read as well as those that are published; of the
    /// sources of intake those of dialect panda-cdc, which a connector would make with the first
    /// row of a table. Those that are there are left as they are; where they are not as the
    /// topology needs them it shows what mends them, and exits 1. Registers our schemas of topics
    /// in Confluent framing, unless others' are under the subject of a topic that others write.
    Apply {
        #[command(flatten)]
        log_args: LogArgs,
        /// Show what would be made, and make nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

impl Topology {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        match self.what {
            What::Describe { log_args, mermaid: true } => {
                println!("{}", mermaid(&log_args.read()?.topology))
            }
            What::Describe { log_args, mermaid: false } => {
                println!("{}", describe(&log_args.read()?.topology));
            }
            What::Check { log_args, strict } => return check(&log_args, strict),
            What::Apply { log_args, dry_run } => return apply(&log_args, dry_run),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn check(log_args: &LogArgs, strict: bool) -> Ended {
    let read = log_args.read()?;
    let is_meant = meaning::check(&read, strict);
    let missing = match log_args.check() {
        Ok(()) => schemas::check(&read.topology)?,
        Err(_) => 0,
    };
    if missing > 0 {
        println!("{missing} schemas; `topology apply` registers those that are not there");
    }
    let is_kept = log_args.bootstrap_server.is_none() || is_kept(log_args, &read.topology)?;
    let is_right = is_meant && missing == 0 && is_kept;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the broker keeps all topics as the topology needs them; prints where it does not.
fn is_kept(log_args: &LogArgs, topology: &topology::Topology) -> anyhow::Result<bool> {
    let admin = KafkaAdmin::open(&log_args.kafka(topology)?)?;
    let bootstrap = log_args.bootstrap_server.as_deref().unwrap_or_default();
    let mut wrong = 0;
    for topic in topology.topics.keys() {
        wrong += complain(&admin, topology, *topic, bootstrap)?;
    }
    for (name, dialect) in &topology.intake.sources {
        wrong += sources::complain(&admin, name, *dialect, bootstrap)?;
    }
    match wrong {
        0 => println!("all {} topics are as the topology needs them", topology.topics.len()),
        _ => println!("{wrong} differences, each with what would mend it"),
    }
    Ok(wrong == 0)
}

/// Prints what a topic lacks, each with what mends it; how much that is.
fn complain(
    admin: &KafkaAdmin,
    topology: &topology::Topology,
    topic: Topic,
    bootstrap: &str,
) -> anyhow::Result<usize> {
    let name = &topology.topic(topic).name;
    let found = admin.describe(std::slice::from_ref(name))?;
    let complaints = compare(topology, topic, found.get(name).and_then(Option::as_ref), bootstrap);
    complaints.iter().for_each(|complaint| println!("{name}: {complaint}"));
    Ok(complaints.len())
}

/// Settings that a topic as found lacks, each with the command that mends it.
fn compare(
    topology: &topology::Topology,
    topic: Topic,
    found: Option<&TopicFound>,
    bootstrap: &str,
) -> Vec<String> {
    let Some(found) = found else {
        return vec!["is not there\n    yardmaster topology apply".to_owned()];
    };
    let name = &topology.topic(topic).name;
    let shortfalls = shortfalls(topology, topic, found.partitions, &found.configs);
    let complaint = |Shortfall { setting, found, why, wanted }: Shortfall| {
        let mend = match setting {
            "partitions" if topic == Topic::Progress => {
                "create the topic again, with one partition".to_owned()
            }
            "partitions" => format!(
                "kafka-topics.sh --bootstrap-server {bootstrap} --alter --topic {name} \
                 --partitions {wanted}"
            ),
            _ => format!(
                "kafka-configs.sh --bootstrap-server {bootstrap} --alter --entity-type topics \
                 --entity-name {name} --add-config {setting}=[{wanted}]"
            ),
        };
        format!("{setting} is {found}: {why}\n    {mend}")
    };
    shortfalls.into_iter().map(complaint).collect()
}

/// A topic's settings as the broker names them.
fn configs(
    topology: &topology::Topology,
    topic: Topic,
    settings: &TopicSettings,
) -> Vec<(String, String)> {
    let mut configs = vec![(
        "cleanup.policy".to_owned(),
        match settings.cleanup {
            Cleanup::Compact => "compact".to_owned(),
            Cleanup::Delete => "delete".to_owned(),
            Cleanup::CompactDelete => "compact,delete".to_owned(),
        },
    )];
    if let Some(retention) = settings.retention_ms {
        configs.push(("retention.ms".to_owned(), retention.to_string()));
    }
    if settings.compact_after_ms > 0 && settings.cleanup != Cleanup::Delete {
        let lag = settings.compact_after_ms.to_string();
        configs.push(("min.compaction.lag.ms".to_owned(), lag));
    }
    if settings.cleanup.compacts() && topic.is_read() {
        configs.push((REMOVALS.to_owned(), removals_kept(topology).to_string()));
    }
    if settings.timestamp == Timestamp::Append {
        configs.push(("message.timestamp.type".to_owned(), "LogAppendTime".to_owned()));
    }
    configs
}

/// Every topic of a topology, as the broker is asked for it.
fn specs(topology: &topology::Topology) -> Vec<(Topic, NewTopicSpec)> {
    let spec = |(topic, settings): (&Topic, &TopicSettings)| {
        let name = settings.name.clone();
        let (partitions, replication) = (settings.partitions, topology.kafka.replication);
        (
            *topic,
            NewTopicSpec {
                name,
                partitions,
                replication,
                configs: configs(topology, *topic, settings),
            },
        )
    };
    topology.topics.iter().map(spec).collect()
}

fn apply(log_args: &LogArgs, dry_run: bool) -> Ended {
    let read = log_args.read()?;
    let (specs, sources) = (specs(&read.topology), sources::specs(&read.topology));
    let mut wrong = 0;
    if log_args.dir.is_some() {
        // A directory makes its topics as they are written to.
    } else if dry_run && log_args.bootstrap_server.is_none() {
        println!("without --bootstrap-server no topic is known to be there already");
        let all = specs.iter().map(|(_, spec)| spec).chain(&sources);
        all.for_each(|spec| println!("{}: {}", spec.name, would_make(spec)));
    } else {
        wrong = apply_to(log_args, &read.topology, (&specs, &sources), dry_run)?;
    }
    schemas::apply(&read.topology, dry_run)?;
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes the topics that the broker does not have, or prints that it would; how much those lack
/// that it has.
fn apply_to(
    log_args: &LogArgs,
    topology: &topology::Topology,
    (specs, sources): (&[(Topic, NewTopicSpec)], &[NewTopicSpec]),
    dry_run: bool,
) -> anyhow::Result<usize> {
    let admin = KafkaAdmin::open(&log_args.kafka(topology)?)?;
    let bootstrap = log_args.bootstrap_server.as_deref().unwrap_or_default();
    let mut missing = Vec::new();
    let mut wrong = 0;
    let ours = specs.iter().map(|(topic, spec)| (Some(*topic), spec));
    for (topic, spec) in ours.chain(sources.iter().map(|spec| (None, spec))) {
        if admin.partitions(&spec.name)?.is_some() {
            println!("{}: is there already, left as it is", spec.name);
            wrong += match topic {
                Some(topic) => complain(&admin, topology, topic, bootstrap)?,
                None => sources::complain(&admin, &spec.name, Dialect::PandaCdc, bootstrap)?,
            };
        } else if dry_run {
            println!("{}: {}", spec.name, would_make(spec));
        } else {
            missing.push(spec.clone());
        }
    }
    if !missing.is_empty() {
        let why = why_append(Topic::JobState);
        println!("inputs are stamped by the broker (LogAppendTime): {why}");
        for (name, created) in admin.create(&missing)? {
            match created {
                Created::Made => println!("{name}: made"),
                Created::Exists => println!("{name}: was made by another meanwhile"),
            }
        }
    }
    if wrong > 0 {
        println!("{wrong} differences in topics that are there, each with what would mend it");
    }
    Ok(wrong)
}

/// Settings that a missing topic would be made with, for people.
fn would_make(spec: &NewTopicSpec) -> String {
    let configs = spec.configs.iter().map(|(name, value)| format!("{name}={value}"));
    let configs: Vec<String> = configs.collect();
    let plural = if spec.partitions == 1 { "" } else { "s" };
    let replication = match spec.replication {
        ..=0 => "the broker's default of replicas".to_owned(),
        1 => "1 replica".to_owned(),
        some => format!("{some} replicas"),
    };
    format!(
        "would be made with {} partition{plural}, {replication}, {}",
        spec.partitions,
        configs.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_names_settings_as_kafka_does() {
        let topology = topology::Topology::default_atlas();
        let specs = specs(&topology);
        let (_, progress) = specs.iter().find(|(topic, _)| *topic == Topic::Progress).unwrap();
        assert_eq!(
            would_make(progress),
            "would be made with 1 partition, the broker's default of replicas, \
             cleanup.policy=delete retention.ms=1209600000 message.timestamp.type=LogAppendTime"
        );
    }

    #[test]
    fn every_topic_of_the_topology_is_made_as_it_says() {
        let topology = topology::Topology::default_atlas();
        let specs = specs(&topology);
        for topic in topology.topics.keys() {
            let settings = topology.topic(*topic);
            let spec = specs.iter().find(|(_, spec)| spec.name == settings.name);
            let (_, spec) = spec.unwrap_or_else(|| panic!("{} is not made", settings.name));
            assert_eq!(spec.partitions, settings.partitions, "{}", spec.name);
            // As made, so found right.
            let configs = spec.configs.iter().cloned().collect();
            let mut found = TopicFound { partitions: spec.partitions, configs };
            let length = topology.limits.max_output_bytes.to_string();
            found.configs.insert("max.message.bytes".into(), length);
            let none = Vec::<String>::new();
            assert_eq!(compare(&topology, *topic, Some(&found), "b:1"), none, "{}", spec.name);
            let missing = compare(&topology, *topic, None, "b:1").join("");
            assert!(missing.contains("topology apply"), "{missing}");
        }
        assert_eq!(specs.len(), topology.topics.len());
        let configs = |topic: Topic| {
            let name = &topology.topic(topic).name;
            let (_, spec) = specs.iter().find(|(_, spec)| spec.name == *name).unwrap();
            spec.configs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
        };
        let month = "retention.ms=2592000000";
        let two_months = "retention.ms=5184000000";
        assert_eq!(configs(Topic::Decision), ["cleanup.policy=delete", two_months]);
        assert_eq!(configs(Topic::DeadLetter), ["cleanup.policy=delete", month]);
        assert_eq!(configs(Topic::Command), ["cleanup.policy=delete", month]);
        assert_eq!(configs(Topic::Counter), ["cleanup.policy=compact"]);
        assert_eq!(
            configs(Topic::Progress),
            [
                "cleanup.policy=delete",
                "retention.ms=1209600000",
                "message.timestamp.type=LogAppendTime"
            ]
        );
        assert_eq!(
            configs(Topic::JobState),
            [
                "cleanup.policy=compact,delete",
                "retention.ms=2678400000",
                "min.compaction.lag.ms=172800000",
                "delete.retention.ms=1296000000",
                "message.timestamp.type=LogAppendTime"
            ]
        );
    }
}
