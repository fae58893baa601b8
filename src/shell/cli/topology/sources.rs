//! Topics that intake reads: what they lack, and those that may be made before their connector
//! makes them.

use crate::kafka::{KafkaAdmin, NewTopicSpec, TopicFound};
use yardmaster_wire::dialect::Dialect;
use yardmaster_wire::dialect::change::FactTable;
use yardmaster_wire::topology::Topology;

/// Shortest time that a source should be kept; ms.
const KEPT: i64 = 24 * 3_600_000;
/// Partitions and settings of a source of changes, as the shipped connector makes it: a row of
/// configuration is kept for ever, all else for a week.
const CONFIGURATION: (u32, [(&str, &str); 1]) = (1, [("cleanup.policy", "compact")]);
const CHANGES: (u32, [(&str, &str); 2]) =
    (4, [("cleanup.policy", "delete"), ("retention.ms", "604800000")]);

/// Sources of changes of PanDA's tables. A connector makes the topic of a table with its first row,
/// and a table may be empty for long.
pub(super) fn specs(topology: &Topology) -> Vec<NewTopicSpec> {
    let sources = topology.intake.sources.iter();
    let of_changes = sources.filter(|(_, dialect)| **dialect == Dialect::PandaCdc);
    let spec = |name: &String| {
        let (partitions, configs) = match is_configuration(name) {
            true => (CONFIGURATION.0, &CONFIGURATION.1[..]),
            false => (CHANGES.0, &CHANGES.1[..]),
        };
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let configs = configs.iter().map(owned).collect();
        let replication = topology.kafka.replication;
        NewTopicSpec { name: name.clone(), partitions, replication, configs }
    };
    of_changes.map(|(name, _)| spec(name)).collect()
}

/// Prints what a source lacks, each with what mends it; how much that is.
pub(super) fn complain(
    admin: &KafkaAdmin,
    name: &String,
    dialect: Dialect,
    bootstrap: &str,
) -> anyhow::Result<usize> {
    let found = admin.describe(std::slice::from_ref(name))?;
    let found = found.get(name).and_then(Option::as_ref);
    let complaints = compare_source(name, found, bootstrap, dialect);
    complaints.iter().for_each(|complaint| println!("{name}: {complaint}"));
    Ok(complaints.len())
}

/// Whether a topic that a connector named has rows of one of PanDA's configuration tables, of which
/// intake reads the last row of each key at each start.
fn is_configuration(topic: &str) -> bool {
    topic.rsplit('.').next().is_some_and(|table| FactTable::from_name(table).is_some())
}

/// Mistakes of a topic that intake reads, each with the command that mends it.
fn compare_source(
    name: &str,
    found: Option<&TopicFound>,
    bootstrap: &str,
    dialect: Dialect,
) -> Vec<String> {
    let Some(found) = found else {
        if dialect == Dialect::PandaCdc {
            return vec![
                "is not there yet, and intake waits for it: a connector makes it with the first row \
                 of its table\n    yardmaster topology apply"
                    .to_owned(),
            ];
        }
        return vec![format!(
            "is not there, and intake is to read it: correct its name in [[intake.source]], or make \
             it\n    kafka-topics.sh --bootstrap-server {bootstrap} --create --topic {name}"
        )];
    };
    let setting = |key: &str| found.configs.get(key).map_or("", String::as_str);
    let mend = |change: &str| {
        format!(
            "kafka-configs.sh --bootstrap-server {bootstrap} --alter --entity-type topics \
             --entity-name {name} --add-config {change}"
        )
    };
    let mut wrong = Vec::new();
    let cleanup = setting("cleanup.policy");
    if is_configuration(name) {
        if cleanup.contains("delete") {
            wrong.push(format!(
                "cleanup.policy is {cleanup}: rows of a configuration table that stay as they are \
                 are removed, and unknown to intake at its next start\n    {}",
                mend("cleanup.policy=compact")
            ));
        }
        return wrong;
    }
    if cleanup.contains("compact") {
        wrong.push(format!(
            "cleanup.policy is {cleanup}: messages under one key are removed before intake has read \
             them\n    {}",
            mend("cleanup.policy=delete")
        ));
    }
    let retention = setting("retention.ms");
    if retention.parse().is_ok_and(|kept: i64| (0..KEPT).contains(&kept)) {
        wrong.push(format!(
            "retention.ms is {retention}: what intake does not read within that is lost, so keep it \
             for a day at least, a week is better\n    {}",
            mend("retention.ms=604800000")
        ));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_missing_compacted_or_kept_shortly_is_named_with_the_remedy() {
        let found = |cleanup: &str, retention: &str| TopicFound {
            partitions: 1,
            configs: [("cleanup.policy", cleanup), ("retention.ms", retention)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        };
        let wrong =
            |found: Option<&TopicFound>| compare_source("jobs", found, "b:1", Dialect::Panda);
        for right in ["604800000", "-1", "86400000"] {
            assert_eq!(wrong(Some(&found("delete", right))), Vec::<String>::new());
        }
        let missing = wrong(None).join("");
        assert!(missing.contains("[[intake.source]]") && missing.contains("--create --topic jobs"));
        assert!(!missing.contains("topology apply"), "{missing}");
        let both = wrong(Some(&found("compact,delete", "3600000")));
        assert_eq!(both.len(), 2);
        assert!(both[0].contains("cleanup.policy=delete"), "{both:?}");
        assert!(both[1].contains("retention.ms=604800000"), "{both:?}");
        // Of PanDA's configuration tables the last rows are wanted.
        let topics = ["panda-cdc.doma_panda.schedconfig_json", "panda-cdc.doma_panda.jedi_tasks"];
        assert_eq!(topics.map(is_configuration), [true, false]);
        let of =
            |found: Option<&TopicFound>| compare_source(topics[0], found, "b:1", Dialect::PandaCdc);
        let of_rows = |cleanup| of(Some(&found(cleanup, "1000")));
        assert_eq!(of_rows("compact"), Vec::<String>::new());
        assert!(of_rows("delete").join("").contains("cleanup.policy=compact"));
        assert!(of(None).join("").contains("topology apply"));
    }

    #[test]
    fn sources_of_changes_are_made_as_they_are_found_right() {
        let source = |name: &str, dialect: &str| {
            format!("\n[[intake.source]]\ntopic = \"{name}\"\ndialect = \"{dialect}\"\n")
        };
        let text = yardmaster_wire::topology::ATLAS.to_owned()
            + &source("cdc.jobs", "panda-cdc")
            + &source("cdc.doma_panda.config", "panda-cdc")
            + &source("of-others", "panda");
        let topology = Topology::parse("test.toml", &text).unwrap();
        let made = specs(&topology);
        let names: Vec<&str> = made.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["cdc.doma_panda.config", "cdc.jobs"]);
        for spec in &made {
            let configs = spec.configs.iter().cloned().collect();
            let found = TopicFound { partitions: spec.partitions, configs };
            let complaints = compare_source(&spec.name, Some(&found), "b:1", Dialect::PandaCdc);
            assert_eq!(complaints, Vec::<String>::new(), "{}", spec.name);
        }
    }
}
