//! Intake as a part of `run`: the leader does it, and the next leader goes on with it.

use super::SECOND;
use super::bus::now;
use super::intake::Place;
use super::process::{Process, wait_until, yardmaster};
use super::witness::glance;
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, Status};
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf, NewTopicSpec};
use yardmaster::wire::avro::{Arena, Codec};

/// How often each state of each of PanDA's jobs was published.
fn published(place: &Place) -> BTreeMap<(String, Status), usize> {
    let (codec, mut published) = (Codec::default(), BTreeMap::new());
    for (_, value) in glance(&place.bus.bootstrap, &place.bus.topic(Topic::JobState)) {
        let mut arena = Arena::default();
        let event = codec.read(Topic::JobState, None, Some(&value), &mut arena);
        let Event::JobState(job) = event else { panic!("{event:?}") };
        if job.queue == "CERN" {
            *published.entry((job.job.to_owned(), job.status)).or_default() += 1;
        }
    }
    published
}

/// The broker takes the first `count` messages of the foreign topic away.
fn forget(place: &Place, count: i64) {
    let mut config = rdkafka::ClientConfig::new();
    config.set("bootstrap.servers", &place.bus.bootstrap);
    let admin: rdkafka::admin::AdminClient<_> = config.create().unwrap();
    let mut gone = rdkafka::TopicPartitionList::new();
    gone.add_partition_offset(&place.foreign, 0, rdkafka::Offset::Offset(count)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(admin.delete_records(&gone, &Default::default())).unwrap();
}

#[test]
fn the_leader_does_intake_and_the_next_one_goes_on_with_it() {
    let hasty = |limits: &mut toml::Table| {
        limits.insert("takeover_s".into(), 1.into());
        limits.insert("takeover_jitter_ms".into(), 0.into());
    };
    let Some(place) = Place::with(1, "in_run = true", hasty) else { return };
    let bus = &place.bus;
    let at = now() / 1_000;
    place.job(1, Status::Running, at - 60);
    place.job(2, Status::Running, at - 60);
    place.writer.flush().unwrap();
    // What PanDA published first was gone before we came.
    forget(&place, 1);
    bus.queue("QUEUE_00", 1, 10);
    bus.ask("1/1", 1, 500);
    bus.flush();
    let start = |name| Process::start(&bus.bootstrap, &place.topology, &bus.path(name));
    let first = start("first");
    wait_until(60 * SECOND, || first.logged(), || first.leads());
    let one = |job: &str, status, count| ((job.to_owned(), status), count);
    let mut wanted: BTreeMap<_, _> = [one("2", Status::Running, 1)].into();
    wait_until(60 * SECOND, || first.logged(), || published(&place) == wanted);
    // Decisions know that under either leader.
    bus.ask("2/1", 1, 500);
    bus.flush();
    let explain = |task: &str| {
        let flags = ["explain", task, "--bootstrap-server", &bus.bootstrap, "--topology"];
        let output = yardmaster(&[&flags[..], &[place.topology.to_str().unwrap()]].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let is_noted = |task: &str| {
        wait_until(60 * SECOND, || first.logged(), || explain(task).contains("assign"));
        explain(task).contains("partial_history")
    };
    assert!(is_noted("2"), "{}", explain("2"));
    // The standby leaves the sources alone until it leads.
    let second = start("second");
    wait_until(60 * SECOND, || second.logged(), || second.ready().is_some());
    place.job(2, Status::Holding, at);
    place.writer.flush().unwrap();
    wanted.extend([one("2", Status::Holding, 1)]);
    wait_until(60 * SECOND, || first.logged(), || published(&place) == wanted);
    assert!(!second.all_logged().contains("jobs read back"), "{}", second.logged());
    first.kill();
    place.job(2, Status::Finished, at + 1);
    place.job(3, Status::Activated, at + 1);
    place.writer.flush().unwrap();
    wait_until(60 * SECOND, || second.logged(), || second.leads());
    wanted.extend([one("2", Status::Finished, 1), one("3", Status::Activated, 1)]);
    wait_until(60 * SECOND, || second.logged(), || published(&place) == wanted);
    bus.ask("3/1", 1, 500);
    bus.flush();
    wait_until(60 * SECOND, || second.logged(), || explain("3").contains("assign"));
    assert!(explain("3").contains("partial_history"), "{}", explain("3"));
    let counters = bus.verb("counters", 0, &["--store", bus.path("second").to_str().unwrap()]);
    assert!(counters.contains("CERN"), "what intake says is folded: {counters}");
    assert_eq!(second.stop().code(), Some(0));
}

#[test]
fn a_leader_is_not_ready_while_its_intake_is_down() {
    let hasty = |limits: &mut toml::Table| {
        limits.insert("takeover_s".into(), 1.into());
        limits.insert("takeover_jitter_ms".into(), 0.into());
        limits.insert("backoff_max_s".into(), 1.into());
    };
    let Some(place) = Place::with(1, "in_run = true", hasty) else { return };
    let bus = &place.bus;
    let absent = format!("{}.absent", bus.domain);
    let topology = std::fs::read_to_string(&place.topology).unwrap()
        + &format!("\n[[intake.source]]\ntopic = \"{absent}\"\ndialect = \"rucio\"\n");
    std::fs::write(&place.topology, topology).unwrap();
    let flags = ["--bootstrap-server", &bus.bootstrap, "--topology"];
    let check = || {
        let file = place.topology.to_str().unwrap();
        let output = yardmaster(&[&["topology", "check"], &flags[..], &[file]].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(check().contains(&format!("{absent}: is not there")), "{}", check());
    let process = Process::start(&bus.bootstrap, &place.topology, &bus.path("store"));
    let page = || process.page("/readyz").unwrap_or_default();
    let is_down = || {
        let page = page();
        [absent.as_str(), "intake is down", "kafka-topics.sh"].iter().all(|it| page.contains(it))
    };
    wait_until(60 * SECOND, || format!("{}\n{}", page(), process.logged()), is_down);
    assert!(process.ready().is_some_and(|it| it.leading && !it.speaks), "{}", page());
    let configs = Vec::new();
    let spec = NewTopicSpec { name: absent.clone(), partitions: 1, replication: -1, configs };
    let conf = KafkaConf::new(&bus.bootstrap, &bus.domain, Vec::new());
    KafkaAdmin::open(&conf).unwrap().create(&[spec]).unwrap();
    wait_until(60 * SECOND, || format!("{}\n{}", page(), process.logged()), || process.leads());
    assert!(!check().contains("is not there"), "{}", check());
    assert_eq!(process.stop().code(), Some(0));
}
