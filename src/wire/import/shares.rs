//! The tree of global shares: rows of PanDA's GLOBAL_SHARES (spec atlas 10.1).

use super::field::Fields;
use super::{Imported, list, lower};
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Share};
use yardmaster_core::judge::share::Tree;
use yardmaster_core::math::pattern::Pattern;
use yardmaster_core::unit::Millis;

/// Share records from a JSON list of rows, columns in any case: name, value, parent,
/// prodsourcelabel, workinggroup, campaign, processingtype, transpath, rtype, vo, queue_id,
/// throttled. The order of the rows is the order of siblings, and the list is the whole tree: a row
/// whose parents do not lead to the root is named and left out.
pub fn shares(text: &str, now: Millis) -> Result<Imported, String> {
    Ok(tree(&list("shares", text)?, now))
}

/// The same of rows that were read already.
pub(super) fn tree(rows: &[Value], now: Millis) -> Imported {
    let mut imported = Imported::default();
    let mut shares: Vec<Share> = Vec::new();
    let mut siblings: BTreeMap<String, u32> = BTreeMap::new();
    for (at, row) in rows.iter().map(lower).enumerate() {
        let name = row.get("name").and_then(Value::as_str).unwrap_or("");
        let thing = if name.is_empty() {
            format!("share number {}", at + 1)
        } else {
            format!("share {name}")
        };
        let Some(mut fields) = Fields::of(thing, None, &row, &mut imported) else { continue };
        if shares.iter().any(|share| share.name == name) {
            fields.wrong("name", &Value::from(name), "a name that no row above has");
        }
        let mut share = share(&mut fields, now);
        if fields.is_left_out_by(|| name.to_owned()) {
            continue;
        }
        let position = siblings.entry(share.parent.clone()).or_default();
        share.position = *position;
        *position += 1;
        shares.push(share);
    }
    let strays = Tree::new(&shares).strays;
    for share in &shares {
        if strays.contains(&share.name) {
            let complaint = format!(
                "share {}: field `parent`: found {:?}, wants a row whose parents lead to the root, \
                 or nothing; left out",
                share.name, share.parent
            );
            imported.leave_out(Some(share.name.clone()), complaint);
        }
    }
    shares.retain(|share| !strays.contains(&share.name));
    imported.notes.push(format!("{} of {} shares", shares.len(), rows.len()));
    imported.records = shares.into_iter().map(Configuration::from).collect();
    imported
}

fn share(fields: &mut Fields<'_>, now: Millis) -> Share {
    Share {
        name: fields.needed("name").to_owned(),
        changed_at: now,
        parent: fields.text_if_set("parent").unwrap_or_default(),
        value: fields.weight("value"),
        label: pattern(fields, "prodsourcelabel"),
        working_group: pattern(fields, "workinggroup"),
        campaign: pattern(fields, "campaign"),
        processing_type: pattern(fields, "processingtype"),
        trans_path: pattern(fields, "transpath"),
        resource_type: pattern(fields, "rtype"),
        vo: fields.text_if_set("vo").unwrap_or_default(),
        queue_id: fields.amount(&["queue_id"]),
        throttled: throttled(fields),
        ..Share::default()
    }
}

/// An expression; one that cannot be read would match nothing, so its share is left out.
fn pattern(fields: &mut Fields<'_>, field: &str) -> Option<String> {
    let text = fields.text_if_set(field).filter(|text| !text.is_empty())?;
    if Pattern::new(&text).is_none() {
        fields.wrong(field, &Value::from(text.as_str()), "an expression");
    }
    Some(text)
}

/// Whether PanDA limits how many jobs it makes for a share: unless the column is `N`. Where there
/// is no such column, it does not.
fn throttled(fields: &Fields<'_>) -> bool {
    match fields.field("throttled") {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(value) => !value.as_str().is_some_and(|word| word.eq_ignore_ascii_case("n")),
    }
}
