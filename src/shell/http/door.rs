//! Which connections are served: a bounded number, each for one request, which must arrive soon and
//! be small, and under a name of this host.

use super::problem;
use crate::core::limits::Limits;
use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, Version, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How long a request's head may take to arrive.
const HEAD_MAX: Duration = Duration::from_secs(5);
/// How long a request's head may be; bytes.
const HEAD_BYTES: usize = 16 * 1024;
/// How long a client may take to read an answer.
const SEND_MAX: Duration = Duration::from_secs(30);
/// Pause after a connection could not be accepted, or while all that are open are being answered.
const PAUSE: Duration = Duration::from_millis(20);
/// Of the files this process may open, connections get at most one in so many: the rest is for the
/// store and the broker.
const FILES_PER_CONNECTION: usize = 8;

/// Which connections are served.
#[derive(Clone, Debug)]
pub struct Door {
    /// How long a question may wait for an answer.
    pub answer_max: Duration,
    /// Most connections at a time.
    pub connections_max: usize,
    /// Names under which this host may be asked, beside addresses, `localhost` and its own name.
    pub hosts: Vec<String>,
}

impl Door {
    /// As the topology's limits have it.
    pub fn new(limits: &Limits, hosts: &[String]) -> Door {
        Door {
            answer_max: Duration::from_millis(limits.http_timeout_ms.max(0) as u64),
            connections_max: limits.http_connections_max,
            hosts: hosts.to_vec(),
        }
    }
}

/// A connection that was accepted.
struct Connection {
    /// Whether its request has arrived.
    has_asked: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// Accepts connections for ever. When too many are open the oldest whose request has not arrived
/// is closed for a new one.
pub(super) async fn accept(listener: &TcpListener, router: Router, door: &Door) {
    let most = connections_max(door.connections_max);
    let mut hosts: Vec<String> = door.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
    hosts.extend(std::fs::read_to_string("/proc/sys/kernel/hostname").map(|it| plain(it.trim())));
    let hosts: Arc<[String]> = hosts.into();
    let mut open: VecDeque<Connection> = VecDeque::new();
    let mut is_refused = false;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !std::mem::replace(&mut is_refused, true) {
                    tracing::warn!("http: a connection cannot be accepted: {error}");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        is_refused = false;
        loop {
            open.retain(|connection| !connection.task.is_finished());
            if open.len() < most {
                break;
            }
            let is_silent = |it: &Connection| !it.has_asked.load(Ordering::Relaxed);
            match open.iter().position(is_silent).and_then(|at| open.remove(at)) {
                Some(silent) => {
                    silent.task.abort();
                    let _ = silent.task.await;
                }
                None => tokio::time::sleep(PAUSE).await,
            }
        }
        let has_asked = Arc::new(AtomicBool::new(false));
        let work = attend(stream, router.clone(), Arc::clone(&hosts), Arc::clone(&has_asked));
        let longest = HEAD_MAX + door.answer_max + SEND_MAX;
        let task = tokio::spawn(async move {
            let _ = tokio::time::timeout(longest, work).await;
        });
        open.push_back(Connection { has_asked, task });
    }
}

/// Serves one request.
async fn attend(
    stream: TcpStream,
    router: Router,
    hosts: Arc<[String]>,
    has_asked: Arc<AtomicBool>,
) {
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        let refused = refusal(&request, &hosts);
        let inner = inner.clone();
        async move {
            match refused {
                Some(response) => Ok(response),
                None => inner.call(request).await,
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away, or sends no HTTP, is no trouble of ours.
    let _ = connection.await;
}

/// Why a request is not looked at.
fn refusal<B>(request: &Request<B>, hosts: &[String]) -> Option<Response> {
    let headers = request.headers();
    let is_empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0");
    if !is_empty || headers.contains_key(header::TRANSFER_ENCODING) {
        let what = "a request with a body is not read";
        return Some(problem(StatusCode::PAYLOAD_TOO_LARGE, what, "send a GET without a body"));
    }
    let named = match headers.get(header::HOST) {
        Some(host) => host.to_str().ok(),
        None if request.version() == Version::HTTP_10 => return None,
        None => None,
    };
    let Some(host) = named else {
        let what = "the request has no Host header that can be read";
        return Some(problem(StatusCode::BAD_REQUEST, what, "send one, as HTTP/1.1 demands"));
    };
    if is_known(host, hosts) {
        return None;
    }
    Some(problem(
        StatusCode::MISDIRECTED_REQUEST,
        &format!("this process is not asked under the name {host:?}"),
        "ask under its address, or start it with --http-host and that name",
    ))
}

/// Whether a Host header names this host. A page of a stranger whose name was made to lead here
/// comes with the stranger's name; an address cannot be made to lead elsewhere.
fn is_known(host: &str, hosts: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        },
    };
    let name = plain(name);
    name == "localhost" || name.parse::<IpAddr>().is_ok() || hosts.contains(&name)
}

/// A host's name as it is compared.
fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The limit, lowered where this process may open few files.
fn connections_max(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    files.map_or(wanted, |files| wanted.min(files / FILES_PER_CONNECTION)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_own_names_are_known_and_a_strangers_name_is_not() {
        let hosts = ["metrics.example.org".to_owned()];
        let known = ["127.0.0.1:9187", "[::1]:9187", "10.1.2.3", "localhost", "LOCALHOST.:80"];
        for host in known.into_iter().chain(["metrics.example.org:9187", "Metrics.Example.Org"]) {
            assert!(is_known(host, &hosts), "{host}");
        }
        for host in ["evil.example.org", "127.0.0.1.evil.org", "localhost.evil.org:9187", "", "[x]"]
        {
            assert!(!is_known(host, &hosts), "{host}");
        }
    }
}
