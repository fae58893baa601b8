//! Makes topics and looks at them: for `topology apply` and `topology check`.

use super::conf::{KafkaConf, Role};
use super::extent;
use super::queue::Client;
use super::reader;
use super::remedy::refusal;
use super::renewed::Renewed;
use super::topics::Described;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_drive::port::LogError;

/// Between two looks at a topic that was just made.
const NAP: Duration = Duration::from_millis(20);
/// Topics are made within so long, even if a broker restarts meanwhile: as long as Kafka's own
/// tools wait (their `default.api.timeout.ms`).
const CREATION: Duration = Duration::from_secs(60);
/// So long a wrong number of replicas may mean that no broker is known to live.
const FENCED: Duration = Duration::from_secs(15);

/// A topic to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopicSpec {
    /// Name on the bus.
    pub name: String,
    /// Partitions.
    pub partitions: u32,
    /// Replicas; -1 for the broker's default.
    pub replication: i32,
    /// Settings, such as `cleanup.policy`, `retention.ms`, `message.timestamp.type`.
    pub configs: Vec<(String, String)>,
}

/// Result of making a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It was made.
    Made,
    /// It was there already, and was left as it is.
    Exists,
}

/// A topic as the broker has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicFound {
    /// Partitions.
    pub partitions: u32,
    /// Every setting, the broker's defaults included.
    pub configs: BTreeMap<String, String>,
}

/// A client for topics.
pub struct KafkaAdmin {
    client: Renewed<AdminClient<DefaultClientContext>>,
    /// Asks what needs no right to make topics: unlike the other it knows why a broker turns it
    /// away.
    looker: Renewed<Client>,
    runtime: tokio::runtime::Runtime,
    patience: Duration,
    persistence: Duration,
}

impl KafkaAdmin {
    /// Makes the client. Nothing is asked of the broker yet.
    pub fn open(conf: &KafkaConf) -> Result<KafkaAdmin, LogError> {
        let bootstrap = conf.bootstrap.clone();
        let stop = move |error: &dyn std::fmt::Display| {
            LogError::Stop(format!("cannot make a Kafka client for {bootstrap}: {error}"))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| stop(&error))?;
        let of = conf.clone();
        let client = Renewed::new(move || {
            of.client(Role::Admin)?.create().map_err(|error: KafkaError| stop(&error))
        })?;
        let looker = reader::renewed(conf, Role::Looker)?;
        let (patience, persistence) = (conf.patience, conf.persistence);
        Ok(KafkaAdmin { client, looker, runtime, patience, persistence })
    }

    /// Makes topics; each with what became of it. Returns once the broker knows them: it creates a
    /// topic first and announces it later. A request that no broker answers is sent again for a
    /// minute; a topic that it made all the same is then there already.
    pub fn create(&self, topics: &[NewTopicSpec]) -> Result<Vec<(String, Created)>, LogError> {
        let start = Instant::now();
        loop {
            match self.request(topics, start.elapsed() < FENCED) {
                Err(LogError::Unreachable(_)) if start.elapsed() < CREATION => {
                    std::thread::sleep(NAP);
                }
                result => return result,
            }
        }
    }

    /// `is_new`: the first request was sent a short while ago.
    fn request(
        &self,
        topics: &[NewTopicSpec],
        is_new: bool,
    ) -> Result<Vec<(String, Created)>, LogError> {
        let asked: Vec<NewTopic<'_>> = topics.iter().map(new_topic).collect();
        let answer = self.client.ask(|client| {
            let answer = self.runtime.block_on(client.create_topics(&asked, &self.options()));
            answer.map_err(|error| unreachable(&error))
        })?;
        let mut made = Vec::new();
        for result in answer {
            match result {
                Ok(name) => made.push((name, Created::Made)),
                Err((name, RDKafkaErrorCode::TopicAlreadyExists)) => {
                    made.push((name, Created::Exists));
                }
                Err((name, code)) if is_passing(code, is_new) => {
                    return Err(LogError::Unreachable(format!("{name} cannot be made: {code}")));
                }
                Err((name, code)) => return Err(refused(&name, code)),
            }
        }
        let start = Instant::now();
        for (name, _) in &made {
            while self.partitions_now(name)?.is_none() {
                if start.elapsed() > self.patience {
                    return Err(LogError::Unreachable(format!("{name} was made but is not there")));
                }
                std::thread::sleep(NAP);
            }
        }
        Ok(made)
    }

