//! How to reach a Kafka, and which librdkafka property goes to which client.

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::limits::Limits;
use yardmaster_drive::port::LogError;

/// A topic with its name on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicMap {
    /// The topic.
    pub topic: Topic,
    /// Its name.
    pub name: String,
}

/// Appends a value of a topic as it is to be read: turned into one of ours, or as it is.
pub type ValueConversion = fn(Topic, &[u8], &mut Vec<u8>);

/// How to reach a Kafka, and what to read and publish there. Not to be printed: it holds secrets.
#[derive(Clone)]
pub struct KafkaConf {
    /// `host:port`, several separated by commas.
    pub bootstrap: String,
    /// librdkafka properties, passed through.
    pub properties: BTreeMap<String, String>,
    /// Transactional id; of all processes with the same one only the last to lead can publish.
    pub transactional_id: String,
    /// Consumer group whose offsets are set now and then, for Kafka's own lag tools alone; `None`
    /// to set none.
    pub group: Option<String>,
    /// The topics. One without a lane assigned costs nothing.
    pub topics: Vec<TopicMap>,
    /// Conversion of values as they are read; `None`: none.
    pub turn: Option<ValueConversion>,
    /// How long one question to the broker may take.
    pub patience: Duration,
    /// How long a question is asked again that the broker does not answer.
    pub persistence: Duration,
    /// Longest record that is published, key included; bytes. The client takes no less.
    pub max_output_bytes: usize,
    /// How long a start waits for partitions without a leader before it goes on without them.
    pub start_without_after: Duration,
    /// How long a lane may fail before it counts as unreadable (design: 60 s).
    pub unreadable_after: Duration,
    /// How often intake commits the offsets of all partitions, moved or not: a broker forgets one
    /// that was not committed for `offsets.retention.minutes`, seven days by default.
    pub commit_all_after: Duration,
}

/// The client's own limit on a record; by default librdkafka refuses what is longer than so many
/// bytes, whatever the topic takes.
const MESSAGE_BYTES: &str = "message.max.bytes";
const CLIENT_BYTES: usize = 1_000_000;
/// Bytes that the client counts beside key and value: headers, and the framing of a batch.
const RECORD_OVERHEAD_BYTES: usize = 65_536;

/// Bytes of a batch. A broker refuses a batch that is longer than the topic's `max.message.bytes`,
/// though each record of it fits; one record may always be longer.
const BATCH_BYTES: &str = "batch.size";
const BATCH_BYTES_MAX: usize = 131_072;

/// Properties on which the guarantees rest, set by us alone.
const OURS: [&str; 11] = [
    "allow.auto.create.topics",
    "auto.offset.reset",
    "bootstrap.servers",
    "delivery.report.only.error",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "isolation.level",
    "transactional.id",
];

/// Properties (or their beginnings, with a dot or underscore last) that only a consumer has.
const CONSUMER: [&str; 17] = [
    "check.crcs",
    "consume.callback.max.messages",
    "consume_",
    "coordinator.query.interval.ms",
    "auto.commit.",
    "fetch.",
    "group.",
    "heartbeat.interval.ms",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "offset.store.",
    "offset_commit_cb",
    "partition.assignment.strategy",
    "queued.",
    "rebalance_cb",
    "session.timeout.ms",
    "auto.offset.",
];

/// The same for a producer.
const PRODUCER: [&str; 20] = [
    "acks",
    "batch.",
    "compression.",
    "delivery.",
    "dr_",
    "enable.gapless.guarantee",
    "linger.ms",
    "message.send.max.retries",
    "message.timeout.ms",
    "msg_order_cmp",
    "partitioner",
    "produce.",
    "queue.buffering.",
    "queuing.strategy",
    "request.required.acks",
    "request.timeout.ms",
    "retries",
    "retry.backoff.",
    "sticky.partitioning.linger.ms",
    "transaction.timeout.ms",
];

