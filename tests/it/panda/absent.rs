//! A table that is empty has no topic yet: intake waits for it by name, and reads all else.

use crate::kill::bus::{Bus, text};
use crate::kill::intake::Place;
use crate::kill::process::{wait_until, yardmaster};
use crate::kill::witness::glance;
use serde_json::{Value, json};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf};

const MINUTE: Duration = Duration::from_secs(60);
const T0: i64 = 1_760_000_000_000;

fn change(table: &str, after: &Value) -> String {
    json!({"before": null, "after": after, "op": "c", "source": {"table": table, "lsn": 100,
        "txId": 1, "ts_ms": T0, "snapshot": "false", "sequence": null}})
    .to_string()
}

#[test]
fn a_source_without_a_topic_is_waited_for_while_the_others_are_read() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    let place = Place::on(bus, 1, "");
    let table = format!("{}.doma_panda.config", place.bus.domain);
    let sources = std::fs::read_to_string(&place.topology).unwrap();
    let sources = sources.replace("dialect = \"panda\"", "dialect = \"panda-cdc\"");
    let absent = format!("[[intake.source]]\ntopic = \"{table}\"\ndialect = \"panda-cdc\"\n");
    std::fs::write(&place.topology, sources + &absent).unwrap();
    let mut stage = place.start_with(&[]);
    let row = json!({"pandaid": 7, "jobstatus": "defined", "statechangetime": T0,
        "modificationtime": T0, "computingsite": "CERN"});
    place.put("7", &change("jobsdefined4", &row));
    place.writer.flush().unwrap();
    let published = |topic| glance(&place.bus.bootstrap, &place.bus.topic(topic));
    wait_until(MINUTE, || stage.logged(), || published(Topic::JobState).len() == 1);
    assert!(stage.logged().contains(&format!("waits for {table}:")), "{}", stage.logged());
    let shown = |count: u32| {
        let page = stage.page("/metrics").unwrap_or_default();
        let line = page.lines().find(|it| it.starts_with("yardmaster_intake_absent_sources"));
        line.is_some_and(|line| line.ends_with(&format!(" {count}")))
    };
    wait_until(MINUTE, || stage.logged(), || shown(1));
    // Made as it has to be kept, without its connector.
    let log = ["--bootstrap-server", &place.bus.bootstrap, "--topology", text(&place.topology)];
    let made = yardmaster(&[&["topology", "apply"], &log[..]].concat());
    let output = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(output.contains(&format!("{table}: made")), "{output}");
    let conf = KafkaConf::new(&place.bus.bootstrap, &place.bus.domain, Vec::new());
    let found = KafkaAdmin::open(&conf).unwrap().describe(std::slice::from_ref(&table)).unwrap();
    let configs = &found[&table].as_ref().unwrap().configs;
    assert_eq!(configs["cleanup.policy"], "compact");
    let key = json!({"app": "jobbroker", "component": "prod", "key": "A", "vo": "atlas"});
    let mut row = key.clone();
    (row["type"], row["value"]) = (json!("integer"), json!("5"));
    let (key, value) = (key.to_string(), change("config", &row));
    let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
    place.writer.append(&table, None, key, value, &[], None).unwrap();
    place.writer.flush().unwrap();
    let is_there =
        || published(Topic::Parameter).iter().any(|(key, _)| key.starts_with(b"jobbroker"));
    wait_until(MINUTE, || stage.logged(), is_there);
    wait_until(MINUTE, || stage.logged(), || shown(0));
    stage.must_live();
    assert_eq!(published(Topic::JobState).len(), 1, "nothing is published again");
}