    /// Topics as the broker has them; `None` for one that is not there.
    pub fn describe(
        &self,
        names: &[String],
    ) -> Result<BTreeMap<String, Option<TopicFound>>, LogError> {
        let texts: Vec<&str> = names.iter().map(String::as_str).collect();
        let topics = extent::patiently(self.persistence, || self.described(&texts))?;
        let of = |name: &String| {
            let partitions = topics.get(name)?.partitions as u32;
            Some(TopicFound { partitions, configs: BTreeMap::new() })
        };
        let mut found: BTreeMap<String, Option<TopicFound>> =
            names.iter().map(|name| (name.clone(), of(name))).collect();
        let there = found.iter().filter(|(_, known)| known.is_some());
        let asked: Vec<ResourceSpecifier<'_>> =
            there.map(|(name, _)| ResourceSpecifier::Topic(name)).collect();
        if asked.is_empty() {
            return Ok(found);
        }
        let answer = extent::patiently(self.persistence, || {
            self.client.ask(|client| {
                let asked = client.describe_configs(&asked, &self.options());
                self.runtime.block_on(asked).map_err(|error| unreachable(&error))
            })
        })?;
        let mut configs = Vec::new();
        for resource in answer {
            let resource = resource.map_err(|code| refused("(its settings)", code))?;
            if let rdkafka::admin::OwnedResourceSpecifier::Topic(name) = resource.specifier {
                configs.push((name, resource.entries));
            }
        }
        for (name, entries) in configs {
            if let Some(Some(known)) = found.get_mut(&name) {
                let value = |entry: rdkafka::admin::ConfigEntry| Some((entry.name, entry.value?));
                known.configs = entries.into_iter().filter_map(value).collect();
            }
        }
        Ok(found)
    }

    /// How many partitions a topic has; `None` when it is not there.
    pub fn partitions(&self, name: &str) -> Result<Option<u32>, LogError> {
        extent::patiently(self.persistence, || self.partitions_now(name))
    }

    fn partitions_now(&self, name: &str) -> Result<Option<u32>, LogError> {
        Ok(self.described(&[name])?.get(name).map(|topic| topic.partitions as u32))
    }

    fn described(&self, names: &[&str]) -> Result<BTreeMap<String, Described>, LogError> {
        self.looker.ask(|client| extent::described(client, names, self.patience, Duration::ZERO))
    }

    fn options(&self) -> AdminOptions {
        let patience = Some(self.patience);
        AdminOptions::new().request_timeout(patience).operation_timeout(patience)
    }
}

fn new_topic(spec: &NewTopicSpec) -> NewTopic<'_> {
    let replication = TopicReplication::Fixed(spec.replication);
    let partitions = i32::try_from(spec.partitions).unwrap_or(i32::MAX);
    let topic = NewTopic::new(&spec.name, partitions, replication);
    spec.configs.iter().fold(topic, |topic, (name, value)| topic.set(name, value))
}

/// Whether a broker that starts, or gives the control of the cluster to another, says this of a
/// topic that it will make when it is asked again.
fn is_passing(code: RDKafkaErrorCode, is_new: bool) -> bool {
    use RDKafkaErrorCode as Code;
    // Also the answer while no broker is known to live, as when all are busy.
    let is_fenced = code == Code::InvalidReplicationFactor && is_new;
    is_fenced
        || [Code::RequestTimedOut, Code::NotController, Code::ThrottlingQuotaExceeded]
            .contains(&code)
}

fn unreachable(error: &KafkaError) -> LogError {
    let refused = error.rdkafka_error_code().and_then(|code| refusal(code, "us"));
    refused.unwrap_or_else(|| LogError::Unreachable(error.to_string()))
}

fn refused(name: &str, code: RDKafkaErrorCode) -> LogError {
    refusal(code, &format!("Read or Write of topic {name}"))
        .unwrap_or_else(|| LogError::Stop(format!("the broker refuses {name}: {code}")))
}
