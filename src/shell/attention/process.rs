//! Troubles of the process itself as items.

use super::{ALIKE_MAX, Item, Severity};
use crate::trouble::{ACT, Trouble};
use std::collections::BTreeMap;

/// Items of the troubles of a process, which are dated by the clock of its computer.
pub fn process_items(troubles: &[Trouble]) -> Vec<Item> {
    let (topics, mut items): (Vec<Item>, Vec<Item>) =
        troubles.iter().map(item).partition(|it| it.kind == "topic");
    let mut alike: BTreeMap<(Severity, String), Vec<Item>> = BTreeMap::new();
    for item in topics {
        alike.entry((item.severity, item.title.clone())).or_default().push(item);
    }
    items.extend(alike.into_values().flat_map(joined));
    items
}

/// Topics with the same trouble; as one item where they are too many to be read.
fn joined(all: Vec<Item>) -> Vec<Item> {
    let Some(first) = all.first().filter(|_| all.len() > ALIKE_MAX) else { return all };
    let names: Vec<String> = all.iter().map(|it| it.name.clone()).collect();
    let item = Item {
        title: format!("{}: {} topics", first.title, all.len()),
        text: format!("{}. {}", names.join(", "), first.text),
        since: all.iter().filter_map(|it| it.since).min(),
        count: all.len() as u64,
        names,
        ..first.clone()
    };
    vec![item]
}

fn item(trouble: &Trouble) -> Item {
    let (rule, title) = match trouble.rule.as_str() {
        "stuck" => ("stuck", "A partition cannot be read on"),
        "stale" => ("stale", "Facts are too old"),
        "absent" => ("stale", "Facts never came"),
        _ if trouble.keeps_from_ready => ("process", "The process is not ready"),
        _ => ("process", "The process is in trouble"),
    };
    let mut words = trouble.text.split([' ', ':', '[']);
    let is_topic = trouble.rule == "stale" || trouble.rule == "absent";
    let name = match rule {
        "stale" if is_topic => words.nth(1),
        "stuck" => words.next(),
        _ => Some(trouble.rule.as_str()),
    };
    let severity = if trouble.severity == ACT { Severity::Act } else { Severity::Watch };
    Item {
        severity,
        rule,
        kind: if is_topic { "topic" } else { "process" },
        name: name.unwrap_or_default().to_owned(),
        names: Vec::new(),
        title: title.to_owned(),
        text: trouble.text.clone(),
        since: trouble.since,
        count: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::trouble;

    #[test]
    fn a_stale_topic_is_named_and_so_is_the_reason_why_a_process_is_not_ready() {
        let stale = trouble(ACT, "stale", "topic link is stale: nothing new".into(), false);
        let silent = trouble(ACT, "silent", "silent: the clock is wrong".into(), true);
        let items = process_items(&[silent, stale]);
        let [process, topic] = &items[..] else { panic!("{items:?}") };
        assert_eq!((topic.kind, topic.name.as_str(), topic.rule), ("topic", "link", "stale"));
        assert_eq!((process.kind, process.name.as_str()), ("process", "silent"));
        assert!(process.title.contains("not ready") && process.severity == Severity::Act);
        let many = ["job-state", "link", "pilot", "queue"];
        let many = many.map(|it| trouble(ACT, "stale", format!("topic {it} is stale: 9 d"), false));
        assert_eq!(process_items(&many[1..]).len(), 3);
        let items = process_items(&many);
        let [all] = &items[..] else { panic!("{items:?}") };
        assert_eq!((all.title.as_str(), all.count), ("Facts are too old: 4 topics", 4));
        assert_eq!(all.text, "job-state, link, pilot, queue. topic job-state is stale: 9 d");
    }
}
