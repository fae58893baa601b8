//! From the JSON that others publish to our records: CRIC's queues, the network matrix, storage
//! space, nuclei, shares, parameters, quotas, software, replicas, slots, tables of jobs, things of
//! a domain of a program's own. Pure functions from text to events; the caller writes the events
//! to the topics they belong to.
//!
//! Unknown fields are ignored. A missing or wrong one is named with the thing and the field; a
//! thing with a wrong field is left out, since a guess could send jobs where they cannot run, and
//! the rest goes on. Text that is not of the expected shape at all is the one error.

mod cric;
mod domain_records;
mod field;
mod gdpconfig;
mod jobs;
mod netmetrics;
mod nuclei;
mod pseudo;
mod quotas;
mod releases;
mod replicas;
mod shares;
mod sites;
mod slots;
mod storage;
mod tables;

pub use cric::cric;
pub use domain_records::domain_records;
pub use gdpconfig::gdpconfig;
pub use jobs::{JobRecord, jobs, jobs_with};
pub use netmetrics::netmetrics;
pub use nuclei::{NUCLEI_TIER2, nuclei, nuclei_from_cric};
pub use pseudo::expand;
pub use pseudo::{RESOURCE_TYPES, ResourceType};
pub use quotas::quotas;
pub use releases::releases;
pub use replicas::replicas;
pub use shares::shares;
pub use sites::Sites;
pub use slots::{SlotRow, slots};
pub use storage::storage;
pub use tables::Tables;

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
}

/// The list a text holds, else an error with what was found.
fn list(what: &str, text: &str) -> Result<Vec<Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => Ok(list),
        Ok(other) => Err(format!("{what}: found {}, wants a JSON list", field::show(&other))),
        Err(error) => Err(format!("{what}: not JSON: {error}")),
    }
}

/// A list, or one object a line.
fn rows(what: &str, text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with('[') {
        return list(what, text);
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let wants = "wants a JSON list, or a JSON object on each line";
        serde_json::from_str(line)
            .map_err(|error| format!("{what}: line {number}: {error}; {wants}"))
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

/// The object a text holds, else an error with what was found.
fn object(what: &str, text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(format!("{what}: found {}, wants a JSON object", field::show(&other))),
        Err(error) => Err(format!("{what}: not JSON: {error}")),
    }
}
