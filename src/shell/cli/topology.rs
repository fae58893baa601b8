//! `topology`: describe, check, apply.

use crate::core::cut::Topic;
use crate::shell::cli::Ended;
use crate::shell::cli::place::{Place, READ, Read};
use crate::shell::kafka::{Created, KafkaAdmin, NewTopicSpec, TopicFound};
use crate::wire::topology::{Cleanup, Timestamp, TopicSettings, describe, mermaid};
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Describes what runs, checks it against the broker, or makes the topics.
#[derive(Args)]
pub struct Topology {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// What runs, as text or as a Mermaid graph.
    ///
    /// Example: yardmaster topology describe --mermaid
    Describe {
        #[command(flatten)]
        place: Place,
        /// A Mermaid graph instead of text.
        #[arg(long)]
        mermaid: bool,
    },
    /// Whether the topology file is right, and with --bootstrap-server whether the broker's topics
    /// are as it says. Exits 1 when they are not.
    Check {
        #[command(flatten)]
        place: Place,
    },
    /// Make the topics that are missing, with their partitions and cleanup policy.
    Apply {
        #[command(flatten)]
        place: Place,
        /// Say what would be made, and make nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

impl Topology {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        match self.what {
            What::Describe { place, mermaid: true } => {
                println!("{}", mermaid(&place.read()?.topology))
            }
            What::Describe { place, mermaid: false } => {
                println!("{}", describe(&place.read()?.topology));
            }
            What::Check { place } => return check(&place),
            What::Apply { place, dry_run } => apply(&place, dry_run)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn check(place: &Place) -> Ended {
    let read = place.read()?;
    println!("{}: no mistake found", read.name);
    if place.bootstrap_server.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let admin = KafkaAdmin::open(&place.kafka(&read.topology)?)?;
    let mut wrong = 0;
    for topic in READ {
        let settings = read.topology.topic(topic);
        let found = admin.describe(std::slice::from_ref(&settings.name))?;
        let found = found.get(&settings.name).and_then(Option::as_ref);
        for complaint in compare(settings, found) {
            println!("{}: {complaint}", settings.name);
            wrong += 1;
        }
    }
    if wrong == 0 {
        println!("all {} topics are as the topology says", READ.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{wrong} differences; `topology apply` makes topics that are missing, the rest is yours"
    );
    Ok(ExitCode::FAILURE)
}

fn compare(settings: &TopicSettings, found: Option<&TopicFound>) -> Vec<String> {
    let Some(found) = found else { return vec!["is not there".to_owned()] };
    let mut complaints = Vec::new();
    if found.partitions < settings.partitions {
        let (found, wanted) = (found.partitions, settings.partitions);
        complaints.push(format!("has {found} partitions, the topology says {wanted}"));
    }
    for (key, wanted) in configs(settings) {
        let found = found.configs.get(&key).map_or("", String::as_str);
        let is_same = match key.as_str() {
            // A topic kept longer than it need be does no harm; -1 is for ever.
            "retention.ms" | "min.compaction.lag.ms" => {
                let number = |text: &str| text.parse::<i64>().unwrap_or(0);
                number(found) == -1 || number(found) >= number(&wanted)
            }
            _ => found == wanted,
        };
        if !is_same {
            complaints.push(format!("{key} is {found:?}, the topology says {wanted:?}"));
        }
    }
    complaints
}

/// A topic's settings as the broker words them.
fn configs(settings: &TopicSettings) -> Vec<(String, String)> {
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
    if settings.timestamp == Timestamp::Append {
        configs.push(("message.timestamp.type".to_owned(), "LogAppendTime".to_owned()));
    }
    configs
}

fn apply(place: &Place, dry_run: bool) -> anyhow::Result<()> {
    let read: Read = place.read()?;
    let spec = |topic: &Topic| {
        let settings = read.topology.topic(*topic);
        NewTopicSpec {
            name: settings.name.clone(),
            partitions: settings.partitions,
            replication: read.topology.kafka.replication,
            configs: configs(settings),
        }
    };
    let specs: Vec<NewTopicSpec> = READ.iter().map(spec).collect();
    if dry_run {
        for spec in specs {
            println!(
                "would make {} with {} partitions, {:?}",
                spec.name, spec.partitions, spec.configs
            );
        }
        return Ok(());
    }
    let admin = KafkaAdmin::open(&place.kafka(&read.topology)?)?;
    for (name, created) in admin.create(&specs)? {
        match created {
            Created::Made => println!("{name}: made"),
            Created::Exists => println!("{name}: is there already, left as it is"),
        }
    }
    Ok(())
}
