//! Topics of one test on a real broker, with a topology file of their own, and what is published there.

use crate::broker::{self, Broker};
use crate::drive::yard;
use crate::kill::process::{wait_until, yardmaster};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use toml::{Table, Value};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{JobState, Pilot, Queue, Status, Task};
use yardmaster::core::unit::DAY;
use yardmaster::shell::kafka::{KafkaConf, KafkaWriter};
use yardmaster::wire::{record, topology};

/// Topics on a real broker.
pub struct Bus {
    pub bootstrap: String,
    /// Domain, and the beginning of every topic's name: no other test's.
    pub domain: String,
    /// The topology file.
    pub topology: PathBuf,
    /// A file of librdkafka properties for clients that list topics and write; none on a broker that
    /// lets everybody in.
    config: Option<PathBuf>,
    dir: TempDir,
    writer: KafkaWriter,
    /// The broker, if it is this test's own.
    broker: Option<Arc<Broker>>,
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

impl Bus {
    /// Makes the topics; `None`, and says so, when no broker is named. `change` changes the limits
    /// and the policy of the topology that ships.
    pub fn real(change: impl FnOnce(&mut Table, &mut Table)) -> Option<Bus> {
        let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
            println!("left out: YARDMASTER_TEST_KAFKA names no broker");
            return None;
        };
        Some(Bus::on(&bootstrap, &[], |file| parts(file, change)))
    }

