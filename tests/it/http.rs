//! The HTTP server, asked over a socket as a stranger would.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use yardmaster::core::cut::Topic;
use yardmaster::shell::http::{ADDRESS, Answer, Ask, Server};
use yardmaster::shell::metrics::{EventOutcome, Metrics};
use yardmaster::shell::status::Status;

fn start(answer_max: Duration) -> (Server, Receiver<Ask>, Arc<Status>) {
    let status = Arc::new(Status::default());
    let mut metrics = Metrics::new(10);
    metrics.record_events(Topic::Task, EventOutcome::Folded, 3);
    metrics.add();
    let any = "127.0.0.1:0".parse().unwrap();
    let (server, asks) = Server::start(any, metrics.scrape(), status.clone(), answer_max).unwrap();
    (server, asks, status)
}

/// The head and the body of an answer.
fn ask(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_string(), body.to_string())
}

#[test]
fn metrics_are_served_as_prometheus_reads_them() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let (head, body) = ask(server.address(), "/metrics");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let line = r#"yardmaster_folded_events_total{topic="task",outcome="folded"} 3"#;
    assert!(body.lines().any(|it| it == line), "{body}");
}

#[test]
fn it_is_alive_from_the_start_and_ready_only_when_it_is() {
    let (server, _asks, status) = start(Duration::from_secs(10));
    status.update(|state| state.restoring = true);
    assert!(ask(server.address(), "/livez").0.starts_with("HTTP/1.1 200"));
    let (head, body) = ask(server.address(), "/readyz");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    let told: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(told["ready"], false);
    assert_eq!(told["reason"], "restoring: 0 % of the cycles are replayed");
    assert_eq!(told["state"]["restoring"], true);

    status.update(|state| (state.restoring, state.leading, state.cycle) = (false, true, 42));
    let (head, body) = ask(server.address(), "/readyz");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let told: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&told["ready"], &told["reason"]), (&true.into(), &().into()));
    assert_eq!((&told["state"]["leading"], &told["state"]["cycle"]), (&true.into(), &42.into()));
}

#[test]
fn a_question_reaches_the_loop_and_its_answer_comes_back() {
    let (server, asks, _) = start(Duration::from_secs(10));
    let address = server.address();
    let outside = std::thread::spawn(move || {
        ["/v1/counters?queue=A%20B&by=share", "/v1/nonsense", "/v1/explain?at=x"]
            .map(|path| ask(address, path))
    });
    let asked = asks.recv().unwrap();
    assert_eq!(asked.verb, "counters");
    let query: Vec<(&str, &str)> =
        asked.query.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(query, [("by", "share"), ("queue", "A B")]);
    asked.answer(Answer::Found { content_type: "application/json", body: b"[1]".to_vec() });
    asks.recv().unwrap().answer(Answer::Unknown("try counters".to_string()));
    asks.recv().unwrap().answer(Answer::Wrong("at: a number".to_string()));
    let [found, unknown, wrong] = outside.join().unwrap();
    assert!(found.0.starts_with("HTTP/1.1 200") && found.0.contains("application/json"));
    assert_eq!(found.1, "[1]");
    assert!(unknown.0.starts_with("HTTP/1.1 404") && unknown.1 == "try counters\n");
    assert!(wrong.0.starts_with("HTTP/1.1 400") && wrong.1 == "at: a number\n");
    assert!(ask(address, "/elsewhere").0.starts_with("HTTP/1.1 404"));
}

#[test]
fn a_loop_that_does_not_answer_holds_nobody_for_long() {
    let (server, asks, _) = start(Duration::from_millis(200));
    let (head, body) = ask(server.address(), "/v1/counters");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert_eq!(body, "no cycle ended within 0.2 s; ask again later\n");
    // The late answer goes nowhere.
    asks.recv().unwrap().answer(Answer::Unknown(String::new()));
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
        write!(stream, "GET /v1/counters HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
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
    let scrape = Metrics::new(1).scrape();
    let again = Server::start(server.address(), scrape, status, Duration::from_secs(1));
    let error = again.unwrap_err().to_string();
    assert!(error.contains(&server.address().to_string()) && error.contains("another address"));
    assert!(ADDRESS.parse::<SocketAddr>().unwrap().ip().is_loopback());
}
