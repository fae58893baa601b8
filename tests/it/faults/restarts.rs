//! A broker that is restarted and paused again and again: nobody has to do anything about it.
//! Each way once, to a pair that logs in; `YARDMASTER_LONG=1` does it fifty times, to another pair
//! beside it too, with as many partitions as the topology ships.
//!
//! The release of librdkafka is pinned, and part of it is switched off, for what this showed
//! (src/shell/kafka/client.rs). A newer one is safe when fifty rounds pass with it and without build.rs.

use super::is_long;
use crate::broker::{Broker, Wanted, free_ports, is_possible};
use crate::drive::yard;
use crate::kill::bus::{Bus, now, text, topics_of};
use crate::kill::process::{PROGRAM, Process, Ready, wait_until};
use crate::kill::{SECOND, settle_accounts, wait_for_answers};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::process::Command;
use std::ptr::null_mut;
use std::time::{Duration, Instant};
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Status;
use yardmaster::wire::record;
use yardmaster::wire::topology::ATLAS;

/// How long after the broker's return both processes of a pair may not be ready.
const READY_AGAIN: Duration = Duration::from_secs(30);
/// Job states that are on their way when the broker goes, in every other round.
const LOAD: u32 = 2_000;
const WORD: &str = "pair";

/// A broker with a listener for everybody and one that asks for a password; the address of the second.
fn broker() -> (Broker, String) {
    let [port, controller, asking] = free_ports();
    let properties = format!(
        "listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{asking},\
         CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=SASL_PLAINTEXT://127.0.0.1:{asking},PLAINTEXT://127.0.0.1:{port}\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,\
         CONTROLLER:PLAINTEXT\n\
         inter.broker.listener.name=PLAINTEXT\nsasl.enabled.mechanisms=PLAIN\n\
         listener.name.sasl_plaintext.plain.sasl.jaas.config=\
         org.apache.kafka.common.security.plain.PlainLoginModule required user_{WORD}=\"{WORD}\";\n"
    );
    let broker = Broker::start(&Wanted { port, controller, properties, format: Vec::new() });
    (broker, format!("127.0.0.1:{asking}"))
}

/// Two processes of a domain.
struct Pair {
    bus: Bus,
    processes: [Process; 2],
    subjects: BTreeSet<String>,
}

impl Pair {
    fn start(broker: &Broker, bootstrap: &str, more: &[(&str, &str)]) -> Pair {
        // As it ships: a pair that is hastier swaps the lead on a busy machine.
        let bus = Bus::on(&broker.address(), &[], |file| {
            if is_long() {
                set_shipped_partitions(file);
            }
        });
        bus.queue("QUEUE_00", 1, 40);
        let file = bus.path("properties");
        let line = |(key, value): &(&str, &str)| format!("{key}={value}\n");
        std::fs::write(&file, more.iter().map(line).collect::<String>()).unwrap();
        let more = ["--command-config", text(&file)];
        let start = |name| {
            let command = Command::new(PROGRAM);
            Process::start_by(command, bootstrap, &bus.topology, &bus.path(name), &more)
        };
        let processes = ["one", "other"].map(start);
        Pair { bus, processes, subjects: BTreeSet::new() }
    }

    fn ask(&mut self) {
        let subject = format!("1/{}", self.subjects.len());
        self.bus.ask(&subject, 1, 500);
        self.subjects.insert(subject);
    }

    fn load(&self, round: u32) {
        for number in 0..LOAD {
            let id = format!("{round}-{number}");
            let job = yard::job(&id, "QUEUE_00", "", Status::Finished, now());
            self.bus.publish(Topic::JobState, &id, |out| record::write(out, &job));
        }
    }

    /// Both are ready, and one of them leads and makes cycles beyond this one.
    fn is_ready(&mut self, cycle: u64) -> bool {
        self.processes.iter_mut().for_each(Process::must_live);
        let ready: Vec<Ready> = self.processes.iter().filter_map(Process::ready).collect();
        ready.len() == 2
            && ready.iter().all(|it| it.speaks)
            && ready.iter().filter(|it| it.leading).count() == 1
            && self.cycle() > cycle
    }

    /// The newest cycle that either of them knows.
    fn cycle(&self) -> u64 {
        let of = |process: &Process| {
            let answer: serde_json::Value = serde_json::from_str(&process.page("/readyz")?).ok()?;
            answer["state"]["cycle"].as_u64()
        };
        self.processes.iter().filter_map(of).max().unwrap_or(0)
    }

    fn logged(&self) -> String {
        self.processes.iter().map(Process::logged).collect::<Vec<_>>().join("\n---\n")
    }
}

fn set_shipped_partitions(file: &mut Table) {
    let shipped: Table = ATLAS.parse().unwrap();
    for topic in topics_of(file) {
        let name = topic.name();
        file["topics"][name]["partitions"] = shipped["topics"][name]["partitions"].clone();
    }
}

