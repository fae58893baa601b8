//! Needs of a topology from the broker, topic by topic: how records are kept, and for which
//! readers. A broker as found is compared with them, and every window that would be short is named.

use super::Topology;
use super::check::{WINDOWS, hours};
use super::topic::{Cleanup, Timestamp, TopicSettings};
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::unit::{DAY, Millis};

/// The broker's name for how long a null is kept.
pub const REMOVALS: &str = "delete.retention.ms";

/// Something that reads a topic back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicReader {
    /// Name of the reader: a limit's key, or the rule.
    pub name: String,
    /// How far back; ms.
    pub length: Millis,
    /// Whether it counts every record, so that compaction within the length would change it.
    pub every_record: bool,
}

/// Everything that reads a topic back, the longest first.
pub fn readers(topology: &Topology, topic: Topic) -> Vec<TopicReader> {
    let mut readers: Vec<TopicReader> = WINDOWS
        .iter()
        .filter(|window| window.topic == topic)
        .map(|window| TopicReader {
            name: window.reader.to_owned(),
            length: (window.length)(topology),
            every_record: window.every_record,
        })
        .collect();
    let kept = |topic: Topic| topology.topics.get(&topic).and_then(|it| it.retention_ms);
    let mut other = |name: &str, length| {
        readers.push(TopicReader { name: name.to_owned(), length, every_record: false });
    };
    if topic == Topic::Decision && !topology.answers_offers() {
        let asked = kept(Topic::Task).unwrap_or(0).max(topology.limits.request_lifetime_ms);
        other("requests, which would be answered twice", asked);
    }
    let is_rebuilt_from = topic.is_read() && kept(topic).is_some();
    if let Some(progress) = kept(Topic::Progress).filter(|_| is_rebuilt_from) {
        other("a rebuild, which begins at the first cycle in progress", progress);
    }
    readers.sort_by_key(|reader| std::cmp::Reverse(reader.length));
    readers
}

/// A setting of the broker that is not as the topology needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The broker's name for it; `partitions` for their number.
    pub setting: &'static str,
    /// The broker's setting that was found.
    pub found: String,
    /// Reason why it falls short.
    pub why: String,
    /// The setting that is needed.
    pub wanted: String,
}

/// Settings of a topic as found that fall short. `configs` are the broker's settings, its defaults
/// included.
pub fn shortfalls(
    topology: &Topology,
    topic: Topic,
    partitions: u32,
    configs: &BTreeMap<String, String>,
) -> Vec<Shortfall> {
    let settings = topology.topic(topic);
    let found = Found { configs };
    let readers = readers(topology, topic);
    [
        count(topic, settings, partitions),
        policy(settings, &found),
        age(settings, &found, &readers),
        size(settings, &found, &readers),
        compaction(settings, &found, &readers),
        removals(topology, topic, &found),
        stamp(topic, settings, &found),
        length(topology, topic, &found),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The broker's settings of one topic.
struct Found<'a> {
    configs: &'a BTreeMap<String, String>,
}

impl Found<'_> {
    fn text(&self, setting: &str) -> &str {
        self.configs.get(setting).map_or("", String::as_str)
    }

    /// A number of the broker's; without end where it says -1.
    fn number(&self, setting: &str) -> i64 {
        match self.text(setting).parse::<i64>() {
            Ok(number) if number < 0 => i64::MAX,
            Ok(number) => number,
            Err(_) => 0,
        }
    }

    fn cleans(&self, how: &str) -> bool {
        self.text("cleanup.policy").split(',').any(|word| word.trim() == how)
    }
}

fn count(topic: Topic, settings: &TopicSettings, partitions: u32) -> Option<Shortfall> {
    let wanted = settings.partitions;
    let why = if topic == Topic::Progress && partitions != wanted {
        "its order is the order of the cycles".to_owned()
    } else if partitions < wanted {
        format!("the topology has {wanted}")
    } else {
        return None;
    };
    let found = partitions.to_string();
    Some(Shortfall { setting: "partitions", found, why, wanted: wanted.to_string() })
}

fn policy(settings: &TopicSettings, found: &Found<'_>) -> Option<Shortfall> {
    let deletes = found.cleans("delete") && found.number("retention.ms") < i64::MAX;
    let why = match settings.cleanup {
        Cleanup::Delete if found.cleans("compact") => "several records under one key count",
        Cleanup::Compact if deletes => "a fact holds until it is published again, however long",
        Cleanup::Compact | Cleanup::Delete | Cleanup::CompactDelete => return None,
    };
    Some(Shortfall {
        setting: "cleanup.policy",
        found: found.text("cleanup.policy").to_owned(),
        why: why.to_owned(),
        wanted: settings.cleanup.name().to_owned(),
    })
}

