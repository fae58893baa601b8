//! A configuration record that changed: its fields, before and after.

use super::ChangeView;
use serde_json::Value;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, each_configuration};
use yardmaster_core::unit::Millis;
use yardmaster_wire::json::record_json;

/// Topics of configuration whose changes are listed. What the others hold is measured again and
/// again (links, replicas, what is free for each user) or lists by the thousand (releases).
pub const KINDS: [Topic; 9] = [
    Topic::Queue,
    Topic::Site,
    Topic::Storage,
    Topic::Parameter,
    Topic::Share,
    Topic::Quota,
    Topic::User,
    Topic::Grant,
    Topic::Registration,
];

/// Fields that say when something was measured, or what was measured of late.
const MEASURED: [(Topic, &[&str]); 5] = [
    (Topic::Queue, &["batch.grid_queued_jobs", "batch.local_queued_jobs"]),
    (Topic::Site, &["cluster.cache_free_bytes", "slot_quota.revision"]),
    (Topic::Storage, &["total_bytes", "free_bytes", "expired_bytes", "unavailable_bytes"]),
    (Topic::Quota, &["used_bytes", "used_files"]),
    (Topic::User, &["past_usage_milli", "past_usage_at"]),
];

/// Fields that say whether a thing is in service.
const STATUS: [(Topic, &[&str]); 4] = [
    (Topic::Queue, &["status", "batch.status"]),
    (Topic::Site, &["active", "cluster.answered", "slot_quota.status"]),
    (Topic::Storage, &["read_lan", "write_lan", "read_wan", "write_wan"]),
    (Topic::Registration, &["status"]),
];

/// Whether changes of a topic are listed.
pub fn is_watched(topic: Topic) -> bool {
    KINDS.contains(&topic)
}

/// The changes from one record of a name to the next; `None`: there is none.
pub fn of_record(
    at: Millis,
    before: Option<&Configuration>,
    after: Option<&Configuration>,
) -> Vec<ChangeView> {
    let Some(record) = after.or(before) else { return Vec::new() };
    let (topic, subject) = (record.topic(), record.name());
    if is_of_ours(record) {
        return Vec::new();
    }
    let change = |field: &str, before: Option<&String>, after: Option<&String>| ChangeView {
        at,
        kind: kind_of(topic, field).into(),
        of: topic.name().into(),
        subject: subject.clone(),
        field: field.into(),
        before: before.cloned(),
        after: after.cloned(),
        text: text_of(topic, &subject, field, (before, after)),
    };
    let (before, after) = (before.map(fields), after.map(fields));
    match (before, after) {
        (Some(before), Some(after)) => {
            let names: std::collections::BTreeSet<&String> =
                before.keys().chain(after.keys()).collect();
            let differs = |name: &&&String| before.get(**name) != after.get(**name);
            let changed = names.iter().filter(differs);
            changed.map(|name| change(name, before.get(*name), after.get(*name))).collect()
        }
        (before, after) => {
            let all = |it: Option<BTreeMap<String, String>>| it.map(|it| summary(topic, &it));
            vec![change("", all(before).as_ref(), all(after).as_ref())]
        }
    }
}

/// Whether a parameter is a note of this program to itself.
fn is_of_ours(record: &Configuration) -> bool {
    let Configuration::Parameter(it) = record else { return false };
    it.app == "yardmaster" && matches!(&it.component[..], "intake" | "import")
}

fn listed(list: &[(Topic, &[&str])], topic: Topic, field: &str) -> bool {
    list.iter().any(|(of, fields)| *of == topic && fields.contains(&field))
}

fn kind_of(topic: Topic, field: &str) -> &'static str {
    match topic {
        _ if listed(&STATUS, topic, field) => "status",
        Topic::Parameter | Topic::Quota | Topic::Share | Topic::Grant => "limit",
        Topic::User if field.starts_with("cap_") => "limit",
        _ => "fact",
    }
}

/// The fields of a record as texts, without its name and what was measured.
fn fields(record: &Configuration) -> BTreeMap<String, String> {
    let topic = record.topic();
    macro_rules! shown {
        ($($kind:ident $field:ident,)*) => {
            match record { $(Configuration::$kind(it) => record_json(it),)* }
        };
    }
    let mut found = BTreeMap::new();
    flatten("", &each_configuration!(shown), &mut found);
    found.retain(|field, _| {
        !matches!(&field[..], "changed_at" | "name") && !listed(&MEASURED, topic, field)
    });
    found
}

fn flatten(name: &str, value: &Value, to: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Object(fields) => {
            let dot = if name.is_empty() { "" } else { "." };
            return fields.iter().for_each(|(it, value)| {
                flatten(&format!("{name}{dot}{it}"), value, to);
            });
        }
        Value::Null => return,
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            items.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    to.insert(name.to_owned(), text);
}