/// Whether a property holds a secret, which must not stand where others read it. Mistyped names
/// count where they still look like one.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = ["key.pem", "sasl.oauthbearer.config", "jaas.config"];
    let parts = ["pass", "pasw", "pwd", "secret"];
    ends.iter().any(|end| name.ends_with(end)) || parts.iter().any(|part| name.contains(part))
}

const SOCKET_TIMEOUT: &str = "socket.timeout.ms";
const TRANSACTION_TIMEOUT: &str = "transaction.timeout.ms";
/// The same when no property is given.
const TRANSACTION_TIMEOUT_MS: &str = "30000";
/// How long a request of a transaction waits for its answer at most.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Purpose of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Reads what is committed.
    Reader,
    /// Looks how far lanes reach, open transactions included.
    Looker,
    /// Publishes in transactions.
    TxnProducer,
    /// Appends without transactions.
    Writer,
    /// Makes and describes topics.
    Admin,
}

impl KafkaConf {
    /// A Kafka at an address, with everything else as usual.
    pub fn new(bootstrap: &str, transactional_id: &str, topics: Vec<TopicMap>) -> KafkaConf {
        KafkaConf {
            bootstrap: bootstrap.to_string(),
            properties: BTreeMap::new(),
            transactional_id: transactional_id.to_string(),
            group: None,
            topics,
            turn: None,
            patience: Duration::from_secs(10),
            persistence: Duration::from_secs(30),
            start_without_after: Duration::from_secs(20),
            max_output_bytes: Limits::default().max_output_bytes,
            unreadable_after: Duration::from_secs(60),
            commit_all_after: Duration::from_secs(24 * 3_600),
        }
    }

    /// For a service, which starts again by itself, and is to end soon when it is asked to: what
    /// the broker does not answer is not asked again for long.
    pub fn for_a_service(self) -> KafkaConf {
        KafkaConf { persistence: self.patience, ..self }
    }

    /// Looks at every property, and names each that librdkafka does not know, or that is ours.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut complaints = Vec::new();
        for (name, value) in &self.properties {
            complaints.extend(KafkaConf::check_property(name, value).err());
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints) }
    }

    /// Looks at one property: an error if librdkafka does not know it or refuses the value, or if
    /// it is ours.
    pub fn check_property(name: &str, value: &str) -> Result<(), String> {
        if OURS.contains(&name) {
            return Err(format!("{name} is set by yardmaster itself; leave it out"));
        }
        if let Some(feature) = lacking(name, value) {
            return Err(without(name, feature));
        }
        let config = ClientConfig::new().set(name, value).create_native_config();
        config.map(drop).map_err(|error| property_text(&error, name))
    }

    /// The name of a topic.
    pub(super) fn name(&self, topic: Topic) -> Option<&str> {
        let found = self.topics.iter().find(|map| map.topic == topic);
        found.map(|map| map.name.as_str())
    }

    /// After how long the broker ends a transaction by itself.
    pub(super) fn transaction_timeout(&self) -> Duration {
        let parse = |text: &str| text.parse().ok().map(Duration::from_millis);
        let given = self.properties.get(TRANSACTION_TIMEOUT).and_then(|text| parse(text));
        // librdkafka takes numbers in other notations too.
        given.or_else(|| parse(TRANSACTION_TIMEOUT_MS)).unwrap_or_default()
    }

    /// How long a request of a transaction waits for its answer. One that gets none must be sent
    /// again before the transaction is over; librdkafka's own default is all of its time.
    fn answer_timeout(&self) -> Duration {
        let most = self.transaction_timeout().saturating_sub(Duration::from_millis(100));
        ANSWER_MAX.min(most).max(Duration::from_millis(900))
    }

    /// The configuration of a client.
    pub(super) fn client(&self, role: Role) -> Result<ClientConfig, LogError> {
        self.check().map_err(|complaints| LogError::Stop(complaints.join("; ")))?;
        let mut config = ClientConfig::new();
        for (name, value) in defaults(role) {
            config.set(*name, *value);
        }
        for (name, value) in &self.properties {
            if goes_to(name, role) {
                config.set(name, value);
            }
        }
        config.set("bootstrap.servers", &self.bootstrap);
        // Topics are made by `topology apply`, with the settings that they need.
        config.set("allow.auto.create.topics", "false");
        for (name, value) in fixed(role) {
            config.set(*name, *value);
        }
        if matches!(role, Role::TxnProducer | Role::Writer) {
            let given = self.properties.get(MESSAGE_BYTES).and_then(|value| value.parse().ok());
            let least = self.max_output_bytes + RECORD_OVERHEAD_BYTES;
            config.set(MESSAGE_BYTES, least.max(given.unwrap_or(CLIENT_BYTES)).to_string());
            if !self.properties.contains_key(BATCH_BYTES) {
                let bytes = self.max_output_bytes.clamp(1, BATCH_BYTES_MAX);
                config.set(BATCH_BYTES, bytes.to_string());
            }
        }
        match role {
            Role::Reader | Role::Looker => {
                // Assigned partitions need no group, but the client wants the name of one.
                let group = self.group.as_deref().unwrap_or(&self.transactional_id);
                config.set("group.id", group);
            }
            Role::TxnProducer => {
                config.set("transactional.id", &self.transactional_id);
                if !self.properties.contains_key(SOCKET_TIMEOUT) {
                    config.set(SOCKET_TIMEOUT, self.answer_timeout().as_millis().to_string());
                }
            }
            Role::Writer | Role::Admin => {}
        }
        Ok(config)
    }
}

