//! Runs the contents of the containers by hand: the commands, health checks and configuration of
//! `docker-compose.yml`, with nothing replaced but addresses and paths, against a real Kafka.

use super::{PROGRAM, Service, root, token_file, words};
use crate::broker::{Broker, free_ports, is_possible};
use crate::kill::process::{Ending, wait_until};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How long a condition may take to come true.
const LIMIT: Duration = Duration::from_secs(240);
/// Where Debian's package puts it.
const PROMETHEUS: &str = "/usr/bin/prometheus";

/// A container's program as it runs here.
struct Running {
    service: Service,
    /// Where it serves HTTP.
    port: u16,
    child: Option<Ending>,
    log: PathBuf,
}

/// All of them.
struct Stand {
    dir: TempDir,
    bootstrap: String,
}

impl Stand {
    /// A word of a command as it is here.
    fn here(&self, service: &Service, port: u16, word: &str) -> String {
        let state = self.dir.path().join(&service.name);
        let mut word = word
            .replace("kafka:19092", &self.bootstrap)
            .replace("0.0.0.0:9187", &format!("127.0.0.1:{port}"))
            .replace("127.0.0.1:9187", &format!("127.0.0.1:{port}"))
            .replace("/var/lib/yardmaster", state.to_str().unwrap())
            .replace("/run/secrets/yardmaster_token", token_file().to_str().unwrap());
        for (inside, here) in service.mounts() {
            word = word.replace(&inside, here.to_str().unwrap());
        }
        word
    }

    fn args(&self, service: &Service, port: u16, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.here(service, port, word)).collect()
    }

    /// Starts what a container runs.
    fn start(&self, name: &str) -> Running {
        let service = Service::of(name);
        let [port] = free_ports();
        let args = self.args(&service, port, &service.words("command"));
        std::fs::create_dir_all(self.dir.path().join(name)).unwrap();
        let log = self.dir.path().join(format!("{name}.log"));
        let out = File::create(&log).unwrap();
        let child = Command::new(PROGRAM)
            .args(&args)
            .env_remove("YARDMASTER_LOG")
            .current_dir(self.dir.path().join(name))
            .stdin(Stdio::null())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .unwrap();
        Running { service, port, child: Some(Ending(child)), log }
    }

    /// Whether its health check holds.
    fn is_healthy(&self, running: &Running) -> bool {
        let test = &running.service.yaml["healthcheck"]["test"];
        let test = self.args(&running.service, running.port, &words(test));
        assert_eq!(test[..2], ["CMD", "yardmaster"], "{}", running.service.name);
        Command::new(PROGRAM).args(&test[2..]).output().unwrap().status.success()
    }
}

impl Running {
    fn printed(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        format!("{}:\n{text}", self.service.name)
    }

    /// Waits until it has ended, and whether it ended well.
    fn ended(&mut self) -> bool {
        let mut child = self.child.take().expect("it runs");
        let (mut status, log) = (None, self.printed());
        wait_until(
            LIMIT,
            || log.clone(),
            || {
                status = child.0.try_wait().unwrap();
                status.is_some()
            },
        );
        status.is_some_and(|it| it.success())
    }

    /// SIGTERM, as `docker compose stop` sends.
    fn stop(&mut self) -> bool {
        let pid = self.child.as_ref().expect("it runs").0.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        self.ended()
    }
}

