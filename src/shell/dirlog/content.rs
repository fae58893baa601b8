//! Content of a directory before it is taken for a log: nothing, a log, or something else.

use super::home::DirTopic;
use super::{LOCK, file::trouble};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use yardmaster_drive::port::LogError;

/// Names beside the folders of topics that a directory log may have.
const BESIDE: [&str; 4] = [LOCK, "store", "schemas", "lost+found"];

/// Content of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// There is no such directory.
    Missing,
    /// No file, no folder.
    Empty,
    /// A directory log: the folder of a topic, or the lock of a log that has no record yet.
    Log,
    /// Something else; one of the names found.
    Other(String),
}

impl Content {
    /// Looks at a directory; nothing is changed.
    pub fn of(dir: &Path, topics: &[DirTopic]) -> Result<Content, LogError> {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content::Missing),
            entries => entries.map_err(|error| trouble(dir, "listed", &error))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| trouble(dir, "listed", &error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| name != "lost+found");
        names.sort();
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let other = names.iter().find(|name| !BESIDE.contains(&name.as_str()));
        Ok(match other {
            _ if names.is_empty() => Content::Empty,
            _ if topics.iter().any(|topic| has(&topic.name)) => Content::Log,
            None if has(LOCK) => Content::Log,
            None => Content::Other(names.swap_remove(0)),
            Some(other) => Content::Other(other.clone()),
        })
    }
}