/// A thing that came or went in a few words: its status, or its value.
fn summary(topic: Topic, fields: &BTreeMap<String, String>) -> String {
    if topic == Topic::Site && !fields.contains_key("slot_quota.status") {
        let is_active = fields.get("active").is_some_and(|active| active == "true");
        return if is_active { "in service" } else { "out of service" }.to_owned();
    }
    let shown =
        ["status", "value", "slot_quota.status"].into_iter().find_map(|name| fields.get(name));
    shown.cloned().unwrap_or_else(|| "there".to_owned())
}

pub(super) fn text_of(
    topic: Topic,
    subject: &str,
    field: &str,
    (before, after): (Option<&String>, Option<&String>),
) -> String {
    let of = topic.name();
    let shown = |it: Option<&String>| match it.map(String::as_str) {
        None | Some("") => "nothing".to_owned(),
        Some(text) => text.to_owned(),
    };
    let (was, is) = (shown(before), shown(after));
    match (field, &is[..]) {
        ("", "nothing") if before.is_some() => format!("{of} {subject} went; it was {was}"),
        ("", _) => format!("{of} {subject} is new: {is}"),
        ("cluster.answered", "true") => format!("cluster {subject} answers again"),
        ("cluster.answered", _) => format!("cluster {subject} does not answer any more"),
        ("active", "true") => format!("{of} {subject} is in service"),
        ("active", _) => format!("{of} {subject} is out of service"),
        ("status" | "batch.status" | "slot_quota.status", _) => {
            format!("{of} {subject} is {is}; it was {was}")
        }
        ("read_lan" | "write_lan" | "read_wan" | "write_wan", _) => {
            let (what, over) = field.split_once('_').unwrap_or((field, ""));
            let what = if what == "read" { "reading" } else { "writing" };
            let over = over.to_uppercase();
            let how = if is == "true" { "is allowed" } else { "is not allowed any more" };
            format!("{of} {subject}: {what} over the {over} {how}")
        }
        ("value", _) => format!("{of} {subject} is {is}; it was {was}"),
        _ => format!("{of} {subject}: {field} is {is}; it was {was}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::event::{ClusterFacts, Parameter, Queue, QueueStatus, Site};

    fn texts(before: Configuration, after: Configuration) -> Vec<(String, String)> {
        let changes = of_record(7, Some(&before), Some(&after));
        changes.into_iter().map(|it| (it.kind, it.text)).collect()
    }

    #[test]
    fn each_field_that_differs_is_one_change_and_measurements_are_none() {
        let before = Queue {
            name: "oak".into(),
            changed_at: 1,
            max_rss_mb: 2_000,
            releases: vec!["a".into()],
            ..Queue::default()
        };
        let after = Queue {
            changed_at: 2,
            status: QueueStatus::Brokeroff,
            max_rss_mb: 3_000,
            releases: vec!["a".into(), "b".into()],
            ..before.clone()
        };
        let expected = [
            ("fact", "queue oak: max_rss_mb is 3000; it was 2000"),
            ("fact", "queue oak: releases is a, b; it was a"),
            ("status", "queue oak is brokeroff; it was online"),
        ];
        let found = texts(before.clone().into(), after.into());
        let found: Vec<(&str, &str)> =
            found.iter().map(|(kind, text)| (&kind[..], &text[..])).collect();
        assert_eq!(found, expected);
        assert_eq!(texts(before.clone().into(), Queue { changed_at: 9, ..before }.into()), []);
    }

    #[test]
    fn what_comes_and_goes_and_answers_is_a_sentence() {
        let site = |answered| -> Configuration {
            let cluster = Some(ClusterFacts { answered, ..ClusterFacts::default() });
            Site { name: "elm".into(), cluster, active: true, ..Site::default() }.into()
        };
        let text =
            |changes: Vec<ChangeView>| changes.into_iter().map(|it| it.text).collect::<Vec<_>>();
        let silent = text(of_record(7, Some(&site(true)), Some(&site(false))));
        assert_eq!(silent, ["cluster elm does not answer any more"]);
        assert_eq!(
            text(of_record(7, Some(&site(true)), None)),
            ["site elm went; it was in service"]
        );
        let parameter = |app: &str, component: &str| -> Configuration {
            let (app, component, value) = (app.into(), component.into(), "5".into());
            Parameter { app, component, key: "k".into(), value, ..Parameter::default() }.into()
        };
        let new = text(of_record(7, None, Some(&parameter("jedi", "jobbroker"))));
        assert_eq!(new, ["parameter jedi/jobbroker/k/ is new: 5"]);
        assert_eq!(text(of_record(7, None, Some(&parameter("yardmaster", "import")))), [""; 0]);
    }
}
