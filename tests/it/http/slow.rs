//! A thousand clients that send or read slowly take nothing from those that do not, nor from the
//! loop: their connections are few, and they end.

use super::{ask, counters_of, start};
use crate::demo::Demo;
use crate::kill::process::wait_until;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;
use tempfile::TempDir;

/// As many as may be open at a time at most, as `http_connections_max` has it.
const CONNECTIONS_MAX: usize = 64;

/// This process has an end of each connection: it may open more files than usual.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, raised).unwrap();
}

fn connect(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

#[test]
fn clients_that_read_nothing_of_a_long_answer_make_room() {
    raise_limit();
    let (server, asks, _) = start(Duration::from_secs(10));
    let address = server.address();
    let (answered, answers) = channel();
    let answering = std::thread::spawn(move || {
        for question in asks {
            // More than the system's buffers on both sides hold.
            question.answer(counters_of("x".repeat(24 << 20)));
            let _ = answered.send(());
        }
    });
    let request = "GET /v1/counters HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // Four connections are open at a time, so there are five times as many as can be.
    let slow = || {
        let stream = connect(address, request);
        answers.recv_timeout(Duration::from_secs(20)).expect("room for one more");
        stream
    };
    let slow: Vec<TcpStream> = (0..20).map(|_| slow()).collect();
    let (head, _) = ask(address, "/livez");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    // One that reads is served whole, however long that takes.
    let (head, body) = ask(address, "/v1/counters");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.len() > 24 << 20, "{}", body.len());
    let whole = |mut stream: &TcpStream| {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes.len() > 24 << 20
    };
    let served = slow.iter().filter(|stream| whole(stream)).count();
    assert!(served <= 4, "{served} of 20 were kept");
    drop(server);
    answering.join().unwrap();
}

/// How many connections the demo has open, and what it listens and is woken with.
fn sockets(demo: &Demo) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", demo.id())).unwrap();
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

fn cycle(demo: &Demo) -> u64 {
    let (_, body) = ask(demo.address, "/readyz");
    let reported: serde_json::Value = serde_json::from_str(&body).unwrap();
    reported["state"]["cycle"].as_u64().unwrap()
}

#[test]
fn a_thousand_slow_clients_take_nothing_from_the_loop() {
    raise_limit();
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    let mut slow = Vec::new();
    let heads = [
        "",
        "GET /metrics HTTP/1.1\r\nHost: loc",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /v1/counters HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    let mut most = 0;
    for round in 0..10 {
        slow.extend((0..100).map(|at| connect(demo.address, heads[(round + at) % heads.len()])));
        most = most.max(sockets(&demo));
        assert!(ask(demo.address, "/livez").0.starts_with("HTTP/1.1 200"));
        // The loop goes on beside them.
        let last = cycle(&demo);
        let stands = || format!("cycle {last} is still the last");
        wait_until(Duration::from_secs(60), stands, || cycle(&demo) > last);
        most = most.max(sockets(&demo));
    }
    assert_eq!(slow.len(), 1_000);
    // All end, without a word from their clients.
    let is_over = |mut stream: &TcpStream| match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    assert!(slow.iter().all(is_over));
    // What it is woken with may be opened after its first answer: it is counted at the end.
    let rest = sockets(&demo);
    assert!(most > rest, "connections were seen: {most} were open, and {rest} are");
    assert!(most <= rest + CONNECTIONS_MAX + 1, "{most} were open, and {rest} are without them");
}
