//! From the JSON that others publish to our records: CRIC's queues, the network matrix, storage
//! space, nuclei, shares, parameters, quotas, software, replicas, slots, sites and members of a
//! pool, tables of jobs, things of a domain of a program's own; and from what clusters of ARC
//! publish (`arc`). Pure functions from text to events; the caller writes the events to the topics
//! they belong to.
//!
//! Unknown fields are ignored. A missing or wrong one is named with the thing and the field.
//! Figures of ATLAS's tables that mean nothing are not set, as PanDA has it; a thing with another
//! wrong field is left out, since a guess could send jobs where they cannot run, and the rest goes
//! on: what was published of it before still holds. Text that is not of the expected shape at all
//! is the one error.

pub mod arc;
mod cric;
mod domain_records;
mod field;
mod gdpconfig;
mod jobs;
mod members;
mod netmetrics;
mod nuclei;
mod pledges;
mod pool_sites;
mod pseudo;
mod quotas;
mod releases;
mod replicas;
mod services;
mod shares;
mod sites;
mod slots;
mod storage;
mod tables;

pub use cric::{Parents, cric, cric_with};
pub use domain_records::domain_records;
pub use gdpconfig::gdpconfig;
pub use jobs::{JobRecord, jobs, jobs_with};
pub use members::members;
pub use netmetrics::netmetrics;
pub use nuclei::{NUCLEI_TIER2, nuclei, nuclei_from_cric};
pub use pool_sites::pool_sites;
pub use pseudo::{RESOURCE_TYPES, ResourceType, resource_types};
pub use quotas::quotas;
pub use releases::releases;
pub use replicas::replicas;
pub use shares::shares;
pub use sites::Sites;
pub use slots::{SlotRow, slots};
pub use storage::storage;
pub use tables::Tables;

use crate::loose;
use serde_json::{Map, Value};
use yardmaster_core::event::Configuration;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Records for the configuration topics, in the order of their names.
    pub records: Vec<Configuration>,
    /// Missing and wrong values, each with the thing and the field.
    pub complaints: Vec<String>,
    /// Notes for the operator: rules that filled gaps, and how often.
    pub notes: Vec<String>,
    /// Things with a wrong value, which were left out.
    pub unreadable: usize,
    /// Those of them whose key is not known either: while there are any, nothing is known to be
    /// gone.
    pub unnamed: usize,
    /// Keys of records that the text names and says too little of: what was published under them
    /// before still holds.
    pub left_out: Vec<String>,
}

impl Imported {
    /// A thing cannot be used: its key, if that is known, and why.
    fn leave_out(&mut self, key: Option<String>, complaint: String) {
        self.complaints.push(complaint);
        self.note_left_out(key);
    }

    fn note_left_out(&mut self, key: Option<String>) {
        self.unreadable += 1;
        match key {
            Some(key) => self.left_out.push(key),
            None => self.unnamed += 1,
        }
    }
}

fn parse(text: &str) -> Result<Value, serde_json::Error> {
    loose::read(text.as_bytes(), |bytes| serde_json::from_slice(bytes))
}

/// The list a text holds, else an error with what was found.
fn list(what: &str, text: &str) -> Result<Vec<Value>, String> {
    match parse(text) {
        Ok(Value::Array(list)) => Ok(list),
        Ok(other) => Err(format!("{what}: found {}, wants a JSON list", field::show(&other))),
        Err(error) => Err(format!("{what}: not JSON: {error}")),
    }
}

/// A list, or one object a line.
fn rows(what: &str, text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
        return list(what, text);
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let wants = "wants a JSON list, or a JSON object on each line";
        parse(line).map_err(|error| format!("{what}: line {number}: {error}; {wants}"))
    };
    lines.map(read).collect()
}

/// A row with its columns in small letters; a database gives them in capitals.
fn lower(row: &Value) -> Value {
    match row {
        Value::Object(row) => {
            let columns =
                row.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
            Value::Object(columns.collect())
        }
        other => other.clone(),
    }
}

/// The things that a text holds by their names: an object of them, a list of objects that have
/// their names, or one such object alone, as pilots keep that of their queue. Else an error with
/// what was found.
fn object(what: &str, text: &str) -> Result<Map<String, Value>, String> {
    match parse(text) {
        Ok(Value::Object(object)) => Ok(match name_of(&object).map(str::to_owned) {
            Some(name) => Map::from_iter([(name, Value::Object(object))]),
            None => object,
        }),
        Ok(Value::Array(list)) => list.into_iter().map(|thing| named(what, thing)).collect(),
        Ok(other) => Err(format!(
            "{what}: found {}, wants a JSON object, or a list of objects with a `name` each",
            field::show(&other)
        )),
        Err(error) => Err(format!("{what}: not JSON: {error}")),
    }
}

fn named(what: &str, thing: Value) -> Result<(String, Value), String> {
    match thing.as_object().and_then(name_of) {
        Some(name) => Ok((name.to_owned(), thing)),
        None => Err(format!("{what}: in the list: found {}, wants a `name`", field::show(&thing))),
    }
}

/// The name that a thing states of itself.
fn name_of(thing: &Map<String, Value>) -> Option<&str> {
    let names = ["name", "nickname", "panda_resource"];
    let stated = names.iter().find_map(|field| thing.get(*field)?.as_str());
    stated.filter(|name| !name.is_empty())
}
