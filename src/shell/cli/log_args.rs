//! Where the log is: flags that every verb shares.

use crate::cli::{Usage, cycles, names, secret};
use crate::dirlog::{Content, DirLog, DirOptions, DirTopic, Mode};
use crate::kafka::{KafkaAdmin, KafkaConf, KafkaLog, KafkaScan, TopicMap};
use crate::ports::{AnyLog, AnyStore};
use crate::registry::{FramedLog, Framing};
use crate::scan::Scan;
use crate::store::SledStore;
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::pseudonym::Pseudonyms;
use yardmaster_wire::topology::{self, BUILT_IN, Topology};

/// Where the log is, and by which topology it is read.
#[derive(Args, Clone, Debug)]
pub struct LogArgs {
    /// Kafka to read: host:port, several separated by commas.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Log", conflicts_with = "dir")]
    pub bootstrap_server: Option<String>,
    /// Directory to read instead of a Kafka; its store lies in DIR/store.
    #[arg(long, value_name = "DIR", help_heading = "Log")]
    pub dir: Option<PathBuf>,
    /// Topology file, or the name of a built-in topology: atlas, panda, nordugrid, cms (a file of
    /// such a name is given as ./atlas). Without it the one for ATLAS; for a verb that only reads a
    /// log the one that the log was led by. `run` takes several, one a domain.
    #[arg(long, value_name = "FILE|NAME", help_heading = "Log")]
    pub topology: Vec<PathBuf>,
    /// File of librdkafka properties, key=value a line, # for comments. The place for secrets.
    #[arg(long, value_name = "FILE", help_heading = "Kafka")]
    pub command_config: Option<PathBuf>,
    /// A librdkafka property; wins over the file, and both over the topology. ${file:PATH} and
    /// ${env:NAME} stand for contents; a secret is not taken here as it is.
    #[arg(short = 'X', value_name = "KEY=VALUE", help_heading = "Kafka")]
    pub property: Vec<String>,
}

/// A topology with the text it was read from.
pub struct Read {
    /// File name, or a name for the built-in one.
    pub name: String,
    /// The text.
    pub text: String,
    /// The topology, read and checked.
    pub topology: Topology,
}

impl Read {
    /// Reads a topology file, or the built-in one; every mistake at once.
    pub fn open(path: Option<&Path>) -> anyhow::Result<Read> {
        let built_in = match path {
            None => Some(&BUILT_IN[0]),
            Some(path) => BUILT_IN.iter().find(|(name, _)| path.as_os_str() == *name),
        };
        let (name, text) = match (built_in, path) {
            (Some((name, text)), _) => (format!("{name}.toml (built in)"), (*text).to_owned()),
            (None, path) => read_file(path.unwrap_or(Path::new("")))?,
        };
        let read = Read::parse(name, text)?;
        let (name, topology) = (&read.name, &read.topology);
        let framed = |it: &&topology::TopicSettings| it.framing == topology::Framing::Confluent;
        let framed = topology.topics.values().find(framed).filter(|_| topology.registry.is_none());
        if let Some(settings) = framed {
            // What is published in progress has no registry in it, and is right.
            return Err(Usage(format!(
                "{name} line {}: framing \"confluent\", and no [registry]; allowed: with \
                 registry.urls, the addresses of a schema registry",
                settings.line
            ))
            .into());
        }
        Ok(read)
    }

    /// Reads the text of a topology; every mistake at once.
    pub fn parse(name: String, text: String) -> anyhow::Result<Read> {
        let topology = Topology::parse(&name, &text).map_err(|complaints| {
            let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
            Usage(lines.join("\n"))
        })?;
        Ok(Read { name, text, topology })
    }

    /// Maker of users' pseudonyms, if the topology asks for them.
    pub fn pseudonyms(&self) -> Result<Option<Arc<Pseudonyms>>, Usage> {
        names::pseudonyms(&self.topology.pseudonyms)
    }

    /// The configuration that a drive is run by.
    pub fn epoch_config(&self) -> anyhow::Result<EpochConfig> {
        EpochConfig::with_key(&self.name, &self.text, self.pseudonyms()?)
            .map_err(|mistakes| Usage(mistakes.join("\n")).into())
    }
}

