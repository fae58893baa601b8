//! Files that a job lists for its cluster, and attributes as they are written, whatever a target is
//! chosen by.

use super::source::source;
use super::{Alternative, Value};

impl Alternative {
    /// The files that the submitter uploads: the name of each in the session directory, and its
    /// path here.
    pub fn uploads(&self) -> impl Iterator<Item = (&str, &str)> {
        let listed = self.input_files.iter().filter(|file| !file.path.is_empty());
        let listed = listed.map(|file| (file.name.as_str(), file.path.as_str()));
        listed.chain(self.implied_uploads.iter().map(|name| (name.as_str(), name.as_str())))
    }

    /// Whether the cluster fetches input of the job, or sends output.
    pub fn is_staged_by_the_cluster(&self) -> bool {
        let is_fetched = self.input_files.iter().any(|file| !file.source.is_empty());
        is_fetched || self.outputs().iter().any(|output| !output.url.is_empty())
    }

    /// The values of an attribute; of several the last.
    pub(super) fn values(&self, name: &str) -> &[Value] {
        let mut named = self.attributes.iter().rev().filter(|it| it.name == name);
        named.next().map_or(&[], |it| &it.values)
    }

    /// The text of an attribute; empty without one.
    pub(super) fn text(&self, name: &str) -> &str {
        match self.values(name) {
            [Value::Text(text)] => text,
            _ => "",
        }
    }

    pub(super) fn is_flagged(&self, name: &str) -> bool {
        let text = self.text(name);
        text.eq_ignore_ascii_case("yes") || text.eq_ignore_ascii_case("true")
    }

    /// Values of an attribute in all its mentions.
    pub(super) fn all(&self, name: &'static str) -> impl Iterator<Item = &Value> {
        self.attributes.iter().filter(move |it| it.name == name).flat_map(|it| &it.values)
    }

    pub(super) fn outputs(&self) -> Vec<OutputFile<'_>> {
        self.all("outputfiles").filter_map(OutputFile::of).collect()
    }

    /// Where its errors go.
    pub(super) fn stderr(&self) -> &str {
        self.text(if self.is_flagged("join") { "stdout" } else { "stderr" })
    }

    /// Files that stay at the cluster for the submitter although no output is listed of that name.
    pub(super) fn kept_unlisted(&self) -> Vec<&str> {
        let outputs = self.outputs();
        let mut kept: Vec<&str> = Vec::new();
        for name in [self.text("stdout"), self.stderr(), self.text("gmlog")] {
            let is_known = kept.contains(&name) || outputs.iter().any(|it| it.name == name);
            if !name.is_empty() && !is_known {
                kept.push(name);
            }
        }
        kept
    }
}

/// An output file as it is listed.
pub(super) struct OutputFile<'a> {
    pub(super) name: &'a str,
    /// Where the cluster sends it, without options; empty: it stays.
    pub(super) url: String,
    pub(super) options: Vec<String>,
}

impl OutputFile<'_> {
    fn of(value: &Value) -> Option<OutputFile<'_>> {
        let (name, target, listed) = parts(value)?;
        let mut taken = source(target, name).unwrap_or_default();
        taken.options.extend(listed.into_iter().map(str::to_owned));
        let options = if taken.url.is_empty() { Vec::new() } else { taken.options };
        Some(OutputFile { name, url: taken.url, options })
    }
}

/// Name, place and options of a file that is listed.
pub(super) fn parts(value: &Value) -> Option<(&str, &str, Vec<&str>)> {
    let mut texts = texts(value);
    Some((texts.next()?, texts.next()?, texts.collect()))
}

pub(super) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let values = match value {
        Value::List(values) => values.as_slice(),
        Value::Text(_) => std::slice::from_ref(value),
    };
    values.iter().filter_map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        Value::List(_) => None,
    })
}
