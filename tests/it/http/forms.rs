//! A bad request is answered in JSON, with the remedy, and every answer carries the headers that
//! keep strangers' pages away.

use super::{ask, counters_of, problem, send, start};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Sends what may be longer than the server reads.
fn send_all(address: std::net::SocketAddr, bytes: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let _ = stream.shutdown(Shutdown::Write);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    (head.to_owned(), body.to_owned())
}

#[test]
fn every_answer_carries_the_headers_that_keep_other_pages_out() {
    let (server, asks, _) = start(Duration::from_secs(10));
    let address = server.address();
    std::thread::spawn(move || {
        for question in asks {
            question.answer(counters_of("A".to_owned()));
        }
    });
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(100_000));
    let answers = [
        ask(address, "/metrics"),
        ask(address, "/livez"),
        ask(address, "/readyz"),
        ask(address, "/v1/counters"),
        ask(address, "/nowhere"),
        send(address, "GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n"),
        send(address, "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        send_all(address, long.as_bytes()),
        send_all(address, b"what is this\r\n\r\n"),
    ];
    for (head, _) in answers {
        let lines: Vec<String> = head.lines().map(str::to_ascii_lowercase).collect();
        for header in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cross-origin-opener-policy: same-origin",
            "x-frame-options: deny",
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'",
            "cache-control: no-store",
        ] {
            let count = lines.iter().filter(|line| *line == header).count();
            assert_eq!(count, 1, "{header} in {head}");
        }
        assert!(!head.to_ascii_lowercase().contains("access-control"), "{head}");
    }
}

#[test]
fn a_wrong_request_is_answered_with_what_is_right() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let address = server.address();
    let (head, body) = ask(address, "/metric");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    problem(&body);
    for path in ["/metrics", "/livez", "/readyz", "/v1/counters", "/v1/audit"] {
        assert!(body.contains(path), "{body}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, body) = send(address, &request);
        assert!(head.starts_with("HTTP/1.1 405"), "{head}");
        assert!(head.to_ascii_lowercase().contains("\r\nallow: get, head"), "{head}");
        assert!(problem(&body).contains(method), "{body}");
    }
    let (head, body) = send(address, "HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty(), "{head} {body}");
    let (head, body) = ask(address, "/v1/%FF");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    problem(&body);
    assert!(body.contains("%C3%BC"), "{body}");
}

/// A body that is not read must not take the answer from the client that sends it.
#[test]
fn a_long_body_is_refused_and_the_answer_arrives() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let length = 500_000;
    let head = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n");
    let request = [head.as_bytes(), b"\r\n", &vec![b'x'; length]].concat();
    let (head, body) = send_all(server.address(), &request);
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    problem(&body);
}

#[test]
fn what_is_no_request_is_answered_in_json_too() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    let long = "x".repeat(100_000);
    let many = "a: b\r\n".repeat(200);
    for (bytes, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"), "431"),
        ("what is this\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), "400"),
        ("\x16\x03\x01\x02\x00\x01\x00\x01".to_owned(), "400"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "400"),
    ] {
        let (head, body) = send_all(server.address(), bytes.as_bytes());
        let first: String = bytes.chars().take(40).collect();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{first:?}: {head}");
        problem(&body);
    }
}

#[test]
fn a_head_that_does_not_come_is_answered_when_its_time_is_over() {
    let (server, _asks, _) = start(Duration::from_secs(10));
    // The rest of the head never comes.
    let (head, body) = send(server.address(), "GET /livez HTTP/1.1\r\nHost: local");
    assert!(head.starts_with("HTTP/1.1 408"), "{head}");
    problem(&body);
}
