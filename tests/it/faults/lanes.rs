//! Acts of others on the topics: a transaction that nobody ends, partitions added, a topic deleted,
//! records deleted that were not read.

use super::{admin, answered, bus, must_stop, says, wait_for_just};
use crate::kill::bus::{Bus, now, text};
use crate::kill::intake::Place;
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::{complaints, decisions, glance};
use crate::kill::{SECOND, settle_accounts, wait_for_answers, wait_for_lead};
use rdkafka::admin::NewPartitions;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::collections::BTreeSet;
use std::path::Path;
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Pilot, Status};
use yardmaster::shell::kafka::{KafkaConf, KafkaWriter};
use yardmaster::wire::record;

/// Somebody's transaction with a request in it, open until the producer is to end it.
fn begin(bus: &Bus, who: &str, partition: i32, subject: &str) -> BaseProducer {
    let mut value = Vec::new();
    bus.request(subject, 1, 500, &mut value);
    begin_with(bus, who, &[(Topic::Task, partition)], &value)
}

/// The same with a record in each of these partitions.
fn begin_with(bus: &Bus, who: &str, lanes: &[(Topic, i32)], value: &[u8]) -> BaseProducer {
    let lanes: Vec<(String, i32)> =
        lanes.iter().map(|(topic, partition)| (bus.topic(*topic), *partition)).collect();
    begin_on(bus, who, &lanes, value)
}

/// The same by the topics' names.
fn begin_on(bus: &Bus, who: &str, lanes: &[(String, i32)], value: &[u8]) -> BaseProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &bus.bootstrap);
    config.set("transactional.id", format!("{}-{who}", bus.domain));
    config.set("transaction.timeout.ms", "300000");
    let producer: BaseProducer = config.create().unwrap();
    producer.init_transactions(20 * SECOND).unwrap();
    producer.begin_transaction().unwrap();
    for (topic, partition) in lanes {
        let record = BaseRecord::to(topic).partition(*partition).key("somebody's").payload(value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(20 * SECOND).unwrap();
    producer
}

#[test]
fn behind_somebodys_open_transaction_one_lane_waits_is_named_and_goes_on() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let store = bus.path("store");
    let mut process = Process::start(&bus.bootstrap, &bus.topology, &store);
    wait_for_lead(&process, 60 * SECOND);
    let stuck = bus.topic(Topic::Task) + "[1]";
    let mut subjects = BTreeSet::new();
    for who in ["aborts", "commits"] {
        let inside = format!("1/{who}");
        let producer = begin(&bus, who, 1, &inside);
        let (before, behind) = (format!("2/{who}"), format!("3/{who}"));
        bus.ask_in(0, &before);
        bus.ask_in(1, &behind);
        bus.flush();
        // The other lane goes on, also for who comes new meanwhile.
        subjects.insert(before);
        wait_for_just(&bus, &subjects, &mut process);
        assert_eq!(process.stop().code(), Some(0));
        process = Process::start(&bus.bootstrap, &bus.topology, &store);
        wait_for_lead(&process, 60 * SECOND);
        let another = format!("4/{who}");
        bus.ask_in(0, &another);
        bus.flush();
        subjects.insert(another);
        wait_for_just(&bus, &subjects, &mut process);

        let state = |process: &Process, path| process.page(path).unwrap_or_default();
        wait_until(
            30 * SECOND,
            || state(&process, "/readyz"),
            || state(&process, "/readyz").contains(&stuck),
        );
        // The others go on, so it is ready.
        wait_until(30 * SECOND, || state(&process, "/readyz"), || process.leads());
        says(&state(&process, "/readyz"), &["transaction.timeout.ms", "kafka-transactions.sh"]);
        let stuck_lanes =
            format!("yardmaster_stuck_lanes{{domain=\"{}\",topic=\"task\"}} 1", bus.domain);
        says(&state(&process, "/metrics"), &[&stuck_lanes]);
        says(&process.logged(), &[&stuck, "find-hanging", "abort"]);

        assert_eq!(subjects, answered(&bus));
        let ended = match who {
            "aborts" => producer.abort_transaction(20 * SECOND),
            _ => producer.commit_transaction(20 * SECOND),
        };
        ended.unwrap();
        subjects.insert(behind);
        if who == "commits" {
            subjects.insert(inside);
        }
        wait_for_just(&bus, &subjects, &mut process);
        wait_until(
            30 * SECOND,
            || state(&process, "/readyz"),
            || !state(&process, "/readyz").contains(&stuck),
        );
        says(&process.logged(), &[&format!("{stuck} can be read on")]);
    }
    assert_eq!(process.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&store]));
}

