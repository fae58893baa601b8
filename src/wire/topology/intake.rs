//! Intake as the topology file gives it: foreign topics with their dialect, and sites of RSEs.

use super::read::{Reader, Value};
use super::topic::is_topic_name;
use crate::wire::dialect::Dialect;
use std::collections::BTreeMap;
use toml::de::DeTable;

/// What intake reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeSettings {
    /// Whether the process that leads does it too, beside its loop.
    pub in_run: bool,
    /// Foreign topics, by their name on the bus.
    pub sources: BTreeMap<String, Dialect>,
    /// Site of an RSE, where the storage facts do not have it, or have it wrong.
    pub sites: BTreeMap<String, String>,
}

/// Reads `[intake]`; a file without it has none.
pub(super) fn intake(reader: &mut Reader, value: Option<&Value<'_>>) -> IntakeSettings {
    let mut found = IntakeSettings::default();
    let Some(value) = value else { return found };
    let line = reader.line(&value.span());
    let Some(table) = reader.table(value, "intake") else { return found };
    reader.only(table, "[intake]", &["in_run", "source", "sites"]);
    if let Some(value) = table.get("in_run") {
        match value.get_ref().as_bool() {
            Some(flag) => found.in_run = flag,
            None => reader.complain_at(value, "intake.in_run", "true or false"),
        }
    }
    if let Some(sites) = table.get("sites").and_then(|value| reader.table(value, "intake.sites")) {
        for (rse, site) in sites {
            let at = format!("intake.sites.{}", rse.get_ref());
            if let Some(site) = reader.text(site, &at, "the name of a site", |it| !it.is_empty()) {
                found.sites.insert(rse.get_ref().to_string(), site.to_owned());
            }
        }
    }
    match table.get("source").map(|value| (value, value.get_ref().as_array())) {
        Some((_, Some(list))) => list.iter().for_each(|value| source(reader, value, &mut found)),
        Some((value, None)) => {
            let allowed = "a list of tables, each headed [[intake.source]]";
            reader.complain_at(value, "intake.source", allowed);
        }
        None if found.in_run => {
            reader.complain(line, "no [[intake.source]]", "at least one where in_run is true");
        }
        None => {}
    }
    found
}

fn source(reader: &mut Reader, value: &Value<'_>, found: &mut IntakeSettings) {
    let Some(table) = reader.table(value, "intake.source") else { return };
    reader.only(table, "[[intake.source]]", &["topic", "dialect"]);
    let line = reader.line(&value.span());
    let name = needed(reader, table, "topic", line).and_then(|value| {
        let allowed = "1 to 249 of the letters a-z, A-Z, 0-9, `.`, `_` and `-`";
        reader.text(value, "intake.source.topic", allowed, is_topic_name)
    });
    let words = Dialect::ALL.map(|dialect| (dialect.name(), dialect));
    let dialect = needed(reader, table, "dialect", line)
        .and_then(|value| reader.word(value, "intake.source.dialect", &words));
    let (Some(name), Some(dialect)) = (name, dialect) else { return };
    if found.sources.insert(name.to_owned(), dialect).is_some() {
        reader.complain(line, format!("a second source {name:?}"), "each topic once");
    }
}

fn needed<'a, 'i>(
    reader: &mut Reader,
    table: &'a DeTable<'i>,
    key: &str,
    line: usize,
) -> Option<&'a Value<'i>> {
    let value = table.get(key);
    if value.is_none() {
        reader.complain(line, format!("no `{key}` in [[intake.source]]"), "a source that has it");
    }
    value
}
