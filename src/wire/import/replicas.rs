//! Where datasets lie, from Rucio's list of dataset replicas.

use super::field::Fields;
use super::{Imported, rows};
use serde_json::Value;
use std::collections::BTreeSet;
use yardmaster_core::event::{
    Configuration, Configured, DataKind, Location, Replica, ReplicaState,
};
use yardmaster_core::unit::Millis;

/// Replica records from a JSON list, or JSON lines, of `{scope, name, rse, length, bytes,
/// available_length, available_bytes, state}`: one for each dataset at each RSE. A copy is whole if
/// as many files are available as the dataset has; where lengths are not stated, if its state is
/// `AVAILABLE`. The list is taken to be true now: `updated_at` says when a copy changed, not until
/// when that was so.
pub fn replicas(text: &str, now: Millis) -> Result<Imported, String> {
    let rows = rows("replicas", text)?;
    let (mut imported, mut seen) = (Imported::default(), BTreeSet::new());
    for (at, row) in rows.iter().enumerate() {
        let word = |field: &str| row[field].as_str().unwrap_or("");
        let thing = match (word("name"), word("rse")) {
            ("", _) => format!("replica number {}", at + 1),
            (name, "") => format!("replica of {name}"),
            (name, rse) => format!("replica of {name} at {rse}"),
        };
        let Some(mut fields) = Fields::of(thing, None, row, &mut imported) else { continue };
        let replica = replica(&mut fields, now);
        if fields.is_left_out_by(|| replica.name()) {
            continue;
        }
        if !seen.insert(replica.name()) {
            let found = Value::from(replica.endpoint.as_str());
            fields.wrong("rse", &found, "one object for a dataset at an RSE");
            continue;
        }
        imported.records.push(Configuration::Replica(replica));
    }
    imported.records.sort_by_key(Configuration::name);
    imported.notes.push(format!("{} of {} replicas", imported.records.len(), rows.len()));
    Ok(imported)
}

fn replica(fields: &mut Fields<'_>, now: Millis) -> Replica {
    let whole = |fields: &mut Fields<'_>, field: &str| {
        fields.whole_if_set(field, 0..=i64::MAX).map(i64::unsigned_abs)
    };
    let scope = fields.text_if_set("scope").unwrap_or_default();
    let name = fields.needed("name").to_owned();
    let endpoint = fields.needed("rse").to_owned();
    let [length, bytes, there, bytes_there] =
        ["length", "bytes", "available_length", "available_bytes"].map(|it| whole(fields, it));
    let state = fields.text_if_set("state").unwrap_or_else(|| "AVAILABLE".to_owned());
    let state = state.to_ascii_uppercase();
    let is_available = matches!(state.as_str(), "AVAILABLE" | "A");
    let complete = match (length.filter(|length| *length > 0), there) {
        (Some(length), Some(there)) => there >= length,
        _ => is_available,
    };
    let location = Location {
        endpoint: endpoint.clone(),
        files: there.or(length.filter(|_| complete)).unwrap_or(0),
        bytes: bytes_there.or(bytes.filter(|_| complete)).unwrap_or(0),
        complete,
        tape: false,
        cache: false,
        state: ReplicaState::Available,
    };
    Replica {
        name: match name.strip_prefix(&*scope) {
            _ if scope.is_empty() => name,
            Some(rest) if rest.starts_with(':') => name,
            _ => format!("{scope}:{name}"),
        },
        changed_at: now,
        kind: DataKind::Dataset,
        dataset: String::new(),
        bytes: bytes.unwrap_or(0),
        files: length.unwrap_or(0),
        checksum: String::new(),
        locations: if location.files > 0 || complete { vec![location] } else { Vec::new() },
        endpoint,
    }
}