/// A transaction on `progress` that nobody ends, which no process can end by itself.
#[test]
fn behind_an_open_transaction_on_progress_a_standby_and_a_start_say_so_and_go_on() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let store = bus.path("store");
    let start = |store: &Path| Process::start(&bus.bootstrap, &bus.topology, store);
    let ready = |process: &Process| process.page("/readyz").unwrap_or_default();
    let is_ready = |process: &Process| ready(process).contains("\"ready\":true");
    let leader = start(&store);
    wait_for_lead(&leader, 60 * SECOND);
    let standby = start(&bus.path("other"));
    wait_until(60 * SECOND, || ready(&standby), || is_ready(&standby));
    let producer = begin_with(&bus, "hangs", &[(Topic::Progress, 0)], b"no cycle");
    let stuck = bus.topic(Topic::Progress) + "[0] stands still behind an open transaction";
    // It could not take the lead.
    let is_held = || !is_ready(&standby) && ready(&standby).contains(&stuck);
    wait_until(30 * SECOND, || ready(&standby), is_held);
    assert!(leader.leads(), "{}", ready(&leader));
    assert_eq!(standby.stop().code(), Some(0));
    assert_eq!(leader.stop().code(), Some(0));

    let mut process = start(&store);
    wait_until(30 * SECOND, || ready(&process), || ready(&process).contains(&stuck));
    let reason = format!("restoring: 100 % of the cycles are replayed; {stuck}");
    says(&ready(&process), &[&reason, "find-hanging", "nobody can take the lead until it can"]);
    says(&process.logged(), &[&stuck]);
    producer.abort_transaction(20 * SECOND).unwrap();
    wait_for_lead(&process, 60 * SECOND);
    bus.ask_in(0, "1/after");
    bus.flush();
    wait_for_just(&bus, &BTreeSet::from(["1/after".to_owned()]), &mut process);
    assert_eq!(process.stop().code(), Some(0));
}

/// The same on `decision`: a leader goes on, and nobody sees what it decides behind it.
#[test]
fn behind_an_open_transaction_on_decision_a_standby_waits_and_leads_when_it_has_ended() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let start = |store| Process::start(&bus.bootstrap, &bus.topology, &bus.path(store));
    let ready = |process: &Process| process.page("/readyz").unwrap_or_default();
    let leader = start("store");
    wait_for_lead(&leader, 60 * SECOND);
    let mut standby = start("other");
    let is_ready = |process: &Process| ready(process).contains("\"ready\":true");
    wait_until(60 * SECOND, || ready(&standby), || is_ready(&standby));
    let lanes = [(Topic::Decision, 0), (Topic::Decision, 1)];
    let producer = begin_with(&bus, "hangs", &lanes, b"no decision");
    let subjects: BTreeSet<String> = (1..=8).map(|number| format!("{number}/behind")).collect();
    subjects.iter().for_each(|subject| bus.ask_in(0, subject));
    bus.flush();
    let stuck = bus.topic(Topic::Decision) + "[0] stands still behind an open transaction";
    let is_held = |process: &Process| !is_ready(process) && ready(process).contains(&stuck);
    wait_until(30 * SECOND, || ready(&standby), || is_held(&standby));
    assert_eq!(leader.stop().code(), Some(0));
    // Another, which has counted nothing, learns the same, and neither ends.
    let other = start("third");
    wait_until(30 * SECOND, || ready(&other), || is_held(&other));
    assert!(is_held(&standby) && !standby.leads(), "{}", ready(&standby));
    assert_eq!(other.stop().code(), Some(0));
    assert_eq!(answered(&bus), BTreeSet::new());
    producer.abort_transaction(20 * SECOND).unwrap();
    wait_for_lead(&standby, 60 * SECOND);
    wait_for_just(&bus, &subjects, &mut standby);
    assert_eq!(standby.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&bus.path("other")]));
}