/// Defaults of a client that a property may replace.
fn defaults(role: Role) -> &'static [(&'static str, &'static str)] {
    match role {
        // With the usual 1000 ms a full local queue stalls the fetching for that long.
        Role::Reader => &[
            ("fetch.queue.backoff.ms", "2"),
            // A broker answers at once when something comes; this bounds how long a lane that is
            // let go on, or that was met at its end, waits for an answer about nothing. Asked
            // every 10 ms, two idle processes keep a quarter of a core of the broker busy.
            ("fetch.wait.max.ms", "100"),
            ("fetch.error.backoff.ms", "50"),
            ("reconnect.backoff.ms", "50"),
            ("reconnect.backoff.max.ms", "2000"),
        ],
        Role::Looker | Role::Admin => &[("reconnect.backoff.max.ms", "2000")],
        Role::TxnProducer => &[
            // Requests are long; the end of a transaction waits for nothing.
            ("linger.ms", "20"),
            ("queue.buffering.max.messages", "1000000"),
            (TRANSACTION_TIMEOUT, TRANSACTION_TIMEOUT_MS),
            ("reconnect.backoff.ms", "50"),
            ("reconnect.backoff.max.ms", "2000"),
        ],
        // The partition of a key is that of Kafka's own Java client.
        Role::Writer => &[
            ("linger.ms", "5"),
            ("partitioner", "murmur2_random"),
            ("reconnect.backoff.max.ms", "2000"),
        ],
    }
}

/// Properties that may not be replaced.
fn fixed(role: Role) -> &'static [(&'static str, &'static str)] {
    match role {
        Role::Reader => &[
            ("isolation.level", "read_committed"),
            ("enable.partition.eof", "true"),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("auto.offset.reset", "error"),
        ],
        Role::Looker => &[
            ("isolation.level", "read_uncommitted"),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
        ],
        // Reports of success are not needed, and each costs as much as the record did.
        Role::TxnProducer | Role::Writer => &[
            ("enable.idempotence", "true"),
            ("acks", "all"),
            ("delivery.report.only.error", "true"),
        ],
        Role::Admin => &[],
    }
}

