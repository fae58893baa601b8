//! The file with a job description, and the input files beside it.

use crate::core::event::Upload;
use crate::core::xrsl::{Alternative, Dialect, read};
use crate::shell::cli::Usage;
use std::collections::BTreeMap;
use std::path::Path;

/// A description that was read.
pub struct Described {
    /// Its text.
    pub text: String,
    /// What each of its jobs uploads.
    pub jobs: Vec<Vec<Upload>>,
}

impl Described {
    /// Reads a file, and the sizes of the input files that its jobs upload.
    ///
    /// # Errors
    /// A file that cannot be read; the first mistake in it, with its line and column; an input file
    /// that is not there.
    pub fn open(path: &Path) -> Result<Described, Usage> {
        let file = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Usage(format!("--xrsl {file}: {error}; name a readable file")))?;
        let described = read(&text, Dialect::User).map_err(|error| {
            let (line, column, subject) = (error.line, error.column, &error.subject);
            let (code, expected) = (error.code.name(), error.code.expected());
            Usage(format!("{file}:{line}:{column}: found {subject}: {expected} ({code})"))
        })?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let jobs =
            described.jobs.iter().map(|job| uploads(&path.display().to_string(), beside, job));
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(Described { text, jobs })
    }
}

/// What a job uploads, whichever of its alternatives is taken.
fn uploads(file: &str, beside: &Path, job: &[Alternative]) -> Result<Vec<Upload>, Usage> {
    let mut found = BTreeMap::new();
    let inputs = job.iter().flat_map(|alternative| &alternative.input_files);
    for input in inputs.filter(|input| input.source.is_empty()) {
        if found.contains_key(&input.name) {
            continue;
        }
        let path = beside.join(&input.name);
        let wrong = |why: String| {
            let (name, path) = (&input.name, path.display());
            Usage(format!(
                "{file}: input {name:?} is to be uploaded from {path}: {why}; put the file there, \
                 or state its source in inputfiles"
            ))
        };
        let facts = std::fs::metadata(&path).map_err(|error| wrong(error.to_string()))?;
        if !facts.is_file() {
            return Err(wrong("it is no file".to_owned()));
        }
        found.insert(input.name.clone(), facts.len());
    }
    let upload = |(name, bytes)| Upload { name, bytes: Some(bytes) };
    Ok(found.into_iter().map(upload).collect())
}
