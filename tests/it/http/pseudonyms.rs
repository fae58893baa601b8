//! Users by pseudonyms, as a user of the program sees them: a log with names, and none in what the
//! program shows, keeps or publishes.

use super::ask;
use super::guard::{Run, yardmaster};
use crate::kill::process::wait_until;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::cut::Topic;
use yardmaster::wire::pseudonym::Pseudonyms;
use yardmaster::wire::topology::{ATLAS, Topology};

const KEY: &str = "a-key-that-is-shown-to-nobody-0123456789";
const OTHER: &str = "another-key-that-is-shown-to-nobody-0123";

/// Names of users in a text: those of the simulated grid are `user` and three digits.
fn named(bytes: &[u8]) -> Vec<String> {
    let is_name =
        |part: &&[u8]| part.starts_with(b"user") && part[4..].iter().all(u8::is_ascii_digit);
    let found = bytes.windows(7).filter(is_name);
    found.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        match path.is_dir() {
            true => left.extend(std::fs::read_dir(&path).unwrap().map(|it| it.unwrap().path())),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn a_user_is_shown_by_a_pseudonym_and_found_by_the_name() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (yard, key, log, topology) = (path("yard"), path("key"), path("log"), path("site.toml"));
    std::fs::write(&key, format!("{KEY}\n")).unwrap();
    let text = |key: &str| format!("{ATLAS}\n[pseudonyms]\nusers = true\nkey_file = {key:?}\n");
    std::fs::write(&topology, text(&key)).unwrap();
    let by = ["--dir", &yard, "--topology", &topology];
    let run = |args: &[&str]| yardmaster(&[args, &by[..]].concat());
    let demo = ["demo", "--hours", "2", "--scale", "0.02", "--http", "127.0.0.1:0"];
    let (code, out, errors) = run(&demo);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(named(format!("{out}{errors}").as_bytes()), [""; 0]);

    // The log has the names as they were published, and none of ours has one.
    let settings = Topology::parse("site.toml", &text(&key)).unwrap();
    let (mut inputs, mut published) = (0, 0);
    for file in files(Path::new(&yard)) {
        let bytes = std::fs::read(&file).unwrap();
        let names = named(&bytes);
        let place = file.display().to_string();
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{place}");
        let of = |topic: Topic| place.contains(&settings.topic(topic).name);
        if of(Topic::Task) || of(Topic::JobState) {
            inputs += names.len();
            continue;
        }
        assert!(names.is_empty(), "{place}: {names:?}");
        published += usize::from(of(Topic::Decision) && !bytes.is_empty());
    }
    assert!(inputs > 10 && published > 0, "{inputs} names, {published} files of decisions");

    let (code, counters, errors) = run(&["counters", "--by", "user", "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(counters.contains("\"user-") && named(counters.as_bytes()).is_empty(), "{counters}");
    let of = |name: &str, flags: &[&str]| {
        run(&[&["counters", "--by", "user", "--json", "--name", name], flags].concat())
    };
    let found = (0..400).map(|at| format!("user{at:03}")).find_map(|name| {
        let (code, out, errors) = of(&name, &[]);
        assert!(code == Some(0) && errors.contains("is looked for as user-"), "{errors}");
        (!out.is_empty()).then_some((name, out))
    });
    let (name, out) = found.expect("a user of the grid has jobs");
    let (code, explained, errors) = run(&["explain", &name]);
    assert!(code == Some(0) && errors.contains("is looked for as user-"), "{errors}");
    assert!(
        explained.contains(": a user, as of ") && named(explained.as_bytes()).is_empty(),
        "{explained}"
    );
    let (code, out_of_describe, errors) = run_without_dir(&topology);
    assert_eq!(code, Some(0), "{errors}");
    assert!(out_of_describe.contains("pseudonyms") && !out_of_describe.contains(KEY));

    // A running process shows the same.
    let serve = |more: &[&str]| {
        let _ = std::fs::remove_file(Path::new(&yard).join("store/address"));
        let run = Run::start(&yard, &log, more);
        let logged = || std::fs::read_to_string(&log).unwrap();
        let mut address: Option<SocketAddr> = None;
        wait_until(Duration::from_secs(60), logged, || {
            let file = Path::new(&yard).join("store/address");
            let text = std::fs::read_to_string(file).unwrap_or_default();
            address = text.trim().parse().ok();
            address.is_some_and(|it| ask(it, "/readyz").0.starts_with("HTTP/1.1 200"))
        });
        (run, address.unwrap())
    };
    let (running, address) = serve(&["--topology", &topology]);
    for page in ["/metrics", "/readyz", "/v1/counters", "/v1/audit"] {
        let (head, body) = ask(address, page);
        assert!(head.starts_with("HTTP/1.1 200"), "{page}: {head}");
        assert_eq!(named(body.as_bytes()), [""; 0], "{page}");
    }
    assert!(ask(address, "/v1/counters").1.contains("\"user-"));
    let (code, asked, errors) = of(&name, &[]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(asked.lines().count(), out.lines().count(), "{asked} {out}");
    found_by_the_name(address);
    drop(running);
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(!logged.contains("rebuilt from the log") && !logged.contains(KEY), "{logged}");
    assert_eq!(named(logged.as_bytes()), [""; 0]);

    // Under another key the store is of no use, and is made again.
    let (other, other_topology) = (path("other"), path("other.toml"));
    std::fs::write(&other, OTHER).unwrap();
    std::fs::write(&other_topology, text(&other)).unwrap();
    let (running, address) = serve(&["--topology", &other_topology]);
    let (_, counters) = ask(address, "/v1/counters");
    assert_eq!(named(counters.as_bytes()), [""; 0]);
    drop(running);
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("rebuilt from the log") && !logged.contains(OTHER), "{logged}");
    let before = out.lines().next().unwrap().split('"').find(|it| it.starts_with("user-"));
    assert!(!counters.contains(before.unwrap()), "the pseudonym of before is gone");
}

/// A process answers the same whether it is asked for a user by the name or by the pseudonym.
fn found_by_the_name(address: SocketAddr) {
    let get = |path: &str| {
        let (head, body) = ask(address, path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head} {body}");
        assert_eq!(named(body.as_bytes()), [""; 0], "{path}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    // A user that decisions name.
    let pseudonyms = Pseudonyms::new(KEY.as_bytes()).unwrap();
    let decided = get("/api/v1/decisions?kind=decision&limit=1000");
    let users: BTreeSet<&str> =
        decided["items"].as_array().unwrap().iter().filter_map(|it| it["user"].as_str()).collect();
    let names = (0..400).map(|at| format!("user{at:03}"));
    let names = names.chain((0..100).map(|at| format!("prod{at:02}")));
    let mut names = names.map(|name| (pseudonyms.of(&name), name));
    let (pseudonym, name) = names.find(|(it, _)| users.contains(it.as_str())).expect("a user");
    for (path, list) in [
        ("/api/v1/explain?name=", "decisions"),
        ("/api/v1/explain?kind=user&name=", "decisions"),
        ("/api/v1/explain?name=user/", "decisions"),
        ("/api/v1/counters?by=user&name=", "counters"),
        ("/api/v1/decisions?user=", "items"),
        ("/api/v1/decisions?name=", "items"),
    ] {
        let wanted = get(&format!("{path}{pseudonym}"));
        let found = get(&format!("{path}{name}"));
        assert!(!wanted[list].as_array().unwrap().is_empty(), "{path}{pseudonym}: {wanted}");
        assert_eq!(found[list], wanted[list], "{path}{name}");
        assert_eq!(found["name"], wanted["name"]);
    }
    // Another kind of thing is no user, and nobody has nobody's name.
    for path in ["explain?kind=task&name=", "explain?kind=group&name="] {
        let (head, body) = ask(address, &format!("/api/v1/{path}{name}"));
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head} {body}");
    }
    let (head, body) = ask(address, "/api/v1/explain?name=nobody-at-all");
    assert!(head.starts_with("HTTP/1.1 404") && body.contains("nobody-at-all"), "{head} {body}");
    assert!(!body.contains("user-"), "{body}");
}

fn run_without_dir(topology: &str) -> (Option<i32>, String, String) {
    yardmaster(&["topology", "describe", "--topology", topology])
}

#[test]
fn a_key_that_is_missing_is_named() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let topology = path("site.toml");
    let run = |table: &str| {
        std::fs::write(&topology, format!("{ATLAS}\n[pseudonyms]\n{table}\n")).unwrap();
        let place = path("yard");
        yardmaster(&["demo", "--hours", "1", "--dir", &place, "--topology", &topology])
    };
    for (table, part) in [
        ("users = true", "key_file"),
        ("users = 1\nkey_file = \"a\"", "true or false"),
        ("key_file = \"a\"", "no `users`"),
        ("users = true\nkey_file = \"a\"\nkey_env = \"B\"", "one of key_file"),
        ("users = true\nkey_file = \"/nowhere/key\"", "/nowhere/key"),
        ("users = true\nkey_env = \"NOBODY_SETS_THIS\"", "NOBODY_SETS_THIS is not set"),
        ("users = true\nkey = \"secret\"", "`key` in [pseudonyms]"),
    ] {
        let (code, _, errors) = run(table);
        assert_eq!(code, Some(2), "{table}: {errors}");
        assert!(errors.contains(part), "{table}: {errors}");
        assert!(!errors.contains("secret"), "{errors}");
    }
}
