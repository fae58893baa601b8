//! One process, two domains, each with a directory log of its own.

use super::Place;
use crate::http::ask;
use crate::kill::process::wait_until;
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// The answer of a path, with its status.
fn get(address: SocketAddr, path: &str) -> (u16, Value) {
    let (head, body) = ask(address, path);
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

fn verb(args: &[&str]) -> String {
    let (code, shown, errors) = printed(&yardmaster(args));
    assert_eq!(code, Some(0), "{args:?}: {shown}{errors}");
    shown
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The samples of a metric: their labels, and what is measured.
fn samples<'a>(page: &'a str, metric: &str) -> Vec<(&'a str, &'a str)> {
    let lines = page.lines().filter_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
    lines.filter_map(|line| line.split_once("} ")).collect()
}

#[test]
fn one_process_shows_each_of_its_domains_by_name() {
    let place = Place::new();
    let process = place.start();
    let leads = || ["one", "two"].iter().all(|domain| process.leads_in(domain));
    wait_until(PATIENCE, || process.logged(), leads);
    let address = process.address_for("one").unwrap();
    assert_eq!(process.address_for("two"), Some(address), "one port");

    let (code, ready) = get(address, "/readyz");
    assert_eq!((code, &ready["ready"]), (200, &true.into()));
    assert!(ready["domains"]["one"]["state"]["leading"] == true, "{ready}");
    assert!(ready["domains"]["two"]["state"]["leading"] == true, "{ready}");
    assert_eq!(get(address, "/readyz?domain=three").0, 404);

    let (_, first) = get(address, "/api/v1/status");
    let (_, second) = get(address, "/api/v1/status?domain=two");
    assert_eq!((&first["domain"], &second["domain"]), (&"one".into(), &"two".into()));
    assert_eq!(first["domains"], second["domains"]);
    let names: Vec<&Value> =
        first["domains"].as_array().unwrap().iter().map(|it| &it["domain"]).collect();
    assert_eq!(names, ["one", "two"]);
    let (code, unknown) = get(address, "/api/v1/queues?domain=three");
    assert_eq!((code, &unknown["remedy"]), (400, &"give one of one, two".into()));
    let (code, audited) = get(address, "/api/v1/audit?domain=two");
    assert_eq!((code, &audited["drifts"]), (200, &Value::Array(Vec::new())));

    let (_, metrics) = ask(address, "/metrics");
    for metric in ["yardmaster_leading", "yardmaster_domain_up", "yardmaster_ready"] {
        let found = samples(&metrics, metric);
        assert_eq!(found, [("domain=\"one\"", "1"), ("domain=\"two\"", "1")], "{metric}");
        let kinds = format!("# TYPE {metric} gauge\n");
        assert_eq!(metrics.matches(&kinds).count(), 1, "{metric} is described once");
    }
    // The verbs that ask a process ask about the domain of their topology, or the one they name.
    let (log, store, file) = (place.path("log/two"), place.path("store"), &place.files[1]);
    let of_two = ["--dir", text(&log), "--topology", text(file), "--store", text(&store)];
    let asked = verb(&[&["audit"], &of_two[..]].concat());
    assert!(asked.contains("running process: "), "{asked}");
    verb(&[&["counters"], &of_two[..]].concat());
    let address = address.to_string();
    assert_eq!(verb(&["health", "--http", &address, "--domain", "two"]), "ready\n");
    for (more, domain) in [
        (&["--http", address.as_str()][..], "one  leading"),
        (&["--http", &address, "--domain", "two"], "two  leading"),
        (&["--store", text(&store), "--domain", "two"], "two  leading"),
        (&["--store", text(&store.join("two"))], "two  leading"),
    ] {
        let frame = verb(&[&["top", "--once"], more].concat());
        assert!(frame.starts_with(domain), "{more:?}: {frame}");
    }
    let logged = process.all_logged();
    for part in ["domain=one}", "domain=two}"] {
        let of_domain = |line: &str| line.contains(part) && line.contains("leading epoch");
        assert!(logged.lines().any(of_domain), "{part}: {logged}");
    }
    assert_eq!(process.stop().code(), Some(0));
    // Each log is one like any other.
    for (domain, file) in ["one", "two"].into_iter().zip(&place.files) {
        let log = place.path("log").join(domain);
        let of_domain = ["--dir", text(&log), "--topology", text(file)];
        assert!(verb(&[&["audit"], &of_domain[..]].concat()).contains(" 0 drifted"));
        assert!(verb(&[&["replay", "--verify"], &of_domain[..]].concat()).contains("0 different"));
    }
}

#[test]
fn a_domain_whose_store_cannot_be_used_does_not_stop_the_other() {
    let place = Place::new();
    std::fs::create_dir(place.path("store")).unwrap();
    std::fs::write(place.path("store/two"), "no directory").unwrap();
    let process = place.start();
    wait_until(PATIENCE, || process.logged(), || process.leads_in("one"));
    let address = process.address_for("one").unwrap();
    let stopped = || get(address, "/readyz?domain=two").0 == 503;
    wait_until(PATIENCE, || process.logged(), stopped);
    let (code, ready) = get(address, "/readyz");
    let reason = ready["reason"].as_str().unwrap();
    assert!(code == 503 && reason.starts_with("two: stopped: "), "{ready}");
    assert_eq!(get(address, "/readyz?domain=one").0, 200);
    let (code, why) = get(address, "/api/v1/counters?domain=two");
    assert!(code == 503 && why["error"].as_str().unwrap().contains("stopping"), "{why}");
    let (_, metrics) = ask(address, "/metrics");
    let up = samples(&metrics, "yardmaster_domain_up");
    assert_eq!(up, [("domain=\"one\"", "1"), ("domain=\"two\"", "0")]);
    let cycle = || get(address, "/api/v1/status").1["cycle"].as_u64().unwrap();
    let begun = cycle();
    wait_until(PATIENCE, || process.logged(), || cycle() > begun + 2);
    let logged = process.all_logged();
    assert!(logged.contains("domain two stopped: store: "), "{logged}");
    assert_eq!(process.stop().code(), Some(1), "not all domains ended in order");
}
