//! The file with a job description, and the input files beside it.

use super::text::{Unread, text};
use crate::cli::Usage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use yardmaster_core::domain::nordugrid::xrsl::{
    Alternative, Description, Dialect, ErrorCode, read_to_run,
};
use yardmaster_core::event::Upload;

/// A description that was read.
pub struct ReadDescription {
    /// Its text.
    pub text: String,
    /// Files that each of its jobs uploads.
    pub jobs: Vec<Vec<Upload>>,
}

impl ReadDescription {
    /// Reads a file, and the sizes of the input files that its jobs upload. Names attributes that
    /// are not known, or read otherwise than they may be meant, on stderr.
    ///
    /// # Errors
    /// A file that cannot be read; the first mistake in it, with its line and column; an input file
    /// that is not there.
    pub fn open(path: &Path) -> Result<ReadDescription, Usage> {
        let file = path.display();
        let text = text(path).map_err(|unread| match unread {
            Unread::File(why) => Usage(format!("--xrsl {file}: {why}; name a readable file")),
            Unread::TooLong => {
                let (code, expected) = (ErrorCode::TooLong.name(), ErrorCode::TooLong.expected());
                Usage(format!("--xrsl {file}: {expected} ({code})"))
            }
            Unread::NotText(at) => Usage(format!("{file}:{at}; write the file in UTF-8")),
        })?;
        let described = read_to_run(&text, Dialect::User).map_err(|error| {
            let (line, column, subject) = (error.line, error.column, &error.subject);
            let (code, expected) = (error.code.name(), error.code.expected());
            Usage(format!("{file}:{line}:{column}: found {subject}: {expected} ({code})"))
        })?;
        let unknown = unknown_attributes(&described);
        if !unknown.is_empty() {
            eprintln!("{file}: unknown attributes are ignored: {}", unknown.join(", "));
        }
        notes(&described).iter().for_each(|note| eprintln!("{file}: {note}"));
        let beside = path.parent().unwrap_or(Path::new(""));
        let jobs =
            described.jobs.iter().map(|job| uploads(&path.display().to_string(), beside, job));
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(ReadDescription { text, jobs })
    }
}

/// Attributes that are not known, each once, in order of first mention.
fn unknown_attributes(described: &Description) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let alternatives = described.jobs.iter().flatten();
    let names = alternatives.flat_map(|it| it.unknown_attributes.iter().map(String::as_str));
    names.filter(|name| seen.insert(*name)).collect()
}

/// What is read as ARC reads it, which may not be meant: a line for each note, each once.
fn notes(described: &Description) -> Vec<String> {
    let mut lines = Vec::new();
    for note in described.jobs.iter().flatten().flat_map(|alternative| &alternative.notes) {
        let (attribute, code) = (&note.attribute, note.code);
        let line = format!("{attribute}: {} ({})", code.meaning(), code.name());
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Files that a job uploads, whichever of its alternatives is taken. Of those that it does not
/// list, its program and its standard input, the size is not known where they are not there.
fn uploads(file: &str, beside: &Path, job: &[Alternative]) -> Result<Vec<Upload>, Usage> {
    let mut found = BTreeMap::new();
    let inputs = job.iter().flat_map(|alternative| &alternative.input_files);
    for input in inputs.filter(|input| !input.path.is_empty()) {
        if found.contains_key(&input.name) {
            continue;
        }
        let path = beside.join(&input.path);
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
        found.insert(input.name.clone(), Some(facts.len()));
    }
    for name in job.iter().flat_map(|alternative| &alternative.implied_uploads) {
        let facts = std::fs::metadata(beside.join(name)).ok().filter(std::fs::Metadata::is_file);
        found.entry(name.clone()).or_insert(facts.map(|facts| facts.len()));
    }
    let upload = |(name, bytes)| Upload { name, bytes };
    Ok(found.into_iter().map(upload).collect())
}
