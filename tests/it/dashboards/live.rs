//! A real Prometheus that scrapes a running `demo`: every query of every panel, annotation, variable
//! and alert is answered, and what is empty may be so. Left out where there is no Prometheus.

use super::boards::{Board, MAY_BE_EMPTY};
use super::promql::selectors;
use super::rules::Rule;
use super::{boards, folder, none, text};
use crate::demo::Demo;
use crate::kill::process::Ending;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian's package puts them.
const PROMETHEUS: &str = "/usr/bin/prometheus";
const PROMTOOL: &str = "/usr/bin/promtool";

/// How long the conditions of a test are waited for, all together.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Panels without data of a demo, be it always or at its beginning. A panel that is not named here and
/// is empty selects what there is not, whatever its description allows.
const EMPTY_IN_A_DEMO: [&str; 42] = [
    "Age of imports",
    "Alerts that fire",
    "Answers by side and outcome",
    "Changes of PanDA's tables",
    "Choices whose figures differ",
    "Comparisons by result",
    "Dry runs by rule",
    "Estimated starts",
    "Foreign messages",
    "Held back by rule and reason",
    "Held back by the governor",
    "Idle jobs of a pool by reason",
    "Jobs in intake",
    "Jobs moved too often",
    "Jobs that intake dropped",
    "Jobs that never sent a heartbeat",
    "Jobs whose row is gone",
    "Mean overlap",
    "Needs a person by rule",
    "Not chosen by Yardmaster, by filter",
    "Not chosen by the other broker, by filter",
    "Oddities",
    "Partitions held back",
    "Partitions that cannot be read on",
    "Records of imports",
    "Repeats by rule",
    "Requests compared",
    "Rounds of imports",
    "Same outcome",
    "Same queue first",
    "Same queue first, by kind of queues",
    "Same queue first, by share",
    "Stray records",
    "Tasks assigned by nucleus",
    "Tasks assigned by nucleus within the range",
    "Throttles set and lifted",
    "Time of answers",
    "Unreadable comparisons",
    "Use of caps",
    "Wait against its estimate",
    "Yardmaster without an answer",
    "Yardmaster's time, 99 %",
];

/// Metrics of alerts that a demo of ATLAS may lack: it imports nothing, has no intake and no Kafka,
/// holds no command and no owner back while there is no reason to, and has neither a pool nor
/// clusters.
const NOT_IN_A_DEMO: [&str; 10] = [
    "yardmaster_stuck_lanes",
    "yardmaster_import_reads_total",
    "yardmaster_intake_changes_total",
    "yardmaster_intake_records_total",
    "yardmaster_intake_waiting_jobs",
    "yardmaster_held_back_jobs",
    "yardmaster_published_throttles_total",
    "yardmaster_idle_jobs",
    "yardmaster_newest_offer_age_seconds",
    "yardmaster_clusters",
];

/// Boards of one domain alone, each with the topology of its demo.
pub const OF_A_DOMAIN: [(&str, &str); 2] = [("cms", "cms"), ("nordugrid", "nordugrid")];

/// Whether the programs are there; says so if not.
pub fn is_installed() -> bool {
    let missing = [PROMETHEUS, PROMTOOL].into_iter().find(|it| !Path::new(it).exists());
    if let Some(missing) = missing {
        println!("left out: there is no {missing}");
    }
    missing.is_none()
}

/// Runs promtool in the folder of the boards; it must succeed.
pub fn promtool(args: &[&str]) {
    let output = Command::new(PROMTOOL).args(args).current_dir(folder()).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&printed));
}

#[test]
fn promtool_finds_no_fault_with_the_alerts_and_all_cases_come_out() {
    if is_installed() {
        promtool(&["check", "rules", "alerts.yml"]);
        promtool(&["test", "rules", "alerts_test.yml"]);
    }
}

/// A running Prometheus.
struct Prometheus {
    address: SocketAddr,
    _process: Ending,
}

