//! One process that leads several domains, and several processes that lead one each on the same
//! Kafka: no domain touches another's decisions, and one that stops does not stop the others.

mod dirs;
mod kafka;
mod kinds;
mod refused;

use crate::kill::process::{PROGRAM, Process};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use toml::Table;
use yardmaster::wire::topology::ATLAS;

/// Two topologies for one process with directory logs, and where logs and stores lie.
pub struct Place {
    dir: TempDir,
    files: [PathBuf; 2],
}

impl Place {
    pub fn new() -> Place {
        let dir = TempDir::new().unwrap();
        let files = ["one", "two"].map(|domain| topology(dir.path(), domain, |_| {}));
        Place { dir, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn start(&self) -> Process {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "--create", "--dir"]).arg(self.path("log"));
        for file in &self.files {
            command.arg("--topology").arg(file);
        }
        Process::spawn(command, &self.path("store"))
    }
}

/// The shipped topology for another domain, its topics under the domain's name, with a short
/// takeover; `change` changes the file.
fn topology(dir: &Path, domain: &str, change: impl FnOnce(&mut Table)) -> PathBuf {
    let mut file: Table = ATLAS.parse().unwrap();
    file.insert("domain".into(), domain.into());
    let topics: Vec<String> = file["topics"].as_table().unwrap().keys().cloned().collect();
    for topic in topics {
        set(&mut file, ["topics", &topic], "name", &format!("{domain}.{topic}"));
    }
    let limits = file["limits"].as_table_mut().unwrap();
    limits.insert("takeover_s".into(), 1.into());
    limits.insert("takeover_jitter_ms".into(), 0.into());
    change(&mut file);
    let path = dir.join(format!("{domain}.toml"));
    std::fs::write(&path, file.to_string()).unwrap();
    path
}

/// Sets a text in a table of a table.
fn set(file: &mut Table, [outer, inner]: [&str; 2], key: &str, text: &str) {
    let table = file[outer].as_table_mut().unwrap()[inner].as_table_mut().unwrap();
    table.insert(key.into(), text.into());
}
