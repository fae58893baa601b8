//! The HTTP server, asked over a socket as a stranger would.

mod forms;
mod guard;
mod pseudonyms;
mod slow;
#[cfg(feature = "tls")]
mod tls;
mod turns;

use crate::demo::Demo;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use yardmaster::core::cut::Topic;
use yardmaster::core::state::audit::Drift;
use yardmaster::core::state::counters::Counter;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::shell::api::{self, Api, Apis, Past, Reasons, Views};
use yardmaster::shell::http::{ADDRESS, Door, ServedDomain, Server};
use yardmaster::shell::metrics::{EventOutcome, Metric, Metrics};
use yardmaster::shell::question::{Answer, Asked, Audited, CycleCounters, LoopClient, Question};
use yardmaster::shell::status::Status;
use yardmaster::wire::topology::ATLAS;

fn door(answer_max: Duration) -> Door {
    let hosts = vec!["metrics.example.org".to_owned()];
    Door { answer_max, connections_max: 4, hosts, tokens: None, tls: None }
}

fn start(answer_max: Duration) -> (Server, Receiver<Question>, Arc<Status>) {
    start_behind(door(answer_max))
}

fn start_behind(door: Door) -> (Server, Receiver<Question>, Arc<Status>) {
    start_with(door, Views::default(), Past::default())
}

fn start_with(door: Door, views: Views, past: Past) -> (Server, Receiver<Question>, Arc<Status>) {
    let status = Arc::new(Status::default());
    let mut metrics = Metrics::new("atlas", 10);
    metrics.record_events(Topic::Task, EventOutcome::Folded, 3);
    metrics.add();
    let any = "127.0.0.1:0".parse().unwrap();
    let (client, asks) = LoopClient::new(door.answer_max);
    let api = Api {
        client,
        status: status.clone(),
        views,
        past,
        reasons: Arc::new(Reasons::of(&EpochConfig::of("atlas.toml", ATLAS).unwrap())),
    };
    let added = (api::routes(Apis::new(vec![api])), &api::PATHS[..]);
    let server = Server::start(any, vec![served(&metrics, &status)], door, added).unwrap();
    (server, asks, status)
}

/// The parts of the domain that a server shows.
fn served(metrics: &Metrics, status: &Arc<Status>) -> ServedDomain {
    let (name, status) = ("atlas".to_owned(), Arc::clone(status));
    ServedDomain { name, scrape: metrics.scrape(Arc::clone(&status)), status }
}

/// An answer of one counter, of a queue of this name.
fn counters_of(queue: String) -> Answer {
    let (names, figures) = (vec![("queue", queue)], vec![("jobs_running".to_owned(), 1)]);
    let counters = vec![Counter { kind: "queue", names, figures }];
    Answer::Counters(Arc::new(CycleCounters { counters, ..CycleCounters::default() }))
}

/// The head and the body of an answer.
pub fn ask(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_string(), body.to_string())
}

/// The error in an answer in JSON; a remedy comes with it.
pub fn problem(body: &str) -> String {
    let reported: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(reported["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{body}");
    reported["error"].as_str().unwrap().to_owned()
}

/// The head and the body of an answer to a request that is sent as it is.
fn send(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_string(), body.to_string())
}

#[test]
fn only_addresses_and_own_names_are_answered_and_no_body_is_read() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let get = |host: &str, more: &str| {
        send(server.address(), &format!("GET /livez HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"))
    };
    let own = ["127.0.0.1:9187", "[::1]:9187", "localhost", "Metrics.example.org:80"];
    for host in own {
        let (head, _) = get(host, "");
        assert!(head.starts_with("HTTP/1.1 200"), "{host}: {head}");
    }
    let (head, body) = get("evil.example.org", "");
    assert!(head.starts_with("HTTP/1.1 421"), "{head}");
    assert!(problem(&body).contains("evil.example.org") && body.contains("--http-host"), "{body}");
    let (head, body) = get("localhost", "Content-Length: 4\r\n");
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    problem(&body);
    let (head, body) = send(server.address(), "GET /livez HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    problem(&body);
    let (head, _) = send(server.address(), "GET /livez HTTP/1.0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.0 200"), "{head}");
}

