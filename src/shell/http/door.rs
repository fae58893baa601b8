//! Which connections are served: a bounded number, each for one request, which must arrive soon and
//! be small, and must keep the [`Rules`].

use super::reply::{raw, with_headers};
use super::rules::{Rules, plain};
use super::stream::{Bytes, Progress, Stream};
use super::tls::{Refusal, Tls};
use super::token::Tokens;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use yardmaster_core::limits::Limits;

/// How long a request's head may take to arrive, and a TLS handshake before it.
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
    /// With one of which a client must show that it may ask for data.
    pub tokens: Option<Arc<Tokens>>,
    /// TLS of the connections; `None`: they are not encrypted.
    pub tls: Option<Arc<Tls>>,
}

impl Door {
    /// As the topology's limits have it, for all that can reach the address, in plain text.
    pub fn new(limits: &Limits, hosts: &[String]) -> Door {
        Door {
            answer_max: Duration::from_millis(limits.http_timeout_ms.max(0) as u64),
            connections_max: limits.http_connections_max,
            hosts: hosts.to_vec(),
            tokens: None,
            tls: None,
        }
    }

    /// Whether a client has to prove that it may ask for data.
    pub fn is_guarded(&self) -> bool {
        self.tokens.is_some() || self.tls.as_ref().is_some_and(|tls| tls.asks_for_certificate())
    }

    /// Scheme of the address.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// A connection that was accepted.
struct Connection {
    progress: Arc<Progress>,
    task: JoinHandle<()>,
}

/// Accepts connections for ever. When too many are open the oldest whose request has not arrived,
/// or whose client does not read its answer, is closed for a new one.
pub(super) async fn accept(listener: &TcpListener, router: Router, door: &Door) {
    let most = connections_max(door.connections_max);
    let mut hosts: Vec<String> = door.hosts.iter().map(|host| plain(host)).collect();
    hosts.extend(std::fs::read_to_string("/proc/sys/kernel/hostname").map(|it| plain(it.trim())));
    let rules = Arc::new(Rules { hosts, tokens: door.tokens.clone() });
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
        make_room(&mut open, most).await;
        let progress = Arc::new(Progress::default());
        let (router, rules, tls) = (router.clone(), Arc::clone(&rules), door.tls.clone());
        let seen = Arc::clone(&progress);
        let work = async move {
            if let Some(bytes) = open_stream(stream, tls, &seen).await {
                serve(Stream::new(bytes, Arc::clone(&seen)), router, rules, seen).await;
            }
        };
        let longest = 2 * HEAD_MAX + door.answer_max + SEND_MAX;
        let task = tokio::spawn(async move {
            let _ = tokio::time::timeout(longest, work).await;
        });
        open.push_back(Connection { progress, task });
    }
}

/// Waits until fewer than so many connections are open.
async fn make_room(open: &mut VecDeque<Connection>, most: usize) {
    loop {
        open.retain(|connection| !connection.task.is_finished());
        if open.len() < most {
            return;
        }
        let oldest = open.iter().position(|connection| connection.progress.may_go());
        match oldest.and_then(|at| open.remove(at)) {
            Some(connection) => {
                connection.task.abort();
                let _ = connection.task.await;
            }
            None => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// A connection's bytes, after the handshake if it is encrypted.
async fn open_stream(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    progress: &Arc<Progress>,
) -> Option<Box<dyn Bytes>> {
    let Some(tls) = tls else { return Some(Box::new(stream)) };
    match tokio::time::timeout(HEAD_MAX, tls.accept(stream)).await {
        Ok(Ok(bytes)) => Some(bytes),
        Ok(Err(Refusal::Plain(stream))) => {
            let what = "this port is encrypted, and the request is not";
            let answer =
                raw(StatusCode::BAD_REQUEST, what, "ask with https:// in place of http://");
            let mut stream = Stream::new(Box::new(stream), Arc::clone(progress));
            if stream.answer(&answer).await.is_ok() {
                stream.drain().await;
            }
            None
        }
        Ok(Err(Refusal::Failed)) | Err(_) => None,
    }
}

/// Serves one request.
async fn serve(stream: Stream, router: Router, rules: Arc<Rules>, progress: Arc<Progress>) {
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        progress.asked();
        let checked = rules.check(&request);
        let inner = inner.clone();
        if checked.is_err() {
            progress.refused();
        }
        Box::pin(async move {
            let response = match checked {
                Err(response) => *response,
                Ok(caller) => {
                    request.extensions_mut().insert(caller);
                    let Ok(response) = inner.call(request).await;
                    response
                }
            };
            Ok::<_, Infallible>(with_headers(response))
        })
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away is no trouble of ours.
    let ended = (&mut connection).await;
    let mut stream = connection.into_parts().io.into_inner();
    let error = ended.err();
    if stream.is_silent()
        && let Some(answer) = no_request(stream.bare_status(), error.as_ref())
        && stream.answer(&answer).await.is_err()
    {
        return;
    }
    stream.drain().await;
}

/// The answer to what is no request: `status` is the library's own answer to it, `error` how the
/// connection ended. `None`: the client left.
fn no_request(status: Option<StatusCode>, error: Option<&hyper::Error>) -> Option<Vec<u8>> {
    let is = |test: fn(&hyper::Error) -> bool| error.is_some_and(test);
    Some(match status {
        Some(code @ (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG)) => {
            let what = "the address and the headers are too long";
            raw(code, what, &format!("send at most {} KB of both", HEAD_BYTES / 1024))
        }
        None if is(hyper::Error::is_timeout) => {
            let what = format!("no request arrived within {} s", HEAD_MAX.as_secs());
            raw(StatusCode::REQUEST_TIMEOUT, &what, "send it at once")
        }
        None if !is(hyper::Error::is_parse) => return None,
        code => {
            let what = "this is no request of HTTP/1.1";
            let remedy = "send one, such as `GET /metrics HTTP/1.1` with a Host header";
            raw(code.unwrap_or(StatusCode::BAD_REQUEST), what, remedy)
        }
    })
}

/// The limit, lowered where this process may open few files.
fn connections_max(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    files.map_or(wanted, |files| wanted.min(files / FILES_PER_CONNECTION)).max(1)
}