/// The answer to a GET, head and body; `None` while nothing listens.
fn get(port: u16, path: &str, headers: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    // Version 1.0, so that the body comes in one piece.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n{headers}\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// A Prometheus as in its container, which scrapes these.
fn prometheus(stand: &Stand, scraped: &[Running]) -> Option<(Ending, u16)> {
    if !Path::new(PROMETHEUS).exists() {
        println!("left out: there is no {PROMETHEUS}");
        return None;
    }
    let service = Service::of("prometheus");
    let mounts = service.mounts();
    let mut text = std::fs::read_to_string(&mounts["/etc/prometheus/prometheus.yml"]).unwrap();
    text = text.replace("/run/secrets/yardmaster_token", token_file().to_str().unwrap());
    for (inside, here) in &mounts {
        text = text.replace(inside, here.to_str().unwrap());
    }
    for running in scraped {
        let target = format!("\"{}:9187\"", running.service.name);
        assert!(text.contains(&target), "{target} is not scraped");
        text = text.replace(&target, &format!("\"127.0.0.1:{}\"", running.port));
    }
    assert!(!text.contains(":9187\""), "{text}");
    let config = stand.dir.path().join("prometheus.yml");
    std::fs::write(&config, text).unwrap();
    let check = Command::new("promtool").args(["check", "config"]).arg(&config).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    let [port] = free_ports();
    let args: Vec<String> = service
        .words("command")
        .iter()
        .map(|it| it.replace("/etc/prometheus/prometheus.yml", config.to_str().unwrap()))
        .map(|it| it.replace("=/prometheus", &format!("={}/tsdb", stand.dir.path().display())))
        .collect();
    let log = File::create(stand.dir.path().join("prometheus.log")).unwrap();
    let child = Command::new(PROMETHEUS)
        .args(args)
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    Some((Ending(child), port))
}

/// How many series a query finds.
fn series(port: u16, query: &str) -> usize {
    let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let Some(text) = get(port, &format!("/api/v1/query?query={query}"), "") else { return 0 };
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let answer: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    answer["data"]["result"].as_array().map_or(0, Vec::len)
}

#[test]
fn what_the_containers_run_works_together_on_a_real_kafka() {
    if !is_possible() {
        return;
    }
    let broker = Broker::with("");
    let stand = Stand { dir: TempDir::new().unwrap(), bootstrap: broker.address() };
    let mut topics = stand.start("topics");
    assert!(topics.ended(), "{}", topics.printed());
    let mut all: Vec<Running> = ["leader", "standby", "facts"].map(|it| stand.start(it)).into();
    let mut grid = stand.start("grid");
    let printed = |all: &[Running], grid: &Running| {
        all.iter().chain([grid]).map(Running::printed).collect::<String>()
    };
    wait_until(
        LIMIT,
        || printed(&all, &grid),
        || all.iter().chain([&grid]).all(|it| stand.is_healthy(it)),
    );
    // The token of the file, and no other, opens what is not for everybody.
    let token = std::fs::read_to_string(token_file()).unwrap();
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for (headers, status) in [
        (String::new(), "401"),
        (bearer("not-a-token-of-this-process"), "401"),
        (bearer(token.trim()), "200"),
    ] {
        let answer = get(all[0].port, "/metrics", &headers).expect("an answer");
        assert_eq!(answer.split(' ').nth(1), Some(status), "{headers}");
    }
    if let Some((_prometheus, port)) = prometheus(&stand, &all) {
        for (query, count) in [
            ("up{job=\"yardmaster\"} == 1", all.len()),
            ("sum(yardmaster_leading) == 1", 1),
            ("sum(yardmaster_published_decisions_total) > 0", 1),
            ("sum(yardmaster_import_reads_total) > 0", 1),
        ] {
            let what = || format!("{query}\n{}", printed(&all, &grid));
            wait_until(LIMIT, what, || series(port, query) >= count);
        }
        let rules = get(port, "/api/v1/rules", "").expect("an answer");
        assert!(rules.contains("\"alerts\"") && !rules.contains("\"health\":\"err\""), "{rules}");
    }
    let obeyed = || {
        let text = grid.printed();
        let counts = text.split("records/s").skip(1);
        let mut counts = counts.filter_map(|it| it.split_whitespace().next()?.parse::<u64>().ok());
        counts.any(|decisions| decisions > 0)
    };
    wait_until(LIMIT, || printed(&all, &grid), obeyed);
    assert!(grid.stop(), "{}", grid.printed());
    for running in &mut all {
        assert!(running.stop(), "{}", running.printed());
    }
    let audit = ["audit", "--bootstrap-server", &stand.bootstrap];
    let output = Command::new(PROGRAM).args(audit).current_dir(stand.dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(root().join("docs/compose.md").is_file());
}
