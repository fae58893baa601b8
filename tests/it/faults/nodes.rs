//! A cluster of three, of which one is killed: the one that keeps our transactions; with
//! `YARDMASTER_LONG=1` then also the one that leads our topics.

use super::{admin, is_long, quick};
use crate::broker::{Broker, Wanted, free_ports, is_possible};
use crate::kill::bus::{Bus, parts};
use crate::kill::process::{Process, wait_until};
use crate::kill::{SECOND, settle_accounts, wait_for_answers, wait_for_lead};
use rdkafka::ClientConfig;
use rdkafka::admin::NewPartitions;
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

/// The broker that leads a partition, and how many are in step with it.
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
    let victims = [
        ("who keeps our transactions", "__transaction_state", kept_in(&id)),
        ("who leads progress", progress.as_str(), 0),
    ];
    let count = if is_long() { 2 } else { 1 };
    for (what, topic, partition) in victims.into_iter().take(count) {
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

/// Node 2, a broker without a vote: node 1 goes on when it is gone.
fn second(first: &Broker, controller: u16) -> Broker {
    let [port, unused] = free_ports();
    let properties = format!(
        "node.id=2\nprocess.roles=broker\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
         listeners=PLAINTEXT://127.0.0.1:{port}\nbroker.session.timeout.ms=3000\n\
         broker.heartbeat.interval.ms=500\n"
    );
    assert_ne!(first.port, port);
    Broker::start(&Wanted { port, controller: unused, properties, format: Vec::new() })
}

/// The only replica of a partition of pilot reports is gone: a start and a takeover go on without
/// it, and take it up when it is back.
#[test]
fn a_start_and_a_takeover_go_on_without_a_partition_whose_broker_is_dead() {
    if !is_possible() {
        return;
    }
    let [port, controller] = free_ports();
    let properties = "broker.session.timeout.ms=3000\n".to_owned();
    let first = Broker::start(&Wanted { port, controller, properties, format: Vec::new() });
    let bus = Bus::on(&first.address(), &[], |file| {
        quick(file);
        parts(file, |limits, _| drop(limits.insert("start_without_lane_s".into(), 2.into())));
    });
    bus.queue("QUEUE_00", 1, 200);
    bus.flush();
    // Kafka's own topics are made while node 1 is alone.
    let stores = [bus.path("store-a"), bus.path("store-b"), bus.path("store-c")];
    let start = |at: usize| Process::start(&bus.bootstrap, &bus.topology, &stores[at]);
    let process = start(0);
    wait_for_lead(&process, 60 * SECOND);
    assert_eq!(process.stop().code(), Some(0));
    let node = second(&first, controller);
    let pilot = bus.topic(Topic::Pilot);
    let count = partitions(&bus, &pilot).len();
    let wanted = [NewPartitions::new(&pilot, count + 1).assign(&[&[2]])];
    admin(&bus, async |admin, options| admin.create_partitions(&wanted, &options).await);
    let leaders = || partitions(&bus, &pilot);
    wait_until(60 * SECOND, || format!("{:?}", leaders()), || leaders().get(count) == Some(&2));
    node.kill();
    wait_until(60 * SECOND, || format!("{:?}", leaders()), || leaders().get(count) == Some(&-1));

    // From a store that does not know the partition, and without a store.
    let leader = start(0);
    wait_for_lead(&leader, 60 * SECOND);
    let name = format!("{pilot}[{count}]");
    assert!(leader.logged().contains(&name), "it is named: {}", leader.logged());
    let mut subjects = BTreeSet::new();
    let mut pair = [leader, start(1)];
    crate::kill::ask(&bus, &mut subjects, &mut pair);
    wait_for_answers(&bus, &subjects, &mut pair);
    let is_standing_by = || pair[1].ready().is_some_and(|ready| ready.speaks && !ready.leading);
    wait_until(60 * SECOND, || pair[1].logged(), is_standing_by);
    let [leader, standby] = pair;
    leader.kill();
    let mut standby = [standby];
    crate::kill::ask(&bus, &mut subjects, &mut standby);
    wait_for_answers(&bus, &subjects, &mut standby);

    // The partition is back: what is written there is read.
    node.start_again();
    wait_until(60 * SECOND, || format!("{:?}", leaders()), || leaders().get(count) == Some(&2));
    let [process] = standby;
    assert_eq!(process.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&stores[1]]));
}

/// The node that leads each partition of a topic; -1 for none.
fn partitions(bus: &Bus, topic: &str) -> Vec<i32> {
    let mut config = ClientConfig::new();
    let client: BaseConsumer = config.set("bootstrap.servers", &bus.bootstrap).create().unwrap();
    let metadata = client.fetch_metadata(Some(topic), 10 * SECOND).expect("metadata");
    let topic = metadata.topics().first().expect("the topic");
    let mut leaders: Vec<(i32, i32)> =
        topic.partitions().iter().map(|it| (it.id(), it.leader())).collect();
    leaders.sort_unstable();
    leaders.into_iter().map(|(_, leader)| leader).collect()
}
