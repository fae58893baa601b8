//! Topics as the topology file gives them: names on the bus, and how the broker keeps them.

use super::read::{Reader, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use yardmaster_core::cut::Topic;
use yardmaster_core::policy::{PolicySpec, kind};
use yardmaster_core::topic::Need;
use yardmaster_core::unit::{HOUR, Millis, SECOND};

/// Treatment of old records of a topic by the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// Keeps the newest record of each key.
    Compact,
    /// Keeps everything for a time.
    Delete,
    /// Keeps the newest record of each key, and that for a time only.
    CompactDelete,
}

impl Cleanup {
    const WORDS: [(&'static str, Cleanup); 3] = [
        ("compact", Cleanup::Compact),
        ("delete", Cleanup::Delete),
        ("compact,delete", Cleanup::CompactDelete),
    ];

    /// The broker's name for it: `cleanup.policy`.
    pub const fn name(self) -> &'static str {
        match self {
            Cleanup::Compact => "compact",
            Cleanup::Delete => "delete",
            Cleanup::CompactDelete => "compact,delete",
        }
    }

    /// Whether older records of a key go when there is a newer one.
    pub const fn compacts(self) -> bool {
        !matches!(self, Cleanup::Delete)
    }

    /// Whether records go when they are old.
    pub const fn deletes(self) -> bool {
        !matches!(self, Cleanup::Compact)
    }
}

/// How records are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Avro's single-object encoding: marker and schema fingerprint before the record.
    SingleObject,
    /// Confluent's: a zero byte and the number that a schema registry gave to the schema. A reader
    /// takes single-object encoding too, so that a topic may change from that to this.
    Confluent,
}

impl Framing {
    const WORDS: [(&'static str, Framing); 2] =
        [("single-object", Framing::SingleObject), ("confluent", Framing::Confluent)];

    /// Its name in a topology file.
    pub const fn name(self) -> &'static str {
        match self {
            Framing::SingleObject => "single-object",
            Framing::Confluent => "confluent",
        }
    }
}

/// Whose clock stamps the records of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamp {
    /// The producer's.
    Create,
    /// The broker's, when it appends.
    Append,
}

impl Timestamp {
    const WORDS: [(&'static str, Timestamp); 2] =
        [("create", Timestamp::Create), ("append", Timestamp::Append)];

    /// Its name in a topology file.
    pub const fn name(self) -> &'static str {
        match self {
            Timestamp::Create => "create",
            Timestamp::Append => "append",
        }
    }

    /// The default where the file does not state it: inputs are stamped by the broker, for the
    /// stamp bounds the times that their records state.
    pub fn default_of(topic: Topic) -> Timestamp {
        match topic {
            Topic::Progress => Timestamp::Append,
            topic if topic.is_own() => Timestamp::Create,
            _ => Timestamp::Append,
        }
    }

    /// The broker's name for it: `message.timestamp.type`.
    pub const fn broker_name(self) -> &'static str {
        match self {
            Timestamp::Create => "CreateTime",
            Timestamp::Append => "LogAppendTime",
        }
    }
}

/// One topic.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicSettings {
    /// Name on the bus.
    pub name: String,
    /// Number of partitions.
    pub partitions: u32,
    /// Treatment of old records by the broker.
    pub cleanup: Cleanup,
    /// How long records are kept; `None` when they are not deleted by age.
    pub retention_ms: Option<Millis>,
    /// A record is safe from compaction for so long: time in which decisions made on it can be
    /// made again, and windows see it. 0 when the topic is not compacted.
    pub compact_after_ms: Millis,
    /// How records are framed.
    pub framing: Framing,
    /// Whose clock stamps the records.
    pub timestamp: Timestamp,
    /// A lane whose newest own-time is older than this has no later time than that; `None`:
    /// silence is no sign of trouble.
    pub silence_limit_ms: Option<Millis>,
    /// Facts of a configuration topic of which nothing was stated for so long are noted as stale;
    /// `None`: they hold for ever.
    pub stale_after_ms: Option<Millis>,
    /// Line of the file where it stands, from 1.
    pub line: usize,
}

const KEYS: [&str; 9] = [
    "name",
    "partitions",
    "cleanup",
    "retention_hours",
    "compact_after_hours",
    "framing",
    "timestamp",
    "silence_limit_s",
    "stale_after_s",
];

/// Most partitions of a topic. Each is a lane with buffers of its own.
const PARTITIONS_MAX: i64 = 1_024;
/// Ten years.
const HOURS_MAX: i64 = 87_600;
/// A year.
const STALE_MAX_S: i64 = 31_536_000;

