//! Comparisons on a Kafka: counted by the process that leads, read by the verbs.

use super::{answer, assign, comparison};
use crate::kill::bus::{Bus, now};
use crate::kill::process::{Process, wait_until, yardmaster};
use std::time::Duration;
use yardmaster::core::comparison::{AnswerOutcome, Comparison};
use yardmaster::core::cut::Topic;
use yardmaster::wire::record;

const PATIENCE: Duration = Duration::from_secs(60);

fn put(bus: &Bus, domain: &str, subject: &str, is_absent: bool) {
    let mine = if is_absent { answer(AnswerOutcome::Absent) } else { assign(&["A"]) };
    let of = comparison(subject, mine, assign(&["A", "B"]));
    let of = Comparison { domain: domain.into(), asked_at: now(), ..of };
    bus.publish(Topic::Comparison, subject, |out| record::write(out, &of));
    bus.flush();
}

#[test]
fn the_process_that_leads_counts_what_comes_and_the_verbs_read_all() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    // What was there before is not counted, and is read by the verbs.
    put(&bus, &bus.domain, "old", false);
    let leader = Process::start(&bus.bootstrap, &bus.topology, &bus.path("leader"));
    wait_until(PATIENCE, || leader.logged(), || leader.leads());
    let standby = Process::start(&bus.bootstrap, &bus.topology, &bus.path("standby"));
    let sample =
        |result: &str| format!("queue_type=\"production\",gshare=\"MC\",result=\"{result}\"}} ");
    let count = |process: &Process, sample: &str| {
        let page = process.page("/metrics").unwrap_or_default();
        let line = page.lines().find(|it| it.contains(sample)).map(str::to_owned);
        line.and_then(|it| it.rsplit(' ').next().and_then(|it| it.parse::<f64>().ok()))
    };
    // It counts from where the topic ended when it was opened, and that is not known here.
    let (mut published, absent) = (0, sample("absent"));
    wait_until(
        PATIENCE,
        || leader.logged(),
        || {
            put(&bus, &bus.domain, &format!("first/{published}"), true);
            published += 1;
            count(&leader, &absent).is_some()
        },
    );
    wait_until(PATIENCE, || standby.logged(), || standby.ready().is_some());
    put(&bus, "another", "not ours", false);
    bus.write(Topic::Comparison, "odd", Some(b"none"));
    put(&bus, &bus.domain, "1/1", false);
    put(&bus, &bus.domain, "1/2", false);
    let queues = sample("other_queues");
    let is_counted = || count(&leader, &queues) == Some(2.0);
    wait_until(PATIENCE, || leader.page("/metrics").unwrap_or_default(), is_counted);
    let unreadable = "yardmaster_unreadable_comparisons_total";
    let unreadable = format!("{unreadable}{{domain=\"{}\"}} ", bus.domain);
    wait_until(PATIENCE, || leader.logged(), || count(&leader, &unreadable) == Some(1.0));
    let sum: serde_json::Value =
        serde_json::from_str(&bus.verb("compare", 0, &["--json"])).unwrap();
    assert_eq!(sum["requests"], published + 3);
    assert_eq!(sum["agreements"]["other_queues"], 3);
    bus.verb("compare", 0, &["--from", "1h", "--min-agreement", "100%"]);
    bus.verb("compare", 1, &["--from", "1h", "--min-agreement", "1%", "--measure", "queues"]);
    let explained = bus.verb("explain", 0, &["1/2"]);
    assert!(explained.contains("the same queue first, others behind it"), "{explained}");
    assert_eq!(leader.stop().code(), Some(0));
    // The next one that leads goes on.
    wait_until(PATIENCE, || standby.logged(), || standby.leads());
    wait_until(
        PATIENCE,
        || standby.logged(),
        || {
            put(&bus, &bus.domain, &format!("next/{published}"), true);
            published += 1;
            count(&standby, &absent).is_some()
        },
    );
    assert_eq!(standby.stop().code(), Some(0));
}

/// A Kafka without the topic, as one that was set up before there was it.
#[test]
fn without_the_topic_all_else_works() {
    let Some(bus) = Bus::real_with(|file| {
        let topics = file["topics"].as_table_mut().unwrap();
        topics.remove("comparison");
    }) else {
        return;
    };
    // Processes whose topology has the topic, on a Kafka that does not.
    let text = std::fs::read_to_string(&bus.topology).unwrap();
    let topic = format!(
        "[topics.comparison]\nname = \"{}.comparison\"\npartitions = 1\ncleanup = \"delete\"\n\
         retention_hours = 720\n",
        bus.domain
    );
    std::fs::write(&bus.topology, format!("{text}\n{topic}")).unwrap();
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_until(PATIENCE, || process.logged(), || process.leads());
    let warning = "comparisons with another broker are not counted: there is no topic";
    wait_until(PATIENCE, || process.logged(), || process.all_logged().contains(warning));
    bus.ask("5/1", 1, 500);
    bus.flush();
    let args = [&["explain", "5"], &bus.place()[..]].concat();
    let is_answered = || yardmaster(&args).status.success();
    wait_until(PATIENCE, || process.logged(), is_answered);
    assert!(bus.verb("topology", 1, &["check"]).contains("comparison: is not there"));
    assert_eq!(process.stop().code(), Some(0));
}