/// Whether a client of this role has the property.
fn goes_to(name: &str, role: Role) -> bool {
    let within = |list: &[&str]| {
        list.iter()
            .any(|entry| name == *entry || (entry.ends_with(['.', '_']) && name.starts_with(entry)))
    };
    match role {
        Role::Reader | Role::Looker => !within(&PRODUCER),
        Role::TxnProducer | Role::Writer => !within(&CONSUMER),
        Role::Admin => !within(&PRODUCER) && !within(&CONSUMER),
    }
}

/// Mistake in a property, for people. No value is shown, and none of librdkafka's own text, which
/// may quote it: a mistyped name or a value in the wrong place may be a secret.
fn property_text(error: &KafkaError, name: &str) -> String {
    let is_unknown =
        matches!(error, KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..));
    if is_unknown {
        return format!(
            "librdkafka has no property {name}; its CONFIGURATION.md lists those there are"
        );
    }
    // Its text is one of a few here, and quotes nothing.
    let KafkaError::ClientConfig(_, text, ..) = error else { return refused(name) };
    match text {
        text if text.contains("libsasl2") => without(name, "gssapi"),
        text if text.contains("OpenSSL") => without(name, "tls"),
        _ => refused(name),
    }
}

/// The feature that a property needs and this program is built without: for TLS, for log-ins that
/// OpenSSL computes, for Kerberos. librdkafka would name it when a client is made, or not at all.
fn lacking(name: &str, value: &str) -> Option<&'static str> {
    let value = value.to_ascii_lowercase();
    let is_mechanism = ["sasl.mechanism", "sasl.mechanisms"].contains(&name);
    let is_tls = name == "security.protocol" && value.contains("ssl")
        || is_mechanism && ["scram", "oauthbearer"].iter().any(|it| value.starts_with(it));
    let is_kerberos = is_mechanism && value == "gssapi" || name.starts_with("sasl.kerberos.");
    match (is_tls, is_kerberos) {
        (true, _) if cfg!(not(feature = "tls")) => Some("tls"),
        (_, true) if cfg!(not(feature = "gssapi")) => Some("gssapi"),
        _ => None,
    }
}

/// A build that lacks what a property needs.
fn without(name: &str, feature: &str) -> String {
    format!(
        "the property {name} needs what this program is built without: build it with --features \
         {feature} (docs/install.md); releases, the image and the Debian package have tls"
    )
}

