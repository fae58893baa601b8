//! Reading TOML with places: every value knows its line, and every mistake is kept.

use super::complaint::{Complaint, one_of};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use yardmaster_core::policy::Arg;

/// A value with its place.
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// Reads one file and collects all that is wrong with it.
pub(super) struct Reader {
    file: String,
    line_starts: Vec<usize>,
    complaints: Vec<Complaint>,
}

impl Reader {
    /// A reader of a file's text.
    pub(super) fn new(file: &str, text: &str) -> Reader {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Reader { file: file.to_string(), line_starts, complaints: Vec::new() }
    }

    /// The line a place lies in, from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.line_starts.partition_point(|start| *start <= span.start).max(1)
    }

    /// Keeps a mistake.
    pub(super) fn complain(
        &mut self,
        line: usize,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) {
        let (found, allowed) = (found.into(), allowed.into());
        self.complaints.push(Complaint { file: self.file.clone(), line, found, allowed });
    }

    /// Keeps a mistake at a value.
    pub(super) fn complain_at(&mut self, value: &Value<'_>, key: &str, allowed: impl Into<String>) {
        let line = self.line(&value.span());
        self.complain(line, format!("{key} = {}", show(value.get_ref())), allowed);
    }

    /// Everything that was wrong, in the order of the file, each thing once.
    pub(super) fn finish(mut self) -> Vec<Complaint> {
        self.complaints.sort_by_key(|complaint| complaint.line);
        self.complaints.dedup();
        self.complaints
    }

    /// Names the keys of a table that are not read.
    pub(super) fn only(&mut self, table: &DeTable<'_>, place: &str, known: &[&str]) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let line = self.line(&key.span());
                self.complain(line, format!("`{name}` in {place}"), one_of(name, known));
            }
        }
    }

    /// A table, or nothing and a complaint.
    pub(super) fn table<'a, 'i>(
        &mut self,
        value: &'a Value<'i>,
        key: &str,
    ) -> Option<&'a DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.complain_at(value, key, "a table");
        }
        table
    }

    /// A whole number within a range.
    pub(super) fn int(
        &mut self,
        value: &Value<'_>,
        key: &str,
        range: RangeInclusive<i64>,
    ) -> Option<i64> {
        let number = whole(value.get_ref()).filter(|number| range.contains(number));
        if number.is_none() {
            let (from, to) = (range.start(), range.end());
            self.complain_at(value, key, format!("a whole number {from}..={to}"));
        }
        number
    }

    /// Text that a test accepts.
    pub(super) fn text<'a>(
        &mut self,
        value: &'a Value<'_>,
        key: &str,
        allowed: &str,
        accepts: fn(&str) -> bool,
    ) -> Option<&'a str> {
        let text = value.get_ref().as_str().filter(|text| accepts(text));
        if text.is_none() {
            self.complain_at(value, key, allowed);
        }
        text
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let found = value.get_ref().as_str().unwrap_or("");
        let meant = words.iter().find(|(word, _)| *word == found).map(|(_, meaning)| *meaning);
        if meant.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.complain_at(value, key, one_of(found, &known));
        }
        meant
    }

    /// A value for a parameter: a number, a flag, a word or a list of names.
    pub(super) fn arg(&mut self, value: &Value<'_>, key: &str) -> Option<Arg> {
        let arg = match value.get_ref() {
            DeValue::Integer(_) => whole(value.get_ref()).map(Arg::Int),
            DeValue::Float(float) => {
                let number: Option<f64> = plain(float.as_str()).parse().ok();
                number.filter(|number| number.is_finite()).map(Arg::Float)
            }
            DeValue::Boolean(flag) => Some(Arg::Bool(*flag)),
            DeValue::String(text) => Some(Arg::Text(text.to_string())),
            DeValue::Array(names) => {
                let name = |it: &Value<'_>| it.get_ref().as_str().map(str::to_owned);
                names.iter().map(name).collect::<Option<Vec<String>>>().map(Arg::List)
            }
            DeValue::Datetime(_) | DeValue::Table(_) => None,
        };
        if arg.is_none() {
            self.complain_at(
                value,
                key,
                "a finite number, true, false, a word, or a list of names",
            );
        }
        arg
    }
}

/// A TOML number without the underscores it may be written with.
fn plain(number: &str) -> String {
    number.replace('_', "")
}

fn whole(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(&plain(integer.as_str()), integer.radix()).ok()
}

/// A value as the file has it, shortened.
pub(super) fn show(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(_) => "a list".to_string(),
        DeValue::Table(_) => "a table".to_string(),
    }
}