fn age(settings: &TopicSettings, found: &Found<'_>, readers: &[TopicReader]) -> Option<Shortfall> {
    let (wanted, kept) = (settings.retention_ms?, found.number("retention.ms"));
    if !found.cleans("delete") || kept >= wanted {
        return None;
    }
    let short = readers.iter().filter(|reader| reader.length > kept);
    Some(Shortfall {
        setting: "retention.ms",
        found: format!("{kept} ({})", hours(kept)),
        why: short_of(short, wanted),
        wanted: wanted.to_string(),
    })
}

fn size(settings: &TopicSettings, found: &Found<'_>, readers: &[TopicReader]) -> Option<Shortfall> {
    let bytes = found.text("retention.bytes");
    let wanted = settings.retention_ms?;
    if !found.cleans("delete") || matches!(bytes, "" | "-1") {
        return None;
    }
    Some(Shortfall {
        setting: "retention.bytes",
        found: bytes.to_owned(),
        why: format!("deletes by size; {}", short_of(readers.iter(), wanted)),
        wanted: "-1".to_owned(),
    })
}

fn compaction(
    settings: &TopicSettings,
    found: &Found<'_>,
    readers: &[TopicReader],
) -> Option<Shortfall> {
    let (wanted, lag) = (settings.compact_after_ms, found.number("min.compaction.lag.ms"));
    if !found.cleans("compact") || !settings.cleanup.compacts() || lag >= wanted {
        return None;
    }
    let short: Vec<String> = readers
        .iter()
        .filter(|reader| reader.every_record && reader.length > lag)
        .map(shown)
        .collect();
    let after = hours(wanted);
    let why = match short.is_empty() {
        true => format!("decisions younger than {after} could not be made again"),
        false => format!("shorter than {}", short.join(", ")),
    };
    let found = format!("{lag} ({})", hours(lag));
    let wanted = wanted.to_string();
    Some(Shortfall { setting: "min.compaction.lag.ms", found, why, wanted })
}

/// How long a compacted topic keeps what removes a record (a null); ms. A store that was away for
/// longer would keep what was removed: one goes on only as long as `progress` has its cycle.
pub fn removals_kept(topology: &Topology) -> Millis {
    topology.topic(Topic::Progress).retention_ms.unwrap_or(30 * DAY) + DAY
}

fn removals(topology: &Topology, topic: Topic, found: &Found<'_>) -> Option<Shortfall> {
    let (wanted, kept) = (removals_kept(topology), found.number(REMOVALS));
    if !topic.is_read() || !found.cleans("compact") || kept >= wanted {
        return None;
    }
    Some(Shortfall {
        setting: REMOVALS,
        found: format!("{kept} ({})", hours(kept)),
        why: "a store that was away for longer is rebuilt, since it cannot know what was removed"
            .to_owned(),
        wanted: wanted.to_string(),
    })
}

/// Why a topic's records are stamped by the broker, for people.
pub const fn why_append(topic: Topic) -> &'static str {
    match topic {
        Topic::Progress => "the broker's clock is held against ours by it",
        _ => "the stamp bounds the times that records state, and a producer's clock may be wrong",
    }
}

fn stamp(topic: Topic, settings: &TopicSettings, found: &Found<'_>) -> Option<Shortfall> {
    let wanted = settings.timestamp.broker_name();
    let stamp = found.text("message.timestamp.type");
    let wrong = settings.timestamp == Timestamp::Append && stamp != wanted;
    wrong.then(|| Shortfall {
        setting: "message.timestamp.type",
        found: stamp.to_owned(),
        why: why_append(topic).to_owned(),
        wanted: wanted.to_owned(),
    })
}

fn length(topology: &Topology, topic: Topic, found: &Found<'_>) -> Option<Shortfall> {
    let longest = topology.limits.max_output_bytes as i64;
    let taken = found.number("max.message.bytes");
    let short = topic.is_own() && taken < longest;
    short.then(|| Shortfall {
        setting: "max.message.bytes",
        found: taken.to_string(),
        why: format!("max_output_bytes is {longest}"),
        // Room for what the broker adds to a record.
        wanted: (longest + 4_096).to_string(),
    })
}

/// Names of the readers for which a time is too short, or that the topology has another figure.
fn short_of<'a>(readers: impl Iterator<Item = &'a TopicReader>, wanted: Millis) -> String {
    let names: Vec<String> = readers.map(shown).collect();
    match names.is_empty() {
        true => format!("shorter than the topology has ({})", hours(wanted)),
        false => format!("too short for {}", names.join(", ")),
    }
}

/// A reader with how far back it reads.
fn shown(reader: &TopicReader) -> String {
    format!("{} ({})", reader.name, hours(reader.length))
}
