//! The network matrix: what is measured from site to site (JSON by `source:destination`).

use super::field::Fields;
use super::{Imported, object};
use crate::{loose, stamp};
use yardmaster_core::event::{Configuration, Configured, Link, LinkQueued};
use yardmaster_core::unit::Millis;

/// Link records from a network matrix. Each takes the newest of its own time stamps as its change
/// time, `now` where it has none. Throughput is in MB/s, as the brokerage reads it. What waits is
/// published for links on which something does: where the dump has such figures at all, a link
/// without them has an empty queue.
pub fn netmetrics(text: &str, now: Millis) -> Result<Imported, String> {
    let dump = object("network matrix", text)?;
    let queued_known = dump.values().any(|link| link["files"].get("queued").is_some());
    let mut imported = Imported::default();
    for (name, value) in &dump {
        let thing = format!("link {name}");
        let Some(mut fields) = Fields::of(thing, None, value, &mut imported) else { continue };
        let link = link(&mut fields, now, queued_known);
        if !fields.is_left_out_by(|| link.name()) {
            imported.records.push(Configuration::Link(link));
        }
    }
    let read = imported.records.len();
    imported.notes.push(format!("{read} of {} links", dump.len()));
    Ok(imported)
}

fn link(fields: &mut Fields<'_>, now: Millis, queued_known: bool) -> Link {
    let mut newest = None;
    let closeness = fields.whole_at(&["closeness", "latest"], -1..=11).map(|c| c as i32);
    note_stamp(fields, &["closeness", "timestamp"], &mut newest);
    let mut mbps = |span: &str| rate(fields, &["mbps", "dashb", span]);
    let (mbps_1h, mbps_1d, mbps_1w) = (mbps("1h"), mbps("1d"), mbps("1w"));
    note_stamp(fields, &["mbps", "dashb", "timestamp"], &mut newest);
    let queued = queued(fields, &mut newest);
    Link {
        source: fields.needed("src").to_string(),
        destination: fields.needed("dst").to_string(),
        changed_at: newest.unwrap_or(now),
        closeness,
        mbps_1h,
        mbps_1d,
        mbps_1w,
        queued,
        queued_known,
    }
}

/// Queued files by activity, with bytes where they are stated.
fn queued(fields: &mut Fields<'_>, newest: &mut Option<Millis>) -> Vec<LinkQueued> {
    let Some(files) = fields.deep(&["files", "queued"]) else { return Vec::new() };
    let Some(files) = files.as_object() else {
        fields.wrong("files.queued", files, "an object by activity");
        return Vec::new();
    };
    let mut queued = Vec::new();
    for activity in files.keys() {
        let waiting = fields.whole_at(&["files", "queued", activity, "latest"], 0..=i64::MAX);
        let bytes = fields.amount(&["bytes", "queued", activity, "latest"]);
        note_stamp(fields, &["files", "queued", activity, "timestamp"], newest);
        queued.push(LinkQueued {
            activity: activity.clone(),
            files: waiting.unwrap_or(0) as u64,
            bytes,
        });
    }
    queued
}

fn rate(fields: &mut Fields<'_>, path: &[&str]) -> Option<f64> {
    let value = fields.deep(path)?;
    let number = loose::number_in(value).filter(|number| *number >= 0.0);
    if number.is_none() {
        fields.wrong(&path.join("."), value, "a number of MB/s, 0 or more");
    }
    number
}

fn note_stamp(fields: &mut Fields<'_>, path: &[&str], newest: &mut Option<Millis>) {
    let Some(value) = fields.deep(path) else { return };
    match value.as_str().and_then(stamp::parse) {
        Some(at) => *newest = Some(newest.map_or(at, |newest| newest.max(at))),
        None => fields.wrong(&path.join("."), value, "a time such as \"2024-08-08T12:35:16\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_in_a_complaint() {
        let value = serde_json::json!({"closeness": {"latest": 12}});
        let mut imported = Imported::default();
        let mut fields =
            Fields::of("link A:B".to_string(), None, &value, &mut imported).expect("map");
        assert_eq!(fields.whole_at(&["closeness", "latest"], -1..=11), None);
        let complaint =
            "link A:B: field `closeness.latest`: found 12, wants a whole number -1..=11";
        assert_eq!(imported.complaints, [format!("{complaint}; left out")]);
    }
}
