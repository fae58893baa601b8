//! Quotas: limits on storage by user or group, and what is used of them.

use super::field::Fields;
use super::{Imported, list, lower};
use serde_json::Value;
use std::collections::BTreeSet;
use yardmaster_core::event::{Configuration, Configured, Quota, QuotaKind};
use yardmaster_core::unit::Millis;

/// Quota records from a JSON list: whose (`account`, `user` or `group`), where (`rse_expression` or
/// `endpoint`), the limit (`bytes_limit` or `limit_bytes`; none, below 0 or `Infinity`: no limit),
/// and what is used (`used_bytes`, `used_files`).
pub fn quotas(text: &str, now: Millis) -> Result<Imported, String> {
    let rows = list("quotas", text)?;
    let (mut imported, mut seen) = (Imported::default(), BTreeSet::new());
    for (at, row) in rows.iter().map(lower).enumerate() {
        let first_set = |names: &[&'static str]| names.iter().copied().find(|it| is_set(&row, it));
        let subject = first_set(&["account", "user", "group"]);
        let place = first_set(&["rse_expression", "endpoint"]);
        let word = |field: Option<&str>| field.and_then(|it| row[it].as_str()).unwrap_or("");
        let thing = match (word(subject), word(place)) {
            ("", _) => format!("quota number {}", at + 1),
            (subject, "") => format!("quota of {subject}"),
            (subject, place) => format!("quota of {subject} at {place}"),
        };
        let Some(mut fields) = Fields::of(thing, None, &row, &mut imported) else { continue };
        let limit = first_set(&["bytes_limit", "limit_bytes"]);
        let quota = Quota {
            kind: if subject == Some("group") { QuotaKind::Group } else { QuotaKind::User },
            subject: fields.needed(subject.unwrap_or("account")).to_owned(),
            expression: fields.needed(place.unwrap_or("rse_expression")).to_owned(),
            changed_at: now,
            limit_bytes: limit.and_then(|field| limit_of(&mut fields, field)),
            used_bytes: amount(&mut fields, "used_bytes"),
            used_files: amount(&mut fields, "used_files"),
        };
        if fields.is_left_out_by(|| quota.name()) {
            continue;
        }
        if !seen.insert(quota.name()) {
            let found = Value::from(quota.subject.as_str());
            fields.wrong(subject.unwrap_or("account"), &found, "one quota for one place");
            continue;
        }
        imported.records.push(Configuration::Quota(quota));
    }
    imported.notes.push(format!("{} of {} quotas", imported.records.len(), rows.len()));
    Ok(imported)
}

fn is_set(row: &Value, field: &str) -> bool {
    row.get(field).is_some_and(|value| !value.is_null())
}

fn amount(fields: &mut Fields<'_>, field: &str) -> u64 {
    fields.whole_if_set(field, 0..=i64::MAX).unwrap_or(0).unsigned_abs()
}

fn limit_of(fields: &mut Fields<'_>, field: &str) -> Option<u64> {
    if let Some(Value::String(word)) = fields.deep(&[field])
        && ["inf", "infinity"].iter().any(|none| word.trim().eq_ignore_ascii_case(none))
    {
        return None;
    }
    let limit = fields.whole_if_set(field, i64::MIN..=i64::MAX)?;
    u64::try_from(limit).ok()
}