fn widen(bus: &Bus, topic: Topic, partitions: usize) {
    let name = bus.topic(topic);
    let wanted = [NewPartitions::new(&name, partitions)];
    admin(bus, async |admin, options| admin.create_partitions(&wanted, &options).await);
}

#[test]
fn partitions_that_are_added_are_read_too() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    bus.queue("QUEUE_00", 1, 40);
    let stores = [bus.path("store-a"), bus.path("store-b")];
    let start = |at: usize| Process::start(&bus.bootstrap, &bus.topology, &stores[at]);
    let leader = start(0);
    wait_for_lead(&leader, 60 * SECOND);
    let mut pair = [leader, start(1)];
    let mut subjects: BTreeSet<String> = BTreeSet::new();
    let mut ask = |partition: u32| {
        let subject = format!("{partition}/{}", subjects.len());
        bus.ask_in(partition, &subject);
        bus.flush();
        subjects.insert(subject);
        subjects.clone()
    };
    wait_for_answers(&bus, &ask(0), &mut pair);
    // An input, and a topic of our own.
    for topic in [Topic::Task, Topic::Decision] {
        widen(&bus, topic, 3);
        (0..2).for_each(|_| drop(ask(0)));
        let asked = ask(2 * u32::from(topic == Topic::Task));
        wait_for_answers(&bus, &asked, &mut pair);
        let reported = || format!("{}\n---\n{}", pair[0].all_logged(), pair[1].all_logged());
        let grown = format!("{} has 3 partitions, 2 are read", topic.name());
        // The process that finds it out first begins again, and so does a standby that would lead then.
        wait_until(30 * SECOND, reported, || reported().contains(&grown));
    }
    let asked = ask(2);
    wait_for_answers(&bus, &asked, &mut pair);
    for process in pair {
        assert_eq!(process.stop().code(), Some(0));
    }
    println!("{}", settle_accounts(&bus, &asked, &[&stores[0], &stores[1]]));
}

#[test]
fn a_topic_that_is_deleted_ends_it_with_the_way_on() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let store = bus.path("store");
    let start = || Process::start(&bus.bootstrap, &bus.topology, &store);
    let mut process = [start()];
    wait_for_lead(&process[0], 60 * SECOND);
    let mut subjects = BTreeSet::new();
    crate::kill::ask(&bus, &mut subjects, &mut process);
    let name = bus.topic(Topic::Pilot);
    let names = [name.as_str()];
    admin(&bus, async |admin, options| admin.delete_topics(&names, &options).await);
    let [process] = process;
    let reported = must_stop(process, &[&name, "bring the topic back", "begin a new log"]);
    assert!(!reported.contains("open transaction"), "{reported}");
    must_stop(start(), &[&name, "yardmaster topology apply"]);
    // Created again it is not the one that cycles were made of: that would be found out too late.
    bus.verb("topology", 0, &["apply"]);
    must_stop(start(), &["pilot[", "created again", "begin a new log"]);

    // A new log over the other topics: what was answered stays answered, who asks again is too.
    let mut file = std::fs::read_to_string(&bus.topology).unwrap();
    for topic in [Topic::Task, Topic::Decision, Topic::Progress] {
        let name = bus.topic(topic);
        file = file.replace(&format!("\"{name}\""), &format!("\"{name}.2\""));
    }
    std::fs::write(&bus.topology, file).unwrap();
    bus.verb("topology", 0, &["apply"]);
    let mut process = start();
    wait_for_lead(&process, 60 * SECOND);
    let report = Pilot::AskedJob { queue: "QUEUE_00", node: "node1", at: now() };
    bus.publish(Topic::Pilot, "QUEUE_00", |out| record::write(out, &report));
    bus.flush();
    let writer = KafkaWriter::open(&KafkaConf::new(&bus.bootstrap, "again", Vec::new())).unwrap();
    let (mut value, key) = (Vec::new(), Some(&b"9/1"[..]));
    bus.request("9/1", 1, 500, &mut value);
    let topic = bus.topic(Topic::Task) + ".2";
    writer.append(&topic, None, key, Some(&value), &[], None).unwrap();
    writer.flush().unwrap();
    let published = || decisions(&glance(&bus.bootstrap, &(bus.topic(Topic::Decision) + ".2")));
    let what = || process.logged();
    wait_until(60 * SECOND, what, || published().iter().any(|it| it.outcome.is_final()));
    process.must_live();
    assert_eq!(process.stop().code(), Some(0));
    let again = BTreeSet::from(["9/1".to_owned()]);
    assert_eq!(complaints(&bus.domain, &again, &published()), Vec::<String>::new());
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&store)]).trim());
}

