//! Two installations of one domain with topics of their own on one broker.

use super::SECOND;
use super::bus::{Bus, table};
use super::process::{Process, wait_until};
use toml::Table;
use yardmaster::core::cut::Topic;

#[test]
fn of_two_installations_of_one_domain_one_leaves_the_lead_to_the_other() {
    let hasty = |limits: &mut Table, _: &mut Table| {
        limits.insert("takeover_s".into(), 1.into());
        limits.insert("takeover_jitter_ms".into(), 0.into());
    };
    let Some(one) = Bus::real(hasty) else { return };
    // The same domain, other names of the topics.
    let mut file: Table = std::fs::read_to_string(&one.topology).unwrap().parse().unwrap();
    for topic in Topic::ALL {
        let settings = table(table(&mut file, "topics"), topic.name());
        settings.insert("name".into(), format!("{}-trial", one.topic(*topic)).into());
    }
    let trial = one.path("trial.toml");
    std::fs::write(&trial, file.to_string()).unwrap();
    let output = super::process::yardmaster(&[
        "topology",
        "apply",
        "--bootstrap-server",
        &one.bootstrap,
        "--topology",
        trial.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{output:?}");
    let first = Process::start(&one.bootstrap, &one.topology, &one.path("first"));
    wait_until(60 * SECOND, || first.told(), || first.leads());
    let second = Process::start(&one.bootstrap, &trial, &one.path("second"));
    let both = [&first, &second];
    let refuses = |it: &Process| {
        it.page("/readyz").is_some_and(|page| {
            page.contains("\"ready\":false") && page.contains("refuses to lead")
        })
    };
    let told = || both.map(Process::told).join("\n");
    wait_until(120 * SECOND, told, || both.iter().any(|it| refuses(it)));
    wait_until(60 * SECOND, told, || both.iter().any(|it| it.leads()));
    let epoch = |it: &Process| it.ready().map(|ready| ready.epoch);
    let (leader, other) = if refuses(&first) { (&second, &first) } else { (&first, &second) };
    // It goes on leading in the same epoch while the other one refuses.
    let cycle = |it: &Process| {
        let page: serde_json::Value = serde_json::from_str(&it.page("/readyz")?).ok()?;
        page["state"]["cycle"].as_u64()
    };
    let (known, begun) = (epoch(leader), cycle(leader).unwrap());
    wait_until(60 * SECOND, told, || cycle(leader).is_some_and(|cycle| cycle > begun + 5));
    assert_eq!(epoch(leader), known);
    assert!(leader.leads() && refuses(other), "{}", told());
}
