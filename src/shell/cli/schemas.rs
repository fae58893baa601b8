//! The schema registry's part of `topology check` and `topology apply`.

use crate::registry::{Finding, RegistryClient, examine, register};
use yardmaster_wire::topology::Topology;

/// Compares the registry with the topology, a line for what is not as it should be; gives how many
/// there are.
pub(super) fn check(topology: &Topology) -> anyhow::Result<usize> {
    let Some(registry) = &topology.registry else { return Ok(0) };
    let mut wrong = 0;
    for (topic, subject, finding) in examine(&RegistryClient::new(registry)?, topology)? {
        let name = &topology.topic(topic).name;
        match &finding {
            Finding::Registered(id) => println!("{name}: schema {id} under subject {subject}"),
            Finding::Absent => println!("{name}: no schema of ours under subject {subject}"),
            Finding::Incompatible(why) => {
                println!("{name}: the registry would not take our schema under {subject}: {why}");
            }
            Finding::Theirs { id, version, unreadable: None } => println!(
                "{name}: subject {subject} holds others' schema {id} (version {version}), which \
                 can be read"
            ),
            Finding::Theirs { id, version, unreadable: Some(why) } => println!(
                "{name}: subject {subject} holds others' schema {id} (version {version}): {why}"
            ),
        }
        wrong += usize::from(!finding.is_right());
    }
    Ok(wrong)
}

/// Puts our schemas into the registry, for topics in Confluent framing under whose subject there is
/// none or only older ones of ours; reports what was done, or with `dry_run` what would be.
pub(super) fn apply(topology: &Topology, dry_run: bool) -> anyhow::Result<()> {
    let Some(registry) = &topology.registry else { return Ok(()) };
    let client = RegistryClient::new(registry)?;
    let mut refused = Vec::new();
    for (topic, subject, finding) in examine(&client, topology)? {
        let name = &topology.topic(topic).name;
        match finding {
            Finding::Registered(id) => {
                println!("{name}: schema {id} is there already under subject {subject}");
            }
            Finding::Absent if dry_run => {
                println!("would register our schema of {name} under subject {subject}");
            }
            Finding::Absent => {
                let id = register(&client, topic, &subject)?;
                println!("{name}: schema {id} registered under subject {subject}");
            }
            Finding::Incompatible(why) => refused.push(format!("{name} ({subject}): {why}")),
            Finding::Theirs { id, version, .. } => println!(
                "{name}: subject {subject} holds others' schema {id} (version {version}), left as \
                 it is"
            ),
        }
    }
    anyhow::ensure!(
        refused.is_empty(),
        "the registry would not take our schema of {}; give these topics names of their own, or \
         allow it in the registry's compatibility settings",
        refused.join(", ")
    );
    Ok(())
}
