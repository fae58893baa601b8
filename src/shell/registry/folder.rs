//! Schemas beside a directory log: `schemas/<number>.avsc`, so that the directory can be read
//! without the registry, by us and by others.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use yardmaster_drive::port::LogError;

/// The folder of a directory log.
pub(super) struct Folder {
    dir: PathBuf,
    may_write: bool,
}

impl Folder {
    /// The folder in a log's directory.
    pub(super) fn of(log: &Path, may_write: bool) -> Folder {
        Folder { dir: log.join("schemas"), may_write }
    }

    /// The schemas in the folder, by number. A file that is no schema is passed over and reported.
    pub(super) fn load(&self) -> Result<Vec<(u32, Arc<str>)>, LogError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.stop("list", &error))?,
        };
        let mut schemas = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| self.stop("list", &error))?.path();
            let number = path.file_name().and_then(|name| name.to_str());
            let number = number.and_then(|name| name.strip_suffix(".avsc")?.parse().ok());
            let Some(number) = number else { continue };
            let text = fs::read_to_string(&path).map_err(|error| self.stop("read", &error))?;
            match apache_avro::Schema::parse_str(&text) {
                Ok(_) => schemas.push((number, Arc::from(text))),
                Err(error) => tracing::warn!(
                    "{}: {error}; the schema is asked from the registry again",
                    path.display()
                ),
            }
        }
        Ok(schemas)
    }

    /// Keeps a schema, whole or not at all. What is no Avro is not kept.
    pub(super) fn keep(&self, id: u32, text: &str) -> Result<(), LogError> {
        let path = self.dir.join(format!("{id}.avsc"));
        if !self.may_write || path.exists() || apache_avro::Schema::parse_str(text).is_err() {
            return Ok(());
        }
        let new = self.dir.join(format!("{id}.avsc.new"));
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.dir)?;
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(&self.dir)?.sync_all()
        };
        write().map_err(|error| self.stop("write to", &error))
    }

    fn stop(&self, doing: &str, error: &io::Error) -> LogError {
        let dir = self.dir.display();
        LogError::Stop(format!(
            "cannot {doing} {dir}: {error}; give it space and permission there and start again"
        ))
    }
}