#[test]
fn a_broker_that_restarts_again_and_again_needs_no_person() {
    if !is_possible() {
        return;
    }
    let rounds = if is_long() { 50 } else { 3 };
    let (broker, asking) = broker();
    let sasl = [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", WORD),
        ("sasl.password", WORD),
    ];
    let mut pairs = vec![Pair::start(&broker, &asking, &sasl)];
    if is_long() {
        pairs.push(Pair::start(&broker, &broker.address(), &[]));
    }
    for pair in &mut pairs {
        wait_ready(pair);
    }
    for round in 0..rounds {
        if round % 2 == 0 {
            pairs.iter().for_each(|pair| pair.load(round));
        }
        let blow = match round % 3 {
            0 => {
                broker.stop();
                broker.start_again();
                "TERM".to_owned()
            }
            1 => {
                broker.kill();
                broker.start_again();
                "KILL".to_owned()
            }
            _ => {
                // The first ones are longer than a request waits for its answer.
                let pause = SECOND * (15 - round * 7 % 11);
                broker.signal("STOP");
                std::thread::sleep(pause);
                broker.signal("CONT");
                format!("STOP of {pause:?}")
            }
        };
        pairs.iter_mut().for_each(Pair::ask);
        let back = Instant::now();
        let took = pairs.iter_mut().map(|pair| {
            wait_ready(pair);
            back.elapsed()
        });
        println!("round {round}, {blow}: ready after {:?}", took.collect::<Vec<_>>());
    }
    for Pair { bus, mut processes, subjects } in pairs {
        bus.flush();
        wait_for_answers(&bus, &subjects, &mut processes);
        let clients = processes.iter().map(|it| it.all_logged().matches("made again").count());
        println!("clients made again: {:?}", clients.collect::<Vec<_>>());
        for process in processes {
            assert_eq!(process.stop().code(), Some(0));
        }
        let stores = ["one", "other"].map(|name| bus.path(name));
        println!("{}", settle_accounts(&bus, &subjects, &stores.each_ref().map(|it| &**it)));
    }
}

/// For longer than a client waits, and than a leader leads that cannot read.
#[test]
fn a_client_without_a_broker_is_made_again_and_its_leader_lets_go() {
    let Some(bus) = Bus::own(|_| {}) else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let mut process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    let logged = || process.all_logged();
    // It could not read for 25 s, or what it published was not taken for 30 s, whichever it finds first.
    bus.pause_broker_until(logged, || logged().contains("starting again as a standby"));
    let part = "the Kafka client that reads is made again";
    assert!(logged().contains(part), "{part:?} is not in\n{}", logged());
    // Its broker ends the transaction that was open: after 30 s, and it looks every 10 s.
    wait_until(120 * SECOND, logged, || process.leads());
    bus.ask("1/1", 1, 500);
    bus.flush();
    let subjects = BTreeSet::from(["1/1".to_owned()]);
    wait_for_answers(&bus, &subjects, std::slice::from_mut(&mut process));
    assert_eq!(process.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&bus.path("store")]));
}

/// It is made again in place: the leader goes on to lead, though the records by which it knows its
/// lanes again are gone.
#[test]
fn a_client_is_made_again_over_lanes_that_retention_emptied() {
    let Some(bus) = Bus::own(|_| {}) else { return };
    bus.queue("QUEUE_00", 1, 0);
    bus.flush();
    super::publish(&bus, 0..9);
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    let counters = || process.page("/api/v1/counters?by=queue").unwrap_or_default();
    let knows = |jobs: usize| counters().contains(&format!("\"jobs_running\":{jobs}"));
    wait_until(60 * SECOND, counters, || process.leads() && knows(9));
    let (name, mut gone) = (bus.topic(Topic::JobState), TopicPartitionList::new());
    for partition in 0..2 {
        gone.add_partition_offset(&name, partition, Offset::End).unwrap();
    }
    super::admin(&bus, async |admin, options| admin.delete_records(&gone, &options).await);
    let is_made_again =
        || process.all_logged().contains("the Kafka client that reads is made again");
    bus.pause_broker_until(|| process.logged(), is_made_again);
    super::publish(&bus, 20..29);
    wait_until(60 * SECOND, || process.logged(), || knows(18));
    let logged = process.all_logged();
    // A new life for another reason, a busy broker that took long to come back, is no fault here.
    assert!(!logged.contains("was moved while it was read"), "{logged}");
    assert_eq!(process.stop().code(), Some(0));
}

/// With the function itself this would end the test.
#[test]
fn what_crashes_after_a_restart_is_linked_away() {
    unsafe extern "C" {
        fn rd_kafka_metadata_update_op(client: *mut c_void, news: *mut c_void) -> c_int;
    }
    // SAFETY: what stands for the function looks at neither argument.
    let result = unsafe { rd_kafka_metadata_update_op(null_mut(), null_mut()) };
    assert_eq!(result, 1);
}

#[track_caller]
fn wait_ready(pair: &mut Pair) {
    let (begun, cycle) = (Instant::now(), pair.cycle());
    while !pair.is_ready(cycle + 2) {
        assert!(begun.elapsed() < READY_AGAIN, "not ready\n{}", pair.logged());
        std::thread::sleep(SECOND / 5);
    }
}
