//! Topology files that are used side by side, by one process or on one Kafka: what they must not
//! have in common.

use super::Topology;
use yardmaster_core::cut::Topic;

/// Why topologies cannot be used side by side, each with the name of its file: a sentence for each
/// domain, topic or id that two of them share and must not. Empty: they can.
pub fn conflicts(files: &[(&str, &Topology)]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, one) in files.iter().enumerate() {
        for other in &files[at + 1..] {
            between(*one, *other, &mut found);
        }
    }
    found
}

fn between(one: (&str, &Topology), other: (&str, &Topology), found: &mut Vec<String>) {
    let (domain, files) = (&one.1.domain, format!("{} and {}", one.0, other.0));
    if *domain == other.1.domain {
        found.push(format!(
            "{files} are both of domain {domain:?}: give each domain one file, and each file a \
             `domain` of its own"
        ));
        return;
    }
    for (topic, settings) in &one.1.topics {
        let Some(same) = other.1.topic_named(&settings.name) else { continue };
        if same == *topic && topic.may_be_shared() {
            continue;
        }
        let name = &settings.name;
        let what = if same == *topic {
            format!("topic {name:?} as their `{}`", topic.name())
        } else {
            format!("topic {name:?}, as `{}` and as `{}`", topic.name(), same.name())
        };
        found.push(format!(
            "{files} have {what}: give one of them another name in [topics.{}]; domains may share \
             {}",
            same.name(),
            shareable()
        ));
    }
    let ids = |topology: &Topology| [topology.transactional_id(), topology.intake_id()];
    for id in ids(one.1).iter().filter(|id| ids(other.1).contains(id)) {
        found.push(format!(
            "{files} have the transactional id {id:?}: each would fence the other; give one of \
             them another `domain`"
        ));
    }
}

/// The kinds of topics that domains may share, as a text.
fn shareable() -> String {
    let inputs = Topic::ALL.iter().filter(|it| it.may_be_shared() && !it.is_configuration());
    let inputs: Vec<String> = inputs.map(|topic| format!("`{}`", topic.name())).collect();
    format!("{} and configuration", inputs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::ATLAS;

    /// The topology that ships, of another domain, with topics under another prefix.
    fn topology(domain: &str, prefix: &str, change: impl Fn(Topic, String) -> String) -> Topology {
        let mut topology = Topology::parse("atlas.toml", ATLAS).unwrap();
        topology.domain = domain.to_owned();
        for (topic, settings) in &mut topology.topics {
            settings.name = change(*topic, format!("{prefix}.{}", topic.name()));
        }
        topology
    }

    fn found(one: &Topology, other: &Topology) -> Vec<String> {
        conflicts(&[("a.toml", one), ("b.toml", other)])
    }

    #[test]
    fn facts_and_requests_can_be_shared_and_all_else_is_named_with_both_files() {
        let atlas = topology("atlas", "a", |_, name| name);
        assert_eq!(found(&atlas, &topology("cms", "b", |_, name| name)), Vec::<String>::new());
        for shared in Topic::ALL {
            let as_atlas = |topic: Topic, name: String| match topic == *shared {
                true => format!("a.{}", topic.name()),
                false => name,
            };
            let complaints = found(&atlas, &topology("cms", "b", as_atlas));
            assert_eq!(complaints.is_empty(), shared.may_be_shared(), "{complaints:?}");
            let name = format!("\"a.{}\"", shared.name());
            let names_all = |it: &String| {
                ["a.toml", "b.toml", &name, "`task`"].iter().all(|part| it.contains(part))
            };
            assert!(complaints.iter().all(names_all), "{complaints:?}");
        }
    }

    #[test]
    fn a_domain_has_one_file_and_a_topic_one_meaning() {
        let atlas = topology("atlas", "a", |_, name| name);
        let complaints = found(&atlas, &topology("atlas", "b", |_, name| name));
        assert!(complaints.len() == 1 && complaints[0].contains("\"atlas\""), "{complaints:?}");
        // Facts of one kind are not those of another.
        let swapped = topology("cms", "b", |topic, name| match topic {
            Topic::Site => "a.queue".to_owned(),
            _ => name,
        });
        let complaints = found(&atlas, &swapped);
        assert!(complaints.len() == 1 && complaints[0].contains("`queue` and as `site`"));
    }

    #[test]
    fn two_domains_never_have_one_transactional_id() {
        let one = topology("a", "x", |topic, _| match topic {
            Topic::Progress => "b-c".to_owned(),
            topic => format!("x.{}", topic.name()),
        });
        let other = topology("a-b", "y", |topic, _| match topic {
            Topic::Progress => "c".to_owned(),
            topic => format!("y.{}", topic.name()),
        });
        let complaints = found(&one, &other);
        assert!(complaints.len() == 1 && complaints[0].contains("\"yardmaster-a-b-c\""));
    }
}
