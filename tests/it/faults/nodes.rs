//! A cluster of three, of which one is killed: the one that leads our topics, then the one that
//! keeps our transactions.

use super::quick;
use crate::broker::{Broker, Wanted, free_ports, is_possible};
use crate::kill::bus::Bus;
use crate::kill::process::{Process, wait_until};
use crate::kill::{SECOND, settle_accounts, wait_for_answers, wait_for_lead};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::collections::BTreeSet;
use std::time::Instant;
use yardmaster::core::cut::Topic;
use yardmaster::wire::topology::Topology;

const NODES: usize = 3;
/// Partitions of the topic that transactions are kept in.
const KEPT: i32 = 4;

fn cluster() -> Vec<Broker> {
    let ports: [u16; NODES] = free_ports();
    let controllers: [u16; NODES] = free_ports();
    let voters: Vec<String> = controllers
        .iter()
        .enumerate()
        .map(|(at, port)| format!("{}@127.0.0.1:{port}", at + 1))
        .collect();
    let voters = voters.join(",");
    let wanted = |at: usize| Wanted {
        port: ports[at],
        controller: controllers[at],
        properties: format!(
            "node.id={}\ncontroller.quorum.voters={voters}\ndefault.replication.factor=3\n\
             min.insync.replicas=2\noffsets.topic.replication.factor=3\n\
             transaction.state.log.replication.factor=3\ntransaction.state.log.min.isr=2\n\
             transaction.state.log.num.partitions={KEPT}\n\
             broker.session.timeout.ms=3000\nbroker.heartbeat.interval.ms=500\n",
            at + 1
        ),
        format: Vec::new(),
    };
    // None listens before two are up.
    std::thread::scope(|scope| {
        let start = |at: usize| scope.spawn(move || Broker::start(&wanted(at)));
        let started: Vec<_> = (0..NODES).map(start).collect();
        started.into_iter().map(|it| it.join().expect("a broker")).collect()
    })
}

/// Whoever leads a partition, and how many are in step with it.
fn leader(bus: &Bus, topic: &str, partition: i32) -> Option<(usize, usize)> {
    let mut config = ClientConfig::new();
    let client: BaseConsumer = config.set("bootstrap.servers", &bus.bootstrap).create().unwrap();
    let metadata = client.fetch_metadata(Some(topic), 10 * SECOND).ok()?;
    let found = metadata.topics().first()?.partitions().iter().find(|it| it.id() == partition)?;
    let node = usize::try_from(found.leader()).ok()?;
    Some((node.checked_sub(1)?, found.isr().len()))
}

/// The partition that keeps the transactions of an id: the broker hashes as Java does.
fn kept_in(id: &str) -> i32 {
    let hash =
        id.bytes().fold(0i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)));
    (hash & i32::MAX) % KEPT
}

#[test]
fn of_three_brokers_any_one_may_die() {
    if !is_possible() {
        return;
    }
    let begun = Instant::now();
    let brokers = cluster();
    println!("three brokers after {:?}", begun.elapsed());
    let all: Vec<String> = brokers.iter().map(Broker::address).collect();
    let bus = Bus::on(&all.join(","), &[], quick);
    let text = std::fs::read_to_string(&bus.topology).unwrap();
    let id = Topology::parse("topology", &text).unwrap().transactional_id();
    let store = bus.path("store");
    bus.queue("QUEUE_00", 1, 200);
    bus.flush();
    let mut process = [Process::start(&bus.bootstrap, &bus.topology, &store)];
    wait_for_lead(&process[0], 60 * SECOND);
    let mut subjects = BTreeSet::new();
    let progress = bus.topic(Topic::Progress);
    for (what, topic, partition) in [
        ("who leads progress", progress.as_str(), 0),
        ("who keeps our transactions", "__transaction_state", kept_in(&id)),
    ] {
        crate::kill::ask(&bus, &mut subjects, &mut process);
        let whole = || leader(&bus, topic, partition).filter(|(_, in_step)| *in_step == NODES);
        wait_until(60 * SECOND, || format!("{topic} is not whole"), || whole().is_some());
        let (victim, _) = whole().expect("it was just now");
        for at in 0..20 {
            let subject = format!("{}/{at}", subjects.len());
            bus.ask(&subject, 1, 500);
            subjects.insert(subject);
        }
        brokers[victim].kill();
        let begun = Instant::now();
        bus.flush();
        wait_for_answers(&bus, &subjects, &mut process);
        println!("node {}, {what}, killed: all answered after {:?}", victim + 1, begun.elapsed());
        brokers[victim].start_again();
    }
    let [process] = process;
    assert_eq!(process.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&store]));
}