impl Prometheus {
    /// Scrapes an address each second, with the alerts loaded.
    fn start(dir: &Path, scraped: SocketAddr) -> Prometheus {
        let config = dir.join("prometheus.yml");
        let rules = folder().join("alerts.yml");
        let config_text = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n\
             rule_files:\n  - {rules:?}\n\
             scrape_configs:\n  - job_name: yardmaster\n    static_configs:\n\
             \x20     - targets: [\"{scraped}\"]\n"
        );
        std::fs::write(&config, config_text).unwrap();
        promtool(&["check", "config", config.to_str().unwrap()]);
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let log = std::fs::File::create(dir.join("prometheus.log")).unwrap();
        let child = Command::new(PROMETHEUS)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", dir.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let prometheus = Prometheus { address, _process: Ending(child) };
        let is_ready =
            || prometheus.get("/-/ready").is_some_and(|it| it.starts_with("HTTP/1.0 200"));
        if !prometheus.wait(is_ready) {
            panic!("{}", std::fs::read_to_string(dir.join("prometheus.log")).unwrap());
        }
        prometheus
    }

    fn get(&self, path: &str) -> Option<String> {
        get(self.address, path)
    }

    fn json(&self, path: &str) -> Value {
        let text = self.get(path).expect("an answer");
        let (_, body) = text.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    /// How many series a query finds that have a number; or what is wrong with it.
    fn count(&self, query: &str) -> Result<usize, String> {
        let answer = self.json(&format!("/api/v1/query?query={}", encoded(query)));
        if answer["status"] != "success" {
            return Err(format!("`{query}`: {}", answer["error"]));
        }
        let result = &answer["data"]["result"];
        if answer["data"]["resultType"] == "scalar" {
            return Ok(usize::from(result[1] != "NaN"));
        }
        let series = result.as_array().into_iter().flatten();
        Ok(series.filter(|it| it["value"][1] != "NaN").count())
    }

    fn finds(&self, query: &str) -> bool {
        self.count(query).is_ok_and(|count| count > 0)
    }

    /// Waits until something is so; whether it ever was.
    fn wait(&self, mut is_so: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match is_so() {
                true => return true,
                false if Instant::now() > deadline => return false,
                false => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

/// The whole answer, head and body.
pub fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    // Version 1.0, so that the body comes in one piece.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// A text as it stands in a query of an address.
pub fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A query as Grafana sends it for the domain, with all queues, shares, users and policies chosen.
fn filled(query: &str, domain: &str) -> String {
    let times = query.replace("$__rate_interval", "10s").replace("$__range", "30s");
    let all = ["$policy", "$queue", "$gshare", "$user"];
    let chosen = all.iter().fold(times, |query, name| query.replace(name, ".*"));
    let filled = chosen.replace("$domain", domain);
    assert!(!filled.contains('$'), "{filled}");
    filled
}

/// A query that is to be answered, and whether its answer may be empty.
struct Asked {
    whose: String,
    query: String,
    may_be_empty: bool,
}

fn asked(board: &Board, domain: &str) -> Vec<Asked> {
    let mut asked = Vec::new();
    let mut add = |whose: String, query: &str, may_be_empty: bool| {
        asked.push(Asked { whose, query: filled(query, domain), may_be_empty });
    };
    for panel in &board.panels {
        let may_be_empty = panel.description.contains(MAY_BE_EMPTY)
            && EMPTY_IN_A_DEMO.contains(&panel.title.as_str());
        for query in &panel.queries {
            add(format!("{}, `{}`", board.name, panel.title), &query.expr, may_be_empty);
        }
    }
    for query in board.annotations() {
        add(format!("{}, an annotation", board.name), &query.expr, true);
    }
    for variable in &board.variables {
        if let Some((series, label)) = &variable.values_of {
            let values = format!("count by ({label}) ({series})");
            add(format!("{}, variable {}", board.name, variable.name), &values, false);
        }
    }
    asked
}

#[test]
fn a_prometheus_beside_a_running_demo_answers_every_query() {
    if !is_installed() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    let prometheus = Prometheus::start(dir.path(), demo.address);
    // Rates need a few scrapes.
    for condition in [
        "count_over_time(yardmaster_ready[1m]) >= 8",
        "sum(rate(yardmaster_published_decisions_total[10s])) > 0",
        "sum(yardmaster_waiting_requests)",
    ] {
        assert!(prometheus.wait(|| prometheus.finds(condition)), "it never came true: {condition}");
    }
    let is_of_all = |board: &&Board| OF_A_DOMAIN.iter().all(|(name, _)| *name != board.name);
    let boards: Vec<Board> = boards();
    let mut found = answers(&prometheus, boards.iter().filter(is_of_all));
    rules(&prometheus, &mut found);
    none(&found);
}

#[test]
fn the_boards_of_a_pool_and_of_clusters_are_answered_beside_their_demos() {
    if !is_installed() {
        return;
    }
    for (name, topology) in OF_A_DOMAIN {
        let dir = TempDir::new().unwrap();
        let demo = Demo::of(topology, &dir.path().join("demo"));
        let prometheus = Prometheus::start(dir.path(), demo.address);
        for condition in [
            "count_over_time(yardmaster_ready[1m]) >= 8",
            "sum(rate(yardmaster_published_decisions_total[10s])) > 0",
            "sum(yardmaster_queue_cores{status=\"running\"}) > 0",
        ] {
            assert!(prometheus.wait(|| prometheus.finds(condition)), "never true: {condition}");
        }
        let boards = boards();
        none(&answers(&prometheus, boards.iter().filter(|board| board.name == name)));
    }
}

/// Asks every query of some boards; those that fail, or are empty and may not be.
fn answers<'a>(prometheus: &Prometheus, boards: impl Iterator<Item = &'a Board>) -> Vec<String> {
    let domains = prometheus.json("/api/v1/label/domain/values");
    let domain = domains["data"][0].as_str().expect("a domain").to_owned();
    assert_eq!(domains["data"].as_array().unwrap().len(), 1, "{domains}");
    let all: Vec<Asked> = boards.flat_map(|board| asked(board, &domain)).collect();
    let mut found = Vec::new();
    let mut empty = 0;
    for Asked { whose, query, may_be_empty } in &all {
        match prometheus.count(query) {
            Err(why) => found.push(format!("{whose}: {why}")),
            Ok(0) if *may_be_empty => empty += 1,
            // It may come a moment later.
            Ok(0) if !prometheus.wait(|| prometheus.finds(query)) => {
                found.push(format!("{whose}: empty: `{query}`"));
            }
            Ok(_) => {}
        }
    }
    println!("{} queries, of which {empty} may be empty and are", all.len());
    found
}

/// Every expression of the alerts is evaluated, and each series in it is there.
fn rules(prometheus: &Prometheus, found: &mut Vec<String>) {
    let rules = Rule::all(&text("alerts.yml"));
    let mut series = BTreeSet::new();
    for rule in &rules {
        if let Err(why) = prometheus.count(&rule.expr) {
            found.push(format!("{}: {why}", rule.name));
        }
        series.extend(selectors(&rule.expr).into_iter().map(|it| it.series));
    }
    let missing = series.iter().filter(|it| !NOT_IN_A_DEMO.contains(&it.as_str()));
    let missing = missing.filter(|it| !prometheus.wait(|| prometheus.finds(it)));
    found.extend(missing.map(|it| format!("alerts.yml: the demo has no `{it}`")));

    let loaded = |state: &str| {
        let answer = prometheus.json("/api/v1/rules?type=alert");
        let groups = answer["data"]["groups"].as_array().unwrap().clone();
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
        rules.filter(|rule| rule["health"] == state).cloned().collect::<Vec<_>>()
    };
    let all_are_right = || loaded("ok").len() == rules.len();
    if !prometheus.wait(all_are_right) {
        found.push(format!("of {} rules these failed: {:?}", rules.len(), loaded("err")));
    }
    let fires =
        |rule: &Value| rule["state"] == "firing" && rule["labels"]["severity"] == "critical";
    let firing: Vec<Value> = loaded("ok").into_iter().filter(fires).collect();
    if !firing.is_empty() {
        found.push(format!("critical alerts of a demo in which nothing is wrong: {firing:?}"));
    }
}