#[test]
fn records_deleted_before_they_were_read_stop_it_and_the_remedy_works() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let store = bus.path("store");
    let start = || Process::start(&bus.bootstrap, &bus.topology, &store);
    let mut process = [start()];
    wait_for_lead(&process[0], 60 * SECOND);
    let mut subjects = BTreeSet::new();
    crate::kill::ask(&bus, &mut subjects, &mut process);
    let [process] = process;
    assert_eq!(process.stop().code(), Some(0));

    bus.queue("QUEUE_01", 1, 40);
    bus.flush();
    let name = bus.topic(Topic::JobState);
    let mut lost = TopicPartitionList::new();
    for partition in 0..2 {
        lost.add_partition_offset(&name, partition, Offset::End).unwrap();
    }
    admin(&bus, async |admin, options| admin.delete_records(&lost, &options).await);
    must_stop(start(), &["job-state[", "no longer holds offset", "delete the store"]);
    must_stop(start(), &["job-state[", "no longer holds offset", "keep the topic longer"]);

    // As the message asked.
    std::fs::remove_dir_all(&store).unwrap();
    let mut process = [start()];
    wait_for_lead(&process[0], 60 * SECOND);
    bus.queue("QUEUE_02", 1, 40);
    crate::kill::ask(&bus, &mut subjects, &mut process);
    let [process] = process;
    assert_eq!(process.stop().code(), Some(0));
    let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
    assert_eq!(complaints(&bus.domain, &subjects, &published), Vec::<String>::new());
    println!("audit: {}", bus.verb("audit", 0, &["--store", text(&store)]).trim());
    let replayed = bus.verb("replay", 0, &["--verify"]);
    says(&replayed, &[" 0 different"]);
    println!("{replayed}");
}