/// Reads all topics. Every one that the policies need must be there: a forgotten one would be
/// silence, not an error. [`complain_of_missing`] looks for those.
pub(super) fn topics(
    reader: &mut Reader,
    value: Option<&Value<'_>>,
) -> BTreeMap<Topic, TopicSettings> {
    let words: Vec<&str> = Topic::ALL.iter().map(|topic| topic.name()).collect();
    let table = value.and_then(|value| reader.table(value, "topics"));
    let mut topics = BTreeMap::new();
    if let Some(table) = table {
        reader.only(table, "[topics]", &words);
        for (key, value) in table {
            if let Some(topic) = Topic::from_name(key.get_ref()) {
                topics.insert(topic, settings(reader, topic, value, reader.line(&key.span())));
            }
        }
    }
    topics
}

/// Complains of topics that are not there and that some policy needs.
pub(super) fn complain_of_missing(
    reader: &mut Reader,
    value: Option<&Value<'_>>,
    topics: &BTreeMap<Topic, TopicSettings>,
    policies: &[PolicySpec],
) {
    let line = value.map_or(1, |value| reader.line(&value.span()));
    let kinds = || policies.iter().filter_map(|policy| kind(&policy.kind));
    for topic in Topic::ALL.iter().filter(|topic| !topics.contains_key(topic)) {
        let word = topic.name();
        let is_needed = match topic.need() {
            Need::All => true,
            Need::Targets => kinds().any(|kind| kind.judges_targets()),
            Need::Offers => kinds().any(|kind| kind.judges_offers()),
            Need::Domains => kinds().any(|kind| kind.domain().is_some()),
            Need::Optional => false,
        };
        if is_needed {
            reader.complain(line, format!("no [topics.{word}]"), "one table for each topic word");
        }
    }
}

/// Settings of a topic that a topology does not have: it is not read.
pub(super) fn absent(topic: Topic) -> &'static TopicSettings {
    static ABSENT: LazyLock<Vec<TopicSettings>> =
        LazyLock::new(|| Topic::ALL.iter().map(|topic| unstated(*topic, 1)).collect());
    &ABSENT[topic as usize]
}

/// Settings of a topic of which nothing is stated.
fn unstated(topic: Topic, line: usize) -> TopicSettings {
    TopicSettings {
        name: default_name(topic),
        partitions: 1,
        cleanup: Cleanup::Delete,
        retention_ms: None,
        compact_after_ms: 0,
        framing: Framing::SingleObject,
        timestamp: Timestamp::default_of(topic),
        silence_limit_ms: None,
        stale_after_ms: None,
        line,
    }
}

fn settings(reader: &mut Reader, topic: Topic, value: &Value<'_>, line: usize) -> TopicSettings {
    let word = topic.name();
    let mut settings = unstated(topic, line);
    let Some(table) = reader.table(value, &format!("topics.{word}")) else { return settings };
    reader.only(table, &format!("[topics.{word}]"), &KEYS);
    for required in ["partitions", "cleanup"] {
        if !table.contains_key(required) {
            let found = format!("no `{required}` in [topics.{word}]");
            reader.complain(line, found, "a table that has it");
        }
    }
    for (key, value) in table {
        let key: &str = key.get_ref();
        let at = format!("topics.{word}.{key}");
        read_key(reader, &mut settings, key, &at, value);
    }
    settings
}

fn read_key(
    reader: &mut Reader,
    settings: &mut TopicSettings,
    key: &str,
    at: &str,
    value: &Value<'_>,
) {
    match key {
        "name" => {
            let allowed = "1 to 249 of the letters a-z, A-Z, 0-9, `.`, `_` and `-`";
            if let Some(name) = reader.text(value, at, allowed, is_topic_name) {
                settings.name = name.to_string();
            }
        }
        "partitions" => {
            if let Some(number) = reader.int(value, at, 1..=PARTITIONS_MAX) {
                settings.partitions = number as u32;
            }
        }
        "cleanup" => {
            settings.cleanup = reader.word(value, at, &Cleanup::WORDS).unwrap_or(settings.cleanup);
        }
        "framing" => {
            settings.framing = reader.word(value, at, &Framing::WORDS).unwrap_or(settings.framing);
        }
        "timestamp" => {
            let words = &Timestamp::WORDS;
            settings.timestamp = reader.word(value, at, words).unwrap_or(settings.timestamp);
        }
        "retention_hours" => {
            settings.retention_ms = reader.int(value, at, 1..=HOURS_MAX).map(|h| h * HOUR);
        }
        "compact_after_hours" => {
            settings.compact_after_ms = reader.int(value, at, 0..=HOURS_MAX).unwrap_or(0) * HOUR;
        }
        "silence_limit_s" => {
            settings.silence_limit_ms = reader.int(value, at, 1..=86_400).map(|s| s * SECOND);
        }
        "stale_after_s" => {
            settings.stale_after_ms = reader.int(value, at, 1..=STALE_MAX_S).map(|s| s * SECOND);
        }
        _ => {}
    }
}

/// The name of a topic on the bus, if the file gives no other.
pub(super) fn default_name(topic: Topic) -> String {
    format!("yardmaster.{}", topic.name())
}

/// Whether Kafka takes a text as a topic's name.
pub(super) fn is_topic_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=249).contains(&name.len()) && name.bytes().all(legal) && name != "." && name != ".."
}