#[test]
fn half_open_connections_make_room_for_questions() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let half_open: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(b"GET /livez HTTP/1.1\r\nHost").unwrap();
            stream
        })
        .collect();
    assert!(ask(server.address(), "/livez").0.starts_with("HTTP/1.1 200"));
    // Of 4 connections at most one was for the question, so all but 4 of the others are closed by
    // now; the rest when their heads do not come.
    let is_closed = |mut stream: &TcpStream| match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    let open = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let mut reader: &TcpStream = stream;
        let read = reader.read(&mut [0; 64]);
        let waits = read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        stream.set_nonblocking(false).unwrap();
        waits
    };
    let left = half_open.iter().filter(open).count();
    assert!(left <= 4, "{left} are open");
    assert!(half_open.iter().all(is_closed));
    assert!(ask(server.address(), "/livez").0.starts_with("HTTP/1.1 200"));
}

#[test]
fn metrics_are_served_as_prometheus_reads_them() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let (head, body) = ask(server.address(), "/metrics");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let line = r#"yardmaster_folded_events_total{domain="atlas",topic="task",outcome="folded"} 3"#;
    assert!(body.lines().any(|it| it == line), "{body}");
}

#[test]
fn it_is_alive_from_the_start_and_ready_only_when_it_is() {
    let (server, _asks, status) = start(Duration::from_secs(10));
    status.update(|state| state.restoring = true);
    assert!(ask(server.address(), "/livez").0.starts_with("HTTP/1.1 200"));
    let (head, body) = ask(server.address(), "/readyz");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    let reported: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(reported["ready"], false);
    assert_eq!(reported["reason"], "restoring: 0 % of the cycles are replayed");
    assert_eq!(reported["state"]["restoring"], true);

    status.update(|state| (state.restoring, state.leading, state.cycle) = (false, true, 42));
    let (head, body) = ask(server.address(), "/readyz");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let reported: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&reported["ready"], &reported["reason"]), (&true.into(), &().into()));
    assert_eq!(
        (&reported["state"]["leading"], &reported["state"]["cycle"]),
        (&true.into(), &42.into())
    );
}

#[test]
fn a_question_reaches_the_loop_and_its_answer_comes_back() {
    let (server, asks, _) = start(Duration::from_secs(10));
    let address = server.address();
    let outside = std::thread::spawn(move || {
        ["/api/v1/audit", "/v1/audit", "/v1/job?name=A%20B"].map(|path| ask(address, path))
    });
    let audited = || {
        let [counter, kept, recount] = ["queue/A", "5", "4"].map(str::to_owned);
        let drifts = vec![Drift { counter, kept, recount }];
        Answer::Audit(Arc::new(Audited { cycle: 7, counters: 3, drifts }))
    };
    for _ in 0..2 {
        let question = asks.recv().unwrap();
        assert_eq!(question.asked, Asked::Audit);
        question.answer(audited());
    }
    let question = asks.recv().unwrap();
    assert_eq!(question.asked, Asked::Standing("A B".to_owned()));
    question.answer(Answer::Standing(Box::default()));
    let [json, text, job] = outside.join().unwrap();
    assert!(json.0.starts_with("HTTP/1.1 200") && json.0.contains("application/json"));
    let found: serde_json::Value = serde_json::from_str(&json.1).unwrap();
    assert_eq!((&found["cycle"], &found["drifts"][0]["recount"]), (&7.into(), &"4".into()));
    assert_eq!(text.1, "3 counters at cycle 7, 1 drifted\nqueue/A: kept 5, recount 4\n");
    assert!(job.0.starts_with("HTTP/1.1 404") && problem(&job.1).contains("\"A B\""));
    let (head, body) = ask(address, "/v1/nonsense");
    assert!(head.starts_with("HTTP/1.1 404") && problem(&body).contains("audit, counters, job"));
    let (head, body) = ask(address, "/elsewhere");
    assert!(head.starts_with("HTTP/1.1 404") && body.contains("/api/v1/explain"), "{body}");
}

#[test]
fn a_loop_that_does_not_answer_blocks_no_client_for_long() {
    let (server, asks, _) = start(Duration::from_millis(200));
    let (head, body) = ask(server.address(), "/v1/counters");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert_eq!(problem(&body), "no answer within 0.2 s");
    // The late answer goes nowhere.
    asks.recv().unwrap().answer(Answer::Standing(Box::default()));
    drop(asks);
    assert!(ask(server.address(), "/v1/counters").0.starts_with("HTTP/1.1 503"));
    assert!(ask(server.address(), "/livez").0.starts_with("HTTP/1.1 200"));
}

