//! The HTTP server: metrics, health, and questions that the loop answers between two cycles.
//!
//! It runs on a thread of its own and sees the fold only through what the loop gives it.

mod door;
mod reply;
mod reread;
mod rules;
mod stream;
mod tls;
pub mod token;

pub use door::Door;
pub use tls::Tls;

use crate::shell::metrics::Scrape;
use crate::shell::status::Status;
use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use reply::{JSON, problem_json};
use rules::Caller;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Where it listens if nothing else is stated: seen from this machine only.
pub const ADDRESS: &str = "127.0.0.1:9187";
/// How long a question may wait for the loop's answer.
pub const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How many questions may wait for the loop at a time.
const QUESTIONS_MAX: usize = 16;
/// How long requests under way may take to end when the server stops.
const END_MAX: Duration = Duration::from_secs(1);
/// How often observations are tidied up, scraped or not.
const UPKEEP: Duration = Duration::from_secs(5);

/// What can be asked for.
const PATHS: [&str; 6] = ["/metrics", "/livez", "/readyz", "/v1/audit", "/v1/counters", "/v1/job"];

const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A question from outside: `/v1/{verb}?{query}`. To be answered at a cycle's boundary.
#[derive(Debug)]
pub struct Question {
    /// What is asked for, such as `counters`.
    pub verb: String,
    /// The query's parameters; of one given twice the last.
    pub query: BTreeMap<String, String>,
    reply: oneshot::Sender<Answer>,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Here it is.
    Found {
        /// Its MIME type.
        content_type: &'static str,
        /// Its bytes.
        body: Vec<u8>,
    },
    /// There is no such thing; the text names what there is.
    Unknown(String),
    /// The question makes no sense; the text names what is allowed.
    Wrong(String),
}

impl Question {
    /// A question, and where its answer comes out.
    #[cfg(test)]
    pub fn new(verb: &str) -> (Question, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        (Question { verb: verb.to_owned(), query: BTreeMap::new(), reply }, answer)
    }

    /// Whether no client waits for the answer any more.
    pub fn is_gone(&self) -> bool {
        self.reply.is_closed()
    }

    /// Answers. The client may have gone; then the answer is dropped.
    pub fn answer(self, answer: Answer) {
        let _ = self.reply.send(answer);
    }
}

/// The server, running until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the handlers share.
#[derive(Clone)]
struct Shared {
    scrape: Scrape,
    status: Arc<Status>,
    asks: SyncSender<Question>,
    answer_max: Duration,
}

impl Server {
    /// Listens on `address` (port 0: any free one) and serves. The questions come out of the
    /// receiver; one not answered within `door.answer_max` gets a 503.
    pub fn start(
        address: SocketAddr,
        scrape: Scrape,
        status: Arc<Status>,
        door: Door,
    ) -> Result<(Server, Receiver<Question>), HttpError> {
        let fail = |source| HttpError { address, source };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let (asks, asked) = sync_channel(QUESTIONS_MAX);
        let shared = Shared { scrape, status, asks, answer_max: door.answer_max };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("http".to_string())
            .spawn(move || {
                if let Err(error) = runtime.block_on(serve(listener, shared, door, stopped)) {
                    tracing::error!("http: serving {address} ended: {error}");
                }
                runtime.shutdown_timeout(END_MAX);
            })
            .map_err(fail)?;
        Ok((Server { address, stop: Some(stop), thread: Some(thread) }, asked))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: nothing new is accepted, what is under way may end, and the thread is gone when this
    /// returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("http: the thread serving {} had panicked", self.address);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The server could not be started.
#[derive(Debug, thiserror::Error)]
#[error("http: cannot listen on {address}; name another address or port, or 0 for any free port")]
pub struct HttpError {
    address: SocketAddr,
    source: io::Error,
}

async fn serve(
    listener: TcpListener,
    shared: Shared,
    door: Door,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let scrape = shared.scrape.clone();
    let upkeep = async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            scrape.upkeep();
        }
    };
    let router = router(shared);
    tokio::select! {
        () = door::accept(&listener, router, &door) => {}
        () = upkeep => {}
        // An error means that the handle is gone, which is as good as an order to stop.
        _ = stopped => {}
    }
    Ok(())
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || (StatusCode::OK, "alive\n")))
        .route("/readyz", get(readyz))
        .route("/v1/{verb}", get(question))
        .fallback(async || {
            let there_is = format!("there is: {}", PATHS.join(", "));
            problem(StatusCode::NOT_FOUND, "there is nothing of that name", &there_is)
        })
        .with_state(shared)
}

async fn metrics(State(shared): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, METRICS_TEXT)], shared.scrape.text()).into_response()
}

/// 200 or 503, with the reason as JSON, and with all that is known for those that may see it.
async fn readyz(State(shared): State<Shared>, Extension(caller): Extension<Caller>) -> Response {
    let state = shared.status.get();
    let reason = state.not_ready().or_else(|| shared.status.stands_still());
    let code = match reason {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut body = serde_json::json!({ "ready": reason.is_none(), "reason": reason });
    if caller.may_see_data {
        body["state"] = serde_json::json!(state);
    }
    (code, [(header::CONTENT_TYPE, JSON)], format!("{body}\n")).into_response()
}

async fn question(
    State(shared): State<Shared>,
    verb: Result<Path<String>, PathRejection>,
    query: Result<Query<BTreeMap<String, String>>, QueryRejection>,
) -> Response {
    let unreadable = |what: String| {
        let remedy = "encode what is not ASCII as UTF-8 with percent signs: ?name=J%C3%BCrgen";
        problem(StatusCode::BAD_REQUEST, &what, remedy)
    };
    let (verb, query) = match (verb, query) {
        (Ok(Path(verb)), Ok(Query(query))) => (verb, query),
        (Err(error), _) => return unreadable(error.body_text()),
        (_, Err(error)) => return unreadable(error.body_text()),
    };
    let (reply, answer) = oneshot::channel();
    let later = "ask again later";
    if shared.asks.try_send(Question { verb, query, reply }).is_err() {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "too many questions wait", later);
    }
    match tokio::time::timeout(shared.answer_max, answer).await {
        Ok(Ok(Answer::Found { content_type, body })) => {
            ([(header::CONTENT_TYPE, content_type)], body).into_response()
        }
        Ok(Ok(Answer::Unknown(what))) => {
            problem(StatusCode::NOT_FOUND, &what, "ask for one of those")
        }
        Ok(Ok(Answer::Wrong(what))) => {
            problem(StatusCode::BAD_REQUEST, &what, "ask for what is allowed")
        }
        Ok(Err(_)) => {
            let what = "the process is stopping, or could not answer; see its log";
            problem(StatusCode::SERVICE_UNAVAILABLE, what, later)
        }
        Err(_) => {
            let waited = shared.answer_max.as_secs_f64();
            let what = format!("no answer within {waited} s");
            let remedy = "ask again later, or raise http_timeout_s in the topology";
            problem(StatusCode::SERVICE_UNAVAILABLE, &what, remedy)
        }
    }
}

/// What went wrong, and what can be done about it.
fn problem(code: StatusCode, error: &str, remedy: &str) -> Response {
    (code, [(header::CONTENT_TYPE, JSON)], problem_json(error, remedy)).into_response()
}
