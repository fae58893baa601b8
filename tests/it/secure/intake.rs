//! The same of intake: with the rights that docs/security.md lists for it, and with one less.

use super::acl::{Right, published};
use super::{Fort, SECOND, admin, hushed};
use crate::kill::bus::{Bus, text};
use crate::kill::process::{Ending, PROGRAM, wait_until};
use rdkafka::consumer::Consumer;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use yardmaster::core::cut::Topic;
use yardmaster::drive::intake::PUBLISHED_TOPICS;
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf, KafkaWriter, NewTopicSpec};

/// Each with a message of every kind that becomes something else.
const SOURCES: [(&str, &[&str]); 4] = [
    (
        "panda",
        &[
            r#"{"msg_type": "job_status", "jobid": N, "taskid": 4, "status": "running",
                "timestamp": 1760000000, "computingsite": "CERN"}"#,
            r#"{"msg_type": "task_status", "taskid": N, "status": "done", "timestamp": 1760000000}"#,
            r#"{"msg_type": "job_status", "jobid": "nobody's"}"#,
        ],
    ),
    (
        "panda-cdc",
        &[r#"{"op": "u", "after": {"pandaid": 9N, "jobstatus": "running",
                "statechangetime": 1795368940435879, "modificationtime": 1795368941435879},
                "source": {"table": "jobsactive4", "lsn": N, "txId": N, "ts_ms": 1795368941500}}"#],
    ),
    (
        "rucio",
        &[
            r#"{"event_type": "transfer-queued", "created_at": "2025-03-20 20:15:43",
                "payload": {"request-id": "rN", "dst-rse": "X"}}"#,
            r#"{"event_type": "deletion-done", "created_at": "2025-03-20 20:15:43",
                "payload": {"scope": "s", "name": "fN", "rse": "X", "bytes": 1}}"#,
        ],
    ),
    (
        "harvester",
        &[r#"{"method": "report_worker_statistics", "harvester_id": "h", "panda_queue": "CERN",
            "timestamp": 1760000000, "statistics": {"user": {"SCORE": {"running": 1}}}}"#],
    ),
];

struct Taps<'a> {
    fort: &'a Fort,
    bus: Bus,
    conf: KafkaConf,
    writer: KafkaWriter,
    topology: PathBuf,
    user: PathBuf,
}

impl Taps<'_> {
    fn new(fort: &Fort) -> Taps<'_> {
        let (bus, authority) = (fort.bus(), fort.path("ca.pem"));
        let mut conf = KafkaConf::new(&fort.broker.address(), &bus.domain, Vec::new());
        let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        conf.properties = admin(&authority).map(own).into();
        let writer = KafkaWriter::open(&conf).unwrap();
        let topology = bus.path("intake.toml");
        let mut whole = std::fs::read_to_string(&bus.topology).unwrap();
        for (dialect, _) in SOURCES {
            let name = format!("{}-{dialect}", bus.domain);
            let spec = NewTopicSpec { name, partitions: 1, replication: -1, configs: Vec::new() };
            whole +=
                &format!("\n[[intake.source]]\ntopic = {:?}\ndialect = {dialect:?}\n", spec.name);
            KafkaAdmin::open(&conf).unwrap().create(&[spec]).unwrap();
        }
        std::fs::write(&topology, whole).unwrap();
        let user = fort.user();
        Taps { fort, bus, conf, writer, topology, user }
    }

    fn source(&self, dialect: &str) -> String {
        format!("{}-{dialect}", self.bus.domain)
    }

    fn rights(&self) -> Vec<Right> {
        let spread = |right: Right| match right.name.as_str() {
            "panda.jobs" => {
                let name = |(dialect, _)| Right { name: self.source(dialect), ..right.clone() };
                SOURCES.map(name).to_vec()
            }
            _ => vec![right],
        };
        published("intake", &self.bus.domain).into_iter().flat_map(spread).collect()
    }

    /// Says one of everything, after something that the broker takes away before it is read.
    fn publish(&self, number: i64) {
        for (dialect, texts) in SOURCES {
            let topic = self.source(dialect);
            let put = |text: &str| {
                let text = text.replace('N', &number.to_string());
                self.writer.append(&topic, None, None, Some(text.as_bytes()), &[], None).unwrap();
            };
            put("{}");
            self.writer.flush().unwrap();
            if dialect == "panda" {
                self.forget(&topic);
            }
            texts.iter().for_each(|text| put(text));
        }
        self.writer.flush().unwrap();
    }

    fn forget(&self, topic: &str) {
        let mut config = rdkafka::ClientConfig::new();
        config.set("bootstrap.servers", &self.conf.bootstrap);
        config.extend(self.conf.properties.clone());
        let admin: rdkafka::admin::AdminClient<_> = config.create().unwrap();
        let mut gone = rdkafka::TopicPartitionList::new();
        gone.add_partition_offset(topic, 0, rdkafka::Offset::End).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(admin.delete_records(&gone, &Default::default())).unwrap();
    }

    fn start(&self, log: &Path) -> Ending {
        self.start_with(log, &[])
    }

    fn start_with(&self, log: &Path, more: &[&str]) -> Ending {
        let child = Command::new(PROGRAM)
            .args(["intake", "--bootstrap-server", &self.fort.broker.address(), "--skip-lost"])
            .args(["--topology", text(&self.topology), "--http", "127.0.0.1:0"])
            .args(["--command-config", text(&self.user)])
            .args(more)
            .stdin(Stdio::null())
            .stderr(File::create(log).unwrap())
            .spawn();
        Ending(child.expect("the program"))
    }

    /// Whether something was published on every topic that intake speaks on.
    fn is_all_published(&self) -> bool {
        let mut config = rdkafka::ClientConfig::new();
        config.set("bootstrap.servers", &self.conf.bootstrap);
        config.extend(self.conf.properties.clone());
        let client: rdkafka::consumer::BaseConsumer = config.create().unwrap();
        let published_topic = |topic: &Topic| {
            let name = self.bus.topic(*topic);
            let end = |partition| client.fetch_watermarks(&name, partition, 10 * SECOND).unwrap().1;
            let count = client.fetch_metadata(Some(&name), 10 * SECOND).unwrap();
            (0..count.topics()[0].partitions().len() as i32).any(|partition| end(partition) > 0)
        };
        PUBLISHED_TOPICS.iter().all(published_topic)
    }
}

