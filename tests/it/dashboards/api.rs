//! The tables of the JSON API against a running `demo`: their very requests are answered, and what
//! they read is in the answer. It needs no Prometheus.

use super::boards::{Board, Panel};
use super::live::{OF_A_DOMAIN, PATIENCE, encoded, get};
use super::requests::Request;
use super::{boards, none};
use crate::demo::Demo;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Between two requests.
const NAP: Duration = Duration::from_millis(200);

/// A parameter as Grafana sends it of a domain: all kinds chosen, nothing typed into the texts, and a
/// range that holds all of a simulated time.
fn filled(value: &str, domain: &str) -> String {
    let variables = [
        ("${domain}", domain),
        ("${kind:csv}", "decision,throttle,command"),
        ("${task:raw}", ""),
        ("${at_queue:raw}", ""),
        ("${of_share:raw}", ""),
        ("${of_user:raw}", ""),
        ("${__from}", "0"),
        ("${__to}", "4102444800000"),
    ];
    let all = variables.iter();
    let filled = all.fold(value.to_owned(), |text, (name, value)| text.replace(name, value));
    assert!(!filled.contains('$'), "{filled}");
    filled
}

fn path(request: &Request, domain: &str) -> String {
    let param =
        |(key, value): &(String, String)| format!("{key}={}", encoded(&filled(value, domain)));
    let params: Vec<String> = request.params.iter().map(param).collect();
    match params.is_empty() {
        true => request.path.clone(),
        false => format!("{}?{}", request.path, params.join("&")),
    }
}

/// The body of an answer; or all of one that is no success.
fn body(address: SocketAddr, path: &str) -> Result<String, String> {
    let text = get(address, path).ok_or("no answer")?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let is_success = head.split(' ').nth(1) == Some("200");
    if is_success { Ok(body.to_owned()) } else { Err(text) }
}

/// The value at a place of an answer; the place is of names with dots between.
fn at<'a>(json: &'a Value, place: &str) -> Option<&'a Value> {
    place.split('.').try_fold(json, |json, name| json.get(name))
}

/// The address of a process, and its domain.
type Asked<'a> = (SocketAddr, &'a str);

/// The things that a request lists; asked again until there are some, or patience ends.
fn listed((address, domain): Asked<'_>, request: &Request) -> Result<Vec<Value>, String> {
    let (path, began) = (path(request, domain), Instant::now());
    loop {
        let answer: Value = match body(address, &path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?,
            // Its store is not open yet.
            Err(why) if why.contains(" 503 ") && began.elapsed() < PATIENCE => {
                std::thread::sleep(NAP);
                continue;
            }
            Err(why) => return Err(format!("{path}: {why}")),
        };
        let list = at(&answer, &request.root).and_then(Value::as_array);
        match list {
            None => return Err(format!("{path}: no list `{}` in {answer}", request.root)),
            Some(list) if !list.is_empty() => return Ok(list.clone()),
            Some(_) if began.elapsed() > PATIENCE => return Err(format!("{path}: empty")),
            Some(_) => std::thread::sleep(NAP),
        }
    }
}

/// Fields that a panel would not show.
fn complaints(asked: Asked<'_>, panel: &Panel, request: &Request) -> Vec<String> {
    let list = match listed(asked, request) {
        Err(why) => return vec![format!("{}: {why}", panel.title)],
        Ok(list) => list,
    };
    let lacks = |selector: &String| list.iter().find(|it| at(it, selector).is_none());
    let missing = request.columns.values().filter_map(|it| Some((it, lacks(it)?)));
    missing.map(|(it, thing)| format!("{}: no `{it}` in {thing}", panel.title)).collect()
}

fn complaints_of(asked: Asked<'_>, panels: &[Panel]) -> Vec<String> {
    let all = panels.iter().flat_map(|panel| panel.requests.iter().map(move |it| (panel, it)));
    all.flat_map(|(panel, request)| complaints(asked, panel, request)).collect()
}

#[test]
fn a_running_demo_of_a_domain_answers_what_tables_of_its_board_ask_the_api() {
    for (name, topology) in OF_A_DOMAIN {
        let panels: Vec<Panel> =
            boards().into_iter().filter(|it| it.name == name).flat_map(|it| it.panels).collect();
        if panels.iter().all(|panel| panel.requests.is_empty()) {
            continue;
        }
        let dir = TempDir::new().unwrap();
        let demo = Demo::of(topology, &dir.path().join("demo"));
        none(&complaints_of((demo.address, topology), &panels));
    }
}

#[test]
fn a_running_demo_answers_what_tables_ask_the_api() {
    let dir = TempDir::new().unwrap();
    let demo = Demo::start(&dir.path().join("demo"), &[]);
    let asked = (demo.address, "atlas");
    let is_of_all = |board: &Board| OF_A_DOMAIN.iter().all(|(name, _)| *name != board.name);
    let all = boards().into_iter().filter(is_of_all);
    let panels: Vec<Panel> = all.flat_map(|board| board.panels).collect();
    none(&complaints_of(asked, &panels));

    // Seen red: a path, a list, a field that there are not.
    let mut tables = panels.iter().filter(|it| !it.requests.is_empty());
    let table = tables.find(|it| it.title == "Single decisions").expect("the table");
    let count = |change: fn(&mut Request)| {
        let mut request = table.requests[0].clone();
        change(&mut request);
        complaints(asked, table, &request).len()
    };
    assert_eq!(count(|it| it.path += "s"), 1);
    assert_eq!(count(|it| it.root = "rows".to_owned()), 1);
    assert_eq!(count(|it| drop(it.columns.insert("x".to_owned(), "why".to_owned()))), 1);
    assert_eq!(count(|it| it.params.push(("colour".to_owned(), "red".to_owned()))), 1);
}