impl LogArgs {
    /// Reads the topology of a verb that works for one domain.
    pub fn read(&self) -> anyhow::Result<Read> {
        match self.topology.as_slice() {
            [] => Read::open(None),
            [one] => Read::open(Some(one)),
            several => {
                let count = several.len();
                let what = format!("--topology is given {count} times, and this verb works for");
                Err(Usage(format!("{what} one domain: give it once (`run` takes several)")).into())
            }
        }
    }

    /// The same flags for each topology that is given. Of several each domain has a log of its own
    /// in the directory that is named, below its name.
    pub fn read_each(&self) -> anyhow::Result<Vec<(LogArgs, Read)>> {
        if self.topology.len() < 2 {
            return Ok(vec![(self.clone(), self.read()?)]);
        }
        let each = |file: &PathBuf| {
            let read = Read::open(Some(file))?;
            let dir = self.dir.as_ref().map(|dir| dir.join(&read.topology.domain));
            Ok((LogArgs { topology: vec![file.clone()], dir, ..self.clone() }, read))
        };
        self.topology.iter().map(each).collect()
    }

    /// An error if no log was named, or both were.
    pub fn check(&self) -> anyhow::Result<()> {
        match (&self.bootstrap_server, &self.dir) {
            (None, None) => {
                Err(Usage("no log: give --bootstrap-server HOST:PORT or --dir DIR".into()).into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a directory for the logs of several domains that is itself a log.
    pub fn check_parent(&self, topology: &Topology) -> anyhow::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        match Content::of(dir, &dir_topics(topology))? {
            Content::Missing | Content::Empty | Content::Other(_) => Ok(()),
            Content::Log => Err(Usage(format!(
                "--dir {dir}: it is the log of one domain, and of several each has its own in \
                 {dir}/DOMAIN; name another directory, or move the log there",
                dir = dir.display()
            ))
            .into()),
        }
    }

    /// Refuses a directory that holds no log, or, if one is to be made, something else.
    pub fn check_dir(&self, topology: &Topology, create: bool) -> anyhow::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        if create { may_hold_log(dir, &dir_topics(topology)) } else { holds_log(dir, topology) }
    }

    /// Makes the directory a log without a record, unless it is a log already.
    pub fn create(&self, topology: &Topology) -> anyhow::Result<()> {
        let dir = self.dir.as_ref().ok_or_else(|| {
            Usage(
                "--create makes a directory log: give --dir DIR; topics of a Kafka are made by \
                   `topology apply`"
                    .to_owned(),
            )
        })?;
        let topics = dir_topics(topology);
        // The lock stays behind and marks the directory.
        DirLog::open(dir, Mode::Write, &topics, DirOptions::default())?;
        Ok(())
    }

    /// Where the store lies: in the directory, or under the working directory for a Kafka. In a
    /// directory that is given as that of stores the domain may have one of its own, which a `run`
    /// of several domains made.
    pub fn store(&self, given: Option<&Path>, domain: &str) -> PathBuf {
        match (given, &self.dir) {
            (Some(given), _) if SledStore::is_there(&given.join(domain)) => given.join(domain),
            (Some(given), _) => given.to_owned(),
            (None, Some(dir)) => dir.join("store"),
            (None, None) => PathBuf::from(format!("yardmaster-store-{domain}")),
        }
    }

    /// Opens the log.
    pub fn log(&self, topology: &Topology, mode: Mode) -> anyhow::Result<AnyLog> {
        self.framed(self.plain_log(topology, mode)?, topology, mode)
    }

    /// Opens the log to read some topics; of a Kafka, rights to others are not needed.
    pub fn log_of(&self, topology: &Topology, topics: &[Topic]) -> anyhow::Result<AnyLog> {
        let log = match &self.bootstrap_server {
            Some(_) => {
                let mut conf = self.kafka(topology)?;
                conf.topics.retain(|map| topics.contains(&map.topic));
                AnyLog::Kafka(Box::new(KafkaLog::open(conf)?))
            }
            None => self.plain_log(topology, Mode::Read)?,
        };
        self.framed(log, topology, Mode::Read)
    }

    /// Opens the log to read `comparison` alone, which is not among the topics that are folded.
    /// `None`: the topology has no such topic, or the Kafka does not have it.
    pub fn comparison_log(&self, topology: &Topology) -> anyhow::Result<Option<AnyLog>> {
        const TOPIC: Topic = Topic::Comparison;
        self.check()?;
        let Some(settings) = topology.topics.get(&TOPIC) else { return Ok(None) };
        let name = settings.name.clone();
        let log = match &self.dir {
            Some(dir) => {
                holds_log(dir, topology)?;
                let topics = [DirTopic { topic: TOPIC, name, partitions: settings.partitions }];
                AnyLog::dir(DirLog::open(dir, Mode::Read, &topics, DirOptions::default())?)?
            }
            None => {
                let mut conf = self.kafka(topology)?;
                if KafkaAdmin::open(&conf)?.partitions(&name)?.is_none() {
                    return Ok(None);
                }
                conf.topics = vec![TopicMap { topic: TOPIC, name }];
                AnyLog::Kafka(Box::new(KafkaLog::open(conf)?))
            }
        };
        Ok(Some(self.framed(log, topology, Mode::Read)?))
    }

    /// A log that was opened, with its topics in the framings of the topology.
    pub fn framed(&self, log: AnyLog, topology: &Topology, mode: Mode) -> anyhow::Result<AnyLog> {
        let Some(framing) = Framing::of(topology).map_err(|error| Usage(error.to_string()))? else {
            return Ok(log);
        };
        let framing = match &self.dir {
            Some(dir) => framing.beside(dir, mode == Mode::Write),
            None => framing,
        };
        Ok(AnyLog::Framed(Box::new(FramedLog::new(log, framing)?)))
    }

    /// The log itself, without what registry's numbers stand for.
    fn plain_log(&self, topology: &Topology, mode: Mode) -> anyhow::Result<AnyLog> {
        self.check()?;
        match &self.dir {
            Some(dir) => Ok(AnyLog::dir(dir_log(dir, topology, mode)?)?),
            None => Ok(AnyLog::Kafka(Box::new(KafkaLog::open(self.kafka(topology)?)?))),
        }
    }

    /// Opens the log to be read lane by lane, headers included. A directory is locked with
    /// [`Mode::Write`].
    pub fn scan(&self, topology: &Topology, mode: Mode) -> anyhow::Result<Scan> {
        if self.bootstrap_server.is_some() {
            let log = KafkaScan::open(
                self.kafka(topology)?,
                &topology.read_topics().collect::<Vec<_>>(),
            )?;
            return Ok(Scan::Kafka(Box::new(log)));
        }
        self.check()?;
        let dir = self.dir.as_ref().ok_or_else(|| Usage("give --dir DIR".to_owned()))?;
        Ok(Scan::Dir(Box::new(dir_log(dir, topology, mode)?)))
    }

    /// Opens a Kafka to read one topic, headers included; rights to others are not needed.
    pub fn scan_of(&self, topology: &Topology, topic: Topic) -> anyhow::Result<Scan> {
        let mut conf = self.kafka(topology)?;
        conf.topics.retain(|map| map.topic == topic);
        Ok(Scan::Kafka(Box::new(KafkaScan::open(conf, &[topic])?)))
    }

    /// How to reach the Kafka: the topology's properties, then the file's, then those on the
    /// command line.
    pub fn kafka(&self, topology: &Topology) -> anyhow::Result<KafkaConf> {
        let bootstrap = self.bootstrap_server.clone().ok_or_else(|| {
            Usage("this needs a Kafka: give --bootstrap-server HOST:PORT".to_owned())
        })?;
        let topics = topology
            .read_topics()
            .map(|topic| TopicMap { topic, name: topology.topic(topic).name.clone() })
            .collect();
        let mut conf = KafkaConf::new(&bootstrap, &topology.transactional_id(), topics);
        let unreadable = topology.limits.lane_unreadable_ms;
        let without = topology.limits.start_without_lane_ms;
        conf.start_without_after = Duration::from_millis(without.max(0) as u64);
        conf.max_output_bytes = topology.limits.max_output_bytes;
        conf.unreadable_after = Duration::from_millis(unreadable.max(0) as u64);
        for (name, value) in &topology.kafka.properties {
            secret::is_hidden(name, value, "the topology's [kafka.properties]")?;
            conf.properties.insert(name.clone(), value.clone());
        }
        if let Some(path) = &self.command_config {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("--command-config {}", path.display()))?;
            for (at, line) in text.lines().map(str::trim).enumerate() {
                if !line.is_empty() && !line.starts_with('#') {
                    let source = format!("{} line {}", path.display(), at + 1);
                    conf.properties.extend([property(line, &source)?]);
                }
            }
        }
        for given in &self.property {
            let (name, value) = property(given, "-X")?;
            secret::is_hidden(&name, &value, "-X")?;
            conf.properties.insert(name, value);
        }
        secret::resolve(&mut conf.properties)?;
        conf.check().map_err(|mistakes| Usage(mistakes.join("\n")))?;
        Ok(conf)
    }
}

/// The name and the text of a topology file.
fn read_file(path: &Path) -> Result<(String, String), Usage> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let names = BUILT_IN.map(|(name, _)| name).join(", ");
        let path = path.display();
        Usage(format!("--topology {path}: {error}; name a readable file, or one of {names}"))
    })?;
    Ok((path.display().to_string(), text))
}