fn refused(name: &str) -> String {
    format!(
        "librdkafka refuses the value of the property {name} (not shown: it may be a secret); its \
         CONFIGURATION.md says which values the property takes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(properties: &[(&str, &str)]) -> KafkaConf {
        let mut conf = KafkaConf::new("127.0.0.1:1", "yardmaster-test", Vec::new());
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        conf.properties = properties.iter().map(own).collect();
        conf
    }

    #[test]
    fn properties_go_where_they_belong() {
        let conf = conf(&[
            ("client.id", "me"),
            ("compression.type", "lz4"),
            ("fetch.wait.max.ms", "7"),
            ("linger.ms", "3"),
        ]);
        let reader = conf.client(Role::Reader).unwrap();
        assert_eq!(reader.get("client.id"), Some("me"));
        assert_eq!(reader.get("fetch.wait.max.ms"), Some("7"));
        assert_eq!(reader.get("linger.ms"), None);
        assert_eq!(reader.get("isolation.level"), Some("read_committed"));
        let commits = conf.client(Role::TxnProducer).unwrap();
        assert_eq!(commits.get("compression.type"), Some("lz4"));
        assert_eq!(commits.get("linger.ms"), Some("3"));
        assert_eq!(commits.get("fetch.wait.max.ms"), None);
        assert_eq!(commits.get("transactional.id"), Some("yardmaster-test"));
        assert_eq!(conf.client(Role::Admin).unwrap().get("linger.ms"), None);
    }

    #[test]
    fn the_client_takes_whatever_may_be_published() {
        let mut small = conf(&[("message.max.bytes", "2000")]);
        small.max_output_bytes = 5_000_000;
        for role in [Role::TxnProducer, Role::Writer] {
            assert_eq!(small.client(role).unwrap().get("message.max.bytes"), Some("5065536"));
        }
        let large = conf(&[("message.max.bytes", "9000000")]);
        assert_eq!(
            large.client(Role::TxnProducer).unwrap().get("message.max.bytes"),
            Some("9000000")
        );
        assert_eq!(
            conf(&[]).client(Role::TxnProducer).unwrap().get("message.max.bytes"),
            Some("1000000")
        );
    }

    #[test]
    fn a_request_is_sent_again_before_its_transaction_is_over() {
        let wait = |given: &[(&str, &str)]| {
            let config = conf(given).client(Role::TxnProducer).unwrap();
            config.get("socket.timeout.ms").unwrap().to_owned()
        };
        assert_eq!(wait(&[]), "10000");
        assert_eq!(wait(&[("transaction.timeout.ms", "5000")]), "4900");
        assert_eq!(wait(&[("transaction.timeout.ms", "900000")]), "10000");
        assert_eq!(wait(&[("socket.timeout.ms", "20000")]), "20000");
        for (given, seconds) in [("5000", 5), ("60000", 60), ("0xea60", 30)] {
            let conf = conf(&[("transaction.timeout.ms", given)]);
            assert_eq!(conf.transaction_timeout(), Duration::from_secs(seconds));
        }
        assert_eq!(conf(&[]).transaction_timeout(), Duration::from_secs(30));
    }

    #[test]
    fn every_wrong_property_is_named() {
        let conf = conf(&[("isolation.level", "x"), ("liger.ms", "1"), ("linger.ms", "soon")]);
        let complaints = conf.check().unwrap_err().join("\n");
        for part in
            ["isolation.level", "no property liger.ms", "the value of the property linger.ms"]
        {
            assert!(complaints.contains(part), "{complaints}");
        }
        let stop = conf.client(Role::Reader).err().unwrap().to_string();
        assert!(stop.contains("liger.ms"), "{stop}");
    }

    #[test]
    fn a_build_without_tls_is_named_and_not_taken_for_a_wrong_value() {
        let all = [
            ("security.protocol", "SASL_SSL"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("ssl.ca.location", "/etc/ca.pem"),
        ];
        for (name, value) in all {
            let checked = KafkaConf::check_property(name, value);
            match cfg!(feature = "tls") {
                true => assert_eq!(checked, Ok(())),
                false => assert!(checked.unwrap_err().contains("--features tls"), "{name}"),
            }
        }
        assert!(KafkaConf::check_property("security.protocol", "SASL_PLAINTEXT").is_ok());
        assert!(KafkaConf::check_property("sasl.mechanism", "PLAIN").is_ok());
        if cfg!(not(feature = "gssapi")) {
            let why = KafkaConf::check_property("sasl.kerberos.keytab", "/etc/keytab").unwrap_err();
            assert!(why.contains("--features gssapi"), "{why}");
        }
    }

    #[test]
    fn no_message_shows_a_secret() {
        let jaas = "org.apache.Login required password=\"hush\";";
        let all = [
            ("sasl.pasword.secret", "hush"),
            ("ssl.key.pem", "hush"),
            ("sasl.pasword", "hush"),
            ("sasl.jaas.config", jaas),
            ("linger.ms", "hush"),
            ("security.protocol", "hush"),
            ("sasl.mechanism ", "hush"),
        ];
        let conf = conf(&all);
        let complaints = conf.check().unwrap_err().join("\n");
        for (name, _) in all.into_iter().filter(|(name, _)| *name != "ssl.key.pem") {
            assert!(complaints.contains(name), "{name}: {complaints}");
        }
        assert!(!complaints.contains("hush"), "{complaints}");
    }
}