#[test]
fn stopping_waits_for_nobody_and_frees_the_port() {
    let (server, asks, _) = start(Duration::from_secs(10));
    let address = server.address();
    let asking = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /v1/counters HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
    });
    let held = asks.recv().unwrap();
    let _idle = TcpStream::connect(address).unwrap();
    let begun = Instant::now();
    server.stop();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    asking.join().unwrap();
    drop(held);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn an_address_in_use_is_named_with_the_remedy() {
    let (server, _asks, status) = start(Duration::from_secs(10));
    let domains = vec![served(&Metrics::new("atlas", 1), &status)];
    let door = door(Duration::from_secs(1));
    let added = (axum::Router::new(), &[][..]);
    let again = Server::start(server.address(), domains, door, added);
    let error = again.unwrap_err().to_string();
    assert!(error.contains(&server.address().to_string()) && error.contains("another address"));
    assert!(ADDRESS.parse::<SocketAddr>().unwrap().ip().is_loopback());
}

/// Verbs that print end with their reader (SIGPIPE), also those that serve, such as `demo`, `intake`
/// and `import --every`; a client that leaves is no reader.
#[test]
fn clients_that_leave_before_their_answers_end_no_process() {
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        for _ in 0..1_000 {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            // The answer does not fit, so that it is still written when nobody is there any more.
            socket.set_recv_buffer_size(2_048).unwrap();
            let Ok(stream) = socket.connect(demo.address).await else { break };
            let question = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
            assert_eq!(stream.try_write(question).unwrap(), question.len());
        }
    });
    let (head, _) = ask(demo.address, "/livez");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(demo.fate(), "the demo runs");
}

/// Metrics that a demo does not have.
const NOT_IN_A_DEMO: [Metric; 41] = [
    // It imports nothing and takes nothing in.
    Metric::ImportAge,
    Metric::ImportRecords,
    Metric::ImportReads,
    Metric::IntakeRecords,
    Metric::IntakeDropped,
    Metric::IntakeWaiting,
    Metric::IntakeQueued,
    Metric::IntakeChanges,
    Metric::IntakeGone,
    Metric::IntakeHeld,
    Metric::IntakeAbsent,
    // No other broker is asked.
    Metric::Comparisons,
    Metric::ComparedAnswers,
    Metric::ComparedAnswer,
    Metric::Overlap,
    Metric::ComparedRejections,
    Metric::AssignedComparisons,
    Metric::UnreadableComparisons,
    // Its log is its own, and a directory.
    Metric::Strays,
    Metric::StuckLanes,
    // No task wants a nucleus.
    Metric::NucleusAssignments,
    // For days nobody is throttled, and nothing is held back.
    Metric::Throttles,
    Metric::HeldBackJobs,
    // No parameter sets a cap.
    Metric::UserCaps,
    // They are looked at with the recount of each hour.
    Metric::EstimatedStarts,
    // It has neither a pool of slots nor clusters.
    Metric::IdleJobs,
    Metric::PoolCores,
    Metric::PoolSites,
    Metric::LiveOffers,
    Metric::OfferAge,
    Metric::OldestOffer,
    Metric::FreeCores,
    Metric::Workflows,
    Metric::Drains,
    Metric::ClassUse,
    Metric::ClassQuota,
    Metric::Clusters,
    Metric::ClusterQueues,
    Metric::Cpus,
    Metric::ClusterJobs,
    Metric::ClusterFree,
];

#[test]
fn a_demo_shows_every_metric_that_it_can_each_with_its_domain() {
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    let can = |metric: &&Metric| !NOT_IN_A_DEMO.contains(metric);
    let mut missing: BTreeSet<&str> =
        Metric::ALL.iter().filter(can).map(|metric| metric.name()).collect();
    let begun = Instant::now();
    while !missing.is_empty() {
        let left: Vec<&str> = missing.iter().copied().collect();
        assert!(begun.elapsed() < Duration::from_secs(120), "not shown: {}", left.join(", "));
        std::thread::sleep(Duration::from_millis(500));
        let (_, page) = ask(demo.address, "/metrics");
        for line in page.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, labels) = line.split_once('{').expect(line);
            assert!(labels.starts_with("domain=\"atlas\""), "{line}");
            let ends = ["_bucket", "_sum", "_count"];
            let stem = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            missing.remove(stem);
        }
    }
}
