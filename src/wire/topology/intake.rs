//! Intake as the topology file gives it: foreign topics with their dialect, and sites of RSEs.

use super::read::{Reader, Value};
use super::topic::is_topic_name;
use crate::dialect::Dialect;
use std::collections::{BTreeMap, BTreeSet};
use toml::de::DeTable;

/// Sources and settings of intake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeSettings {
    /// Whether the process that leads does it too, beside its loop.
    pub in_run: bool,
    /// Foreign topics, by their name on the bus.
    pub sources: BTreeMap<String, Dialect>,
    /// Those of the sources that are Avro in Confluent framing; the others are JSON.
    pub framed: BTreeSet<String>,
    /// Site of an RSE, where the storage facts do not have it, or have it wrong.
    pub sites: BTreeMap<String, String>,
}

/// Reads `[intake]`; a file without it has none.
pub(super) fn intake(
    reader: &mut Reader,
    value: Option<&Value<'_>>,
    has_registry: bool,
) -> IntakeSettings {
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
        Some((_, Some(list))) => {
            list.iter().for_each(|value| source(reader, value, has_registry, &mut found));
        }
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

fn source(reader: &mut Reader, value: &Value<'_>, has_registry: bool, found: &mut IntakeSettings) {
    let Some(table) = reader.table(value, "intake.source") else { return };
    reader.only(table, "[[intake.source]]", &["topic", "dialect", "framing"]);
    let line = reader.line(&value.span());
    let name = needed(reader, table, "topic", line).and_then(|value| {
        let allowed = "1 to 249 of the letters a-z, A-Z, 0-9, `.`, `_` and `-`";
        reader.text(value, "intake.source.topic", allowed, is_topic_name)
    });
    let words = Dialect::ALL.map(|dialect| (dialect.name(), dialect));
    let dialect = needed(reader, table, "dialect", line)
        .and_then(|value| reader.word(value, "intake.source.dialect", &words));
    let words = [("json", false), ("confluent", true)];
    let framing = table.get("framing");
    let is_framed = framing.and_then(|it| reader.word(it, "intake.source.framing", &words));
    let (Some(name), Some(dialect)) = (name, dialect) else { return };
    if is_framed == Some(true) {
        if !has_registry {
            let found = "intake.source.framing \"confluent\" without [registry]";
            reader.complain(line, found, "a [registry] that knows the schemas");
        }
        found.framed.insert(name.to_owned());
    }
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

#[cfg(test)]
mod tests {
    use crate::topology::{ATLAS, Topology};

    #[test]
    fn a_framed_source_needs_a_registry() {
        let source = |framing: &str| {
            format!(
                "{ATLAS}\n[[intake.source]]\ntopic = \"t\"\ndialect = \"panda\"\nframing = \
                 {framing:?}\n"
            )
        };
        let registry = "[registry]\nurls = [\"http://registry\"]\n";
        let read = |text: &str| Topology::parse("test.toml", text);
        let framed = |text: &str| read(text).expect("a topology").intake.framed.into_iter();
        assert_eq!(framed(&source("json")).count(), 0);
        assert_eq!(framed(&(source("confluent") + registry)).collect::<Vec<_>>(), ["t"]);
        let why = read(&source("confluent")).expect_err("no registry");
        assert!(format!("{why:?}").contains("without [registry]"), "{why:?}");
        let why = read(&source("avro")).expect_err("no framing");
        assert!(format!("{why:?}").contains("intake.source.framing"), "{why:?}");
    }
}