    /// The same; `change` changes the whole file.
    pub fn real_with(change: impl FnOnce(&mut Table)) -> Option<Bus> {
        let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
            println!("left out: YARDMASTER_TEST_KAFKA names no broker");
            return None;
        };
        Some(Bus::on(&bootstrap, &[], change))
    }

    /// A topology whose topics are not made yet.
    pub fn without_topics() -> Option<Bus> {
        let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
            println!("left out: YARDMASTER_TEST_KAFKA names no broker");
            return None;
        };
        Some(Bus::named(topology::ATLAS, &bootstrap, &[], |_| {}))
    }

    /// The same with another topology that ships.
    pub fn real_of(shipped: &str, change: impl FnOnce(&mut Table)) -> Option<Bus> {
        let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
            println!("left out: YARDMASTER_TEST_KAFKA names no broker");
            return None;
        };
        Some(Bus::of(shipped, &bootstrap, &[], change))
    }

    /// The same on a broker of this test's own, which may be restarted; `None`, and says so, when
    /// there are no jars to start one from.
    pub fn own(change: impl FnOnce(&mut Table)) -> Option<Bus> {
        if !broker::is_possible() {
            return None;
        }
        let broker = Broker::with("");
        let bus = Bus::on(&broker.address(), &[], change);
        Some(Bus { broker: Some(Arc::new(broker)), ..bus })
    }

    /// Restarts its own broker hard, beside whatever goes on.
    pub fn restart_broker(&self) -> JoinHandle<()> {
        let broker = self.broker.clone().expect("a broker of its own");
        std::thread::spawn(move || {
            broker.kill();
            broker.start_again();
        })
    }

    /// Stops its own broker for so long, beside whatever goes on: it takes connections and says nothing.
    pub fn pause_broker(&self, span: Duration) -> JoinHandle<()> {
        let broker = self.broker.clone().expect("a broker of its own");
        broker.signal("STOP");
        std::thread::spawn(move || {
            std::thread::sleep(span);
            broker.signal("CONT");
        })
    }

    /// Stops its own broker until something is so.
    #[track_caller]
    pub fn pause_broker_until(&self, what: impl Fn() -> String, is_so: impl FnMut() -> bool) {
        let broker = self.broker.clone().expect("a broker of its own");
        broker.signal("STOP");
        wait_until(Duration::from_secs(120), what, is_so);
        broker.signal("CONT");
    }

    /// A job that has run for a month: rule T8 is due for it.
    pub fn old_job(&self, id: &str) {
        let at = now();
        let job = yard::job(id, "QUEUE_00", "", Status::Running, at);
        let since = at - 30 * DAY;
        let job = JobState { created_at: since, started_at: since, task: "0", ..job };
        self.publish(Topic::JobState, id, |out| record::write(out, &job));
    }

    /// The same on this broker, with these librdkafka properties; `change` changes the whole file.
    pub fn on(
        bootstrap: &str,
        properties: &[(&str, &str)],
        change: impl FnOnce(&mut Table),
    ) -> Bus {
        Bus::of(topology::ATLAS, bootstrap, properties, change)
    }

    fn of(
        shipped: &str,
        bootstrap: &str,
        properties: &[(&str, &str)],
        change: impl FnOnce(&mut Table),
    ) -> Bus {
        let bus = Bus::named(shipped, bootstrap, properties, change);
        bus.verb("topology", 0, &["apply"]);
        bus
    }

    fn named(
        shipped: &str,
        bootstrap: &str,
        properties: &[(&str, &str)],
        change: impl FnOnce(&mut Table),
    ) -> Bus {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Other tests run in processes of their own.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let domain = format!("kill-{}-{}-{count}", now(), std::process::id());
        let dir = TempDir::new().unwrap();
        let topology = dir.path().join("topology.toml");
        std::fs::write(&topology, topology_text(shipped, &domain, change)).unwrap();
        let mut conf = KafkaConf::new(bootstrap, &domain, Vec::new());
        let own = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
        conf.properties = properties.iter().map(own).collect();
        let config = (!properties.is_empty()).then(|| dir.path().join("admin.properties"));
        if let Some(config) = &config {
            let line = |(key, value): &(&str, &str)| format!("{key}={value}\n");
            std::fs::write(config, properties.iter().map(line).collect::<String>()).unwrap();
        }
        let writer = KafkaWriter::open(&conf).unwrap();
        let bootstrap = bootstrap.to_owned();
        Bus { bootstrap, domain, topology, config, dir, writer, broker: None }
    }

    /// A place for a store or a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The name of a topic.
    pub fn topic(&self, topic: Topic) -> String {
        topic_name(&self.domain, topic)
    }

    /// Flags that name this log for a verb.
    pub fn place(&self) -> Vec<&str> {
        let topology = self.topology.to_str().unwrap();
        let mut place = vec!["--bootstrap-server", &self.bootstrap, "--topology", topology];
        if let Some(config) = &self.config {
            place.extend(["--command-config", text(config)]);
        }
        place
    }

    /// Output of a verb; it must exit with `code`.
    #[track_caller]
    pub fn verb(&self, verb: &str, code: i32, more: &[&str]) -> String {
        // A verb of a verb comes before every flag.
        let (first, more) =
            more.split_at(usize::from(["topology", "repair", "import"].contains(&verb)));
        let place = self.place();
        let args = [&[verb], first, &place, more].concat();
        let output = yardmaster(&args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "yardmaster {args:?}\n{text}\n{error}");
        text
    }

    /// Sets a topic's settings, and waits until the broker itself has them; what is not named goes
    /// back to the default.
    pub fn configure(&self, topic: Topic, settings: &[(&str, &str)]) {
        let mut config = ClientConfig::new();
        let client: AdminClient<DefaultClientContext> =
            config.set("bootstrap.servers", &self.bootstrap).create().unwrap();
        let (name, options) = (self.topic(topic), AdminOptions::new());
        let which = ResourceSpecifier::Topic(&name);
        let wanted = AlterConfig::new(which);
        let wanted = settings.iter().fold(wanted, |wanted, (key, value)| wanted.set(key, value));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let done = runtime.block_on(client.alter_configs(&[wanted], &options)).unwrap();
        assert!(done[0].is_ok(), "{done:?}");
        let known = || {
            let known = runtime.block_on(client.describe_configs([&which], &options)).unwrap();
            known[0]
                .as_ref()
                .unwrap()
                .entry_map()
                .into_iter()
                .filter_map(|(key, entry)| Some((key.to_owned(), entry.value.clone()?)))
                .collect::<BTreeMap<_, _>>()
        };
        let are_there = || {
            let known = known();
            settings.iter().all(|(key, value)| known.get(*key).is_some_and(|it| it == value))
        };
        wait_until(Duration::from_secs(30), || format!("{:?}", known()), are_there);
    }

    /// Says a record that is stamped now.
    pub fn publish(&self, topic: Topic, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.publish_at(topic, key, None, write);
    }

    /// Says a record with a time stamp of its own.
    pub fn publish_at(
        &self,
        topic: Topic,
        key: &str,
        at: Option<i64>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut value = Vec::new();
        write(&mut value);
        let name = self.topic(topic);
        self.writer.append(&name, None, Some(key.as_bytes()), Some(&value), &[], at).unwrap();
    }

    /// Any bytes, or a null, on the first partition of a topic.
    pub fn write(&self, topic: Topic, key: &str, value: Option<&[u8]>) {
        self.write_in(topic, 0, key.as_bytes(), value);
    }

    /// The same on a partition of one's choice.
    pub fn write_in(&self, topic: Topic, partition: u32, key: &[u8], value: Option<&[u8]>) {
        let name = self.topic(topic);
        self.writer.append(&name, Some(partition), Some(key), value, &[], None).unwrap();
    }

    /// Waits until everything published is durable.
    pub fn flush(&self) {
        self.writer.flush().unwrap();
    }

    /// A queue with room on disk, a pilot, and running jobs so that it may be given more.
    pub fn queue(&self, name: &str, cores: u32, running: u32) {
        let at = now();
        let queue = Queue { cores, ..yard::queue(name, at) };
        let storage = yard::storage(&queue.endpoints.write[0], &queue.site, at);
        self.publish(Topic::Storage, &storage.name, |out| record::write(out, &storage));
        self.publish(Topic::Queue, name, |out| record::write(out, &queue));
        let report = Pilot::AskedJob { queue: name, node: "node1", at };
        self.publish(Topic::Pilot, name, |out| record::write(out, &report));
        for number in 0..running {
            let id = format!("{name}-{number}");
            let mut job = yard::job(&id, name, "", Status::Running, at);
            (job.task, job.started_at, job.cores) = ("0", at, cores);
            self.publish(Topic::JobState, &id, |out| record::write(out, &job));
        }
    }

    /// A request for so many cores a job.
    pub fn ask(&self, subject: &str, cores: u32, priority: i32) {
        self.publish(Topic::Task, subject, |out| self.request(subject, cores, priority, out));
    }

    /// The same on a partition of one's choice, which may be new.
    pub fn ask_in(&self, partition: u32, subject: &str) {
        let (name, mut value) = (self.topic(Topic::Task), Vec::new());
        self.request(subject, 1, 500, &mut value);
        let (partition, key) = (Some(partition), Some(subject.as_bytes()));
        // A client that has written before would learn of a new partition after minutes.
        let conf = KafkaConf::new(&self.bootstrap, &self.domain, Vec::new());
        let writer = KafkaWriter::open(&conf).unwrap();
        writer.append(&name, partition, key, Some(&value), &[], None).unwrap();
        writer.flush().unwrap();
    }

    /// A request as bytes.
    pub fn request(&self, subject: &str, cores: u32, priority: i32, out: &mut Vec<u8>) {
        let domain = self.domain.clone();
        let task =
            Task { domain, core_count: Some(cores), priority, ..yard::task(subject, 2, now()) };
        record::write(out, &task);
    }
}

