//! Things of a domain that a program of its own brings, with the fields of `domain-record`.

use super::{Imported, rows};
use crate::avro::{HEADER_BYTES, from_json};
use crate::record;
use serde_json::Value;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, DomainRecord, domain_record_name};
use yardmaster_core::unit::Millis;

/// Records from a JSON list, or JSON lines, of `{kind, name, changed_at, values}`. One that does
/// not state when it was changed was changed now.
pub fn domain_records(text: &str, now: Millis) -> Result<Imported, String> {
    let rows = rows("domain records", text)?;
    let mut imported = Imported::default();
    for (at, row) in rows.iter().enumerate() {
        match domain_record(row.clone(), now) {
            Ok(record) => imported.records.push(record.into()),
            Err(why) => {
                let word = |field: &str| row[field].as_str().unwrap_or("");
                let thing = match word("name") {
                    "" => format!("domain record number {}", at + 1),
                    name => format!("domain record {} {name}", word("kind")),
                };
                let [kind, name] = ["kind", "name"].map(word);
                let is_known = !kind.is_empty() && !name.is_empty();
                let key = is_known.then(|| domain_record_name(kind, name));
                imported.leave_out(key, format!("{thing}: {why}; left out"));
            }
        }
    }
    imported.records.sort_by_key(Configuration::name);
    imported.notes.push(format!("{} of {} domain records", imported.records.len(), rows.len()));
    Ok(imported)
}

fn domain_record(mut row: Value, now: Millis) -> Result<DomainRecord, String> {
    if let Some(fields) = row.as_object_mut() {
        fields.entry("changed_at").or_insert(now.into());
    }
    let bytes = from_json(Topic::DomainRecord, &row).map_err(|fault| fault.to_string())?;
    let read: Result<DomainRecord, _> = record::read(&bytes[HEADER_BYTES..]);
    let record = read.map_err(|fault| format!("{fault:?}"))?;
    match record.kind.is_empty() || record.kind.contains('|') || record.name.is_empty() {
        true => Err("wants a kind without a `|`, and a name".to_owned()),
        false => Ok(record),
    }
}