/// Records that intake published before behind it are read back once it has ended, and not
/// published again.
#[test]
fn behind_somebodys_open_transaction_intake_waits_for_its_own_records() {
    let change = |limits: &mut Table| drop(limits.insert("takeover_s".into(), 1.into()));
    let Some(place) = Place::with(1, "", change) else { return };
    let states = || glance(&place.bus.bootstrap, &place.bus.topic(Topic::JobState));
    let at = now() / 1_000;
    let stage = place.start_with(&[]);
    place.job(1, Status::Running, at);
    place.writer.flush().unwrap();
    wait_until(60 * SECOND, || stage.logged(), || states().len() == 1);
    let lanes = [(Topic::JobState, 0), (Topic::JobState, 1)];
    let open = begin_with(&place.bus, "somebody", &lanes, b"junk");
    // Published behind it: nobody who reads what is committed sees it yet.
    (2..6).for_each(|job| place.job(job, Status::Running, at));
    place.writer.flush().unwrap();
    let lane = |partition| {
        let name = place.bus.topic(Topic::JobState);
        let mut conf = ClientConfig::new();
        conf.set("bootstrap.servers", &place.bus.bootstrap);
        conf.set("isolation.level", "read_uncommitted");
        let client: BaseConsumer = conf.create().unwrap();
        client.fetch_watermarks(&name, partition, 10 * SECOND).unwrap().1
    };
    // Five states, somebody's two records, and the markers of two transactions at least.
    wait_until(60 * SECOND, || format!("{} {}", lane(0), lane(1)), || lane(0) + lane(1) >= 9);
    stage.kill();

    let again = place.start_with(&[]);
    let waits = "stands still behind an open transaction; intake takes nothing in";
    wait_until(60 * SECOND, || again.logged(), || again.logged().contains(waits));
    let page = |path| again.page(path).unwrap_or_default();
    says(&page("/readyz"), &["\"ready\":false", "restoring", waits, "kafka-transactions.sh"]);
    let lanes =
        format!("yardmaster_stuck_lanes{{domain=\"{}\",topic=\"job-state\"}} 2", place.bus.domain);
    wait_until(30 * SECOND, || page("/metrics"), || page("/metrics").contains(&lanes));
    // Every lane but that one is read to its end long before; the life before reported it once.
    std::thread::sleep(3 * SECOND);
    assert_eq!(again.logged().matches("jobs read back").count(), 1, "{}", again.logged());
    // The same messages again, which are news to one that knows nothing of what it published.
    (2..6).for_each(|job| place.job(job, Status::Running, at));
    place.job(9, Status::Running, at);
    place.writer.flush().unwrap();
    open.abort_transaction(20 * SECOND).unwrap();
    // The last message: what came before it is published by then.
    let has_last = || states().iter().any(|(key, _)| key == b"9");
    wait_until(60 * SECOND, || again.logged(), has_last);
    assert_eq!(states().len(), 6, "{}", again.logged());
    assert!(!page("/readyz").contains("stands still"), "{}", page("/readyz"));
}

/// A foreign partition that waits is named; what waits for all is why it is not ready.
#[test]
fn behind_somebodys_open_transaction_a_run_says_what_its_intake_waits_for() {
    let hasty = |limits: &mut Table| {
        limits.insert("takeover_s".into(), 1.into());
        limits.insert("takeover_jitter_ms".into(), 0.into());
    };
    let Some(place) = Place::with(2, "in_run = true", hasty) else { return };
    let bus = &place.bus;
    let start = || Process::start(&bus.bootstrap, &place.topology, &bus.path("store"));
    let page = |process: &Process, path| process.page(path).unwrap_or_default();
    let comes = |process: &Process, path, part: &str| {
        let what = || format!("{part}: {}\n{}", page(process, path), process.logged());
        wait_until(60 * SECOND, what, || page(process, path).contains(part));
    };
    let goes = |process: &Process, part: &str| {
        let is_gone = || process.leads() && !page(process, "/readyz").contains(part);
        wait_until(60 * SECOND, || page(process, "/readyz"), is_gone);
    };
    let open = begin_on(bus, "somebody", &[(place.foreign.clone(), 1)], b"junk");
    let process = start();
    let stuck = format!("{}[1] stands still behind an open transaction", place.foreign);
    comes(&process, "/readyz", &stuck);
    assert!(process.leads(), "the other partitions go on: {}", page(&process, "/readyz"));
    let (domain, foreign) = (&bus.domain, &place.foreign);
    let lanes = format!("yardmaster_stuck_lanes{{domain=\"{domain}\",topic=\"{foreign}\"}} 1");
    comes(&process, "/metrics", &lanes);
    open.abort_transaction(20 * SECOND).unwrap();
    goes(&process, &stuck);
    assert_eq!(process.stop().code(), Some(0));

    let open = begin_with(bus, "another", &[(Topic::JobState, 0)], b"junk");
    let process = start();
    let stuck = format!("{}[0] stands still behind", bus.topic(Topic::JobState));
    let down = format!("intake is down: {stuck}");
    comes(&process, "/readyz", &down);
    open.abort_transaction(20 * SECOND).unwrap();
    goes(&process, &stuck);
    assert_eq!(process.stop().code(), Some(0));
}
