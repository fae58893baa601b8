//! The HTTP server: metrics, health, and what a caller adds.
//!
//! It runs on a thread of its own and sees the fold only through what the loop gives it.

mod domains;
mod door;
mod reply;
mod reread;
mod rules;
mod stream;
mod tls;
pub mod token;

pub use domains::ServedDomain;
pub use door::Door;
pub use tls::Tls;

use axum::Router;
use axum::extract::{Extension, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use domains::ServedDomains;
use reply::problem_json;
pub(crate) use reply::{ErrorAnswer, JSON, line};
use rules::Caller;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Where it listens if nothing else is stated: seen from this machine only.
pub const ADDRESS: &str = "127.0.0.1:9187";
/// How long requests under way may take to end when the server stops.
const END_MAX: Duration = Duration::from_secs(1);
/// How often observations are tidied up, scraped or not.
const UPKEEP: Duration = Duration::from_secs(5);

/// Paths that are served in any case.
const PATHS: [&str; 3] = ["/metrics", "/livez", "/readyz"];

const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The server, running until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address` (port 0: any free one) and serves metrics and health of domains, and
    /// `added`, whose paths are `paths`.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn start(
        address: SocketAddr,
        domains: Vec<ServedDomain>,
        door: Door,
        (added, paths): (Router, &[&str]),
    ) -> Result<Server, HttpError> {
        let fail = |source| HttpError { address, source };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let domains = ServedDomains(domains.into());
        let router = router(domains.clone(), added, paths);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("http".to_string())
            .spawn(move || {
                if let Err(error) =
                    runtime.block_on(serve(listener, domains, router, door, stopped))
                {
                    tracing::error!("http: serving {address} ended: {error}");
                }
                runtime.shutdown_timeout(END_MAX);
            })
            .map_err(fail)?;
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
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
    domains: ServedDomains,
    router: Router,
    door: Door,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let upkeep = async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            domains.upkeep();
        }
    };
    tokio::select! {
        () = door::accept(&listener, router, &door) => {}
        () = upkeep => {}
        // An error means that the handle is gone, which is as good as an order to stop.
        _ = stopped => {}
    }
    Ok(())
}

fn router(domains: ServedDomains, added: Router, paths: &[&str]) -> Router {
    let there_is = [&PATHS[..], paths].concat();
    let remedy = format!("there is: {}", there_is.join(", "));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || (StatusCode::OK, "alive\n")))
        .route("/readyz", get(readyz))
        .with_state(domains)
        .merge(added)
        .fallback(async move || {
            problem(StatusCode::NOT_FOUND, "there is nothing of that name", &remedy)
        })
}

async fn metrics(State(domains): State<ServedDomains>) -> Response {
    ([(header::CONTENT_TYPE, METRICS_TEXT)], domains.metrics()).into_response()
}

/// 200 or 503, with the reason as JSON, and with all that is known for those that may see it; of
/// the domain that is named, or of all.
async fn readyz(
    State(domains): State<ServedDomains>,
    Extension(caller): Extension<Caller>,
    Query(given): Query<BTreeMap<String, String>>,
) -> Response {
    let domain = given.get("domain").map(String::as_str);
    match domains.ready(domain, caller.may_see_data) {
        Ok((is_ready, answer)) => {
            let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (code, [(header::CONTENT_TYPE, JSON)], format!("{answer}\n")).into_response()
        }
        Err(there_is) => {
            let what = format!("there is no domain {:?} here", domain.unwrap_or_default());
            problem(StatusCode::NOT_FOUND, &what, &format!("name one of: {there_is}"))
        }
    }
}

/// Answer with an error and its remedy.
pub fn problem(code: StatusCode, error: &str, remedy: &str) -> Response {
    (code, [(header::CONTENT_TYPE, JSON)], problem_json(error, remedy)).into_response()
}
