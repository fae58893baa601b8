//! The topology file: what runs. Topics and how the broker keeps them, limits, policies. Every
//! mistake in a file is named at once, each with its line.

mod attention;
mod check;
mod complaint;
mod describe;
mod intake;
mod lint;
mod need;
mod policy;
mod pseudonyms;
mod read;
mod registry;
mod rule;
mod together;
mod topic;

pub use attention::{AttentionSettings, hours};
pub use complaint::Complaint;
pub use describe::{describe, mermaid};
pub use intake::IntakeSettings;
pub use lint::{Finding, Severity, findings};
pub use need::{REMOVALS, Shortfall, TopicReader, readers, removals_kept, shortfalls, why_append};
pub use pseudonyms::PseudonymSettings;
pub use registry::{Registry, Strategy};
pub use together::conflicts;
pub use topic::{Cleanup, Framing, Timestamp, TopicSettings};

use crate::import::Parents;
use read::{Reader, Value, show};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};
use yardmaster_core::command::CommandSetting;
use yardmaster_core::cut::Topic;
use yardmaster_core::limits::{Limit, Limits};
use yardmaster_core::policy::{PolicySpec, kind};

/// The topology for ATLAS, used when no other is named.
pub const ATLAS: &str = include_str!("../../../topology/atlas.toml");

/// The topology for NorduGrid.
pub const NORDUGRID: &str = include_str!("../../../topology/nordugrid.toml");

/// The topology for a pool of slots as CMS has it.
pub const CMS: &str = include_str!("../../../topology/cms.toml");

/// The topology for a PanDA outside ATLAS.
pub const PANDA: &str = include_str!("../../../topology/panda.toml");

/// The topologies that are part of the program, by name.
pub const BUILT_IN: [(&str, &str); 4] =
    [("atlas", ATLAS), ("panda", PANDA), ("nordugrid", NORDUGRID), ("cms", CMS)];

/// The topology: read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Domain (VO or pool) that is decided for.
    pub domain: String,
    /// Every topic.
    pub topics: BTreeMap<Topic, TopicSettings>,
    /// Every limit.
    pub limits: Limits,
    /// Kafka, beyond what we set ourselves.
    pub kafka: Kafka,
    /// Foreign messages that become records.
    pub intake: IntakeSettings,
    /// The schema registry, if there is one.
    pub registry: Option<Registry>,
    /// Whether users are shown by pseudonyms.
    pub pseudonyms: PseudonymSettings,
    /// Policies, in the order of the file.
    pub policies: Vec<PolicySpec>,
    /// Rules that give commands, and what bounds them.
    pub commands: CommandSetting,
    /// From when on a person is wanted.
    pub attention: AttentionSettings,
}

/// Settings of Kafka itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Kafka {
    /// Consumer group that offsets are committed to, for Kafka's own lag tools only.
    pub group: String,
    /// Replicas of each topic that `topology apply` creates; -1: the broker's default.
    pub replication: i32,
    /// librdkafka properties, passed through.
    pub properties: Vec<(String, String)>,
}

/// Keys that a file may have at its top.
const ROOT: [&str; 11] = [
    "domain",
    "topics",
    "limits",
    "kafka",
    "intake",
    "registry",
    "pseudonyms",
    "policy",
    "rule",
    "governor",
    "attention",
];

/// Properties on which the guarantees rest: ours to set.
const OURS: [&str; 8] = [
    "transactional.id",
    "enable.idempotence",
    "isolation.level",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "auto.offset.reset",
    "group.id",
];