fn property(text: &str, source: &str) -> Result<(String, String), Usage> {
    let pair = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    let pair = pair.filter(|(key, _)| !key.is_empty());
    let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
    // What stands there may be half a secret, so it is not shown.
    pair.ok_or_else(|| Usage(format!("{source}: found no `=` after a name; give KEY=VALUE")))
}

/// Refuses a directory that holds no log.
fn holds_log(dir: &Path, topology: &Topology) -> anyhow::Result<()> {
    let found = match Content::of(dir, &dir_topics(topology))? {
        Content::Log => return Ok(()),
        Content::Missing => "there is no such directory".to_owned(),
        Content::Empty => "the directory is empty".to_owned(),
        Content::Other(name) => {
            let topic = &topology.topic(Topic::Progress).name;
            format!("no log is there: it holds `{name}` and no folder such as `{topic}`")
        }
    };
    let remedy = match cycles::other_log(dir) {
        none if none.is_empty() => "name the directory of a log; a new one is made by `run \
                                    --create`, `demo`, `import` or `archive`"
            .to_owned(),
        remedy => remedy,
    };
    Err(Usage(format!("--dir {}: {found}; {remedy}", dir.display())).into())
}

/// Opens a directory log, and reports what was cut back. The directory must hold a log.
fn dir_log(dir: &Path, topology: &Topology, mode: Mode) -> anyhow::Result<DirLog> {
    holds_log(dir, topology)?;
    let log = DirLog::open(dir, mode, &dir_topics(topology), DirOptions::default())?;
    for notice in log.notices() {
        tracing::warn!("{notice}");
    }
    Ok(log)
}

/// Refuses a directory that has something else than a log in it; one that is missing or empty
/// may become a log.
pub fn may_hold_log(dir: &Path, topics: &[DirTopic]) -> anyhow::Result<()> {
    match Content::of(dir, topics)? {
        Content::Missing | Content::Empty | Content::Log => Ok(()),
        Content::Other(name) => Err(Usage(format!(
            "--dir {}: neither empty nor a log: it holds `{name}`; nothing was written; name \
             another directory",
            dir.display()
        ))
        .into()),
    }
}

/// The topics of a directory.
pub fn dir_topics(topology: &Topology) -> Vec<DirTopic> {
    topology
        .read_topics()
        .map(|topic| {
            let settings = topology.topic(topic);
            let (name, partitions) = (settings.name.clone(), settings.partitions);
            DirTopic { topic, name, partitions }
        })
        .collect()
}

/// Opens a store, and reports what had to be done for it.
pub fn open_store(dir: &Path) -> anyhow::Result<AnyStore> {
    let mut store = SledStore::open(dir)?;
    for notice in store.take_notices() {
        tracing::warn!("{notice}");
    }
    Ok(AnyStore::Sled(Box::new(store)))
}