#[test]
fn intake_with_a_wrong_password_gets_the_remedy() {
    let Some(fort) = Fort::build() else { return };
    let taps = Taps::new(&fort);
    let (log, wrong) = (fort.path("wrong.log"), fort.path("wrong-password"));
    std::fs::write(&wrong, "this-is-not-it").unwrap();
    let password = format!("sasl.password=${{file:{}}}", wrong.display());
    let mut child = taps.start_with(&log, &["-X", &password]);
    let reported = || std::fs::read_to_string(&log).unwrap_or_default();
    let mut code = None;
    wait_until(60 * SECOND, reported, || {
        code = child.0.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.and_then(|code| code.code()), Some(1), "{}", reported());
    assert!(reported().contains("sasl."), "{}", reported());
}

#[test]
fn intake_needs_the_rights_that_are_published_for_it_and_names_the_one_it_lacks() {
    let Some(fort) = Fort::build() else { return };
    let taps = Taps::new(&fort);
    let (granting, rights) = (fort.rights(), taps.rights());
    assert!(rights.len() > 10, "docs/security.md lists {rights:?}");
    rights.iter().for_each(|right| granting.grant(right));
    let log = fort.path("intake.log");
    let reported = || std::fs::read_to_string(&log).unwrap_or_default();
    taps.publish(1);
    let mut child = taps.start(&log);
    wait_until(60 * SECOND, reported, || taps.is_all_published());
    assert!(child.0.try_wait().unwrap().is_none(), "{}", reported());
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    for (at, right) in rights.iter().enumerate() {
        taps.publish(at as i64 + 2);
        granting.revoke(right);
        let mut child = taps.start(&log);
        let mut code = None;
        wait_until(
            60 * SECOND,
            || format!("without {right:?}: {}", reported()),
            || {
                code = child.0.try_wait().unwrap();
                code.is_some()
            },
        );
        hushed(&reported());
        let last = reported().lines().last().unwrap_or_default().to_owned();
        println!("without {} of {}: {last}", right.operation, right.name);
        assert_eq!(code.and_then(|code| code.code()), Some(1), "without {right:?}: {}", reported());
        for part in [&right.name, &right.operation, "kafka-acls.sh", "docs/security.md"] {
            assert!(last.contains(part), "without {right:?}, {part:?} is not in {last:?}");
        }
        granting.grant(right);
    }
}