impl Topology {
    /// Reads a file. `file` is its name, for messages.
    pub fn parse(file: &str, text: &str) -> Result<Topology, Vec<Complaint>> {
        let mut reader = Reader::new(file, text);
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let line = error.span().map_or(1, |span| reader.line(&span));
            reader.complain(line, error.message().replace('\n', " "), "TOML 1.0");
        }
        let root = root.get_ref();
        reader.only(root, "the file", &ROOT);
        let domain = domain(&mut reader, root.get("domain"));
        let topics = topic::topics(&mut reader, root.get("topics"));
        let (limits, lines) = limits(&mut reader, root.get("limits"));
        let kafka = kafka(&mut reader, root.get("kafka"), &domain);
        let intake =
            intake::intake(&mut reader, root.get("intake"), root.get("registry").is_some());
        let registry = root.get("registry").and_then(|it| registry::registry(&mut reader, it));
        let pseudonyms = pseudonyms::pseudonyms(&mut reader, root.get("pseudonyms"));
        let placed = policy::policies(&mut reader, root.get("policy"));
        let policies: Vec<_> = placed.into_iter().map(|placed| placed.policy).collect();
        topic::complain_of_missing(&mut reader, root.get("topics"), &topics, &policies);
        let pool = offer_policy(&policies);
        let commands = rule::commands(&mut reader, root.get("rule"), root.get("governor"), pool);
        let attention = attention::attention(&mut reader, root.get("attention"));
        let topology = Topology {
            domain,
            topics,
            limits,
            kafka,
            intake,
            registry,
            pseudonyms,
            policies,
            commands,
            attention,
        };
        check::check(&mut reader, &topology, &lines);
        let complaints = reader.finish();
        if complaints.is_empty() { Ok(topology) } else { Err(complaints) }
    }

    /// The topology for ATLAS.
    pub fn default_atlas() -> Topology {
        // cannot fail: the file is part of the program, and a test reads it.
        Topology::parse("topology/atlas.toml", ATLAS).expect("the shipped topology is right")
    }

    /// The topology for a PanDA outside ATLAS.
    pub fn default_panda() -> Topology {
        // cannot fail: the file is part of the program, and a test reads it.
        Topology::parse("topology/panda.toml", PANDA).expect("the shipped topology is right")
    }

    /// The topology for NorduGrid.
    pub fn default_nordugrid() -> Topology {
        // cannot fail: the file is part of the program, and a test reads it.
        Topology::parse("topology/nordugrid.toml", NORDUGRID)
            .expect("the shipped topology is right")
    }

    /// The topology for a pool of slots as CMS has it.
    pub fn default_cms() -> Topology {
        // cannot fail: the file is part of the program, and a test reads it.
        Topology::parse("topology/cms.toml", CMS).expect("the shipped topology is right")
    }

    /// Whether it is of a pool of slots: offers are answered, and no task asks for anything.
    pub fn answers_offers(&self) -> bool {
        offer_policy(&self.policies).is_some()
    }

    /// The settings of a topic; of one that it does not have those that would hold if nothing were
    /// stated.
    pub fn topic(&self, topic: Topic) -> &TopicSettings {
        self.topics.get(&topic).unwrap_or_else(|| topic::absent(topic))
    }

    /// Topics that processes read and that it has, in order of their numbers.
    pub fn read_topics(&self) -> impl Iterator<Item = Topic> {
        Topic::read().filter(|topic| self.topics.contains_key(topic))
    }

    /// The topic of a name on the bus.
    pub fn topic_named(&self, name: &str) -> Option<Topic> {
        self.topics.iter().find(|(_, settings)| settings.name == name).map(|(topic, _)| *topic)
    }

    /// The transactional id that the leader publishes under: a process that initialises it fences
    /// the others. One for each `progress` topic: all processes that would publish there have the
    /// same one, and installations with topics of their own do not disturb each other.
    pub fn transactional_id(&self) -> String {
        self.id_for(Topic::Progress, "")
    }

    /// The transactional id that intake publishes under, and the group its source offsets are kept
    /// under. One for each `job-state` topic, as above.
    pub fn intake_id(&self) -> String {
        self.id_for(Topic::JobState, "-intake")
    }

    /// The domain's id where the topic has the name that it has by default, as in every released
    /// version.
    fn id_for(&self, topic: Topic, suffix: &str) -> String {
        let (domain, name) = (&self.domain, &self.topic(topic).name);
        if *name == topic::default_name(topic) {
            format!("yardmaster-{domain}{suffix}")
        } else {
            format!("yardmaster-{domain}-{name}{suffix}")
        }
    }
}