fn topic_name(domain: &str, topic: Topic) -> String {
    format!("{domain}.{}", topic.name())
}

/// A shipped topology with names of its own, few partitions, and what `change` does to it.
fn topology_text(shipped: &str, domain: &str, change: impl FnOnce(&mut Table)) -> String {
    let mut file: Table = shipped.parse().unwrap();
    file.insert("domain".into(), domain.into());
    let kafka = table(&mut file, "kafka");
    kafka.insert("group".into(), domain.into());
    for topic in topics_of(&mut file) {
        let settings = table(table(&mut file, "topics"), topic.name());
        settings.insert("name".into(), topic_name(domain, topic).into());
        let partitions = settings["partitions"].as_integer().unwrap().min(2);
        settings.insert("partitions".into(), partitions.into());
    }
    change(&mut file);
    file.to_string()
}

/// The topics that a topology file has.
pub fn topics_of(file: &mut Table) -> Vec<Topic> {
    let names = table(file, "topics").keys();
    names.map(|name| Topic::from_name(name).expect("a topic")).collect()
}

/// Gives a topology file's limits and its policy to `change`.
pub fn parts(file: &mut Table, change: impl FnOnce(&mut Table, &mut Table)) {
    // One that ships may leave all limits at their defaults.
    let mut limits = match file.remove("limits") {
        Some(Value::Table(limits)) => limits,
        _ => Table::new(),
    };
    let Value::Array(policies) = &mut file["policy"] else { panic!("policies are a list") };
    let Value::Table(policy) = &mut policies[0] else { panic!("a policy is a table") };
    change(&mut limits, policy);
    file.insert("limits".into(), limits.into());
}

/// Rules act, and nothing puts a deadline off: what was overdue before the start is commanded at
/// once.
pub fn act_at_once(file: &mut Table) {
    table(table(file, "topics"), "job-state").remove("silence_limit_s");
    let Value::Array(rules) = &mut file["rule"] else { panic!("rules are a list") };
    for rule in rules {
        let Value::Table(rule) = rule else { panic!("a rule is a table") };
        rule.insert("mode".into(), "on".into());
    }
}

/// A table within a table.
pub fn table<'a>(table: &'a mut Table, key: &str) -> &'a mut Table {
    match &mut table[key] {
        Value::Table(table) => table,
        other => panic!("{key} is {other}, not a table"),
    }
}

/// Where a store lies, as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of plain text")
}
