//! Two installations of one domain with topics of their own on one broker.

use super::SECOND;
use super::bus::{Bus, table, topics_of};
use super::process::{Process, wait_until};
use toml::Table;

#[test]
fn two_installations_of_one_domain_with_topics_of_their_own_lead_side_by_side() {
    let hasty = |limits: &mut Table, _: &mut Table| {
        limits.insert("takeover_s".into(), 1.into());
        limits.insert("takeover_jitter_ms".into(), 0.into());
    };
    let Some(one) = Bus::real(hasty) else { return };
    // The same domain, other names of the topics.
    let mut file: Table = std::fs::read_to_string(&one.topology).unwrap().parse().unwrap();
    for topic in topics_of(&mut file) {
        let settings = table(table(&mut file, "topics"), topic.name());
        settings.insert("name".into(), format!("{}-trial", one.topic(topic)).into());
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
    wait_until(60 * SECOND, || first.logged(), || first.leads());
    let second = Process::start(&one.bootstrap, &trial, &one.path("second"));
    wait_until(60 * SECOND, || second.logged(), || second.leads());
    // Each leads on in its epoch, for longer than a fenced one would need to be back.
    let epochs = [&first, &second].map(|it| it.ready().map(|ready| ready.epoch));
    let cycle = |it: &Process| {
        let page: serde_json::Value = serde_json::from_str(&it.page("/readyz")?).ok()?;
        page["state"]["cycle"].as_u64()
    };
    let reported = || format!("{}\n{}", first.logged(), second.logged());
    for it in [&first, &second] {
        let begun = cycle(it).unwrap();
        wait_until(60 * SECOND, reported, || cycle(it).is_some_and(|cycle| cycle > begun + 5));
    }
    one.ask("1/1", 1, 500);
    one.flush();
    let decided = |it: &Process| {
        it.page("/metrics").is_some_and(|page| {
            page.lines().any(|line| {
                line.starts_with("yardmaster_published_decisions_total") && !line.ends_with(" 0")
            })
        })
    };
    wait_until(60 * SECOND, reported, || decided(&first));
    assert_eq!([&first, &second].map(|it| it.ready().map(|ready| ready.epoch)), epochs);
    assert!(first.leads() && second.leads(), "{}", reported());
    assert!(!decided(&second), "the trial has a task topic of its own");
    for it in [&first, &second] {
        assert!(!it.all_logged().contains("another process took the lead"), "{}", reported());
    }
}
