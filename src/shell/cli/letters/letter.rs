//! One dead letter: its headers and the bytes it carries.

use crate::dirlog::envelope::Envelope;
use std::fmt;
use yardmaster_core::cut::Lane;
use yardmaster_core::unit::Millis;

/// Where a record stood before it became a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// Name of the topic.
    pub topic: String,
    /// Partition.
    pub partition: u32,
    /// Offset.
    pub offset: u64,
}

impl Origin {
    /// Reads TOPIC/PARTITION/OFFSET.
    pub fn parse(text: &str) -> Option<Origin> {
        let (rest, offset) = text.rsplit_once('/')?;
        let (topic, partition) = rest.rsplit_once('/')?;
        let topic = Some(topic.to_owned()).filter(|topic| !topic.is_empty())?;
        Some(Origin { topic, partition: partition.parse().ok()?, offset: offset.parse().ok()? })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.topic, self.partition, self.offset)
    }
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Where the letter itself stands.
    pub lane: Lane,
    /// Its own offset.
    pub offset: u64,
    /// When it was published; ms since 1970.
    pub at: Millis,
    /// Where the record was; `None` when the headers do not have it: then it is no letter of ours.
    pub origin: Option<Origin>,
    /// Why it could not be read, by name; `?` when the headers do not have it.
    pub reason: String,
    /// Length of the value as it was read; bytes.
    pub length: u64,
    /// The key as it was read; a null key is an empty one.
    pub key: Vec<u8>,
    /// The part of the value that was kept.
    pub value: Vec<u8>,
    /// All headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Letter {
    /// Reads a record of the `dead-letter` topic. Never fails: what is missing is shown as missing.
    pub fn read(lane: Lane, record: &Envelope<'_>) -> Letter {
        let header = |name: &str| {
            let found = record.headers.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        let number = |name: &str| header(name).and_then(|text| text.parse::<u64>().ok());
        let partition = number("partition").and_then(|it| u32::try_from(it).ok());
        let origin = match (header("topic"), partition, number("offset")) {
            (Some(topic), Some(partition), Some(offset)) => {
                Some(Origin { topic, partition, offset })
            }
            _ => None,
        };
        let value = record.value.unwrap_or_default().to_vec();
        Letter {
            lane,
            offset: record.offset,
            at: record.timestamp,
            origin,
            reason: header("reason").unwrap_or_else(|| "?".into()),
            length: number("length").unwrap_or(value.len() as u64),
            key: record.key.unwrap_or_default().to_vec(),
            value,
            headers: record.headers.to_vec(),
        }
    }

    /// Whether part of the value was left behind.
    pub fn is_cut(&self) -> bool {
        let is_key_cut = self.headers.iter().any(|(name, _)| name == "key_cut_to");
        (self.value.len() as u64) < self.length || is_key_cut
    }

    /// The origin as text.
    pub fn from(&self) -> String {
        self.origin.as_ref().map_or_else(|| "?".into(), ToString::to_string)
    }

    /// How long the value was, and how much of it is here.
    pub fn bytes(&self) -> String {
        match self.is_cut() {
            true => format!("{} (cut to {})", self.length, self.value.len()),
            false => self.length.to_string(),
        }
    }

    /// The key on one line, whatever its bytes are.
    pub fn key_text(&self) -> String {
        shown(&self.key)
    }
}

/// Bytes on one line: as text if they are text.
pub fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => format!("0x{}", hex::encode(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_comes_back() {
        let origin = Origin { topic: "job-state".into(), partition: 3, offset: 17 };
        assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
        for bad in ["", "job-state", "job-state/3", "/3/17", "job-state/x/1", "job-state/1/-1"] {
            assert_eq!(Origin::parse(bad), None, "{bad}");
        }
    }
}
