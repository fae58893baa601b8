//! A process that encrypts, asked by the program's own verbs and by others.

use super::guard::{Run, yardmaster};
use super::{problem, send};
use crate::broker::script;
use crate::kill::process::wait_until;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Certificates, a log, and what a process is started with.
struct Place {
    dir: TempDir,
}

impl Place {
    fn make() -> Place {
        let dir = TempDir::new().unwrap();
        let made = Command::new(script("certificates.sh")).arg(dir.path()).status().unwrap();
        assert!(made.success(), "openssl makes certificates");
        Place { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn server(&self, more: &[&str]) -> Vec<String> {
        let own = ["--http-cert", &self.path("broker.crt"), "--http-key", &self.path("broker.key")];
        own.iter().chain(more).map(|it| (*it).to_owned()).collect()
    }

    /// Starts a process and waits until it can be asked.
    fn start(&self, more: &[&str]) -> (Run, SocketAddr) {
        let args = self.server(more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let log = self.path("log");
        let run = Run::start(&self.path("yard"), &log, &args);
        let file = PathBuf::from(self.path("yard/store/address"));
        let mut address = None;
        let logged = || std::fs::read_to_string(&log).unwrap();
        wait_until(Duration::from_secs(60), logged, || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            address = text.trim().strip_prefix("https://").and_then(|it| it.parse().ok());
            address.is_some()
        });
        (run, address.unwrap())
    }

    /// `counters` of the running process.
    fn counters(&self, more: &[(&str, &str)]) -> (Option<i32>, String) {
        let yard = self.path("yard");
        let mut args = vec!["counters".to_owned(), "--dir".to_owned(), yard];
        for (flag, file) in more {
            args.extend([(*flag).to_owned(), self.path(file)]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, _, errors) = yardmaster(&args);
        (code, errors)
    }
}

#[test]
fn a_process_with_a_certificate_is_asked_with_its_authority() {
    let place = Place::make();
    let (_run, address) = place.start(&[]);
    let (code, errors) = place.counters(&[]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("is encrypted") && errors.contains("--http-ca"), "{errors}");
    let (code, errors) = place.counters(&[("--http-ca", "other-ca.pem")]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("other-ca.pem the authority"), "{errors}");
    let (code, errors) = place.counters(&[("--http-ca", "ca.pem")]);
    assert_eq!(code, Some(0), "{errors}");
    let (head, body) = send(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    assert!(problem(&body).contains("encrypted") && body.contains("https://"), "{body}");

    // Those that never finish a handshake are closed for those that do.
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    let (code, errors) = place.counters(&[("--http-ca", "ca.pem")]);
    assert_eq!(code, Some(0), "{errors}");
    drop(silent);

    // Another certificate takes effect without a restart; a key alone is none.
    let replace = |from: &str, to: &str| {
        let new = place.path("new");
        std::fs::copy(place.path(from), &new).unwrap();
        std::fs::rename(new, place.path(to)).unwrap();
    };
    replace("other-ca.key", "broker.key");
    assert_eq!(place.counters(&[("--http-ca", "ca.pem")]).0, Some(0));
    replace("other-ca.pem", "broker.crt");
    let (code, errors) = place.counters(&[("--http-ca", "other-ca.pem")]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(place.counters(&[("--http-ca", "ca.pem")]).0, Some(1));
    let logged = std::fs::read_to_string(place.path("log")).unwrap();
    assert!(logged.contains("what was read before stays in force"), "{logged}");
}

#[test]
fn with_an_authority_for_clients_only_those_with_a_certificate_are_answered() {
    let place = Place::make();
    let client_ca = place.path("ca.pem");
    let (_run, _) = place.start(&["--http-client-ca", &client_ca]);
    let ca = ("--http-ca", "ca.pem");
    let (code, errors) = place.counters(&[ca]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("--http-cert"), "{errors}");
    let other = [ca, ("--http-cert", "other-ca.pem"), ("--http-key", "other-ca.key")];
    let (code, errors) = place.counters(&other);
    assert_eq!(code, Some(1), "{errors}");
    let own = [ca, ("--http-cert", "client.pem"), ("--http-key", "client.key")];
    let (code, errors) = place.counters(&own);
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn encryption_alone_opens_no_address_and_files_of_no_use_are_named() {
    let place = Place::make();
    let run = ["run", "--bootstrap-server", "127.0.0.1:1", "--dry-run", "--http", "0.0.0.0:19187"];
    let start = |more: &[String]| {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let (code, _, errors) = yardmaster(&[&run[..], &more].concat());
        (code, errors)
    };
    let (code, errors) = start(&place.server(&[]));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("--http-client-ca") && errors.contains("0.0.0.0:19187"), "{errors}");
    let (code, errors) = start(&place.server(&["--http-client-ca", &place.path("ca.pem")]));
    assert_eq!(code, Some(0), "{errors}");
    for (cert, key, ca, named) in [
        ("none", "broker.key", "ca.pem", "--http-cert"),
        ("broker.crt", "none", "ca.pem", "--http-key"),
        ("broker.crt", "client.key", "ca.pem", "--http-key"),
        ("broker.crt", "broker.key", "none", "--http-client-ca"),
    ] {
        let [cert, key, ca] = [cert, key, ca].map(|name| place.path(name));
        let args = ["--http-cert", &cert, "--http-key", &key, "--http-client-ca", &ca];
        let (code, errors) = start(&args.map(str::to_owned));
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(named) && errors.contains("PEM file"), "{errors}");
    }
}
