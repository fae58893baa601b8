//! A process with a token gives data only to those that show it, and shows the token to nobody.

use super::{counters_of, door, problem, send, start_behind};
use crate::kill::process::{PROGRAM, wait_until};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::shell::http::token::Tokens;

const TOKEN: &str = "not-to-be-shown-4c1d77";
const NEXT: &str = "not-to-be-shown-after-9e2f";

fn write(path: &Path, text: &str) {
    let mut file = File::create(path).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn get(address: SocketAddr, path: &str, headers: &str) -> (String, String) {
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"))
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[test]
fn data_is_for_those_that_show_a_token() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("tokens");
    write(&file, &format!("{TOKEN}\n"));
    let mut door = door(Duration::from_secs(10));
    door.tokens = Some(Arc::new(Tokens::open(&file).unwrap()));
    let (server, asks, status) = start_behind(door);
    status.update(|state| (state.leading, state.cycle) = (true, 42));
    std::thread::spawn(move || {
        for question in asks {
            question.answer(counters_of("here".to_owned()));
        }
    });
    let address = server.address();
    let others = [
        String::new(),
        bearer("another-token-0123456"),
        bearer(&TOKEN[..TOKEN.len() - 1]),
        bearer(&format!("{TOKEN}x")),
        format!("Authorization: Basic {TOKEN}\r\n"),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: Bearer\r\nX-Token: {TOKEN}\r\n"),
    ];
    for path in ["/metrics", "/v1/counters", "/v1/job?name=1", "/api/v1/status", "/nowhere"] {
        for shown in &others {
            let (head, body) = get(address, path, shown);
            assert!(head.starts_with("HTTP/1.1 401"), "{path} {shown}: {head}");
            let head = head.to_ascii_lowercase();
            assert!(head.contains("\r\nwww-authenticate: bearer"), "{head}");
            problem(&body);
            assert!(body.contains("--http-token-file") && !body.contains(TOKEN), "{body}");
        }
    }
    // Whether it is well may be seen by all, with the reason and nothing else.
    assert!(get(address, "/livez", "").0.starts_with("HTTP/1.1 200"));
    let (head, body) = get(address, "/readyz", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body.trim(), r#"{"ready":true,"reason":null}"#);
    let (_, body) = get(address, "/readyz", &bearer(TOKEN));
    assert!(body.contains(r#""cycle":42"#), "{body}");
    let (head, _) = get(address, "/metrics", &bearer(TOKEN));
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(get(address, "/v1/counters", &bearer(TOKEN)).1.contains("here"));

    // Two are in force until the first is removed.
    let shown = |token: &str| get(address, "/metrics", &bearer(token)).0;
    assert!(shown(NEXT).starts_with("HTTP/1.1 401"));
    write(&file, &format!("{TOKEN}\n{NEXT}\n"));
    assert!(shown(TOKEN).starts_with("HTTP/1.1 200") && shown(NEXT).starts_with("HTTP/1.1 200"));
    write(&file, &format!("{NEXT}\n"));
    assert!(shown(TOKEN).starts_with("HTTP/1.1 401") && shown(NEXT).starts_with("HTTP/1.1 200"));
    // A file that is of no use locks nobody out, and lets nobody in.
    write(&file, "");
    assert!(shown("").starts_with("HTTP/1.1 401") && shown(NEXT).starts_with("HTTP/1.1 200"));
}

pub(super) fn yardmaster(args: &[&str]) -> (Option<i32>, String, String) {
    let output: Output = Command::new(PROGRAM).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_verb_that_serves_refuses_an_address_that_others_reach() {
    let dir = TempDir::new().unwrap();
    let log = dir.path().join("log");
    let log = log.to_str().unwrap();
    let nobody = "127.0.0.1:1";
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cric.json");
    let verbs: [&[&str]; 4] = [
        &["run", "--bootstrap-server", nobody],
        &["demo", "--dir", log, "--hours", "1"],
        &["intake", "--bootstrap-server", nobody, "--topology", "site.toml"],
        &["import", "cric", sources, "--every", "1h", "--bootstrap-server", nobody],
    ];
    let topology = dir.path().join("site.toml");
    let source = "[[intake.source]]\ntopic = \"panda.jobs\"\ndialect = \"panda\"\n";
    let text = format!("{}\n{source}", yardmaster::wire::topology::ATLAS);
    std::fs::write(&topology, text).unwrap();
    let (short, none) = (dir.path().join("short"), dir.path().join("none"));
    write(&short, "hush-hush\n");
    for verb in verbs {
        let verb: Vec<&str> = verb
            .iter()
            .map(|it| if *it == "site.toml" { topology.to_str().unwrap() } else { it })
            .collect();
        let serve =
            |more: &[&str]| yardmaster(&[&verb[..], &["--http", "0.0.0.0:19187"], more].concat());
        let (code, _, errors) = serve(&[]);
        assert_eq!(code, Some(2), "{verb:?}: {errors}");
        for part in ["0.0.0.0:19187", "--http-token-file", "--http-client-ca"] {
            assert!(errors.contains(part), "{verb:?}: {errors}");
        }
        let (code, _, errors) = serve(&["--http-token-file", short.to_str().unwrap()]);
        assert_eq!(code, Some(2), "{verb:?}: {errors}");
        assert!(errors.contains("line 1 is 9 bytes long"), "{errors}");
        assert!(!errors.contains("hush-hush"), "{errors}");
        let (code, _, errors) = serve(&["--http-token-file", none.to_str().unwrap()]);
        assert_eq!(code, Some(2), "{verb:?}: {errors}");
        assert!(errors.contains("none"), "{errors}");
    }
}

/// `run --dir`, ended when it is dropped.
pub(super) struct Run(Child);

impl Run {
    /// Starts one on a new log; what it logs goes to a file.
    pub(super) fn start(yard: &str, log: &str, more: &[&str]) -> Run {
        let log_file = OpenOptions::new().create(true).append(true).open(log).unwrap();
        let child = Command::new(PROGRAM)
            .args(["run", "--dir", yard, "--create", "--log", "debug", "--http", "127.0.0.1:0"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log_file)
            .spawn()
            .unwrap();
        Run(child)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_programs_own_verbs_show_a_token_and_nothing_else_does() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (yard, tokens, other, log) = (path("yard"), path("tokens"), path("other"), path("log"));
    write(Path::new(&tokens), &format!("{TOKEN}\n"));
    write(Path::new(&other), "another-token-0123456\n");
    let with_token = ["--http-token-file", &tokens];
    let (code, out, errors) =
        yardmaster(&[&["run", "--dir", &yard, "--create", "--dry-run"], &with_token[..]].concat());
    assert_eq!(code, Some(0), "{errors}");
    assert!(!format!("{out}{errors}").contains(TOKEN));
    let _run = Run::start(&yard, &log, &with_token);
    let address = Path::new(&yard).join("store/address");
    let logged = || std::fs::read_to_string(&log).unwrap();
    wait_until(Duration::from_secs(60), logged, || {
        let Ok(text) = std::fs::read_to_string(&address) else { return false };
        let Ok(address) = text.trim().parse() else { return false };
        get(address, "/readyz", "").0.starts_with("HTTP/1.1 200")
    });
    let address: SocketAddr = std::fs::read_to_string(&address).unwrap().trim().parse().unwrap();
    for verb in ["counters", "audit"] {
        let verb = [verb, "--dir", &yard];
        let (code, _, errors) = yardmaster(&verb);
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains("--http-token-file") && errors.contains("127.0.0.1:"), "{errors}");
        let (code, _, errors) = yardmaster(&[&verb[..], &["--http-token-file", &other]].concat());
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains("does not know the token"), "{errors}");
        let (code, _, errors) = yardmaster(&[&verb[..], &with_token].concat());
        assert_eq!(code, Some(0), "{errors}");
    }
    let explain = ["explain", "6500000123", "--dir", &yard];
    let (code, _, errors) = yardmaster(&explain);
    assert!(code == Some(1) && errors.contains("--http-token-file"), "{errors}");
    let (code, _, errors) = yardmaster(&[&explain[..], &with_token].concat());
    assert!(code == Some(1) && errors.contains("no decision about"), "{errors}");

    for path in ["/metrics", "/readyz", "/v1/counters", "/nowhere"] {
        let (head, body) = get(address, path, &bearer(TOKEN));
        assert!(!format!("{head}{body}").contains(TOKEN), "{path}");
    }
    let logged = logged();
    assert!(logged.contains("serving metrics") && !logged.contains(TOKEN), "{logged}");
    let mut left = vec![Path::new(&yard).to_owned()];
    let mut files = 0;
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&path).unwrap();
        let has_token = bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
        assert!(!has_token, "{}", path.display());
    }
    assert!(files > 3, "{files} files were looked at");
}

#[test]
fn a_file_that_every_user_can_read_is_warned_about() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("tokens");
    write(&file, TOKEN);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let place = dir.path().join("demo");
    let args = ["--hours", "1", "--scale", "0.01", "--http", "127.0.0.1:0", "--dir"];
    let (code, _, errors) = yardmaster(
        &[
            &["demo"][..],
            &args,
            &[place.to_str().unwrap(), "--http-token-file", file.to_str().unwrap()],
        ]
        .concat(),
    );
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("every user can read it") && errors.contains("tokens"), "{errors}");
    assert!(!errors.contains(TOKEN), "{errors}");
}
