//! A broker that knows its users (`SASL_SSL` with SCRAM, certificates of clients, ACLs): the program
//! works there with the rights that docs/security.md lists and with none less, says what is missing, and
//! shows its password to nobody.

mod acl;
mod exec;
mod intake;

use crate::broker::{Broker, Wanted, free_ports, is_possible, script};
use crate::drive::yard;
use crate::kill::bus::{Bus, now, parts, text};
use crate::kill::process::{PROGRAM, Process, wait_until};
use acl::{Right, Rights, published};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{JobState, Status, Task, User};
use yardmaster::wire::record;

const SECOND: Duration = Duration::from_secs(1);
const ADMIN: &str = "the-admins-word-7f3a";
const SECRET: &str = "nobody-shall-read-this-51c9";

/// A broker with an administrator and the user `yardmaster`, who may nothing at first.
struct Fort {
    dir: TempDir,
    broker: Broker,
    /// Where clients show a certificate instead of a password.
    mutual: String,
}

impl Fort {
    fn build() -> Option<Fort> {
        if !is_possible() {
            return None;
        }
        let dir = TempDir::new().unwrap();
        let made = Command::new(script("certificates.sh")).arg(dir.path()).status().unwrap();
        assert!(made.success(), "openssl makes certificates");
        let [port, controller, mutual] = free_ports();
        let keys = dir.path().join("broker.pem");
        let authority = dir.path().join("ca.pem");
        let (keys, authority) = (text(&keys), text(&authority));
        let properties = format!(
            "listeners=SASL_SSL://127.0.0.1:{port},SSL://127.0.0.1:{mutual},\
             CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=SASL_SSL://127.0.0.1:{port},SSL://127.0.0.1:{mutual}\n\
             listener.security.protocol.map=SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT\n\
             inter.broker.listener.name=SSL\n\
             sasl.enabled.mechanisms=SCRAM-SHA-512\n\
             listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
             org.apache.kafka.common.security.scram.ScramLoginModule required;\n\
             ssl.keystore.type=PEM\nssl.keystore.location={keys}\n\
             ssl.truststore.type=PEM\nssl.truststore.location={authority}\n\
             listener.name.ssl.ssl.client.auth=required\n\
             ssl.principal.mapping.rules=RULE:^CN=([^,]*).*$/$1/,DEFAULT\n\
             authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
             super.users=User:admin;User:broker;User:ANONYMOUS\n"
        );
        let users = [("admin", ADMIN), ("yardmaster", SECRET)];
        let user = |(name, word)| format!("SCRAM-SHA-512=[name={name},password={word}]");
        let format = users.map(user).map(|user| ["--add-scram".to_owned(), user]).concat();
        let broker = Broker::start(&Wanted { port, controller, properties, format });
        Some(Fort { dir, broker, mutual: format!("127.0.0.1:{mutual}") })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Topics, made by the administrator, who writes to them too.
    fn bus(&self) -> Bus {
        let authority = self.path("ca.pem");
        let bus = Bus::on(&self.broker.address(), &admin(&authority), |file| {
            parts(file, hasty);
            // Nothing puts a deadline off: what was overdue before the start is commanded at once.
            let of_jobs = file["topics"]["job-state"].as_table_mut().unwrap();
            of_jobs.remove("silence_limit_s");
        });
        bus.queue("QUEUE_00", 1, 10);
        bus.ask("1/1", 1, 500);
        bus.flush();
        bus
    }

    fn rights(&self) -> Rights {
        let authority = self.path("ca.pem");
        Rights::of("User:yardmaster", &self.broker.address(), &admin(&authority))
    }

    /// A file of properties for the user; the password is in another file.
    fn user(&self) -> PathBuf {
        let secret = self.path("password");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        self.file(
            "user.properties",
            &[
                ("security.protocol", "sasl_ssl"),
                ("ssl.ca.location", text(&self.path("ca.pem"))),
                ("sasl.mechanism", "SCRAM-SHA-512"),
                ("sasl.username", "yardmaster"),
                ("sasl.password", &format!("${{file:{}}}", secret.display())),
            ],
        )
    }

    fn file(&self, name: &str, properties: &[(&str, &str)]) -> PathBuf {
        let path = self.path(name);
        let line = |(key, value): &(&str, &str)| format!("{key}={value}\n");
        std::fs::write(&path, properties.iter().map(line).collect::<String>()).unwrap();
        path
    }
}

fn admin(authority: &Path) -> [(&str, &str); 5] {
    [
        ("security.protocol", "sasl_ssl"),
        ("ssl.ca.location", text(authority)),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", "admin"),
        ("sasl.password", ADMIN),
    ]
}

fn hasty(limits: &mut Table, _: &mut Table) {
    limits.insert("takeover_s".into(), 1.into());
    limits.insert("takeover_jitter_ms".into(), 0.into());
}

fn run(bootstrap: &str, bus: &Bus, store: &Path, config: &Path) -> Process {
    let command = Command::new(PROGRAM);
    let more = ["--command-config", text(config), "--log", "debug"];
    Process::start_by(command, bootstrap, &bus.topology, store, &more)
}

/// A verb of the user, whose output shows no secret.
fn verb(bootstrap: &str, bus: &Bus, config: &Path, verb: &str, more: &[&str]) -> Output {
    let output = Command::new(PROGRAM)
        .args(verb.split(' '))
        .args(["--bootstrap-server", bootstrap, "--topology", text(&bus.topology)])
        .args(["--command-config", text(config)])
        .args(more)
        .output()
        .unwrap();
    hushed(&String::from_utf8_lossy(&output.stdout));
    hushed(&String::from_utf8_lossy(&output.stderr));
    output
}

#[track_caller]
fn hushed(reported: &str) {
    assert!(
        !reported.contains(SECRET) && !reported.contains(ADMIN),
        "a password is shown:\n{reported}"
    );
}

/// It leads, answers, ends in order, and every verb that reads finds the same.
fn works(bootstrap: &str, bus: &Bus, store: &Path, config: &Path, subject: &str) {
    bus.ask(subject, 1, 500);
    bus.flush();
    let process = run(bootstrap, bus, store, config);
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    let task = subject.split('/').next().unwrap();
    let is_answered = || {
        let output = verb(bootstrap, bus, config, "explain", &[task]);
        String::from_utf8_lossy(&output.stdout).contains("assign")
    };
    wait_until(60 * SECOND, || process.logged(), is_answered);
    hushed(&process.all_logged());
    assert_eq!(process.stop().code(), Some(0));
    let audit = verb(bootstrap, bus, config, "audit", &["--store", text(store)]);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

#[test]
fn with_the_published_rights_it_works_and_with_one_less_it_names_what_is_missing() {
    let Some(fort) = Fort::build() else { return };
    let (bus, rights, user) = (fort.bus(), fort.rights(), fort.user());
    let bootstrap = fort.broker.address();
    let published = published("acl", &bus.domain);
    assert!(published.len() > 10, "docs/security.md lists {published:?}");
    published.iter().for_each(|right| rights.grant(right));
    let store = fort.path("store");
    works(&bootstrap, &bus, &store, &user, "2/1");

    // Somebody who shows a certificate of the same name needs no password and has the same rights.
    let certificate = fort.file(
        "certificate.properties",
        &[
            ("security.protocol", "ssl"),
            ("ssl.ca.location", text(&fort.path("ca.pem"))),
            ("ssl.certificate.location", text(&fort.path("client.pem"))),
            ("ssl.key.location", text(&fort.path("client.key"))),
        ],
    );
    works(&fort.mutual, &bus, &store, &certificate, "3/1");
    works_with_a_password_of_the_environment(&fort, &bus, &store);

    for (at, right) in published.iter().enumerate() {
        // Something to answer, something that cannot be read, an owner to throttle, and a job that
        // is overdue.
        bus.ask(&format!("5/{at}"), 1, 500);
        bus.publish(Topic::Outcome, "odd", |out| out.push(0));
        over_the_cap(&bus, &format!("user{at}"));
        overdue(&bus, &format!("7{at:03}"));
        bus.flush();
        one_less(&fort, &bus, &rights, &user, right);
    }
    works(&bootstrap, &bus, &store, &user, "4/1");
}

/// A job that has been pending for two hours.
fn overdue(bus: &Bus, id: &str) {
    let at = now();
    let job = yard::job(id, "QUEUE_00", "", Status::Pending, at);
    let job = JobState { created_at: at - 2 * 3_600_000, ..job };
    bus.publish(Topic::JobState, id, |out| record::write(out, &job));
}

/// A user with one job more running than the cap, who asks for more.
fn over_the_cap(bus: &Bus, name: &str) {
    let at = now();
    let user =
        User { name: name.into(), changed_at: at, cap_running_jobs: Some(1), ..User::default() };
    bus.publish(Topic::User, &format!("user/{name}"), |out| record::write(out, &user));
    for id in [format!("{name}-1"), format!("{name}-2")] {
        let job = yard::job(&id, "QUEUE_00", "", Status::Running, at);
        let job = JobState { user: name, group: "", gshare: "User Analysis", ..job };
        bus.publish(Topic::JobState, &id, |out| record::write(out, &job));
    }
    let subject = format!("{name}/1");
    let domain = bus.domain.clone();
    let task = Task { user: name.into(), domain, ..yard::asking(&subject, at) };
    bus.publish(Topic::Task, &subject, |out| record::write(out, &task));
}

/// Without this right it ends, with a message that names what is missing and the remedy.
fn one_less(fort: &Fort, bus: &Bus, rights: &Rights, user: &Path, right: &Right) {
    rights.revoke(right);
    let store = fort.path("less");
    let mut process = run(&fort.broker.address(), bus, &store, user);
    let code = process.end(60 * SECOND).code();
    let reported = process.all_logged();
    hushed(&reported);
    let last = reported.lines().last().unwrap_or_default();
    println!("without {} of {}: {last}", right.operation, right.name);
    assert_eq!(code, Some(1), "without {right:?}: {reported}");
    for part in [&right.name, &right.operation, "kafka-acls.sh", "docs/security.md"] {
        assert!(last.contains(part), "without {right:?}, {part:?} is not in {last:?}");
    }
    std::fs::remove_file(store.with_extension("log")).unwrap();
    rights.grant(right);
}

#[test]
fn a_refused_client_gets_the_remedy_and_no_secret_is_shown() {
    let Some(fort) = Fort::build() else { return };
    let bus = fort.bus();
    let bootstrap = fort.broker.address();
    let refused =
        |name: &str, bootstrap: &str, config: &Path, more: &[&str], code, parts: &[&str]| {
            let start = std::time::Instant::now();
            let output = verb(bootstrap, &bus, config, name, more);
            let reported = String::from_utf8_lossy(&output.stderr).into_owned();
            println!("after {:?}: {reported}", start.elapsed());
            assert_eq!(output.status.code(), Some(code), "{reported}");
            for part in parts {
                assert!(reported.contains(part), "{part:?} is not in {reported}");
            }
        };
    let fails = |bootstrap: &str, config: &Path, more: &[&str], code, parts: &[&str]| {
        refused("replay", bootstrap, config, more, code, parts);
    };
    let user = fort.user();
    fails(&bootstrap, &user, &[], 1, &["Read or Write of topic", "kafka-acls.sh"]);
    let wrong = fort.path("wrong-password");
    std::fs::write(&wrong, "this-is-not-it").unwrap();
    let password = format!("sasl.password=${{file:{}}}", wrong.display());
    for name in ["replay", "topology check", "tail"] {
        refused(name, &bootstrap, &user, &["-X", &password], 1, &["sasl."]);
    }
    let other = format!("ssl.ca.location={}", fort.path("other-ca.pem").display());
    fails(&bootstrap, &user, &["-X", &other], 1, &["certificate"]);
    let bare = fort.file(
        "bare.properties",
        &[("security.protocol", "ssl"), ("ssl.ca.location", text(&fort.path("ca.pem")))],
    );
    fails(&fort.mutual, &bare, &[], 1, &["certificate"]);
    let open = format!("sasl.password={SECRET}");
    fails(&bootstrap, &user, &["-X", &open], 2, &["--command-config", "YARDMASTER_SASL_PASSWORD"]);
    let broken = fort.path("broken.properties");
    std::fs::write(&broken, format!("sasl.password {SECRET}\n")).unwrap();
    fails(&bootstrap, &broken, &[], 2, &["line 1"]);
    let odd = fort.file("odd.properties", &[("ssl.key.pem", SECRET)]);
    fails(&bootstrap, &odd, &["-X", "security.protocol=ssl"], 1, &["ssl.key.pem"]);
}

/// The password comes from the environment.
fn works_with_a_password_of_the_environment(fort: &Fort, bus: &Bus, store: &Path) {
    let config = fort.file(
        "environment.properties",
        &[
            ("security.protocol", "sasl_ssl"),
            ("ssl.ca.location", text(&fort.path("ca.pem"))),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.username", "yardmaster"),
        ],
    );
    let mut command = Command::new(PROGRAM);
    command.env("YARDMASTER_SASL_PASSWORD", SECRET);
    let more = ["--command-config", text(&config)];
    let process = Process::start_by(command, &fort.broker.address(), &bus.topology, store, &more);
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    hushed(&process.all_logged());
    assert_eq!(process.stop().code(), Some(0));
}