/// The kind of policy of a PanDA outside ATLAS.
const GENERIC: &str = "generic-job";

impl Topology {
    /// Whether it is of a PanDA outside ATLAS.
    pub fn is_generic(&self) -> bool {
        self.policies.iter().any(|policy| policy.kind == GENERIC)
    }

    /// Of which unified queues a record of the whole is published.
    pub fn parents(&self) -> Parents {
        if self.is_generic() { Parents::All } else { Parents::ByVo }
    }
}

/// The policy that answers slot offers.
fn offer_policy(policies: &[PolicySpec]) -> Option<&PolicySpec> {
    policies.iter().find(|policy| kind(&policy.kind).is_some_and(|kind| kind.judges_offers()))
}

fn domain(reader: &mut Reader, value: Option<&Value<'_>>) -> String {
    let allowed = "a word of letters, digits, `-` and `_`: the VO or pool decided for";
    let Some(value) = value else {
        reader.complain(1, "no `domain`", allowed);
        return String::new();
    };
    reader.text(value, "domain", allowed, policy::is_word).unwrap_or("").to_string()
}

/// The limits, and the line of each that the file sets.
fn limits(reader: &mut Reader, value: Option<&Value<'_>>) -> (Limits, BTreeMap<String, usize>) {
    let mut limits = Limits::default();
    let mut lines = BTreeMap::new();
    let Some(table) = value.and_then(|value| reader.table(value, "limits")) else {
        return (limits, lines);
    };
    let keys: Vec<&str> = Limits::ALL.iter().map(|limit| limit.key).collect();
    reader.only(table, "[limits]", &keys);
    for (key, value) in table {
        let Some(limit) = Limit::of(key.get_ref()) else { continue };
        lines.insert(limit.key.to_string(), reader.line(&key.span()));
        let at = format!("limits.{}", limit.key);
        if let Some(number) = reader.int(value, &at, limit.min..=limit.max) {
            (limit.set)(&mut limits, number);
        }
    }
    (limits, lines)
}

fn kafka(reader: &mut Reader, value: Option<&Value<'_>>, domain: &str) -> Kafka {
    let group = format!("yardmaster-{domain}");
    let mut kafka = Kafka { group, replication: -1, properties: Vec::new() };
    let Some(table) = value.and_then(|value| reader.table(value, "kafka")) else { return kafka };
    reader.only(table, "[kafka]", &["group", "replication", "properties"]);
    if let Some(value) = table.get("group") {
        let allowed = "the name of a consumer group";
        let group = reader.text(value, "kafka.group", allowed, |text| !text.is_empty());
        kafka.group = group.unwrap_or("").to_string();
    }
    if let Some(value) = table.get("replication") {
        kafka.replication = reader.int(value, "kafka.replication", -1..=100).unwrap_or(-1) as i32;
    }
    let value = table.get("properties");
    if let Some(table) = value.and_then(|value| reader.table(value, "kafka.properties")) {
        properties(reader, "", table, &mut kafka.properties);
    }
    kafka
}

/// Flattens properties: `a.b = 1` without quotes is a table to TOML.
fn properties(
    reader: &mut Reader,
    prefix: &str,
    table: &DeTable<'_>,
    found: &mut Vec<(String, String)>,
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        if OURS.contains(&name.as_str()) {
            let allowed = "any librdkafka property but those the guarantees rest on";
            reader.complain(reader.line(&key.span()), format!("property `{name}`"), allowed);
            continue;
        }
        match value.get_ref() {
            DeValue::Table(table) => properties(reader, &format!("{name}."), table, found),
            DeValue::String(text) => found.push((name, text.to_string())),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                found.push((name, show(value.get_ref())));
            }
            DeValue::Array(_) | DeValue::Datetime(_) => {
                reader.complain_at(value, &name, "text, a number, true or false");
            }
        }
    }
}
